"""Decides how the user's source changes when a set of graph nodes becomes one call: what goes, what stays, what is named.

Statements made only of replaced nodes disappear, other calls inside them are kept under a name, and the expression of
the last node (the sink) becomes the new call. What cannot be edited safely is refused, with the line.
"""

import ast
from bisect import bisect_right
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from kernelwright.micro.rewrite.layout import call_text, insertion_edits, newline_of
from kernelwright.micro.rewrite.source_map import (
    Env,
    SourceMap,
    attribute_path,
    attribute_text,
    bound_names,
    is_module_call,
    loaded_names,
    operands,
    references,
)
from kernelwright.values import Edits, Graph, Node, Refusal, TensorRef, TextEdit, digest
from kernelwright.values.torch_calls import signature

_TYPE_QUESTIONS = frozenset({"shape", "size", "dtype", "device", "ndim", "dim", "numel"})
_LOOPS = (ast.For, ast.AsyncFor, ast.While, ast.comprehension, ast.Lambda, ast.GeneratorExp, ast.ListComp)


@dataclass(frozen=True)
class RegionPlan:
    """How a region of the graph is replaced in the source.

    `names`: for each input Value its expression where the new call stands. `scalars`: (node id, parameter) to the
    expression of a number that is not a literal. `edits`: what happens besides the call. `sink`: the offsets that the
    call replaces, with `before_call` written in front of it.
    """

    source: SourceMap
    function: ast.FunctionDef
    names: Mapping[int, str]
    scalars: Mapping[tuple[int, str], str]
    edits: tuple[TextEdit, ...]
    sink: tuple[int, int]
    before_call: str = ""
    start_line: int = 0
    end_line: int = 0

    def call(self, launcher: str, values: Iterable[int], numbers: Iterable[str]) -> str:
        """`launcher(…)` with the inputs by their names in the source, broken over lines where it is long."""
        arguments = [*(self.names[v] for v in values), *numbers]
        start = self.source.starts[bisect_right(self.source.starts, self.sink[0]) - 1]
        line = self.source.text[start : self.sink[0]]
        indent = len(line) - len(line.lstrip())
        return call_text(launcher, arguments, "", indent, len(line) - indent + len(self.before_call))

    def with_call(self, call: str, definitions: str = "", imports: tuple[str, ...] = (), summary: str = "") -> Edits:
        """The Edits that put `call` in the region's place and `definitions` above the class or function."""
        newline = newline_of(self.source.text)
        start, end = self.sink
        edits = [*self.edits, TextEdit(start, end, (self.before_call + call).replace("\n", newline))]
        edits += insertion_edits(self.source, self.function, definitions, imports)
        return Edits(digest(self.source.text), tuple(sorted(edits, key=lambda e: (e.start, e.end))), summary)


def region_inputs(graph: Graph, nodes: Collection[int]) -> tuple[int, ...]:
    """The Values that the nodes read and do not make, in order of first use."""
    inside = [graph.nodes[n] for n in sorted(nodes)]
    made = {v for node in inside for v in node.outputs}
    return tuple(dict.fromkeys(v for node in inside for v in references(node) if v not in made))


def region_output(source: SourceMap, nodes: Collection[int]) -> int | Refusal:
    """The one Value that leaves the region. A Refusal when there is none or more than one."""
    leaving = [
        v
        for n in sorted(nodes)
        for v in source.graph.nodes[n].outputs
        if v in source.graph.outputs or any(user.id not in nodes for user in source.users.get(v, ()))
    ]
    if len(leaving) == 1:
        return leaving[0]
    place = source.graph.nodes[max(nodes)].where
    reason = "Nothing uses the result." if not leaving else "An intermediate result is used elsewhere too."
    return Refusal(reason, place.start_line if place else None)


