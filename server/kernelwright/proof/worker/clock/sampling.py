"""Timed samples of several processes, interleaved in random order by the judge, and audited.

The clock of each process gives the number; the judge's own (see judge_clock) tells whether that clock saw all the work.
"""

import math
import random
import time
from collections.abc import Mapping

import numpy as np
import torch

from kernelwright.proof.worker.bench import Bench, Report
from kernelwright.proof.worker.clock import judge_clock
from kernelwright.proof.worker.clock.audit import AUDITS, Auditor, audited
from kernelwright.proof.worker.clock.load import Load, Watch
from kernelwright.proof.worker.clock.performance import Performance
from kernelwright.proof.worker.clock.samples import TWIN, Busy, Drift, Samples
from kernelwright.proof.worker.clock.series import MOSTLY, Series, launches, set_batches, set_flushes
from kernelwright.proof.worker.clock.statistics import ratio_of_medians, width_of_median
from kernelwright.proof.worker.hosts.timed import TimedContender
from kernelwright.proof.worker.rejected import Rejected
from kernelwright.proof.worker.timing.timer import FEWEST, MOST, rounds_for

_LOOK, _NARROW = 10, 0.01  # rounds between looks at how wide the intervals are, and what is narrow
# Rounds before the first look. On a GPU one of a kernel of 1 ms takes 15 ms, most of it for new data.
_FEWEST_KNOWN = {"cuda": 20, "cpu": 40}
_FEWEST_MOST = 40  # rounds that there may be on a GPU, however many calls a sample has
_HIDDEN_BY = 19  # rounds after which most launches must have been hidden: fewer than FEWEST
_STEADY, _USABLE = 1.02, 3.0  # baseline against baseline: measured again beyond the one, refused beyond the other


def sampled(
    bench: Bench,
    contestants: Mapping[str, TimedContender],
    case: Performance,
    report: Report,
    *,
    pools: bool = True,
) -> Samples:
    """Samples of every contestant, audited. Must hold a "baseline" and a "candidate". `pools`: see fresh.FreshData.

    Raises Rejected, JobFailed, and Busy when the baseline is not as fast as itself.
    """
    auditor = Auditor(bench, case, pools=pools)
    series = {name: Series(contender, auditor) for name, contender in contestants.items()}
    report("Measuring: warming up")
    for one in series.values():
        one.begin()  # several compile at a time
    for one in series.values():
        one.warm_up()
    set_batches(series.values(), bench.device)
    set_flushes(series.values())
    begun = time.monotonic()
    for one in series.values():
        one.sample()
    cost = time.monotonic() - begun  # of a round, with what surrounds the samples
    watched = [contender.pid for contender in contestants.values()]
    watch = Watch(watched, torch.get_num_threads())
    for _ in range(2):
        while not _rounds(bench, series, auditor, cost, report):
            pass  # with longer flushes, which there is one of
        drift = _drift(series["baseline"].ms, series.get(TWIN))
        if drift.factor <= _STEADY:
            break
    if drift.factor > _USABLE:
        raise Busy(
            f"Speed not measured: the baseline took {drift.first_ms:.4g} ms in one process and {drift.second_ms:.4g} ms "
            "in another, twice over; this machine is too busy to time on."
        )
    load = watch.load() if bench.device == "cpu" else Load()
    if load.shared:
        raise Busy(
            f"Speed not measured: other work took {load.others:.1f} of {load.cores} cores, so that the times would tell of "
            "that; end it, and measure again."
        )
    candidate = series["candidate"]
    report("Checking the timed results")
    calls, copies = candidate.many(bench.device)
    last_of_many, outside = candidate.timed(calls, copies)
    if not case.seen.changed_inputs:  # else the second call on a copy would begin with what the first has left
        auditor.audit(candidate.contender, last_of_many, f"after {calls} calls in a row", batch=calls)
    auditor.check_last(candidate.contender)
    judge_clock.complete(candidate)
    _clocks_agree(series, bench.device, outside / calls, Watch(watched, torch.get_num_threads()))
    ms = {name: np.array(one.ms) for name, one in series.items()}
    gaining = {name: one for name, one in series.items() if ratio_of_medians(ms[name], ms["candidate"]).low > 1}
    unseen = judge_clock.unseen_gains({**gaining, "candidate": candidate}, bench.device, drift.factor)
    bench.evidence.checks += auditor.checks()
    return Samples(
        ms,
        drift,
        {
            "processes": f"one for each text; the baseline {'in two' if TWIN in series else 'twice'}, "
            f"{drift.factor - 1:.1%} apart",
            "data": auditor.fresh.described,
            **load.described,
            **({"launches": launches(series)} if bench.device == "cuda" else {}),
        },
        unseen,
        load,
    )


def _rounds(
    bench: Bench,
    series: Mapping[str, Series],
    auditor: Auditor,
    cost: float,
    report: Report,
) -> bool:
    """As many rounds as `rounds_for` says, fewer where the medians are known well enough before.

    That is decided by how wide their intervals are alone, not by what they say (Chow and Robbins, On the asymptotic theory of
    fixed-width sequential confidence intervals for the mean, 1965).
    False where launches were not hidden, and the flushes are longer now: these samples are worth nothing.
    """
    budget = bench.trial.limits.timing_budget
    most = MOST[bench.device]
    if bench.device == "cuda":  # fewer of several calls a sample, each of which comes after a flush
        most = max(most // max(one.batch for one in series.values()), _FEWEST_MOST)
    rounds, floor = rounds_for(budget, cost, FEWEST, most)
    generator = random.SystemRandom()
    order = list(series)
    wanted = audited(rounds, generator)
    for one in series.values():
        one.forget()
    started = time.monotonic()
    told = -1.0
    for number in range(rounds):
        if time.monotonic() - told > 0.5:
            told = time.monotonic()
            report(f"Measuring, round {number + 1} of {rounds}")
        if number == _HIDDEN_BY and set_flushes(series.values(), least=MOSTLY):
            return False
        if number >= floor and time.monotonic() - started > 2 * budget:
            break  # the machine is busy with other work: the estimate of the cost was too low
        look = number >= _FEWEST_KNOWN[bench.device] and number % _LOOK == 0
        if look and sum(one < number for one in wanted) >= AUDITS:
            widths = sorted(width_of_median(one.ms) for one in series.values())
            if math.hypot(*widths[-2:]) < _NARROW:  # so is the interval of the ratio of any two medians
                break
        generator.shuffle(order)
        for name in order:
            one = series[name]
            taken = one.sample()
            if name == "candidate" and number in wanted:
                auditor.audit(one.contender, taken, f"timed round {number + 1}", batch=one.batch)
    return True


def _clocks_agree(series: Mapping[str, Series], device: str, known_ms: float, watch: Watch) -> None:
    """Look for hidden work. Raises Rejected, and Busy also where other work may have made a CPU's replies late."""
    try:
        judge_clock.nothing_hidden(series, device)
        judge_clock.short_calls_agree(series, device, known_ms)
    except Rejected as rejected:
        load = watch.load() if device == "cpu" else Load()
        if not load.lost:
            raise
        raise Busy(
            f"Speed not measured: the clocks disagree, but other work took {load.others:.1f} of {load.cores} cores; end it, "
            "and measure again."
        ) from rejected


def _drift(ms: list[float], twin: Series | None) -> Drift:
    """Without a twin: every other sample against the rest."""
    first, second = (np.array(ms), np.array(twin.ms)) if twin else (np.array(ms[::2]), np.array(ms[1::2]))
    a, b = float(np.median(first)), float(np.median(second))
    return Drift(max(a / b, b / a), a, b)
