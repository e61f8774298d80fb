"""Values to JSON and back, for the pipe between processes and for the journal. Standard library only."""

import dataclasses
import functools
import math
import types
import typing
from collections.abc import Mapping
from enum import Enum

Json = None | bool | int | float | str | list["Json"] | dict[str, "Json"]

_KIND = "$"  # the key that names the class of a dataclass
_FLOAT = "$float"  # JSON has no nan or inf


class NotDecodable(ValueError):
    """The JSON does not describe a value of the expected type."""


def encode(value: object) -> Json:
    """JSON data for a tree of dataclasses, enums, tuples, mappings and scalars. Raises TypeError for anything else."""
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, float) and not math.isfinite(value):
        return {_FLOAT: repr(value)}
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        fields = {f.name: encode(getattr(value, f.name)) for f in dataclasses.fields(value)}
        return {_KIND: type(value).__name__, **fields}
    if isinstance(value, tuple | list | frozenset):
        return [encode(item) for item in value]
    if isinstance(value, Mapping):
        return {str(key): encode(item) for key, item in value.items()}
    raise TypeError(f"cannot send a {type(value).__name__} between processes")


def decode(expected: typing.Any, data: Json) -> typing.Any:
    """The value of type `expected` (a dataclass, a union of them, a scalar, a tuple, …) that `data` describes.

    Fields that are missing take their default and unknown ones are ignored, so that a journal written by another
    version can be read. Raises NotDecodable otherwise.
    """
    if isinstance(data, dict) and _FLOAT in data:
        return float(typing.cast(str, data[_FLOAT]))
    if isinstance(expected, typing.TypeAliasType if hasattr(typing, "TypeAliasType") else ()):
        return decode(expected.__value__, data)
    origin = typing.get_origin(expected)
    if expected is typing.Any or expected is object:
        return tuple(decode(object, item) for item in data) if isinstance(data, list) else data
    if origin in (typing.Union, types.UnionType):
        return _decode_union(typing.get_args(expected), data)
    if origin is tuple:
        return _decode_tuple(typing.get_args(expected), data)
    if origin is not None and issubclass(origin, Mapping):
        if not isinstance(data, dict):
            raise NotDecodable(f"expected a mapping, got {data!r}")
        value_type = typing.get_args(expected)[1]
        return {key: decode(value_type, item) for key, item in data.items()}
    if isinstance(expected, type) and issubclass(expected, Enum):
        return expected(data)
    if dataclasses.is_dataclass(expected):
        return _decode_dataclass(expected, data)
    if expected is float and isinstance(data, int) and not isinstance(data, bool):
        return float(data)
    if expected is type(None) or expected is None:
        if data is None:
            return None
        raise NotDecodable(f"expected null, got {data!r}")
    if isinstance(expected, type) and isinstance(data, expected):
        if isinstance(data, bool) and expected is not bool:
            raise NotDecodable(f"expected {expected.__name__}, got {data!r}")
        return data
    raise NotDecodable(f"expected {expected!r}, got {data!r}")


def _decode_dataclass(expected: type, data: Json) -> object:
    if not isinstance(data, dict) or data.get(_KIND, expected.__name__) != expected.__name__:
        raise NotDecodable(f"expected a {expected.__name__}, got {data!r}")
    hints = _hints(expected)
    known = {name: decode(hint, data[name]) for name, hint in hints.items() if name in data}
    try:
        return expected(**known)
    except TypeError as error:
        raise NotDecodable(f"{expected.__name__}: {error}") from error


@functools.cache
def _hints(expected: type) -> dict[str, typing.Any]:
    hints = typing.get_type_hints(expected)
    return {f.name: hints[f.name] for f in dataclasses.fields(expected)}


def _decode_union(members: tuple[typing.Any, ...], data: Json) -> object:
    for member in members:
        try:
            return decode(_resolve(member), data)
        except (NotDecodable, ValueError):
            continue
    raise NotDecodable(f"{data!r} is none of {members!r}")


def _decode_tuple(arguments: tuple[typing.Any, ...], data: Json) -> tuple[object, ...]:
    if not isinstance(data, list):
        raise NotDecodable(f"expected a list, got {data!r}")
    if len(arguments) == 2 and arguments[1] is Ellipsis:
        return tuple(decode(_resolve(arguments[0]), item) for item in data)
    if len(arguments) != len(data):
        raise NotDecodable(f"expected {len(arguments)} items, got {len(data)}")
    return tuple(decode(_resolve(kind), item) for kind, item in zip(arguments, data, strict=True))


def _resolve(member: typing.Any) -> typing.Any:
    """The recursive alias of graph arguments names itself as a forward reference inside its own tuple."""
    if isinstance(member, str | typing.ForwardRef):
        from kernelwright.values import graph

        return getattr(graph, member if isinstance(member, str) else member.__forward_arg__)
    return member
