"""The conditions that a mask is made of, and where values of a tile are known to be zero by them."""

import ast
import functools
import re
from collections.abc import Iterable
from dataclasses import dataclass

from kernelwright.source.findings.scope import source
from kernelwright.source.findings.triton import TritonUnit

_SUBSCRIPT = re.compile(r"\[(?:(?::|None)(?:, )?)+\]")
_UPPER = re.compile(r"[^<>=!&|~]+<=?[^<>=!&|~]+")


@dataclass(frozen=True)
class Condition:
    """One comparison of a mask, in a form that `offs[:, None] < n` and `(offs < n)[:, None]` share, and its axes."""

    text: str
    axes: frozenset[int] = frozenset()

    @property
    def is_upper(self) -> bool:
        """Whether it holds up to some lane and for none after that."""
        return bool(_UPPER.fullmatch(self.text))


Conditions = frozenset[Condition]
Where = Conditions | None
"""A value is zero wherever one of these conditions is false; None: it may be zero anywhere."""


def either(a: Where, b: Where) -> Where:
    """Where a product of the two is zero."""
    return None if a is None or b is None else a | b


def both(a: Where, b: Where) -> Where:
    """Where a sum of the two is zero; what may be zero anywhere does not decide."""
    if a is None or b is None:
        return b if a is None else a
    return a & b


def left(conditions: Conditions, zero: Where) -> Conditions:
    """The conditions outside of which a factor that is zero there leaves something."""
    return frozenset() if zero is None else conditions - zero


def expanded(conditions: Conditions, index: ast.expr) -> Conditions:
    """x[:, None] and the like: the old axes move to the places of the colons."""
    elements = index.elts if isinstance(index, ast.Tuple) else [index]
    places = [i for i, e in enumerate(elements) if isinstance(e, ast.Slice)]
    return moved(conditions, dict(enumerate(places)))


def moved(conditions: Conditions, places: dict[int, int]) -> Conditions:
    return frozenset(Condition(c.text, frozenset(places[a] for a in c.axes if a in places)) for c in conditions)


@dataclass(frozen=True)
class Mask:
    """What may mask a lane, and what does so whatever branch was taken."""

    may: Conditions = frozenset()
    must: Conditions = frozenset()

    @classmethod
    def of(cls, conditions: Iterable[Condition]) -> "Mask":
        every = frozenset(conditions)
        return cls(every, every)

    def merged(self, other: "Mask") -> "Mask":
        return Mask(self.may | other.may, self.must & other.must)


class Masks:
    """Reads masks of one kernel. `names` are the masks that names hold where the text is being read."""

    def __init__(self, unit: TritonUnit) -> None:
        self._unit = unit
        self._axes: dict[ast.AST, frozenset[int]] = {}
        self.names: dict[str, Mask] = {}

    def of(self, mask: ast.expr | None) -> Mask:
        scope = self._unit.scope
        match mask:
            case ast.Name(id=name):
                if name in self.names:
                    return self.names[name]
                axes = self.axes(mask)
                return Mask.of([Condition(name, axes)] if axes else ())
            case ast.BinOp(left=a, op=ast.BitAnd(), right=b) | ast.BoolOp(op=ast.And(), values=[a, b]):
                one, other = self.of(a), self.of(b)
                return Mask(one.may | other.may, one.must | other.must)
            case ast.BoolOp(op=ast.And(), values=values):
                masks = [self.of(value) for value in values]
                return Mask(
                    frozenset().union(*(one.may for one in masks)), frozenset().union(*(one.must for one in masks))
                )
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
                    return Mask()
                return Mask.of([Condition(_SUBSCRIPT.sub("", source(mask)), axes)])
        return Mask()

    def axes(self, node: ast.AST) -> frozenset[int]:
        """Along which axes a value varies, as far as its ranges tell: {0} for offs < n, {1} for (offs < n)[None, :]."""
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
        """The pairs of parameters, a block and a size, that every launch gives the same."""
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
        """cols < n, where cols are arange(0, BLOCK) and every launch passes the same as n and as BLOCK."""
        match mask:
            case ast.Compare(left=lanes, ops=[ast.Lt()], comparators=[ast.Name(id=size)]) if self._whole:
                ranges = self._unit.ranges(lanes)
                return (
                    len(ranges) == 1
                    and not ranges[0].starts
                    and (any((end, size) in self._whole for end in _ends(ranges[0].call)))
                )
        return False


def _ends(call: ast.Call) -> tuple[str, ...]:
    return tuple(part.id for part in call.args[1:2] if isinstance(part, ast.Name))


def is_zero(node: ast.expr | None) -> bool:
    return isinstance(node, ast.Constant) and node.value in (0, 0.0) and not isinstance(node.value, bool)


def is_low(node: ast.expr | None) -> bool:
    """Minus infinity, or a number whose exponential is zero."""
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