def plan_region(source: SourceMap, nodes: Collection[int]) -> RegionPlan | Refusal:
    """How to replace the nodes with these ids, which must have a single output, by one call."""
    output = region_output(source, nodes)
    if isinstance(output, Refusal):
        return output
    try:
        return _Planner(source, frozenset(nodes), output).plan()
    except _NotEditable as problem:
        return Refusal(str(problem), problem.line)


class _NotEditable(Exception):
    def __init__(self, reason: str, line: int | None = None) -> None:
        super().__init__(reason)
        self.line = line


@dataclass
class _Planner:
    source: SourceMap
    nodes: frozenset[int]
    output: int
    names: dict[int, str] = field(default_factory=dict)
    scalars: dict[tuple[int, str], str] = field(default_factory=dict)
    edits: list[TextEdit] = field(default_factory=list)

    def plan(self) -> RegionPlan:
        graph = self.source.graph
        inside = [graph.nodes[n] for n in sorted(self.nodes)]
        trees = {node.id: self._tree(node) for node in inside}
        sink_node = self.source.producers[self.output]
        sink_tree = self.source.part_expression(sink_node, trees[sink_node.id], self.output)
        if sink_tree is None:
            raise _NotEditable(f"The result of {sink_node.op} is taken apart elsewhere.", _line(sink_node))
        function = self._function(inside, trees)
        statements = sorted({self.source.statement(t) for t in trees.values()}, key=lambda s: s.lineno)
        sink_statement = self.source.statement(sink_tree)
        block = self._block(statements)
        gone = [s for s in statements if s is not sink_statement]
        if any(s.lineno > sink_statement.lineno for s in gone):
            raise _NotEditable("The order of the statements does not follow the data.", gone[-1].lineno - 1)

        env = self._environment(function, set(gone), sink_statement)
        dirty = self._remove(gone, sink_statement, env, block)
        self._check_reads(function, block, gone, sink_statement, sink_tree, dirty)
        wanted = region_inputs(graph, self.nodes)
        self._name_inputs(wanted, env, sink_tree, sink_statement)
        self._collect_scalars(inside, trees, sink_statement, function)
        self._assert_evaluation(inside, trees, sink_statement)
        before = f"{self.source.segment(sink_tree.target)} = " if isinstance(sink_tree, ast.AugAssign) else ""
        return RegionPlan(
            self.source,
            function,
            self.names,
            self.scalars,
            tuple(self.edits),
            self.source.offsets(sink_tree),
            before,
            statements[0].lineno - 1,
            sink_statement.end_lineno or sink_statement.lineno,
        )

    def _tree(self, node: Node) -> ast.AST:
        tree = self.source.expression(node)
        if tree is None or node.where is None:
            raise _NotEditable(f"The call that makes {node.op} does not stand in this file.", _line(node))
        shared = self.source.nodes_at[node.where]
        others = [n for n in shared if n.id not in self.nodes]
        if any((n.op, n.module) == (node.op, node.module) for n in shared if n.id != node.id):
            raise _NotEditable(f"The expression of {node.op} runs more than once.", _line(node))
        if others:
            raise _NotEditable(f"The expression of {node.op} also does {others[0].op}.", _line(node))
        return tree

    def _function(self, inside: list[Node], trees: Mapping[int, ast.AST]) -> ast.FunctionDef:
        functions = {self.source.function(t) for t in trees.values()}
        function = functions.pop()
        if functions or function is None:
            raise _NotEditable("The calls stand in different functions.", _line(inside[0]))
        for node in inside:
            parent: ast.AST | None = trees[node.id]
            while parent is not None and parent is not function:
                if isinstance(parent, _LOOPS):
                    raise _NotEditable(f"{node.op} stands in a loop or comprehension.", _line(node))
                if isinstance(parent, ast.IfExp | ast.BoolOp | ast.NamedExpr):
                    raise _NotEditable(f"{node.op} stands in a conditional expression.", _line(node))
                parent = self.source.parents.get(parent)
        return function

    def _block(self, statements: list[ast.stmt]) -> list[ast.stmt]:
        """The list of statements that they all stand in."""
        parent = self.source.parents[statements[-1]]
        for _, value in ast.iter_fields(parent):
            if isinstance(value, list) and statements[-1] in value:
                if any(s not in value for s in statements):
                    break
                return value
        raise _NotEditable("The calls stand in different blocks.", statements[0].lineno - 1)

    def _environment(self, function: ast.FunctionDef, gone: set[ast.stmt], stop: ast.stmt) -> Env:
        """Which local name holds which Value just before `stop`, with the statements in `gone` left out."""
        inputs = {v.name: v.id for v in self.source.graph.values if v.origin == "input"}
        arguments = [*function.args.posonlyargs, *function.args.args, *function.args.kwonlyargs]
        env = {a.arg: inputs[a.arg] for a in arguments if a.arg in inputs}
        self._run(function.body, env, gone, stop)
        return env

    def _run(self, body: list[ast.stmt], env: Env, gone: set[ast.stmt], stop: ast.stmt) -> bool:
        for statement in body:
            if statement is stop:
                return True
            if statement in gone:
                continue
            if isinstance(statement, ast.With | ast.If | ast.Try):
                for branch in _branches(statement):
                    if stop in ast.walk(ast.Module(branch, [])) or isinstance(statement, ast.With):
                        if self._run(branch, env, gone, stop):
                            return True
                    else:
                        for name in {n for s in branch for n in bound_names(s)}:
                            env.pop(name, None)
                continue
            self._bind(statement, env)
        return False

    def _bind(self, statement: ast.stmt, env: Env) -> None:
        value = (
            self.source.value_of(statement.value, env) if isinstance(statement, ast.Assign | ast.AnnAssign) else None
        )
        if isinstance(statement, ast.AugAssign):
            value = next((n.outputs[0] for n in self.source.nodes_at.get(self.source.span(statement), ())), None)
        for name in bound_names(statement):
            env.pop(name, None)
        targets = statement.targets if isinstance(statement, ast.Assign) else [getattr(statement, "target", None)]
        for target in targets:
            if isinstance(target, ast.Name) and value is not None:
                env[target.id] = value
            elif isinstance(target, ast.Tuple) and isinstance(statement, ast.Assign):
                self._bind_parts(target, statement.value, env)
        for node in self._nodes_in(statement):
            first = node.args[0] if node.args else None
            if node.inplace and isinstance(first, TensorRef):
                env |= {n: node.outputs[0] for n, v in env.items() if v == first.id}

    def _bind_parts(self, target: ast.Tuple, value: ast.expr, env: Env) -> None:
        made = self.source.nodes_at.get(self.source.span(value), ())
        parts: list[int | None] = list(made[-1].outputs) if made else []
        if isinstance(value, ast.Tuple):
            parts = [self.source.value_of(item, env) for item in value.elts]
        for name, part in zip(target.elts, parts, strict=False):
            if isinstance(name, ast.Name) and part is not None:
                env[name.id] = part

    def _nodes_in(self, tree: ast.AST) -> Iterator[Node]:
        for item in ast.walk(tree):
            if isinstance(item, ast.expr | ast.AugAssign):
                yield from self.source.nodes_at.get(self.source.span(item), ())

    def _remove(
        self, gone: list[ast.stmt], sink: ast.stmt, env: Env, block: list[ast.stmt]
    ) -> dict[ast.stmt, set[str]]:
        """Delete the statements, keeping what is not replaced in them; the names that each leaves unbound."""
        dirty: dict[ast.stmt, set[str]] = {}
        for statement in gone:
            targets = _simple_targets(statement)
            value = statement if isinstance(statement, ast.AugAssign) else getattr(statement, "value", None)
            if targets is None or value is None:
                raise _NotEditable("This statement does more than name a result.", statement.lineno - 1)
            made = self._made_by(value)
            if made is None or self.source.producers[made].id not in self.nodes:
                raise _NotEditable("This statement keeps a result that is not fused.", statement.lineno - 1)
            kept = list(self._kept_expressions(value))
            dirty[statement] = set(targets)
            self._replace_statement(statement, kept, targets, env, sink, block)
        return dirty

    def _made_by(self, tree: ast.AST) -> int | None:
        if isinstance(tree, ast.AugAssign):
            made = self.source.nodes_at.get(self.source.span(tree), ())
            return made[-1].outputs[0] if made else None
        return self.source.value_of(tree, {})

    def _kept_expressions(self, tree: ast.AST) -> Iterator[ast.expr]:
        """The largest expressions inside a replaced one that make tensors by calls which are not replaced."""
        made = self.source.nodes_at.get(self.source.span(tree), ()) if hasattr(tree, "lineno") else ()
        inner = [n for n in self._nodes_in(tree) if n.id not in self.nodes]
        if not inner:
            return
        if made and made[-1].id not in self.nodes and isinstance(tree, ast.expr):
            yield tree
            return
        for child in ast.iter_child_nodes(tree):
            yield from self._kept_expressions(child) if isinstance(child, ast.expr) else ()
            if isinstance(child, ast.keyword):
                yield from self._kept_expressions(child.value)

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
            made = self._made_by(expression)
            if made is None or made not in wanted:
                raise _NotEditable("An inner call cannot be kept under a name.", expression.lineno - 1)
            if self._movable(expression, sink):
                self.names[made] = self.source.segment(expression)
                continue
            name = self._free_name(targets, env, wanted, made)
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
        taken = {n.id for n in ast.walk(self.source.tree) if isinstance(n, ast.Name)} | set(self.names.values())
        return next(n for n in (f"{base}_out{i}" for i in ("", *range(2, 99))) if n not in taken)

    def _movable(self, expression: ast.expr, sink: ast.stmt) -> bool:
        """A view of the module's own parameters means the same further down."""
        views = {"view", "reshape", "unsqueeze", "squeeze", "t", "transpose", "permute", "flatten"}
        return loaded_names(expression) <= {"self", "torch"} and all(n.op in views for n in self._nodes_in(expression))

    def _whole_lines(self, statement: ast.stmt) -> tuple[int, int]:
        """The statement's lines with the comment lines right above it. Raises where it shares a line."""
        start, end = self.source.offsets(statement)
        first, last = statement.lineno - 1, (statement.end_lineno or statement.lineno) - 1
        before = self.source.text[self.source.starts[first] : start]
        after = self.source.text[end : self.source.starts[last + 1]].strip()
        if before.strip() or (after and not after.startswith("#")):
            raise _NotEditable("This line holds more than one statement.", first)
        while first > 0 and self.source.lines[first - 1].startswith(before + "#"):
            first -= 1
        return self.source.starts[first], self.source.starts[last + 1]

    def _check_reads(
        self,
        function: ast.FunctionDef,
        block: list[ast.stmt],
        gone: list[ast.stmt],
        sink: ast.stmt,
        sink_tree: ast.AST,
        dirty: Mapping[ast.stmt, set[str]],
    ) -> None:
        """Every name that is read later must still hold what it held before."""
        stale: set[str] = set()
        for statement in block[min(block.index(s) for s in (*gone, sink)) :]:
            kept = {n for e in self._kept_expressions(statement) for n in ast.walk(e)}
            if statement in dirty:
                self._refuse_stale(stale & {n.id for n in kept if isinstance(n, ast.Name)}, statement)
                stale |= dirty[statement]
                continue
            replaced = set(ast.walk(sink_tree)) - kept if statement is sink else set()
            reads = {
                n.id
                for n in ast.walk(statement)
                if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load) and n not in replaced
                if not self._same_shape(n, function, gone, statement)
            }
            self._refuse_stale(stale & reads, statement)
            stale -= set(_simple_targets(statement) or _tuple_targets(statement))
        if not stale:
            return
        last = block[-1].end_lineno or block[-1].lineno
        for name in ast.walk(function):
            if isinstance(name, ast.Name) and isinstance(name.ctx, ast.Load) and name.lineno > last:
                self._refuse_stale(stale & {name.id}, name)

    def _same_shape(self, name: ast.Name, function: ast.FunctionDef, gone: list[ast.stmt], statement: ast.stmt) -> bool:
        """Whether only the shape, dtype or device is asked for, and those are what they were."""
        parent = self.source.parents.get(name)
        if not isinstance(parent, ast.Attribute) or parent.attr not in _TYPE_QUESTIONS:
            return False
        old = self._environment(function, set(), statement).get(name.id)
        new = self._environment(function, set(gone), statement).get(name.id)
        if old is None or new is None:
            return False
        types = [self.source.graph.value(v).type for v in (old, new)]
        return (types[0].shape, types[0].dtype) == (types[1].shape, types[1].dtype)

    def _refuse_stale(self, names: set[str], where: ast.stmt | ast.Name) -> None:
        if names:
            raise _NotEditable(f"`{min(names)}` is read again and would have changed.", where.lineno - 1)

    def _name_inputs(self, wanted: Iterable[int], env: Env, sink_tree: ast.AST, sink: ast.stmt) -> None:
        values = self.source.graph.values
        inlined = {self._made_by(e): e for e in self._kept_expressions(sink_tree)}
        entry_owns = self._self_is_entry(sink)
        for value in wanted:
            if value in self.names:
                continue
            if value in inlined:
                self.names[value] = self.source.segment(inlined[value])
                continue
            name = next((n for n, v in env.items() if v == value), None)
            if name is not None:
                self.names[value] = name
            elif values[value].origin in ("parameter", "buffer") and values[value].name and entry_owns:
                self.names[value] = attribute_text(values[value].name)
            else:
                raise _NotEditable(
                    "An input of the region has no name where the new call would stand.", sink.lineno - 1
                )

    def _self_is_entry(self, statement: ast.stmt) -> bool:
        """Whether `self` here is the object that the workload calls."""
        parent: ast.AST | None = statement
        while parent is not None and not isinstance(parent, ast.ClassDef):
            parent = self.source.parents.get(parent)
        return isinstance(parent, ast.ClassDef) and parent.name == self.source.graph.entry

    def _collect_scalars(
        self, inside: list[Node], trees: Mapping[int, ast.AST], sink: ast.stmt, function: ast.FunctionDef
    ) -> None:
        start = min(self.source.statement(tree).lineno for tree in trees.values())
        assigned: dict[str, list[int]] = {}
        for n in ast.walk(function):
            if isinstance(n, ast.Name) and not isinstance(n.ctx, ast.Load):
                assigned.setdefault(n.id, []).append(n.lineno)
        for node in inside:
            tree = trees[node.id]
            if isinstance(tree, ast.Call) and is_module_call(node, tree):
                self._module_scalars(node, tree)
                continue
            env = self._environment(function, set(), self.source.statement(tree))
            numbers = _numbers(node)
            for parameter, expression in operands(self.source, node, tree, env).items():
                if parameter not in numbers:
                    continue
                if self._made_by(expression) is not None or self.source.value_of(expression, env) is not None:
                    continue
                if _is_constant(expression) or list(self._nodes_in(expression)):
                    continue
                unstable = [
                    name
                    for name in loaded_names(expression)
                    if any(start <= line < sink.lineno for line in assigned.get(name, ()))
                ]
                if unstable:
                    raise _NotEditable(f"`{unstable[0]}` changes before the new call.", tree.lineno - 1)
                self.scalars[node.id, parameter] = self.source.segment(expression)

    def _assert_evaluation(self, inside: list[Node], trees: Mapping[int, ast.AST], sink: ast.stmt) -> None:
        """Dropout and batch norm mean something else in training: the new code says that it is not for that."""
        conditions: list[str] = []
        for node in inside:
            if node.op not in ("dropout", "batch_norm"):
                continue
            tree = trees[node.id]
            if not isinstance(tree, ast.Call) or not is_module_call(node, tree):
                given = operands(self.source, node, tree, {})
                if any(not isinstance(given.get(p), ast.Constant | None) for p in ("p", "training")):
                    raise _NotEditable(f"{node.op} may act differently in training mode.", _line(node))
                continue
            path = self.source.segment(tree.func)
            acts = f"{path}.training" + (f" and {path}.p" if node.op == "dropout" else "")
            conditions.append(f"({acts})" if node.op == "dropout" else acts)
        if not conditions:
            return
        start = self.source.starts[sink.lineno - 1]
        indent = self.source.lines[sink.lineno - 1][: sink.col_offset]
        newline = newline_of(self.source.text)
        text = "".join(f"{indent}assert not {condition}{newline}" for condition in dict.fromkeys(conditions))
        self.edits.append(TextEdit(start, start, text))

    def _module_scalars(self, node: Node, call: ast.Call) -> None:
        """Numbers that a submodule keeps as attributes stay its attributes: `self.act.negative_slope`."""
        path = attribute_path(call.func)
        for parameter, attribute in _MODULE_SCALARS.get(node.op, {}).items():
            self.scalars[node.id, parameter] = f"{attribute_text(path or '')}.{attribute}"


