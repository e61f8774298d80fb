"""Injects faults into warm servers: `python -m benchmarks.faults [--count N] [--jobs N] [--seed N] [--out FILE]`.

One after the other, with --jobs into several servers at a time, in an order drawn from the seed; kinds that cost the
server no worker are drawn more often. After each the next requests must be answered rightly within 5 s, every
acknowledged entry of the journal be on disk, and no process, shared memory, temporary file or descriptor be left. Kinds
that need a GPU, or a file system of their own, run where these are. The table is printed last.
"""

import argparse
import asyncio
import contextlib
import os
import platform
import subprocess
import sys
import time
from datetime import UTC, datetime
from pathlib import Path
from random import Random

ROOT = Path(__file__).parents[2]
sys.path[:0] = [str(ROOT / "tests"), str(ROOT / "server")]

from benchmarks import summary  # noqa: E402
from benchmarks.faults import gpus, report, shares  # noqa: E402
from benchmarks.faults.house import House, can_mount, make  # noqa: E402
from benchmarks.faults.kinds import Kind, kinds  # noqa: E402
from benchmarks.faults.rounds import Outcome, play, refusal_of  # noqa: E402
from benchmarks.versions import versions  # noqa: E402

_EVERY = 25  # rounds after which the result is written


def main() -> int:
    options = _options()
    mounts = can_mount()
    if options.jobs > 1 and not mounts:
        print("Servers beside each other need file systems of their own, which cannot be had here: use --jobs 1.")
        return 2
    here = {"", *(["mount"] if mounts else [])}
    asked = [kind for kind in kinds() if all(word in f"{kind.group} {kind.name}" for word in options.only)]
    if not asked:
        print("No kind of fault has this in its name.", file=sys.stderr)
        return 2
    if options.jobs > 1:
        return _told(options, asyncio.run(shares.run(options)))
    os.nice(options.nice)
    return asyncio.run(_run(options, asked, here, mounts))


async def _run(options: argparse.Namespace, asked: list[Kind], here: set[str], mounts: bool) -> int:
    memory = gpus.memory_used()
    house = make(mounts=mounts, limit=options.limit, patience=options.patience)
    outcomes: list[Outcome] = []
    began = time.monotonic()
    try:
        refusal, device = await _open(house)
        if device.get("is_gpu"):
            here.add("gpu")
        not_run = [kind.name for kind in asked if kind.needs not in here]
        told = shares.Told(options.told)
        told.begin(device, not_run)
        for number, kind in enumerate(_drawn(asked, here, options), 1):
            if options.seconds and time.monotonic() - began > options.seconds:
                break
            outcome = await play(house, kind, Random(f"{options.seed} {number}"), refusal)
            outcomes.append(outcome)
            told.outcome(outcome)
            _tell(number, options.count, outcome)
            if any(p.startswith(("next", "the fault", "left")) for p in outcome.problems):
                await _renew(house)
            await house.warm()
            if options.out and number % _EVERY == 0:
                summary.write(
                    "faults", _result(options, shares.Found(device, tuple(not_run), tuple(outcomes))), options.out
                )
    finally:
        with contextlib.suppress(Exception):
            await asyncio.wait_for(house.stop(), 10.0)
        house.close()
    left = gpus.memory_left(memory) if device["is_gpu"] else None
    told.end(left)
    return _told(options, shares.Found(device, tuple(not_run), tuple(outcomes), () if left is None else (left,)))


def _told(options: argparse.Namespace, found: shares.Found) -> int:
    """Write and print the whole; the exit code."""
    if options.out:
        summary.write("faults", _result(options, found), options.out)
    print(report.table(found.outcomes, found.not_run))
    left = [mib for mib in found.gpu_memory_left if mib > gpus.MOST_LEFT_MIB]
    for mib in left:
        print(f"{mib} MiB of a GPU's memory were left when its server had ended.")
    return 0 if found.outcomes and not left and not any(outcome.problems for outcome in found.outcomes) else 1


def _drawn(asked: list[Kind], here: set[str], options: argparse.Namespace) -> list[Kind]:
    """`count` kinds, each as often as its weight says, in random order."""
    random = Random(options.seed)
    drawn: list[Kind] = []
    possible = [kind for kind in asked if kind.needs in here for _ in range(kind.weight)]
    while possible and len(drawn) < options.count:
        drawn += random.sample(possible, len(possible))
    return drawn[: options.count]


