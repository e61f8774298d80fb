"""Finds masked loads without `other` whose undefined lanes reach a reduction."""

import ast
import functools
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace

from kernelwright.source.bindings import bindings
from kernelwright.source.calls import argument
from kernelwright.source.findings.conditions import (
    NO_MASK,
    Conditions,
    Mask,
    Masks,
    Where,
    both,
    either,
    expanded,
    is_low,
    is_zero,
    moved,
    remaining,
)
from kernelwright.source.findings.rule import Change, Problem, Rule, Severity
from kernelwright.source.findings.triton import TritonUnit
from kernelwright.source.triton.reader import Access, is_absent
from kernelwright.values import Language

# What a masked lane must hold so that it does not count.
_NEUTRAL = {
    "sum": "0.0",
    "xor_sum": "0",
    "dot": "0.0",
    "cumsum": "0.0",
    "max": '-float("inf")',
    "argmax": '-float("inf")',
    "min": 'float("inf")',
    "argmin": 'float("inf")',
}
_EXPONENTIALS = frozenset(("exp", "exp2", "sigmoid"))  # zero of minus infinity
_KEEPS_ZERO = frozenset(("abs", "sqrt", "sin", "cast", "erf"))
_MOVES_ZERO = frozenset(("log", "log2", "rsqrt", "cos", "floor", "ceil", "clamp", "fdiv")) | _EXPONENTIALS
_ELEMENTWISE = _KEEPS_ZERO | _MOVES_ZERO | {"maximum", "minimum", "fma"}
_PASSES = 2  # so that what one iteration of a loop leaves reaches the next
_DEEPEST_LOOP = 3  # loops further inside are run once a pass: the work would double with each


@dataclass(frozen=True)
class _Lane:
    """Names the undefined lanes of one load: outside of `conditions`. `direct`: a zero there would still be a zero."""

    load: ast.Call
    conditions: Conditions
    direct: bool

    @functools.cached_property
    def axes(self) -> frozenset[int]:
        return frozenset(axis for condition in self.conditions for axis in condition.axes)


_Lanes = frozenset[_Lane]


@dataclass(frozen=True)
class _Value:
    """Holds what is known of a value: its undefined lanes, and where it is zero or so low that its exponential is."""

    lanes: _Lanes = frozenset()
    zero: Where = frozenset()
    low: Where = frozenset()
    mask: Mask = NO_MASK  # what it stands for as a mask, where a name holds it


_PLAIN = _Value()
_UNKNOWN = _Value(zero=None, low=None)
_ZERO = _Value(zero=None)


@dataclass
class _Flow:
    unit: TritonUnit
    names: dict[str, _Value] = field(default_factory=dict)
    reached: dict[ast.Call, dict[tuple[str, ast.Call, bool], None]] = field(default_factory=dict)

    @functools.cached_property
    def masks(self) -> Masks:
        return Masks(self.unit, lambda name: self.names[name].mask if name in self.names else None)

    @functools.cached_property
    def loads(self) -> dict[ast.Call, Access]:
        return {access.call: access for access in self.unit.loads_and_stores}

    @functools.cached_property
    def is_flat(self) -> bool:
        """Tell whether no value of the kernel has a second axis, as far as its subscripts tell."""
        return not any(isinstance(n, ast.Subscript) and isinstance(n.slice, ast.Tuple) for n in self.unit.nodes)

    def join(self, other: dict[str, _Value]) -> None:
        """Go on after one of two ways was taken; what only one of them assigns is of that one."""
        for name, value in other.items():
            mine = self.names.get(name, value)
            self.names[name] = value if mine is value else _joined(mine, value)


def check(unit: TritonUnit) -> Iterator[Problem]:
    if not any(is_absent(one.other) and not is_absent(one.mask) for one in unit.loads_and_stores if one.kind == "load"):
        return
    flow = _Flow(unit)
    _run(flow, unit.function.body, 0)
    for load, reached in flow.reached.items():
        op, reduction, _ = next(iter(reached))
        message = (
            f"Lanes outside the mask are undefined and reach tl.{op} in line {{line}}: "
            "give the load an `other`, or select with tl.where before reducing."
        )
        neutral = _neutral(reached)
        changes: tuple[Change, ...] = ()
        if neutral is not None:
            last = load.keywords[-1].value if load.keywords else load.args[-1]
            changes = (Change(last, f", other={neutral}", after=True),)
        yield Problem(load, message, fix=f"Add other={neutral}" if changes else "", changes=changes, line_of=reduction)


