"""The bench of one trial: the baseline loaded, the settings that it asks for, and callables made of it."""

import contextlib
import copy
import functools
import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from types import ModuleType
from typing import Any

import torch

from kernelwright.proof.jobs import Trial
from kernelwright.proof.worker import flags, surroundings
from kernelwright.proof.worker.evidence import Evidence
from kernelwright.proof.worker.failed import JobFailed, is_out_of_memory
from kernelwright.proof.worker.inputs import (
    Inputs,
    bytes_of_call,
    bytes_of_get_inputs,
    check_memory,
    initial_arguments,
    seed_everything,
)
from kernelwright.proof.worker.languages import WorkerLanguage, language_of
from kernelwright.proof.worker.observe import named_state
from kernelwright.proof.worker.raised import describe, line_of
from kernelwright.proof.worker.reference.pair import Mismatch, give_parameters
from kernelwright.proof.worker.subject import case_call, make_target
from kernelwright.proof.worker.timing.timer import set_threads
from kernelwright.proof.worker.variation import Variation
from kernelwright.values import Check, FailureKind

Report = Callable[[str], None]

NO_MEMORY = "needs more memory than there is"
RACE = "race"


class Rejected(Exception):
    """The candidate fails a check in a case."""

    def __init__(self, name: str, case: str, detail: str) -> None:
        super().__init__(detail)
        self.check = Check(name, case, False, detail)


class Undecidable(Exception):
    """Nothing can be said of any candidate here; the message is the reason, in one sentence."""


class NotAccepted(Exception):
    """The baseline does not take a derived size; nothing follows from it."""


@dataclass(frozen=True)
class Targets:
    """The baseline constructed with `init`, number `number` of its bench; `double` is the fp64 twin.

    `double` is None where a module cannot be copied. `seed_left`: torch's initial seed behind the constructor.
    """

    number: int
    init: Inputs
    baseline: Any
    double: Any
    seed_left: int = 0


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
    if not interpreting():
        return False
    from kernelwright.proof.worker.interpreter import hardened

    return hardened.launched > bench.launched


@contextlib.contextmanager
def opened(trial: Trial) -> Iterator[Bench]:
    """Within it the baseline is loaded, and the settings are those that it leaves: the next job's are not judged by them.

    Raises JobFailed for the baseline's faults, and where the workload's tensors do not fit into memory.
    """
    set_threads(trial.limits)
    language, launched = language_of(trial.language), 0
    interpreted = interpreting() and language.is_interpreted_without_gpu(trial.baseline, trial.candidate)
    if interpreting():
        from kernelwright.proof.worker.interpreter import hardened

        hardened.install()
        launched = hardened.launched
    language.forget_neighbours(trial.home)
    seed_everything(flags.IMPORT_SEED)
    defaults, seeds = flags.read(), flags.seeds()
    with contextlib.ExitStack() as undo:
        undo.callback(flags.write, defaults)
        baseline = language.load(trial.home, trial.baseline, "baseline")
        undo.callback(language.unload, baseline)
        settings = flags.read()
        left = surroundings.changes(defaults, settings) | surroundings.changes(seeds, flags.seeds())
        bench = Bench(trial, device_here(), baseline, wider_module(trial), settings, left, interpreted, launched)
        flags.write(settings)
        try:
            _check_room(bench)
            yield bench
        finally:
            for module in filter(None, (bench.wide, vars(bench).get("exact"))):
                language.unload(module)


def _check_room(bench: Bench) -> None:
    """Raises JobFailed where the workload's tensors do not fit into memory; nothing is allocated."""
    if not bench.trial.workload.cases:
        check_memory(bytes_of_get_inputs(bench.baseline), bench.device)
    elif not bench.interpreted:  # the interpreter gets smaller ones
        check_memory(bytes_of_call(case_call(bench.trial.workload.cases[0].text)), bench.device)


