"""Two files as one text: what was joined comes apart again, also after Python has written it anew."""

import ast

import pytest

from kernelwright.values import (
    digest,
    files_of,
    first_page,
    in_files,
    is_joined,
    joined,
    page_around,
    page_names,
    pages,
    with_pages_of,
)

KERNELS = "def kernel(x):\n    return x\n"
LAYERS = (
    "from __future__ import annotations\n\nfrom .kernels import kernel\n\n\ndef layer(x):\n    return kernel[1](x)\n"
)


def whole(first: str = KERNELS, second: str = LAYERS, name: str = "layers.py") -> str:
    text = joined(first, name, second)
    assert text is not None
    return text


@pytest.mark.parametrize("first", [KERNELS, KERNELS.rstrip(), KERNELS + "\n\n", KERNELS.replace("\n", "\r\n"), ""])
@pytest.mark.parametrize("second", [LAYERS, LAYERS.rstrip(), "\n" + LAYERS, LAYERS.replace("\n", "\r\n"), ""])
@pytest.mark.parametrize("name", ["layers.py", "../a b/layers-2.py"])
def test_joined_texts_come_apart(first: str, second: str, name: str) -> None:
    text = whole(first, second, name)
    one, other = pages(text)
    assert (one.name, one.text, one.line) == ("", first, 0)
    assert (other.name, other.text) == (name, second)
    assert is_joined(text)
    lines = text.split("\n")
    assert "\n".join(lines[other.line :]) == second
    assert text.startswith(first)


def test_a_text_that_was_not_joined_is_one_page() -> None:
    assert [(page.name, page.text) for page in pages(KERNELS)] == [("", KERNELS)]
    assert not is_joined(KERNELS)


def test_parsed_and_written_again_it_has_its_pages() -> None:
    text = ast.unparse(ast.parse(whole()))
    assert page_names(text) == ("", "layers.py")
    assert pages(text)[1].text.lstrip().startswith("from __future__")


@pytest.mark.parametrize("name", ["it's.py", 'a"b.py', "new\nline.py", ""])
def test_a_path_that_could_be_read_otherwise_is_not_joined(name: str) -> None:
    assert joined(KERNELS, name, LAYERS) is None


def test_a_text_that_holds_a_border_is_not_joined_again() -> None:
    assert joined(whole(), "other.py", LAYERS) is None
    assert joined(KERNELS, "other.py", whole()) is None


def test_the_hash_tells_both_pages() -> None:
    assert (
        len({digest(one) for one in (whole(), whole(KERNELS + "#"), whole(second=LAYERS + "#"), whole(name="l.py"))})
        == 4
    )


def test_as_many_pages_as_another_text() -> None:
    other = whole("old\n", "launcher\n")
    assert with_pages_of(KERNELS, other) == whole(KERNELS, "launcher\n")
    assert with_pages_of(other, KERNELS) == first_page(other) == "old\n"
    assert with_pages_of(other, whole()) == other
    assert with_pages_of(KERNELS, "one\n") == KERNELS


def test_lines_are_told_as_those_of_the_files() -> None:
    text = whole()
    at = pages(text)[1].line
    said = f"It is launched from several places (lines 2, {at + 7}), see line {at + 1} and line 1."
    assert in_files(said, text) == (
        "It is launched from several places (lines 2, 7 of layers.py), see line 1 of layers.py and line 1."
    )
    assert in_files(said, KERNELS) == said


def test_the_files_of_a_text() -> None:
    assert files_of("/p/a/kernels.py", whole(name="../layers.py")) == ("/p/a/kernels.py", "/p/layers.py")
    assert files_of("/p/a/kernels.py", KERNELS) == ("/p/a/kernels.py",)


def test_the_page_of_a_line() -> None:
    text = whole()
    at = pages(text)[1].line
    assert [page_around(text, line).name for line in (0, at - 1, at, at + 3)] == ["", "", "layers.py", "layers.py"]
    assert page_around(KERNELS, 1).text == KERNELS
