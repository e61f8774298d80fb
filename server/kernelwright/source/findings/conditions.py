"""Reads the conditions that a mask is made of, and tells by them where values of a tile are known to be zero."""

import ast
import functools
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

from kernelwright.source.findings.scope import Scope, extent_of, source
from kernelwright.source.findings.triton import TritonUnit

_SUBSCRIPT = re.compile(r"\[(?:(?::|None)(?:, )?)+\]")


@dataclass(frozen=True)
class Condition:
    """Holds one comparison of a mask, in a form that `offs[:, None] < n` and `(offs < n)[:, None]` share, and its axes."""

    text: str
    axes: frozenset[int] = frozenset()
    is_upper: bool = False  # it holds up to some lane, and for none after that


Conditions = frozenset[Condition]
Where = Conditions | None
"""A value is zero wherever one of these conditions is false. None: it is zero everywhere, or nothing is known of it."""


def either(a: Where, b: Where) -> Where:
    """Tell where a product of the two is zero."""
    return None if a is None or b is None else a | b


def both(a: Where, b: Where) -> Where:
    """Tell where a sum of the two is zero; one that is None leaves it to the other."""
    if a is None or b is None:
        return b if a is None else a
    return a & b


def remaining(conditions: Conditions, zero: Where) -> Conditions:
    """Leave out the conditions outside of which a factor is zero."""
    return frozenset() if zero is None else conditions - zero


def expanded(conditions: Conditions, index: ast.expr) -> Conditions:
    """Follow x[:, None] and the like: the axes move to the places of the colons."""
    elements = index.elts if isinstance(index, ast.Tuple) else [index]
    places = [i for i, e in enumerate(elements) if isinstance(e, ast.Slice)]
    return moved(conditions, dict(enumerate(places)))


def moved(conditions: Conditions, places: dict[int, int]) -> Conditions:
    """Rename the axes; one without a place is gone."""
    return frozenset(replace(c, axes=frozenset(places[a] for a in c.axes if a in places)) for c in conditions)


@dataclass(frozen=True)
class Mask:
    """Holds the conditions that may mask a lane, and those that do so in every branch."""

    may: Conditions = frozenset()
    must: Conditions = frozenset()

    @classmethod
    def of(cls, conditions: Iterable[Condition]) -> "Mask":
        every = frozenset(conditions)
        return cls(every, every)

    def merged(self, other: "Mask") -> "Mask":
        return Mask(self.may | other.may, self.must & other.must)


NO_MASK = Mask()


def is_promised(unit: TritonUnit, size: str, block: str) -> bool:
    """Tell whether every launcher asserts that what it passes as `size` is divisible by what it passes as `block`."""
    return all(
        size in site.bindings
        and block in site.bindings
        and any(
            _says_divisible(site.scope, test, site.bindings[size], site.bindings[block]) for test in site.scope.asserted
        )
        for site in unit.launches
    )


def _says_divisible(scope: Scope, test: ast.expr, size: ast.expr, block: ast.expr) -> bool:
    match test:
        case ast.Compare(
            left=ast.BinOp(left=divided, op=ast.Mod(), right=by), ops=[ast.Eq()], comparators=[ast.Constant(value=0)]
        ):
            return extent_of(scope, divided) == extent_of(scope, size) and extent_of(scope, by) == extent_of(
                scope, block
            )
    return False


