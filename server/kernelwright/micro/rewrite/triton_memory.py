"""Which tensors a Triton kernel reads and writes, by following its pointers to the parameters they start from."""

import ast
from dataclasses import dataclass

from kernelwright.micro.rewrite.triton_assignments import assignments
from kernelwright.micro.rewrite.triton_source import Fragment, names_read, statements
from kernelwright.source.calls import parameters
from kernelwright.source.trees import walk

_TL = "triton.language."
_POINTER_MAKERS = (_TL + "make_block_ptr", _TL + "make_tensor_descriptor", _TL + "advance", _TL + "multiple_of")


@dataclass(frozen=True)
class Touch:
    """One load, store or atomic. `parameter` is None where the pointer cannot be followed; `line` counts from 0."""

    kind: str  # "load" | "store" | "atomic_add", …
    parameter: str | None
    line: int
    call: ast.Call


def touches(fragment: Fragment) -> tuple[Touch, ...]:
    definition = fragment.node
    assert isinstance(definition, ast.FunctionDef)
    sources: dict[str, list[ast.expr]] = {}
    for name, value in assignments(definition):
        sources.setdefault(name, []).append(value)
    names = {p.arg for p in parameters(definition)}
    found: list[Touch] = []
    for called, node in fragment.calls:
        kind, pointer = _access(called, node)
        if kind and pointer is not None:
            found.append(Touch(kind, _base(fragment, pointer, sources, names, frozenset()), node.lineno - 1, node))
    return tuple(sorted(found, key=lambda touch: touch.line))


def size_parameters(fragment: Fragment) -> tuple[str, ...]:
    """Parameters that bound masks, loops or program counts: what the best block size depends on."""
    definition = fragment.node
    assert isinstance(definition, ast.FunctionDef)
    names = [p.arg for p in parameters(definition)]
    indices = _index_names(fragment)
    found: set[str] = set()
    for node in fragment.nodes:
        if isinstance(node, ast.Compare) and names_read(node) & indices:
            found |= names_read(node)
        elif isinstance(node, ast.For):
            found |= names_read(node.iter)
    for name, call in fragment.calls:
        if name in (_TL + "cdiv", "triton.cdiv"):
            found |= names_read(call)
    return tuple(name for name in names if name in found)


def _index_names(fragment: Fragment) -> set[str]:
    """Names computed from program ids and aranges without reading memory."""
    found: set[str] = set()
    definition = fragment.node
    assert isinstance(definition, ast.FunctionDef)
    for statement in statements(definition.body):
        if isinstance(statement, ast.For) and isinstance(statement.target, ast.Name):
            found.add(statement.target.id)
    kinds = {call: name for name, call in fragment.calls}
    for name, value in assignments(definition):
        called = {kinds[node] for node in walk(value) if node in kinds}
        if _TL + "load" in called:
            continue
        if called & {_TL + "arange", _TL + "program_id"} or names_read(value) & found:
            found.add(name)
    return found


def _access(name: str | None, call: ast.Call) -> tuple[str, ast.expr | None]:
    if name is not None and name.startswith(_TL):
        kind = name.removeprefix(_TL)
        if kind in ("load", "store") or kind.startswith("atomic_"):
            return kind, call.args[0] if call.args else next(
                (k.value for k in call.keywords if k.arg == "pointer"), None
            )
        return "", None
    if isinstance(call.func, ast.Attribute) and call.func.attr in ("load", "store", "atomic_add", "gather", "scatter"):
        kind = {"gather": "load", "scatter": "store"}.get(call.func.attr, call.func.attr)
        return kind, call.func.value
    return "", None


def _base(
    fragment: Fragment, pointer: ast.expr, sources: dict[str, list[ast.expr]], names: set[str], seen: frozenset[str]
) -> str | None:
    """The parameter that a pointer expression starts from: the left end of its sums, through local names."""
    if isinstance(pointer, ast.BinOp) and isinstance(pointer.op, ast.Add | ast.Sub):
        return _base(fragment, pointer.left, sources, names, seen)
    if isinstance(pointer, ast.Subscript):
        return _base(fragment, pointer.value, sources, names, seen)
    if isinstance(pointer, ast.Call):
        if fragment.called(pointer) in _POINTER_MAKERS and pointer.args:
            return _base(fragment, pointer.args[0], sources, names, seen)
        if isinstance(pointer.func, ast.Attribute) and pointer.func.attr == "to":
            return _base(fragment, pointer.func.value, sources, names, seen)
        return None
    if not isinstance(pointer, ast.Name):
        return None
    if pointer.id in names:
        return pointer.id
    if pointer.id in seen:
        return None
    found = {_base(fragment, value, sources, names, seen | {pointer.id}) for value in sources.get(pointer.id, [])} - {
        None
    }
    return found.pop() if len(found) == 1 else None
