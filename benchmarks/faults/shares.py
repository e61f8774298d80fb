"""Several servers at a time, each with a share of the faults, in a program and a file system of its own."""

import asyncio
import json
import os
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from benchmarks.faults.gpus import share_of
from benchmarks.faults.rounds import Outcome

_PASSED_ON = ("limit", "patience", "seconds", "nice")  # options that each share has as the whole


class Told:
    """The file in which a share tells the whole what it has found: where it ran, each outcome, and what was left."""

    def __init__(self, file: Path | None) -> None:
        self._file = file

    def begin(self, device: dict[str, object], not_run: Sequence[str]) -> None:
        self._append({"device": device, "not_run": list(not_run)})

    def outcome(self, outcome: Outcome) -> None:
        self._append(asdict(outcome))

    def end(self, gpu_memory_left: float | None) -> None:
        self._append({"gpu_memory_left_mib": gpu_memory_left})

    def _append(self, value: dict[str, Any]) -> None:
        if self._file is not None:
            with self._file.open("a", encoding="utf-8") as out:
                out.write(json.dumps(value) + "\n")


@dataclass(frozen=True)
class Found:
    """Where the faults were injected, with what outcome, which kinds could not be, and what was left on each GPU (MiB)."""

    device: dict[str, object]
    not_run: tuple[str, ...]
    outcomes: tuple[Outcome, ...]
    gpu_memory_left: tuple[float, ...] = ()


async def run(options: Any) -> Found:
    """What all shares have found; kinds that any of them could inject count as run."""
    with tempfile.TemporaryDirectory(prefix="faults-told-") as folder:
        files = [Path(folder) / f"{number}.jsonl" for number in range(options.jobs)]
        await asyncio.gather(*(_share(options, number, file) for number, file in enumerate(files)))
        told = [read(file) for file in files if file.exists()]
    if not told:
        return Found({"is_gpu": False, "name": "none"}, (), ())
    return Found(
        told[0].device,
        tuple(kind for kind in told[0].not_run if all(kind in other.not_run for other in told)),
        tuple(outcome for found in told for outcome in found.outcomes),
        tuple(left for found in told for left in found.gpu_memory_left),
    )


def read(file: Path) -> Found:
    """What one share has told; a last line that was cut off is left out."""
    lines = [line for line in file.read_text(encoding="utf-8").splitlines() if line.endswith("}")]
    head, *rest = (json.loads(line) for line in lines)
    left = tuple(one["gpu_memory_left_mib"] for one in rest if one.get("gpu_memory_left_mib") is not None)
    outcomes = (
        Outcome(**{**one, "problems": tuple(one["problems"])}) for one in rest if "gpu_memory_left_mib" not in one
    )
    return Found(head["device"], tuple(head["not_run"]), tuple(outcomes), left)


def count_of(count: int, jobs: int, number: int) -> int:
    """The faults of one share: all of them together are `count`."""
    return count // jobs + (number < count % jobs)


async def _share(options: Any, number: int, file: Path) -> None:
    arguments = ["--count", str(count_of(options.count, options.jobs, number))]
    arguments += ["--seed", str(options.seed * 1000 + number), "--told", str(file)]
    for name in _PASSED_ON:
        arguments += [f"--{name}", str(getattr(options, name))]
    if options.only:
        arguments += ["--only", *options.only]
    environment = {**os.environ, "CUDA_VISIBLE_DEVICES": share_of(number, options.gpus)}
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "benchmarks.faults", *arguments, stdout=asyncio.subprocess.PIPE, env=environment
    )
    assert process.stdout is not None
    async for line in process.stdout:
        if b"/" in line.partition(b" ")[0]:  # a round; the table is for the whole to print
            print(f"{number}: {line.decode(errors='replace').rstrip()}", flush=True)
    await process.wait()
