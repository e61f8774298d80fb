"""The Kernels of a file: its pieces' outlines, linked by name."""

import dataclasses
import functools
import re
from collections.abc import Mapping
from dataclasses import dataclass

from kernelwright.source.document import Document
from kernelwright.source.estimate import estimate_triton
from kernelwright.source.imports import aliases_of
from kernelwright.source.outline import Class, Function, Outline, RawLaunch, outline
from kernelwright.source.split import pieces
from kernelwright.source.workload.find import entry_of, workload_lines
from kernelwright.values import Access, Dot, Estimate, Facts, Kernel, Language, Launch, Loop, Reduction, digest

_SUPPORT = re.compile(
    r"(?:test_.*|.*_test|bench(?:mark)?(?:_.*)?|.*_benchmark|profile(?:_.*)?|main|demo|get_inputs|get_init_inputs)$"
)
_NAME = re.compile(r"[^\W\d]\w*")


def find_kernels(document: Document) -> tuple[Kernel, ...]:
    """Every optimisable unit of a file, in order: Triton kernels, nn.Module classes, functions with tensor maths.

    Pure, and quick after a small change: only the changed top-level definition is analysed again. Never raises for
    code that does not parse.
    """
    aliases = aliases_of(document)
    parts = [_Part(piece.line, outline(piece.source, aliases)) for piece in pieces(document)]
    file = _File.of(parts, frozenset(filter(None, map(entry_of, workload_lines(document.text)))))
    version = digest(document.text)
    found = [*_triton_kernels(file, version), *_modules(file, version), *_functions(file, version)]
    return tuple(sorted(found, key=lambda kernel: kernel.start_line))


@dataclass(frozen=True)
class _Part:
    line: int
    outline: Outline


@dataclass(frozen=True)
class _Placed:
    """A function with the line on which its piece begins."""

    line: int
    function: Function


@dataclass(frozen=True)
class _File:
    functions: tuple[_Placed, ...]
    classes: Mapping[str, tuple[int, Class]]
    assigned: Mapping[str, frozenset[str]]
    loose: tuple[tuple[int, RawLaunch], ...]
    configs: Mapping[str, int]
    called: frozenset[str]  # the entries that workload lines name

    @staticmethod
    def of(parts: list[_Part], called: frozenset[str]) -> "_File":
        configs: dict[str, int] = {}
        for part in parts:
            names = [f.name for f in part.outline.functions] + [name for name, _ in part.outline.assigned]
            configs |= dict.fromkeys(names, part.outline.configs)
        return _File(
            functions=tuple(_Placed(part.line, f) for part in parts for f in part.outline.functions),
            classes={c.name: (part.line, c) for part in parts for c in part.outline.classes},
            assigned={name: mentions for part in parts for name, mentions in part.outline.assigned},
            loose=tuple((part.line, launch) for part in parts for launch in part.outline.launches),
            configs=configs,
            called=called,
        )

    def is_module(self, name: str, seen: frozenset[str] = frozenset()) -> bool:
        """Whether a class is an nn.Module, directly or through a base in this file."""
        if name not in self.classes or name in seen:
            return False
        return any(
            _is_torch_module(base) or self.is_module(base, seen | {name}) for base in self.classes[name][1].bases
        )

    def has_forward(self, name: str, seen: frozenset[str] = frozenset()) -> bool:
        if name not in self.classes or name in seen:
            return False
        found = self.classes[name][1]
        return "forward" in found.methods or any(self.has_forward(base, seen | {name}) for base in found.bases)

    def is_autograd(self, name: str) -> bool:
        return name in self.classes and any(b.endswith("autograd.Function") for b in self.classes[name][1].bases)


def _is_torch_module(base: str) -> bool:
    return base in ("nn.Module", "Module") or (
        base.startswith("torch.nn.") and not base.startswith("torch.nn.functional")
    )


# Triton


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
    placed: _Placed | None


