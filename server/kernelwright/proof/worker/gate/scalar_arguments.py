"""The numbers and flags among a call's arguments, changed: what a text has written in for them is found out."""

import inspect
import math
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import torch

from kernelwright.proof.worker.inputs import Inputs

_MOST_FLAGS, _MOST_WHOLE = 3, 4  # of which each is changed by itself
_LARGEST = 1024  # of whole numbers: larger ones are sizes and ranges
_BY_CHANCE = 4  # what is smaller is a tensor's size by chance
_MODES = frozenset({"training", "train", "is_training"})  # a kernel for inference may be meant for inference
_BEYOND = 1e38  # twice as much may be infinite

Key = int | str | tuple[int | str, ...]  # a place, a name, and behind them the fields of a structure or a namespace


@dataclass(frozen=True)
class Change:
    """The call with other arguments. `harmless`: nothing that depends on it can point out of a tensor."""

    described: str
    inputs: Inputs
    harmless: bool = False


def changes(target: Callable[..., Any], inputs: Inputs) -> list[tuple[Change, ...]]:
    """What to call the target with as well; of each tuple the first that it takes is enough.

    Floats are changed together and stay between 0 and 1, or above 1, as probabilities and decays must. Flags and whole numbers
    change one at a time. Flags and floats that the call leaves out are given, too.
    """
    names, defaults = _parameters(target, inputs)
    given = dict(_with_fields({**dict(enumerate(inputs.args)), **inputs.kwargs}))

    def made(new: Mapping[Key, Any], *, harmless: bool = False) -> Change:
        words = ", ".join(f"{_name(key, names)}={_told(value)}" for key, value in new.items())
        return Change(words, _with(inputs, new), harmless)

    found: list[tuple[Change, ...]] = []
    floats, others = _floats(given), _floats(defaults)
    for change, numbers in ((_larger, floats), (_smaller, floats), (_larger, others)):
        if numbers:
            found.append((made({key: change(value) for key, value in numbers.items()}, harmless=True),))
    for values in (given, defaults):
        flags = [
            key
            for key, value in values.items()
            if isinstance(value, bool) and _name(key, names).rpartition(".")[2] not in _MODES
        ]
        found += [(made({key: not values[key]}),) for key in flags[:_MOST_FLAGS]]
    sizes = {size for tensor in inputs.tensors() for size in (*tensor.shape, tensor.numel()) if size >= _BY_CHANCE}
    whole = [(key, value) for key, value in given.items() if type(value) is int and value not in sizes]
    for key, value in [(key, value) for key, value in whole if abs(value) <= _LARGEST][:_MOST_WHOLE]:
        found.append(tuple(made({key: other}) for other in _other(value)))
    return found


def options(target: Callable[..., Any], inputs: Inputs, words: Collection[str]) -> list[tuple[Change, ...]]:
    """To call the target with as well: another of the `words` for a word, None for a tensor, tensors for None."""
    names, defaults = _parameters(target, inputs)
    first = next((tensor for tensor in inputs.tensors() if tensor.dim()), None)
    tensors = () if first is None else (first.reshape(-1)[: first.shape[-1]].clone(), first.clone())
    found: list[tuple[Change, ...]] = []
    for key, value in {**dict(enumerate(inputs.args)), **defaults, **inputs.kwargs}.items():
        made = lambda new, said, key=key: Change(f"{_name(key, names)}{said}", _with(inputs, {key: new}))
        if isinstance(value, str):
            found += [(made(word, f"={word}"),) for word in words if word != value]
        elif isinstance(value, torch.Tensor):
            found.append((made(None, "=None"),))
        elif value is None and tensors:
            found.append(tuple(made(tensor, f" of shape {tuple(tensor.shape)}") for tensor in tensors))
    return found


