"""A Triton kernel with its launches, as the rules see it."""

import ast
import functools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from kernelwright.source.bindings import Loop
from kernelwright.source.calls import argument, constexprs, defaults
from kernelwright.source.findings.scope import Scope, Steps, source
from kernelwright.source.findings.sizes import Size
from kernelwright.source.trees import children, walk
from kernelwright.source.triton.reader import Reading, is_absent

Terms = tuple[ast.expr, ...]

_SAME_VALUES = ("max_contiguous", "multiple_of", "expand_dims", "cast")
OPTIONS = frozenset(("num_warps", "num_stages", "num_ctas", "maxnreg", "grid", "warmup", "stream"))


@dataclass(frozen=True)
class LaunchSite:
    """`kernel[grid](*args)` in some function. `bindings` are the kernel's parameters with the expressions passed."""

    call: ast.Call
    grid: ast.expr
    scope: Scope
    segment: int
    bindings: Mapping[str, ast.expr]
    options: Mapping[str, ast.expr]


@dataclass(frozen=True)
class Config:
    """One `triton.Config` as far as it is literal: (name, expression) pairs, options included."""

    node: ast.Call
    values: Mapping[str, ast.expr]


@dataclass(frozen=True)
class Range:
    """A `tl.arange` in an index: what is added to it within one product, and all that it is multiplied by."""

    call: ast.Call
    starts: Terms
    factors: Terms


@dataclass(frozen=True)
class Tile:
    """How one axis of an access is cut: `block` elements a program or iteration. `how` is "program", "loop" or "whole"."""

    how: str
    block: ast.expr
    axis: int | None = None  # of the grid, for "program"
    loop: Loop | None = None


@dataclass(frozen=True)
class Setting:
    """What one launch (or one configuration, `tuned`) gives the kernel's parameters and options, by name.

    `numbers` are those of the `values` that are known. They stand in the unit's text number `segment`.
    """

    values: Mapping[str, ast.expr]
    numbers: Mapping[str, int]
    segment: int
    tuned: bool


