"""A masked load without `other` whose undefined lanes reach a reduction."""

import ast
import functools
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from kernelwright.source.calls import argument
from kernelwright.source.findings.rule import Change, Problem, Rule, Severity
from kernelwright.source.findings.triton import TritonUnit
from kernelwright.source.trees import children
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
_KEEPS_ZERO = frozenset(("abs", "sqrt", "sin", "cast", "erf"))
_MOVES_ZERO = frozenset(("exp", "exp2", "log", "log2", "rsqrt", "cos", "sigmoid", "floor", "ceil", "clamp", "fdiv"))
_ELEMENTWISE = _KEEPS_ZERO | _MOVES_ZERO | {"maximum", "minimum", "fma"}
_PASSES = 2  # so that what one iteration of a loop leaves reaches the next
_DEEPEST_LOOP = 3  # loops further inside are run once a pass: the work would double with each


@dataclass(frozen=True)
class _Lane:
    """Undefined lanes of one load: along which axes of the value, and whether a zero there would still be a zero."""

    load: ast.Call
    axes: frozenset[int]
    direct: bool


_Lanes = frozenset[_Lane]
_NONE: _Lanes = frozenset()


@dataclass
class _Flow:
    unit: TritonUnit
    names: dict[str, _Lanes] = field(default_factory=dict)
    reached: dict[ast.Call, dict[tuple[str, ast.Call, bool], None]] = field(default_factory=dict)
    axes: dict[str, frozenset[int]] = field(default_factory=dict)  # of the masks by name

    @functools.cached_property
    def loads(self) -> dict[ast.Call, Access]:
        return {access.call: access for access in self.unit.loads_and_stores}

    @functools.cached_property
    def is_flat(self) -> bool:
        """No value of the kernel has a second axis, as far as its subscripts tell."""
        return not any(isinstance(n, ast.Subscript) and isinstance(n.slice, ast.Tuple) for n in self.unit.nodes)


def check(unit: TritonUnit) -> Iterator[Problem]:
    flow = _Flow(unit)
    _run(flow, unit.function.body, 0)
    for load, reached in flow.reached.items():
        op, reduction, _ = next(iter(reached))
        message = (
            f"Lanes outside the mask are undefined and reach tl.{op} in line {reduction.lineno - unit.function.lineno + 1} "
            "of the kernel: give the load an `other`, or select with tl.where before reducing."
        )
        neutral = _neutral(reached)
        if neutral is None:
            yield Problem(load, message)
        else:
            last = load.keywords[-1].value if load.keywords else load.args[-1]
            yield Problem(
                load, message, fix=f"Add other={neutral}", changes=(Change(last, f", other={neutral}", after=True),)
            )


def _neutral(reached: Iterable[tuple[str, ast.Call, bool]]) -> str | None:
    """One value that is right for every reduction that the load reaches directly; None when there is none."""
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
            case ast.Assign(targets=targets, value=value):
                lanes = _value(flow, value)
                for target in targets:
                    if isinstance(target, ast.Name):
                        flow.names[target.id] = lanes
                    elif isinstance(target, ast.Tuple):
                        flow.names |= {t.id: _NONE for t in target.elts if isinstance(t, ast.Name)}
            case ast.AnnAssign(target=ast.Name(id=name), value=ast.expr() as value):
                flow.names[name] = _value(flow, value)
            case ast.AugAssign(target=ast.Name(id=name), op=op, value=value):
                old, new = flow.names.get(name, _NONE), _value(flow, value)
                flow.names[name] = old | (new if isinstance(op, ast.Add | ast.Sub | ast.Mult) else _mixed(new))
            case ast.Expr(value=value):
                _value(flow, value)
            case ast.If(test=test, body=then, orelse=otherwise):
                _value(flow, test)
                before = dict(flow.names)
                _run(flow, then, loops)
                after, flow.names = flow.names, before
                _run(flow, otherwise, loops)
                names = after.keys() | flow.names.keys()
                flow.names = {n: after.get(n, _NONE) | flow.names.get(n, _NONE) for n in names}
            case ast.For(body=inner) | ast.While(body=inner):
                before = dict(flow.names)
                for _ in range(_PASSES if loops < _DEEPEST_LOOP else 1):
                    _run(flow, inner, loops + 1)
                names = before.keys() | flow.names.keys()
                flow.names = {n: before.get(n, _NONE) | flow.names.get(n, _NONE) for n in names}
            case ast.With(body=inner):
                _run(flow, inner, loops)
            case ast.Return(value=ast.expr() as value):
                _value(flow, value)


def _mixed(lanes: _Lanes) -> _Lanes:
    return frozenset(_Lane(lane.load, lane.axes, False) for lane in lanes)


def _value(flow: _Flow, node: ast.expr) -> _Lanes:
    match node:
        case ast.Name(id=name):
            return flow.names.get(name, _NONE)
        case ast.BinOp(left=left, op=op, right=right):
            first, second = _value(flow, left), _value(flow, right)
            both = first | second
            if isinstance(op, ast.Mult) or (isinstance(op, ast.Div) and not second):
                return both
            if isinstance(op, ast.Add | ast.Sub) and first and second:
                return both
            return _mixed(both)
        case ast.UnaryOp(operand=operand):
            return _value(flow, operand)
        case ast.Compare(left=left, comparators=others):
            for part in (left, *others):
                _value(flow, part)
            return _NONE
        case ast.IfExp(body=a, orelse=b):
            return _value(flow, a) | _value(flow, b)
        case ast.Subscript(value=value, slice=index):
            return _expanded(_value(flow, value), index)
        case ast.Call():
            return _call(flow, node)
    return _NONE


