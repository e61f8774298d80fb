"""The types of parameters that a workload line can give a value for, by how a text writes them."""

import re
from collections.abc import Mapping
from typing import Protocol

from kernelwright.source.cuda.definitions import Parameter

DTYPES = {
    "float": "",
    "double": "float64",
    "half": "float16",
    "__half": "float16",
    "__nv_bfloat16": "bfloat16",
    "nv_bfloat16": "bfloat16",
    "int": "int32",
    "int32_t": "int32",
    "unsigned": "int32",
    "unsigned int": "int32",
    "uint32_t": "int32",
    "uint": "int32",
    "long": "int64",
    "unsigned long": "int64",
    "ulong": "int64",
    "size_t": "int64",
    "uint64_t": "int64",
    "long long": "int64",
    "int64_t": "int64",
    "unsigned long long": "int64",
    "short": "int16",
    "unsigned short": "int16",
    "ushort": "int16",
    "uint16_t": "int16",
    "int16_t": "int16",
    "char": "int8",
    "signed char": "int8",
    "int8_t": "int8",
    "unsigned char": "uint8",
    "uchar": "uint8",
    "uint8_t": "uint8",
    "bool": "bool",
}
"""The dtypes of tensors by what a pointer points to; "" is the usual one."""

VECTOR = re.compile(r"(float|double|half|int|uint|char|uchar|short)([234])$")
WHOLE = re.compile(
    r"^(?:unsigned|signed|long|short|int|uint|ushort|ulong|size_t|ptrdiff_t|u?int\d+_t|char)(?:\s+\w+)*$"
)
UNSIGNED = re.compile(r"u|size_t")
"""How types begin whose numbers are never below zero."""
ARRAY = re.compile(r"kw_array<([\w ]+), (\d+)>$")
"""How an array of numbers in a structure is written where its fields stand for themselves."""
ENUM = re.compile(r"kw_enum<(-?\d+)>$")
"""How an enumeration is told among the other names of types: by the number of its first name."""
_FLOATING = ("float", "double", "half", "__half", "__nv_bfloat16", "nv_bfloat16")
_NAME = re.compile(r"[A-Za-z_]\w*$")


class Definitions(Protocol):
    """What a text says of types."""

    @property
    def aliases(self) -> Mapping[str, str]: ...


def dtype_of(file: Definitions, base: str) -> str | None:
    """The type behind a pointer as `DTYPES` or `VECTOR` has it; None for one that the file does not say."""
    base = file.aliases.get(base, base)
    return base if base in DTYPES or VECTOR.match(base) else None


def is_known(file: Definitions, parameter: Parameter) -> bool:
    """Whether a workload line can give a value: a number, some numbers, or a tensor.

    A pointer to what another file names may point to numbers, so that this is for a trial to say.
    """
    base = file.aliases.get(parameter.base, parameter.base)
    if parameter.is_pointer:
        return parameter.pointers == 1 and (dtype_of(file, base) is not None or _NAME.match(base) is not None)
    if parameter.is_reference and not parameter.is_const:
        return False
    several = VECTOR.match(base) or ARRAY.match(base) or ENUM.match(base)
    return is_number(base) or bool(several) or base in ("bool", "dim3", "cudaStream_t")


def is_number(base: str) -> bool:
    return bool(WHOLE.match(base)) or base in _FLOATING
