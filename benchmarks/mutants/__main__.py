"""Grades the gate with planted faults.

`python -m benchmarks.mutants [--language cuda] [--kernels NAME …] [--most N] [--jobs N] [--out FILE]` runs on the device at
hand: Triton's interpreter and the emulator of CUDA without a GPU. What is graded is kept in --store, and a run that was ended
goes on where it was as long as the gate's source is the same. The table is printed last.
"""

import argparse
import asyncio
import json
import platform
import sys
import time
from datetime import UTC, datetime
from pathlib import Path

from benchmarks import summary
from benchmarks.mutants import earlier, report, store, trials
from benchmarks.mutants.baselines import ROOT, Baseline, Unusable, baselines, cuda_baselines, mutants_of, smaller
from benchmarks.mutants.cuda.rules import RULES as CUDA_RULES
from benchmarks.mutants.grading import Ending, Outcome
from benchmarks.mutants.mutant import Mutant
from benchmarks.mutants.probing import Probed, probe
from benchmarks.mutants.rules import RULES
from benchmarks.versions import versions

from kernelwright import wire
from kernelwright.proof.jobs import Limits
from kernelwright.proof.worker.gate.cases import INTERPRETER_ELEMENTS
from kernelwright.proof.worker.gate.effort import variations
from kernelwright.values import Device

PROBE_LIMIT = 300.0  # seconds

Pair = tuple[Baseline, Mutant]


def main() -> int:
    options = _options()
    try:
        subjects = (cuda_baselines if options.language == "cuda" else baselines)(tuple(options.kernels))
    except Unusable as unusable:
        print(unusable, file=sys.stderr)
        return 2
    if options.elements:
        subjects = tuple(smaller(subject, options.elements) for subject in subjects)
    planted = [(o, m) for o in subjects for m in (trials.CONTROL, *mutants_of(o, options.most, options.seed))]
    limits = Limits(threads=options.threads, seeds=options.seeds)
    known = store.Store(options.store, f"{store.gate_digest()} {json.dumps(wire.encode(limits))} {options.elements}")
    try:
        before = _still_ended(planted, limits, options)
        device = asyncio.run(_grade(planted, known, before, limits, options))
    except (trials.NoDevice, earlier.Unlike) as reason:
        print(reason, file=sys.stderr)
        return 2
    outcomes = _wanted(planted, [*before.outcomes, *known.read(Outcome)])
    refused = [o for o in outcomes if o.operator == trials.CONTROL.operator and o.ending is not Ending.SURVIVED]
    graded = [o for o in outcomes if o.operator != trials.CONTROL.operator]
    seen = store.Store(options.store, f"probe {store.probe_digest()}")
    probed = asyncio.run(_probe(planted, graded, seen, options.jobs)) if options.probe else {}
    texts = {(o.name, m.id): (o.right, m) for o, m in planted}
    passed = [o for o in graded if o.ending is Ending.SURVIVED]
    rules = CUDA_RULES if options.language == "cuda" else RULES
    survivors = [
        report.survivor(o, *texts[o.kernel, o.mutant], probed.get((o.kernel, o.mutant)), rules) for o in passed
    ]
    left = len(planted) - len(outcomes)
    if options.out:
        whole = _result(device, options, limits, subjects, outcomes, survivors) | {"not_tried": left}
        if before.gate:
            whole["earlier_gate"] = {"gate": before.gate, "mutants": sum(o in before.outcomes for o in graded)}
        summary.write("mutants", whole, options.out)
    print(report.table(graded, survivors))
    for control in refused:
        print(f"The baseline {control.kernel} itself does not pass: {control.by}: {control.detail}")
    if left:
        print(f"{left} of {len(planted)} were not tried within the time; the same command goes on with them.")
    return 1 if refused or left else 0


def _still_ended(planted: list[Pair], limits: Limits, options: argparse.Namespace) -> earlier.Earlier:
    """What the result that is named as an earlier one says of this gate. Raises Unlike."""
    if options.earlier is None:
        return earlier.Earlier()
    import torch

    device = "cuda" if torch.cuda.is_available() else "cpu"
    most = {o.name: INTERPRETER_ELEMENTS if device == "cpu" and o.language != "PyTorch" else None for o, _ in planted}
    calls = {o.name: {v.described for v in variations(o.workload, limits, most[o.name])} for o, _ in planted}
    return earlier.read(options.earlier, planted, calls, device, _settings(options, limits))


async def _grade(
    planted: list[Pair], known: store.Store, before: earlier.Earlier, limits: Limits, options: argparse.Namespace
) -> Device:
    done = {(o.kernel, o.mutant) for o in [*before.outcomes, *known.read(Outcome)]}
    number, count_of_shards = options.shard
    pending = [(o, m) for o, m in planted[number::count_of_shards] if (o.name, m.id) not in done]
    start, count = time.monotonic(), 0

    def in_time():
        for pair in pending:
            if options.seconds and time.monotonic() - start > options.seconds:
                return
            yield pair

    def told(outcome: Outcome) -> None:
        nonlocal count
        count += 1
        known.add(outcome)
        ended = f"{outcome.ending} {outcome.by}".strip()
        print(
            f"{count}/{len(pending)} {outcome.kernel} {outcome.mutant}: {ended} ({outcome.seconds:.1f} s)", flush=True
        )

    return await trials.grade(
        in_time(), jobs=options.jobs, limits=limits, timeout=options.timeout, told=told, interpreter=options.interpreter
    )


