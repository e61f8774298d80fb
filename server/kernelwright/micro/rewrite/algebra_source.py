"""Writes the new code of an algebraic rule into the user's source: operands by their names, statements before, comments."""

import ast
import keyword
from collections.abc import Callable
from dataclasses import dataclass, field

from kernelwright.micro.rewrite.ranks import folds_dims, written_dims
from kernelwright.ops import names
from kernelwright.place.expression import RegionPlan, plan_region
from kernelwright.place.layout import free_names, insertion_edits, module_names, newline_of
from kernelwright.place.region import region_inputs
from kernelwright.place.source_map import (
    SourceMap,
    attribute_path,
    attribute_text,
    bound_names,
    is_module_call,
)
from kernelwright.source.trees import walk
from kernelwright.values import Edits, Node, Refusal, TensorRef, TextEdit, digest

VIEWS = names(lambda row: row.view) | {"contiguous", "to", "dropout"}
"""What hands its operand on: a change of it in place may be one of the operand."""
_WIDTH = 110


class Unwritable(Exception):
    """The new code cannot be written at this place."""


@dataclass(frozen=True)
class Code:
    """The expression that takes the place of the old result, statements to put before it, a function that they call."""

    expression: str
    lines: tuple[str, ...] = ()
    definition: str = ""  # a function for the top level of the file


@dataclass
class Spelling:
    """How the new code spells operands at the place where it will stand. Its methods raise Unwritable."""

    source: SourceMap
    plan: RegionPlan
    gone: frozenset[str]  # names that the removed statements bound
    bound: list[str] = field(default_factory=list)  # lines that give an operand a name first
    _names: dict[int, str] = field(default_factory=dict)
    _named: dict[str, str] = field(default_factory=dict)
    _taken: set[str] = field(default_factory=set)

    def value(self, id: int) -> str:
        """A name or attribute that is the Value: it may be written more than once."""
        if id in self._names:
            return self._names[id]
        text = self.plan.names.get(id)
        if text is None:
            raise Unwritable("An operand has no name where the new code would stand.")
        if not is_path(text):
            name = self.source.graph.value(id).name
            self._names[id] = self.fresh(name if name.isidentifier() else "operand")
            self.bound.append(f"{self._names[id]} = {text}")
            return self._names[id]
        self._names[id] = text
        return text

    def once(self, id: int) -> str:
        """Any expression that is the Value, for code that writes it a single time."""
        text = self.plan.names.get(id)
        return self.value(id) if text is None or id in self._names else text

    def scalar(self, node: Node, position: int, parameter: str) -> str:
        """A number among the operands of `node`, as its author wrote it where that is more than a literal."""
        text = self.plan.scalars.get((node.id, parameter))
        if text is None:
            return repr(node.args[position] if position < len(node.args) else node.kwargs[parameter])
        names = {n.id for n in walk(ast.parse(text, mode="eval")) if isinstance(n, ast.Name)}
        if names & self.gone:
            raise Unwritable(f"`{text}` needs a tensor that would no longer be computed.")
        return atom(text)

    def module(self, node: Node) -> str | None:
        """`self.conv` for a call of that submodule; None for a call of a torch function."""
        tree = self.source.expression(node)
        return attribute_text(node.module) if isinstance(tree, ast.Call) and is_module_call(node, tree) else None

    def fixed(self, node: Node, parameter: str, position: int) -> bool:
        """Whether a number of `node` is a literal in the source; `position` is its place in the layer's constructor."""
        if self.module(node) is not None:
            return self.pinned(node, parameter, position)
        return (node.id, parameter) not in self.plan.scalars

    def pinned(self, node: Node, name: str, position: int) -> bool:
        """Whether an option is the same however the module is constructed: left out, or a literal, where it is written.

        `position` counts from the call that takes it: the layer's constructor, or the torch function itself.
        """
        tree = self.source.expression(node)
        if isinstance(tree, ast.Call) and is_module_call(node, tree):
            tree = self._construction(node.module)
        if not isinstance(tree, ast.Call) or any(isinstance(a, ast.Starred) for a in tree.args):
            return False
        if any(k.arg is None for k in tree.keywords):
            return False
        given = next((k.value for k in tree.keywords if k.arg == name), None)
        if given is None and position < len(tree.args):
            given = tree.args[position]
        return given is None or _is_literal(given)

    def _construction(self, path: str) -> ast.expr | None:
        """What the class assigns to `self.<path>`, if it does so once."""
        assigned = [
            statement.value
            for statement in walk(self.source.tree)
            if isinstance(statement, ast.Assign) and any(attribute_path(t) == path for t in statement.targets)
        ]
        return assigned[0] if len(assigned) == 1 else None

    def call_options(self, node: Node, skip: int) -> list[str]:
        """The arguments of a call of a torch function as written, without its first `skip` operands."""
        tree = self.source.expression(node)
        if not isinstance(tree, ast.Call):
            return []
        written = [self.source.segment(a) for a in tree.args[skip:]]
        operands = ("input", "weight", "bias")[:skip]
        return written + [self.source.segment(k) for k in tree.keywords if k.arg not in operands]

    def fresh(self, name: str) -> str:
        """`name`, or one like it that the file does not use yet."""
        used = {n.id for n in walk(self.plan.function) if isinstance(n, ast.Name)} | self._taken
        used |= {a.arg for a in walk(self.plan.function) if isinstance(a, ast.arg)}
        while name in used or keyword.iskeyword(name):
            name += "_"
        self._taken.add(name)
        return name

    def named(self, name: str) -> str:
        """The one fresh name that goes by `name` in this rewrite."""
        if name not in self._named:
            self._named[name] = self.fresh(name)
        return self._named[name]

    def defined(self, name: str) -> str:
        """The name of the function that the code defines at the top level."""
        if name not in self._named:
            (self._named[name],) = free_names(self.source, (name,))
        return self._named[name]

    @property
    def torch(self) -> str:
        return self._imported("torch") or self._missing("torch")

    @property
    def functional(self) -> str:
        """How the file spells torch.nn.functional."""
        return self._imported("torch.nn.functional") or f"{self.torch}.nn.functional"

    def _imported(self, module: str) -> str | None:
        return next((name for name, known in module_names(self.source.tree).items() if known == module), None)

    def _missing(self, module: str) -> str:
        raise Unwritable(f"The file does not import {module} under a name.")


