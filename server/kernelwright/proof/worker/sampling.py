"""Timed samples of several processes, interleaved in random order by the judge, and audited.

The clock of each process gives the number; the judge's own (see judge_clock) tells whether that clock saw all the work.
"""

import random
import time
from collections.abc import Mapping

import numpy as np

from kernelwright.proof.worker import judge_clock
from kernelwright.proof.worker.audit import Auditor
from kernelwright.proof.worker.bench import Bench, Report, Targets
from kernelwright.proof.worker.hosts.contender import Contender
from kernelwright.proof.worker.inputs import Inputs
from kernelwright.proof.worker.observe import Observation
from kernelwright.proof.worker.samples import TWIN, Drift, Samples, Unsteady
from kernelwright.proof.worker.series import Series, launches, set_batches, set_flushes
from kernelwright.proof.worker.timing import FEWEST, MOST

_STEADY, _USABLE = 1.02, 3.0  # baseline against baseline: measured again beyond the one, refused beyond the other


def sampled(
    bench: Bench,
    contestants: Mapping[str, Contender],
    targets: Targets,
    inputs: Inputs,
    seen: Observation,
    report: Report,
    *,
    pools: bool = True,
) -> Samples:
    """Samples of every contestant, audited. Must hold a "baseline" and a "candidate". `pools`: see fresh.FreshData.

    Raises Rejected, JobFailed, and Unsteady when the baseline is not as fast as itself.
    """
    auditor = Auditor(bench, targets, inputs, seen, pools=pools)
    series = {name: Series(contender, targets, auditor) for name, contender in contestants.items()}
    report("Measuring: warming up")
    for one in series.values():
        one.begin()  # several compile at a time
    for one in series.values():
        one.warm_up()
    set_batches(series.values(), bench.device)
    set_flushes(series.values())
    cost = sum(one.cost() for one in series.values())
    for _ in range(2):
        _rounds(bench, series, auditor, cost, report)
        drift = _drift(series["baseline"].ms, series.get(TWIN))
        if drift.factor <= _STEADY:
            break
    if drift.factor > _USABLE:
        raise Unsteady(
            f"Speed not measured: the baseline took {drift.first_ms:.4g} ms in one process and {drift.second_ms:.4g} ms "
            "in another, twice over; this machine is too busy to time on."
        )
    candidate = series["candidate"]
    calls, copies = candidate.many
    auditor.check_last(candidate.contender, report, calls=calls, copies=copies)
    judge_clock.complete(candidate)
    judge_clock.nothing_hidden(series, bench.device)
    judge_clock.short_calls_agree(series, bench.device)
    bench.checks += auditor.checks()
    return Samples(
        {name: np.array(one.ms) for name, one in series.items()},
        drift,
        {
            "processes": f"one for each text; the baseline {'in two' if TWIN in series else 'twice'}, "
            f"{drift.factor - 1:.1%} apart",
            "data": auditor.described,
            **({"launches": launches(series)} if bench.device == "cuda" else {}),
        },
    )


def _rounds(
    bench: Bench,
    series: Mapping[str, Series],
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
        one.forget()
    told = started = time.monotonic()
    for number in range(rounds):
        if number >= floor and time.monotonic() - started > 2 * budget:
            break  # the machine is busy with other work: the estimate of the cost was too low
        generator.shuffle(order)
        for name in order:
            one = series[name]
            taken = one.sample()
            if name == "candidate" and auditor.wants(number):
                auditor.audit(one.contender, taken, f"timed round {number + 1}", batch=one.batch)
        if time.monotonic() - told > 0.5:
            told = time.monotonic()
            report(f"Measuring, round {number + 1} of {rounds}")


def _drift(ms: list[float], twin: Series | None) -> Drift:
    """Without a twin: every other sample against the rest."""
    first, second = (np.array(ms), np.array(twin.ms)) if twin else (np.array(ms[::2]), np.array(ms[1::2]))
    a, b = float(np.median(first)), float(np.median(second))
    return Drift(max(a / b, b / a), a, b)