_MODULE_SCALARS = {
    "leaky_relu": {"negative_slope": "negative_slope"},
    "hardtanh": {"min_val": "min_val", "max_val": "max_val"},
    "elu": {"alpha": "alpha"},
    "celu": {"alpha": "alpha"},
    "softplus": {"beta": "beta", "threshold": "threshold"},
    "layer_norm": {"eps": "eps"},
    "group_norm": {"eps": "eps", "num_groups": "num_groups"},
    "instance_norm": {"eps": "eps"},
    "batch_norm": {"eps": "eps"},
}


def _numbers(node: Node) -> set[str]:
    """The parameters of the node that were given a number."""
    names = [name for name, _ in (signature(node.op) or ((), 0))[0]]
    given = dict(zip(names, node.args, strict=False)) | dict(node.kwargs)
    return {name for name, value in given.items() if isinstance(value, int | float) and not isinstance(value, bool)}


def _is_constant(tree: ast.expr) -> bool:
    """A literal, or arithmetic and `math.` calls of literals."""
    names = loaded_names(tree)
    return names <= {"math", "float", "int"}


def _simple_targets(statement: ast.stmt) -> list[str] | None:
    """The plain names that a statement binds; None when it binds anything else or does more than that."""
    if isinstance(statement, ast.Assign) and all(isinstance(t, ast.Name) for t in statement.targets):
        return [t.id for t in statement.targets if isinstance(t, ast.Name)]
    if isinstance(statement, ast.AnnAssign | ast.AugAssign) and isinstance(statement.target, ast.Name):
        return [statement.target.id]
    if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call):
        receiver = getattr(statement.value.func, "value", None)
        return [receiver.id] if isinstance(receiver, ast.Name) else None
    return None


def _tuple_targets(statement: ast.stmt) -> list[str]:
    if isinstance(statement, ast.Assign):
        return [n.id for t in statement.targets if isinstance(t, ast.Tuple) for n in t.elts if isinstance(n, ast.Name)]
    return []


def _branches(statement: ast.With | ast.If | ast.Try) -> list[list[ast.stmt]]:
    if isinstance(statement, ast.With):
        return [statement.body]
    if isinstance(statement, ast.If):
        return [statement.body, statement.orelse]
    return [statement.body, *(h.body for h in statement.handlers), statement.orelse, statement.finalbody]


def _line(node: Node) -> int | None:
    return node.where.start_line if node.where else None
