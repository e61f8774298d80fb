"""The sizes of a workload's performance call, as the launching function sees its parameters."""

import ast
from collections.abc import Callable, Iterable, Mapping

from kernelwright.source.findings.scope import Scope
from kernelwright.values import Call, TensorSpec

Sizes = Mapping[str, Call]  # the entry's name, its performance call
Size = int | tuple[int, ...]  # a scalar, or a tensor's shape
Shapes = tuple[tuple[str, tuple[tuple[int | str, Size], ...]], ...]


def shapes_of(sizes: Sizes, entries: Iterable[str]) -> Shapes:
    """The calls of `entries` in hashable form: for each its arguments, by position or name."""
    return tuple(
        (entry, tuple((key, size) for key, value in _arguments(sizes[entry]) if (size := _size(value)) is not None))
        for entry in sorted(sizes.keys() & entries)
    )


def _arguments(call: Call) -> list[tuple[int | str, object]]:
    return [*enumerate(call.args), *call.kwargs.items()]


def _size(value: object) -> Size | None:
    if isinstance(value, TensorSpec):
        return value.shape
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def named(scope: Scope, arguments: tuple[tuple[int | str, Size], ...]) -> dict[str, Size]:
    """The arguments by the names of the function's parameters."""
    names = scope.parameters
    return {
        (names[key] if isinstance(key, int) else key): size
        for key, size in arguments
        if isinstance(key, str) or key < len(names)
    }


def meta(block: str) -> str:
    """The key of a launched block size, as a grid function reads it: meta["BLOCK"]."""
    return f'["{block}"]'


def evaluate(scope: Scope, node: ast.expr, sizes: Mapping[str, Size]) -> int | None:
    """A size expression of the launching function ("x.shape[0]", "n_rows * n_cols") as a number, None when not known."""
    return _Evaluation(scope, sizes).of(node, 0)


class _Evaluation:
    """Each part of an expression as a number, computed once however often names lead to it."""

    def __init__(self, scope: Scope, sizes: Mapping[str, Size]) -> None:
        self._scope = scope
        self._sizes = sizes
        self._known: dict[ast.expr, int | None] = {}

    def of(self, node: ast.expr, depth: int) -> int | None:
        if depth > 16:
            return None
        if node not in self._known:
            self._known[node] = _computed(self._scope, node, self._sizes, lambda part: self.of(part, depth + 1))
        return self._known[node]


def _computed(
    scope: Scope, node: ast.expr, sizes: Mapping[str, Size], recur: Callable[[ast.expr], int | None]
) -> int | None:
    match node:
        case ast.Name(id=name):
            values = scope.reached(node)
            if values:
                return recur(values[0]) if len(values) == 1 and isinstance(values[0], ast.expr) else None
            known = sizes.get(name)
            return known if isinstance(known, int) else scope.number(node)
        case ast.Subscript(value=ast.Name(), slice=ast.Constant(value=str() as name)):
            block = sizes.get(meta(name))
            return block if isinstance(block, int) else None
        case ast.Subscript(value=of, slice=ast.expr() as index):
            shape = shape_of(scope, of, sizes)
            at = scope.number(index)
            return shape[at] if shape and at is not None and -len(shape) <= at < len(shape) else None
        case ast.Call(func=ast.Attribute(value=of, attr=attr), args=args) if tensor_of(scope, of, sizes) is not None:
            shape = tensor_of(scope, of, sizes) or ()
            at = scope.number(args[0]) if args else None
            if attr == "numel":
                return _product(shape)
            if at is None or not -len(shape) <= at < len(shape):
                return None
            return shape[at] if attr == "size" else _product(shape[at % len(shape) + 1 :]) if attr == "stride" else None
        case ast.BinOp(left=left, op=op, right=right):
            a, b = recur(left), recur(right)
            if a is None or b is None:
                return None
            return scope.number(ast.BinOp(ast.Constant(a), op, ast.Constant(b)))
        case ast.Call(func=func, args=args, keywords=[]):
            found = [recur(part) for part in args]
            if not found or None in found:
                return None
            return scope.number(ast.Call(func, [ast.Constant(value) for value in found], []))
    return scope.number(node)


def shape_of(scope: Scope, node: ast.expr, sizes: Mapping[str, Size]) -> tuple[int, ...] | None:
    """The shape that `x.shape` or `x.size()` gives."""
    match scope.single(node):
        case ast.Attribute(value=of, attr="shape") | ast.Call(func=ast.Attribute(value=of, attr="size"), args=[]):
            return tensor_of(scope, of, sizes)
    return None


def tensor_of(scope: Scope, node: ast.expr, sizes: Mapping[str, Size]) -> tuple[int, ...] | None:
    """Find the shape of a named tensor that is a parameter or was made from one."""
    if not isinstance(node, ast.Name):
        return None
    values = scope.reached(node)
    if len(values) > 1:
        return None
    if values:
        match values[0]:
            case ast.Call(func=ast.Attribute(value=ast.Name() as of, attr="contiguous" | "clone")):
                node = of
            case ast.Call(args=[ast.Name() as of, *_]) if scope.canonical(values[0]) in (
                "torch.empty_like",
                "torch.zeros_like",
            ):
                node = of
            case _:
                return None
    known = sizes.get(node.id)
    return known if isinstance(known, tuple) else None


def _product(shape: tuple[int, ...]) -> int:
    result = 1
    for extent in shape:
        result *= extent
    return result
