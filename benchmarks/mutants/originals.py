"""The correct kernels that faults are planted in: the examples, and a corpus of small ones beside this file."""

from dataclasses import dataclass
from pathlib import Path

from benchmarks.mutants.mutant import Mutant, generate, sample
from benchmarks.mutants.operators import OPERATORS

from kernelwright.source.workload import any_workload
from kernelwright.values import Refusal, Workload

ROOT = Path(__file__).parents[2]
FOLDERS = (ROOT / "examples", Path(__file__).parent / "corpus")


@dataclass(frozen=True)
class Original:
    """One kernel's file: `name` is the file's without its ending."""

    name: str
    path: Path
    text: str
    workload: Workload

    @property
    def language(self) -> str:
        return "Triton" if "@triton.jit" in self.text else "PyTorch"


class Unusable(Exception):
    """A file that cannot be graded, with the reason in one sentence."""


def originals(names: tuple[str, ...] = ()) -> tuple[Original, ...]:
    """All of them, or those named. Raises Unusable."""
    found = {path.stem: path for folder in FOLDERS for path in sorted(folder.glob("*.py"))}
    unknown = [name for name in names if name not in found]
    if unknown:
        raise Unusable(f"There is no kernel {unknown[0]}; there are {', '.join(found)}.")
    return tuple(_read(path) for name, path in found.items() if not names or name in names)


def mutants_of(original: Original, most: int | None, seed: int) -> list[Mutant]:
    """Every mutant, or at most `most` for each operator, drawn by `seed`."""
    mutants = generate(original.text, OPERATORS)
    return mutants if most is None else sample(mutants, most, seed)


def _read(path: Path) -> Original:
    text = path.read_text(encoding="utf-8")
    workload = any_workload(text)
    if isinstance(workload, Refusal):
        raise Unusable(f"{path.name}: {workload.reason}")
    return Original(path.stem, path, text, workload)
