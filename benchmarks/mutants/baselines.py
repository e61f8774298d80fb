"""The correct kernels that faults are planted in: the examples, the bases of the corpus, and rewrites of CUDA C++."""

import dataclasses
import math
import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from pathlib import Path

import corpus
from benchmarks.mutants import cuda
from benchmarks.mutants.mutant import Mutant, generate, sample
from benchmarks.mutants.operators import OPERATORS

from kernelwright.source.workload import any_workload, evaluate
from kernelwright.values import Refusal, TensorSpec, Workload

ROOT = Path(__file__).parents[2]
_LEAST = 32  # no size is halved below it
FOLDERS = (ROOT / "examples", corpus.FOLDER / "bases")


@dataclass(frozen=True)
class Baseline:
    """One kernel's file: `name` is the file's without its ending.

    `rewrite`: what faults are planted in, where that is not the text itself.
    """

    name: str
    path: Path
    text: str
    workload: Workload
    rewrite: str = ""

    @property
    def right(self) -> str:
        """The text that a mutant is one fault away from."""
        return self.rewrite or self.text

    @property
    def language(self) -> str:
        if self.path.suffix == ".cu":
            return "CUDA C++"
        return "Triton" if "@triton.jit" in self.text else "PyTorch"


class Unusable(Exception):
    """A file that cannot be graded, with the reason in one sentence."""


def baselines(names: tuple[str, ...] = ()) -> tuple[Baseline, ...]:
    """All files in Python, or those named. Raises Unusable."""
    found = {path.stem: path for folder in FOLDERS for path in sorted(folder.glob("*.py"))}
    return tuple(_read(found[name]) for name in _chosen(names, found))


def cuda_baselines(names: tuple[str, ...] = ()) -> tuple[Baseline, ...]:
    """All rewrites of CUDA C++, or those named. Raises Unusable."""
    from benchmarks.mutants.cuda.subjects import subjects

    found = {name: Baseline(name, *subject) for name, *subject in subjects()}
    return tuple(found[name] for name in _chosen(names, found))


def smaller(baseline: Baseline, most: int) -> Baseline:
    """The same with the sizes of every workload line halved, the leading one first, until a call has `most` elements.

    What is written for a GPU takes a CPU so long that the gate's time runs out before its cases do. Triton kernels stay
    and CUDA C++ stay as they are: the gate itself reduces the sizes for the interpreter and the emulator.
    """
    if baseline.language != "PyTorch":
        return baseline
    cases = tuple(dataclasses.replace(case, text=_halved(case.text, most)) for case in baseline.workload.cases)
    return dataclasses.replace(baseline, workload=dataclasses.replace(baseline.workload, cases=cases))


def mutants_of(baseline: Baseline, most: int | None, seed: int) -> list[Mutant]:
    """Every mutant, or at most `most` for each operator, drawn by `seed`."""
    of_cuda = baseline.language == "CUDA C++"
    mutants = generate(baseline.right, *((cuda.OPERATORS, cuda.read) if of_cuda else (OPERATORS,)))
    return mutants if most is None else sample(mutants, most, seed)


def _chosen(names: tuple[str, ...], found: Collection[str]) -> tuple[str, ...]:
    """The names in order of `found`, all of it for none. Raises Unusable."""
    unknown = [name for name in names if name not in found]
    if unknown:
        raise Unusable(f"There is no kernel {unknown[0]}; there are {', '.join(found)}.")
    return tuple(name for name in found if not names or name in names)


def _read(path: Path) -> Baseline:
    text = corpus.read(path).baseline
    workload = any_workload(text)
    if isinstance(workload, Refusal):
        raise Unusable(f"{path.name}: {workload.reason}")
    return Baseline(path.stem, path, text, workload)


def _halved(line: str, most: int) -> str:
    while _elements(line) > most:
        first = next(_specs(evaluate(line).args))
        large = next((size for size in first.shape if size > _LEAST), None)
        if large is None:
            return line
        others, less = set(re.findall(r"\d+", line)), large // 2
        while str(less) in others and less > _LEAST:
            less //= 2  # two sizes that become one would always be halved together
        line = re.sub(rf"(?<![\w.]){large}(?![\w.])", str(max(less, _LEAST)), line)
    return line


def _elements(line: str) -> int:
    call = evaluate(line)
    return sum(math.prod(spec.shape) for spec in _specs((call.args, tuple(call.kwargs.values()), call.init_args)))


def _specs(tree: object) -> Iterator[TensorSpec]:
    if isinstance(tree, TensorSpec):
        yield tree
    elif isinstance(tree, list | tuple):
        for part in tree:
            yield from _specs(part)
