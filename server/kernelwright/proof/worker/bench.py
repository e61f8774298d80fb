"""The bench of one trial: the baseline loaded, and the settings that it leaves."""

import contextlib
import functools
import os
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from types import ModuleType
from typing import Any

import torch

from kernelwright.proof.jobs import Trial
from kernelwright.proof.worker import aftermath, flags, surroundings, without_gpu
from kernelwright.proof.worker.evidence import Evidence
from kernelwright.proof.worker.failed import JobFailed
from kernelwright.proof.worker.inputs import bytes_of_call, bytes_of_get_inputs, check_memory, seed_everything
from kernelwright.proof.worker.interpreter import rounds
from kernelwright.proof.worker.languages import WorkerLanguage, language_of
from kernelwright.proof.worker.subject import case_call
from kernelwright.proof.worker.targets import Targets
from kernelwright.proof.worker.timing.timer import set_threads

Report = Callable[[str], None]


@dataclass(frozen=True, eq=False)
class Bench:
    """What is fixed for one trial, with the `targets` made so far by constructor arguments, and the `evidence`.

    `settings` are those that the baseline leaves. `wide`: the baseline's text with float64 for float32, None where it has
    none. `left`: what of the settings, and of seeds, the baseline changes on import. `launched`: what this process had
    launched in the interpreter before.
    """

    trial: Trial
    device: str
    baseline: ModuleType
    wide: ModuleType | None
    settings: Mapping[str, Any]
    left: Mapping[str, Any]
    interpreted: bool
    launched: int
    targets: dict[str | None, Targets] = field(default_factory=dict)
    evidence: Evidence = field(default_factory=Evidence)

    @functools.cached_property
    def language(self) -> WorkerLanguage:
        return language_of(self.trial.language)

    @functools.cached_property
    def exact(self) -> ModuleType | None:
        """The baseline's text with float64 for 16 bits too, loaded when it is first asked for; None where it has none."""
        return wider_module(self.trial, narrow=True)


def device_here() -> str:
    """Where user code runs: CUDA when there is one, never in Triton's interpreter."""
    return "cuda" if torch.cuda.is_available() and not interpreting() else "cpu"


def interpreting() -> bool:
    return os.environ.get("TRITON_INTERPRET") == "1"


def was_interpreted(bench: Bench) -> bool:
    """Whether the baseline's kernels ran in the interpreter, be it those of a file that its text imports."""
    return interpreting() and launches_interpreted() > bench.launched


def launches_interpreted() -> int:
    """How many kernels this process has launched in Triton's interpreter; 0 where nothing has loaded that."""
    hardened = sys.modules.get("kernelwright.proof.worker.interpreter.hardened")
    return hardened.launched if hardened is not None else 0


@contextlib.contextmanager
def opened(trial: Trial) -> Iterator[Bench]:
    """Within it the baseline is loaded, and the settings are those that it leaves: the next job's are not judged by them.

    Raises JobFailed for the baseline's faults, and where the workload's tensors do not fit into memory.
    """
    set_threads(trial.limits)
    language = language_of(trial.language)
    interpreted = interpreting() and language.is_interpreted_without_gpu(trial.baseline, trial.candidate)
    if interpreting() and language.needs_interpreter:
        from kernelwright.proof.worker.interpreter import hardened

        hardened.install()
    launched, rounds.most = launches_interpreted(), 0
    wide = language.widened(trial.baseline)
    language.prepare(trial.home, [trial.baseline, trial.previous, trial.candidate, *([wide] if wide else [])])
    language.forget_neighbours(trial.home)
    seed_everything(flags.IMPORT_SEED)
    defaults, seeds = flags.read(), flags.seeds()
    with contextlib.ExitStack() as undo:
        undo.enter_context(without_gpu.redirecting(interpreted and language.needs_interpreter))
        undo.callback(flags.write, defaults)
        baseline = language.load(trial.home, trial.baseline, "baseline")
        undo.callback(language.unload, baseline)
        settings = flags.read()
        left = surroundings.changes(defaults, settings) | surroundings.changes(seeds, flags.seeds())
        if left:
            again = _changed_again(trial, language, defaults)
            aftermath.happened_once(name for name, value in left.items() if again.get(name, ...) != value)
        bench = Bench(trial, device_here(), baseline, _twin(trial, wide), settings, left, interpreted, launched)
        flags.write(settings)
        try:
            _check_room(bench)
            yield bench
        finally:
            for module in filter(None, (bench.wide, vars(bench).get("exact"))):
                language.unload(module)


def _changed_again(trial: Trial, language: WorkerLanguage, defaults: Mapping[str, Any]) -> dict[str, Any]:
    """Return what the baseline's own text changes: what loading it changes now that its imports have run."""
    flags.write(defaults)
    seed_everything(flags.IMPORT_SEED)
    seeds = flags.seeds()
    try:
        language.unload(language.load(trial.home, trial.baseline, "again"))
    except JobFailed:
        return {}
    return surroundings.changes(defaults, flags.read()) | surroundings.changes(seeds, flags.seeds())


def _check_room(bench: Bench) -> None:
    """Raises JobFailed where the workload's tensors do not fit into memory; nothing is allocated."""
    if not bench.trial.workload.cases:
        check_memory(bytes_of_get_inputs(bench.baseline), bench.device)
    elif not bench.interpreted:  # the interpreter gets smaller ones
        check_memory(bytes_of_call(case_call(bench.trial.workload.cases[0].text)), bench.device)


def wider_module(trial: Trial, *, narrow: bool = False) -> ModuleType | None:
    """The baseline's text with float64 for float32, with `narrow` for 16 bits too; None where that changes nothing."""
    return _twin(trial, language_of(trial.language).widened(trial.baseline, narrow=narrow))


def _twin(trial: Trial, text: str | None) -> ModuleType | None:
    try:
        return language_of(trial.language).load(trial.home, text, "wide") if text is not None else None
    except (JobFailed, SyntaxError, RecursionError):
        return None
