"""Asks the gate about rewrites that reviewers wrote by hand: `python -m benchmarks.reviewed [--kinds wrong] [--out FILE]`.

The reviewers had read the gate and aimed at what it does not look at, so the shares say where it is open, not how often it errs
on what a strategy or a model writes. Runs on the device at hand. The table is printed last.
"""

import argparse
import asyncio
import platform
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2] / "tests"))

from benchmarks import summary
from benchmarks.mutants.store import gate_digest
from benchmarks.versions import versions
from corpus import Case, cases

from cheats.outcome import trial_of
from kernelwright import wire
from kernelwright.proof.client import Workers
from kernelwright.proof.jobs import Answer, Limits, TrialResult
from kernelwright.settings import DEFAULTS
from kernelwright.steps import gained
from kernelwright.values import Failure, VerdictStatus

KINDS = ("wrong", "unreal", "honest")
ACCEPTED, FASTER = "accepted", "accepted as faster"


@dataclass(frozen=True)
class Outcome:
    """`ending`: ACCEPTED, FASTER, the first failed check, or what else kept it from being accepted."""

    kind: str
    name: str
    ending: str
    detail: str
    seconds: float

    @property
    def as_it_should(self) -> bool:
        """Wrong: not accepted. Unreal: not accepted as faster. Honest: accepted."""
        return {
            "wrong": self.ending not in (ACCEPTED, FASTER),
            "unreal": self.ending != FASTER,
            "honest": self.ending in (ACCEPTED, FASTER),
        }[self.kind]


def main() -> int:
    options = _options()
    every = [(kind, one) for kind in options.kinds for one in cases(f"reviewed/{kind}")]
    chosen = [(kind, one) for kind, one in every if not options.only or one.name in options.only]
    limits = Limits(timing_budget=options.budget, threads=1)
    device, outcomes = asyncio.run(_judge(chosen, limits, options))
    if device is None:
        return 2
    if options.out:
        whole = {
            "schema": 1,
            "date": datetime.now(UTC).date().isoformat(),
            "device": device,
            "processor": {"system": platform.platform(), "python": platform.python_version()},
            "versions": versions("torch", "triton", "numpy"),
            "gate": gate_digest(),
            "limits": wire.encode(limits),
            "outcomes": [asdict(one) for one in outcomes],
        }
        summary.write("reviewed", whole, options.out)
    print(table(outcomes))
    return 0


async def _judge(
    chosen: Sequence[tuple[str, Case]], limits: Limits, options: argparse.Namespace
) -> tuple[object, list[Outcome]]:
    """The device and what came of each, in the order of `chosen`; None where there is no device, which is then told."""
    found: dict[tuple[str, str], Outcome] = {}
    queue = iter(chosen)
    stations = [Workers() for _ in range(options.jobs)]

    async def serve(workers: Workers) -> None:
        for kind, one in queue:
            start = time.monotonic()
            # Only where the speed is in question is anything timed.
            trial = trial_of(one, Path(tempfile.gettempdir()), limits, measure=kind == "unreal")
            ending, detail = _ending(await workers.run(trial, timeout=options.timeout))
            outcome = Outcome(kind, one.name, ending, detail, round(time.monotonic() - start, 2))
            found[kind, one.name] = outcome
            mark = "" if outcome.as_it_should else " <--"
            print(f"{len(found)}/{len(chosen)} {kind} {one.name}: {ending}{mark}", flush=True)

    try:
        device = await stations[0].device()
        if isinstance(device, Failure):
            print(device.message, file=sys.stderr)
            return None, []
        await asyncio.gather(*(serve(workers) for workers in stations))
    finally:
        await asyncio.gather(*(workers.close() for workers in stations))
    return wire.encode(device), [found[kind, one.name] for kind, one in chosen]


def _ending(answer: Answer) -> tuple[str, str]:
    if isinstance(answer, Failure):
        return str(answer.kind), answer.message
    assert isinstance(answer, TrialResult)  # the contract of Trial
    verdict, measured = answer.verdict, answer.measurement
    if verdict.failed_checks:
        first = verdict.failed_checks[0]
        return first.name, f"{first.case}: {first.detail}"
    if verdict.status is not VerdictStatus.PASSED:
        return "not checkable", verdict.reason
    if measured is not None and gained(measured, DEFAULTS.min_gain) and not answer.unsteady:
        return FASTER, f"{measured.speedup:.2f}x"
    return ACCEPTED, answer.unmeasured if measured is None else f"{measured.speedup:.2f}x, no gain"


def table(outcomes: Sequence[Outcome]) -> str:
    """How many of each kind ended as they should, by what, and the names of the others."""
    lines = []
    for kind in KINDS:
        these = [one for one in outcomes if one.kind == kind]
        if not these:
            continue
        good = [one for one in these if one.as_it_should]
        lines += ["", f"{kind}: {len(good)} of {len(these)} as they should be"]
        lines += [f"  {count:4} {ending}" for ending, count in Counter(one.ending for one in these).most_common()]
        lines += [f"  {one.name}: {one.ending}; {one.detail}"[:160] for one in these if not one.as_it_should]
    return "\n".join(lines)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.reviewed", description=__doc__)
    parser.add_argument("--kinds", nargs="*", choices=KINDS, default=list(KINDS))
    parser.add_argument("--only", nargs="*", default=[], help="names of files without their ending")
    parser.add_argument(
        "--jobs", type=int, default=2, help="trials at a time; more than one disturb each other's clock"
    )
    parser.add_argument("--budget", type=float, default=Limits().timing_budget, help="seconds of timed runs in a trial")
    parser.add_argument("--timeout", type=float, default=120.0, help="seconds for one trial")
    parser.add_argument("--out", type=Path, help=f"where the result goes, as JSON; {summary.KEPT}")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
