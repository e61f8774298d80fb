"""Work of a Triton kernel as expressions over its launcher's sizes, and such expressions as numbers."""

import ast
import math
import operator
import re
from collections.abc import Callable, Iterable, Mapping

from kernelwright.source.definitions import NAME, Function, RawLaunch
from kernelwright.values import Estimate, Facts, TensorSpec

_LARGEST = 2**80  # bytes and operations of one launch are fewer
_SHAPE = re.compile(r"(\w+)\.(?:shape|size\(\))$")
_SAME_SHAPE = re.compile(
    r"(?:torch\.\w+_like\((\w+)\b.*|(\w+)\.(?:contiguous|to|float|half|bfloat16|clone|detach|cuda)\(.*\))$", re.S
)
_MADE = re.compile(r"(?:torch|(\w+))\.(?:new_)?(?:empty|zeros|ones|full)\((.*)\)$", re.S)
_RESHAPED = re.compile(r"(\w+)\.(?:contiguous\(\)\.)?(?:view|reshape|flatten)\(", re.S)
_DTYPE_OF = re.compile(r"\bdtype\s*=\s*(\w+)\.dtype")
_DTYPE = re.compile(r"\bdtype\s*=\s*torch\.(\w*\d+\w*|bool)\b")
_NO_SIZE = re.compile(r"^(?:IS_|HAS_|USE_|EVEN_)|stride|block|tile|causal|stage|group|split", re.IGNORECASE)
_BOUND = re.compile(r"range\(\s*(?:0\s*,\s*|\w+\s*,\s*(?=\w+\s*,))?(?:(?:\w+\.)*cdiv\(\s*)?([^\W\d]\w*)\b")

Behind = Mapping[str, set[str]]  # the names that each name is computed from


def estimate_triton(
    facts: Facts, assignments: tuple[tuple[str, str], ...], launch: RawLaunch, launcher: Function
) -> Estimate:
    """The least work of one launch: every tensor moved once, the arithmetic counted from the source.

    `assignments` are the kernel's and its helpers'. A dot inside `for k in range(0, K, …)` counts 2*K operations for each
    stored element, and so do the two of attention, for each key; half of that where the loop ends with the program, as a
    causal one does. Other arithmetic counts once for each element of the largest tensor.
    """
    arguments = {**dict(zip(facts.parameters, launch.args, strict=False)), **dict(launch.kwargs)}
    names = _Names(launcher)
    behind = _names_behind(assignments)
    moved: dict[str, set[str]] = {}
    for access in facts.accesses:
        reached = _reached(NAME.findall(access.pointer), behind)
        for parameter in (one for one in facts.parameters if one in reached):
            if names.is_tensor(arguments.get(parameter, "")):
                moved.setdefault(arguments[parameter], set()).add("store" if access.kind == "store" else "load")
    if not moved:
        return Estimate(parameters=launcher.parameters)
    numels = {tensor: names.numel(tensor) for tensor in moved}
    if any(numel is None for numel in numels.values()):
        return Estimate(parameters=launcher.parameters)
    by_type: dict[str, dict[str, int]] = {}
    for tensor, kinds in moved.items():
        counts = by_type.setdefault(names.itemsize(tensor), {})
        numel = numels[tensor] or ""
        counts[numel] = counts.get(numel, 0) + len(kinds)
    moved_bytes = " + ".join(f"{size}*({_summed(counts)})" for size, counts in sorted(by_type.items()))
    stored = [numels[tensor] for tensor, kinds in moved.items() if "store" in kinds]
    flops = _flops(facts, behind, arguments, stored, [numel for numel in numels.values() if numel])
    typed_by = next((names.typed_by(t) for t, kinds in moved.items() if "load" in kinds), None)
    return Estimate(moved_bytes, flops, names.sizes, launcher.parameters, typed_by)


def _summed(counts: Mapping[str, int]) -> str:
    return " + ".join(numel if count == 1 else f"{count}*{numel}" for numel, count in counts.items())


def _flops(
    facts: Facts, behind: Behind, arguments: Mapping[str, str], stored: list[str | None], numels: list[str]
) -> str | None:
    if not facts.dots:
        return f"{facts.operations}*{_largest(numels)}" if facts.operations else None
    named = {match.group(1) for loop in facts.loops if (match := _BOUND.search(loop.bounds))}
    bounds = {size for name in named for size in _sizes_behind(name, behind, arguments)}
    is_attention = len(facts.dots) == 2 and {"max", "sum"} <= {reduction.op for reduction in facts.reductions}
    written = [numel for numel in stored if numel]
    if not (len(facts.dots) == 1 or is_attention) or len(bounds) != 1 or not written:
        return None
    (depth,) = bounds
    ends_with_program = is_attention and "program_id" in _reached(named, behind)
    each = len(facts.dots) if ends_with_program else 2 * len(facts.dots)
    return f"{each}*{_largest(written)}*({arguments.get(depth, depth)})"


