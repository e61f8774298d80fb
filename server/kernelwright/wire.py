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
        return encode(value.value)
    if isinstance(value, float) and not math.isfinite(value):
        return {_FLOAT: repr(value)}
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, tuple | list | frozenset):
        return [encode(item) for item in value]
    kind: type = type(value)
    names = _names(kind)
    if names is not None:
        return {_KIND: kind.__name__, **{name: encode(getattr(value, name)) for name in names}}
    if isinstance(value, Mapping):
        return {str(key): encode(item) for key, item in value.items()}
    raise TypeError(f"cannot send a {type(value).__name__} between processes")


def encode_object(value: object) -> dict[str, Json]:
    """The JSON object of a dataclass or a mapping, for callers that add keys to it. Raises TypeError for anything else."""
    data = encode(value)
    if not isinstance(data, dict):
        raise TypeError(f"a {type(value).__name__} is no JSON object")
    return data


def decode(expected: typing.Any, data: Json) -> typing.Any:
    """The value of type `expected` (a dataclass, a union of them, a scalar, a tuple, …) that `data` describes.

    Fields that are missing take their default and unknown ones are ignored, so that a journal written by another
    version can be read. Raises NotDecodable otherwise.
    """
    if isinstance(data, dict) and _FLOAT in data:
        return float(typing.cast(str, data[_FLOAT]))
    return _decoder(expected)(data)


Decoder = typing.Callable[[Json], typing.Any]


@functools.cache
def _names(kind: type) -> tuple[str, ...] | None:
    """The fields of a dataclass, None for any other class."""
    return tuple(f.name for f in dataclasses.fields(kind)) if dataclasses.is_dataclass(kind) else None


@functools.cache
def _decoder(expected: typing.Any) -> Decoder:
    """What `decode` does for one type, looked up once: the parts of a type that names itself are looked up when met."""
    if isinstance(expected, typing.TypeAliasType if hasattr(typing, "TypeAliasType") else ()):
        return _decoder(expected.__value__)
    origin, arguments = typing.get_origin(expected), typing.get_args(expected)
    if expected is typing.Any or expected is object:
        return _anything
    if origin in (typing.Union, types.UnionType):
        return functools.partial(_decode_union, arguments, _by_name(arguments))
    if origin is tuple:
        return functools.partial(_decode_tuple, arguments)
    if origin is not None and issubclass(origin, Mapping):
        return functools.partial(_decode_mapping, arguments[1])
    if isinstance(expected, type) and issubclass(expected, Enum):
        return expected
    if isinstance(expected, type) and dataclasses.is_dataclass(expected):
        return functools.partial(_decode_dataclass, expected)
    if expected is type(None) or expected is None:
        return _null
    return functools.partial(_decode_scalar, expected)


def _anything(data: Json) -> object:
    return tuple(decode(object, item) for item in data) if isinstance(data, list) else data


def _null(data: Json) -> None:
    if data is not None:
        raise NotDecodable(f"expected null, got {data!r}")


def _decode_scalar(expected: typing.Any, data: Json) -> object:
    if expected is float and isinstance(data, int) and not isinstance(data, bool):
        return float(data)
    if isinstance(expected, type) and isinstance(data, expected):
        if isinstance(data, bool) and expected is not bool:
            raise NotDecodable(f"expected {expected.__name__}, got {data!r}")
        return data
    raise NotDecodable(f"expected {expected!r}, got {data!r}")


def _decode_mapping(value_type: typing.Any, data: Json) -> dict[str, object]:
    if not isinstance(data, dict):
        raise NotDecodable(f"expected a mapping, got {data!r}")
    return {key: decode(value_type, item) for key, item in data.items()}


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


def _by_name(members: tuple[typing.Any, ...]) -> Mapping[str, typing.Any]:
    """The dataclasses among the members of a union: what data that name their class can be."""
    return {member.__name__: member for member in members if isinstance(member, type) and _names(member) is not None}


def _decode_union(members: tuple[typing.Any, ...], named: Mapping[str, typing.Any], data: Json) -> object:
    kind = named.get(str(data.get(_KIND))) if isinstance(data, dict) else None
    for member in members if kind is None else (kind,):
        try:
            return decode(_resolve(member), data)
        except (NotDecodable, ValueError):
            continue
    raise NotDecodable(f"{data!r} is none of {members!r}")


def _decode_tuple(arguments: tuple[typing.Any, ...], data: Json) -> tuple[object, ...]:
    if not isinstance(data, list):
        raise NotDecodable(f"expected a list, got {data!r}")
    if len(arguments) == 2 and arguments[1] is Ellipsis:
        kind = _resolve(arguments[0])
        return tuple(decode(kind, item) for item in data)
    if len(arguments) != len(data):
        raise NotDecodable(f"expected {len(arguments)} items, got {len(data)}")
    return tuple(decode(_resolve(kind), item) for kind, item in zip(arguments, data, strict=True))


def _resolve(member: typing.Any) -> typing.Any:
    """The recursive alias of graph arguments names itself as a forward reference inside its own tuple."""
    if isinstance(member, str | typing.ForwardRef):
        from kernelwright.values import graph

        return getattr(graph, member if isinstance(member, str) else member.__forward_arg__)
    return member
