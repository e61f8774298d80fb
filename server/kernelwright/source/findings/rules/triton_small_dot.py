"""tl.dot with a dimension below 16, or with an accumulator of half precision."""

import ast
from collections.abc import Iterator

from kernelwright.source.calls import argument
from kernelwright.source.findings.rule import Change, Problem, Rule, Severity
from kernelwright.source.findings.scope import source
from kernelwright.source.findings.triton import TritonUnit
from kernelwright.source.trees import walk
from kernelwright.values import Language

_LEAST = 16
_HALF = ("triton.language.float16", "triton.language.bfloat16")
_FULL = ("zeros", "full")

Shape = tuple[ast.expr, ...]


def check(unit: TritonUnit) -> Iterator[Problem]:
    shapes = _Shapes(unit)
    for kind, call in unit.calls:
        if kind != "dot" or len(call.args) < 2:
            continue
        yield from _half(unit, call)
        if any(_is_constant(unit, operand) for operand in call.args[:2]):
            continue  # a column of ones: that is how one sums with the tensor cores
        least = min(
            (n for shape in (shapes.of(a) for a in call.args[:2]) for n in _extents(unit, shape)),
            default=_LEAST,
        )
        if least < _LEAST:
            yield Problem(
                call,
                f"A dimension of this tl.dot is {least}: below {_LEAST} it is padded or refused, "
                "and the tensor cores work on nothing.",
            )


def _is_constant(unit: TritonUnit, operand: ast.expr) -> bool:
    resolved = unit.scope.single(operand)
    return isinstance(resolved, ast.Call) and unit.scope.tl(resolved) in _FULL


def _extents(unit: TritonUnit, shape: Shape | None) -> list[int]:
    return [n for extent in shape or () for n in unit.numbers(extent)]


class _Shapes:
    """The shapes of a kernel's values as expressions: () for a scalar, None when it is not certain."""

    def __init__(self, unit: TritonUnit) -> None:
        self._unit = unit
        self._known: dict[ast.expr | str, Shape | None] = {}

    def of(self, node: ast.expr, depth: int = 0) -> Shape | None:
        if depth > 16:
            return None
        if node not in self._known:
            self._known[node] = None  # for a name that is assigned from itself
            self._known[node] = self._of(node, depth + 1)
        return self._known[node]

    def _of(self, node: ast.expr, depth: int) -> Shape | None:
        scope = self._unit.scope
        match node:
            case ast.Constant():
                return ()
            case ast.Name(id=name):
                return self._named(name, depth)
            case ast.Subscript(value=value, slice=ast.Tuple(elts=elts)):
                inner = self.of(value, depth)
                if inner is None or sum(isinstance(e, ast.Slice) for e in elts) != len(inner):
                    return None
                extents = iter(inner)
                return tuple(next(extents) if isinstance(e, ast.Slice) else ast.Constant(1) for e in elts)
            case ast.BinOp(left=left, right=right):
                return self._broadcast(self.of(left, depth), self.of(right, depth))
            case ast.Call(func=ast.Attribute(value=value, attr="to")) if not scope.tl(node):
                return self.of(value, depth)
            case ast.Call(args=[first, *_]):
                return self._called(node, scope.tl(node), first, depth)
        return None

    def _named(self, name: str, depth: int) -> Shape | None:
        """Advancing a pointer keeps its shape; otherwise all assignments must agree."""
        if name not in self._known:
            self._known[name] = None
            self._known[name] = self._agreed(name, depth)
        return self._known[name]

    def _agreed(self, name: str, depth: int) -> Shape | None:
        scope = self._unit.scope
        values = scope.values.get(name)
        if values is None:
            return () if name in scope.parameters or name in scope.loops else None
        fresh = [v for v in values if not any(isinstance(n, ast.Name) and n.id == name for n in walk(v))]
        shapes = [shape for value in fresh if (shape := self.of(value, depth)) is not None]
        if not shapes or len(shapes) < len(fresh) or len({tuple(map(source, shape)) for shape in shapes}) > 1:
            return None
        return shapes[0]

    def _called(self, node: ast.Call, name: str, first: ast.expr, depth: int) -> Shape | None:
        if name in ("program_id", "num_programs", "cdiv"):
            return ()
        if name == "arange":
            end = argument(node, 1, "end")
            return (end,) if end is not None else None
        if name in _FULL:
            return tuple(first.elts) if isinstance(first, ast.Tuple | ast.List) else None
        if name in ("load", "exp", "exp2"):
            return self.of(first, depth)
        if name == "trans" and len(node.args) == 1:
            inner = self.of(first, depth)
            return inner[::-1] if inner and len(inner) == 2 else None
        return None

    def _broadcast(self, a: Shape | None, b: Shape | None) -> Shape | None:
        if a is None or b is None:
            return None
        if not a or not b:
            return a or b
        if len(a) != len(b):
            return None
        return tuple(y if self._unit.scope.number(x) == 1 else x for x, y in zip(a, b, strict=True))


