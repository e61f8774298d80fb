"""Which tensors a Triton kernel reads and writes, by following its pointers to the parameters they start from."""

import ast
from dataclasses import dataclass

from kernelwright.micro.rewrite.triton_source import names_read
from kernelwright.source.bindings import bindings_of
from kernelwright.source.calls import constexprs, parameters
from kernelwright.source.trees import walk
from kernelwright.source.triton.reader import CDIV, Reading, asks_for_program

_POINTER_MAKERS = ("make_block_ptr", "make_tensor_descriptor", "advance", "multiple_of")


@dataclass(frozen=True)
class Touch:
    """One load, store or atomic. `parameter` is None where the pointer cannot be followed; `line` counts from 0."""

    kind: str  # "load" | "store" | "atomic_add", …
    parameter: str | None
    line: int
    call: ast.Call


def touches(kernel: Reading) -> tuple[Touch, ...]:
    """The accesses of a kernel, in order of their lines."""
    follow = _Pointers(kernel)
    found = (Touch(a.kind, follow.base(a.pointer), a.call.lineno - 1, a.call) for a in kernel.accesses)
    return tuple(sorted(found, key=lambda touch: touch.line))


def size_parameters(kernel: Reading) -> tuple[str, ...]:
    """Parameters that bound masks, loops or program counts: what the best block size depends on."""
    indices = _index_names(kernel)
    bounds: list[ast.expr] = [
        node for node in kernel.nodes if isinstance(node, ast.Compare) and names_read(node) & indices
    ]
    bounds += [loop.node.iter for loop in kernel.loops]
    bounds += [node for node in kernel.nodes if isinstance(node, ast.Call) and kernel.canonical(node) in CDIV]
    found = set[str]().union(*map(names_read, bounds))
    known = {p.arg for p in parameters(kernel.function)}
    computed = [
        one for one in bindings_of(kernel.function) if one.name not in known | indices and not _loads(kernel, one.value)
    ]
    while more := set[str]().union(*(names_read(one.value) for one in computed if one.name in found)) - found:
        found |= more  # such as the factors of a size
    return tuple(p.arg for p in parameters(kernel.function) if p.arg in found)


def _loads(kernel: Reading, value: ast.expr) -> bool:
    return any(kernel.tl(node) == "load" for node in walk(value))


def _index_names(kernel: Reading) -> set[str]:
    """Names computed from program ids and lanes without reading memory, and those of loops."""
    found = {loop.node.target.id for loop in kernel.loops if isinstance(loop.node.target, ast.Name)}
    kinds = {call: name for name, call in kernel.calls}
    for binding in bindings_of(kernel.function):
        called = {kinds[node] for node in walk(binding.value) if node in kinds}
        if "load" not in called and (called & {"arange", "program_id"} or names_read(binding.value) & found):
            found.add(binding.name)
    return found


class _Pointers:
    """Follows pointers of one kernel."""

    def __init__(self, kernel: Reading) -> None:
        self._kernel = kernel
        self._all = {p.arg for p in parameters(kernel.function)}
        self._parameters = {p.arg for p in parameters(kernel.function)} - _numbers(kernel)
        self._values: dict[str, list[ast.expr]] = {}
        for binding in bindings_of(kernel.function):
            # What `+=` adds counts by itself: where that is a parameter too, which of them is the base is left open.
            value = binding.node.value if isinstance(binding.node, ast.AugAssign) else binding.value
            self._values.setdefault(binding.name, []).append(value)

    def base(self, pointer: ast.expr, seen: frozenset[str] = frozenset()) -> str | None:
        """The parameter that a pointer starts from: the left end of its sums but for numbers, through local names."""
        match pointer:
            case ast.BinOp(left=start, op=ast.Add(), right=other) if self._is_number(start):
                return self.base(other, seen)
            case ast.BinOp(left=start, op=ast.Add() | ast.Sub()) | ast.Subscript(value=start):
                return self.base(start, seen)
            case ast.Call(args=[start, *_]) if self._kernel.tl(pointer) in _POINTER_MAKERS:
                return self.base(start, seen)
            case ast.Call(func=ast.Attribute(value=start, attr="to")):
                return self.base(start, seen)
            case ast.Name(id=name) if name in self._parameters:
                return name
            case ast.Name(id=name) if name not in seen:
                found = {self.base(value, seen | {name}) for value in self._values.get(name, [])} - {None}
                return found.pop() if len(found) == 1 else None
        return None

    def _is_number(self, node: ast.expr, seen: frozenset[str] = frozenset()) -> bool:
        """Whether it is computed from ids, lanes and parameters that are no pointers, and from no memory."""
        match node:
            case ast.Constant():
                return True
            case ast.BinOp(left=left, right=right):
                return self._is_number(left, seen) and self._is_number(right, seen)
            case ast.Subscript(value=value) | ast.Call(func=ast.Attribute(value=value, attr="to")):
                return self._is_number(value, seen)
            case ast.Call():
                return asks_for_program(node) or self._kernel.tl(node) == "arange"
            case ast.Name(id=name) if name not in seen and name not in self._parameters:
                values = self._values.get(name, ())
                return name in self._all if not values else all(self._is_number(one, seen | {name}) for one in values)
        return False


def _numbers(kernel: Reading) -> set[str]:
    """The parameters that are surely no pointers: constants of the compiler, and what is multiplied or divided."""
    factors = (
        side
        for node in kernel.nodes
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult | ast.FloorDiv | ast.Mod | ast.Div)
        for side in (node.left, node.right)
    )
    return {*constexprs(kernel.function), *(side.id for side in factors if isinstance(side, ast.Name))}
