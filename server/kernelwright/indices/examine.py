"""Examines the indices of all kernels of a text, for the launches that its workload lines make."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from kernelwright.indices.checks import Asks, At, Open, Outside, Race, outside, races
from kernelwright.indices.launches import launches
from kernelwright.indices.memory import Access, Launched, TooMuch
from kernelwright.indices.results import Checked, Indices, Remark
from kernelwright.indices.statements import followed
from kernelwright.source.cuda import read
from kernelwright.source.cuda.definitions import File, Function
from kernelwright.source.findings.cuda_ranges import place

_MOST_LAUNCHES = 3  # of one kernel
_FOR_ALL_BLOCKS = re.compile(r"\bgrid\w*\s*\.\s*sync|this_grid|cluster|cooperative_groups::grid")
_LOCKS = re.compile(r"\b(?:while|if)\s*\([^;{}]*\batomic(?:CAS|Exch)")  # what lets threads in one by one
_NO_LAUNCH = "no workload line launches it with a grid and a block that are known"
_NOT_READ = "it is written in a way that is not modelled, or too large"


@dataclass
class _Tally:
    """What became of each access of a kernel by its place in the text, over all launches."""

    inside: set[int] = field(default_factory=set)
    outside: set[int] = field(default_factory=set)
    open: set[int] = field(default_factory=set)
    apart: bool | None = True
    remarks: dict[tuple[str, str, str], Remark] = field(default_factory=dict)


def examine(text: str, lines: Sequence[str], solver: Asks) -> Indices:
    """Look for accesses out of bounds and write races. `lines` are the calls of the workload lines, in order."""
    file = read(text)
    remarks, kernels = list[Remark](), list[Checked]()
    for kernel in file.kernels:
        solver.begin()
        try:
            found, checked = _kernel(file, kernel, lines, solver)
        except (TooMuch, RecursionError):
            found, checked = (), Checked(kernel.name, reason=_NOT_READ)
        remarks += found
        kernels.append(checked)
    return Indices(tuple(sorted(remarks, key=lambda one: (one.line, one.column))), tuple(kernels))


def _kernel(file: File, kernel: Function, lines: Sequence[str], solver: Asks) -> tuple[Sequence[Remark], Checked]:
    tally, count = _Tally(), 0
    for count, launched in enumerate(launches(file, kernel, lines), 1):
        if count > _MOST_LAUNCHES:
            break
        _launch(file, kernel, launched, solver, tally)
    if not count:
        return (), Checked(kernel.name, reason=_NO_LAUNCH)
    open_ = tally.open - tally.outside
    inside = tally.inside - tally.outside - open_
    checked = Checked(kernel.name, len(inside), len(tally.outside), len(open_), tally.apart)
    return tuple(tally.remarks.values()), checked


def _launch(file: File, kernel: Function, launched: Launched, solver: Asks, tally: _Tally) -> None:
    run = followed(file, kernel, launched)
    for access in run.accesses:
        key = access.node.start_byte
        if key in tally.outside:
            continue
        try:
            found = outside(access, run.terms, solver)
        except Open:
            tally.open.add(key)
            continue
        if found is None:
            tally.inside.add(key)
        else:
            tally.outside.add(key)
            _note(tally, file, kernel, access, "cuda.out-of-bounds", _outside(found, launched))
    tally.open |= run.missed | ({-1} if run.is_partial else set())
    is_locked = _LOCKS.search(file.source.content(kernel.node)) is not None
    pointers = sum(one.is_pointer for one in kernel.parameters)
    if run.missed or run.is_partial or is_locked or len(set(launched.tensors.values())) < pointers:
        tally.apart = None if tally.apart else tally.apart
    if is_locked:
        return
    across = _FOR_ALL_BLOCKS.search(file.source.content(kernel.node)) is None
    for race in races(run.accesses, launched, run.terms, solver, across_blocks=across):
        if race is None:
            tally.apart = None if tally.apart else tally.apart
        else:
            tally.apart = False
            if not {race.first.node.start_byte, race.second.node.start_byte} & tally.outside:  # else it comes of that
                _note(tally, file, kernel, race.second, "cuda.write-race", _race(race, launched))


def _note(tally: _Tally, file: File, kernel: Function, access: Access, code: str, message: str) -> None:
    source, node = file.source, access.node
    column = source.column(node.start_byte)
    end = column + len(source.content(node).split("\n")[0])
    key = code, access.array.name, source.content(node)
    tally.remarks.setdefault(key, Remark(code, message, node.start_point.row, column, end, kernel.name))


def _outside(found: Outside, launched: Launched) -> str:
    access, array = found.access, found.access.array
    extent = (array.extent or 0) // array.size
    does = {"load": "reads", "store": "writes"}.get(access.kind, "changes")
    remedy = (
        "test the index against the size before this access"
        if array.space == "global"
        else "make the array larger, or test the index"
    )
    return (
        f"With the sizes of the workload, {told_place(found.at, launched)} {does} {_element(access, found.at)} of {extent} "
        f"elements: {remedy}."
    )


def _race(found: Race, launched: Launched) -> str:
    element = _element(found.first, found.one)
    who = f"{told_place(found.one, launched)} and {told_place(found.other, launched)}"
    if "update" in (found.first.kind, found.second.kind):
        return (
            f"With the sizes of the workload, {who} both read, change and write {element} at once, so updates get lost: "
            "use an atomic, or reduce first."
        )
    return (
        f"With the sizes of the workload, {who} both write {element}, and either value may stay: give each thread an "
        "element of its own."
    )


def _element(access: Access, at: At) -> str:
    array = access.array
    first, last = at.offset // array.size, (at.offset + access.size - 1) // array.size
    if array.extent == array.size and at.offset == 0:
        return array.name
    return f"{array.name}[{first}]" if first == last else f"{array.name}[{first}] to {array.name}[{last}]"


def told_place(at: At, launched: Launched) -> str:
    """A thread for a person: "block 3, thread 17"."""
    return f"block {place(at.block, launched.grid)}, thread {place(at.thread, launched.block)}"
