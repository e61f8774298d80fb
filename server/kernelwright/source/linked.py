"""The outlines of a file's pieces as one: which names are what, and where they stand in the file."""

import dataclasses
import functools
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from kernelwright.source.definitions import Class, Function, Outline, RawLaunch
from kernelwright.values import Access, Dot, Facts, Kernel, Language, Launch, Loop, Reduction

_SUPPORT = re.compile(
    r"(?:test_.*|.*_test|bench(?:mark)?(?:_.*)?|.*_benchmark|profile(?:_.*)?|main|demo|get_inputs|get_init_inputs)$"
)
_MARKS_OF_SUPPORT = re.compile(
    r"pytest|fixture|perf_report|triton\.testing|register_fake|impl_abstract|register_sharding"
)
"""Of decorators."""


class Part(NamedTuple):
    line: int
    outline: Outline


class Placed(NamedTuple):
    """A function with the line on which its piece begins."""

    line: int
    function: Function


@dataclass(frozen=True)
class File:
    functions: tuple[Placed, ...]
    classes: Mapping[str, tuple[int, Class]]
    assigned: Mapping[str, frozenset[str]]
    loose: tuple[tuple[int, RawLaunch], ...]
    configs: Mapping[str, int]
    called: frozenset[str]  # the entries that workload lines name

    @staticmethod
    def of(parts: list[Part], called: frozenset[str]) -> "File":
        return File(
            functions=tuple(Placed(part.line, f) for part in parts for f in part.outline.functions),
            classes={c.name: (part.line, c) for part in parts for c in part.outline.classes},
            assigned={name: mentions for part in parts for name, mentions in part.outline.assigned},
            loose=tuple((part.line, launch) for part in parts for launch in part.outline.launches),
            configs={
                name: part.outline.configs for part in parts if part.outline.configs for name in part.outline.names
            },
            called=called,
        )

    @functools.cached_property
    def modules(self) -> frozenset[str]:
        """The classes that are an nn.Module, directly or through a base in this file."""
        return self._with_heirs(
            name for name, (_, found) in self.classes.items() if any(map(_is_torch_module, found.bases))
        )

    @functools.cached_property
    def with_forward(self) -> frozenset[str]:
        """The classes that have a forward method, of their own or from a base in this file."""
        return self._with_heirs(name for name, (_, found) in self.classes.items() if "forward" in found.methods)

    def _with_heirs(self, names: Iterable[str]) -> frozenset[str]:
        heirs: dict[str, list[str]] = {}
        for name, (_, found) in self.classes.items():
            for base in found.bases:
                heirs.setdefault(base, []).append(name)
        reached: set[str] = set()
        waiting = [*names]
        while waiting:
            name = waiting.pop()
            if name not in reached:
                reached.add(name)
                waiting += heirs.get(name, ())
        return frozenset(reached)

    def is_autograd(self, name: str) -> bool:
        return name in self.classes and any(b.endswith("autograd.Function") for b in self.classes[name][1].bases)


def _is_torch_module(base: str) -> bool:
    return base in ("nn.Module", "Module") or (
        base.startswith("torch.nn.") and not base.startswith("torch.nn.functional")
    )


class Entry(NamedTuple):
    name: str
    start_line: int
    end_line: int


def function_entry(placed: Placed) -> Entry:
    function = placed.function
    return Entry(function.name, placed.line + function.start_line, placed.line + function.end_line)


def shifted(facts: Facts, line: int, in_loop: bool = False) -> Facts:
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


@functools.lru_cache(maxsize=8192)
def is_support(function: Function) -> bool:
    """Whether it does no work of its own: a test, a benchmark, the shapes that torch.compile asks an operator for."""
    return bool(_SUPPORT.match(function.name)) or any(map(_MARKS_OF_SUPPORT.search, function.decorators))


def kernel_of(
    language: Language,
    line: int,
    found: Function | Class,
    *,
    entry: Entry | None,
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
        entry=entry.name if entry else None,
        entry_start_line=entry.start_line if entry else None,
        entry_end_line=entry.end_line if entry else None,
        is_module=is_module,
        launches=launches,
        facts=facts,
    )
