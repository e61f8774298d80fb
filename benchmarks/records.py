"""What came of trials of pairs of texts: one JSON line for each, with the conditions of its run; several runs add up."""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchmarks.subjects import Wanted

from kernelwright import wire
from kernelwright.proof.jobs import Answer, TrialResult
from kernelwright.settings import DEFAULTS
from kernelwright.steps import gained
from kernelwright.values import Device, Failure


@dataclass(frozen=True)
class Pair:
    """What came of one trial. `ending`: "measured", "unsteady", the name of a failed check, or the kind of a failure.

    `ratio` is baseline over candidate with its 95 % interval; `kept`: the engine would keep a step with it.
    """

    kind: str
    target_ms: float
    call: str
    repeats: int
    ending: str
    seconds: float
    detail: str = ""
    plant: float = 0.0
    extra: float = 0.0
    true: float = 0.0
    low: float = 0.0
    ratio: float = 0.0
    high: float = 0.0
    kept: bool = False
    baseline_ms: float = 0.0
    candidate_ms: float = 0.0
    samples: int = 0
    processes: str = ""
    again: str = ""  # not empty where it was measured more than once

    @property
    def measured(self) -> bool:
        return self.ending == "measured"

    @property
    def faster(self) -> bool:
        return self.measured and self.low > 1.0

    @property
    def slower(self) -> bool:
        return self.measured and self.high < 1.0


@dataclass(frozen=True)
class Plant:
    """What a long run said of one plant: with `extra` more work a call takes `true` times as long (95 % interval).

    `fits`: that is near enough to 1 + `aimed`.
    """

    device: str
    kind: str
    target_ms: float
    call: str
    repeats: int
    aimed: float
    extra: float
    true: float
    low: float
    high: float
    fits: bool


@dataclass(frozen=True)
class Run:
    """Under which conditions the pairs that follow it in the file were made."""

    date: str
    device: Device
    versions: Mapping[str, str]
    gate: str
    settings: Mapping[str, float] = field(default_factory=dict)

    def alike(self, other: "Run") -> bool:
        """Whether the pairs of both may be counted together."""
        return (self.gate, self.device.name, self.settings) == (other.gate, other.device.name, other.settings)


def pair_of(wanted: Wanted, answer: Answer, seconds: float) -> Pair:
    """What an answer of the workers says of the pair."""
    subject = wanted.subject
    known: dict[str, Any] = {
        "kind": subject.kind,
        "target_ms": subject.target_ms,
        "call": subject.call,
        "repeats": subject.repeats,
        "plant": wanted.plant,
        "extra": wanted.extra,
        "true": wanted.true,
        "seconds": round(seconds, 3),
    }
    if isinstance(answer, Failure):
        return Pair(**known, ending=str(answer.kind), detail=answer.message)
    assert isinstance(answer, TrialResult)  # the contract of Trial
    if not answer.verdict.passed:
        failed = answer.verdict.failed_checks
        ending = failed[0].name if failed else str(answer.verdict.status)
        return Pair(**known, ending=ending, detail=answer.verdict.reason)
    measured = answer.measurement
    if measured is None:
        return Pair(**known, ending="unsteady" if answer.unsteady else "not measured", detail=answer.unmeasured)
    return Pair(
        **known,
        ending="measured",
        low=measured.step_speedup_low,
        ratio=measured.step_speedup,
        high=measured.step_speedup_high,
        kept=gained(measured, DEFAULTS.min_gain),
        baseline_ms=measured.baseline.median_ms,
        candidate_ms=measured.candidate.median_ms,
        samples=measured.candidate.samples,
        processes=measured.conditions.get("processes", ""),
        again=measured.conditions.get("measured", ""),
    )


def append(file: Path, value: Run | Pair | Plant) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    with file.open("a", encoding="utf-8") as out:
        out.write(json.dumps(wire.encode(value)) + "\n")


def read(file: Path) -> list[tuple[Run, list[Pair]]]:
    """The runs in the file with their pairs. A last line that was cut off is left out."""
    return grouped(_values(file))


def grouped(values: Iterable[dict[str, Any]]) -> list[tuple[Run, list[Pair]]]:
    """The runs among the values of a file's lines, with their pairs."""
    found: list[tuple[Run, list[Pair]]] = []
    for value in values:
        if value["$"] == Run.__name__:
            found.append((wire.decode(Run, value), []))
        elif value["$"] == Pair.__name__:
            found[-1][1].append(wire.decode(Pair, value))
    return found


def first_of_gates(found: Sequence[tuple[Run, list[Pair]]]) -> list[Run]:
    """The first run of each gate that has pairs, in the order of the file."""
    firsts: dict[str, Run] = {}
    for run, pairs in found:
        if pairs:
            firsts.setdefault(run.gate, run)
    return list(firsts.values())


def plants(file: Path) -> list[Plant]:
    """The plants in the file."""
    return [wire.decode(Plant, value) for value in _values(file) if value["$"] == Plant.__name__]


def _values(file: Path) -> list[dict[str, Any]]:
    lines = file.read_text(encoding="utf-8").splitlines() if file.exists() else []
    return [json.loads(line) for line in lines if line.endswith("}")]


def alike(found: Sequence[tuple[Run, list[Pair]]], run: Run) -> list[Pair]:
    """The pairs of all runs that were made as `run` was."""
    return [pair for other, pairs in found if other.alike(run) for pair in pairs]