def _triton_kernels(file: _File, version: str) -> list[Kernel]:
    written = {p.function.name: p for p in file.functions if p.function.uses_triton}
    sites = _sites(file, written)
    jit = {
        name: placed
        for name, placed in written.items()
        if placed.function.is_jit or sites[name] or _decorated_later(file, name)
    }
    used = frozenset().union(*(p.function.mentions - {name} for name, p in jit.items()))
    helpers = {name for name in jit if not sites[name] and name in used}
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
            _kernel(
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


def _sites(file: _File, written: Mapping[str, _Placed]) -> dict[str, list[_Site]]:
    sites: dict[str, list[_Site]] = {name: [] for name in written}
    for placed in file.functions:
        if placed.function.outer is not None:
            continue  # the function around it has the launch too
        local = dict(placed.function.assignments)
        for raw in placed.function.launches:
            for name in _launched(file, raw, local, written):
                sites[name].append(_Site(_launch(raw, placed.line, _qualified(placed.function), local), raw, placed))
    for line, raw in file.loose:
        for name in _launched(file, raw, {}, written):
            sites[name].append(_Site(_launch(raw, line, None, {}), raw, None))
    return sites


def _launched(file: _File, raw: RawLaunch, local: Mapping[str, str], written: Mapping[str, _Placed]) -> tuple[str, ...]:
    """The kernels that `callee[grid]` can mean, through local and top-level names."""
    for callee in reversed(raw.callees):
        if callee in written:
            return (callee,)
    for callee in reversed(raw.callees):
        mentioned = {*_NAME.findall(local.get(callee, "")), *file.assigned.get(callee, ())}
        found = tuple(sorted(mentioned & written.keys()))
        if found:
            return found
    return ()


def _launch(raw: RawLaunch, line: int, function: str | None, local: Mapping[str, str]) -> Launch:
    grid = local.get(raw.grid, raw.grid)
    return Launch(raw.line + line, function, grid, raw.args, dict(raw.kwargs))


def _qualified(function: Function) -> str:
    return f"{function.owner}.{function.name}" if function.owner else function.name


def _decorated_later(file: _File, name: str) -> bool:
    """`kernel = triton.jit(name)` at top level."""
    return any(name in mentions and mentions & {"jit", "autotune"} for mentions in file.assigned.values())


@dataclass(frozen=True)
class _Entry:
    name: str
    start_line: int
    end_line: int
    parameters: tuple[str, ...] = ()


def _entry(file: _File, sites: list[_Site]) -> _Entry | None:
    candidates = [entry for site in sites if (entry := _entry_of(file, site)) is not None]
    named = [entry for entry in candidates if entry.name in file.called]
    return next(iter((*named, *candidates)), None)


def _entry_of(file: _File, site: _Site) -> _Entry | None:
    """What a workload can call to come to this launch: a function, a module class, or what applies an autograd.Function."""
    if site.placed is None:
        return None
    function = site.placed.function
    if function.owner is None:
        return None if _is_support(function) else _function_entry(site.placed)
    line, owner = file.classes.get(function.owner, (0, None))
    if owner is None:
        return None
    if file.is_module(owner.name):
        return _Entry(owner.name, line + owner.start_line, line + owner.end_line)
    if file.is_autograd(owner.name) and function.name == "backward":
        return None  # a call of the forward pass never comes here
    users = [
        p for p in file.functions
        if p.function.owner is None and p.function.outer is None and owner.name in p.function.mentions
        and not _is_support(p.function)
    ]  # fmt: skip
    if users:
        return _function_entry(users[0])
    aliases = [name for name, mentions in file.assigned.items() if {owner.name, "apply"} <= mentions]
    return _Entry(aliases[0], line + owner.start_line, line + owner.end_line) if aliases else None


def _function_entry(placed: _Placed) -> _Entry:
    function = placed.function
    parameters = tuple(name for name, _ in function.parameters)
    return _Entry(function.name, placed.line + function.start_line, placed.line + function.end_line, parameters)


def _helpers_of(placed: _Placed, jit: Mapping[str, _Placed], helpers: set[str]) -> tuple[tuple[_Placed, bool], ...]:
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
    placed: _Placed, helpers: tuple[tuple[_Placed, bool], ...], configs: int, estimate: _Identified
) -> Facts:
    """A kernel's facts with those of its helpers, lines counted in the file."""
    facts = _shifted(placed.function.facts, placed.line)
    for helper, in_loop in helpers:
        facts = _merged(facts, _shifted(helper.function.facts, helper.line, in_loop))
    return dataclasses.replace(facts, autotune_configs=configs, estimate=estimate.value)


