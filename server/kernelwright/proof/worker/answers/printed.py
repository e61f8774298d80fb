"""What two programs print, compared: text as it is, whole numbers exactly, decimal ones as far as their last digits go.

A decimal number has the accuracy of float32 beside that, as the sums that it may be the result of (see tolerance); where an
fp64 run of the program prints it, too, the baseline's own error is known, and a candidate's may be four times that.
"""

import math
import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass

import torch

from kernelwright.proof.worker.answers import tolerance

_NUMBER = re.compile(r"(?<![\w.])[-+]?(?:(?:\d+(?:\.\d+)?|\.\d+)(?:[eE][-+]?\d+)?|(?:nan|inf(?:inity)?)(?!\w))")
_BLANKS = re.compile(r"[ \t\r]+")
_ROUNDING = tolerance.allowed(tolerance.rounding_floor(torch.float32, tolerance.LONGEST), None)
_VANISHES = 1e-3  # of the baseline's: what is so much smaller in fp64 is an error that is printed
_LAST_DIGIT = 1.0 + 1e-9  # two numbers that round to neighbours are one digit apart
_LONGEST = 60  # characters of a line in a sentence


@dataclass(frozen=True)
class Line:
    """A line as the text between its numbers, blanks as one, and these; `whole` as it was printed."""

    whole: str
    texts: tuple[str, ...]
    numbers: tuple[str, ...]


def lines_of(printed: str) -> tuple[Line, ...]:
    """The lines of what a program prints; an end of line at the end begins no other one."""
    return tuple(map(_line, printed.removesuffix("\n").split("\n"))) if printed else ()


def unsteady(one: Sequence[Line], other: Sequence[Line]) -> frozenset[int] | None:
    """The lines that differ between two runs of the same program; None where it prints more of them in one."""
    if len(one) != len(other):
        return None
    return frozenset(at for at, pair in enumerate(zip(one, other, strict=True)) if not alike(*pair))


def difference(
    base: Sequence[Line], got: Sequence[Line], double: Sequence[Line], left_out: Collection[int]
) -> tuple[int, str] | None:
    """The first line that is not the baseline's, from 0, and what is wrong with it; None where all are. `double`: in fp64."""
    for at, (one, other) in enumerate(zip(base, got, strict=False)):
        if at not in left_out and not alike(one, other, double[at] if at < len(double) else None):
            return at, f"it prints {_shown(other)}, where the baseline prints {_shown(one)}"
    if len(got) < len(base):
        return len(got), f"it prints {_count(len(got))}, where the baseline prints {len(base)}"
    if len(got) > len(base):
        return len(base), f"it prints {_shown(got[len(base)])} behind the {_count(len(base))} of the baseline"
    return None


def alike(base: Line, got: Line, double: Line | None = None) -> bool:
    """Whether two lines say the same."""
    if base.texts != got.texts:
        return False
    known = double.numbers if double is not None and double.texts == base.texts else (None,) * len(base.numbers)
    return all(map(_close, base.numbers, got.numbers, known))


def _line(text: str) -> Line:
    between = _NUMBER.split(text.strip())
    return Line(text, tuple(_BLANKS.sub(" ", part) for part in between), tuple(_NUMBER.findall(text)))


def _close(base: str, got: str, double: str | None) -> bool:
    if _is_whole(base) and _is_whole(got):
        return int(base) == int(got)
    one, other = float(base), float(got)
    if not (math.isfinite(one) and math.isfinite(other)):
        return one == other or (math.isnan(one) and math.isnan(other))
    digit = min(_last_digit(each) for each in (base, got) if not _is_whole(each))
    allowed = digit * _LAST_DIGIT + _ROUNDING * abs(one)
    right = float(double) if double is not None else math.nan
    own = abs(one - right)
    if own <= tolerance.untrusted(torch.float32) * abs(one):
        allowed += tolerance.FACTOR * own
    elif abs(right) <= _VANISHES * abs(one):
        allowed += tolerance.FACTOR * abs(one)
    return abs(one - other) <= allowed


def _is_whole(number: str) -> bool:
    return number.lstrip("+-").isdigit()


def _last_digit(number: str) -> float:
    """What one more in the last digit that is printed comes to."""
    mantissa, _, exponent = number.lower().partition("e")
    return 10.0 ** (int(exponent or 0) - len(mantissa.partition(".")[2])) if mantissa[-1:].isdigit() else math.inf


def _shown(line: Line) -> str:
    text = line.whole.strip()
    return f"`{text if len(text) <= _LONGEST else text[: _LONGEST - 3] + '...'}`"


def _count(lines: int) -> str:
    return f"{lines} line{'' if lines == 1 else 's'}"