def _half(unit: TritonUnit, call: ast.Call) -> Iterator[Problem]:
    asked = next((k.value for k in call.keywords if k.arg == "out_dtype"), None)
    if asked is not None and unit.scope.canonical(asked) in _HALF:
        yield _precision(asked)
        return
    accumulator = argument(call, 2, "acc") or _augmented(unit, call)
    for made in unit.scope.values.get(accumulator.id, ()) if isinstance(accumulator, ast.Name) else ():
        if isinstance(made, ast.Call) and unit.scope.tl(made) in _FULL:
            dtype = argument(made, 1 if unit.scope.tl(made) == "zeros" else 2, "dtype")
            if dtype is not None and unit.scope.canonical(dtype) in _HALF:
                yield _precision(dtype)


def _augmented(unit: TritonUnit, call: ast.Call) -> ast.expr | None:
    parent = unit.parents.get(call)
    return parent.target if isinstance(parent, ast.AugAssign) else None


def _precision(dtype: ast.expr) -> Problem:
    message = (
        "A sum of products in half precision loses digits with every term: "
        "accumulate in tl.float32 and round at the store."
    )
    changes = (Change(dtype, f"{ast.unparse(dtype.value)}.float32"),) if isinstance(dtype, ast.Attribute) else ()
    return Problem(dtype, message, fix="Accumulate in float32" if changes else "", changes=changes)


RULE = Rule(
    code="triton.dot",
    language=Language.TRITON,
    severity=Severity.WARNING,
    title="tl.dot that is too small or accumulates in half precision",
    doc="""The tensor cores multiply tiles of at least 16 in each dimension; a smaller K is refused and a smaller M or N
padded. Their accumulator is 32 bits wide at no extra cost on data-centre GPUs: `out_dtype=tl.float16`, or an
accumulator made with that type, gives precision away.""",
    example_wrong="""
import triton, triton.language as tl

@triton.jit
def outer(a_ptr, b_ptr, c_ptr):
    i = tl.arange(0, 16)
    a = tl.load(a_ptr + i[:, None] * 16 + i[None, :])
    b = tl.load(b_ptr + i[:, None] * 16 + i[None, :])
    tl.store(c_ptr + i[:, None] * 16 + i[None, :], tl.dot(a, b, out_dtype=tl.float16))
""",
    example_right="""
import triton, triton.language as tl

@triton.jit
def outer(a_ptr, b_ptr, c_ptr):
    i = tl.arange(0, 16)
    a = tl.load(a_ptr + i[:, None] * 16 + i[None, :])
    b = tl.load(b_ptr + i[:, None] * 16 + i[None, :])
    tl.store(c_ptr + i[:, None] * 16 + i[None, :], tl.dot(a, b).to(tl.float16))
""",
    check=check,
)
