"""The parameters of a tool, from the annotations of its function: as a JSON schema, and what is given held against them."""

import functools
import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import NoneType, UnionType
from typing import Any, get_args, get_origin, get_type_hints

from kernelwright.mistakes import BadInput
from kernelwright.wire import Json

ASKED = "asked"  # the parameter that is not the agent's to give

_SCHEMAS: dict[object, dict[str, Json]] = {
    str: {"type": "string"},
    bool: {"type": "boolean"},
    list[str]: {"type": "array", "items": {"type": "string"}},
}
_NAMES = {str: "a text", bool: "true or false", list[str]: "a list of texts"}


@dataclass(frozen=True)
class Parameter:
    """`annotation` is a key of the table of schemas, or one or None; `words` are what an agent is told of it."""

    name: str
    annotation: Any
    words: str
    required: bool

    @property
    def kind(self) -> Any:
        if get_origin(self.annotation) is UnionType:
            (kind,) = (one for one in get_args(self.annotation) if one is not NoneType)
            return kind
        return self.annotation

    def takes(self, value: object) -> bool:
        if value is None:
            return self.annotation is not self.kind
        if isinstance(value, list):
            return self.kind == list[str] and all(isinstance(item, str) for item in value)
        return self.kind in (str, bool) and isinstance(value, self.kind)


@functools.cache
def parameters(run: Callable[..., Any]) -> tuple[Parameter, ...]:
    """Those that an agent gives, in the order of the function."""
    hints = get_type_hints(run, include_extras=True)
    signature = inspect.signature(run).parameters
    found = []
    for name, parameter in signature.items():
        if name != ASKED:
            annotation, words = get_args(hints[name])
            found.append(Parameter(name, annotation, words, parameter.default is inspect.Parameter.empty))
    return tuple(found)


def schema(run: Callable[..., Any]) -> dict[str, Json]:
    """The JSON schema of what a tool is given."""
    known = parameters(run)
    properties: dict[str, Json] = {one.name: {**_SCHEMAS[one.kind], "description": one.words} for one in known}
    return {"type": "object", "properties": properties, "required": [one.name for one in known if one.required]}


def arguments(run: Callable[..., Any], given: object) -> dict[str, object]:
    """What a tool is called with. Raises BadInput for what it does not take."""
    name, known = run.__name__, {one.name: one for one in parameters(run)}
    if not isinstance(given, Mapping):
        raise BadInput(f"The arguments of {name} should be an object, by the names {', '.join(known)}.")
    for key, value in given.items():
        if key not in known:
            raise BadInput(f"{name} has no argument {key!r}; it has {', '.join(known)}.")
        if not known[key].takes(value):
            raise BadInput(f"The argument {key} of {name} should be {_NAMES[known[key].kind]}, not {value!r:.80}.")
    for key, one in known.items():
        if one.required and key not in given:
            raise BadInput(f"The argument {key} of {name} is missing: {one.words}")
    return dict(given)
