"""The generators of a workload line: `randn(8, 1024, dtype=float16)` as a TensorSpec."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace

from kernelwright.values import TensorSpec

GENERATORS = ("randn", "rand", "randint", "randperm", "zeros", "ones", "full", "arange", "offsets", "tensor", "empty")
LAYOUTS = ("contiguous", "channels_last", "transposed")
_NAMES = (
    *("float64", "float32", "float16", "bfloat16", "float8_e4m3fn", "float8_e5m2"),
    *("int64", "int32", "int16", "int8", "uint8", "uint16", "uint32", "uint64", "bool", "complex64", "complex128"),
)
DTYPES: Mapping[str, str] = {
    **{name: name for name in _NAMES},
    "double": "float64",
    "float": "float32",
    "half": "float16",
    "fp64": "float64",
    "fp32": "float32",
    "fp16": "float16",
    "bf16": "bfloat16",
    "long": "int64",
    "int": "int32",
    "short": "int16",
}

MAX_ELEMENTS = 2**35  # 128 GiB of float32: more than fits on any one device
_MAX_DIMENSIONS = 8
_WHOLE = frozenset({"randint", "randperm", "offsets"})
_OPTIONS = {
    "randint": ("low", "high"),
    "full": ("value", "fill_value"),
    "arange": ("start", "end", "stop", "step"),
    "offsets": ("end",),
}


class GeneratorError(ValueError):
    """Wrong arguments of a generator, in one sentence."""


class Budget:
    """How many elements the tensors of one line may have together."""

    def __init__(self) -> None:
        self._left = MAX_ELEMENTS

    def spend(self, spec: TensorSpec) -> TensorSpec:
        self._left -= math.prod(spec.shape)
        if self._left < 0:
            raise GeneratorError("The tensors of this line are too large: 2**35 elements together at most.")
        return spec


def generate(name: str, args: Sequence[object], kwargs: Mapping[str, object]) -> TensorSpec:
    """The tensor that `name(*args, **kwargs)` asks for. Raises GeneratorError."""
    if name in ("out", "inout"):
        return _with_role(name, args, kwargs)
    unknown = sorted(set(kwargs) - {"dtype", "layout", "strides", "requires_grad", "size", *_OPTIONS.get(name, ())})
    if unknown:
        there_are = "there are dtype, layout, strides and requires_grad"
        hint = "the worker chooses the device" if unknown[0] == "device" else there_are
        raise GeneratorError(f"{name} has no option {unknown[0]}: {hint}.")
    sizes, parameters = _sizes_and_parameters(name, list(args), kwargs)
    shape = _shape(name, sizes)
    dtype = _dtype(name, kwargs.get("dtype"), parameters)
    layout = _layout(kwargs.get("layout", "contiguous"), shape)
    strides = _strides(kwargs.get("strides", ()), shape)
    if name in ("randn", "rand") and not dtype.startswith(("float", "bfloat", "complex")):
        raise GeneratorError(f"{name} makes floating-point numbers; use randint(0, 10, …, dtype={dtype}).")
    differentiable = _requires_grad(kwargs.get("requires_grad", False), dtype)
    role = "out" if name == "empty" else "in"
    return TensorSpec(name, shape, dtype, parameters, layout, role, differentiable, strides)


def _with_role(role: str, args: Sequence[object], kwargs: Mapping[str, object]) -> TensorSpec:
    if args and isinstance(args[0], TensorSpec):
        if len(args) > 1 or kwargs:
            raise GeneratorError(f"{role}(…) around a generator takes nothing else.")
        spec = args[0]
        return replace(spec, role=role, requires_grad=False)
    if role == "inout":
        raise GeneratorError("inout needs a generator: inout(randn(1024)).")
    return generate("empty", args, kwargs)


def _sizes_and_parameters(
    name: str, args: list[object], kwargs: Mapping[str, object]
) -> tuple[list[object], tuple[int | float, ...]]:
    if name == "randint":
        low_high = [kwargs[key] for key in ("low", "high") if key in kwargs]
        while len(low_high) < 2 and args and isinstance(args[0], int):
            low_high.append(args.pop(0))
        if len(low_high) < 2:
            raise GeneratorError("randint needs a lower and an upper end, then the sizes: randint(0, 10, 1024).")
        low, high = _whole(name, low_high[0]), _whole(name, low_high[1])
        if low >= high:
            raise GeneratorError(f"randint needs its lower end below its upper end, not {low} and {high}.")
        return _given(args, kwargs), (low, high)
    if name == "tensor":
        if len(args) != 1 or kwargs.keys() & {"size"}:
            raise GeneratorError("tensor takes its elements: tensor([0, 12, 64]).")
        return _elements(args[0])
    if name == "full":
        value = kwargs.get("value", kwargs.get("fill_value"))
        if value is None and len(args) == 2 and isinstance(args[0], tuple | list):
            value = args.pop()
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise GeneratorError("full needs its value: full(1024, value=2.0) or full((8, 1024), 2.0).")
        return _given(args, kwargs), (value,)
    if name == "randperm" and len(_given(args, kwargs)) != 1:
        raise GeneratorError("randperm takes one size: randperm(1024).")
    if name == "offsets":
        return _offsets(args, kwargs)
    if name == "arange":
        start, stop, step = _range(args, kwargs)
        return [max(0, -(-(stop - start) // step) if isinstance(step, int) else math.ceil((stop - start) / step))], (
            start,
            stop,
            step,
        )
    return _given(args, kwargs), ()


def _elements(value: object) -> tuple[list[object], tuple[int | float, ...]]:
    """Sizes and elements of a number, or of numbers in lists of equal lengths."""
    if isinstance(value, int | float):
        return [], (value,)
    if not isinstance(value, tuple | list):
        raise GeneratorError("tensor takes numbers only.")
    parts = [_elements(item) for item in value]
    if any(sizes != parts[0][0] for sizes, _ in parts):
        raise GeneratorError("tensor takes lists of equal lengths.")
    return [len(parts), *(parts[0][0] if parts else [])], tuple(number for _, numbers in parts for number in numbers)


def _given(args: list[object], kwargs: Mapping[str, object]) -> list[object]:
    if "size" in kwargs:
        args = [*args, kwargs["size"]]
    if len(args) == 1 and isinstance(args[0], tuple | list):
        return list(args[0])
    return args


def _offsets(args: list[object], kwargs: Mapping[str, object]) -> tuple[list[object], tuple[int, ...]]:
    given = [*args, *(kwargs[key] for key in ("size", "end") if key in kwargs)]
    if len(given) != 2:
        raise GeneratorError("offsets takes how many there are, and the last of them: offsets(1025, 16384).")
    count, end = (_whole("offsets", one) for one in given)
    if end < 0 or (end and count < 2):
        raise GeneratorError("offsets rise from 0 to the last: there are two or more, and the last is not negative.")
    return [count], (end,)


def _range(args: list[object], kwargs: Mapping[str, object]) -> tuple[int | float, int | float, int | float]:
    stop = kwargs.get("end", kwargs.get("stop"))
    values = [*args] if stop is None else [*args, stop]
    start, step = kwargs.get("start", 0), kwargs.get("step", 1)
    match values:
        case [end]:
            pass
        case [start, end]:
            pass
        case [start, end, step]:
            pass
        case _:
            raise GeneratorError("arange takes an end, or a start, an end and a step.")
    first, last, by = _number(start), _number(end), _number(step)
    if by == 0:
        raise GeneratorError("arange needs a step other than 0.")
    if abs((last - first) / by) > MAX_ELEMENTS:
        raise GeneratorError("This arange is too large: 2**35 elements at most.")
    return first, last, by


def _number(value: object) -> int | float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise GeneratorError("arange takes numbers only.")
    return value


def _shape(name: str, sizes: Sequence[object]) -> tuple[int, ...]:
    shape = tuple(_whole(name, size) for size in sizes)
    if len(shape) > _MAX_DIMENSIONS:
        raise GeneratorError(f"A tensor of a workload line has {_MAX_DIMENSIONS} dimensions at most.")
    if any(size < 0 for size in shape):
        raise GeneratorError(f"{name} was given a negative size.")
    if math.prod(shape) > MAX_ELEMENTS:
        raise GeneratorError(f"{name} of {math.prod(shape)} elements is too large: 2**35 at most.")
    return shape


def _whole(name: str, value: object) -> int:
    if isinstance(value, bool) or not isinstance(value, int):
        raise GeneratorError(f"{name} takes whole numbers as sizes, not {value!r}.")
    return value


def _dtype(name: str, dtype: object, parameters: tuple[int | float, ...]) -> str:
    if dtype is None:
        if name == "tensor" and parameters and all(isinstance(p, bool) for p in parameters):
            return "bool"
        whole = name in _WHOLE or (name in ("arange", "tensor") and all(isinstance(p, int) for p in parameters))
        return "int64" if whole else "float32"
    if not isinstance(dtype, str) or dtype not in DTYPES:
        raise GeneratorError(f"There is no dtype {dtype}; there are float32, float16, bfloat16, int64 and others.")
    return DTYPES[dtype]


def _requires_grad(value: object, dtype: str) -> bool:
    if not isinstance(value, bool):
        raise GeneratorError("requires_grad is True or False.")
    if value and not dtype.startswith(("float", "bfloat", "complex")):
        raise GeneratorError(f"Only floating-point tensors can require grad, not {dtype}.")
    return value


def _strides(strides: object, shape: tuple[int, ...]) -> tuple[int, ...]:
    """Of a tensor whose elements lie apart; 0 where they are the same one."""
    if not strides:
        return ()
    if not isinstance(strides, tuple | list) or len(strides) != len(shape):
        raise GeneratorError(f"strides has one number for each dimension, {len(shape)} here.")
    given = tuple(_whole("strides", stride) for stride in strides)
    reached = 0
    for stride, size in sorted(zip(given, shape, strict=True)):
        if stride < 0 or (stride and size > 1 and stride <= reached):
            raise GeneratorError("With these strides the elements lie over each other.")
        reached += stride * max(size - 1, 0)
    if reached > MAX_ELEMENTS:
        raise GeneratorError("With these strides the tensor is too large: 2**35 elements at most.")
    return given


def _layout(layout: object, shape: tuple[int, ...]) -> str:
    if layout not in LAYOUTS:
        raise GeneratorError(f"There is no layout {layout}; there are {', '.join(LAYOUTS)}.")
    if layout == "channels_last" and len(shape) not in (4, 5):
        raise GeneratorError(f"channels_last needs 4 or 5 dimensions, this tensor has {len(shape)}.")
    if layout == "transposed" and len(shape) < 2:
        raise GeneratorError(f"transposed needs 2 dimensions or more, this tensor has {len(shape)}.")
    return str(layout)
