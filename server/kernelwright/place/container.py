"""The call of a container of modules as one statement for each module that it holds."""

import ast

from kernelwright.place.lines import Lines
from kernelwright.place.source_env import NotEditable
from kernelwright.place.source_map import SourceMap, attribute_path, attribute_text, class_of, references
from kernelwright.source.trees import walk
from kernelwright.values import Node

_MOST = 40  # statements that a person would still read


def child(node: Node, path: str) -> int | None:
    """The index of the module inside the container at `path` that made the node."""
    first = node.module.removeprefix(f"{path}.").split(".")[0] if node.module.startswith(f"{path}.") else ""
    return int(first) if first.isdecimal() else None


def container_lines(source: SourceMap, call: ast.Call, path: str, name: str) -> Lines:
    """The call of the container at `path` as `name = self.block[0](x)`, …. Raises NotEditable."""
    _check_chain(source, path, call)
    count, fixed = _length(source, path, call)
    argument = source.segment(call.args[0])
    head = [] if fixed else [f"assert len({attribute_text(path)}) == {count}"]
    values = [f"{attribute_text(f'{path}.{index}')}({name if index else argument})" for index in range(count)]
    before = len(name) + len(" = ")
    places = {}
    for node in source.nodes_at[source.span(call)]:
        index = child(node, path)
        if index is not None:
            places[node.id] = len(head) + index, (before, before + len(values[index]))
    texts = (*head, *(f"{name} = {value}" for value in values))
    return Lines(name, texts, places, (len(head), before + len(values[0]) - len(argument) - 1))


def _check_chain(source: SourceMap, path: str, call: ast.Call) -> None:
    """Raises unless the modules ran in order, each on the result of the one before: then it is a Sequential."""
    inside = _made_by(source, call, path)
    indices = [child(n, path) for n in inside]
    known = [i for i in indices if i is not None]
    reason = f"The modules in `{attribute_text(path)}` do not run one after the other."
    if len(known) < len(indices) or known != sorted(known):
        raise NotEditable(reason, call.lineno - 1)
    previous: set[int] = set()
    for index in sorted(set(known)):
        step = [n for n in inside if child(n, path) == index]
        made = {v for n in step for v in n.outputs}
        read = {v for n in step for v in references(n)} - made
        entering = {v for v in read if source.graph.value(v).origin in ("input", "node")}
        if len(entering) > 1 or (previous and entering and not entering <= previous):
            raise NotEditable(reason, call.lineno - 1)
        previous = made


def _made_by(source: SourceMap, call: ast.Call, path: str) -> list[Node]:
    """The nodes of one call of the container: those around the call's own, up to where the modules begin again."""
    nodes, made = source.graph.nodes, [n.id for n in source.nodes_at[source.span(call)]]
    first, last = min(made), max(made)
    while first > 0 and _before(nodes[first - 1], nodes[first], path):
        first -= 1
    while last + 1 < len(nodes) and _before(nodes[last], nodes[last + 1], path):
        last += 1
    return list(nodes[first : last + 1])


def _before(node: Node, following: Node, path: str) -> bool:
    """Whether both nodes were made inside the container, the first by the same module or one that stands before."""
    one, other = child(node, path), child(following, path)
    return one is not None and other is not None and one <= other


def _length(source: SourceMap, path: str, call: ast.Call) -> tuple[int, bool]:
    """How many modules the container holds, and whether the class says so where it makes it."""
    ran = max(i for n in source.graph.nodes if (i := child(n, path)) is not None) + 1
    written = _constructed(source, path, class_of(source, call))
    count = ran if written is None else written
    if count > _MOST:
        raise NotEditable(f"`{attribute_text(path)}` holds {count} modules, too many to write out.", call.lineno - 1)
    if count < ran:
        raise NotEditable(f"`{attribute_text(path)}` is not what the class makes of it.", call.lineno - 1)
    return count, written is not None


def _constructed(source: SourceMap, path: str, owner: ast.ClassDef | None) -> int | None:
    """The number of modules in the class's only `self.<path> = nn.Sequential(a, b, …)`, where each stands there."""
    made = [
        statement.value
        for statement in (walk(owner) if owner else ())
        if isinstance(statement, ast.Assign) and any(attribute_path(t) == path for t in statement.targets)
    ]
    if len(made) != 1 or not isinstance(made[0], ast.Call) or made[0].keywords:
        return None
    function = made[0].func
    name = function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")
    modules = made[0].args
    if name != "Sequential" or len(modules) < 2 or any(isinstance(m, ast.Starred) for m in modules):
        return None
    return len(modules)
