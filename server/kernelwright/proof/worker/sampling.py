"""Timed samples of several processes, interleaved in random order by the judge, who also keeps a clock of its own.

The host's clock gives the number; the judge's tells whether work was done outside of what that clock saw.
"""

import random
import time
from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from kernelwright.proof.worker.audit import Auditor
from kernelwright.proof.worker.bench import Bench, Rejected, Report, Targets
from kernelwright.proof.worker.hosts.contender import Contender
from kernelwright.proof.worker.inputs import Inputs
from kernelwright.proof.worker.observe import Observation
from kernelwright.proof.worker.timing import FEWEST, MOST, SHORTEST_SAMPLE
from kernelwright.values import Check

_MOST_BATCH = 32
_LEAST_HIDDEN = {"cuda": 0.15, "cpu": 0.5}  # milliseconds; how far two processes' replies differ on a quiet machine
_HIDDEN_SHARE = 0.2  # of the time that the host reports
_RESIDUAL_MS = 0.05  # waiting for an idle device takes a few microseconds
TWIN = "baseline again"
_STEADY, _USABLE = 1.02, 3.0  # baseline against baseline: measured again beyond the one, refused beyond the other


@dataclass(frozen=True)
class Drift:
    """How far two processes with the very same text are apart: `factor` >= 1, and the medians in milliseconds."""

    factor: float
    first_ms: float
    second_ms: float


class Unsteady(Exception):
    """Nothing can be timed here and now; the message is the reason, in one sentence."""


@dataclass(frozen=True)
class Samples:
    """Milliseconds per call of each contestant; sample i of all is from round i."""

    ms: Mapping[str, np.ndarray]
    drift: Drift
    conditions: Mapping[str, str]


@dataclass
class _Series:
    """What one contestant has shown so far."""

    contender: Contender
    audited: bool
    batch: int = 1
    ms: list[float] = field(default_factory=list)
    outside_ms: list[float] = field(default_factory=list)  # of the judge's clock, beyond what the host reported
    residual_ms: list[float] = field(default_factory=list)


def sampled(
    bench: Bench,
    contestants: Mapping[str, Contender],
    targets: Targets,
    inputs: Inputs,
    seen: Observation,
    report: Report,
) -> Samples:
    """Samples of every contestant, audited. Must hold a "baseline" and a "candidate".

    Raises Rejected, JobFailed, and Unsteady when the baseline is not as fast as itself.
    """
    auditor = Auditor(bench, targets, inputs, seen)
    series = {name: _Series(contender, name == "candidate") for name, contender in contestants.items()}
    report("Measuring: warming up")
    cost = sum(_warm_up(one, targets, auditor, bench.device) for one in series.values())
    for _ in range(2):
        _rounds(bench, series, targets, auditor, cost, report)
        drift = _drift(series["baseline"].ms, series.get(TWIN))
        if drift.factor <= _STEADY:
            break
    if drift.factor > _USABLE:
        raise Unsteady(
            f"Speed not measured: the baseline took {drift.first_ms:.4g} ms in one process and {drift.second_ms:.4g} ms "
            "in another, twice over; this machine is too busy to time on."
        )
    auditor.check_last(series["candidate"].contender, report)
    _complete(series["candidate"])
    _nothing_hidden(series, bench.device)
    bench.checks += auditor.checks()
    return Samples(
        {name: np.array(one.ms) for name, one in series.items()},
        drift,
        {
            "processes": f"one for each text; the baseline {'in two' if TWIN in series else 'twice'}, "
            f"{drift.factor - 1:.1%} apart",
            "data": auditor.described,
        },
    )


