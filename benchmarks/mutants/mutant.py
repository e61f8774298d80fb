"""Faults as values, and the pure function that plants every one of them in a text."""

import hashlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from random import Random
from typing import Any

from benchmarks.mutants.syntax import Change, changed, read


@dataclass(frozen=True)
class Fault:
    """One mistake: the changes that make it, and what it is in words."""

    changes: tuple[Change, ...]
    description: str


@dataclass(frozen=True)
class Operator:
    """A kind of mistake. `what` says in a few words which one; `faults` finds every place where it can be made.

    It is given the text as the `read` of its language reads it.
    """

    name: str
    what: str
    faults: Callable[[Any], Iterator[Fault]]


@dataclass(frozen=True)
class Mutant:
    """A text with one fault. `line` counts from 0; `id` names operator, line and a hash of the lines that changed."""

    id: str
    operator: str
    line: int
    description: str
    text: str


class NotParsed(ValueError):
    """The text does not parse, so that no fault can be planted in it."""


def generate(text: str, operators: Iterable[Operator], read: Callable[[str], Any] = read) -> list[Mutant]:
    """Every mutant of `text` that parses, each text once: the same text in, the same list out. Raises NotParsed."""
    code = read(text)
    if code.document.tree.root_node.has_error:
        raise NotParsed("The text does not parse.")
    found: dict[str, Mutant] = {}
    for operator in operators:
        for fault in operator.faults(code):
            mutated = changed(code, fault.changes)
            if mutated == text or mutated in found or read(mutated).document.tree.root_node.has_error:
                continue
            found[mutated] = _mutant(code, operator, fault, mutated)
    return list(found.values())


def sample(mutants: Sequence[Mutant], most: int, seed: int) -> list[Mutant]:
    """At most `most` mutants of each operator, drawn by `seed`, in their order."""
    by_operator: dict[str, list[Mutant]] = {}
    for mutant in mutants:
        by_operator.setdefault(mutant.operator, []).append(mutant)
    chosen: set[str] = set()
    for operator, group in by_operator.items():
        drawn = Random(f"{seed} {operator}").sample(group, min(most, len(group)))
        chosen |= {mutant.id for mutant in drawn}
    return [mutant for mutant in mutants if mutant.id in chosen]


def difference(baseline: str, mutated: str) -> tuple[int, list[str], list[str]]:
    """The first line that differs (from 0), the lines that are gone and those that came."""
    old, new = baseline.split("\n"), mutated.split("\n")
    first = next((i for i, (a, b) in enumerate(zip(old, new, strict=False)) if a != b), min(len(old), len(new)))
    last = next((i for i, (a, b) in enumerate(zip(old[::-1], new[::-1], strict=False)) if a != b), 0)
    last = min(last, len(old) - first, len(new) - first)
    return first, old[first : len(old) - last], new[first : len(new) - last]


def _mutant(code: Any, operator: Operator, fault: Fault, text: str) -> Mutant:
    last = max(change.start for change in fault.changes)
    line = code.document.source.count(b"\n", 0, last)
    came = "\n".join(difference(code.document.text, text)[2])
    digest = hashlib.sha256(came.encode()).hexdigest()[:6]
    return Mutant(f"{operator.name}@{line + 1}-{digest}", operator.name, line, fault.description, text)
