"""Whole trials of pairs of texts, made by the workers as for a user, as many as the time allows."""

import argparse
import asyncio
import collections
import itertools
import platform
import sys
import time
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TypeVar

from benchmarks import summary
from benchmarks.mutants.store import gate_digest
from benchmarks.records import Pair, Run, alike, append, pair_of, read
from benchmarks.subjects import Subject, Wanted, kinds_on, log_spaced, subjects
from benchmarks.versions import versions

from kernelwright.proof.client import Workers
from kernelwright.proof.jobs import Limits
from kernelwright.values import Device, Failure

ROOT = Path(__file__).parents[1]
T = TypeVar("T")
H = TypeVar("H", bound=Hashable)

_SETTINGS = ("budget", "threads", "seeds", "jobs")  # what changes a trial

Cell = tuple[Subject, float]  # a kernel, and the plant that is aimed at
Plant = Callable[[Subject, float, Device], Wanted | None]


class NoDevice(Exception):
    """No worker came up; the message says why."""


def main(
    name: str,
    options: argparse.Namespace,
    aims: Sequence[float],
    plant: Plant,
    table: Callable[[Sequence[Pair]], str],
) -> int:
    """Make trials, add them to the file, keep its summary, print the table of all that are in it; the exit code.

    `plant` makes the trial of a cell; None: there is none to make.
    """
    try:
        if options.pairs:
            asyncio.run(_run(options, aims, plant))
    except NoDevice as none:
        print(none, file=sys.stderr)
        return 2
    found = read(options.append)
    pairs = alike(found, found[-1][0]) if found else []
    if not pairs:
        print(f"There are no pairs in {options.append}.", file=sys.stderr)
        return 2
    summary.keep(name, options.append)
    others = sum(len(of) for _, of in found) - len(pairs)
    if others:
        print(f"{others} pairs of another gate, device or setting are left out.")
    print(table(pairs))
    return 0


async def _run(options: argparse.Namespace, aims: Sequence[float], plant: Plant) -> None:
    stations = [Workers() for _ in range(options.jobs)]
    try:
        device = await stations[0].device()
        if isinstance(device, Failure):
            raise NoDevice(device.message)
        run = run_of(device, options)
        known = alike(read(options.append), run)
        append(options.append, run)
        sizes = log_spaced(options.shortest, options.longest, options.sizes)
        kernels = subjects(options.kinds or kinds_on(device), sizes, device)
        cells = [(one, of) for of in aims for one in kernels]
        tried = collections.Counter((p.kind, p.target_ms, p.plant) for p in known)
        counts = {cell: tried[cell[0].kind, cell[0].target_ms, cell[1]] for cell in cells}
        wanted = least_tried(counts, lambda cell: plant(*cell, device))
        pending = itertools.islice(in_time(wanted, options.seconds_limit), options.pairs)
        await make(pending, stations, options, lambda pair: told(pair, options.append))
    finally:
        await asyncio.gather(*(workers.close() for workers in stations))


def told(pair: Pair, file: Path) -> None:
    append(file, pair)
    what = f"{pair.low:.4f} {pair.ratio:.4f} {pair.high:.4f}" if pair.measured else f"{pair.ending}: {pair.detail}"
    plant = f" {pair.plant:+.0%} (true {pair.true - 1:+.2%})" if pair.plant else ""
    print(f"{pair.kind} {pair.target_ms:g} ms{plant}: {what} ({pair.seconds:.1f} s)", flush=True)


async def make(
    pending: Iterator[Wanted], stations: Sequence[Workers], options: argparse.Namespace, told: Callable[[Pair], None]
) -> None:
    """Make the trials, one at a time on each of the stations, after one on each that warms it up and does not count."""
    limits, number = limits_of(options), 0

    async def one(workers: Workers, wanted: Wanted) -> Pair:
        nonlocal number
        number += 1
        start = time.monotonic()
        answer = await workers.run(wanted.trial(number, limits), timeout=options.timeout)
        return pair_of(wanted, answer, time.monotonic() - start)

    async def serve(workers: Workers) -> None:
        warm = False
        for wanted in pending:
            if not warm:
                await one(workers, wanted)
            warm = True
            told(await one(workers, wanted))

    await asyncio.gather(*(serve(workers) for workers in stations))


def least_tried(tried: Mapping[H, int], make: Callable[[H], T | None]) -> Iterator[T]:
    """Trials without end, each time of the first of those that were tried least; `tried` says how often so far.

    What `make` makes nothing of is not tried again.
    """
    counts = dict(tried)
    while counts:
        chosen = min(counts, key=counts.__getitem__)
        made = make(chosen)
        if made is None:
            del counts[chosen]
            continue
        counts[chosen] += 1
        yield made


def in_time(pending: Iterator[T], seconds: float, now: Callable[[], float] = time.monotonic) -> Iterator[T]:
    """As long as the time allows another one that takes as long as the longest so far; `seconds` 0: no end."""
    start = last = now()
    longest = 0.0
    for one in pending:
        here = now()
        longest, last = max(longest, here - last), here
        if seconds and here - start + longest > seconds:
            return
        yield one


def run_of(device: Device, options: argparse.Namespace) -> Run:
    """The conditions of this run."""
    known = versions("torch", "triton", "numpy") | {"python": platform.python_version()}
    settings = {name: float(getattr(options, name)) for name in _SETTINGS if hasattr(options, name)}
    return Run(datetime.now(UTC).isoformat(timespec="seconds"), device, known, gate_digest(), settings)


def limits_of(options: argparse.Namespace) -> Limits:
    return Limits(timing_budget=options.budget, threads=options.threads, seeds=options.seeds)


def options_of(name: str, words: str | None, *, pairs: int, sizes: int, longest: float) -> argparse.ArgumentParser:
    """The options that these benchmarks have in common."""
    parser = argparse.ArgumentParser(prog=f"python -m benchmarks.{name}", description=words)
    file = ROOT / ".bench" / f"{name}.jsonl"
    add = parser.add_argument
    add("--pairs", type=int, default=pairs, help="trials of this run; 0: only the table of what is in --append")
    add("--seconds-limit", type=float, default=0.0, help="start no trial that may end later; 0: no limit")
    add("--jobs", type=int, default=1, help="trials at a time; more than one disturb each other's clock")
    add("--append", type=Path, default=file, help=f"JSON lines: earlier runs count, this one is added; {summary.KEPT}")
    add("--kinds", nargs="*", help="of kernels; by default all that can be timed here")
    add("--shortest", type=float, default=0.01, help="milliseconds of the shortest kernel")
    add("--longest", type=float, default=longest, help="milliseconds of the longest kernel")
    add("--sizes", type=int, default=sizes, help="how many sizes, log-spaced")
    add("--budget", type=float, default=Limits().timing_budget, help="seconds of timed runs in one trial")
    add("--threads", type=int, default=0, help="CPU threads of a trial; 0: as many as cores")
    add("--seeds", type=int, default=Limits().seeds, help="seeds of the gate")
    add("--timeout", type=float, default=120.0, help="seconds for one trial")
    return parser
