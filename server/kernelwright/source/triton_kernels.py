"""Triton functions as Kernels: who launches them, with which helpers, and what a workload can call."""

import dataclasses
import functools
from collections.abc import Mapping
from dataclasses import dataclass

from kernelwright.source.bodies import NAME
from kernelwright.source.definitions import Function, RawLaunch
from kernelwright.source.estimate import estimate_triton
from kernelwright.source.linked import Entry, File, Placed, function_entry, is_support, kernel_of, shifted
from kernelwright.values import Estimate, Facts, Kernel, Language, Launch


@dataclass(frozen=True, eq=False)
class _Identified:
    """An Estimate as a cache key: compared by identity, for it holds a mapping."""

    value: Estimate


_UNKNOWN = _Identified(Estimate())


@dataclass(frozen=True)
class _Site:
    """One launch of a kernel, with the function around it."""

    launch: Launch
    raw: RawLaunch
    placed: Placed | None


def triton_kernels(file: File, version: str) -> list[Kernel]:
    written = {p.function.name: p for p in file.functions if p.function.uses_triton}
    sites = _sites(file, written)
    jit = {
        name: placed
        for name, placed in written.items()
        if placed.function.is_jit or sites[name] or _decorated_later(file, name)
    }
    unlaunched = {name for name in jit if not sites[name]}
    helpers = {used for name, p in jit.items() for used in p.function.mentions & unlaunched if used != name}
    kernels = []
    for name, placed in jit.items():
        if name in helpers:
            continue
        entry = _entry(file, sites[name])
        used = _helpers_of(placed, jit, helpers)
        launcher = next((s for s in sites[name] if s.placed and entry and s.placed.function.name == entry.name), None)
        estimate = _UNKNOWN
        if launcher is not None and launcher.placed is not None:
            functions = tuple((p.function, looped) for p, looped in used)
            estimate = _estimate(placed.function, functions, launcher.placed.function, launcher.raw)
        facts = _linked_facts(placed, used, _configs(file, placed.function), estimate)
        kernels.append(
            kernel_of(
                Language.TRITON,
                placed.line,
                placed.function,
                version,
                entry=entry,
                launches=tuple(site.launch for site in sites[name]),
                facts=facts,
            )
        )
    return kernels


@functools.lru_cache(maxsize=4096)
def _estimate(
    kernel: Function, helpers: tuple[tuple[Function, bool], ...], launcher: Function, raw: RawLaunch
) -> _Identified:
    facts = functools.reduce(lambda facts, helper: _merged(facts, helper[0].facts), helpers, kernel.facts)
    return _Identified(estimate_triton(facts, kernel.assignments, raw, launcher))


def _sites(file: File, written: Mapping[str, Placed]) -> dict[str, list[_Site]]:
    sites: dict[str, list[_Site]] = {name: [] for name in written}
    for placed in file.functions:
        if placed.function.outer is not None or not placed.function.launches:
            continue  # the function around it has the launch too
        local = dict(placed.function.assignments)
        for raw in placed.function.launches:
            for name in _launched(file, raw, local, written):
                sites[name].append(_Site(_launch(raw, placed.line, _qualified(placed.function), local), raw, placed))
    for line, raw in file.loose:
        for name in _launched(file, raw, {}, written):
            sites[name].append(_Site(_launch(raw, line, None, {}), raw, None))
    return sites


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


def _launch(raw: RawLaunch, line: int, function: str | None, local: Mapping[str, str]) -> Launch:
    grid = local.get(raw.grid, raw.grid)
    return Launch(raw.line + line, function, grid, raw.args, dict(raw.kwargs))


def _qualified(function: Function) -> str:
    return f"{function.owner}.{function.name}" if function.owner else function.name


def _decorated_later(file: File, name: str) -> bool:
    """`kernel = triton.jit(name)` at top level."""
    return any(name in mentions and mentions & {"jit", "autotune"} for mentions in file.assigned.values())


def _entry(file: File, sites: list[_Site]) -> Entry | None:
    candidates = [entry for site in sites if (entry := _entry_of(file, site)) is not None]
    named = [entry for entry in candidates if entry.name in file.called]
    return next(iter((*named, *candidates)), None)


def _entry_of(file: File, site: _Site) -> Entry | None:
    """What a workload can call to come to this launch: a function, a module class, or what applies an autograd.Function."""
    if site.placed is None:
        return None
    function = site.placed.function
    if function.owner is None:
        return None if is_support(function) else function_entry(site.placed)
    line, owner = file.classes.get(function.owner, (0, None))
    if owner is None:
        return None
    if owner.name in file.modules:
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
    return Entry(aliases[0], line + owner.start_line, line + owner.end_line) if aliases else None


def _helpers_of(placed: Placed, jit: Mapping[str, Placed], helpers: set[str]) -> tuple[tuple[Placed, bool], ...]:
    """The device functions that a kernel calls, directly or not, each once and with whether that is in a loop."""
    used: dict[str, bool] = {}
    open_ = [(placed.function, False)]
    while open_:
        caller, looped = open_.pop()
        for name in sorted((caller.mentions & helpers) - used.keys()):
            used[name] = looped or name in caller.called_in_loops
            open_.append((jit[name].function, used[name]))
    return tuple((jit[name], in_loop) for name, in_loop in used.items())


@functools.lru_cache(maxsize=4096)
def _linked_facts(
    placed: Placed, helpers: tuple[tuple[Placed, bool], ...], configs: int, estimate: _Identified
) -> Facts:
    """A kernel's facts with those of its helpers, lines counted in the file."""
    facts = shifted(placed.function.facts, placed.line)
    for helper, in_loop in helpers:
        facts = _merged(facts, shifted(helper.function.facts, helper.line, in_loop))
    return dataclasses.replace(facts, autotune_configs=configs, estimate=estimate.value)


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
