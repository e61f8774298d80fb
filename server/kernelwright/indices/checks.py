"""Questions about the accesses of a kernel: does one leave its array, and do two threads write one element?"""

import itertools
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations_with_replacement
from typing import Protocol

from kernelwright.indices.memory import Access, Launched
from kernelwright.indices.terms import Environment, Term, Terms, evaluate, variables

_AXES = "xyz"
_THREAD, _BLOCK = "threadIdx", "blockIdx"
_WARP = 32
_MIXED = re.compile(r"unknown .*(?:mixed|#)")
_MOST_PAIRS = 400
_OF_A_THREAD = ("unknown turn", "unknown after", "unknown unset")  # what each thread may have another value of

Place = tuple[int, int, int]


class Asks(Protocol):
    """What answers: see `asking.Solver`."""

    def begin(self) -> None:
        """Begins with the next kernel."""

    def example(self, conditions: Sequence[Term]) -> Environment | bool:
        """Numbers that fulfil the conditions, False without any, True where that is open."""


@dataclass(frozen=True)
class At:
    """A thread with the byte that it accesses."""

    block: Place
    thread: Place
    offset: int


@dataclass(frozen=True)
class Outside:
    """An access out of bounds."""

    access: Access
    at: At


@dataclass(frozen=True)
class Race:
    """Two threads that write the same bytes, with nothing that orders them."""

    first: Access
    second: Access
    one: At
    other: At


class Open(Exception):
    """A question that was not decided."""


def outside(access: Access, terms: Terms, solver: Asks) -> Outside | None:
    """A thread whose access is out of bounds; None where there is none. Raises Open where that is not decided."""
    extent = access.array.extent
    if extent is None or not access.offset.is_known:
        raise Open
    if access.offset.low >= 0 and access.offset.high + access.size <= extent:
        return None
    below = terms.less(access.offset, terms.number(0))
    above = terms.less(terms.number(extent - access.size), access.offset)
    found = _example(solver, [*access.path, terms.either(below, above)])
    return Outside(access, place_of(access, found)) if found is not None else None


def example_at(solver: Asks, conditions: Sequence[Term]) -> Environment | None:
    """Numbers that fulfil conditions which are all modelled; None without any, or where that is open."""
    if any(one.number == 0 for one in conditions):
        return None
    found = solver.example([one for one in conditions if one.number is None])
    return None if isinstance(found, bool) else found


def _example(solver: Asks, conditions: Sequence[Term]) -> Environment | None:
    """Numbers that fulfil all conditions, None where there are none even without those that are not modelled.

    Raises Open where neither is certain.
    """
    known = [one for one in conditions if one.is_known]
    if any(one.number == 0 for one in known):
        return None
    found = solver.example(known)
    if found is False:
        return None
    if isinstance(found, bool) or len(known) < len(conditions):
        raise Open
    return found


def races(
    accesses: Sequence[Access], launched: Launched, terms: Terms, solver: Asks, *, across_blocks: bool
) -> Iterator[Race | None]:
    """Pairs of threads that write different values to one element; None for each pair of writes that is not decided.

    `across_blocks` says whether blocks run apart from one another to the end, with nothing that all of them wait for.
    """
    by_array: dict[str, list[Access]] = {}
    for one in accesses:
        if one.kind in ("store", "update"):
            by_array.setdefault(one.array.name, []).append(one)
    written = frozenset(f"unknown load {one.array.name}" for one in accesses if one.kind != "load")
    if any(one.kind == "atomic" and one.array.name in by_array for one in accesses):
        yield None  # whether a plain write meets an atomic is not asked
    if not across_blocks and any(group[0].array.space == "global" for group in by_array.values()):
        yield None
    dims = {
        f"{name}.{axis}": terms.variable(f"{name}.{axis}", 0, size - 1)
        for name, sizes in ((_THREAD, launched.block), (_BLOCK, launched.grid))
        for axis, size in zip(_AXES, sizes, strict=True)
        if size > 1
    }
    for group in by_array.values():
        for count, (first, second) in enumerate(combinations_with_replacement(group, 2)):
            if count > _MOST_PAIRS or not (first.offset.is_known and second.offset.is_known):
                yield None
                continue
            try:
                found = _race(first, second, written, dims, terms, solver, False)
                if found is None and first.array.space == "global" and across_blocks:
                    found = _race(first, second, written, dims, terms, solver, True)
            except Open:
                yield None
                continue
            if found is not None:
                yield found


