"""Where each node of an op graph stands in the user's source, and which value a source expression has."""

import ast
import functools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from kernelwright.ops import KEYWORDS, signature
from kernelwright.source.trees import children, extent, walk
from kernelwright.values import CodeSpan, Graph, Node, Refusal, TensorRef, Value, digest

Env = dict[str, int]  # local name -> Value id


@dataclass(frozen=True, eq=False)
class SourceMap:
    """A parsed text beside the graph that was captured from it. Expressions are found by their span.

    Two maps are the same where they are one object, so that what is found out about a map can be remembered.
    """

    text: str
    graph: Graph
    tree: ast.Module
    starts: tuple[int, ...]  # offset of each line
    lines: tuple[str, ...]
    parents: Mapping[ast.AST, ast.AST]
    nodes_at: Mapping[CodeSpan, tuple[Node, ...]]
    expressions: Mapping[CodeSpan, ast.AST]
    spans: Mapping[ast.AST, CodeSpan]  # of every expression and `x += y`
    producers: Mapping[int, Node]
    users: Mapping[int, tuple[Node, ...]]
    attributes: Mapping[str, int]  # "linear.weight" -> Value id
    loop: ast.For | None = None  # of which the graph holds one iteration; None for all that ran

    def span(self, tree: ast.AST) -> CodeSpan:
        """The span of a located tree, in code points."""
        if tree in self.spans:
            return self.spans[tree]
        first, column, last, end = extent(tree)
        return CodeSpan(first - 1, self._column(first - 1, column), last - 1, self._column(last - 1, end))

    def offsets(self, tree: ast.AST) -> tuple[int, int]:
        """Start and end of a located tree as offsets into the text."""
        span = self.span(tree)
        return self.starts[span.start_line] + span.start_column, self.starts[span.end_line] + span.end_column

    def segment(self, tree: ast.AST) -> str:
        start, end = self.offsets(tree)
        return self.text[start:end]

    def _column(self, line: int, byte: int) -> int:
        return len(self.lines[line].encode("utf-8", "surrogatepass")[:byte].decode("utf-8", "ignore"))

    def expression(self, node: Node) -> ast.AST | None:
        """The expression (or `x += y` statement) that made `node`."""
        return self.expressions.get(node.where) if node.where else None

    def statement(self, tree: ast.AST) -> ast.stmt:
        while not isinstance(tree, ast.stmt):
            tree = self.parents[tree]
        return tree

    def function(self, tree: ast.AST) -> ast.FunctionDef | None:
        """The innermost function definition around `tree`."""
        parent = self.parents.get(tree)
        while parent is not None and not isinstance(parent, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            parent = self.parents.get(parent)
        return parent if isinstance(parent, ast.FunctionDef) else None

    def value_of(self, tree: ast.AST, env: Env) -> int | None:
        """The Value that an expression has where `env` holds; None for what is no tensor of the graph."""
        if isinstance(tree, ast.Name):
            return env.get(tree.id)
        made = self.nodes_at.get(self.span(tree), ()) if isinstance(tree, ast.expr) else ()
        if made and len(made[-1].outputs) == 1:
            return made[-1].outputs[0]
        if isinstance(tree, ast.Subscript | ast.Attribute):
            part = self._part(tree)
            if part is not None:
                return part
        path = module_path(tree)
        if path is not None and path in self.attributes:
            return self.attributes[path]
        if isinstance(tree, ast.Call):
            return self._returned(tree)
        return None

    def _part(self, tree: ast.Subscript | ast.Attribute) -> int | None:
        """`torch.max(x, 1)[0]` and `.values`: one output of a call with several."""
        made = self.nodes_at.get(self.span(tree.value), ())
        if not made or len(made[-1].outputs) < 2:
            return None
        outputs = made[-1].outputs
        if isinstance(tree, ast.Attribute):
            return {"values": outputs[0], "indices": outputs[1]}.get(tree.attr)
        index = tree.slice.value if isinstance(tree.slice, ast.Constant) else None
        return outputs[index] if isinstance(index, int) and 0 <= index < len(outputs) else None

    def _returned(self, call: ast.Call) -> int | None:
        """The one tensor that leaves a function of this file when this call runs it."""
        name = call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", None)
        owners = [f for f in walk(self.tree) if isinstance(f, ast.FunctionDef) and f.name == name]
        if len(owners) != 1 or owners[0] is self.function(call):
            return None
        lines = range(owners[0].lineno - 1, owners[0].end_lineno or owners[0].lineno)
        inside = [n for n in self.graph.nodes if n.where and n.where.start_line in lines]
        if sum(isinstance(c, ast.Call) and _called(c) == name for c in walk(self.tree)) > 1:
            first, last = self._while_running(call)
            inside = [n for n in inside if first < n.id < last]
            if len({(n.op, n.where) for n in inside}) < len(inside):
                return None
        ids = {n.id for n in inside}
        leaving = {
            v for n in inside for v in n.outputs
            if v in self.graph.outputs or any(u.id not in ids for u in self.users.get(v, ()))
        }  # fmt: skip
        return leaving.pop() if len(leaving) == 1 else None

    def _while_running(self, call: ast.Call) -> tuple[int, int]:
        """The ids of the last node that the function around made before the call, and of the first one after it."""
        function, statement, arguments = self.function(call), self.statement(call), set(walk(call))
        above: set[ast.AST] = set()
        parent = self.parents[call]
        while parent is not statement:
            above.add(parent)
            parent = self.parents[parent]
        first, last = -1, len(self.graph.nodes)
        for node in self.graph.nodes:
            tree = self.expression(node)
            if tree is None or self.function(tree) is not function:
                continue
            line = self.statement(tree).lineno - statement.lineno
            if tree in arguments or line < 0:
                first = max(first, node.id)
            elif tree in above or line > 0:
                last = min(last, node.id)
        return first, last

    def part_expression(self, node: Node, tree: ast.AST, output: int) -> ast.AST | None:
        """The expression of the one output that is used: for `torch.max(x, 1)[0]` it includes the `[0]`."""
        if len(node.outputs) == 1:
            return tree
        parent = self.parents.get(tree)
        if isinstance(parent, ast.Subscript | ast.Attribute) and parent.value is tree and self._part(parent) == output:
            return parent
        return None


def source_map(text: str, graph: Graph) -> SourceMap | Refusal:
    if digest(text) != graph.text_hash:
        return Refusal("The op graph belongs to another version of the text; run the strategy again.", pending=True)
    parsed = _parsed(text)
    if isinstance(parsed, Refusal):
        return parsed
    graph = _located(graph, parsed)
    users: dict[int, list[Node]] = {}
    for node in graph.nodes:
        for id_ in dict.fromkeys(references(node)):
            users.setdefault(id_, []).append(node)
    return with_graph(replace(parsed, users={id_: tuple(nodes) for id_, nodes in users.items()}), graph)


@functools.lru_cache(maxsize=8)
def _parsed(text: str) -> SourceMap | Refusal:
    """The text beside no graph."""
    try:
        tree = ast.parse(text)
    except SyntaxError as error:
        return Refusal(f"The file does not parse: {error.msg}.", (error.lineno or 1) - 1)
    lines = tuple(text.splitlines(keepends=True))
    if len(lines) != text.count("\n") + (not text.endswith("\n") and bool(text)):
        return Refusal("The file has unusual line breaks (form feeds or bare carriage returns); use plain ones.")
    starts = [0]
    for line in lines:
        starts.append(starts[-1] + len(line))
    parents = {child: parent for parent in walk(tree) for child in children(parent)}
    nothing = Graph("", "", "", False, (), (), ())
    empty = SourceMap(text, nothing, tree, tuple(starts), lines, parents, {}, {}, {}, {}, {}, {})
    spans: dict[ast.AST, CodeSpan] = {item: empty.span(item) for item in expressions_in(tree)}
    expressions: dict[CodeSpan, ast.AST] = {}
    for item, span in spans.items():
        expressions.setdefault(span, item)
    return replace(empty, expressions=expressions, spans=spans)


def with_graph(source: SourceMap, graph: Graph, loop: ast.For | None = None) -> SourceMap:
    """The same text beside the same graph with other places and names, such as those of one iteration of `loop`."""
    places: dict[CodeSpan, list[Node]] = {}
    producers: dict[int, Node] = {}
    for node in graph.nodes:
        if node.where:
            places.setdefault(node.where, []).append(node)
        for value in node.outputs:
            producers[value] = node
    nodes_at = {span: tuple(nodes) for span, nodes in places.items()}
    users = {value: tuple(graph.nodes[user.id] for user in some) for value, some in source.users.items()}
    found = replace(source, graph=graph, loop=loop, nodes_at=nodes_at, producers=producers, users=users)
    return replace(found, attributes=_attributes(graph))


def with_values(source: SourceMap, values: tuple[Value, ...]) -> SourceMap:
    """The same text and nodes with other names of Values."""
    graph = replace(source.graph, values=values)
    return replace(source, graph=graph, attributes=_attributes(graph))


def _located(graph: Graph, source: SourceMap) -> Graph:
    """The graph with the whole expression of each method call that is broken before its name.

    The interpreter gives the position of such a call from the name of the method on.
    """
    whole: dict[CodeSpan, CodeSpan] = {}
    for span, item in source.expressions.items():
        if isinstance(item, ast.Call) and isinstance(item.func, ast.Attribute):
            function = source.span(item.func)
            if function.start_line != function.end_line:
                column = function.end_column - len(item.func.attr)
                whole[CodeSpan(function.end_line, column, span.end_line, span.end_column)] = span
    if not whole:
        return graph
    nodes = (replace(n, where=whole.get(n.where, n.where)) if n.where else n for n in graph.nodes)
    return replace(graph, nodes=tuple(nodes))


def _attributes(graph: Graph) -> dict[str, int]:
    return {v.name: v.id for v in graph.values if v.origin in ("parameter", "buffer") and v.name}


def references(node: Node) -> Iterator[int]:
    """The ids of all Values that `node` reads."""
    return _references((node.args, tuple(node.kwargs.values())))


def _references(argument: object) -> Iterator[int]:
    if isinstance(argument, TensorRef):
        yield argument.id
    elif isinstance(argument, tuple):
        for item in argument:
            yield from _references(item)


def attribute_path(tree: ast.AST) -> str | None:
    """ "linear.weight" for `self.linear.weight`, "net.1.weight" for `self.net[1].weight`; None for anything else."""
    if isinstance(tree, ast.Attribute):
        if isinstance(tree.value, ast.Name) and tree.value.id == "self":
            return tree.attr
        head = attribute_path(tree.value)
        return f"{head}.{tree.attr}" if head else None
    if isinstance(tree, ast.Subscript) and isinstance(tree.slice, ast.Constant) and isinstance(tree.slice.value, int):
        head = attribute_path(tree.value)
        return f"{head}.{tree.slice.value}" if head else None
    return None


def module_path(tree: ast.AST) -> str | None:
    """As `attribute_path`, with "@" before local names: "@layer.norm" for `layer.norm`, "net.@i" for `self.net[i]`."""
    if isinstance(tree, ast.Name):
        return f"@{tree.id}" if tree.id != "self" else None
    if isinstance(tree, ast.Subscript) and isinstance(tree.slice, ast.Name):
        head = module_path(tree.value)
        return f"{head}.@{tree.slice.id}" if head else None
    if isinstance(tree, ast.Attribute | ast.Subscript) and attribute_path(tree) is None:
        head = module_path(tree.value)
        last = tree.attr if isinstance(tree, ast.Attribute) else getattr(tree.slice, "value", None)
        return f"{head}.{last}" if head and (isinstance(tree, ast.Attribute) or isinstance(last, int)) else None
    return attribute_path(tree)


def attribute_text(path: str) -> str:
    """`self.net[1].weight` for "net.1.weight", `layer[0].weight` for "@layer.0.weight"."""
    first, *rest = path.split(".")
    text, rest = (first[1:], rest) if first.startswith("@") else ("self", [first, *rest])
    for part in rest:
        text += f"[{part.removeprefix('@')}]" if part.isdecimal() or part.startswith("@") else f".{part}"
    return text


def operands(source: SourceMap, node: Node, tree: ast.AST, env: Env) -> dict[str, ast.expr]:
    """The source expression of each argument, by canonical parameter name; absent for what stands in no expression."""
    if isinstance(tree, ast.BinOp | ast.AugAssign):
        left, right = (tree.left, tree.right) if isinstance(tree, ast.BinOp) else (tree.target, tree.value)
        names = [n for n, _ in (signature(node.op) or ((("input", ...), ("other", ...)), 2))[0][:2]]
        first = node.args[0]
        straight = not isinstance(first, TensorRef) or source.value_of(left, env) == first.id
        mirrored = isinstance(first, TensorRef) and source.value_of(right, env) == first.id
        return dict(zip(names, (right, left) if mirrored and not straight else (left, right), strict=False))
    if isinstance(tree, ast.UnaryOp):
        return {"input": tree.operand}
    if isinstance(tree, ast.Compare) and len(tree.comparators) == 1:
        return {"input": tree.left, "other": tree.comparators[0]}
    if isinstance(tree, ast.Call):
        return _call_operands(source, node, tree, env)
    return {}


def _call_operands(source: SourceMap, node: Node, call: ast.Call, env: Env) -> dict[str, ast.expr]:
    if any(isinstance(a, ast.Starred) for a in call.args) or any(k.arg is None for k in call.keywords):
        return {}
    if is_module_call(node, call):
        return {"input": call.args[0]} if call.args else {}
    known = signature(node.op)
    names = [name for name, _ in known[0]] if known else ["input", "other"]
    given: list[ast.expr] = list(call.args)
    if isinstance(call.func, ast.Attribute) and node.args and isinstance(node.args[0], TensorRef):
        receiver = source.value_of(call.func.value, env)
        if receiver == node.args[0].id and not _is_namespace(call.func.value):
            given = [call.func.value, *given]
    bound = dict(zip(names, given, strict=False))
    return bound | {KEYWORDS.get(k.arg, k.arg): k.value for k in call.keywords if k.arg}


def is_module_call(node: Node, call: ast.Call) -> bool:
    """Whether the call is that of the submodule which made the node: `self.norm(x)`."""
    return bool(node.module) and module_path(call.func) == node.module


def _is_namespace(tree: ast.expr) -> bool:
    return isinstance(tree, ast.Name) and tree.id in ("torch", "F")


def _called(call: ast.Call) -> str | None:
    return call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", None)


def class_of(source: SourceMap, tree: ast.AST) -> ast.ClassDef | None:
    """The innermost class around a tree."""
    parent = source.parents.get(tree)
    while parent is not None and not isinstance(parent, ast.ClassDef):
        parent = source.parents.get(parent)
    return parent


def used_only_by(source: SourceMap, line: int) -> list[ast.ClassDef | ast.FunctionDef]:
    """The classes and functions of the file that nothing but the one on `line`, and one another, mention."""
    definitions = [s for s in source.tree.body if isinstance(s, ast.ClassDef | ast.FunctionDef)]
    mentioned = {d.name: loaded_names(d) for d in definitions}
    elsewhere = {n for s in source.tree.body if s not in definitions for n in loaded_names(s)}
    own = {d.name for d in definitions if d.lineno - 1 <= line < (d.end_lineno or d.lineno)}
    while True:
        more = {
            name
            for name in mentioned
            if name not in own | elsewhere
            and (users := {user for user, names in mentioned.items() if name in names and user != name})
            and users <= own
        }
        if not more:
            return [d for d in definitions if d.name in own]
        own |= more


@functools.lru_cache(maxsize=1024)
def expressions_in(tree: ast.AST) -> tuple[ast.expr | ast.AugAssign, ...]:
    """What can be the place of a node of the graph, the outermost first."""
    return tuple(item for item in walk(tree) if isinstance(item, ast.expr | ast.AugAssign))


@functools.lru_cache(maxsize=1024)
def loaded_names(tree: ast.AST) -> frozenset[str]:
    return frozenset(n.id for n in walk(tree) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load))


@functools.lru_cache(maxsize=1024)
def bound_names(tree: ast.AST) -> frozenset[str]:
    """Names that executing `tree` may bind or delete."""
    return frozenset(n.id for n in walk(tree) if isinstance(n, ast.Name) and not isinstance(n.ctx, ast.Load))
