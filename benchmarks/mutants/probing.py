"""The probe of one survivor: does it differ from its baseline anywhere at all, and on which inputs?"""

import asyncio
import json
import os
import sys
from dataclasses import dataclass

from benchmarks.mutants.baselines import ROOT, Baseline
from benchmarks.mutants.cuda.probe_lines import lines_of
from benchmarks.mutants.mutant import Mutant
from benchmarks.mutants.probe_lines import LINES


@dataclass(frozen=True)
class Difference:
    """A call on which the mutant does not give the baseline's bits. `material`: by more than rounding."""

    case: str
    material: bool
    words: str


@dataclass(frozen=True)
class Probed:
    """`calls` made, and those that differ. `failed` says why there is no answer, "" when there is one."""

    kernel: str
    mutant: str
    calls: int
    differences: tuple[Difference, ...]
    failed: str = ""

    @property
    def identical(self) -> bool:
        return not self.differences and not self.failed

    @property
    def material(self) -> tuple[Difference, ...]:
        return tuple(difference for difference in self.differences if difference.material)


def _lines(baseline: Baseline) -> tuple[str, ...]:
    if baseline.language == "CUDA C++":
        return lines_of(baseline.workload.cases[-1].text)
    return LINES[baseline.name]


async def probe(baseline: Baseline, mutant: Mutant, *, timeout: float) -> Probed:
    """Runs the probe in a process of its own, which a mutant may end."""
    job = {"baseline": baseline.right, "mutant": mutant.text, "lines": _lines(baseline), "suffix": baseline.path.suffix}
    path = os.pathsep.join(part for part in (str(ROOT), os.environ.get("PYTHONPATH", "")) if part)
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        "benchmarks.mutants.probe",
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": path},
    )
    try:
        out, err = await asyncio.wait_for(process.communicate(json.dumps(job).encode()), timeout)
    except TimeoutError:
        process.kill()
        await process.wait()
        return Probed(baseline.name, mutant.id, 0, (), f"no answer within {timeout:.0f} s")
    return _read(baseline.name, mutant.id, out.decode().splitlines(), process.returncode or 0, err.decode())


def _read(kernel: str, mutant: str, lines: list[str], status: int, errors: str) -> Probed:
    answers = [json.loads(line) for line in lines]
    made = [answer for answer in answers if "same" in answer]
    differences = [Difference(a["case"], a["material"], a["words"]) for a in made if not a["same"]]
    if status and answers and set(answers[-1]) == {"case"}:
        differences.append(Difference(answers[-1]["case"], True, f"ends the process with status {status}"))
    elif status:
        last = errors.strip().splitlines()[-1:] or ["no message"]
        return Probed(kernel, mutant, len(made), tuple(differences), last[0])
    return Probed(kernel, mutant, len(made), tuple(differences))
