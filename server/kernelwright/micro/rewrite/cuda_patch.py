"""Changes of a CUDA text in terms of its syntax nodes, as Edits."""

from tree_sitter import Node

from kernelwright.micro.edits import difference
from kernelwright.source.cuda import Source
from kernelwright.values import Edits, TextEdit, apply, digest


class Patch:
    """Changes that are gathered for one text. They must not overlap; insertions at one place keep their order."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self._changes: list[TextEdit] = []

    def replace(self, node: Node, text: str) -> "Patch":
        """Put `text` in the place of a node."""
        return self.between(node.start_byte, node.end_byte, text)

    def before(self, node: Node, text: str) -> "Patch":
        return self.between(node.start_byte, node.start_byte, text)

    def after(self, node: Node, text: str) -> "Patch":
        return self.between(node.end_byte, node.end_byte, text)

    def cut(self, node: Node) -> "Patch":
        """Take a node out, with its line where nothing else stands on it."""
        source = self._source.source
        start, end = source.rfind(b"\n", 0, node.start_byte) + 1, source.find(b"\n", node.end_byte)
        end = len(source) if end < 0 else end + 1
        if not source[start : node.start_byte].strip() and not source[node.end_byte : end].strip():
            return self.between(start, end, "")
        blanks = len(source[: node.start_byte]) - len(source[: node.start_byte].rstrip(b" \t"))
        return self.between(node.start_byte - blanks, node.end_byte, "")

    def between(self, start: int, end: int, text: str) -> "Patch":
        """Put `text` in the place of the bytes `start:end`."""
        self._changes.append(TextEdit(self._source.offset(start), self._source.offset(end), text))
        return self

    @property
    def text(self) -> str:
        """The text after the changes."""
        return apply(Edits(digest(self._source.text), tuple(self._changes)), self._source.text)

    def edits(self, summary: str = "") -> Edits:
        """The changes as edits of whole lines."""
        return difference(self._source.text, self.text, summary)


def indent_of(source: Source, node: Node) -> str:
    """The blanks in front of the line that a node begins on."""
    start = source.source.rfind(b"\n", 0, node.start_byte) + 1
    line = source.source[start : node.start_byte].decode("utf-8", "replace")
    return line[: len(line) - len(line.lstrip())]
