"""Whether a measurement on the CPU is steadier when bound to as many cores as threads: `python -m benchmarks.cpu_pinning`.

Every trial is of a text against itself, in a process of its own that is bound to its last cores, or free to use all;
both in random order. The table is printed last.
"""

import argparse
import json
import os
import random
import statistics
import subprocess
import sys
from pathlib import Path

from benchmarks import summary
from benchmarks.incremental import machine, today, versions

TEXTS = {
    "softmax": ("torch.softmax(x, dim=1)", "f(randn(2048, 2048))"),
    "gelu": ("torch.nn.functional.gelu(x)", "f(randn(256, 256))"),
    "matmul": ("x @ x", "f(randn(512, 512))"),
}
WAYS = {True: "bound", False: "free"}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=5, help="trials of each text in each way")
    parser.add_argument("--threads", type=int, default=0, help="0: half of the cores")
    parser.add_argument(
        "--out", type=Path, default=summary.RAW / "cpu_pinning.json", help=f"where the rows go; {summary.KEPT}"
    )
    parser.add_argument("--trial", choices=TEXTS, help=argparse.SUPPRESS)
    parser.add_argument("--bound", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    threads = options.threads or max(1, len(os.sched_getaffinity(0)) // 2)
    if options.trial:
        print(json.dumps(trial(options.trial, threads, bound=options.bound)))
        return 0
    wanted = [(name, bound) for name in TEXTS for bound in WAYS] * options.runs
    random.Random(1).shuffle(wanted)
    found: dict[tuple[str, bool], list[dict[str, float]]] = {}
    for name, bound in wanted:
        answer = in_its_own_process(name, threads, bound=bound)
        if answer is not None:
            found.setdefault((name, bound), []).append(answer)
    rows = [row(name, WAYS[bound], found.get((name, bound), [])) for name in TEXTS for bound in WAYS]
    known = {
        "date": today(),
        "threads": threads,
        "runs": options.runs,
        "machine": machine(),
        "versions": versions("torch", "kernelwright"),
    }
    summary.write("cpu_pinning", {**known, "rows": rows}, options.out)
    print("| text | cores | measured | ms | width of the interval | furthest from 1 |\n|---|---|---:|---:|---:|---:|")
    for one in rows:
        numbers = f"{one['median_ms']} | {one['median_width']} | {one['furthest']}" if one["measured"] else "- | - | -"
        print(f"| {one['text']} | {one['cores']} | {one['measured']} of {options.runs} | {numbers} |")
    return 0


def in_its_own_process(name: str, threads: int, *, bound: bool) -> dict[str, float] | None:
    """The measurement; None where the machine was too busy to time on."""
    command = [sys.executable, "-m", "benchmarks.cpu_pinning", "--trial", name, "--threads", str(threads)]
    done = subprocess.run(
        [*command, *(["--bound"] if bound else [])],
        env={**os.environ, "CUDA_VISIBLE_DEVICES": ""},
        stdout=subprocess.PIPE,
        text=True,
        check=True,
        timeout=120,
    )
    return json.loads(done.stdout.splitlines()[-1])


def trial(name: str, threads: int, *, bound: bool) -> dict[str, float] | None:
    if bound:  # before torch and the processes of the texts are started: they inherit it
        os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[-threads:])
    from kernelwright.proof.jobs import Limits, Trial
    from kernelwright.proof.worker.trial import run_trial
    from kernelwright.source.workload import find_workload

    expression, line = TEXTS[name]
    text = f"import torch\n\n\n# workload: {line}\ndef f(x):\n    return {expression}\n"
    limits = Limits(timing_budget=0.5, threads=threads)
    result = run_trial(
        Trial("/nowhere/k.py", text, text, text, find_workload(text, "f"), limits=limits), lambda _: None
    )
    measured = result.measurement
    if measured is None:
        return None
    return {
        "ms": measured.candidate.median_ms,
        "speedup": measured.speedup,
        "width": measured.speedup_high - measured.speedup_low,
    }


def row(text: str, cores: str, found: list[dict[str, float]]) -> dict[str, object]:
    if not found:
        return {"text": text, "cores": cores, "measured": 0}
    return {
        "text": text,
        "cores": cores,
        "measured": len(found),
        "median_ms": round(statistics.median(one["ms"] for one in found), 4),
        "median_width": round(statistics.median(one["width"] for one in found), 3),
        "furthest": round(max(abs(one["speedup"] - 1) for one in found), 3),
    }


if __name__ == "__main__":
    sys.exit(main())
