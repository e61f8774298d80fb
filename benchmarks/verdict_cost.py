"""What a verdict costs, stage by stage: `python -m benchmarks.verdict_cost [--milliseconds 0.02 1 50] [--repeats 5]`.

Each trial is a whole one of a file against itself, with measurement, in this process as the judge, which is warm: a first
trial of each kind of kernel does not count. The goals for kernels under 1 ms are 1.5 s in torch and 2.5 s in Triton. The tables
are printed last.
"""

import argparse
import gc
import statistics
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from benchmarks import records, summary, trials
from benchmarks.stages import StageClock, by_stage, by_step, stage_of, times
from benchmarks.subjects import Subject, Wanted, kinds_on, subject

from kernelwright import wire
from kernelwright.proof.jobs import Limits, Probe
from kernelwright.values import Failure

GOALS = {"torch": 1.5, "Triton": 2.5}  # seconds, for kernels under a millisecond


@dataclass(frozen=True)
class Cost:
    """One trial: its seconds, whole and by stage and by step."""

    kernel: str
    call: str
    ending: str
    median_ms: float
    rounds: int
    seconds: float
    stages: dict[str, float]
    steps: dict[str, float]


def cost(kernel: Subject, number: int, limits: Limits) -> Cost:
    """One trial of the kernel against itself, in this process."""
    from kernelwright.proof.worker.clock.audit import Auditor
    from kernelwright.proof.worker.gate.properties import PROPERTIES
    from kernelwright.proof.worker.hosts.contender import Contender, bury
    from kernelwright.proof.worker.hosts.remote import Host
    from kernelwright.proof.worker.hosts.timed import TimedContender
    from kernelwright.proof.worker.hosts.zygote import Zygote
    from kernelwright.proof.worker.loop import answer_of

    wanted = Wanted(kernel)
    clock = StageClock()
    watched = (
        (Zygote, "spawn", "fork"),
        (Contender, "_wait_for_load", "load"),
        (TimedContender, "end_fire", "fire"),
        (Host, "ask", ""),
        (Host, "kill", "kill"),
        (Host, "close", "close"),
        (Auditor, "audit", "audit"),
    )
    bury()  # as a worker does between two jobs
    start = clock.now()
    with clock.watching(*watched):
        answer, _ = answer_of(wanted.trial(number, limits), clock.report)
    end = clock.now()
    taken = times(clock.marks, clock.spans, end, lambda words: stage_of(words, kernel.call, tuple(PROPERTIES)))
    pair = records.pair_of(wanted, answer, end - start)
    ending = pair.ending if isinstance(answer, Failure) or pair.measured else f"{pair.ending}: {pair.detail}"
    return Cost(
        kernel.name, kernel.call, ending, pair.baseline_ms, pair.samples, end - start, by_stage(taken), by_step(taken)
    )


def table(found: Sequence[Cost], part: str) -> str:
    """Medians in milliseconds, a column for each kernel; `part` is "stages" or "steps"."""
    kernels = list(dict.fromkeys(cost.kernel for cost in found))
    columns = {kernel: [cost for cost in found if cost.kernel == kernel] for kernel in kernels}
    names = list(dict.fromkeys(name for cost in found for name in getattr(cost, part)))
    lines = [f"| {part} (ms) | {' | '.join(kernels)} |", "|---|" + "---:|" * len(kernels)]
    for name in names:
        cells = [statistics.median(getattr(cost, part).get(name, 0.0) for cost in of) for of in columns.values()]
        lines.append(f"| {name} | {' | '.join(f'{1e3 * cell:.1f}' for cell in cells)} |")
    whole = [[cost.seconds for cost in of] for of in columns.values()]
    lines.append(f"| whole | {' | '.join(f'{1e3 * statistics.median(w):.0f}' for w in whole)} |")
    lines.append(f"| from, to | {' | '.join(f'{1e3 * min(w):.0f}-{1e3 * max(w):.0f}' for w in whole)} |")
    return "\n".join(lines)


def language_of(kernel: str) -> str:
    """The key in GOALS of a kernel's name."""
    return "Triton" if kernel.lower().startswith("triton") else "torch"


def verdict_on_goals(found: Sequence[Cost]) -> str:
    """Whether kernels under a millisecond keep to the goals, in one sentence for each language."""
    lines = []
    for language, goal in GOALS.items():
        short = [cost.seconds for cost in found if 0 < cost.median_ms < 1 and language_of(cost.kernel) == language]
        if short:
            within = sum(seconds <= goal for seconds in short)
            median = statistics.median(short)
            lines.append(f"{language} under 1 ms: median {median:.2f} s, {within} of {len(short)} within {goal} s.")
    return "\n".join(lines) or "No kernel under 1 ms was measured."


def main() -> int:
    options, start = _options(), time.monotonic()
    from kernelwright.proof.worker import loop
    from kernelwright.proof.worker.hosts.zygote import fork_zygote

    loop.prepare("judge")
    fork_zygote()  # before CUDA is touched, as a judge does
    gc.freeze()  # likewise
    from kernelwright.proof.worker.probe import probe

    device = probe(Probe())
    limits = trials.limits_of(options)
    kernels = [subject(kind, ms, device) for kind in options.kinds or kinds_on(device) for ms in options.milliseconds]
    found: list[Cost] = []
    for first in {kernel.kind: kernel for kernel in reversed(kernels)}.values():
        cost(first, 0, limits)
    pending = ((number, kernel) for number in range(1, options.repeats + 1) for kernel in kernels)
    left = options.seconds_limit and options.seconds_limit - (time.monotonic() - start)
    for number, kernel in trials.in_time(pending, left):
        found.append(cost(kernel, number, limits))
        print(f"{kernel.name}: {found[-1].ending}, {found[-1].seconds:.2f} s", flush=True)
    if options.out:
        run = asdict(trials.run_of(device, options)) | {"device": wire.encode(device)}
        whole = {"schema": 1, "benchmark": "verdict_cost", **run, "trials": [asdict(one) for one in found]}
        summary.write("verdict_cost", whole, options.out)
    print(table(found, "stages"), "", table(found, "steps"), "", verdict_on_goals(found), sep="\n")
    return 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.verdict_cost", description=__doc__)
    add = parser.add_argument
    add("--milliseconds", type=float, nargs="*", default=[0.02, 1.0, 50.0], help="what the kernels take, about")
    add("--repeats", type=int, default=5, help="trials of each kernel")
    add("--seconds-limit", type=float, default=0.0, help="start no trial that may end later; 0: no limit")
    add("--kinds", nargs="*", help="of kernels; by default all that can be timed here")
    add("--budget", type=float, default=Limits().timing_budget, help="seconds of timed runs in one trial")
    add("--threads", type=int, default=0, help="CPU threads of a trial; 0: as many as cores")
    add("--seeds", type=int, default=Limits().seeds, help="seeds of the gate")
    add("--out", type=Path, help=f"where the result goes, as JSON; {summary.KEPT}")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
