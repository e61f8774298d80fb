"""Texts and values as the journal keeps them."""

import json
import typing
import zlib

from kernelwright import wire

NOT_A_TEXT = (zlib.error, TypeError, UnicodeDecodeError)  # what `unpack` raises for anything that `pack` has not made


def pack(text: str) -> bytes:
    """Surrogates pass, as in `values.digest`: a file that is not UTF-8 must not cost its history."""
    return zlib.compress(text.encode("utf-8", "surrogatepass"), 6)


def unpack(body: bytes) -> str:
    return zlib.decompress(body).decode("utf-8", "surrogatepass")


def to_json(value: object) -> str:
    return json.dumps(wire.encode(value), separators=(",", ":"))


def from_json(expected: typing.Any, text: str) -> typing.Any:
    """Raises wire.NotDecodable or ValueError for what this version cannot read."""
    return wire.decode(expected, json.loads(text))
