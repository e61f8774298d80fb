"""What a printed launcher relies on beyond what its kernel is told, and the check that it begins with.

The check reads attributes only: it runs in every call, and no device waits for it.
"""

import textwrap
from collections.abc import Sequence
from dataclasses import dataclass

from kernelwright.place.layout import WIDTH

_FLOATS = ("float32", "float16", "bfloat16")


@dataclass(frozen=True)
class Alike:
    """Tensors whose `attribute` has to equal an expression."""

    names: tuple[str, ...]
    attribute: str
    expected: str

    @property
    def broken(self) -> tuple[str, ...]:
        named = [f"{name}.{self.attribute}" for name in self.names]
        chain = f"not {' == '.join([*named, self.expected])}"
        if len(named) > 1 and len(chain) <= WIDTH - 11:
            return (chain,)
        return tuple(f"{one} != {self.expected}" for one in named)


@dataclass(frozen=True)
class Relies:
    """What holds of the tensors of a call for which the kernel is right; `launcher` and `main` are names.

    `rank`: the number of dimensions of `main`, None where `least` are enough. `dtypes`: those of `main`; `alike`: what must
    equal something of `main`, or a constant. `holds`: further conditions, and what they say in words. `length`: the
    launcher's expression for the length of a row, which is not empty; `longest`: the longest one, "" for any.
    `narrow`: offsets have 32 bits. `eager`: lines that answer in another way, for calls that ask for a gradient.
    """

    launcher: str
    main: str
    rank: int | None
    least: int
    dtypes: tuple[str, ...]
    alike: tuple[Alike, ...]
    holds: tuple[tuple[str, str], ...]
    length: str
    longest: str
    narrow: bool
    eager: tuple[str, ...] = ()


def check(relies: Relies) -> list[str]:
    """The lines of the launcher for calls that the kernel is not made for: they raise a ValueError, or answer by torch."""
    wrong, words = zip(*_conditions(relies), strict=True)
    return [*refusal(wrong, f"{relies.launcher} takes {'; '.join(dict.fromkeys(words))}"), *relies.eager]


def limits(eager: Sequence[str]) -> str:
    """What a launcher's docstring says last: whether gradients flow through its result."""
    return "" if eager else "; forward only"


def refusal(wrong: Sequence[str], words: str, indent: int = 4) -> list[str]:
    """`if … or …: raise ValueError(words)`; lines but for the first of a statement carry their indentation."""
    pad = " " * indent
    one = f"if {' or '.join(wrong)}:"
    lines = [one] if indent + len(one) <= WIDTH else ["if (", *_alternatives(wrong, pad), f"{pad}):"]
    text = f'    raise ValueError("{words}")'
    if indent + len(text) > WIDTH:
        pieces = textwrap.wrap(words, WIDTH - indent - 11, break_on_hyphens=False)
        quoted = [f'"{piece} "' for piece in pieces[:-1]] + [f'"{pieces[-1]}"']
        text = "\n".join(["    raise ValueError(", *(f"{pad}        {one}" for one in quoted), f"{pad}    )"])
    return ["\n".join(lines), text]


def _alternatives(wrong: Sequence[str], pad: str) -> list[str]:
    return [f"{pad}    {'or ' if number else ''}{one}" for number, one in enumerate(wrong)]


def _conditions(relies: Relies) -> list[tuple[str, str]]:
    """What makes a call wrong, each beside what would be right in words; what later ones suppose comes first."""
    main, found = relies.main, []
    if relies.rank is not None:
        found.append((f"{main}.dim() != {relies.rank}", f"{main} of {_count(relies.rank, 'dimension')}"))
    elif relies.least:
        found.append((f"{main}.dim() < {relies.least}", f"{main} of {_count(relies.least, 'dimension')} or more"))
    dtypes = [f"torch.{dtype}" for dtype in relies.dtypes]
    wrong = f"!= {dtypes[0]}" if len(dtypes) == 1 else f"not in ({', '.join(dtypes)})"
    found.append((f"{main}.dtype {wrong}", f"{main} of {' or '.join(relies.dtypes)}"))
    for one in relies.alike:
        found += [(broken, f"{', '.join(one.names)} of {one.attribute} {one.expected}") for broken in one.broken]
    found += relies.holds
    if relies.longest:
        found.append((f"not 0 < {relies.length} <= {relies.longest}", f"rows of 1 to {relies.longest} elements"))
    elif relies.length:
        found.append((f"{relies.length} == 0", "rows that are not empty"))
    if relies.narrow:
        found.append((f"{main}.numel() >= 2**31", "fewer than 2**31 elements"))
    return found


def _count(number: int, thing: str) -> str:
    return f"{number} {thing}" if number == 1 else f"{number} {thing}s"
