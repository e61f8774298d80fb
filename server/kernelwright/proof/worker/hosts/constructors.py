"""How a class is constructed that inherits its constructor, from torch or from another file: asked of the class itself."""

import inspect

from kernelwright.proof.worker.hosts import messages
from kernelwright.proof.worker.hosts.room import Room

_PLAIN = (type(None), bool, int, float, str)  # what is written as it is; other defaults are only there


def definition(room: Room, request: messages.Constructor) -> messages.Reply:
    """The definition of its `__init__`, without a body. Raises what the class raises, AttributeError where there is none."""
    given = list(inspect.signature(getattr(room.module, request.name).__init__).parameters.values())
    written = inspect.Signature([one.replace(annotation=_annotation(one), default=_default(one)) for one in given])
    return messages.Done(f"def __init__{written}: ...")


class _Written:
    """Something that a signature prints as it is given."""

    def __init__(self, text: str) -> None:
        self._text = text

    def __repr__(self) -> str:
        return self._text


def _annotation(parameter: inspect.Parameter) -> object:
    if parameter.annotation is inspect.Parameter.empty:
        return parameter.annotation
    return _Written(inspect.formatannotation(parameter.annotation))


def _default(parameter: inspect.Parameter) -> object:
    if parameter.default is inspect.Parameter.empty or type(parameter.default) in _PLAIN:
        return parameter.default
    return _Written("...")
