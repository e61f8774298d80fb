"""Statements that take the place of a call, before it is known where they will stand."""

from dataclasses import dataclass

Span = tuple[int, int]


@dataclass(frozen=True)
class Lines:
    """Statements of which the last one names the answer `name`.

    `places`: for each node the number of the line in which its expression stands, and the columns. `argument`: line and
    column of the argument of the call that is written out.
    """

    name: str
    texts: tuple[str, ...]
    places: dict[int, tuple[int, Span]]
    argument: tuple[int, int]

    def returned(self) -> "Lines":
        """The same where the last line returns the answer instead of naming it."""
        before, last = f"{self.name} = ", len(self.texts) - 1
        shift = len("return ") - len(before)
        texts = (*self.texts[:-1], "return " + self.texts[-1].removeprefix(before))
        places = {
            node: (line, (low + shift, high + shift) if line == last else (low, high))
            for node, (line, (low, high)) in self.places.items()
        }
        line, column = self.argument
        return Lines(self.name, texts, places, (line, column + shift if line == last else column))

    def offset(self, line: int, separator: str) -> int:
        """Where a line begins in the text of all of them."""
        return sum(len(text) + len(separator) for text in self.texts[:line])
