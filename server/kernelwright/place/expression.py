"""Decides how the user's source changes when a set of graph nodes becomes one call: what goes, what stays, what is named.

Statements made only of replaced nodes disappear, other calls inside them are kept under a name, and the expression of
the last node (the sink) becomes the new call. What cannot be edited safely is refused, with the line.
"""

import ast
from bisect import bisect_right
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from kernelwright.ops import row
from kernelwright.place.around import CONDITIONAL, check_loops, conditional_part, line_of
from kernelwright.place.layout import call_text, newline_of
from kernelwright.place.modes import Mode, asserted, chosen
from kernelwright.place.new_calls import NewCall
from kernelwright.place.own_expression import own_expression
from kernelwright.place.region import region_inputs, region_output
from kernelwright.place.source_env import (
    NotEditable,
    conditional_names,
    environment,
    made_by,
    named_operands,
    nodes_in,
    simple_targets,
)
from kernelwright.place.source_map import (
    Env,
    SourceMap,
    attribute_text,
    bound_names,
    loaded_names,
)
from kernelwright.place.source_reads import check_reads
from kernelwright.place.source_scalars import collect_scalars, mode_conditions
from kernelwright.source.trees import children, walk
from kernelwright.values import Edits, Node, Refusal, TextEdit


@dataclass(frozen=True)
class RegionPlan:
    """How a region of the graph is replaced in the source.

    `names`: for each input Value its expression where the new call stands. `scalars`: (node id, parameter) to the
    expression of a number that is not a literal. `edits`: what happens besides the call. `sink`: the offsets that the
    call replaces, with `before_call` written in front of it. `opening`: the edits of the user's text that came before,
    where `source` has another text. `mode`: when the new code is right, where dropout or batch norm acts otherwise.
    """

    source: SourceMap
    function: ast.FunctionDef
    names: Mapping[int, str]
    scalars: Mapping[tuple[int, str], str]
    edits: tuple[TextEdit, ...]
    sink: tuple[int, int]
    mode: Mode
    before_call: str = ""
    start_line: int = 0
    end_line: int = 0
    opening: Edits | None = None

    @property
    def edits_of_one_mode(self) -> tuple[TextEdit, ...]:
        """The edits, with what has the new code insist on its mode."""
        return (*self.edits, *asserted(self.source, self.mode))

    def call(self, launcher: str, values: Iterable[int], numbers: Iterable[str]) -> str:
        """`launcher(…)` with the inputs by their names in the source, broken over lines where it is long."""
        arguments = [*(self.names[v] for v in values), *numbers]
        start = self.source.starts[bisect_right(self.source.starts, self.sink[0]) - 1]
        line = self.source.text[start : self.sink[0]]
        indent = len(line) - len(line.lstrip())
        prefix = len(line) - indent + len(self.before_call)
        if not self._is_chosen:
            return call_text(launcher, arguments, "", indent, prefix)
        return call_text(launcher, arguments, "", indent + 4, prefix).replace("\n    ", "\n")  # is indented once more

    @property
    def _is_chosen(self) -> bool:
        """Whether the new code goes beside the old, which stays for the other mode."""
        return chosen(self.source, self.mode, (*self.edits, TextEdit(*self.sink, ""))) is not None

    def replaced(self, call: str) -> list[TextEdit]:
        """The edits that put `call` in the region's place, in the text of `source`."""
        edit = TextEdit(*self.sink, (self.before_call + call).replace("\n", newline_of(self.source.text)))
        beside = chosen(self.source, self.mode, (*self.edits, edit))
        return [*self.edits_of_one_mode, edit] if beside is None else beside


def plan_region(
    source: SourceMap,
    nodes: Collection[int],
    calls: Iterable[NewCall] = (),
    more: Collection[int] = (),
    *,
    whole: bool = False,
) -> RegionPlan | Refusal:
    """How to replace the nodes with these ids, which must have a single output, by one call.

    `calls` that make inputs of the region are written anew; the one call takes the Values `more` besides its inputs. `whole`:
    it answers all that the last operator answers, which is taken apart outside.
    """
    output = source.graph.nodes[max(nodes)].outputs[0] if whole else region_output(source, nodes)
    if isinstance(output, Refusal):
        return output
    try:
        calls_by_value = {c.value: c for c in calls}
        return _Planner(source, frozenset(nodes), output, calls_by_value, tuple(more), whole=whole).plan()
    except NotEditable as problem:
        return Refusal(str(problem), problem.line)


