"""What an argument of a benchmark is, read from its source: a number, a string, or a tensor of known sizes."""

import ast
from collections.abc import Mapping
from dataclasses import dataclass, replace

from kernelwright.ops import ROWS
from kernelwright.source.workload.evaluate import WorkloadError, evaluate
from kernelwright.source.workload.generators import DTYPES

_GENERATORS = {"randn": "randn", "rand": "rand", "zeros": "zeros", "ones": "ones", "empty": "out", "normal": "randn"}
_LIKE = {"randn_like": "randn", "rand_like": "rand", "zeros_like": "zeros", "ones_like": "ones", "empty_like": "out"}
_SAME = {row.name for row in ROWS.values() if row.meaning == "input"} | {"cuda", "cpu", "requires_grad_", "npu", "xpu"}
_CASTS = {"half": "float16", "bfloat16": "bfloat16", "float": "float32", "double": "float64"}

Names = Mapping[str, ast.expr]
UNKNOWN = object()


@dataclass(frozen=True)
class Tensor:
    """A tensor as a generator of a workload line makes it."""

    generator: str
    shape: tuple[int, ...]
    dtype: str | None = None
    before: tuple[int | float, ...] = ()  # what comes before the sizes: randint's ends
    transposed: bool = False

    def written(self) -> str:
        parts = [*map(repr, self.before), *map(str, self.shape)]
        if self.dtype and self.dtype != ("int64" if self.generator == "randint" else "float32"):
            parts.append(f"dtype={self.dtype}")
        if self.transposed:
            parts.append("layout=transposed")
        return f"{self.generator}({', '.join(parts)})"


def value_of(node: ast.expr, names: Names, depth: int) -> object:
    """A number, string, None or bool, a Tensor, or UNKNOWN."""
    if depth > 20:
        return UNKNOWN
    match node:
        case ast.Constant(value=None | bool() | int() | float() | str() as value):
            return value
        case ast.Name(id=name) if name in names:
            return value_of(names[name], names, depth + 1)
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            positive = value_of(operand, names, depth + 1)
            return -positive if isinstance(positive, int | float) else UNKNOWN
        case ast.BinOp(left=left, right=right):
            return _computed(node, value_of(left, names, depth + 1), value_of(right, names, depth + 1))
        case ast.Attribute(value=inner, attr="T"):
            return _transposed(value_of(inner, names, depth + 1))
        case ast.Subscript(value=ast.Attribute(value=inner, attr="shape"), slice=ast.Constant(value=int() as axis)):
            tensor = value_of(inner, names, depth + 1)
            if isinstance(tensor, Tensor) and -len(tensor.shape) <= axis < len(tensor.shape):
                return tensor.shape[axis]
            return UNKNOWN
        case ast.Call(func=ast.Attribute(value=ast.Name(id="torch"), attr=name)):
            return _made(name, node, names, depth)
        case ast.Call(func=ast.Attribute(value=inner, attr=method), args=args):
            return _method(value_of(inner, names, depth + 1), method, args, node, names)
    return UNKNOWN


def _computed(node: ast.BinOp, left: object, right: object) -> object:
    if isinstance(left, Tensor) and not isinstance(right, Tensor):
        return left  # randn(…) * 0.1: the gate scales its inputs itself
    if isinstance(right, Tensor) and not isinstance(left, Tensor):
        return right
    if not isinstance(left, int | float) or not isinstance(right, int | float):
        return UNKNOWN
    expression = ast.unparse(ast.BinOp(ast.Constant(left), node.op, ast.Constant(right)))
    try:
        return evaluate(f"f({expression})").args[0]
    except WorkloadError:
        return UNKNOWN


def _made(name: str, call: ast.Call, names: Names, depth: int) -> object:
    dtype = next((_dtype(k.value, names) for k in call.keywords if k.arg == "dtype"), None)
    if name in _LIKE and call.args:
        like = value_of(call.args[0], names, depth + 1)
        return Tensor(_LIKE[name], like.shape, dtype or like.dtype) if isinstance(like, Tensor) else UNKNOWN
    args = [*call.args]
    before: list[int] = []
    if name == "randint":
        given = {k.arg: k.value for k in call.keywords}
        bounds = [a for a in args if not isinstance(a, ast.Tuple | ast.List)]
        bounds += [given[k] for k in ("low", "high") if k in given]
        ends = [end for b in bounds if isinstance(end := value_of(b, names, depth + 1), int)]
        if not ends or len(ends) < len(bounds):
            return UNKNOWN
        before = [0, *ends] if len(ends) == 1 else ends[:2]
        args = [a for a in args if isinstance(a, ast.Tuple | ast.List)] + ([given["size"]] if "size" in given else [])
    elif name not in _GENERATORS:
        return UNKNOWN
    elif any(k.arg == "size" for k in call.keywords):
        args = [k.value for k in call.keywords if k.arg == "size"]
    if len(args) == 1 and isinstance(args[0], ast.Name) and isinstance(names.get(args[0].id), ast.Tuple | ast.List):
        args = [names[args[0].id]]
    sizes = args[0].elts if len(args) == 1 and isinstance(args[0], ast.Tuple | ast.List) else args
    values = [value_of(size, names, depth + 1) for size in sizes]
    shape = tuple(size for size in values if isinstance(size, int) and not isinstance(size, bool))
    if len(shape) < len(values):
        return UNKNOWN
    return Tensor(_GENERATORS.get(name, name), shape, dtype, tuple(before))


def _method(tensor: object, method: str, args: list[ast.expr], call: ast.Call, names: Names) -> object:
    if not isinstance(tensor, Tensor):
        return UNKNOWN
    if method == "to":
        candidates = [_dtype(v, names) for v in (*args, *(k.value for k in call.keywords if k.arg == "dtype"))]
        return replace(tensor, dtype=next((d for d in candidates if d), tensor.dtype))
    if method in _SAME:
        return tensor
    if method in _CASTS:
        return replace(tensor, dtype=_CASTS[method])
    if method == "t" or (method == "transpose" and len(tensor.shape) == 2):
        return _transposed(tensor)
    return UNKNOWN


def _transposed(tensor: object) -> object:
    if not isinstance(tensor, Tensor) or len(tensor.shape) != 2:
        return UNKNOWN
    return replace(tensor, shape=tensor.shape[::-1], transposed=not tensor.transposed)


def _dtype(node: ast.expr, names: Names) -> str | None:
    match node:
        case ast.Attribute(value=ast.Name(id="torch"), attr=name) if name in DTYPES:
            return DTYPES[name]
        case ast.Name(id=name) if name in names:
            return _dtype(names[name], {k: v for k, v in names.items() if k != name})
    return None
