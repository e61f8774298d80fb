"""What the autotuner above a Triton kernel says: its configurations as far as the file writes them out, and its key."""

import ast
import itertools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from kernelwright.micro.rewrite.triton_launch import OPTIONS, written_out
from kernelwright.micro.rewrite.triton_source import Fragment, integer
from kernelwright.source.calls import argument, dotted
from kernelwright.source.parsed import syntax
from kernelwright.source.trees import walk
from kernelwright.values import Refusal

_MOST_READ = 512
"""Configurations of one comprehension; more would take longer to read than they are worth."""


@dataclass(frozen=True)
class Config:
    """One configuration. `numbers` are its block sizes and options where they are known, `words` the source of all values."""

    numbers: Mapping[str, int]
    words: Mapping[str, str]  # of the dictionary alone
    others: tuple[str, ...]  # the source of further arguments, such as "pre_hook=zero"
    spelled: str  # "triton.Config"
    node: ast.Call | None = None  # where it is an element of the list in the decorator


@dataclass(frozen=True)
class Tuner:
    """An autotuner. `configs` is the list (or what makes one) that more can be added to."""

    kernel: Fragment
    call: ast.Call
    configs: ast.expr
    listed: tuple[Config, ...] | None  # None: they come from another file
    key: ast.List | ast.Tuple | None  # where it is written out

    @property
    def names(self) -> frozenset[str]:
        return frozenset(name for config in self.listed or () for name in config.words)


def tuner_of(kernel: Fragment) -> Tuner | Refusal:
    call = kernel.reading.autotuner
    if call is None:
        return Refusal("The kernel is not autotuned.", line=kernel.function.lineno - 1)
    configs = argument(call, 0, "configs")
    if configs is None:
        return Refusal("The autotuner's configurations could not be read.", line=call.lineno - 1)
    while True:  # a function around the list has the last word on it, so more goes into the list
        match configs:
            case ast.Call(args=[ast.List() | ast.ListComp() | ast.Name() as inner], keywords=[]):
                configs = inner
            case _:
                break
    key = argument(call, 1, "key")
    listed_key = key if isinstance(key, ast.List | ast.Tuple) else None
    constant = isinstance(configs, ast.Call) and all(isinstance(arg, ast.Constant) for arg in configs.args)
    listed = _Reader(kernel).configs(configs, in_place=True)
    if listed is None and constant and isinstance(configs, ast.Call) and not configs.keywords:
        return Tuner(kernel, call, configs, None, listed_key)
    if not listed:
        where = f"{ast.unparse(configs)[:60]} (line {configs.lineno})"
        return Refusal(f"The autotuner's configurations could not be read from {where}.", line=configs.lineno - 1)
    return Tuner(kernel, call, configs, listed, listed_key)


@dataclass(frozen=True)
class _Reader:
    kernel: Fragment

    def configs(self, node: ast.expr, in_place: bool = False, depth: int = 0) -> tuple[Config, ...] | None:
        """The configurations of a list, through names and functions of the file that stand for one."""
        if depth > 4:
            return None
        match node:
            case ast.List(elts=elements) | ast.Tuple(elts=elements):
                return self._elements(elements, in_place, depth)
            case ast.ListComp():
                return self._comprehended(node)
            case ast.Name(id=name):
                values = [*self._assigned(name)]
                return self.configs(values[0], depth=depth + 1) if len(values) == 1 else None
            case ast.Call(func=ast.Name(id=name), args=[], keywords=[]):
                values = [*self._returned(name)]
                return self.configs(values[0], depth=depth + 1) if len(values) == 1 else None
            case ast.BinOp(left=left, op=ast.Add(), right=right):
                both = [self.configs(side, depth=depth + 1) for side in (left, right)]
                return None if both[0] is None or both[1] is None else (*both[0], *both[1])
        return None

    def _elements(self, elements: list[ast.expr], in_place: bool, depth: int) -> tuple[Config, ...] | None:
        found: list[Config] = []
        for element in elements:
            if isinstance(element, ast.Starred):
                more = self.configs(element.value, depth=depth + 1)
            else:
                one = self._config(element, {}, in_place)
                more = None if one is None else (one,)
            if more is None:
                return None
            found += more
        return tuple(found)

    def _comprehended(self, node: ast.ListComp) -> tuple[Config, ...] | None:
        """Every configuration of a comprehension over literals; those that an `if` leaves out count as seen, too."""
        names: list[str] = []
        ranges: list[list[int]] = []
        for generator in node.generators:
            over = [*self._assigned(generator.iter.id)] if isinstance(generator.iter, ast.Name) else [generator.iter]
            numbers = [integer(one) for one in getattr(over[0], "elts", [])] if len(over) == 1 else []
            known = [number for number in numbers if number is not None]
            if not isinstance(generator.target, ast.Name) or not known or len(known) < len(numbers):
                return None
            names.append(generator.target.id)
            ranges.append(known)
        found: list[Config] = []
        for values in itertools.islice(itertools.product(*ranges), _MOST_READ):
            one = self._config(node.elt, dict(zip(names, values, strict=True)), in_place=False)
            if one is None:
                return None
            found.append(one)
        return tuple(found)

    def _config(self, node: ast.expr, known: Mapping[str, int], in_place: bool) -> Config | None:
        if not isinstance(node, ast.Call) or dotted(node.func).rpartition(".")[2] != "Config":
            return None
        values = argument(node, 0, "kwargs")
        entries = written_out(values) if values is not None else None
        if entries is None:
            return None
        given = {name: value for i, name in enumerate(OPTIONS, 1) if (value := argument(node, i, name)) is not None}
        numbers = {name: _number(value, known) for name, value in (entries | given).items()}
        if any(numbers[name] is None for name in given):
            return None
        others = [k for k in node.keywords if k.arg not in (*OPTIONS, "kwargs")]
        if any(_depends(value, known) for value in (*entries.values(), *(k.value for k in others))):
            return None
        return Config(
            {**OPTIONS, **{name: number for name, number in numbers.items() if number is not None}},
            {name: _written(value, known) for name, value in entries.items()},
            tuple(f"{k.arg}={_written(k.value, known)}" for k in others),
            dotted(node.func),
            node if in_place else None,
        )

    def _assigned(self, name: str) -> Iterator[ast.expr]:
        """What the file assigns to a name, in whichever block."""
        for node in walk(syntax(self.kernel.text) or ast.Module([], [])):
            if isinstance(node, ast.Assign) and any(isinstance(t, ast.Name) and t.id == name for t in node.targets):
                yield node.value

    def _returned(self, name: str) -> Iterator[ast.expr]:
        """What a function of the file returns."""
        for node in walk(syntax(self.kernel.text) or ast.Module([], [])):
            if isinstance(node, ast.FunctionDef) and node.name == name:
                yield from (one.value for one in walk(node) if isinstance(one, ast.Return) and one.value is not None)


def _number(value: ast.expr, known: Mapping[str, int]) -> int | None:
    return known.get(value.id) if isinstance(value, ast.Name) else integer(value)


def _written(value: ast.expr, known: Mapping[str, int]) -> str:
    number = _number(value, known)
    return ast.unparse(value) if number is None else str(number)


def _depends(value: ast.expr, known: Mapping[str, int]) -> bool:
    """Whether it is computed from a name of the comprehension."""
    return not isinstance(value, ast.Name) and any(isinstance(n, ast.Name) and n.id in known for n in walk(value))