def _rounds(
    bench: Bench,
    series: Mapping[str, _Series],
    targets: Targets,
    auditor: Auditor,
    cost: float,
    report: Report,
) -> None:
    """As many rounds as fit into the budget, at least FEWEST unless those would take four budgets, and never below 5."""
    limits = bench.trial.limits
    budget = limits.timing_budget
    rounds = int(budget / max(cost, 1e-9))
    floor = FEWEST if cost * FEWEST <= 4 * budget else max(5, int(4 * budget / cost))
    rounds = min(max(rounds, floor), MOST)
    generator = random.SystemRandom()
    order = list(series)
    auditor.choose(rounds, generator)
    for one in series.values():
        one.ms.clear()
        one.outside_ms.clear()
        one.residual_ms.clear()
    told = started = time.monotonic()
    for number in range(rounds):
        if number >= floor and time.monotonic() - started > 2 * budget:
            break  # the machine is busy with other work: the estimate of the cost was too low
        generator.shuffle(order)
        for name in order:
            _sample(series[name], targets, auditor)
            if name == "candidate" and auditor.wants(number):
                auditor.audit(series[name].contender, f"timed round {number + 1}")
        if time.monotonic() - told > 0.5:
            told = time.monotonic()
            report(f"Measuring, round {number + 1} of {rounds}")


def _warm_up(one: _Series, targets: Targets, auditor: Auditor, device: str) -> float:
    """Seconds that a sample takes with what surrounds it, after compiling; sets the calls per sample."""
    begun = time.monotonic()
    _sample(one, targets, auditor)
    if time.monotonic() - begun < 1.0:
        _sample(one, targets, auditor)
    _sample(one, targets, auditor)
    single = one.ms[-1] / 1e3
    if device == "cpu" and single < SHORTEST_SAMPLE:
        one.batch = min(int(np.ceil(SHORTEST_SAMPLE / max(single, 1e-7))), _MOST_BATCH)
    begun = time.monotonic()
    _sample(one, targets, auditor)
    return max(time.monotonic() - begun, 1e-6)


def _sample(one: _Series, targets: Targets, auditor: Auditor) -> None:
    inputs = auditor.next_inputs()
    like = auditor.seen if one.audited else None
    one.contender.arm(targets, inputs, like, seed=auditor.seed, batch=one.batch)
    begun = time.perf_counter_ns()
    taken = one.contender.fire()
    outside = (time.perf_counter_ns() - begun) / 1e6
    one.ms.append(taken.ms)
    one.outside_ms.append(outside - taken.ms * one.batch)
    one.residual_ms.append(taken.residual_ms)


def _drift(ms: list[float], twin: _Series | None) -> Drift:
    """Without a twin: every other sample against the rest."""
    first, second = (np.array(ms), np.array(twin.ms)) if twin else (np.array(ms[::2]), np.array(ms[1::2]))
    a, b = float(np.median(first)), float(np.median(second))
    return Drift(max(a / b, b / a), a, b)


def _complete(one: _Series) -> None:
    """Work that is still running after the end of every sample was never timed."""
    left, typical = min(one.residual_ms), float(np.median(one.ms))
    if left > _RESIDUAL_MS + 0.2 * typical:
        detail = f"work went on for {left:.3g} ms after the timed call: it runs on a stream that nothing waits for"
        raise Rejected(Check("timing-complete", "while timing", False, detail))


def _nothing_hidden(series: Mapping[str, _Series], device: str) -> None:
    """Between the judge's request and the reply lies nothing but the sample: more of it than at the baseline is hidden work."""
    own, base = series["candidate"], series["baseline"]
    # The least of all samples: what delays some replies, on a busy machine most of them, is not work of every call.
    hidden = min(own.outside_ms) - min(base.outside_ms)
    reported = float(np.median(own.ms)) * own.batch
    if hidden > max(_LEAST_HIDDEN[device], _HIDDEN_SHARE * reported):
        detail = (
            f"a call took {hidden:.3g} ms longer from outside than the {reported:.3g} ms that its process reported: "
            "work was done where its clock did not look"
        )
        raise Rejected(Check("judge-clock", "while timing", False, detail))