@dataclass(frozen=True, eq=False)
class TritonUnit(Reading):
    scope: Scope
    launches: tuple[LaunchSite, ...]
    autotune: ast.Call | None = None
    heuristics: tuple[ast.Call, ...] = ()
    sizes: Mapping[str, tuple[tuple[int | str, Size], ...]] = field(default_factory=dict)
    helpers: Mapping[str, ast.FunctionDef] = field(default_factory=dict)  # the device functions that it may call
    is_nested: bool = False  # it is made by another function

    def walk(self, node: ast.AST) -> Iterator[ast.AST]:
        """Visit every node that takes part in a value, through names and the device functions that it calls."""
        seen: set[str] = set()
        for part in self.scope.walk(node):
            yield part
            waiting = [part]
            while waiting:
                match waiting.pop():
                    case ast.Call(func=ast.Name(id=name)) if name in self.helpers and name not in seen:
                        seen.add(name)
                        inner = walk(self.helpers[name])
                        waiting += inner
                        yield from inner

    @functools.cached_property
    def in_pointers(self) -> frozenset[ast.AST]:
        """Collect every node that takes part in the pointer of a load or store."""
        return frozenset(self.scope.walk(*(access.pointer for access in self.loads_and_stores)))

    @functools.cached_property
    def used(self) -> frozenset[str]:
        """Collect the names that the body reads."""
        return frozenset(n.id for n in self.nodes if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load))

    @functools.cached_property
    def _ranged(self) -> dict[ast.AST, bool]:
        return {}

    def has_lanes(self, node: ast.AST) -> bool:
        """Whether a `tl.arange` takes part in a value."""
        if node not in self._ranged:
            self._ranged[node] = any(self.scope.tl(part) == "arange" for part in self.scope.walk(node))
        return self._ranged[node]

    @functools.cached_property
    def constexprs(self) -> frozenset[str]:
        return frozenset(constexprs(self.function))

    @functools.cached_property
    def is_masked(self) -> bool:
        """Whether every access of a tile has a mask."""
        return all(not is_absent(access.mask) for access in self.loads_and_stores if self.tiles(access.pointer))

    @functools.cached_property
    def parents(self) -> dict[ast.AST, ast.AST]:
        return {child: node for node in (self.function, *self.nodes) for child in children(node)}

    def above(self, node: ast.AST) -> Iterator[ast.AST]:
        while (parent := self.parents.get(node)) is not None and parent is not self.function:
            yield parent
            node = parent

    @functools.cached_property
    def configs(self) -> tuple[Config, ...] | None:
        """The autotune configurations, None when they are computed by code that is not read here."""
        if self.autotune is None:
            return ()
        listed = argument(self.autotune, 0, "configs")
        if isinstance(listed, ast.Name):
            listed = self.scope.single(listed)
        if not isinstance(listed, ast.List | ast.Tuple):
            return None
        found = tuple(config for item in listed.elts if (config := _config(self.scope, item)) is not None)
        return found if len(found) == len(listed.elts) else None

    @functools.cached_property
    def settings(self) -> tuple[Setting, ...]:
        """Those of every launch, then of every autotune configuration that is read here."""
        launched = [({**site.bindings, **site.options}, site.scope, site.segment, False) for site in self.launches]
        tuned = [(config.values, self.scope, 0, True) for config in self.configs or ()]
        return tuple(
            Setting(
                values,
                {name: n for name, value in values.items() if (n := scope.number(value)) is not None},
                segment,
                is_tuned,
            )
            for values, scope, segment, is_tuned in (*launched, *tuned)
        )

    @functools.cached_property
    def geometries(self) -> tuple[dict[str, int], ...]:
        """The known numbers of parameters and options, once for every launch and configuration."""
        given = {name: n for name, value in defaults(self.function) if (n := self.scope.number(value)) is not None}
        launches = [setting.numbers for setting in self.settings if not setting.tuned] or [{}]
        configs = [setting.numbers for setting in self.settings if setting.tuned] or [{}]
        return tuple({**given, **launch, **config} for launch in launches for config in configs)

    def numbers(self, node: ast.expr) -> tuple[int, ...]:
        """Every value that an expression of the kernel takes over the geometries in which it is known."""
        return tuple(n for known in self.geometries if (n := self.scope.number(node, known)) is not None)

    def program_axis(self, node: ast.expr) -> int | None:
        """The grid axis of an expression that is a program id, through swizzling arithmetic; None when it is not."""
        for part in self.scope.walk(node, into=lambda n: self.scope.tl(n) not in ("load", "arange")):
            if isinstance(part, ast.Call) and self.scope.tl(part) == "program_id":
                axis = self.scope.number(argument(part, 0, "axis"))
                return 0 if axis is None else axis
        return None

    def ranges(self, index: ast.expr) -> list[Range]:
        """Each `tl.arange` in an index expression, through the names in it."""
        return list(self._ranges(index, (), (), frozenset(), Steps()))

    def _ranges(
        self, node: ast.expr, starts: Terms, factors: Terms, seen: frozenset[ast.expr], steps: Steps
    ) -> Iterator[Range]:
        steps.take()
        recur = functools.partial(self._ranges, seen=seen, steps=steps)
        match node:
            case ast.Name():
                for value in self.scope.given(node):
                    if value not in seen:
                        yield from self._ranges(value, starts, factors, seen | {value}, steps)
            case ast.BinOp(left=left, op=ast.Add() | ast.Sub(), right=right):
                yield from recur(left, (*starts, right), factors)
                yield from recur(right, (*starts, left), factors)
            case ast.BinOp(left=left, op=ast.Mult(), right=right):
                # Inside a product the sums of the outside are of another unit: offs_m[:, None] * stride + offs_n.
                yield from recur(left, (), (*factors, right))
                yield from recur(right, (), (*factors, left))
            case ast.Subscript(value=value):
                yield from recur(value, starts, factors)
            case ast.Call(func=ast.Attribute(value=value, attr="to")) if self.tl(node) == "":
                yield from recur(value, starts, factors)
            case ast.Call() if self.tl(node) == "arange":
                yield Range(node, starts, factors)
            case ast.Call(args=[value, *_]) if self.tl(node) in _SAME_VALUES:
                yield from recur(value, starts, factors)

    def tiles(self, pointer: ast.expr) -> list[Tile]:
        """The tiles of an index expression: each `tl.arange` in it with the start that is added to it."""
        steps = Steps()
        return [self._tile(one, steps) for one in self._ranges(pointer, (), (), frozenset(), steps)]

    def _tile(self, one: Range, steps: Steps) -> Tile:
        block = argument(one.call, 1, "end") or ast.Constant(0)
        for term in (t for start in one.starts for t in self._terms(start, frozenset(), steps)):
            match term:
                case ast.BinOp(left=left, op=ast.Mult(), right=right):
                    for factor, other in ((left, right), (right, left)):
                        if self.same(other, block) and (axis := self.program_axis(factor)) is not None:
                            return Tile("program", block, axis)
                        if self.same(other, block) and (loop := self.scope.loop(factor)) is not None:
                            return Tile("loop", block, loop=loop)
                case ast.Name() if (loop := self.scope.loop(term)) is not None:
                    if loop.step is not None and self.same(loop.step, block):
                        return Tile("loop", block, loop=loop)
        return Tile("whole", block)

    def _terms(self, node: ast.expr, seen: frozenset[ast.expr], steps: Steps) -> Iterator[ast.expr]:
        """The summands of an expression, through names and casts."""
        steps.take()
        match node:
            case ast.Name() if self.scope.loop(node) is None and (values := self.scope.given(node)):
                for value in values:
                    if value not in seen:
                        yield from self._terms(value, seen | {value}, steps)
            case ast.Call(args=[value, *_]) if self.scope.tl(node) in _SAME_VALUES:
                yield from self._terms(value, seen, steps)
            case ast.BinOp(left=left, op=ast.Add() | ast.Sub(), right=right):
                yield from self._terms(left, seen, steps)
                yield from self._terms(right, seen, steps)
            case ast.Call(func=ast.Attribute(value=value, attr="to")) if self.scope.tl(node) == "":
                yield from self._terms(value, seen, steps)
            case _:
                yield node

    def same(self, a: ast.expr, b: ast.expr) -> bool:
        return source(self.scope.single(a)) == source(self.scope.single(b))

    @functools.cached_property
    def program_blocks(self) -> dict[int, frozenset[str]]:
        """For each grid axis the names of the block sizes that its program id is multiplied by."""
        found: dict[int, set[str]] = {}
        for node in self.nodes:
            if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult):
                for factor, other in ((node.left, node.right), (node.right, node.left)):
                    if (
                        isinstance(other, ast.Name)
                        and other.id in self.constexprs
                        and self._extent_of_arange(other)
                        and (axis := self.program_axis(factor)) is not None
                    ):
                        found.setdefault(axis, set()).add(other.id)
        return {axis: frozenset(names) for axis, names in found.items()}

    def _extent_of_arange(self, name: ast.Name) -> bool:
        return any(self.same(lanes.end or lanes.call, name) for lanes in self.lanes)