def each_changed(
    target: Callable[..., Any], inputs: Inputs, kind: type | tuple[type, ...], changed: Callable[[Any], Any]
) -> Iterator[tuple[str, Inputs]]:
    """Each argument of a kind, given or left to its default: its name, and the call in which it is `changed`."""
    names, defaults = _parameters(target, inputs)
    for key, value in {**dict(enumerate(inputs.args)), **defaults, **inputs.kwargs}.items():
        new = changed(value) if isinstance(value, kind) and not isinstance(value, bool) else None
        if new is not None:
            yield _name(key, names), _with(inputs, {key: new})


def _with(inputs: Inputs, new: Mapping[Key, Any]) -> Inputs:
    """The call with these arguments, by place or name, in the place of its own."""
    new = dict(new)
    for path in [key for key in new if isinstance(key, tuple)]:
        first, *fields = path
        whole = new.get(first, inputs.args[first] if isinstance(first, int) else inputs.kwargs[first])
        new[first] = _replaced(whole, fields, new.pop(path))
    args = tuple(new.get(index, value) for index, value in enumerate(inputs.args))
    return Inputs(args, {**inputs.kwargs, **{key: value for key, value in new.items() if isinstance(key, str)}})


def _replaced(structure: Any, fields: Sequence[Any], value: Any) -> Any:
    """The structure, or namespace, with another value for the field that a path leads to."""
    if not fields:
        return value
    if isinstance(structure, SimpleNamespace):
        return SimpleNamespace(**_replaced(vars(structure), fields, value))
    return {**structure, fields[0]: _replaced(structure[fields[0]], fields[1:], value)}


def _with_fields(values: Mapping[Any, Any], *path: int | str) -> Iterator[tuple[Key, Any]]:
    """The values, and in place of a structure or a namespace its fields by their paths."""
    for key, value in values.items():
        here = (*path, key)
        fields = vars(value) if isinstance(value, SimpleNamespace) else value
        if isinstance(fields, dict):
            yield from _with_fields(fields, *here)
        else:
            yield here if path else key, value


def _parameters(target: Callable[..., Any], inputs: Inputs) -> tuple[dict[Key, str], dict[Key, Any]]:
    """The names of positional arguments, and the defaults of what may be given by name and is not."""
    try:
        parameters = inspect.signature(getattr(target, "forward", target)).parameters
    except (TypeError, ValueError):
        return {}, {}
    names: dict[Key, str] = {}
    for index, (name, parameter) in enumerate(parameters.items()):
        if index >= len(inputs.args) or parameter.kind is parameter.VAR_POSITIONAL:
            break
        names[index] = name
    taken = {*names.values(), *inputs.kwargs}
    by_name = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
    return names, {n: p.default for n, p in parameters.items() if n not in taken and p.kind in by_name}


def _floats(values: Mapping[Key, Any]) -> dict[Key, float]:
    return {key: value for key, value in values.items() if type(value) is float and abs(value) < _BEYOND}


def _larger(value: float) -> float:
    """Towards one, for what is below it: twice an eps does not show."""
    size = abs(value)
    return 0.5 if size == 0 else math.copysign(2 * size if size >= 1 else (1 + size) / 2, value)


def _smaller(value: float) -> float:
    size = abs(value)
    if size in (0.0, 1.0):
        return math.copysign(size + 0.25, value)
    return math.copysign((1 + size) / 2 if size > 1 else size / 2, value)


def _other(value: int) -> Iterator[int]:
    """One more, twice as many, one less: an axis, a number of heads, what is the largest already."""
    yield value + 1
    if value > 1:
        yield 2 * value
    if value:
        yield value - 1


def _name(key: Key, names: Mapping[Key, str]) -> str:
    if isinstance(key, tuple):
        return ".".join((_name(key[0], names), *map(str, key[1:])))
    return key if isinstance(key, str) else names.get(key, f"argument {key + 1}")


def _told(value: float) -> str:
    return f"{value:.6g}" if isinstance(value, float) else str(value)
