"""Helpers that a rewrite puts into the user's file: text kept here as it is read there, and printed with free names."""

import re
from dataclasses import dataclass


@dataclass(frozen=True)
class Helper:
    """A decorator of a module's forward, with all that it needs.

    `decorator` is the name that goes above the forward, `names` are those that `text` binds at the top level, the
    decorator's among them. `imports` are modules of the standard library.
    """

    decorator: str
    names: tuple[str, ...]
    text: str
    imports: tuple[str, ...]
    summary: str = ""  # what distinguishes this variant, for people

    def renamed(self, names: tuple[str, ...]) -> "Helper":
        """The same helper under other names, in the order of `names`."""
        others = dict(zip(self.names, names, strict=True))
        pattern = re.compile(rf"\b({'|'.join(self.names)})\b")
        text = pattern.sub(lambda found: others[found[0]], self.text)
        return Helper(others[self.decorator], names, text, self.imports, self.summary)


def sections(*texts: str) -> str:
    """Texts of definitions one after another, with the blank lines between that a formatter would leave."""
    return "\n\n\n".join(text.strip("\n") for text in texts)
