"""What a rewrite of CUDA kernels owes its text: accesses within bounds, no write races, and the same elements written.

A counterexample is certain; that none is found proves nothing, which is the gate's business.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from tree_sitter import Node

from kernelwright.indices.checks import Asks, example_at, place_of
from kernelwright.indices.examine import examine, told_place
from kernelwright.indices.launches import all_launches
from kernelwright.indices.memory import Access, Launched, TooMuch
from kernelwright.indices.statements import followed
from kernelwright.indices.terms import Environment, Term, Terms
from kernelwright.source.cuda import read
from kernelwright.source.cuda.definitions import File
from kernelwright.source.cuda.text import walk

_SHARES = (1, 3 / 4, 1 / 2, 1 / 4, 0)  # of a tensor: the elements nearest below these are looked at


def counterexample(before: str, after: str, lines: Sequence[str], solver: Asks) -> str | None:
    """A sentence on what the text `after` does wrong and `before` does not, for the launches of workload lines."""
    found = examine(after, lines, solver).remarks
    if found:
        earlier = {one.code for one in examine(before, lines, solver).remarks}
        new = next((one for one in found if one.code not in earlier), None)
        if new is not None:
            return f"In {new.kernel} of the rewritten text: {new.message}"
    for line in lines:
        solver.begin()
        old, new_writes = _Writes.of(before, line), _Writes.of(after, line)
        if old is None or new_writes is None:
            continue
        for tensor in sorted(old.tensors & new_writes.tensors):
            missing = _missing(tensor, old, new_writes, solver)
            if missing is not None:
                return f"With the sizes of the workload, no thread of the rewritten text writes {missing} of the baseline does."
            added = _missing(tensor, new_writes, old, solver)
            if added is not None:
                return f"With the sizes of the workload, no thread of the baseline writes {added} of the rewritten text does."
    return None


@dataclass(frozen=True)
class _Write:
    access: Access
    terms: Terms
    launched: Launched


@dataclass(frozen=True)
class _Writes:
    """All writes of a text to the tensors of a workload line; `tensors` are those of which nothing is missing."""

    writes: dict[str, list[_Write]]
    tensors: frozenset[str]

    @classmethod
    def of(cls, text: str, line: str) -> "_Writes | None":
        """None where not all that the line runs is followed."""
        file = read(text)
        launches = all_launches(file, line)
        if launches is None:
            return None
        writes: dict[str, list[_Write]] = {}
        seen: set[str] = set()
        for kernel, launched in launches:
            try:
                run = followed(file, kernel, launched)
            except (TooMuch, RecursionError):
                return None
            if run.missed or run.is_partial or len(launched.tensors) < sum(one.is_pointer for one in kernel.parameters):
                return None
            seen |= set(launched.tensors.values())
            for access in run.accesses:
                if access.kind == "load" or access.array.space != "global":
                    continue
                if not access.offset.is_known:
                    return None
                tensor = launched.tensors[access.array.name]
                writes.setdefault(tensor, []).append(_Write(access, run.terms, launched))
        return cls(writes, frozenset(one for one in seen if not _is_used_by_others(file, line, one)))


def _is_used_by_others(file: File, line: str, tensor: str) -> bool:
    """Whether the host function gives a tensor to more than its launches."""
    entry = file.function(line.split("(")[0].split("<")[0].strip())
    if entry is None or entry.is_kernel:
        return False
    given = {argument.id for one in file.launches if one.function is entry for argument in one.arguments}
    named: Iterator[Node] = (one for one in walk(entry.body) if one.type == "identifier")
    return any(file.source.content(one) == tensor and one.id not in given for one in named)


def _missing(tensor: str, old: _Writes, new: _Writes, solver: Asks) -> str | None:
    """An element that `old` writes and `new` does not, with who writes it: "y[3], which block 0, thread 3"."""
    for write in old.writes.get(tensor, ()):
        if not write.access.is_known:
            continue
        for found in _examples(write, solver):
            at = place_of(write.access, found)
            if all(_never(one, at.offset, solver) for one in new.writes.get(tensor, ())):
                element = at.offset // write.access.array.size
                return f"{tensor}[{element}], which {told_place(at, write.launched)}"
    return None


def _examples(write: _Write, solver: Asks) -> Iterator[Environment]:
    """Threads that make a write: those that reach furthest below some parts of the tensor."""
    access, terms = write.access, write.terms
    extent = access.array.extent or 0
    for share in _SHARES:
        low, high = access.offset.low, min(access.offset.high, int(extent * share))
        best = example_at(solver, [*access.path, terms.at_most(access.offset, terms.number(high))])
        while best is not None:
            offset = place_of(access, best).offset
            low = max(low, offset + 1)
            if low > high:
                break
            middle = (low + high + 1) // 2
            further = _between(access, terms, middle, high, solver)
            if further is not None:
                best = further
            else:
                high = middle - 1
        if best is not None:
            yield best


def _between(access: Access, terms: Terms, low: int, high: int, solver: Asks) -> Environment | None:
    limits = terms.at_most(terms.number(low), access.offset), terms.at_most(access.offset, terms.number(high))
    return example_at(solver, [*access.path, *limits])


def _never(write: _Write, offset: int, solver: Asks) -> bool:
    """Whether no thread certainly makes this write to a byte."""
    access, terms = write.access, write.terms
    place = terms.number(offset)
    covers: list[Term] = [
        terms.at_most(access.offset, place),
        terms.less(place, terms.add(access.offset, terms.number(access.size))),
    ]
    known = [one for one in (*access.path, *covers) if one.is_known]
    return any(one.number == 0 for one in known) or solver.example(known) is False
