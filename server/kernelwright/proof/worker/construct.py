"""Targets and candidates, constructed of the texts of a bench."""

import copy
import dataclasses
from types import ModuleType
from typing import Any

import torch

from kernelwright.proof.worker.bench import Bench
from kernelwright.proof.worker.failed import JobFailed
from kernelwright.proof.worker.inputs import Inputs, initial_arguments
from kernelwright.proof.worker.languages import WorkerLanguage
from kernelwright.proof.worker.observe import named_state
from kernelwright.proof.worker.reference.pair import Mismatch, give_parameters
from kernelwright.proof.worker.rejected import NotAccepted, Rejected
from kernelwright.proof.worker.subject import make_target
from kernelwright.proof.worker.targets import Targets
from kernelwright.proof.worker.variation import Variation
from kernelwright.values import FailureKind


def targets_for(bench: Bench, variation: Variation) -> Targets:
    """Baseline and fp64 twin for the variation's constructor arguments, made once. Raises JobFailed, NotAccepted."""
    call, workload = variation.call, bench.trial.workload
    key = repr(dataclasses.replace(call, args=(), kwargs={})) if call is not None else None
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


def load_candidate(language: WorkerLanguage, path: str, text: str) -> ModuleType:
    """The candidate's module. Raises Rejected, or JobFailed when a package, a compiler or the GPU that it needs is missing."""
    try:
        return language.load(path, text, "candidate")
    except JobFailed as failed:
        if failed.failure.kind in (FailureKind.MISSING_PACKAGE, FailureKind.MISSING_TOOL, FailureKind.NO_GPU):
            raise
        raise Rejected("runs", "import", failed.failure.message) from failed


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
