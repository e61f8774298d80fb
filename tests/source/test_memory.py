"""What is remembered of each piece: looked at once in a context, and not kept for ever."""

from kernelwright.source import memory
from kernelwright.source.memory import PerPiece
from kernelwright.source.split import split


def test_each_piece_is_looked_at_once_in_each_context() -> None:
    asked: list[tuple[bytes, str]] = []

    def of(source: bytes, context: str) -> str:
        asked.append((source, context))
        return context + source.decode()

    about = PerPiece(of)
    assert about(split(b"a = 1\nb = 2\na = 1\n"), "x") == ["xa = 1", "xb = 2", "xa = 1"]
    assert about(split(b"a = 1\nb = 3\n"), "x") == ["xa = 1", "xb = 3"]
    assert about(split(b"a = 1\n"), "y") == ["ya = 1"]
    assert asked == [(b"a = 1", "x"), (b"b = 2", "x"), (b"b = 3", "x"), (b"a = 1", "y")]


def test_old_pieces_and_contexts_are_forgotten(monkeypatch) -> None:
    monkeypatch.setattr(memory, "_MOST_PIECES", 4)
    monkeypatch.setattr(memory, "_MOST_CONTEXTS", 3)
    about = PerPiece(lambda source, context: source)
    for number in range(20):
        about(split(b"a = %d\n" % number), number % 7)
    assert len(about._known) == 3
    for number in range(20):
        about(split(b"a = %d\n" % number), 0)
        assert len(about._known[0,]) <= 4
    assert about(split(b"\n".join(b"a = %d" % n for n in range(9))), 0) == [b"a = %d" % n for n in range(9)]
