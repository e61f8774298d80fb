"""Masks of a Triton kernel that keep out what lies behind the last block: they hold everywhere where blocks come out even."""

import ast
from collections.abc import Callable
from dataclasses import dataclass

from kernelwright.source.bindings import bindings_of
from kernelwright.source.calls import argument, constexprs
from kernelwright.source.polynomials import Polynomial, name, number
from kernelwright.source.trees import walk
from kernelwright.source.triton.reader import CDIV, Reading
from kernelwright.source.triton.scopes import Scopes

_Bound = Callable[[ast.expr, ast.stmt], bool]

_LANES = "lanes of "
_UNCHANGED = ("multiple_of", "max_contiguous", "max_constancy", "expand_dims")
_LEAST = ("triton.language.minimum", "min")


@dataclass(frozen=True)
class Split:
    """What a loop runs over: `size` elements in blocks of `block`; both are parameters of the kernel."""

    size: str
    block: str


@dataclass(frozen=True)
class Part:
    """One of the conditions of a mask that all have to hold; `split`: of the loop in whose even blocks this one does."""

    node: ast.expr
    split: Split | None


@dataclass(frozen=True, eq=False)
class Even:
    """Reads the masks of one kernel."""

    reading: Reading
    scopes: Scopes

    def parts(self, mask: ast.expr, at: ast.stmt, loop: ast.For) -> tuple[Part, ...]:
        """The conditions of a mask that is used at `at` in the body of `loop`, as they can be written there."""
        match mask:
            case ast.BinOp(left=left, op=ast.BitAnd(), right=right):
                return (*self.parts(left, at, loop), *self.parts(right, at, loop))
            case ast.BoolOp(op=ast.And(), values=values):
                return tuple(part for value in values for part in self.parts(value, at, loop))
            case ast.Name(id=id):
                set_by = self.scopes.binding(id, at, loop)
                if set_by is not None and _joins(set_by.value):
                    assert isinstance(set_by.node, ast.stmt)
                    inside = self.scopes.set_in(id, loop)
                    kept = self.scopes.is_kept if inside else self.scopes.is_the_same
                    if kept(set_by.value, set_by.node, loop):
                        return self.parts(set_by.value, set_by.node, loop)
        return (Part(mask, self._split(mask, at, loop)),)

    def _split(self, condition: ast.expr, at: ast.stmt, loop: ast.For) -> Split | None:
        match condition:
            case ast.Subscript(value=value, slice=slices) if _adds_axes(slices):
                return self._split(value, at, loop)
            case ast.Name(id=id):
                set_by = self.scopes.binding(id, at, loop)
                if set_by is not None and isinstance(set_by.node, ast.stmt):
                    return self._split(set_by.value, set_by.node, loop)
            case ast.BinOp(left=left, op=ast.BitAnd(), right=right):
                one, other = self._split(left, at, loop), self._split(right, at, loop)
                return one if one == other else None
            case ast.Compare(left=left, ops=[op], comparators=[right]):
                room = self._room(left, op, right, at, loop)
                return None if room is None else self._of_loop(room, loop)
        return None

    def _room(self, left: ast.expr, op: ast.cmpop, right: ast.expr, at: ast.stmt, loop: ast.For) -> Polynomial | None:
        """What has to be above 0 for the comparison to hold."""
        less, more = self._polynomial(left, at, loop), self._polynomial(right, at, loop)
        match op:
            case ast.Lt():
                return more - less
            case ast.LtE():
                return more - less + number(1)
            case ast.Gt():
                return less - more
            case ast.GtE():
                return less - more + number(1)
        return None

    def _of_loop(self, room: Polynomial, loop: ast.For) -> Split | None:
        """Of `size - start - lane`: that start and the lanes of its block stay below size in all turns, in even blocks.

        The start may be 0 in all of them, since the first block is whole where there is one; of a loop that counts down it is
        what is left, `left - lane`.
        """
        lanes = [one for one in room.names if one.startswith(_LANES)]
        if len(lanes) != 1 or not isinstance(loop.target, ast.Name):
            return None
        block, turn = lanes[0].removeprefix(_LANES), _turn(loop)
        step = room.coefficient(turn)
        rest = room.without(lanes[0]).without(turn)
        if room.coefficient(lanes[0]) != number(-1) or step is None:
            return None
        if step == number(1) and not rest.terms:
            return self._counts_down(loop, block)
        if len(rest.terms) != 1:
            return None
        size = "".join(rest.names)
        if rest != name(size) or size not in self.scopes.parameters:
            return None
        first, _, _ = _range(self.reading, loop)
        whole = step == number(0) and (first is None or self._polynomial(first, loop, loop) == number(0))
        counts_elements = (whole or step == number(-1)) and self._counts_elements(loop, size, block)
        counts_blocks = (whole or step == number(0) - name(block)) and self._counts_blocks(loop, size, block)
        return Split(size, block) if counts_elements or counts_blocks else None

    def _counts_down(self, loop: ast.For, block: str) -> Split | None:
        """Of a loop over what is left of a size above 0, a block fewer each turn."""
        start, stop, step = _range(self.reading, loop)
        if start is None or stop is None or step is None:
            return None
        size = "".join((left := self._polynomial(start, loop, loop)).names)
        falls = self._polynomial(step, loop, loop) == number(0) - name(block)
        above = self._polynomial(stop, loop, loop) == number(0)
        return Split(size, block) if left == name(size) and size in self.scopes.parameters and falls and above else None

    def _counts_elements(self, loop: ast.For, size: str, block: str) -> bool:
        """Whether it runs over multiples of the block below size."""
        start, stop, step = _range(self.reading, loop)
        if stop is None or step is None:
            return False
        firsts = () if start is None else self._polynomial(start, loop, loop).terms
        rises = self._polynomial(step, loop, loop).terms
        below = self._is_at_most(stop, loop, loop, lambda node, at: self._polynomial(node, at, loop) == name(size))
        return below and all(block in term for term, _ in (*firsts, *rises)) and all(factor > 0 for _, factor in rises)

    def _counts_blocks(self, loop: ast.For, size: str, block: str) -> bool:
        """Whether it runs over numbers below that of the blocks."""
        _, stop, step = _range(self.reading, loop)
        rises = step is None or (isinstance(step, ast.Constant) and isinstance(step.value, int) and step.value > 0)
        rises = rises or (step is not None and self.reading.tl(step) == "num_programs")

        def is_count(node: ast.expr, at: ast.stmt) -> bool:
            match node:
                case ast.Call(args=[above, below]) if self.reading.canonical(node) in CDIV:
                    found = [self._polynomial(one, at, loop) for one in (above, below)]
                    return found == [name(size), name(block)]
                case ast.BinOp(left=above, op=ast.FloorDiv(), right=below):
                    found = [self._polynomial(one, at, loop) for one in (above, below)]
                    return found == [name(size) + name(block) - number(1), name(block)]
            return False

        return rises and stop is not None and self._is_at_most(stop, loop, loop, is_count)

    def _is_at_most(self, node: ast.expr, at: ast.stmt, loop: ast.For, is_bound: _Bound) -> bool:
        """Whether `node` cannot be above what `is_bound` knows, by way of names, minima and choices."""
        if is_bound(node, at):
            return True
        match node:
            case ast.Name(id=id):
                set_by = self.scopes.binding(id, at, loop)
                if set_by is not None and isinstance(set_by.node, ast.stmt):
                    return self._is_at_most(set_by.value, set_by.node, loop, is_bound)
            case ast.IfExp(body=one, orelse=other):
                return all(self._is_at_most(part, at, loop, is_bound) for part in (one, other))
            case ast.Call(args=args) if self._called(node) in _LEAST:
                return any(self._is_at_most(part, at, loop, is_bound) for part in args)
        return False

    def _called(self, call: ast.Call) -> str:
        return self.reading.canonical(call) or (call.func.id if isinstance(call.func, ast.Name) else "")

    def _polynomial(self, node: ast.expr, at: ast.stmt, loop: ast.For) -> Polynomial:
        """An index over parameters, the loop's variable and lanes; what cannot be told is a name of its own."""
        match node:
            case ast.Constant(value=int() as value) if not isinstance(value, bool):
                return number(value)
            case ast.Name(id=id):
                if isinstance(loop.target, ast.Name) and id == loop.target.id:
                    inside = at is not loop and not self.scopes.set_in(id, loop)
                    return name(_turn(loop)) if inside and loop in self.scopes.loops_around(at) else _unknown(node)
                if id in self.scopes.parameters:
                    return name(id)
                set_by = self.scopes.binding(id, at, loop)
                if set_by is not None and isinstance(set_by.node, ast.stmt):
                    return self._polynomial(set_by.value, set_by.node, loop)
                return self._running(node, at, loop)
            case ast.UnaryOp(op=ast.USub(), operand=operand):
                return number(0) - self._polynomial(operand, at, loop)
            case ast.BinOp(left=left, op=ast.Add() | ast.Sub() | ast.Mult() as op, right=right):
                one, other = self._polynomial(left, at, loop), self._polynomial(right, at, loop)
                return (
                    one + other if isinstance(op, ast.Add) else one - other if isinstance(op, ast.Sub) else one * other
                )
            case ast.Subscript(value=value, slice=slices) if _adds_axes(slices):
                return self._polynomial(value, at, loop)
            case ast.Call(func=ast.Attribute(value=value, attr="to"), args=[kind]) if _is_whole(kind):
                return self._polynomial(value, at, loop)
            case ast.Call(args=[value, *_]) if self.reading.tl(node) in _UNCHANGED:
                return self._polynomial(value, at, loop)
            case ast.Call() if self.reading.tl(node) == "arange":
                start, end = argument(node, 0, "start"), argument(node, 1, "end")
                zero = isinstance(start, ast.Constant) and start.value == 0
                if zero and isinstance(end, ast.Name) and end.id in self._blocks:
                    return name(_LANES + end.id)
        return _unknown(node)

    def _running(self, node: ast.Name, at: ast.stmt, loop: ast.For) -> Polynomial:
        """What a name holds that each turn adds the same to: where it starts, and one addition for each turn before."""
        found = self.scopes.running(node.id, loop)
        if found is None or loop not in self.scopes.loops_around(at) or not isinstance(loop.target, ast.Name):
            return _unknown(node)
        start, added = found
        if at.lineno > added.lineno or self.scopes.set_in(loop.target.id, loop):
            return _unknown(node)
        assert isinstance(start.node, ast.stmt)
        begins, adds = self._polynomial(start.value, start.node, loop), self._polynomial(added.value, added, loop)
        first, _, step = _range(self.reading, loop)
        turn = name(_turn(loop))
        passed = turn if first is None else turn - self._polynomial(first, loop, loop)
        if step is None or (isinstance(step, ast.Constant) and step.value == 1):
            return begins + passed * adds
        return begins + passed if self._polynomial(step, loop, loop) == adds else _unknown(node)

    @property
    def _blocks(self) -> frozenset[str]:
        return self.scopes.parameters & frozenset(constexprs(self.reading.function))