async def _open(house: House) -> tuple[str, dict[str, object]]:
    """A warm server with a history; what it says of the good kernel, and the device that it sees."""
    await house.start()
    await house.set_baseline()
    refusal = await refusal_of(house)
    doctor = await house.editor.command("kernelwright.doctor", {"uri": "", "quiet": True})
    gpu = next((line for line in doctor if line["name"] == "GPU"), {"found": False, "detail": ""})
    await house.editor.command("kernelwright.verify", {"uri": house.good})
    await house.warm()
    house.count()
    return refusal, {"is_gpu": gpu["found"], "name": gpu["detail"] or platform.processor() or platform.machine()}


async def _renew(house: House) -> None:
    """A fresh server for the next round, so that one problem is told once."""
    house.heal()
    with contextlib.suppress(Exception):
        house.server.kill()
    await house.discard()
    house.clean()
    await house.start()
    await house.set_baseline()
    await refusal_of(house)
    await house.editor.command("kernelwright.verify", {"uri": house.good})
    house.count()


def _tell(number: int, count: int, outcome: Outcome) -> None:
    words = "; ".join(outcome.problems) or "held"
    print(
        f"{number}/{count} {outcome.kind}: {words} ({outcome.answer or 'nothing asked'}; next {outcome.next_s:.2f} s, "
        f"hover {outcome.hover_s:.3f} s, settled {outcome.settled_s:.2f} s)",
        flush=True,
    )


def _result(options: argparse.Namespace, found: shares.Found) -> dict[str, object]:
    outcomes = found.outcomes
    groups, by_kind = report.grouped(outcomes, "group"), report.grouped(outcomes, "kind")
    return {
        "schema": 1,
        "date": datetime.now(UTC).date().isoformat(),
        "device": found.device,
        "processor": {"system": platform.platform(), "python": platform.python_version(), "cpus": os.cpu_count()},
        "versions": versions("torch", "triton", "pygls"),
        "commit": options.commit or _commit(),
        "settings": {
            "count": options.count,
            "seed": options.seed,
            "servers": options.jobs,
            "gpus": options.gpus,
            "limit_s": 5.0,
            "only": options.only,
        },
        "all": report.summary(outcomes),
        "groups": {name: report.summary(found) for name, found in groups.items()},
        "kinds": {name: [len(found), sum(not o.problems for o in found)] for name, found in sorted(by_kind.items())},
        "not_run": found.not_run,
        "gpu_memory_left_mib": found.gpu_memory_left,
        "problems": [[o.kind, *o.problems] for o in outcomes if o.problems],
        "columns": ["kind", "answer", "fault_s", "next_s", "hover_s", "settled_s", "load"],
        "rounds": [
            [
                o.kind,
                o.answer.partition(":")[0],
                *(round(s, 3) for s in (o.fault_s, o.next_s, o.hover_s, o.settled_s, o.load)),
            ]
            for o in outcomes
        ],
    }


def _commit() -> str:
    done = subprocess.run(["git", "-C", str(ROOT), "rev-parse", "HEAD"], capture_output=True, text=True, check=False)
    return done.stdout.strip()


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.faults", description=__doc__)
    parser.add_argument("--count", type=int, default=1000, help="how many faults")
    parser.add_argument("--seed", type=int, default=0, help="of their order and of all that is random in them")
    parser.add_argument(
        "--jobs", type=int, default=1, help="servers at a time, each of which gets a share of the faults"
    )
    parser.add_argument("--gpus", type=int, default=1, help="of several servers so many have a GPU, each its own")
    parser.add_argument("--only", nargs="*", default=[], help="words that the kinds' groups and names must have")
    parser.add_argument("--limit", type=float, default=10.0, help="seconds that the server gives a job")
    parser.add_argument("--patience", type=float, default=3.0, help="seconds after which a person mostly cancels one")
    parser.add_argument("--seconds", type=float, default=0.0, help="inject no fault after so many; 0: no end")
    parser.add_argument("--nice", type=int, default=5, help="how much other programs go first")
    parser.add_argument("--commit", default="", help="what was tested, where this is no checkout")
    parser.add_argument("--told", type=Path, help=argparse.SUPPRESS)  # of a share: where the whole reads the outcomes
    parser.add_argument("--out", type=Path, help=f"where the result goes, as JSON; {summary.KEPT}")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
