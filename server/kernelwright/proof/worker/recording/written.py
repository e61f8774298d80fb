"""Writes a call as a workload line: its values in the words of the line's grammar (docs/workloads.md)."""

import enum
import inspect
import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType, SimpleNamespace
from typing import Any

import torch

from kernelwright.source.workload.evaluate import NAMESPACE
from kernelwright.source.workload.generators import DTYPES

NONE: Mapping[str, Any] = MappingProxyType({})
_FEW = 16  # whole numbers that are written out; an index tensor that rises may have more
_MOST_RISING = 257
_ADDRESSES = 1 << 40, 1 << 48  # where the memory of processes and GPUs lies
_NAMES = {getattr(torch, name): name for name in set(DTYPES.values()) if hasattr(torch, name)}


class Unsayable(ValueError):
    """What a workload line has no word for, as a clause."""


def arguments(
    args: Sequence[object], kwargs: Mapping[str, object], *, exact: bool = True, names: Mapping[str, object] = NONE
) -> str:
    """The arguments of a call, without parentheses; shared memory is told unless `exact` is False. Raises Unsayable.

    A constructor may be given objects of classes among these `names`.
    """
    named = [*((f"argument {number}", value) for number, value in enumerate(args, 1)), *kwargs.items()]
    if exact:
        _apart(named)
    written: list[str] = []
    for number, (name, value) in enumerate(named):
        try:
            text = _value(value, names)
        except Unsayable as unsayable:
            raise Unsayable(f"{name} {unsayable}") from None
        written.append(text if number < len(args) else f"{name}={text}")
    return ", ".join(written)


def _apart(named: Sequence[tuple[str, object]]) -> None:
    """Raises Unsayable where two tensors are the same memory: a line gives each memory of its own."""
    seen: dict[int, str] = {}
    for name, value in named:
        for tensor in _tensors(value):
            if type(tensor) in _PLAIN and tensor.numel() and tensor.layout is torch.strided:
                other = seen.setdefault(tensor.data_ptr(), name)
                if other is not name:
                    raise Unsayable(f"{name} shares memory with {other}")


def _tensors(value: object) -> Iterator[torch.Tensor]:
    if isinstance(value, torch.Tensor):
        yield value
    elif isinstance(value, list | tuple):
        for item in value:
            yield from _tensors(item)


def _value(value: object, names: Mapping[str, object]) -> str:
    if isinstance(value, enum.Enum) and isinstance(value, int | str):
        value = value.value  # equal to it
    if value is None or isinstance(value, bool | str):
        return repr(value)
    if type(value) in (int, float):
        return repr(value)
    if isinstance(value, torch.dtype) and value in _NAMES:
        return _NAMES[value]
    if isinstance(value, torch.Tensor):
        return generator_of(value)
    if type(value) in (list, tuple, torch.Size):
        items = ", ".join(_value(item, names) for item in value)  # type: ignore[attr-defined]
        return f"[{items}]" if isinstance(value, list) else f"({items}{',' * (len(value) == 1)})"  # type: ignore[arg-type]
    if type(value) is SimpleNamespace and _is_data(value, NONE):
        return f"{NAMESPACE}({', '.join(f'{name}={_value(one, NONE)}' for name, one in vars(value).items())})"
    if names.get(type(value).__name__) is type(value):
        return _object(value, names)
    raise Unsayable(f"is a {type(value).__name__}")


def _object(value: object, names: Mapping[str, object]) -> str:
    """What makes an object such as this one: a configuration, of which only what differs from its defaults is said."""
    cls = type(value)
    parameters = _parameters(cls)
    any_name = any(one.kind is one.VAR_KEYWORD for one in parameters.values())
    held = {name: one for name, one in getattr(value, "__dict__", {}).items() if not name.startswith("_")}
    if isinstance(value, torch.nn.Module) or not all(_is_data(one, names) for one in held.values()):
        raise Unsayable(f"is a {cls.__name__}")  # and none is made to find out: that may draw numbers, or open files
    usual = _attributes(cls, {}) or {name: one.default for name, one in parameters.items()}
    given = {
        name: one
        for name, one in held.items()
        if (name in parameters or any_name) and not (name in usual and _equal(one, usual[name]))
    }
    again = _attributes(cls, given)
    if not again or not all(name in again and _equal(one, again[name]) for name, one in held.items()):
        raise Unsayable(f"is a {cls.__name__}")
    return f"{cls.__name__}({', '.join(f'{name}={_value(one, names)}' for name, one in given.items())})"


def _is_data(value: object, names: Mapping[str, object]) -> bool:
    """Whether it is made of numbers, strings, flags and dtypes, also in an object of these classes."""
    if isinstance(value, dict):
        return all(_is_data(one, names) for pair in value.items() for one in pair)
    if isinstance(value, list | tuple | set | frozenset):
        return all(_is_data(one, names) for one in value)
    if type(value) is SimpleNamespace or names.get(type(value).__name__) is type(value):
        return _is_data(vars(value), names) if hasattr(value, "__dict__") else False
    return value is None or isinstance(value, bool | int | float | str | enum.Enum | torch.dtype)


def _parameters(cls: type) -> Mapping[str, inspect.Parameter]:
    try:
        return inspect.signature(cls).parameters
    except (TypeError, ValueError):
        return NONE


