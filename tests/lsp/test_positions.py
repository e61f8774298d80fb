"""Offsets and positions agree in every encoding, with astral and combining characters and every line ending."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lsprotocol.types import Position, PositionEncodingKind

from kernelwright.lsp.positions import lines, units

UTF8, UTF16, UTF32 = PositionEncodingKind.Utf8, PositionEncodingKind.Utf16, PositionEncodingKind.Utf32
ENCODINGS = [UTF8, UTF16, UTF32]

TEXTS = st.text(st.sampled_from("ab\t äé\u0301€𝛼😋\x0c\u2028\r\n\n"), max_size=40).map(
    lambda t: t.replace("\r", "\r\n")
)


@pytest.mark.parametrize(("encoding", "expected"), [(UTF8, 7), (UTF16, 5), (UTF32, 4)])
def test_a_column_after_an_astral_character(encoding: PositionEncodingKind, expected: int) -> None:
    text = 'x="😋"'
    assert lines(text).position(4, encoding) == Position(0, expected)
    assert lines(text).offset(Position(0, expected), encoding) == 4


def test_form_feeds_and_unicode_separators_do_not_end_a_line() -> None:
    assert len(lines("a\x0cb\u2028c\x85d").starts) == 1
    assert len(lines("a\nb\r\nc\rd").starts) == 4


def test_past_the_end_of_a_line_is_its_end() -> None:
    assert lines("ab\r\ncd").offset(Position(0, 99), UTF16) == 2
    assert lines("ab\r\ncd").offset(Position(7, 0), UTF16) == 6


def test_inside_a_character_is_its_start() -> None:
    assert lines("😋x").offset(Position(0, 1), UTF16) == 0
    assert lines("äx").offset(Position(0, 1), UTF8) == 0


@given(text=TEXTS, encoding=st.sampled_from(ENCODINGS), data=st.data())
def test_there_and_back(text: str, encoding: PositionEncodingKind, data: st.DataObject) -> None:
    offset = data.draw(st.integers(0, len(text)))
    index = lines(text)
    back = index.offset(index.position(offset, encoding), encoding)
    inside_crlf = text[offset - 1 : offset + 1] == "\r\n" and offset > 0
    assert back == (offset - 1 if inside_crlf else offset)


@given(text=TEXTS)
def test_units_are_what_the_codecs_say(text: str) -> None:
    assert units(text, UTF8) == len(text.encode())
    assert units(text, UTF16) == len(text.encode("utf-16-le")) // 2
    assert units(text, UTF32) == len(text)


@given(text=TEXTS, encoding=st.sampled_from(ENCODINGS))
def test_lines_add_up_to_the_text(text: str, encoding: PositionEncodingKind) -> None:
    index = lines(text)
    ends = (*index.starts[1:], len(text))
    assert "".join(text[start:end] for start, end in zip(index.starts, ends, strict=True)) == text
    assert all("\n" not in index.line(number) for number in range(len(index.starts)))


@given(text=TEXTS, new=TEXTS, data=st.data())
def test_a_changed_text_has_the_lines_of_one_never_seen(text: str, new: str, data: st.DataObject) -> None:
    start = data.draw(st.integers(0, len(text)))
    end = data.draw(st.integers(start, len(text)))
    assert lines(text).replaced(start, end, new) == lines(text[:start] + new + text[end:])