def wider_module(trial: Trial, *, narrow: bool = False) -> ModuleType | None:
    """The baseline's text with float64 for float32, with `narrow` for 16 bits too; None where that changes nothing."""
    language = language_of(trial.language)
    text = language.widened(trial.baseline, narrow=narrow)
    try:
        return language.load(trial.home, text, "wide") if text is not None else None
    except (JobFailed, SyntaxError, RecursionError):
        return None


def load_candidate(language: WorkerLanguage, path: str, text: str) -> ModuleType:
    """The candidate's module. Raises Rejected, or JobFailed when a package is missing."""
    try:
        return language.load(path, text, "candidate")
    except JobFailed as failed:
        if failed.failure.kind is FailureKind.MISSING_PACKAGE:
            raise
        raise Rejected("runs", "import", failed.failure.message) from failed


def targets_for(bench: Bench, variation: Variation) -> Targets:
    """Baseline and fp64 twin for the variation's constructor arguments, made once. Raises JobFailed, NotAccepted."""
    call, workload = variation.call, bench.trial.workload
    key = repr((call.init_args, call.init_kwargs)) if call is not None else None
    if key in bench.targets:
        return bench.targets[key]
    seed = bench.trial.limits.first_seed
    try:
        # A candidate does not choose what it is constructed with.
        init = initial_arguments(bench.baseline, call, device=bench.device, seed=seed)
        baseline = make_target(bench.baseline, workload, init, device=bench.device, seed=seed)
    except JobFailed as failed:
        if variation.derived:
            raise NotAccepted from failed
        raise
    seed_left = torch.initial_seed()
    try:
        double = wide_target(bench, bench.wide, init, baseline)
        if double is None:
            double = copy.deepcopy(baseline).double() if isinstance(baseline, torch.nn.Module) else baseline
    except Exception as error:  # noqa: BLE001  (copying runs the user's own code)
        bench.evidence.notes.append(f"no fp64 copy of the module ({type(error).__name__})")
        double = None
    bench.targets[key] = Targets(len(bench.targets), init, baseline, double, seed_left)
    return bench.targets[key]


def wide_target(bench: Bench, wide: ModuleType | None, init: Inputs, baseline: Any) -> Any:
    """The fp64 twin of a text that casts to float32; None where it has none, or is another module then."""
    if wide is None:
        return None
    seed = bench.trial.limits.first_seed
    try:
        made = make_target(wide, bench.trial.workload, init, device=bench.device, seed=seed)
    except JobFailed:
        return None
    if isinstance(give_parameters(baseline, made), Mismatch):
        return None
    if not isinstance(made, torch.nn.Module):
        return made
    state = named_state(made.double())
    with torch.no_grad():  # buffers that no checkpoint holds as well: random numbers are others in another dtype
        for name, tensor in named_state(baseline).items():
            if name in state and state[name].shape == tensor.shape:
                state[name].copy_(tensor)
    return made


def candidate_here(bench: Bench, module: ModuleType, targets: Targets) -> Any:
    """A candidate constructed like the baseline, in this very process: for races, never for a verdict. Raises Rejected."""
    seed = bench.trial.limits.first_seed
    try:
        candidate = make_target(module, bench.trial.workload, targets.init, device=bench.device, seed=seed)
    except JobFailed as failed:
        raise Rejected("runs", "construction", failed.failure.message) from failed
    given = give_parameters(targets.baseline, candidate)
    if isinstance(given, Mismatch):
        raise Rejected("parameters", "construction", given.detail)
    return candidate


def rejection(error: BaseException, case: str) -> Rejected:
    """An exception of the candidate as a failed check, with the line of its text."""
    line = line_of(error)
    at = f" at line {line + 1}" if line is not None else ""
    if type(error).__name__ == "InterpreterFault":
        name = RACE if "race" in str(error).lower() else "out-of-bounds"
        return Rejected(name, case, f"{error}{at}")
    if is_out_of_memory(error):
        return Rejected("runs", case, f"{NO_MEMORY}, which the baseline does not{at}")
    return Rejected("runs", case, f"raises{at}: {describe(error)}")
