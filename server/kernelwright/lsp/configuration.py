"""Settings as an editor sends them: read leniently, and every malformed one named in a sentence."""

import dataclasses
import math
import re
from collections.abc import Mapping
from typing import Any

from kernelwright.settings import DEFAULTS, Settings

SECTION = "kernelwright"


def read(data: object) -> tuple[Settings, tuple[str, ...]]:
    """The Settings in `data`, with the default for whatever is malformed, and one sentence for each such setting."""
    if data is None:
        return DEFAULTS, ()
    if not isinstance(data, Mapping):
        return DEFAULTS, (f"The settings under {SECTION!r} should be an object; the defaults are used.",)
    known = {name(field): field for field in dataclasses.fields(Settings)}
    known |= {field.name: field for field in dataclasses.fields(Settings)}
    values: dict[str, Any] = {}
    problems: list[str] = []
    for key, value in data.items():
        if value is None or key not in known:
            continue  # editors add keys of their own, such as a trace level
        problem = _problem(known[key], value)
        if problem:
            problems.append(f"{SECTION}.{key} {problem}; the default {_shown(known[key].default)} is used.")
            continue
        kind: type = type(known[key].default)
        values[known[key].name] = kind(value)
    return dataclasses.replace(DEFAULTS, **values), tuple(problems)


def name(field: dataclasses.Field[Any]) -> str:
    """A setting's name in an editor: `verify_on` is `verifyOn`."""
    return re.sub(r"_(.)", lambda match: match[1].upper(), field.name)


def _problem(field: dataclasses.Field[Any], value: object) -> str:
    kind = type(field.default)
    choices, minimum = field.metadata["choices"], field.metadata["minimum"]
    if kind is bool and not isinstance(value, bool):
        return f"should be true or false, not {_shown(value)}"
    if kind is str and not isinstance(value, str):
        return f"should be a text, not {_shown(value)}"
    if kind in (int, float):
        if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
            return f"should be a number, not {_shown(value)}"
        if kind is int and value != int(value):
            return f"should be a whole number, not {_shown(value)}"
        if minimum is not None and not value >= minimum:
            return f"should be at least {minimum:g}, not {_shown(value)}"
    if choices and value not in choices:
        return f"should be one of {', '.join(choices)}, not {_shown(value)}"
    return ""


def _shown(value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    text = repr(value)
    return text if len(text) <= 40 else text[:37] + "..."