@dataclass
class _Planner:
    source: SourceMap
    nodes: frozenset[int]
    output: int
    calls: Mapping[int, NewCall]
    more: tuple[int, ...]
    whole: bool = False
    names: dict[int, str] = field(default_factory=dict)
    scalars: dict[tuple[int, str], str] = field(default_factory=dict)
    edits: list[TextEdit] = field(default_factory=list)
    read: dict[int, str] = field(default_factory=dict)  # how the region's expressions name Values

    def plan(self) -> RegionPlan:
        graph = self.source.graph
        inside = [graph.nodes[n] for n in sorted(self.nodes)]
        trees = {node.id: self._tree(node) for node in inside}
        sink_node = self.source.producers[self.output]
        tree = trees[sink_node.id]
        sink_tree = tree if self.whole else self.source.part_expression(sink_node, tree, self.output)
        if sink_tree is None:
            raise NotEditable(f"The result of {sink_node.op} is taken apart elsewhere.", line_of(sink_node))
        function = self._function(inside, trees)
        statements = sorted({self.source.statement(t) for t in trees.values()}, key=lambda s: s.lineno)
        sink_statement = self.source.statement(sink_tree)
        block = self._block(statements)
        gone = [s for s in statements if s is not sink_statement]
        if any(s.lineno > sink_statement.lineno for s in gone):
            raise NotEditable("The order of the statements does not follow the data.", gone[-1].lineno - 1)
        aliases = self._aliases(function, block[block.index(statements[0]) : block.index(sink_statement)])

        env = environment(self.source, function, {*gone, *aliases}, sink_statement)
        dirty = self._remove(gone, sink_statement, env, block)
        dirty |= aliases
        self.edits += [TextEdit(*self._whole_lines(alias), "") for alias in aliases]
        gone += aliases
        dirty |= self._write_in_place(gone, sink_tree, block)
        check_reads(self.source, function, block, gone, sink_statement, sink_tree, dirty, self._kept_expressions)
        wanted = (*region_inputs(graph, self.nodes), *self.more)
        self.read = self._read_names(wanted, trees, gone, sink_statement)
        self._name_inputs(wanted, env, sink_tree, sink_statement)
        self.scalars = collect_scalars(self.source, inside, trees, sink_statement, function)
        mode = Mode(mode_conditions(self.source, inside, trees), sink_statement, tuple(block))
        conditional = conditional_part(self.source, ((node, trees[node.id]) for node in inside)) is not None
        if conditional and (self.edits or mode.conditions):
            raise NotEditable(f"{sink_node.op} stands in a conditional expression.", line_of(sink_node))
        before = f"{self.source.segment(sink_tree.target)} = " if isinstance(sink_tree, ast.AugAssign) else ""
        return RegionPlan(
            self.source,
            function,
            self.names,
            self.scalars,
            tuple(self.edits),
            self.source.offsets(sink_tree),
            mode,
            before,
            statements[0].lineno - 1,
            sink_statement.end_lineno or sink_statement.lineno,
        )

    def _tree(self, node: Node) -> ast.AST:
        tree = own_expression(self.source, node)
        others = [n for n in self.source.nodes_at[self.source.span(tree)] if n.id not in self.nodes]
        if others:
            raise NotEditable(
                f"One expression computes both {node.op} and {others[0].op}, and only {node.op} would be replaced.",
                line_of(node),
            )
        return tree

    def _function(self, inside: list[Node], trees: Mapping[int, ast.AST]) -> ast.FunctionDef:
        functions = {self.source.function(t) for t in trees.values()}
        function = functions.pop()
        if functions or function is None:
            raise NotEditable("The calls stand in different functions.", line_of(inside[0]))
        for node in inside:
            check_loops(self.source, node, trees[node.id])
        return function

    def _block(self, statements: list[ast.stmt]) -> list[ast.stmt]:
        """The list of statements that they all stand in."""
        parent = self.source.parents[statements[-1]]
        for _, value in ast.iter_fields(parent):
            if isinstance(value, list) and statements[-1] in value:
                if any(s not in value for s in statements):
                    break
                return value
        raise NotEditable("The calls stand in different blocks.", statements[0].lineno - 1)

    def _aliases(self, function: ast.FunctionDef, between: list[ast.stmt]) -> dict[ast.stmt, set[str]]:
        """The statements that only give another name to what the region makes and keeps to itself, with that name."""
        found: dict[ast.stmt, set[str]] = {}
        for statement in between:
            targets = simple_targets(statement)
            if targets and isinstance(statement, ast.Assign) and isinstance(statement.value, ast.Name):
                held = environment(self.source, function, set(), statement).get(statement.value.id)
                maker = None if held in (None, self.output) else self.source.producers.get(held)
                if maker is not None and maker.id in self.nodes:
                    found[statement] = set(targets)
        return found

    def _remove(
        self, gone: list[ast.stmt], sink: ast.stmt, env: Env, block: list[ast.stmt]
    ) -> dict[ast.stmt, set[str]]:
        """Delete the statements, keeping what is not replaced in them; the names that each leaves unbound."""
        dirty: dict[ast.stmt, set[str]] = {}
        for statement in gone:
            targets = simple_targets(statement)
            value = statement if isinstance(statement, ast.AugAssign) else getattr(statement, "value", None)
            if targets is None or value is None:
                raise NotEditable("This statement does more than name a result.", statement.lineno - 1)
            made = made_by(self.source, value)
            if made is None or self.source.producers[made].id not in self.nodes:
                raise NotEditable("This statement keeps a result that is not fused.", statement.lineno - 1)
            kept = list(self._kept_expressions(value))
            dirty[statement] = set(targets)
            self._replace_statement(statement, kept, targets, env, sink, block)
        return dirty

    def _write_in_place(
        self, gone: list[ast.stmt], sink_tree: ast.AST, block: list[ast.stmt]
    ) -> dict[ast.stmt, set[str]]:
        """Write the new calls in statements that stay; the names that each then binds to something else."""
        replaced = {n for tree in (*gone, sink_tree) for n in walk(tree)}
        dirty: dict[ast.stmt, set[str]] = {}
        for call in self.calls.values():
            if call.tree in replaced:
                continue
            edit, statement, names = call.in_place(self.source, block)
            self.edits.append(edit)
            dirty[statement] = names
        return dirty

    def _kept_expressions(self, tree: ast.AST) -> Iterator[ast.expr]:
        """The largest expressions inside a replaced one that make tensors by calls which are not replaced."""
        made = self.source.nodes_at.get(self.source.span(tree), ()) if hasattr(tree, "lineno") else ()
        if made and made[-1].id not in self.nodes and isinstance(tree, ast.expr):
            yield tree
            return
        if isinstance(tree, ast.Call) and not made and made_by(self.source, tree) is not None:
            yield tree  # of a function in this file
            return
        for child in children(tree):
            for kept in self._kept_expressions(child) if isinstance(child, ast.expr | ast.keyword) else ():
                if isinstance(tree, CONDITIONAL):
                    raise NotEditable("A call stands in a conditional expression.", kept.lineno - 1)
                yield kept

    def _replace_statement(
        self,
        statement: ast.stmt,
        kept: list[ast.expr],
        targets: list[str],
        env: Env,
        sink: ast.stmt,
        block: list[ast.stmt],
    ) -> None:
        start, end = self._whole_lines(statement)
        indent = self.source.lines[statement.lineno - 1][: statement.col_offset]
        wanted = set(region_inputs(self.source.graph, self.nodes))
        assignments: list[str] = []
        for expression in kept:
            made = made_by(self.source, expression)
            if made is None or made not in wanted:
                raise NotEditable("An inner call cannot be kept under a name.", expression.lineno - 1)
            if self._movable(expression, sink):
                self.names[made] = self.source.segment(expression)
                continue
            name = self._free_name(targets, env, wanted, made)
            if made in self.calls:
                assignments.append(self.calls[made].assigned(self.source, indent, name))
            else:
                assignments.append(f"{indent}{name} = {self.source.segment(expression)}{newline_of(self.source.text)}")
            self.names[made] = name
            env[name] = made
        self.edits.append(TextEdit(start, end, "".join(assignments)))

    def _free_name(self, targets: list[str], env: Env, wanted: set[int], made: int) -> str:
        """The statement's own name where nothing else needs it, otherwise one after the module or op."""
        target = targets[0] if len(targets) == 1 else None
        if target and env.get(target) not in wanted and target not in self.names.values():
            return target
        node = self.source.producers[made]
        base = (node.module.rsplit(".", 1)[-1] if node.module else node.op).strip("_")
        base = f"{node.op}_{base}" if base.isdecimal() else base
        taken = {n.id for n in walk(self.source.tree) if isinstance(n, ast.Name)} | set(self.names.values())
        return next(n for n in (f"{base}_out{i}" for i in ("", *range(2, 99))) if n not in taken)

    def _movable(self, expression: ast.expr, sink: ast.stmt) -> bool:
        """A view of the module's own parameters means the same further down."""
        return loaded_names(expression) <= {"self", "torch"} and all(
            row(n.op).view for n in nodes_in(self.source, expression)
        )

    def _whole_lines(self, statement: ast.stmt) -> tuple[int, int]:
        """The statement's lines with the comment lines right above it. Raises where it shares a line."""
        start, end = self.source.offsets(statement)
        first, last = statement.lineno - 1, (statement.end_lineno or statement.lineno) - 1
        before = self.source.text[self.source.starts[first] : start]
        after = self.source.text[end : self.source.starts[last + 1]].strip()
        if before.strip() or (after and not after.startswith("#")):
            raise NotEditable("This line holds more than one statement.", first)
        while first > 0 and self.source.lines[first - 1].startswith(before + "#"):
            first -= 1
        return self.source.starts[first], self.source.starts[last + 1]

    def _name_inputs(self, wanted: Iterable[int], env: Env, sink_tree: ast.AST, sink: ast.stmt) -> None:
        values = self.source.graph.values
        inlined = {made_by(self.source, e): e for e in self._kept_expressions(sink_tree)}
        entry_owns = self._self_is_entry(sink)
        for value in wanted:
            if value in self.names:
                continue
            if value in inlined and value in self.calls:
                self.names[value] = self._free_name([], env, set(), value)
                self.edits.append(self.calls[value].hoisted(self.source, sink, self.names[value]))
                continue
            if value in inlined:
                self.names[value] = self.source.segment(inlined[value])
                continue
            name = self._name_of(value, env, sink)
            if name is not None:
                self.names[value] = name
            elif values[value].origin in ("parameter", "buffer") and values[value].name and entry_owns:
                self.names[value] = attribute_text(values[value].name)
            else:
                raise NotEditable("An input of the region has no name where the new call would stand.", sink.lineno - 1)

    def _name_of(self, value: int, env: Env, sink: ast.stmt) -> str | None:
        """A name that holds the Value: one by which the region reads it, otherwise one whatever branch ran before."""
        read = self.read.get(value)
        if read is not None and env.get(read, value) == value:
            return read
        function = self.source.function(sink)
        perhaps = conditional_names(function, sink) if function else frozenset()
        return next((name for name, held in env.items() if held == value and name not in perhaps), None)

    def _read_names(
        self, wanted: Collection[int], trees: Mapping[int, ast.AST], gone: Collection[ast.stmt], sink: ast.stmt
    ) -> dict[int, str]:
        """The names by which the region reads its inputs, where nothing that stays binds them anew before the sink."""
        function = self.source.function(sink)
        assert function is not None
        perhaps = conditional_names(function, sink)
        found: dict[int, str] = {}
        for id_, tree in trees.items():
            statement = self.source.statement(tree)
            env = environment(self.source, function, set(), statement)
            for value, name in named_operands(self.source, self.source.graph.nodes[id_], tree, env):
                if value not in wanted:
                    continue
                between = (s for s in walk(function) if isinstance(s, ast.stmt) and s not in gone and s is not function)
                if any(statement.lineno <= s.lineno < sink.lineno and name in bound_names(s) for s in between):
                    continue
                other = found.setdefault(value, name)
                if other != name and ({other, name} & perhaps or not env.get(other) == env.get(name) == value):
                    raise NotEditable(
                        f"`{other}` and `{name}` may be two tensors in another call.", self.source.span(tree).start_line
                    )
        return found

    def _self_is_entry(self, statement: ast.stmt) -> bool:
        """Whether `self` here is the object that the workload calls."""
        parent: ast.AST | None = statement
        while parent is not None and not isinstance(parent, ast.ClassDef):
            parent = self.source.parents.get(parent)
        return isinstance(parent, ast.ClassDef) and parent.name == self.source.graph.entry
