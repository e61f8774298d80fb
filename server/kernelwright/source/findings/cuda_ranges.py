"""How far the index of an access reaches in one launch, and which thread it is that reaches furthest."""

import functools
from collections.abc import Iterator
from dataclasses import dataclass

from tree_sitter import Node

from kernelwright.source.cuda.flow import VARYING
from kernelwright.source.cuda.numbers import Number, Numbers
from kernelwright.source.cuda.text import field
from kernelwright.source.cuda.variables import Variable
from kernelwright.source.findings.cuda import CudaUnit, Element
from kernelwright.source.findings.cuda_launches import LaunchSite
from kernelwright.source.polynomials import Polynomial

_AXES = "xyz"
_TRIED = 8  # threads out of bounds, and rows of them, whose conditions are looked at

Place = tuple[int, int, int]


@dataclass(frozen=True)
class Counter:
    """The variable of a loop: its `first` value and the `last` one that is looked at, which is the first one too where the
    loop's end is not known; None where each thread begins elsewhere.
    """

    variable: Variable
    first: int | None
    last: int


@dataclass(frozen=True)
class Witness:
    """A thread that reaches an element out of bounds."""

    block: Place
    thread: Place
    index: int


class Reach:
    """The index of one access with the numbers of one launch."""

    def __init__(self, unit: CudaUnit, site: LaunchSite, element: Element) -> None:
        self._unit = unit
        self._site = site
        self._element = element
        self._numbers = Numbers(unit.flow, site.values)

    @functools.cached_property
    def steps(self) -> tuple[int, dict[str, int]] | None:
        """The index as a constant and what each of its names adds; None where it is no sum of known multiples."""
        whole = {name: value for name, value in self._site.values.items() if isinstance(value, int)}
        index: Polynomial = self._element.index.at(whole)
        steps, constant = {}, 0
        for term, number in index.terms:
            if not term:
                constant = number
            elif len(term) > 1 or term[0].startswith(VARYING):
                return None
            else:
                steps[term[0]] = number
        built_in = {f"{name}.{axis}" for name in ("threadIdx", "blockIdx") for axis in _AXES}
        if not {name.rstrip("'") for name in set(steps) - built_in} <= self.counters.keys() or None in (
            *self._site.grid,
            *self._site.block,
        ):
            return None
        if any(counter.first is None and name in steps for name, counter in self.counters.items()):
            return None
        return constant, steps

    @functools.cached_property
    def counters(self) -> dict[str, Counter]:
        """The variables of the loops around the access by name."""
        found: dict[str, Counter] = {}
        for guard in self._unit.guards(self._element.node):
            if guard.statement.type == "for_statement":
                counter = self._counter(guard.statement)
                if counter is not None:
                    found.setdefault(counter.variable.name, counter)
        return found

    def _step(self, counter: Counter) -> int:
        """What a turn of a loop adds to the index."""
        steps = self.steps[1] if self.steps is not None else {}
        return steps.get(counter.variable.name, 0) + steps.get(f"{counter.variable.name}'", 0)

    def _added(self, counter: Counter, value: int) -> int:
        """What a variable adds to the index with a value: `k'` counts from its first one."""
        steps = self.steps[1] if self.steps is not None else {}
        name = counter.variable.name
        return steps.get(name, 0) * value + steps.get(f"{name}'", 0) * (value - (counter.first or 0))

    def highest(self) -> int | None:
        return self._extreme(1)

    def lowest(self) -> int | None:
        return self._extreme(-1)

    def witness(self, extent: int) -> Witness | None:
        """A thread whose index is outside, though all conditions before the access hold for it."""
        highest, lowest = self.highest(), self.lowest()
        if self.steps is None or highest is None or lowest is None or (highest < extent and lowest >= 0):
            return None
        return next(self._witnesses(extent, 1 if highest >= extent else -1), None)

    def _witnesses(self, extent: int, sign: int) -> Iterator[Witness]:
        constant, steps = self.steps or (0, {})
        block = self._corner(steps, "blockIdx", self._site.grid, sign)
        values: dict[str, Number] = {**self._site.values, **_built_in("blockIdx", block)}
        for counter in self.counters.values():
            if counter.first is not None:
                at = counter.last if self._step(counter) * sign > 0 else counter.first
                values[f"{counter.variable.name}@{counter.variable.node.start_byte}"] = at
                constant += self._added(counter, at)
        constant += sum(steps.get(f"blockIdx.{axis}", 0) * at for axis, at in zip(_AXES, block, strict=True))
        by = [steps.get(f"threadIdx.{axis}", 0) for axis in _AXES]
        width, height, depth = (size or 1 for size in self._site.block)
        if width * height * depth > 1024:
            return
        threads = ((x, y, z) for z in range(depth) for y in range(height) for x in range(width))
        placed = ((constant + sum(s * t for s, t in zip(by, one, strict=True)), one) for one in threads)
        outside = [(index, one) for index, one in placed if index >= extent or index < 0]
        outside.sort(key=lambda found: abs(found[0]))
        of_rows = {thread[1:]: (index, thread) for index, thread in reversed(outside)}  # the nearest one of each row
        for index, thread in sorted({*outside[:_TRIED], *list(of_rows.values())[-_TRIED:]}):
            if self._comes_by({**values, **_built_in("threadIdx", thread)}):
                yield Witness(block, thread, index)

    def _comes_by(self, values: dict[str, Number]) -> bool:
        """Whether a thread reaches the access: all conditions are known, and hold."""
        numbers = Numbers(self._unit.flow, values)
        for counter in self.counters.values():
            if counter.first is None:
                start = numbers.of(self._unit.flow.writes(counter.variable)[0].value)
                if start is None:
                    return False
                values[f"{counter.variable.name}@{counter.variable.node.start_byte}"] = start
        for guard in self._unit.guards(self._element.node):
            found = numbers.of(guard.condition)
            if found is None or guard.holds is None or bool(found) is not guard.holds:
                return False
        return True

    def _corner(self, steps: dict[str, int], name: str, dims: tuple[int | None, ...], sign: int) -> Place:
        x, y, z = (
            (size or 1) - 1 if steps.get(f"{name}.{axis}", 0) * sign > 0 else 0
            for axis, size in zip(_AXES, dims, strict=True)
        )
        return x, y, z

    def _extreme(self, sign: int) -> int | None:
        if self.steps is None:
            return None
        found, steps = self.steps
        for name, dims in (("threadIdx", self._site.block), ("blockIdx", self._site.grid)):
            for axis, size in zip(_AXES, dims, strict=True):
                step = steps.get(f"{name}.{axis}", 0)
                found += step * ((size or 1) - 1) if step * sign > 0 else 0
        for counter in self.counters.values():
            step = self._step(counter)
            if counter.first is not None:
                found += self._added(counter, counter.last if step * sign > 0 else counter.first)
        return found

    def _counter(self, loop: Node) -> Counter | None:
        """The variable of `for (int k = 0; k < K; ++k)`, where its ends are known."""
        flow = self._unit.flow
        start, condition, update = (field(loop, name) for name in ("initializer", "condition", "update"))
        declared = [one for one in start.named_children if one.type == "init_declarator"] if start is not None else []
        target = field(declared[0], "declarator") if len(declared) == 1 else None
        variable = flow.variable(target) if target is not None and target.type == "identifier" else None
        if variable is None or condition is None or update is None:
            return None
        first = self._numbers.of(flow.writes(variable)[0].value) if flow.writes(variable) else None
        left, sign, right = (field(condition, name) for name in ("left", "operator", "right"))
        last = self._numbers.of(right)
        is_plain = (
            left is not None
            and flow.content(left) == variable.name
            and flow.content(update).strip(variable.name + " ") == "++"
        )
        if not isinstance(first, int):
            return Counter(variable, None, 0)
        if not isinstance(last, int) or not is_plain or sign is None:
            return Counter(variable, first, first)
        match flow.content(sign):
            case "<":
                return Counter(variable, first, max(last - 1, first))
            case "<=":
                return Counter(variable, first, max(last, first))
        return Counter(variable, first, first)


def _built_in(name: str, place: Place) -> dict[str, int]:
    return {f"{name}.{axis}": at for axis, at in zip(_AXES, place, strict=True)}


def place(at: Place, dims: tuple[int | None, ...]) -> str:
    """A block or thread as it is told: "3", or "(3, 0)" in two dimensions."""
    if dims[2] not in (1, None):
        return f"({at[0]}, {at[1]}, {at[2]})"
    return f"({at[0]}, {at[1]})" if dims[1] not in (1, None) else str(at[0])