def _neutral(reached: Iterable[tuple[str, ast.Call, bool]]) -> str | None:
    """Find the one value that is right for every reduction that the load reaches directly; None when there is none."""
    values = {_NEUTRAL.get(op) for op, _, direct in reached if direct}
    if len(values) == 1:
        only = values.pop()
        indirect = any(not direct for _, _, direct in reached)
        # exp of minus infinity is zero, so a softmax is right; after other arithmetic 0 may not stay 0.
        return only if only == _NEUTRAL["max"] or not indirect else None
    return None


def _run(flow: _Flow, body: list[ast.stmt], loops: int) -> None:
    for statement in body:
        match statement:
            case ast.Assign() | ast.AnnAssign() | ast.AugAssign():
                for binding in bindings([statement]):
                    found, mask = _value(flow, binding.value), flow.masks.of(binding.value)
                    flow.names[binding.name] = found if found.mask == mask else replace(found, mask=mask)
            case ast.Expr(value=value) | ast.Return(value=ast.expr() as value):
                _value(flow, value)
            case ast.If(test=test, body=then, orelse=otherwise):
                _value(flow, test)
                before = dict(flow.names)
                _run(flow, then, loops)
                after, flow.names = flow.names, before
                _run(flow, otherwise, loops)
                flow.join(after)
            case ast.For(body=inner) | ast.While(body=inner):
                before = dict(flow.names)
                for _ in range(_PASSES if loops < _DEEPEST_LOOP else 1):
                    _run(flow, inner, loops + 1)
                    if all(flow.names[name] == value for name, value in before.items()):
                        break  # another pass would find the same
                flow.join(before)
            case ast.With(body=inner):
                _run(flow, inner, loops)


def _joined(a: _Value, b: _Value) -> _Value:
    return _Value(a.lanes | b.lanes, both(a.zero, b.zero), both(a.low, b.low), a.mask.merged(b.mask))


def _mixed(lanes: _Lanes) -> _Lanes:
    return frozenset(replace(lane, direct=False) for lane in lanes)


def _remaining(lanes: _Lanes, zero: Where) -> _Lanes:
    """Keep those of the lanes that a factor which is zero at some places leaves undefined."""
    nowhere = zero is not None and not zero
    rest = lanes if nowhere else (replace(lane, conditions=remaining(lane.conditions, zero)) for lane in lanes)
    return frozenset(lane for lane in rest if lane.axes)


def _value(flow: _Flow, node: ast.expr) -> _Value:
    match node:
        case ast.Constant():
            return _ZERO if is_zero(node) else _PLAIN
        case ast.Name(id=name):
            return flow.names.get(name, _PLAIN)
        case ast.BinOp(left=a, op=op, right=b):
            return _combined(op, _value(flow, a), _value(flow, b))
        case ast.UnaryOp(operand=operand):
            if is_low(node):
                return _Value(low=None)
            return replace(_value(flow, operand), low=frozenset())
        case ast.Compare(left=first, comparators=others):
            for part in (first, *others):
                _value(flow, part)
            return _Value(zero=flow.masks.of(node).must)
        case ast.IfExp(body=a, orelse=b):
            return _joined(_value(flow, a), _value(flow, b))
        case ast.Subscript(value=value, slice=ast.Constant(value=int())):  # one of several that a call returns
            _value(flow, value)
            return _UNKNOWN
        case ast.Subscript(value=value, slice=index):
            return _moved(_value(flow, value), lambda conditions: expanded(conditions, index))
        case ast.Call():
            return _call(flow, node)
    return _PLAIN