class Masks:
    """Reads masks of one kernel. `held` looks up the mask that a name holds where the text is being read."""

    def __init__(self, unit: TritonUnit, held: Callable[[str], Mask | None]) -> None:
        self._unit = unit
        self._held = held
        self._axes: dict[ast.AST, frozenset[int]] = {}

    def of(self, mask: ast.expr | None) -> Mask:
        scope = self._unit.scope
        match mask:
            case ast.Name(id=name):
                held = self._held(name)
                if held is not None:
                    return held
                axes = self.axes(mask)
                return Mask.of([Condition(name, axes)] if axes else ())
            case ast.BinOp(left=a, op=ast.BitAnd(), right=b):
                return self._all((a, b))
            case ast.BoolOp(op=ast.And(), values=values):
                return self._all(values)
            case ast.Subscript(value=value, slice=index):
                inner = self.of(value)
                return Mask(expanded(inner.may, index), expanded(inner.must, index))
            case ast.Call(args=[value, *_]) if scope.tl(mask) in ("max_contiguous", "multiple_of"):
                return self.of(value)
            case ast.IfExp(body=a, orelse=b):
                return self.of(a).merged(self.of(b))
            case (
                ast.Compare()
                | ast.BinOp(op=ast.BitOr() | ast.BitXor())
                | ast.BoolOp()
                | ast.UnaryOp(op=ast.Not() | ast.Invert())
            ):
                axes = self.axes(mask)
                if self._holds_always(mask):
                    return NO_MASK
                return Mask.of([Condition(_SUBSCRIPT.sub("", source(mask)), axes, self._is_upper(mask))])
        return NO_MASK

    def _all(self, parts: Iterable[ast.expr]) -> Mask:
        masks = [self.of(part) for part in parts]
        return Mask(frozenset().union(*(one.may for one in masks)), frozenset().union(*(one.must for one in masks)))

    def _is_upper(self, mask: ast.expr) -> bool:
        match mask:
            case ast.Compare(ops=[ast.Lt() | ast.LtE()], comparators=[end]):
                return not self.axes(end)
            case ast.Compare(left=end, ops=[ast.Gt() | ast.GtE()]):
                return not self.axes(end)
        return False

    def axes(self, node: ast.AST) -> frozenset[int]:
        """Tell along which axes a value varies by its ranges: {0} for offs < n, {1} for (offs < n)[None, :]."""
        if node not in self._axes:
            self._axes[node] = frozenset()  # for a name that is assigned from itself
            self._axes[node] = self._axes_of(node)
        return self._axes[node]

    def _axes_of(self, node: ast.AST) -> frozenset[int]:
        scope = self._unit.scope
        match node:
            case ast.Name():
                return frozenset().union(*(self.axes(value) for value in scope.given(node)))
            case ast.Subscript(value=value, slice=index):
                return frozenset(
                    a for c in expanded(frozenset((Condition("", self.axes(value)),)), index) for a in c.axes
                )
            case ast.Call() if scope.tl(node) == "arange":
                return frozenset((0,))
            case ast.Call(func=ast.Attribute(value=value, attr="to")) if not scope.tl(node):
                return self.axes(value)
            case ast.Call(args=[value, *_]) if scope.tl(node) in ("max_contiguous", "multiple_of", "cast"):
                return self.axes(value)
            case ast.BinOp(left=a, right=b):
                return self.axes(a) | self.axes(b)
            case ast.Compare(left=a, comparators=others):
                return self.axes(a).union(*(self.axes(b) for b in others))
            case ast.BoolOp(values=values):
                return frozenset().union(*(self.axes(value) for value in values))
            case ast.UnaryOp(operand=operand):
                return self.axes(operand)
        return frozenset()

    @functools.cached_property
    def _whole(self) -> frozenset[tuple[str, str]]:
        """Pair each block with the sizes that every launch passes the same for."""
        bound = [site.bindings for site in self._unit.launches]
        names = [n for n in (bound[0] if bound else ()) if all(n in one for one in bound)]
        return frozenset(
            (block, size)
            for block in names
            if block in self._unit.block_sizes
            for size in names
            if size != block and all(source(one[block]) == source(one[size]) for one in bound)
        )

    def _holds_always(self, mask: ast.expr) -> bool:
        """Recognise cols < n, where cols are arange(0, BLOCK) and every launch passes the same as n and as BLOCK."""
        match mask:
            case ast.Compare(left=lanes, ops=[ast.Lt()], comparators=[ast.Name(id=size)]) if self._unit.launches:
                ranges = self._unit.ranges(lanes)
                blocks = [end for one in ranges for end in one.call.args[1:2] if isinstance(end, ast.Name)]
                if len(ranges) != 1 or not blocks:
                    return False
                if not ranges[0].starts:
                    return (blocks[0].id, size) in self._whole
                if not is_promised(self._unit, size, blocks[0].id):
                    return False
                return all(tile.how != "whole" for tile in self._unit.tiles(lanes))
        return False


def is_zero(node: ast.expr | None) -> bool:
    return isinstance(node, ast.Constant) and node.value in (0, 0.0) and not isinstance(node.value, bool)


def is_low(node: ast.expr | None) -> bool:
    """Recognise minus infinity, and a number whose exponential is zero."""
    match node:
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            match operand:
                case ast.Constant(value=int() | float() as value):
                    return value >= 1000
                case ast.Call(args=[ast.Constant(value="inf")]) | ast.Attribute(attr="inf"):
                    return True
        case ast.Call(args=[ast.Constant(value="-inf")]):
            return True
        case ast.BinOp(op=ast.Mult(), left=a, right=b):  # -1.0e6 * log2(e)
            return is_low(a) or is_low(b)
    return False