def replace(
    source: SourceMap,
    nodes: frozenset[int],
    output: int,
    write: Callable[[Spelling], Code],
    summary: str,
    *,
    aliases: bool = False,
) -> Edits | Refusal:
    """Edits that put the code of `write` in the place of the nodes, whose only used result is `output`.

    `aliases`: the new result is an operand itself, or a view of it, where the old one was a tensor of its own.
    """
    changed = _changed_in_place(source, nodes, output, aliases)
    if changed is not None:
        line = changed.where.start_line if changed.where else None
        return Refusal(f"`{changed.op}` changes an operand in place.", line)
    plan = plan_region(source, nodes)
    if isinstance(plan, Refusal):
        return plan
    maker = source.producers[output]
    made = source.expression(maker)
    sink = source.part_expression(maker, made, output) if made is not None else None
    assert sink is not None  # the plan has found it
    statement = source.statement(sink)
    spelling = Spelling(source, plan, _bound_by_removed(plan))
    try:
        code = write(spelling)
        guard = _of_the_workloads_rank(source, plan, nodes)
        edits = _written(source, plan, sink, statement, code, (*guard, *spelling.bound))
        edits += insertion_edits(source, plan.function, code.definition, ())
    except Unwritable as problem:
        return Refusal(str(problem), statement.lineno - 1)
    return Edits(
        digest(source.text), tuple(sorted((*plan.edits_of_one_mode, *edits), key=lambda e: (e.start, e.end))), summary
    )


def _of_the_workloads_rank(source: SourceMap, plan: RegionPlan, nodes: frozenset[int]) -> tuple[str, ...]:
    """The statement that raises for other ranks, where the text counts a reduction's dims from the first one."""
    graph = source.graph
    reduced = [graph.nodes[n] for n in sorted(nodes) if folds_dims(graph.nodes[n])]
    if all(all(d < 0 for d in written_dims(source, node) or (0,)) for node in reduced):
        return ()
    for value in region_inputs(graph, nodes):
        name, type_ = plan.names.get(value, ""), graph.value(value).type
        if graph.value(value).origin != "parameter" and name.isidentifier() and type_.shape:
            rank = len(type_.shape)
            return (
                f"if {name}.dim() != {rank}:",
                f'    raise ValueError("{name} must have {rank} dimension{"s" * (rank > 1)}")',
            )
    return ()


def _changed_in_place(source: SourceMap, nodes: frozenset[int], output: int, aliases: bool) -> Node | None:
    """A later call that writes into what the new code reads, or into what would become an alias of it."""
    kept = {_storage(source, v) for v in region_inputs(source.graph, nodes)}
    kept |= {output} if aliases else set()
    for node in source.graph.nodes:
        if (
            node.inplace
            and node.id >= min(nodes)
            and (node.id in nodes or kept & {_storage(source, v) for v in _first(node)})
        ):
            return node
    return None


def _first(node: Node) -> tuple[int, ...]:
    return (node.args[0].id,) if node.args and isinstance(node.args[0], TensorRef) else ()


def _storage(source: SourceMap, id: int) -> int:
    """The value whose memory a view shows."""
    node = source.producers.get(id)
    while node is not None and (node.op in VIEWS or node.inplace) and _first(node):
        id = _first(node)[0]
        node = source.producers.get(id)
    return id


