"""What a call of CUDA code is given, beside what its parameters take: tensors become addresses, numbers C's numbers."""

import ctypes
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch

_NUMBERS: dict[str, Any] = {
    **{f"int{bits}": getattr(ctypes, f"c_int{bits}") for bits in (8, 16, 32, 64)},
    **{f"uint{bits}": getattr(ctypes, f"c_uint{bits}") for bits in (8, 16, 32, 64)},
    "float32": ctypes.c_float,
    "float64": ctypes.c_double,
    "bool": ctypes.c_bool,
}
_ALIGNED = 64
_NARROW = {"float16": torch.float16, "bfloat16": torch.bfloat16}
_BYTES = ("int8", "uint8", "bool")
_ALSO = {  # the dtypes of tensors, beside the one of the same name
    **dict.fromkeys(_BYTES[:2], _BYTES),
    "int16": ("uint16",),
    "uint16": ("int16",),
    "int32": ("uint32",),
    "uint32": ("int32",),
    "int64": ("uint64",),
    "uint64": ("int64",),
    "float32x2": ("complex64",),
    "float64x2": ("complex128",),
    "struct8": ("complex64",),
    "struct16": ("complex128",),
}
_SAID = {
    "float32": "float",
    "float64": "double",
    "float16": "half",
    "bfloat16": "__nv_bfloat16",
    "int8": "char",
    "uint8": "unsigned char",
    "int16": "short",
    "uint16": "unsigned short",
    "int32": "int",
    "uint32": "unsigned int",
    "int64": "long long",
    "uint64": "unsigned long long",
}


@dataclass(frozen=True)
class Taken:
    """One parameter: its name, its type by the compiler's word, and a default that is a number."""

    name: str
    type: str
    default: float | None = None
    layout: "Layout | None" = None

    @property
    def is_pointer(self) -> bool:
        return "*" in self.type

    @property
    def element(self) -> str:
        return self.type.partition("*")[2]


@dataclass(frozen=True)
class Layout:
    """How a structure lies in memory: the bytes of one that nobody has written to, and its fields with their offsets."""

    initial: bytes
    fields: tuple[tuple[int, Taken], ...]
    optional: frozenset[str] = frozenset()  # the fields that the structure gives a value itself


@dataclass(frozen=True)
class Passed:
    """A tensor that is passed, and the parameter that it is passed to."""

    taken: Taken
    tensor: torch.Tensor

    @property
    def start(self) -> int:
        return self.tensor.data_ptr()

    @property
    def bytes(self) -> int:
        return self.tensor.numel() * self.tensor.element_size()


@dataclass(frozen=True)
class Structure:
    """A structure that is passed by value: what goes to which of its bytes."""

    initial: bytes
    parts: tuple[tuple[int, Any], ...]

    def made(self, placed: Callable[[Any], Any]) -> Any:
        """Its memory, aligned for any type, with each part as `placed` has it."""
        size = len(self.initial)
        room = (ctypes.c_char * (size + _ALIGNED))()
        memory = (ctypes.c_char * size).from_buffer(room, -ctypes.addressof(room) % _ALIGNED)
        memory.raw = self.initial
        for offset, part in self.parts:
            value = placed(part)
            ctypes.memmove(ctypes.addressof(memory) + offset, ctypes.addressof(value), ctypes.sizeof(value))
        return memory


def tensors_of(values: Sequence[Any]) -> list[Passed]:
    """The tensors among what is passed, those in structures too."""
    parts = (part for one in values for part in ([p for _, p in one.parts] if isinstance(one, Structure) else [one]))
    return [one for one in parts if isinstance(one, Passed)]


def layouts_of(said: str, optional: Mapping[tuple[int, int], frozenset[str]]) -> dict[tuple[int, int], Layout]:
    """The structures that a library tells of (see entries.h), by the number of an entry and the place of a parameter."""
    found = {}
    for line in said.splitlines():
        entry, place, initial, *fields = line.split(" ")
        parts = [re.fullmatch(r"(.+)@(\d+)=(.*)", one) for one in fields]
        taken = tuple((int(part[2]), Taken(part[1], part[3])) for part in parts if part is not None)
        key = int(entry), int(place)
        found[key] = Layout(bytes.fromhex(initial), taken, optional.get(key, frozenset()))
    return found


def bound(entry: str, takes: Sequence[Taken], args: Sequence[Any], kwargs: Mapping[str, Any]) -> list[Any]:
    """One value for each parameter. Raises TypeError."""
    names = [taken.name for taken in takes]
    listed = f"{entry}({', '.join(names)})"
    if len(args) > len(takes):
        raise TypeError(f"{listed} takes {_count(len(takes))}, and {len(args)} are given")
    values = dict(zip(names, args, strict=False))
    for name, value in kwargs.items():
        if name not in names:
            raise TypeError(f"{listed} has no parameter {name}")
        if name in values:
            raise TypeError(f"{listed} is given {name} twice")
        values[name] = value
    for taken in takes:
        if taken.name not in values and (taken.default is not None or taken.type == "stream"):
            values[taken.name] = taken.default
    missing = [name for name in names if name not in values]
    if missing:
        raise TypeError(f"{listed} is not given {', '.join(missing)}")
    return [values[name] for name in names]


