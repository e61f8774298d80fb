"""Triton functions as Kernels: who launches them, with which helpers, and what a workload can call."""

import dataclasses
import functools
from collections.abc import Mapping
from typing import NamedTuple

from kernelwright.source.definitions import NAME, Function, RawLaunch
from kernelwright.source.estimate import estimate_triton
from kernelwright.source.linked import Entry, File, Placed, function_entry, is_support, kernel_of, shifted
from kernelwright.values import Estimate, Facts, Kernel, Language, Launch


class _Site(NamedTuple):
    """One launch of a kernel; `line` is where its piece begins, `function` what stands around it."""

    raw: RawLaunch
    line: int
    function: Function | None


def triton_kernels(file: File) -> list[Kernel]:
    written = {p.function.name: p for p in file.functions if p.function.uses_triton}
    sites = _sites(file, written)
    jit = {
        name: placed
        for name, placed in written.items()
        if placed.function.is_jit or sites[name] or _decorated_later(file, name)
    }
    unlaunched = {name for name in jit if not sites[name]}
    helpers = {used for name, p in jit.items() for used in p.function.mentions & unlaunched if used != name}
    helpers |= {name for name in unlaunched if name not in file.called and _is_part(jit[name].function, jit)}
    return [
        _kernel(
            placed,
            tuple(sites[name]),
            _entry(file, placed, sites[name]),
            _helpers_of(placed, jit, helpers),
            _configs(file, placed.function),
        )
        for name, placed in jit.items()
        if name not in helpers
    ]


@functools.lru_cache(maxsize=512)
def _kernel(
    placed: Placed,
    sites: tuple[_Site, ...],
    entry: Entry | None,
    helpers: tuple[tuple[Placed, bool], ...],
    configs: int,
) -> Kernel:
    """The Kernel, with the facts of its helpers and the work as its launcher's sizes say it."""
    facts = dataclasses.replace(
        placed.function.facts, operations=placed.function.facts.operations + _operations_passed(placed, helpers)
    )
    estimate = Estimate()
    launcher = next((s for s in sites if s.function and entry and s.function.name == entry.name), None)
    if launcher is not None and launcher.function is not None:
        together = functools.reduce(lambda facts, helper: _merged(facts, helper[0].function.facts), helpers, facts)
        assigned = (*placed.function.assignments, *(a for h, _ in helpers for a in h.function.assignments))
        estimate = estimate_triton(together, assigned, launcher.raw, launcher.function)
    facts = shifted(facts, placed.line)
    for helper, in_loop in helpers:
        facts = _merged(facts, shifted(helper.function.facts, helper.line, in_loop))
    return kernel_of(
        Language.TRITON,
        placed.line,
        placed.function,
        entry=entry,
        launches=tuple(map(_launch, sites)),
        facts=dataclasses.replace(facts, autotune_configs=configs, estimate=estimate),
    )


def _operations_passed(placed: Placed, helpers: tuple[tuple[Placed, bool], ...]) -> int:
    """What the helpers that a kernel's elements go through make of each of them, each helper counted once."""
    by_name = {helper.function.name: helper.function for helper, _ in helpers}
    reached: set[str] = set()
    waiting = [*placed.function.passes_to]
    while waiting:
        name = waiting.pop()
        if name in by_name and name not in reached:
            reached.add(name)
            waiting += by_name[name].passes_to
    return sum(by_name[name].operations_passed for name in reached)


def _is_part(function: Function, jit: Mapping[str, Placed]) -> bool:
    """Whether it is a device function for kernels of other files.

    It returns a value, which no launch can, or it touches no memory, nor asks which program it runs in.
    """
    if function.returns:
        return True
    parts = [function, *(jit[name].function for name in function.mentions & jit.keys())]
    return not any(part.facts.accesses or "program_id" in part.mentions for part in parts)


def _sites(file: File, written: Mapping[str, Placed]) -> dict[str, list[_Site]]:
    sites: dict[str, list[_Site]] = {name: [] for name in written}
    attributes = _attributes(file) if written else {}
    for placed in file.functions:
        if placed.function.outer is not None or not placed.function.launches:
            continue  # the function around it has the launch too
        local = attributes.get(placed.function.owner or "", {}) | dict(placed.function.assignments)
        for raw in placed.function.launches:
            for name in _launched(file, raw, local, written):
                sites[name].append(_Site(raw, placed.line, placed.function))
    for line, raw in file.loose:
        for name in _launched(file, raw, {}, written):
            sites[name].append(_Site(raw, line, None))
    return sites


