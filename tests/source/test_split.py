import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from kernelwright.source import split as module
from kernelwright.source.pieces import unchanged
from kernelwright.source.split import split

FILE = '''\
"""A file."""
import torch


@decorated
def f(x):
    return """
kept together
"""


CONFIGS = [
one(1),
two(2),
]
if x:
    pass
else:
    pass
'''


def firsts(text: str) -> list[str]:
    """The first line of every piece."""
    return [piece.source.decode().partition("\n")[0] for piece in split(text.encode())]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", []),
        ("# only words\n", ["# only words"]),
        (FILE, ['"""A file."""', "import torch", "@decorated", "CONFIGS = [", "if x:"]),
        ("a = 1\n(b, c) = 2, 3\nd = 4\n", ["a = 1", "d = 4"]),
        ("a = f(\nb,\n)\nc = 1\n", ["a = f(", "c = 1"]),
        ("a = f(\nb = 2\ndef g(x):\n    pass\n", ["a = f(", "b = 2", "def g(x):"]),
        ("def f(x\n\ndef g(x):\n    pass\n", ["def f(x", "def g(x):"]),
        ("def f():\n    s = g('''\nin it\n''', (\n\ndef h():\n    pass\n", ["def f():", "def h():"]),
        ('s = """\na = 1\nb = 2\n', ['s = """', "a = 1", "b = 2"]),
        ('s = """(\na = 1\n"""\nb = 2\n', ['s = """(', "b = 2"]),
        ("s = '('  # [\na = 1\n", ["s = '('  # [", "a = 1"]),
        ("a = 1 + \\\nb\nc = 1\n", ["a = 1 + \\", "c = 1"]),
        ('a = f("x\\\ny")\nc = 1\n', ['a = f("x\\', "c = 1"]),
        ("@a(\nx\n)\n@b\nclass C:\n    pass\n", ["@a("]),
        ("@\ndef f():\n    pass\n", ["@", "def f():"]),
        ("größe = 1\nx = 2\n", ["größe = 1", "x = 2"]),
        ("a = 1\r\nb = (\r\nc)\r\n", ["a = 1", "b = (\r"]),
    ],
)
def test_pieces(text: str, expected: list[str]) -> None:
    assert firsts(text) == expected


@settings(deadline=None)
@given(st.text("ab \n\"'()[]{}#\\@=:é", max_size=200))
@example("a = (\n" * 300)
@example('a = """\n' * 300)
def test_every_line_of_a_file_is_in_the_piece_that_says_so(text: str) -> None:
    source = text.encode()
    pieces = split(source)
    begins = [*(piece.start for piece in pieces), len(source)]
    assert begins[0] == 0
    for piece, end in zip(pieces, begins[1:], strict=True):
        assert source[piece.start : end].rstrip() == piece.source
        assert piece.line == source.count(b"\n", 0, piece.start)


LINES = (
    "a = 1\n",
    "def f(x):\n",
    "    pass\n",
    "@a\n",
    "@b(\n",
    "class C:\n",
    "else:\n",
    "async def g():\n",
    "é = 2\n",
)
PARTS = ("(", ")", "[", "]", '"""', "'''", '"', "'", "\\\n", "# c\n", "\n", "\r\n", " ", "x")
TOKENS = st.sampled_from((*LINES, *PARTS))


def again(source: bytes, before):
    return module.again(source, before, unchanged(before.source, source))


@settings(deadline=None)
@given(st.lists(TOKENS, max_size=60), st.lists(st.tuples(st.integers(0), st.integers(0, 12), TOKENS), max_size=8))
def test_after_a_change_the_pieces_are_those_of_a_text_never_seen(
    tokens: list[str], changes: list[tuple[int, int, str]]
) -> None:
    source = "".join(tokens).encode()
    before = module.EMPTY
    for at, removed, token in changes:
        before = again(source, before)
        assert before == again(source, module.EMPTY)
        at %= len(source) + 1
        source = source[:at] + token.encode() + source[at + removed :]
    assert again(source, before) == again(source, module.EMPTY)


def test_a_change_is_looked_for_in_the_nearest_of_the_last_texts(monkeypatch: pytest.MonkeyPatch) -> None:
    """A key is taken back, and the next one falls elsewhere: the text of before is nearer than the last one."""
    text = "".join(f"def f{i}(x):\n    return x + {i}\n\n\n" for i in range(200))
    split(text.encode())
    split(text.replace("x + 3\n", "x + 33\n").encode())
    read = []
    piece = module._piece
    monkeypatch.setattr(
        module, "_piece", lambda source, start, closed: read.append(start) or piece(source, start, closed)
    )
    changed = split(text.replace("x + 190\n", "x + 1900\n").encode())
    assert len(read) <= 3
    assert len(changed) == 200


def test_unchanged_pieces_are_the_same_objects() -> None:
    text = "".join(f"def f{i}(x):\n    return x\n" for i in range(50))
    before, after = split(text.encode()), split(text.replace("def f20(x)", "def f20(x, y").encode())
    assert all(one is other for one, other in zip(before.sources[:19], after.sources[:19], strict=True))
    assert all(one.source is other.source for one, other in zip(before[21:], after[-29:], strict=True))


@given(st.text("ab", max_size=40), st.text("ab", max_size=40))
def test_what_two_texts_share(before: str, after: str) -> None:
    old, new = before.encode(), after.encode()
    ahead, behind = unchanged(old, new)
    assert old[:ahead] == new[:ahead]
    assert old[len(old) - behind :] == new[len(new) - behind :]
    assert ahead + behind <= min(len(old), len(new))
    middle = old[ahead : len(old) - behind], new[ahead : len(new) - behind]
    assert not all(middle) or (middle[0][0] != middle[1][0] and middle[0][-1] != middle[1][-1])