def _combined(op: ast.operator, a: _Value, b: _Value) -> _Value:
    match op:
        case ast.Mult():
            return _Value(
                _remaining(a.lanes, b.zero) | _remaining(b.lanes, a.zero), either(a.zero, b.zero), either(a.low, b.low)
            )
        case ast.Div() | ast.FloorDiv():
            below = _mixed(_remaining(b.lanes, a.zero))
            return _Value(a.lanes | below if not below else _mixed(a.lanes) | below, a.zero, a.low)
        case ast.Add() | ast.Sub():
            lanes = _remaining(a.lanes, b.low or frozenset()) | _remaining(b.lanes, a.low or frozenset())
            keeps = (a.lanes or a.zero is None) and (b.lanes or b.zero is None)  # zero and zero make zero
            lanes = lanes if keeps else _mixed(lanes)
            low = either(a.low, b.low) if isinstance(op, ast.Add) else a.low
            return _Value(lanes, both(a.zero, b.zero), low)
    return _Value(_mixed(a.lanes | b.lanes))


def _moved(value: _Value, move: Callable[[Conditions], Conditions]) -> _Value:
    zero = None if value.zero is None else move(value.zero)
    low = None if value.low is None else move(value.low)
    return _Value(frozenset(replace(lane, conditions=move(lane.conditions)) for lane in value.lanes), zero, low)


def _call(flow: _Flow, node: ast.Call) -> _Value:
    name = flow.unit.scope.tl(node)
    if not name and isinstance(node.func, ast.Attribute):
        return _method(flow, node, node.func)
    given = [_value(flow, a) for a in node.args]
    for keyword in node.keywords:
        _value(flow, keyword.value)
    if name == "load":
        return _loaded(flow, node)
    if name == "where":
        return _selected(flow, node, given)
    if name == "dot":
        return _Value(_dot(flow, node, given), zero=None)
    if name == "cumsum" and given and _stays_in_lanes(given[0], node):
        return _Value(_mixed(given[0].lanes))
    if name in _NEUTRAL:
        return _reduce(flow, name, node, given[0] if given else _PLAIN, argument(node, 1, "axis"))
    if name == "trans" and len(node.args) == 1:
        return _moved(given[0], lambda conditions: moved(conditions, {0: 1, 1: 0}))
    if name in _ELEMENTWISE and given:
        return _elementwise(name, given)
    if name in ("zeros", "zeros_like") or (name == "full" and is_zero(argument(node, 1, "value"))):
        return _ZERO
    if name == "full" and is_low(argument(node, 1, "value")):
        return _Value(low=None)
    return _PLAIN if name in ("program_id", "num_programs", "arange", "full", "cdiv") else _UNKNOWN


def _elementwise(name: str, given: list[_Value]) -> _Value:
    lanes: _Lanes = frozenset().union(*(one.lanes for one in given))
    if name in _KEEPS_ZERO:
        return _Value(lanes, given[0].zero)
    if name in ("maximum", "minimum"):
        low = functools.reduce(either if name == "minimum" else both, (one.low for one in given))
        return _Value(_mixed(lanes), functools.reduce(both, (one.zero for one in given)), low)
    if name in _EXPONENTIALS:
        return _Value(_mixed(_remaining(lanes, given[0].low)), given[0].low)
    return _Value(_mixed(lanes))


def _selected(flow: _Flow, node: ast.Call, given: list[_Value]) -> _Value:
    """Follow tl.where, the remedy itself: outside its condition the value is its third argument."""
    if len(given) != 3:
        return _UNKNOWN
    must = flow.masks.of(node.args[0]).must
    _, chosen, otherwise = given
    low = either(chosen.low, must) if is_low(node.args[2]) or otherwise.low is None else both(chosen.low, otherwise.low)
    zero = either(chosen.zero, must) if otherwise.zero is None else both(chosen.zero, otherwise.zero)
    return _Value(zero=zero, low=low)


def _stays_in_lanes(value: _Value, node: ast.Call) -> bool:
    """Tell whether undefined lanes are the last of a running sum, so that it is right for the others."""
    if any(k.arg == "reverse" and not is_zero(k.value) for k in node.keywords):
        return False
    return all(condition.is_upper for lane in value.lanes for condition in lane.conditions)


