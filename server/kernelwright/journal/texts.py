"""Texts and values as the journal keeps them."""

import json
import typing
import zlib

from kernelwright import wire
from kernelwright.values.plain import plain_json

NOT_A_TEXT = (zlib.error, TypeError, UnicodeDecodeError)  # what `unpack` raises for anything that `pack` has not made


def pack(text: str) -> bytes:
    """Surrogates pass, as in `values.digest`: a file that is not UTF-8 must not cost its history."""
    return zlib.compress(text.encode("utf-8", "surrogatepass"), 6)


def unpack(body: bytes) -> str:
    return zlib.decompress(body).decode("utf-8", "surrogatepass")


def to_json(value: object) -> str:
    return json.dumps(wire.encode(value), separators=(",", ":"))


def from_json(expected: typing.Any, text: str) -> typing.Any:
    """The value, with plain words: a workspace from elsewhere may bring its journal. Raises wire.NotDecodable or ValueError."""
    return wire.decode(expected, plain_json(json.loads(text)))