async def _probe(
    planted: list[Pair], graded: list[Outcome], known: store.Store, jobs: int
) -> dict[tuple[str, str], Probed]:
    """The answers of the probe for all survivors, those of earlier runs included."""
    found = {(p.kernel, p.mutant): p for p in known.read(Probed)}
    survived = {(o.kernel, o.mutant) for o in graded if o.ending is Ending.SURVIVED}
    queue = iter([(o, m) for o, m in planted if (o.name, m.id) in survived - found.keys()])

    async def serve() -> None:
        for baseline, mutant in queue:
            answer = await probe(baseline, mutant, timeout=PROBE_LIMIT)
            known.add(answer)
            found[baseline.name, mutant.id] = answer
            print(f"probed {baseline.name} {mutant.id}: {len(answer.material)} differ", flush=True)

    await asyncio.gather(*(serve() for _ in range(jobs)))
    return found


def _wanted(planted: list[Pair], outcomes: list[Outcome]) -> list[Outcome]:
    """The outcomes of what is planted now, in its order; of several for one mutant the last."""
    latest = {(o.kernel, o.mutant): o for o in outcomes}
    return [latest[o.name, m.id] for o, m in planted if (o.name, m.id) in latest]


def _result(
    device: Device,
    options: argparse.Namespace,
    limits: Limits,
    subjects: tuple[Baseline, ...],
    outcomes: list[Outcome],
    survivors: list[report.Survivor],
) -> dict[str, object]:
    graded = [o for o in outcomes if o.operator != trials.CONTROL.operator]
    whole, hard = report.tally(graded, survivors), report.tally(report.running(graded), survivors)
    return {
        "schema": 1,
        "date": datetime.now(UTC).date().isoformat(),
        "device": wire.encode(device),
        "processor": {"system": platform.platform(), "python": platform.python_version()},
        "versions": versions("torch", "triton", "numpy"),
        "gate": store.gate_digest(),
        "settings": {"most": options.most, "seed": options.seed, **_settings(options, limits)},
        "controls": {o.kernel: o.ending is Ending.SURVIVED for o in outcomes if o.mutant == trials.CONTROL.id},
        "kernels": {o.name: o.language for o in subjects},
        "all": wire.encode(whole) | {"share": whole.share},
        "running": wire.encode(hard) | {"share": hard.share},
        "killed_by": report.kills(graded),
        "by_kernel": {name: wire.encode(t) for name, t in report.tallies(graded, survivors, "kernel").items()},
        "operators": {name: wire.encode(t) for name, t in report.tallies(graded, survivors, "operator").items()},
        "would_show": [list(row) for row in report.cover(survivors)],
        "survivors": [wire.encode(found) for found in survivors],
        "mutants": [[o.kernel, o.mutant, str(o.ending), o.by, o.case, o.seconds] for o in graded],
    }


def _settings(options: argparse.Namespace, limits: Limits) -> dict[str, object]:
    """What the verdict on a mutant depends on."""
    return {"timeout": options.timeout, "elements": options.elements, "limits": wire.encode(limits)}


def _shard(words: str) -> tuple[int, int]:
    """ "2/8" as (2, 8). Raises ArgumentTypeError."""
    number, _, count = words.partition("/")
    if not (number.isdecimal() and count.isdecimal() and int(number) < int(count)):
        raise argparse.ArgumentTypeError(f"{words!r} is not K/N with K from 0 to N - 1, such as 0/8")
    return int(number), int(count)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.mutants", description=__doc__)
    parser.add_argument("--kernels", nargs="*", default=[], help="names of files without their ending; all by default")
    parser.add_argument("--language", choices=("python", "cuda"), default="python", help="what faults are planted in")
    parser.add_argument("--most", type=int, help="at most so many mutants of each operator in each kernel")
    parser.add_argument("--seed", type=int, default=0, help="which ones are drawn with --most")
    parser.add_argument("--jobs", type=int, default=2, help="trials at a time")
    parser.add_argument("--timeout", type=float, default=120.0, help="seconds for one trial")
    parser.add_argument("--seconds", type=float, default=0.0, help="start no trial after so many seconds; 0: no end")
    parser.add_argument("--seeds", type=int, default=Limits().seeds, help="seeds of the gate")
    parser.add_argument("--threads", type=int, default=1, help="CPU threads of a trial; 0: as many as cores")
    parser.add_argument("--elements", type=int, default=0, help="most elements of a call, for a CPU; 0: as written")
    parser.add_argument("--interpreter", help="Python that runs the kernels; this one by default")
    parser.add_argument("--store", type=Path, default=ROOT / ".bench" / "mutants.jsonl", help="what is already graded")
    parser.add_argument(
        "--earlier", type=Path, help="an earlier raw result: what it shows as ended by a call still made"
    )
    parser.add_argument("--shard", type=_shard, default=(0, 1), help="K/N: only every Nth mutant from the Kth on")
    parser.add_argument("--no-probe", dest="probe", action="store_false", help="do not look into the survivors")
    parser.add_argument("--out", type=Path, help=f"where the result goes, as JSON; {summary.KEPT}")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