def _method(flow: _Flow, node: ast.Call, func: ast.Attribute) -> _Value:
    value = _value(flow, func.value)
    for part in node.args:
        _value(flow, part)
    if func.attr == "to":
        return value
    if func.attr in ("sum", "max", "min") and value.lanes:
        return _reduce(flow, func.attr, node, value, argument(node, 0, "axis"))
    if func.attr == "trans":
        return _moved(value, lambda conditions: moved(conditions, {0: 1, 1: 0}))
    return _UNKNOWN


def _loaded(flow: _Flow, load: ast.Call) -> _Value:
    access = flow.loads.get(load)
    if access is None or is_absent(access.mask):
        return _PLAIN
    mask = flow.masks.of(access.mask)
    if access.other is not None and not is_absent(access.other):
        other = _value(flow, access.other)
        return _Value(
            zero=mask.must if other.zero is None else frozenset(), low=mask.must if other.low is None else frozenset()
        )
    undefined = frozenset(condition for condition in mask.may if condition.axes)
    return _Value(frozenset((_Lane(load, undefined, True),))) if undefined else _PLAIN


def _reduce(flow: _Flow, op: str, node: ast.Call, value: _Value, axis: ast.expr | None) -> _Value:
    everything = is_absent(axis)
    along = None if everything else flow.unit.scope.number(axis)
    for lane in value.lanes:
        if _mixes(flow, lane, along, everything):
            _reach(flow, lane, op, node)
    if along is None or along < 0:
        return _Value(zero=None if value.zero is None else frozenset())
    keeps = any(k.arg == "keep_dims" for k in node.keywords)
    places = {a: a if keeps or a < along else a - 1 for a in range(8) if a != along}
    rest = frozenset(lane for lane in _mixed(value.lanes) if not _mixes(flow, lane, along, everything))
    kept = _moved(replace(value, lanes=rest), lambda conditions: moved(conditions, places))
    zero = None if kept.zero is None else frozenset(c for c in kept.zero if c.axes)
    return _Value(kept.lanes, zero if op == "sum" else frozenset())


def _mixes(flow: _Flow, lane: _Lane, along: int | None, everything: bool) -> bool:
    """Tell whether a reduction along this axis mixes the lane's undefined elements into the others."""
    if everything or along in lane.axes:
        return True
    return along == -1 and bool(lane.axes) and (max(lane.axes) > 0 or flow.is_flat)


def _dot(flow: _Flow, node: ast.Call, given: list[_Value]) -> _Lanes:
    kept: set[_Lane] = set()
    for side, inner in enumerate((1, 0)[: len(given)]):
        other = given[1 - side].zero if len(given) > 1 else frozenset()
        facing = None if other is None else moved(other, {1 - inner: inner})
        for lane in given[side].lanes:
            rest = frozenset(c for c in lane.conditions if inner in c.axes and c not in (facing or ()))
            if rest and facing is not None:
                _reach(flow, lane, "dot", node)
            elif lane.axes == {side}:
                kept.add(replace(lane, direct=False))
    return frozenset(kept)


def _reach(flow: _Flow, lane: _Lane, op: str, node: ast.Call) -> None:
    flow.reached.setdefault(lane.load, {})[op, node, lane.direct] = None


RULE = Rule(
    code="triton.masked-load-reduced",
    language=Language.TRITON,
    severity=Severity.WARNING,
    title="Masked load without `other` reaches a reduction",
    doc="""Where its mask is false, `tl.load` without `other` gives an undefined value. Harmless as long as the store has
the same mask, wrong as soon as `tl.sum`, `tl.max`, `tl.min` or `tl.dot` mixes those lanes into the others. Pass
the value that does not count: `other=0.0` for a sum or dot, `other=-float("inf")` for a maximum; or select with
`tl.where(mask, x, 0.0)` first. Not said where the value is multiplied by one that is 0 in those lanes.""",
    example_wrong="""
import triton, triton.language as tl

@triton.jit
def row_sum(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    cols = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row * n + cols, mask=cols < n)
    tl.store(y_ptr + row, tl.sum(x, axis=0))
""",
    example_right="""
import triton, triton.language as tl

@triton.jit
def row_sum(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    cols = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row * n + cols, mask=cols < n, other=0.0)
    tl.store(y_ptr + row, tl.sum(x, axis=0))
""",
    check=check,
)
