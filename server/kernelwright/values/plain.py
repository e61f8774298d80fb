"""Text that others have written, made harmless to show: in a terminal, an editor, a file."""

import re
from typing import Any

# Control characters of both blocks but line breaks and tabs, marks that turn or hide what is near them (soft hyphen, zero
# width, bidirectional, tags), separators that count as line breaks for some, halves of surrogate pairs.
_UNSEEN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2028-\u202e"
    "\u2060-\u206f\u3164\ud800-\udfff\ufeff\uffa0\ufff0-\ufffb\U000e0000-\U000e0fff]"
)
_BREAKS = re.compile(r"[\n\t]+")
_OF_SEVERAL_LINES = {"Failure": "detail"}  # a traceback, or the end of a log
_CODE = {"TextEdit": "new_text"}  # goes into a file as it is


def plain(text: str, *, lines: bool = False) -> str:
    """The text with escapes such as \\x1b in the place of what acts or cannot be seen; one line, unless `lines`."""
    text = text.replace("\r\n", "\n")
    if not lines and ("\n" in text or "\t" in text):
        text = " ".join(part.strip(" ") for part in _BREAKS.split(text))
    return _UNSEEN.sub(lambda found: found[0].encode("unicode_escape").decode("ascii"), text)


def plain_json(data: Any) -> Any:
    """JSON data of encoded values with all words in it, keys too, made `plain`."""
    if isinstance(data, str):
        return plain(data)
    if isinstance(data, list):
        return [plain_json(item) for item in data]
    if isinstance(data, dict):
        kind = str(data.get("$"))
        several, code = _OF_SEVERAL_LINES.get(kind), _CODE.get(kind)

        def made(key: str, value: Any) -> Any:
            if key in (several, code) and isinstance(value, str):
                return value if key == code else plain(value, lines=True)
            return plain_json(value)

        return {plain(key): made(key, value) for key, value in data.items()}
    return data