def _shifted(facts: Facts, line: int, in_loop: bool = False) -> Facts:
    if not (facts.accesses or facts.loops or facts.reductions or facts.dots):
        return facts
    return dataclasses.replace(
        facts,
        accesses=tuple(
            Access(a.kind, a.line + line, a.pointer, a.mask, a.other, a.innermost_stride, a.in_loop or in_loop)
            for a in facts.accesses
        ),
        loops=tuple(Loop(loop.line + line, loop.variable, loop.bounds, loop.step) for loop in facts.loops),
        reductions=tuple(Reduction(r.line + line, r.op, r.axis, r.in_loop or in_loop) for r in facts.reductions),
        dots=tuple(Dot(d.line + line, d.accumulator, d.out_dtype) for d in facts.dots),
    )


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


def _configs(file: _File, function: Function) -> int:
    """How many configs a kernel is tuned over, also those that stand elsewhere: `@triton.autotune(configs=CONFIGS)`."""
    if function.facts.autotune_configs or "triton.autotune" not in function.decorators:
        return function.facts.autotune_configs
    elsewhere = sum(file.configs.get(name, 0) for name in function.mentions if name != function.name)
    return max(elsewhere, 1)


# PyTorch


def _modules(file: _File, version: str) -> list[Kernel]:
    forwards = {p.function.owner: p for p in file.functions if p.function.owner and p.function.name == "forward"}
    kernels = []
    for name, (line, found) in file.classes.items():
        if not file.is_module(name) or not file.has_forward(name):
            continue
        forward = forwards.get(name)
        facts = _shifted(forward.function.facts, forward.line) if forward else Facts()
        entry = _Entry(name, line + found.start_line, line + found.end_line)
        kernels.append(_kernel(Language.TORCH, line, found, version, entry=entry, facts=facts, is_module=True))
    return kernels


def _functions(file: _File, version: str) -> list[Kernel]:
    kernels = []
    for placed in file.functions:
        function = placed.function
        if function.owner or function.outer or function.uses_triton or _is_support(function) or not function.parameters:
            continue
        # A function that a person's workload calls stays a kernel when its maths has moved into a launcher.
        moved = function.name in file.called and not function.launches and _calls_launcher(file, function)
        if (function.tensor_maths and not function.launches) or moved:
            facts = _shifted(function.facts, placed.line)
            entry = _function_entry(placed)
            kernels.append(_kernel(Language.TORCH, placed.line, function, version, entry=entry, facts=facts))
    return kernels


def _calls_launcher(file: _File, function: Function) -> bool:
    return any(p.function.launches and p.function.name in function.mentions for p in file.functions)


def _is_support(function: Function) -> bool:
    return bool(_SUPPORT.match(function.name)) or any(
        "pytest" in d or "perf_report" in d or "triton.testing" in d or "fixture" in d for d in function.decorators
    )


def _kernel(
    language: Language,
    line: int,
    found: Function | Class,
    version: str,
    *,
    entry: _Entry | None,
    launches: tuple[Launch, ...] = (),
    facts: Facts,
    is_module: bool = False,
) -> Kernel:
    return Kernel(
        language=language,
        name=found.name,
        start_line=line + found.start_line,
        end_line=line + found.end_line,
        name_line=line + found.name_line,
        name_column=found.name_column,
        text_hash=version,
        entry=entry.name if entry else None,
        entry_start_line=entry.start_line if entry else None,
        entry_end_line=entry.end_line if entry else None,
        is_module=is_module,
        launches=launches,
        facts=facts,
    )