def _attributes(file: File) -> dict[str, dict[str, str]]:
    """Of each class, what its methods assign to attributes of `self`."""
    found: dict[str, dict[str, str]] = {}
    for placed in file.functions:
        for target, value in placed.function.assignments if placed.function.owner else ():
            if target.startswith("self."):
                found.setdefault(placed.function.owner or "", {})[target.removeprefix("self.")] = value
    return found


def _launched(file: File, raw: RawLaunch, local: Mapping[str, str], written: Mapping[str, Placed]) -> tuple[str, ...]:
    """The kernels that `callee[grid]` can mean, through local and top-level names."""
    for callee in reversed(raw.callees):
        if callee in written:
            return (callee,)
    for callee in reversed(raw.callees):
        mentioned = {*NAME.findall(local.get(callee, "")), *file.assigned.get(callee, ())}
        found = tuple(sorted(mentioned & written.keys()))
        if found:
            return found
    return ()


def _launch(site: _Site) -> Launch:
    raw = site.raw
    local = dict(site.function.assignments) if site.function else {}
    function = _qualified(site.function) if site.function else None
    return Launch(raw.line + site.line, function, local.get(raw.grid, raw.grid), raw.args, dict(raw.kwargs))


def _qualified(function: Function) -> str:
    return f"{function.owner}.{function.name}" if function.owner else function.name


def _decorated_later(file: File, name: str) -> bool:
    """`kernel = triton.jit(name)` at top level."""
    return any(name in mentions and mentions & {"jit", "autotune"} for mentions in file.assigned.values())


def _entry(file: File, kernel: Placed, sites: list[_Site]) -> Entry | None:
    """What launches the kernel; the kernel itself where a workload line does."""
    candidates = [entry for site in sites if (entry := _entry_of(file, site)) is not None]
    itself = function_entry(kernel)
    named = [entry for entry in (itself, *candidates) if entry.name in file.called]
    return next(iter((*named, *candidates)), None)


def _entry_of(file: File, site: _Site) -> Entry | None:
    """What a workload can call to come to this launch: a function, a class whose objects are called, as a module is, or what
    applies an autograd.Function.
    """
    function = site.function
    if function is None:
        return None
    if function.owner is None:
        return None if is_support(function) else function_entry(Placed(site.line, function))
    line, owner = file.classes.get(function.owner, (0, None))
    if owner is None:
        return None
    if owner.name in file.modules or "__call__" in owner.methods:
        return Entry(owner.name, line + owner.start_line, line + owner.end_line)
    if file.is_autograd(owner.name) and function.name == "backward":
        return None  # a call of the forward pass never comes here
    users = [
        p for p in file.functions
        if p.function.owner is None and p.function.outer is None and owner.name in p.function.mentions
        and not is_support(p.function)
    ]  # fmt: skip
    if users:
        return function_entry(users[0])
    aliases = [name for name, mentions in file.assigned.items() if {owner.name, "apply"} <= mentions]
    if not aliases and not file.is_autograd(owner.name):
        return None
    return Entry(aliases[0] if aliases else owner.name, line + owner.start_line, line + owner.end_line)


def _helpers_of(placed: Placed, jit: Mapping[str, Placed], helpers: set[str]) -> tuple[tuple[Placed, bool], ...]:
    """The device functions that a kernel calls, directly or not, each once and with whether that is in a loop."""
    if not helpers:
        return ()
    used: dict[str, bool] = {}
    open_ = [(placed.function, False)]
    while open_:
        caller, looped = open_.pop()
        for name in sorted((caller.mentions & helpers) - used.keys()):
            used[name] = looped or name in caller.called_in_loops
            open_.append((jit[name].function, used[name]))
    return tuple((jit[name], in_loop) for name, in_loop in used.items())


def _merged(facts: Facts, helper: Facts) -> Facts:
    return dataclasses.replace(
        facts,
        accesses=facts.accesses + helper.accesses,
        loops=facts.loops + helper.loops,
        reductions=facts.reductions + helper.reductions,
        dots=facts.dots + helper.dots,
        dtypes=tuple(sorted({*facts.dtypes, *helper.dtypes})),
        statements=facts.statements + helper.statements,
        operations=facts.operations + helper.operations,
    )


def _configs(file: File, function: Function) -> int:
    """How many configs a kernel is tuned over, also those that stand elsewhere: `@triton.autotune(configs=CONFIGS)`."""
    if function.facts.autotune_configs or "triton.autotune" not in function.decorators:
        return function.facts.autotune_configs
    elsewhere = sum(file.configs.get(name, 0) for name in function.mentions if name != function.name)
    return max(elsewhere, 1)
