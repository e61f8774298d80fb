"""Templates of kernels that workload lines launch, with the arguments that these give them: `tile<float, 16><<<…>>>(…)`."""

import re
from collections.abc import Callable

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