def _attributes(cls: type, given: Mapping[str, object]) -> Mapping[str, object]:
    """Those of the object that the class makes of these arguments; none where it makes none."""
    try:
        return vars(cls(**given))
    except Exception:  # noqa: BLE001  (the class is the user's)
        return NONE


def _equal(one: object, other: object) -> bool:
    try:
        return type(one) is type(other) and bool(one == other)
    except Exception:  # noqa: BLE001  (what compares them is the user's)
        return False


_PLAIN = (torch.Tensor, torch.nn.Parameter)


def generator_of(tensor: torch.Tensor) -> str:
    """Write a tensor as its generator, with dtype and layout. Raises Unsayable."""
    if type(tensor) not in _PLAIN or tensor.layout is not torch.strided or tensor.is_meta:
        raise Unsayable("is no ordinary tensor")
    if tensor.dtype not in _NAMES:
        raise Unsayable(f"has the dtype {tensor.dtype}")
    name = _NAMES[tensor.dtype]
    with torch.no_grad():
        generator, parts = _contents(tensor.detach())
    usual = "int64" if generator in ("randint", "randperm", "offsets") else None
    if generator in ("arange", "tensor"):
        usual = "bool" if tensor.dtype is torch.bool else "int64"
    parts += [f"dtype={name}"] if name != (usual or "float32") else []
    parts += _layout(tensor)
    parts += ["requires_grad=True"] if tensor.requires_grad else []
    return f"{generator}({', '.join(parts)})"


def _contents(tensor: torch.Tensor) -> tuple[str, list[str]]:
    """The generator that makes such contents, and what comes before its options."""
    sizes = [str(size) for size in tensor.shape]
    if not tensor.numel():
        return "zeros", sizes
    if tensor.is_complex():
        return "randn", sizes
    if not tensor.is_floating_point():
        return _whole(tensor, sizes)
    wide = tensor if tensor.dtype.itemsize > 1 else tensor.float()
    if wide.isnan().any():
        return "out", sizes  # memory that nobody has written to
    low, high = (float(bound) for bound in wide.aminmax())
    if low == high:
        return _constant(low, tensor.shape, sizes)
    return ("rand" if low >= 0.0 else "randn"), sizes


def _constant(value: float, shape: torch.Size, sizes: list[str]) -> tuple[str, list[str]]:
    if value in (0, 1):
        return ("ones" if value else "zeros"), sizes
    if not math.isfinite(value):
        raise Unsayable("holds infinities only")
    return "full", [repr(tuple(shape)), repr(value)]


def _whole(tensor: torch.Tensor, sizes: list[str]) -> tuple[str, list[str]]:
    """By their order and range; few numbers, and few offsets, which rise, as they are."""
    numbers = tensor.long() if tensor.dtype is not torch.uint64 else tensor
    low, high = int(numbers.min()), int(numbers.max())
    if _ADDRESSES[0] <= low and high < _ADDRESSES[1]:
        raise Unsayable("holds addresses of memory")
    if low == high and (numbers.numel() > 1 or low in (0, 1)):
        return _constant(low, tensor.shape, sizes)
    if numbers.dim() == 1 and numbers.numel() > 1:
        steps = numbers.diff()
        step = int(steps[0])
        if bool((steps == step).all()) and step:
            start, end = int(numbers[0]), int(numbers[-1]) + step
            return "arange", [str(end)] if (start, step) == (0, 1) else [str(start), str(end), str(step)]
        if bool((steps >= 0).all()):
            if numbers.numel() <= _MOST_RISING:
                return "tensor", [repr(numbers.tolist())]
            if low == 0 and tensor.dtype is not torch.bool:
                return "offsets", [*sizes, str(high)]
        if low == 0 and high == numbers.numel() - 1 and numbers.unique().numel() == numbers.numel():
            return "randperm", sizes
    if numbers.numel() <= _FEW and tensor.dtype is not torch.bool:
        return "tensor", [repr(numbers.tolist())]
    return "randint", [str(low), str(high + 1), *sizes]


def _layout(tensor: torch.Tensor) -> list[str]:
    if tensor.is_contiguous():
        return []
    if tensor.dim() >= 2 and tensor.transpose(-1, -2).is_contiguous():
        return ["layout=transposed"]
    formats = {4: torch.channels_last, 5: torch.channels_last_3d}
    if tensor.dim() in formats and tensor.is_contiguous(memory_format=formats[tensor.dim()]):
        return ["layout=channels_last"]
    return [f"strides={tensor.stride()!r}"]


def grid_of(grid: Any, ways: Sequence[Mapping[str, object]]) -> str:
    """The programs of a launch, `(8,)`; a grid that is a function is asked. Raises Unsayable.

    `ways` are the arguments as a tuner may choose them: the programs are as many as the smallest blocks need.
    """
    try:
        asked = [grid(dict(named)) if callable(grid) else grid for named in ways]
    except KeyError as missing:
        raise Unsayable(f"the grid needs {missing.args[0]}, which is not known before it runs") from None
    found = [(one if isinstance(one, tuple | list) else (one,)) for one in asked]
    whole = [max(map(int, sizes)) for sizes in itertools.islice(zip(*found, strict=True), 3)]
    while len(whole) > 1 and whole[-1] == 1:
        whole.pop()
    return f"({', '.join(map(str, whole))}{',' * (len(whole) == 1)})"