def _largest(numels: list[str]) -> str:
    several = list(dict.fromkeys(numels))
    return f"max({', '.join(several)})" if len(several) > 1 else several[0]


def _names_behind(assignments: tuple[tuple[str, str], ...]) -> Behind:
    """Map each name to those in the expressions that it is assigned."""
    found: dict[str, set[str]] = {}
    for target, value in assignments:
        found.setdefault(target, set()).update(NAME.findall(value))
    return found


def _reached(names: Iterable[str], behind: Behind) -> set[str]:
    """Collect these names and all that they are computed from."""
    found: set[str] = set()
    waiting = [*names]
    while waiting:
        name = waiting.pop()
        if name not in found:
            found.add(name)
            waiting += behind.get(name, ())
    return found


def _sizes_behind(name: str, behind: Behind, arguments: Mapping[str, str]) -> set[str]:
    """Find the kernel's size parameters that a bound is computed from: K of `num_k = tl.cdiv(K, BLOCK_K)`, or itself."""
    if name in arguments or name not in behind:
        return {name}
    return {one for one in _reached([name], behind) if one in arguments and not _NO_SIZE.search(one)}


class _Names:
    """What a launcher's names are: tensors with their number of elements, sizes with where they come from."""

    def __init__(self, launcher: Function) -> None:
        self._parameters = frozenset(launcher.parameters)
        self._values: dict[str, str] = {}
        self._shapes: dict[str, tuple[str, ...]] = {}
        self._reshaped: dict[str, tuple[str, ...]] = {}  # the sizes of a reshaped tensor, () where they are not plain
        self.sizes: dict[str, str] = {}
        for target, value in launcher.assignments:
            self._read(target.strip("() \n"), " ".join(value.split()))

    def _read(self, target: str, value: str) -> None:
        shape = _SHAPE.match(value)
        if shape and ("," in target):
            dims = tuple(part.strip() for part in target.rstrip(",").split(","))
            tensor = self._origin(shape.group(1))
            given = self._reshaped.get(tensor)
            for axis, dim in enumerate(dims):
                if dim.isidentifier() and dim != "_" and (given is None or len(given) == len(dims)):
                    self.sizes.setdefault(dim, given[axis] if given else f"{tensor}.shape[{axis}]")
            plain = all(dim.isidentifier() and dim != "_" for dim in dims)
            if plain:
                self._shapes.setdefault(shape.group(1), dims)
            return
        if not target.isidentifier():
            return
        if reshaped := _RESHAPED.match(value):
            self._reshaped[target] = self._sizes_of_view(reshaped.group(1), value[reshaped.end() :].removesuffix(")"))
        if target not in self._parameters and _numeric(value):
            self.sizes.setdefault(target, value)
        if target in self._parameters and target not in self._values and not _RESHAPED.match(value):
            return  # x = x.contiguous() keeps the parameter's shape
        self._values[target] = value

    def _sizes_of_view(self, tensor: str, arguments: str) -> tuple[str, ...]:
        """Read the sizes in x.view(-1, x.shape[-1]): -1 is what the others leave of all elements."""
        sizes = _sizes_of(arguments)
        rest = [size for size in sizes or () if size != "-1"]
        origin = self._origin(tensor)
        if not sizes or not rest or len(sizes) - len(rest) > 1 or origin not in self._parameters:
            return ()
        return tuple(f"{origin}.numel()//({'*'.join(rest)})" if size == "-1" else size for size in sizes)

    def _origin(self, name: str) -> str:
        """The parameter that has the same shape and type as a local tensor, the name itself when there is none."""
        for _ in range(8):
            match = _SAME_SHAPE.match(self._values.get(name, ""))
            if match is None:
                break
            name = match.group(1) or match.group(2)
        return name

    def is_tensor(self, argument: str) -> bool:
        if not argument.isidentifier():
            return False
        return argument in self._parameters or any(
            pattern.match(self._values.get(argument, "")) for pattern in (_SAME_SHAPE, _MADE, _RESHAPED)
        )

    def numel(self, tensor: str, steps: int = 8) -> str | None:
        """How many elements a tensor has, as an expression; followed through names for so many steps."""
        if steps == 0:
            return None
        value = self._values.get(tensor, "")
        made = _MADE.match(value)
        if made and (dims := _sizes_of(made.group(2))) is not None:
            return "*".join(dims) or "1"
        if made and (shape := re.match(r"\(?\s*(\w+)\.shape\b", made.group(2))):
            return self.numel(shape.group(1), steps - 1)
        if reshaped := _RESHAPED.match(value):
            origin = reshaped.group(1)
            return self.numel(origin, steps - 1) if origin != tensor else f"{tensor}.numel()"
        if tensor in self._shapes:
            return "*".join(self._shapes[tensor])
        origin = self._origin(tensor)
        if origin != tensor:
            return self.numel(origin, steps - 1)
        return f"{tensor}.numel()" if tensor in self._parameters else None

    def itemsize(self, tensor: str) -> str:
        """Give the bytes of one element: a number where the launcher names the dtype."""
        named = _DTYPE.search(self._values.get(tensor, ""))
        return str(itemsize(named.group(1))) if named else f"{self.typed_by(tensor) or tensor}.itemsize"

    def typed_by(self, tensor: str) -> str | None:
        """The parameter that has the tensor's dtype."""
        if tensor in self._parameters:
            return tensor
        value = self._values.get(tensor, "")
        named = _DTYPE_OF.search(value)
        origin = named.group(1) if named else self._origin(tensor)
        if origin == tensor:
            made, reshaped = _MADE.match(value), _RESHAPED.match(value)
            origin = (made and made.group(1)) or (reshaped and reshaped.group(1)) or tensor
        return origin if origin in self._parameters else None