def _expanded(lanes: _Lanes, index: ast.expr) -> _Lanes:
    """x[:, None] and the like: the old axes move to the places of the colons."""
    places = [i for i, e in enumerate(index.elts) if isinstance(e, ast.Slice)] if isinstance(index, ast.Tuple) else []
    return frozenset(
        _Lane(lane.load, frozenset(places[a] for a in lane.axes if a < len(places)), lane.direct) for lane in lanes
    )


def _call(flow: _Flow, node: ast.Call) -> _Lanes:
    scope = flow.unit.scope
    name = scope.tl(node)
    if not name and isinstance(node.func, ast.Attribute):
        return _method(flow, node, node.func)
    arguments = [_value(flow, a) for a in node.args] + [_value(flow, k.value) for k in node.keywords]
    if name == "load":
        return _loaded(flow, node)
    if name == "where" or not name:
        return _NONE
    if name == "dot":
        return _dot(flow, node, arguments)
    if name in _NEUTRAL:
        return _reduce(flow, name, node, arguments[0] if node.args else _NONE, argument(node, 1, "axis"))
    if name == "trans" and len(node.args) == 1:
        return frozenset(_Lane(x.load, frozenset(1 - a for a in x.axes if a < 2), x.direct) for x in arguments[0])
    if name in _ELEMENTWISE:
        union = frozenset().union(*arguments) if arguments else _NONE
        return union if name in _KEEPS_ZERO else _mixed(union)
    return _NONE


def _method(flow: _Flow, node: ast.Call, func: ast.Attribute) -> _Lanes:
    lanes = _value(flow, func.value)
    for part in node.args:
        _value(flow, part)
    if func.attr == "to":
        return lanes
    if func.attr in ("sum", "max", "min") and lanes:
        return _reduce(flow, func.attr, node, lanes, argument(node, 0, "axis"))
    if func.attr == "trans" or func.attr == "T":
        return frozenset(_Lane(x.load, frozenset(1 - a for a in x.axes if a < 2), x.direct) for x in lanes)
    return _NONE


def _loaded(flow: _Flow, load: ast.Call) -> _Lanes:
    access = flow.loads.get(load)
    if access is None or access.mask is None or is_absent(access.mask) or not is_absent(access.other):
        return _NONE
    axes = _axes(flow, access.mask)
    return frozenset((_Lane(load, axes, True),)) if axes else _NONE


def _axes(flow: _Flow, mask: ast.expr) -> frozenset[int]:
    """Along which axes a mask varies: {0} for offs < n, {1} for (offs < n)[None, :]. Empty for one without a tile."""
    scope = flow.unit.scope
    match mask:
        case ast.Name(id=name) if name in scope.values:
            if name not in flow.axes:
                flow.axes[name] = frozenset()  # for a name that is assigned from itself
                flow.axes[name] = frozenset().union(*(_axes(flow, v) for v in scope.values[name]))
            return flow.axes[name]
        case ast.Subscript(value=value, slice=ast.Tuple(elts=elts)):
            places = [i for i, e in enumerate(elts) if isinstance(e, ast.Slice)]
            return frozenset(places[a] for a in _axes(flow, value) if a < len(places))
        case ast.Call() if scope.tl(mask) == "arange":
            return frozenset((0,))
        case ast.Call(args=[value, *_]) if scope.tl(mask) in ("max_contiguous", "multiple_of"):
            return _axes(flow, value)
        case ast.Call():
            return frozenset()
        case ast.BinOp() | ast.Compare() | ast.BoolOp() | ast.UnaryOp():
            return frozenset().union(*(_axes(flow, part) for part in children(mask) if isinstance(part, ast.expr)))
    return frozenset()


def _reduce(flow: _Flow, op: str, node: ast.Call, lanes: _Lanes, axis: ast.expr | None) -> _Lanes:
    everything = is_absent(axis)
    along = None if everything else flow.unit.scope.number(axis)
    kept: set[_Lane] = set()
    for lane in lanes:
        if _mixes(flow, lane, along, everything):
            _reach(flow, lane, op, node)
            continue
        if along is not None and not everything:
            keeps = any(k.arg == "keep_dims" for k in node.keywords)
            moved = frozenset(a - (a > along >= 0 and not keeps) for a in lane.axes)
            kept.add(_Lane(lane.load, moved, False))
    return frozenset(kept)


def _mixes(flow: _Flow, lane: _Lane, along: int | None, everything: bool) -> bool:
    """Whether a reduction along this axis mixes the lane's undefined elements into the others."""
    if everything or along in lane.axes:
        return True
    return along == -1 and bool(lane.axes) and (max(lane.axes) > 0 or flow.is_flat)


def _dot(flow: _Flow, node: ast.Call, arguments: list[_Lanes]) -> _Lanes:
    kept: set[_Lane] = set()
    for side, (operand, inner) in enumerate(zip(arguments[: min(len(node.args), 2)], (1, 0), strict=False)):
        for lane in operand:
            if inner in lane.axes:
                _reach(flow, lane, "dot", node)
            elif lane.axes == {side}:
                kept.add(_Lane(lane.load, lane.axes, False))
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
`tl.where(mask, x, 0.0)` first.""",
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
