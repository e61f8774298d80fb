"""What the autotuner above a Triton kernel says: its configurations as far as the file writes them out, and its key."""

import ast
import itertools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from kernelwright.micro.rewrite.triton_launch import OPTIONS
from kernelwright.micro.rewrite.triton_passed import written_out
from kernelwright.micro.rewrite.triton_source import Fragment, integer
from kernelwright.source.bindings import bindings
from kernelwright.source.calls import argument, dotted
from kernelwright.source.document import parse
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
    reader = _Reader(kernel)
    listed = reader.configs(configs, in_place=True)
    match configs:  # what another file makes
        case ast.Call(args=args, keywords=[]) if listed is None and all(isinstance(arg, ast.Constant) for arg in args):
            return Tuner(kernel, call, configs, None, listed_key)
        case ast.Name(id=name) if not [*reader.assigned(name)]:
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
                return self._all([*self.assigned(name)], depth)
            case ast.Call(func=ast.Name(id=name), args=[], keywords=[]):
                return self._all([*self._returned(name)], depth)
            case ast.BinOp(left=left, op=ast.Add(), right=right):
                return self._all([left, right], depth)
        return None

    def _all(self, values: list[ast.expr], depth: int) -> tuple[Config, ...] | None:
        """Those of several lists; of a name that branches assign, whichever of them is the one."""
        found: list[Config] = []
        for value in values:
            more = self.configs(value, depth=depth + 1)
            if more is None:
                return None
            found += more
        return tuple(found) if values else None

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
        ranges: list[list[dict[str, int]]] = []
        for generator in node.generators:
            over = [generator.iter]
            if isinstance(generator.iter, ast.Name):
                over = [one for one in self.assigned(generator.iter.id) if isinstance(one, ast.List | ast.Tuple)]
            elements = getattr(over[0], "elts", []) if len(over) == 1 else []
            numbers = [_unpacked(generator.target, element) for element in elements]
            known = [one for one in numbers if one is not None]
            if not known or len(known) < len(numbers):
                return None
            ranges.append(known)
        found: list[Config] = []
        for values in itertools.islice(itertools.product(*ranges), _MOST_READ):
            known_names = {name: number for one in values for name, number in one.items()}
            config = self._config(node.elt, known_names, in_place=False)
            if config is None:
                return None
            found.append(config)
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

    def assigned(self, name: str) -> Iterator[ast.expr]:
        """What the file assigns to a name, in whichever block."""
        return (one.value for one in bindings(self._nodes(name)) if one.name == name)

    def _returned(self, name: str) -> Iterator[ast.expr]:
        """What a function of the file returns."""
        for node in self._nodes(name):
            if isinstance(node, ast.FunctionDef) and node.name == name:
                yield from (one.value for one in walk(node) if isinstance(one, ast.Return) and one.value is not None)

    def _nodes(self, name: str) -> Iterator[ast.AST]:
        """The nodes of the top-level pieces that mention a name: each is parsed once, however often another one changes."""
        trees = (syntax(piece.text) for piece in parse(self.kernel.text).pieces if name in piece.text)
        return (node for tree in trees if tree is not None for node in walk(tree))


def _unpacked(target: ast.expr, element: ast.expr) -> dict[str, int] | None:
    """The numbers that an element of a list gives to the names of a comprehension."""
    pairs = [(target, element)]
    if (
        isinstance(target, ast.Tuple)
        and isinstance(element, ast.Tuple | ast.List)
        and len(target.elts) == len(element.elts)
    ):
        pairs = [*zip(target.elts, element.elts, strict=True)]
    found = {
        name.id: number for name, one in pairs if isinstance(name, ast.Name) and (number := integer(one)) is not None
    }
    return found if len(found) == len(pairs) else None


def _number(value: ast.expr, known: Mapping[str, int]) -> int | None:
    return known.get(value.id) if isinstance(value, ast.Name) else integer(value)


def _written(value: ast.expr, known: Mapping[str, int]) -> str:
    number = _number(value, known)
    return ast.unparse(value) if number is None else str(number)


def _depends(value: ast.expr, known: Mapping[str, int]) -> bool:
    """Whether it is computed from a name of the comprehension."""
    return not isinstance(value, ast.Name) and any(isinstance(n, ast.Name) and n.id in known for n in walk(value))