def _sizes_of(arguments: str) -> tuple[str, ...] | None:
    """Read the sizes in `(M, N), device=…` or `M, x.shape[1], device=…`; None when they are not numbers and what they make."""
    try:
        call = ast.parse(f"f({arguments})", mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    if not isinstance(call, ast.Call) or not call.args:
        return None
    first = call.args[0]
    given = first.elts if isinstance(first, ast.Tuple | ast.List) else call.args
    sizes = tuple(size for size in map(_size, given) if size is not None)
    return sizes if len(sizes) == len(given) else None


def _size(node: ast.expr) -> str | None:
    text = ast.unparse(node)
    if isinstance(node, ast.Name | ast.Constant) or text == "-1":
        return text
    return f"({text})" if _numeric(text) else None


def _numeric(value: str) -> bool:
    return bool(re.fullmatch(r"[\w\s.*+\-/()\[\],]+", value)) and bool(
        re.search(r"\.(?:shape\[|size\(|numel\()", value) or re.fullmatch(r"\w+(?:\s*[*+]\s*\w+)+", value)
    )


_BINARY: Mapping[type[ast.operator], Callable[[int, int], int]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.FloorDiv: operator.floordiv,
}


def value_of(expression: str, estimate: Estimate, given: Mapping[str, object]) -> int | None:
    """An expression of an Estimate as a number, for a call with the arguments `given`; None where one is missing."""
    try:
        value = _value(ast.parse(expression, mode="eval").body, estimate, given, {}, 0)
    except (SyntaxError, ArithmeticError, LookupError, TypeError, ValueError, RecursionError, MemoryError):
        return None
    return int(value)


def _value(node: ast.AST, estimate: Estimate, given: Mapping[str, object], names: dict[str, int], depth: int) -> int:
    """`names` are the sizes computed so far, so that names which double each other cost no more than others."""
    if depth > 60:
        raise ValueError("too deep")
    match node:
        case ast.Constant(value=int() as number):
            return number
        case ast.Name(id=name):
            passed = given.get(name)
            if isinstance(passed, int):
                return int(passed)
            if name not in names:
                expression = ast.parse(estimate.sizes[name], mode="eval").body
                names[name] = _value(expression, estimate, given, names, depth + 1)
            return names[name]
        case ast.BinOp(left=left, op=op, right=right) if type(op) in _BINARY:
            first, second = (_value(side, estimate, given, names, depth + 1) for side in (left, right))
            value = _BINARY[type(op)](first, second)
            if abs(value) > _LARGEST:
                raise ValueError("too large")
            return value
        case ast.Call(func=ast.Name(id="max"), args=[_, *_] as several):
            return max(_value(one, estimate, given, names, depth + 1) for one in several)
        case ast.Attribute(value=ast.Name(id=name), attr="itemsize"):
            return itemsize(_tensor(given, name).dtype)
        case ast.Subscript(value=ast.Attribute(value=ast.Name(id=name), attr="shape"), slice=axis):
            return _tensor(given, name).shape[_axis(axis)]
        case ast.Call(func=ast.Attribute(value=ast.Name(id=name), attr="size"), args=[axis]):
            return _tensor(given, name).shape[_axis(axis)]
        case ast.Call(func=ast.Attribute(value=ast.Name(id=name), attr="numel"), args=[]):
            return math.prod(_tensor(given, name).shape)
    raise ValueError("not an expression of sizes")


def _axis(node: ast.AST) -> int:
    return int(ast.literal_eval(node))


def _tensor(given: Mapping[str, object], name: str) -> TensorSpec:
    spec = given[name]
    if not isinstance(spec, TensorSpec):
        raise TypeError(f"{name} is not a tensor")
    return spec


def itemsize(dtype: str) -> int:
    """Bytes of one element: "float16" is 2."""
    if dtype == "bool" or dtype.startswith("float8"):
        return 1
    digits = re.search(r"\d+", dtype)
    return int(digits.group()) // 8 if digits else 4
