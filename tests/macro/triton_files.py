"""Triton files as a strategy sees them, and runs of rewritten ones in Triton's interpreter."""

import dataclasses
import json
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from interpreted import interpreted, judged
from kernelwright.coders.carrying_out import carried_out
from kernelwright.macro.strategy import Observation, Strategy
from kernelwright.proof.jobs import Limits, Trial
from kernelwright.source.document import parse
from kernelwright.source.kernels import find_kernels
from kernelwright.source.workload import find_workload
from kernelwright.values import CPU, Case, Device, Language, Refusal, Workload, WorkloadSource, apply

H200 = Device("cuda", "NVIDIA H200", compute_capability=90, multiprocessors=132, bandwidth=4.2e12)
WITH_CUTE = dataclasses.replace(H200, cute="4.8.1")
HEAD = "import torch\nimport triton\nimport triton.language as tl\n\n\n"


def observe(text: str, device: Device = H200) -> Observation:
    """The first Triton kernel of `text`."""
    kernel = next(k for k in find_kernels(parse(text)) if k.language is Language.TRITON)
    workload = find_workload(text, kernel.entry)
    return Observation("kernel.py", text, kernel, workload if isinstance(workload, Workload) else None, device)


def rewritten(strategy: Strategy, text: str, device: Device = H200) -> tuple[str, ...]:
    """The text of every variant, best guess first."""
    observation = observe(text, device)
    actions = strategy.find(observation)
    assert not isinstance(actions, Refusal), actions.reason
    variants = carried_out(strategy, observation, actions[0])
    assert not isinstance(variants, Refusal), variants.reason
    return tuple(apply(variant, text) for variant in variants)


def refusal(strategy: Strategy, text: str, device: Device = H200) -> Refusal:
    answer = strategy.find(observe(text, device))
    assert isinstance(answer, Refusal), answer
    return answer


def run_interpreted(folder: Path, files: dict[str, str], check: str) -> None:
    """Write `files` and run `check` with them importable, in Triton's interpreter; its failure is the test's."""
    for name, text in files.items():
        (folder / f"{name}.py").write_text(text, encoding="utf-8")
    (folder / "check.py").write_text(check, encoding="utf-8")
    interpreted(folder / "check.py", cwd=folder)


def differing(rows: Sequence[tuple[str, str, str, Sequence[str]]]) -> dict[str, str]:
    """What is wrong by name, of (name, baseline, candidate, calls), in far less time than the gate takes."""
    return json.loads(interpreted(Path(__file__).with_name("run_alike.py"), given=json.dumps(rows)))


def gated(trials: Sequence[tuple[str, str, Sequence[str]]]) -> list[str]:
    """What the gate says in Triton's interpreter of (baseline, candidate, calls): "passed", or the check that failed."""
    asked = [
        Trial(
            "/nowhere/kernel.py",
            baseline,
            baseline,
            candidate,
            Workload(
                WorkloadSource.LINES, calls[0].partition("(")[0], tuple(Case(n, n, c) for n, c in enumerate(calls))
            ),
            limits=Limits(threads=1, seeds=2),
        )
        for baseline, candidate, calls in trials
    ]
    verdicts = [result.verdict for result in judged(asked)]
    return [one.failed_checks[0].name if one.failed_checks else str(one.status) for one in verdicts]


def run_python(folder: Path, code: str) -> None:
    (folder / "check.py").write_text(code, encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "check.py"],
        cwd=folder,
        env={"PATH": "/usr/bin:/bin", "OMP_NUM_THREADS": "1", "TRITON_CACHE_DIR": str(folder / "cache")},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr[-3000:]


__all__ = [
    "CPU",
    "H200",
    "HEAD",
    "differing",
    "gated",
    "observe",
    "refusal",
    "rewritten",
    "run_interpreted",
    "run_python",
]