def _written(
    source: SourceMap, plan: RegionPlan, sink: ast.AST, statement: ast.stmt, code: Code, bound: tuple[str, ...]
) -> list[TextEdit]:
    lines = (*bound, *code.lines)
    start = source.starts[statement.lineno - 1]
    if not lines and _is_assigned_to(statement, sink, code.expression):
        return [TextEdit(start, source.starts[source.span(statement).end_line + 1], "")]
    start_column = source.offsets(statement)[0] - start
    expression = _wrapped(_fitting(source, sink, code.expression), plan.sink[0] - start, start_column)
    edits = [TextEdit(*plan.sink, expression.replace("\n", newline_of(source.text)))]
    if not lines:
        return edits
    if not isinstance(statement, ast.Assign | ast.AnnAssign | ast.Return | ast.Expr):
        raise Unwritable("The result is computed in the head of a compound statement.")
    indentation = source.text[start : source.offsets(statement)[0]]
    if indentation.strip():
        raise Unwritable("The statement shares its line with another one.")
    newline = newline_of(source.text)
    written = [f"{indentation}{_line(line, len(indentation))}{newline}" for line in lines]
    written = [line.replace("\r\n", "\n").replace("\n", newline) for line in written]
    return [TextEdit(start, start, "".join(written)), *edits]


def _fitting(source: SourceMap, sink: ast.AST, expression: str) -> str:
    """In parentheses where the expression around could take it apart."""
    alone = isinstance(source.parents[sink], ast.stmt | ast.Call | ast.keyword)
    return expression if alone else atom(expression)


def _wrapped(expression: str, column: int, indentation: int) -> str:
    """A long call over several lines, as a formatter would."""
    tree = ast.parse(expression, mode="eval").body
    if column + len(expression) <= _WIDTH or not isinstance(tree, ast.Call) or not (tree.args or tree.keywords):
        return expression
    head = _segment(expression, tree.func)
    parts = [_segment(expression, a) for a in tree.args]
    parts += [f"{k.arg}={_segment(expression, k.value)}" for k in tree.keywords]
    inner, outer = " " * (indentation + 4), " " * indentation
    if len(inner) + len(", ".join(parts)) <= _WIDTH:
        return f"{head}(\n{inner}{', '.join(parts)}\n{outer})"
    return f"{head}(\n{inner}" + f",\n{inner}".join(parts) + f",\n{outer})"


def _segment(text: str, tree: ast.expr) -> str:
    segment = ast.get_source_segment(text, tree)
    assert segment is not None
    return segment


def _line(line: str, indentation: int) -> str:
    """An assignment of a long call over several lines."""
    name, equals, expression = line.partition(" = ")
    if line.startswith("#") or not equals:
        return line
    return f"{name} = {_wrapped(expression, indentation + len(name) + 3, indentation)}"


def _is_assigned_to(statement: ast.stmt, sink: ast.AST, expression: str) -> bool:
    """Whether the statement would become `x = x`."""
    if not isinstance(statement, ast.Assign) or statement.value is not sink or len(statement.targets) > 1:
        return False
    return isinstance(statement.targets[0], ast.Name) and statement.targets[0].id == expression


def _bound_by_removed(plan: RegionPlan) -> frozenset[str]:
    spans = [(e.start, e.end) for e in plan.edits]
    statements = [n for n in walk(plan.function) if isinstance(n, ast.stmt) and n is not plan.function]
    removed = [
        s
        for s in statements
        if any(a <= plan.source.offsets(s)[0] and plan.source.offsets(s)[1] <= b for a, b in spans)
    ]
    return frozenset(name for s in removed for name in bound_names(s))


def atom(expression: str) -> str:
    """`expression`, in parentheses unless it binds as tightly as a name."""
    tree = ast.parse(expression, mode="eval").body
    tight = isinstance(tree, ast.Name | ast.Attribute | ast.Call | ast.Subscript | ast.Constant | ast.Tuple)
    enclosed = (expression[0], expression[-1]) == ("(", ")") and _balanced(expression)
    return expression if tight or enclosed else f"({expression})"


def _balanced(expression: str) -> bool:
    """Whether the outer parentheses belong together."""
    depth = 0
    for i, character in enumerate(expression):
        depth += (character == "(") - (character == ")")
        if depth == 0 and i < len(expression) - 1:
            return False
    return True


def _is_literal(expression: ast.expr) -> bool:
    try:
        ast.literal_eval(expression)
    except ValueError:
        return False
    return True


def is_path(text: str) -> bool:
    """Whether `text` is a name or an attribute of one, which costs nothing to write twice."""
    tree = ast.parse(text, mode="eval").body
    while isinstance(tree, ast.Attribute) or (isinstance(tree, ast.Subscript) and isinstance(tree.slice, ast.Constant)):
        tree = tree.value
    return isinstance(tree, ast.Name)