def _race(
    first: Access,
    second: Access,
    written: frozenset[str],
    dims: dict[str, Term],
    terms: Terms,
    solver: Asks,
    across: bool,
) -> Race | None:
    pairs, is_all = _pairs(first, second, written)
    phases = first.phase, second.phase
    every = dims | variables(first.offset, second.offset, *first.path, *second.path, *phases)
    every |= variables(*itertools.chain(*pairs))
    kept = set() if across else {name for name in every if name.startswith(_BLOCK)}
    names = {name: terms.variable(f"{name}'", one.low, one.high) for name, one in every.items() if name not in kept}

    def primed(term: Term) -> Term:
        return terms.replaced(term, names)

    offset = primed(second.offset)
    if first.size == second.size:
        overlap = terms.equal(first.offset, offset)
    else:
        overlap = terms.both(
            terms.less(first.offset, terms.add(offset, terms.number(second.size))),
            terms.less(offset, terms.add(first.offset, terms.number(first.size))),
        )
    conditions = [*first.path, *map(primed, second.path), overlap]
    differs = terms.number(int("update" in (first.kind, second.kind)))
    for one, other in pairs:
        differs = terms.either(differs, terms.negated(terms.equal(one, primed(other))))
    if across:
        conditions.append(_different(terms, dims, names, _BLOCK))
    else:
        conditions.append(_together(first, second, terms, primed))
        conditions.append(_different(terms, dims, names, _THREAD))
    # Within a warp one statement ends before the next one begins, though nothing promises that.
    apart = [] if across or first.node == second.node else [_in_other_warps(terms, dims, names)]
    found = _example(solver, [*conditions, *apart, differs])
    if found is None:
        if (apart or not is_all) and _example(solver, conditions if not is_all else [*conditions, differs]) is not None:
            raise Open
        return None
    later = {name: found.get(f"{name}'", found.get(name, 0)) for name in every}
    return Race(first, second, place_of(first, {name: found.get(name, 0) for name in every}), place_of(second, later))


def _together(first: Access, second: Access, terms: Terms, primed: Callable[[Term], Term]) -> Term:
    """That no barrier lies between two accesses."""
    if first.phase.is_known and second.phase.is_known:
        return terms.equal(first.phase, primed(second.phase))
    in_turns = any(name.startswith("turn") for name in variables(first.phase, second.phase))
    return terms.number(1) if first.phase is second.phase and not in_turns else terms.unknown("phase")


def _different(terms: Terms, dims: dict[str, Term], names: dict[str, Term], which: str) -> Term:
    """That two threads differ in one of three indices; an index that nothing reads may differ always."""
    result = terms.number(0)
    for name, term in dims.items():
        if name.startswith(which):
            result = terms.either(result, terms.negated(terms.equal(term, names[name])))
    return result


def _in_other_warps(terms: Terms, dims: dict[str, Term], names: dict[str, Term]) -> Term:
    return terms.negated(terms.equal(_warp(terms, dims, {}), _warp(terms, dims, names)))


def _warp(terms: Terms, dims: dict[str, Term], names: dict[str, Term]) -> Term:
    number, step = terms.number(0), 1
    for axis in _AXES:
        term = dims.get(f"{_THREAD}.{axis}")
        if term is not None:
            number = terms.add(number, terms.multiply(names.get(term.name, term), terms.number(step)))
        step *= term.high + 1 if term is not None else 1
    return terms.divide(number, terms.number(_WARP))


def _pairs(first: Access, second: Access, written: frozenset[str]) -> tuple[list[tuple[Term, Term]], bool]:
    """The modelled terms that two written values were computed from: where these differ, the values do.

    And whether they are the same where all of these agree. It is not known, and there are no terms, where the two were not
    computed alike, or where a part comes from other threads and may be the same in all of them. `written` are the loads of
    arrays that change meanwhile.
    """
    if "update" in (first.kind, second.kind):
        return [], True
    if first.value is None or second.value is None:
        return [], False
    found, seen, waiting = list[tuple[Term, Term]](), set[tuple[int, int]](), [(first.value, second.value)]
    is_all = True
    while waiting:
        one, other = waiting.pop()
        if (id(one), id(other)) in seen:
            continue
        seen.add((id(one), id(other)))
        if one.is_known and other.is_known:
            found.append((one, other))
        elif one.operator != other.operator or len(one.operands) != len(other.operands) or _MIXED.match(one.operator):
            return [], False
        else:
            is_all = is_all and one.operator not in written and not one.operator.startswith(_OF_A_THREAD)
            waiting += zip(one.operands, other.operands, strict=True)
    return found, is_all


def place_of(access: Access, found: Environment) -> At:
    """The thread of an example, with what it accesses."""
    numbers = {name: term.low for name, term in variables(access.offset).items()} | dict(found)
    block, thread = (
        (numbers.get(f"{name}.x", 0), numbers.get(f"{name}.y", 0), numbers.get(f"{name}.z", 0))
        for name in (_BLOCK, _THREAD)
    )
    return At(block, thread, evaluate(access.offset, numbers))