def key_of(unit: TritonUnit) -> ast.List | ast.Tuple | None:
    """Find the autotuner's key where it is listed in place."""
    key = argument(unit.autotune, 1, "key") if unit.autotune is not None else None
    return key if isinstance(key, ast.List | ast.Tuple) else None


def grid_axis(site: LaunchSite, axis: int) -> ast.expr | None:
    """The grid's expression for one axis, through a name, a lambda or a nested function."""
    grid = site.scope.single(site.grid)
    if isinstance(grid, ast.Lambda):
        grid = grid.body
    if isinstance(grid, ast.Tuple | ast.List):
        return site.scope.single(grid.elts[axis]) if axis < len(grid.elts) else None
    return grid if axis == 0 else None


def _config(scope: Scope, node: ast.expr) -> Config | None:
    if not (isinstance(node, ast.Call) and scope.canonical(node) == "triton.Config"):
        return None
    values: dict[str, ast.expr] = {k.arg: k.value for k in node.keywords if k.arg in OPTIONS}
    match argument(node, 0, "kwargs"):
        case ast.Dict(keys=keys, values=its):
            for key, value in zip(keys, its, strict=True):
                if not (isinstance(key, ast.Constant) and isinstance(key.value, str)):
                    return None
                values[key.value] = value
        case _:
            return None
    for position, name in ((1, "num_warps"), (2, "num_stages")):
        if len(node.args) > position:
            values[name] = node.args[position]
    return Config(node, values)