def _joins(value: ast.expr) -> bool:
    match value:
        case ast.BinOp(op=ast.BitAnd()) | ast.BoolOp(op=ast.And()):
            return True
    return False


def _turn(loop: ast.For) -> str:
    return f"turn of {loop.lineno}"


def _unknown(node: ast.expr) -> Polynomial:
    return name(f"unknown {id(node)}")


def _adds_axes(slices: ast.expr) -> bool:
    """Whether it is `[:, None]` or the like."""
    parts = slices.elts if isinstance(slices, ast.Tuple) else [slices]
    return all(
        (isinstance(part, ast.Slice) and part.lower is part.upper is part.step is None)
        or (isinstance(part, ast.Constant) and part.value is None)
        for part in parts
    )


def _is_whole(kind: ast.expr) -> bool:
    return isinstance(kind, ast.Attribute) and kind.attr in ("int32", "int64")


def _range(reading: Reading, loop: ast.For) -> tuple[ast.expr | None, ast.expr | None, ast.expr | None]:
    """(start, stop, step) of the range that a loop runs over; no stop where it is none."""
    match loop.iter:
        case ast.Call(func=ast.Name(id="range"), args=args):
            pass
        case ast.Call(args=args) if reading.tl(loop.iter) in ("range", "static_range"):
            pass
        case _:
            return None, None, None
    if any(isinstance(arg, ast.Starred) for arg in args) or any(
        k.arg in ("arg1", "arg2", "step") for k in loop.iter.keywords
    ):
        return None, None, None
    if len(args) == 1:
        return None, args[0], None
    return (args[0], args[1], args[2] if len(args) > 2 else None) if args else (None, None, None)


def follows(reading: Reading, node: ast.expr, block: str) -> bool:
    """Whether lanes of this block take part in a value, directly or through names."""
    seen: set[str] = set()
    waiting: list[ast.AST] = [node]
    for value in waiting:  # grows meanwhile
        for part in walk(value):
            if reading.tl(part) == "arange" and isinstance(part, ast.Call):
                end = argument(part, 1, "end")
                if isinstance(end, ast.Name) and end.id == block:
                    return True
            if isinstance(part, ast.Name) and part.id not in seen:
                seen.add(part.id)
                waiting += [one.value for one in bindings_of(reading.function) if one.name == part.id]
    return False
