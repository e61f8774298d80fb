"""Which block sizes of a Triton kernel may grow: those whose lanes no load or store reaches without a mask."""

import ast
import functools
from collections.abc import Mapping
from dataclasses import dataclass, field

from kernelwright.source.bindings import bindings_of
from kernelwright.source.calls import argument
from kernelwright.source.trees import children, walk
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
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and not kernel.canonical(node):
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
        found: set[str] = set()
        waiting = [node]
        while waiting:
            match waiting.pop():
                case ast.Name(id=name):
                    found |= self.names.get(name, _NOTHING)
                case ast.BinOp(op=ast.Mod()):
                    pass
                case ast.Call() as call if self.kernel.tl(call) in _WITHIN_BOUNDS:
                    pass
                case ast.Call() as call if self.kernel.tl(call) == "arange":
                    found |= {part.id for part in walk(argument(call, 1, "end") or call) if isinstance(part, ast.Name)}
                case ast.Call() as call if self.kernel.tl(call) == "make_block_ptr":
                    found |= set(_shape(call)) - {""}
                case ast.Call(func=ast.Name()) as call if not self.kernel.canonical(call):  # it may make lanes of them
                    names = {part.id for part in walk(call) if isinstance(part, ast.Name)}
                    found |= names & self.kernel.block_sizes
                    waiting += children(call)
                case other:
                    waiting += children(other)
        return frozenset(found)

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


def _shape(call: ast.Call) -> tuple[str, ...]:
    """The names in the block shape of a `make_block_ptr`, "" for what is no name."""
    shape = argument(call, 4, "block_shape")
    elements = shape.elts if isinstance(shape, ast.Tuple | ast.List) else []
    return tuple(part.id if isinstance(part, ast.Name) else "" for part in elements)
