"""The templates, and how text of the user's goes into them."""

import functools
import re
from typing import Any

_TICKS = re.compile(r"`{3,}")


def render(name: str, **values: Any) -> str:
    """Fill the template `name`. Raises jinja2.UndefinedError for a value that it lacks."""
    return str(_environment().get_template(f"{name}.md").render(**values))


def fenced(text: str, language: str = "") -> str:
    """`text` between fences longer than any in it, so that it cannot end them."""
    fence = "`" * max([3, *(len(run) + 1 for run in _TICKS.findall(text))])
    return f"{fence}{language}\n{text.rstrip()}\n{fence}"


def numbered(text: str, start: int, end: int) -> str:
    """Lines `start:end` of a text, from 0, with their numbers from 1."""
    lines = text.splitlines()[start:end]
    width = len(str(end))
    return "\n".join(f"{number:>{width}} | {line}" for number, line in enumerate(lines, start + 1))


@functools.cache
def _environment() -> Any:
    import jinja2  # when first needed: the server starts without it

    return jinja2.Environment(
        loader=jinja2.PackageLoader("kernelwright", "prompting/templates"),
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        autoescape=False,
    )
