"""Which block sizes of a Triton kernel may grow: those whose lanes no load or store reaches without a mask."""

import ast
import functools
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TypeGuard

from kernelwright.source.bindings import bindings_of
from kernelwright.source.calls import argument
from kernelwright.source.trees import children, walk
from kernelwright.source.triton.elementwise import works_by_element
from kernelwright.source.triton.reader import Access, Reading

_WITHIN_BOUNDS = frozenset(("where", "minimum", "clamp"))
"""What an index goes through that stays within the tensor without a mask; a remainder does so, too."""

_NOTHING: frozenset[str] = frozenset()


@functools.lru_cache(maxsize=256)
def unmasked(kernel: Reading) -> Mapping[str, int]:
    """Block size -> the line (from 1) that reaches its lanes without a mask, or hands them to another function."""
    lanes = _Lanes(kernel)
    found: dict[str, int] = {}
    for access in kernel.accesses:
        if not access.of_object:
            for name in lanes.open(access) - lanes.closed_by_a_branch(access):
                found.setdefault(name, access.call.lineno)
    for node in kernel.nodes:
        if _may_read(node, kernel):
            given = (*node.args, *(keyword.value for keyword in node.keywords))
            for name in frozenset[str]().union(*map(lanes.of, given)):
                found.setdefault(name, node.lineno)
    return found


@dataclass
class _Lanes:
    """The block sizes whose lanes take part in the names of a kernel."""

    kernel: Reading
    names: dict[str, frozenset[str]] = field(default_factory=dict)
    shapes: dict[str, tuple[str, ...]] = field(default_factory=dict)  # of block pointers
    _known: dict[ast.AST, tuple[frozenset[str], frozenset[str]]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        bindings = bindings_of(self.kernel.function)
        for binding in bindings:
            match binding.value:
                case ast.Call() as call if self.kernel.tl(call) == "make_block_ptr":
                    self.shapes[binding.name] = _shape(call)
                case ast.Call(args=[ast.Name(id=name), *_]) as call if self.kernel.tl(call) == "advance":
                    self.shapes.setdefault(binding.name, self.shapes.get(name, ()))
        changed = True
        while changed:
            changed = False
            for binding in bindings:
                known = self.names.get(binding.name, _NOTHING)
                if not (lanes := self.of(binding.value)) <= known:
                    self.names[binding.name] = known | lanes
                    changed = True

    def of(self, node: ast.AST) -> frozenset[str]:
        """The block sizes whose lanes take part in a value."""
        if node not in self._known:
            self._known[node] = self._parts(node)
        lanes, names = self._known[node]
        return lanes.union(*(self.names.get(name, _NOTHING) for name in names))

    def _parts(self, node: ast.AST) -> tuple[frozenset[str], frozenset[str]]:
        """The block sizes of which a value itself makes lanes, and the names whose lanes it passes on."""
        lanes: set[str] = set()
        names: set[str] = set()
        waiting = [node]
        while waiting:
            part = waiting.pop()
            if isinstance(part, ast.Name):
                names.add(part.id)
                continue
            if isinstance(part, ast.BinOp) and isinstance(part.op, ast.Mod):
                continue
            if isinstance(part, ast.Call):
                called = self.kernel.tl(part)
                if called in _WITHIN_BOUNDS:
                    continue
                if called == "arange":
                    lanes |= _names_in(argument(part, 1, "end") or part)
                    continue
                if called == "make_block_ptr":
                    lanes |= set(_shape(part)) - {""}
                    continue
                if isinstance(part.func, ast.Name) and not self.kernel.canonical(part):  # it may make lanes of them
                    lanes |= _names_in(part) & self.kernel.block_sizes
            waiting += children(part)
        return frozenset(lanes), frozenset(names)

    def open(self, access: Access) -> frozenset[str]:
        """The block sizes whose lanes the pointer follows and the mask does not."""
        masked = self.of(access.mask) if access.mask is not None else _NOTHING
        return self.of(access.pointer) - masked - self._checked(access)

    def closed_by_a_branch(self, access: Access) -> frozenset[str]:
        """Those that another branch masks: `if EVEN: tl.load(p) else: tl.load(p, mask=…)`."""
        found: set[str] = set()
        for node in self.kernel.nodes:
            if isinstance(node, ast.If) and node.orelse:
                for own, other in ((node.body, node.orelse), (node.orelse, node.body)):
                    inside = {part for statement in own for part in walk(statement)}
                    outside = {part for statement in other for part in walk(statement)}
                    if access.call in inside:
                        masked = (one.mask for one in self.kernel.accesses if one.call in outside and one.mask)
                        found.update(*map(self.of, masked))
        return frozenset(found)

    def _checked(self, access: Access) -> frozenset[str]:
        checked = argument(access.call, 3 if access.kind == "load" else 2, "boundary_check")
        if not isinstance(checked, ast.Tuple | ast.List):
            return _NOTHING
        names = [part.id for part in walk(access.pointer) if isinstance(part, ast.Name)]
        shapes = [self.shapes[name] for name in names if name in self.shapes]
        axes = [part.value for part in checked.elts if isinstance(part, ast.Constant) and isinstance(part.value, int)]
        return frozenset(shape[axis] for shape in shapes for axis in axes if -len(shape) <= axis < len(shape))


def _may_read(node: ast.AST, kernel: Reading) -> TypeGuard[ast.Call]:
    """Whether it calls a function that is not Triton's, and that may read memory."""
    named = isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and not kernel.canonical(node)
    return isinstance(node, ast.Call) and named and not works_by_element(kernel, node)


def _names_in(node: ast.AST) -> set[str]:
    return {part.id for part in walk(node) if isinstance(part, ast.Name)}


def _shape(call: ast.Call) -> tuple[str, ...]:
    """The names in the block shape of a `make_block_ptr`, "" for what is no name."""
    shape = argument(call, 4, "block_shape")
    elements = shape.elts if isinstance(shape, ast.Tuple | ast.List) else []
    return tuple(part.id if isinstance(part, ast.Name) else "" for part in elements)
