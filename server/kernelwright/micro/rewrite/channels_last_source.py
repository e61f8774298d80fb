"""Writes the conversions to channels-last, and back at the end of the call, into the user's source."""

import ast
from collections.abc import Callable, Iterable

from kernelwright.micro.rewrite.channels_last import CONVOLUTIONS, FORMATS
from kernelwright.micro.rewrite.channels_last_plan import Plan, is_large, only_convolves
from kernelwright.micro.rewrite.printed import Printed
from kernelwright.place.layout import IMPORTS, import_conflict, insertion_edits, module_names, newline_of
from kernelwright.place.source_map import SourceMap, attribute_path
from kernelwright.source.trees import walk
from kernelwright.values import Edits, Node, Refusal, TensorType, TextEdit, digest

_LAYERS = frozenset({"Conv2d", "Conv3d", "ConvTranspose2d", "ConvTranspose3d"})
_LABEL, _LABEL_OF_CALL = "channels-last convolutions", "the whole call channels-last"

CopyKernel = Callable[[SourceMap, TensorType], Printed]
"""Prints the kernel that copies tensors of a type into channels-last memory."""


def write(plan: Plan, *, weights: bool, kernel: CopyKernel | None = None) -> Edits | Refusal:
    """The Edits of a plan; with `weights` the layers' weights are converted once, where they or the module are constructed.

    With `kernel` the Triton kernel that it prints converts large entries. A Refusal where `weights` is asked for and no
    layer is constructed in this file, or names that a kernel needs mean something else.
    """
    source = plan.source
    imported = module_names(source.tree)
    if imported.get("torch", "torch") != "torch":
        return Refusal(f"`torch` names {imported['torch']} in this file.")
    if kernel and (conflict := import_conflict(source.tree)) is not None:
        return conflict
    definitions: dict[int, Printed] = {}
    edits: list[TextEdit] = []
    for tree, rank, type_ in plan.entries:
        called = None
        if kernel and type_ is not None and is_large(type_):
            called = definitions.setdefault(rank, kernel(source, type_)).call
        if isinstance(tree, ast.arg):
            first = next((s for s in plan.function.body if not _is_docstring(s)), plan.function.body[-1])
            converted = (
                f"{called}({tree.arg})" if called else f"{tree.arg}.contiguous(memory_format=torch.{FORMATS[rank]})"
            )
            line = _line_before(source, first, f"{tree.arg} = {converted}")
            if line is None:
                return Refusal("The forward has no lines of its own.", first.lineno - 1)
            edits.append(line)
        elif called:
            start, end = source.offsets(tree)
            edits += [TextEdit(start, start, f"{called}("), TextEdit(end, end, ")")]
        else:
            edits += _wrapped(source, tree, f"memory_format=torch.{FORMATS[rank]}")
    edits += [e for tree in (*plan.views, *plan.results) for e in _wrapped(source, tree, "")]
    needed = tuple(IMPORTS) if definitions else ("torch",)
    text = "\n\n\n".join(printed.definitions for printed in definitions.values())
    edits += insertion_edits(source, plan.function, text, tuple(name for name in needed if name not in imported))
    if weights:
        constructed = _constructed(source, plan) or _weight_edits(source, plan.nodes)
        if not constructed:
            return Refusal("The layers are not constructed by plain assignments in this file.")
        edits += constructed
    extra = [*(["weights included"] if weights else []), *(["converted by a kernel"] if kernel else [])]
    label = _LABEL_OF_CALL if any(isinstance(tree, ast.arg) for tree, *_ in plan.entries) else _LABEL
    summary = ", ".join([label, *extra])
    return Edits(digest(source.text), tuple(sorted(edits, key=lambda e: (e.start, e.end))), summary)


def _wrapped(source: SourceMap, tree: ast.expr, argument: str) -> Iterable[TextEdit]:
    start, end = source.offsets(tree)
    if isinstance(tree, ast.Name | ast.Attribute | ast.Call | ast.Subscript):
        return [TextEdit(end, end, f".contiguous({argument})")]
    return [TextEdit(start, start, "("), TextEdit(end, end, f").contiguous({argument})")]


def _is_docstring(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)


def _line_before(source: SourceMap, statement: ast.stmt, line: str) -> TextEdit | None:
    """The edit that puts `line` before a statement; None for one that does not begin its line."""
    start = source.starts[statement.lineno - 1]
    indent = source.text[start : source.offsets(statement)[0]]
    return None if indent.strip() else TextEdit(start, start, f"{indent}{line}{newline_of(source.text)}")


def _constructed(source: SourceMap, plan: Plan) -> list[TextEdit]:
    """A last line of the constructor that converts the weights of the whole module once."""
    if plan.constructor is None:
        return []
    last, rank = plan.constructor.body[-1], CONVOLUTIONS[plan.nodes[0].op]
    newline = newline_of(source.text)
    end = source.starts[last.end_lineno or last.lineno]
    first = source.starts[plan.constructor.body[0].lineno - 1]
    indent = source.text[first : source.offsets(plan.constructor.body[0])[0]]
    if indent.strip() or not source.text[:end].endswith("\n"):
        return []
    return [TextEdit(end, end, f"{indent}self.to(memory_format=torch.{FORMATS[rank]}){newline}")]


def _weight_edits(source: SourceMap, nodes: tuple[Node, ...]) -> list[TextEdit]:
    """A line after each construction of a layer that converts its weight once."""
    edits: dict[int, TextEdit] = {}
    newline = newline_of(source.text)
    for node in nodes:
        if not only_convolves(source, node):
            continue
        statement = _construction(source, node)
        if statement is None:
            continue
        end = source.starts[statement.end_lineno or statement.lineno]
        rest = source.text[source.offsets(statement)[1] : end].strip()
        indent = source.text[source.starts[statement.lineno - 1] : source.offsets(statement)[0]]
        if indent.strip() or (rest and not rest.startswith("#")):
            continue
        layer = source.segment(statement.targets[0])
        line = f"{indent}{layer}.to(memory_format=torch.{FORMATS[CONVOLUTIONS[node.op]]}){newline}"
        edits[end] = TextEdit(end, end, line)
    return list(edits.values())


def _construction(source: SourceMap, node: Node) -> ast.Assign | None:
    """`self.conv = nn.Conv2d(…)` in the class that calls `self.conv(…)`, where it is assigned only once."""
    tree = source.expression(node)
    path = attribute_path(tree.func) if isinstance(tree, ast.Call) else None
    owner: ast.AST | None = tree
    while owner is not None and not isinstance(owner, ast.ClassDef):
        owner = source.parents.get(owner)
    if path is None or owner is None:
        return None
    assigned = [
        s for s in walk(owner) if isinstance(s, ast.Assign) and any(attribute_path(t) == path for t in s.targets)
    ]
    if len(assigned) != 1 or len(assigned[0].targets) != 1 or not isinstance(assigned[0].value, ast.Call):
        return None
    called = assigned[0].value.func
    name = called.attr if isinstance(called, ast.Attribute) else getattr(called, "id", "")
    root = called
    while isinstance(root, ast.Attribute):
        root = root.value
    module = module_names(source.tree).get(getattr(root, "id", ""), "")
    plain = name in _LAYERS and module.split(".")[0] == "torch"
    return assigned[0] if plain and source.starts[-1] >= source.offsets(assigned[0])[1] else None