def checked(entry: str, taken: Taken, value: Any, device: str) -> Passed | Any:
    """The value as C takes it: a Passed tensor, or a number of ctypes. Raises TypeError with one sentence."""
    at = f"{taken.name} of {entry}"
    if taken.type == "stream":
        if value not in (None, 0):
            raise TypeError(f"{at} is a stream: leave it out, and the current one is taken")
        return None
    if taken.layout is not None:
        return _structure(entry, taken, taken.layout, value, device)
    if taken.is_pointer:
        return _pointed(at, taken, value, device)
    if isinstance(value, torch.Tensor):
        raise TypeError(f"{at} is a number ({_said(taken.type)}), and a tensor is given")
    if taken.type in _NARROW:
        bits = torch.tensor(_number(at, value), dtype=_NARROW[taken.type]).view(torch.int16).item()
        return ctypes.c_int16(bits)
    element, _, count = taken.type.partition("x")
    if count and element in _NUMBERS:
        return _vector(at, taken, element, int(count), value)
    if taken.type not in _NUMBERS:
        what = "a structure whose fields this file does not say" if taken.type.startswith("struct") else "no number"
        raise TypeError(f"{at} is {what}, so that no workload line can give it")
    number = _number(at, value)
    if taken.type.startswith(("int", "uint")):
        return _whole(at, taken, number)
    return _NUMBERS[taken.type](number)


def result_type(said: str) -> Any:
    """The type of ctypes that a function returns; None for void, and for what is no number."""
    return _NUMBERS.get(said)


def _pointed(at: str, taken: Taken, value: Any, device: str) -> Passed | Any:
    if value is None:
        return ctypes.c_void_p(None)
    if not isinstance(value, torch.Tensor):
        raise TypeError(f"{at} is a pointer, and {value!r} is given: write a tensor such as randn(n)")
    element, _, count = taken.element.partition("x")
    dtype = str(value.dtype).removeprefix("torch.")
    if element != "void" and dtype not in (element, *_ALSO.get(element, ()), *_ALSO.get(taken.element, ())):
        raise TypeError(f"{at} points to {_said(taken.element)}, and a tensor of {dtype} is given")
    if value.layout is not torch.strided or not value.is_contiguous():
        raise TypeError(f"{at} is given a tensor that is not contiguous: its elements must lie one after the other")
    if count and not value.is_complex() and value.numel() % int(count):
        raise TypeError(
            f"{at} points to {_said(taken.element)}, and {value.numel()} elements are no multiple of {count}"
        )
    if value.device.type != device:
        raise TypeError(f"{at} is given a tensor on {value.device.type}")
    return Passed(taken, value)


def _structure(entry: str, taken: Taken, layout: Layout, value: Any, device: str) -> Structure:
    if not isinstance(value, dict):
        fields = ", ".join([*dict.fromkeys(f"{one.name.partition('.')[0]}=…" for _, one in layout.fields)][:3])
        raise TypeError(f"{taken.name} of {entry} is a structure: write struct({fields})")
    given = dict(_flat(value))
    known = {one.name for _, one in layout.fields}
    unknown = next((name for name in given if name not in known), None)
    if unknown is not None:
        raise TypeError(f"{taken.name} of {entry} has no field {unknown}")
    missing = [name for name in known - given.keys() if name not in layout.optional]
    if missing:
        raise TypeError(f"{taken.name} of {entry} is not given {', '.join(sorted(missing))}")
    named = ((offset, Taken(f"{taken.name}.{one.name}", one.type), one.name) for offset, one in layout.fields)
    parts = [(offset, checked(entry, one, given[name], device)) for offset, one, name in named if name in given]
    return Structure(layout.initial, tuple(parts))


def _flat(value: Mapping[str, Any], before: str = "") -> Iterator[tuple[str, Any]]:
    for name, one in value.items():
        if isinstance(one, dict):
            yield from _flat(one, f"{before}{name}.")
        else:
            yield f"{before}{name}", one


def _vector(at: str, taken: Taken, element: str, count: int, value: Any) -> Any:
    if not isinstance(value, list | tuple) or len(value) != count:
        raise TypeError(
            f"{at} is {_said(taken.type)}, so {count} numbers are given for it: ({', '.join(['1'] * count)})"
        )
    whole = element.startswith(("int", "uint"))
    one = Taken(taken.name, element)
    numbers = [_whole(at, one, _number(at, each)).value if whole else _number(at, each) for each in value]
    return (_NUMBERS[element] * count)(*numbers)


def _number(at: str, value: Any) -> Any:
    if isinstance(value, bool | int | float):
        return value
    raise TypeError(f"{at} is a number, and {type(value).__name__} is given")


def _whole(at: str, taken: Taken, number: Any) -> Any:
    if isinstance(number, float) and not number.is_integer():
        raise TypeError(f"{at} is a whole number ({_said(taken.type)}), and {number} is given")
    made = _NUMBERS[taken.type](int(number))
    if made.value != int(number):
        raise TypeError(f"{at} is {_said(taken.type)}, which {int(number)} does not fit into")
    return made


def _said(kind: str) -> str:
    element, _, count = kind.partition("x")
    said = _SAID.get(element, element)
    return f"{said}{count}" if count else said


def _count(number: int) -> str:
    return f"{number} argument{'' if number == 1 else 's'}"
