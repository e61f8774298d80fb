"""Templates of kernels that workload lines launch, with the arguments that these give them: `tile<float, 16><<<…>>>(…)`."""

import re
from collections.abc import Callable, Iterable

_LINE = re.compile(r"^([ \t]*//[ \t]*workload[ \t]*:[ \t]*)([^\W\d]\w*)[ \t]*<([^<>()\n]*)>(?=[ \t]*<<<)", re.MULTILINE)


def plain(given: str) -> str:
    """Write template arguments in one way, so that they can be compared."""
    return ", ".join(" ".join(one.split()) for one in given.split(","))


def instances_of(text: str) -> tuple[tuple[str, str], ...]:
    """The name and the arguments of each template that lines launch, once, in the order of the lines."""
    return tuple(dict.fromkeys((name, plain(given)) for _, name, given in _LINE.findall(text)))


def exchanged(text: str, exchange: Callable[[str], str]) -> str:
    """The text with each template argument of a line exchanged."""

    def line(match: re.Match[str]) -> str:
        given = ", ".join(map(exchange, plain(match[3]).split(", ")))
        return f"{match[1]}{match[2]}<{given}>"

    return _LINE.sub(line, text)


def with_lines(text: str, calls: Iterable[str]) -> str:
    """The text with calls as workload lines behind it, so that the templates that they launch are compiled."""
    return text + "".join(f"\n// workload: {call}" for call in calls)
