"""The gate: is a candidate text correct against the Baseline? Loads both, makes the calls, and collects the checks."""

import os
import re
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from types import ModuleType
from typing import Any

import torch

from kernelwright.proof.jobs import Limits, Trial
from kernelwright.proof.worker import flags
from kernelwright.proof.worker.cases import Variation, elements, plan
from kernelwright.proof.worker.compare import same_bits
from kernelwright.proof.worker.failed import JobFailed, is_out_of_memory
from kernelwright.proof.worker.inputs import Inputs, clone, from_call, from_functions, map_leaves, tensors_in
from kernelwright.proof.worker.judge import Judged, judge
from kernelwright.proof.worker.observe import Observation, named_state, observe
from kernelwright.proof.worker.pair import (
    Mismatch,
    constructor_arguments,
    give_parameters,
    in_double,
    perturbed,
    target_of,
)
from kernelwright.proof.worker.poison import poison_freed_blocks
from kernelwright.proof.worker.reference import in_fp64
from kernelwright.proof.worker.subject import case_call, describe, failure_of, forget_neighbours, line_of, load_module
from kernelwright.proof.worker.timing import cpu_threads
from kernelwright.proof.worker.tolerance import reduction_length
from kernelwright.values import Check, FailureKind, Verdict, VerdictStatus, digest

SOFT_BUDGET = 40.0  # seconds after which only the most telling variations are still made
INTERPRETER_ELEMENTS = 1 << 14  # tensors of one call in Triton's interpreter
INTERPRETER_MOST = 1 << 22  # beyond this, one call takes minutes there

Report = Callable[[str], None]


class Rejected(Exception):
    """The candidate fails this check."""

    def __init__(self, check: Check) -> None:
        super().__init__(check.detail)
        self.check = check


class Undecidable(Exception):
    """Nothing can be said of any candidate here; the message is the reason, in one sentence."""


@dataclass(frozen=True)
class Targets:
    """Callables made alike; `double` is the fp64 twin, None where a module cannot be copied."""

    baseline: Any
    candidate: Any
    double: Any


@dataclass
class Bench:
    """What one trial works with: the loaded modules, the targets made so far, and the evidence collected."""

    trial: Trial
    device: str
    baseline: ModuleType
    candidate: ModuleType
    settings: dict[str, Any]
    interpreted: bool
    checks: list[Check] = field(default_factory=list)
    judged: list[Judged] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    made: dict[Any, Targets] = field(default_factory=dict)


def device_here() -> str:
    """Where user code runs: CUDA when there is one, never in Triton's interpreter."""
    return "cuda" if torch.cuda.is_available() and not interpreting() else "cpu"


def interpreting() -> bool:
    return os.environ.get("TRITON_INTERPRET") == "1"


def uses_triton(*texts: str) -> bool:
    return any(re.search(r"^\s*(import|from)\s+triton\b", text, re.MULTILINE) for text in texts)


def set_threads(limits: Limits) -> None:
    """Pin torch's CPU threads before anything is loaded, so that every text runs with as many."""
    torch.set_num_threads(cpu_threads(limits.threads))


def open_bench(trial: Trial) -> Bench:
    """Load both texts, each under the default settings. Raises JobFailed, or Rejected when the candidate does not load."""
    interpreted = interpreting() and uses_triton(trial.baseline, trial.candidate)
    if interpreting():
        from kernelwright.proof.worker import interpreter

        interpreter.install()
    forget_neighbours(trial.path)
    default = flags.read()
    baseline = load_module(trial.path, trial.baseline, "baseline")
    settings = flags.read()
    flags.write(default)
    candidate = load_candidate(trial.path, trial.candidate)
    changed = flags.differences(settings, flags.read())
    flags.write(settings)
    bench = Bench(trial, device_here(), baseline, candidate, settings, interpreted)
    _same_settings(bench, changed, "on import")
    return bench


def load_candidate(path: str, text: str) -> ModuleType:
    """The candidate's module. Raises Rejected, or JobFailed when a package is missing."""
    try:
        return load_module(path, text, "candidate")
    except JobFailed as failed:
        if failed.failure.kind is FailureKind.MISSING_PACKAGE:
            raise
        raise Rejected(Check("runs", "import", False, failed.failure.message)) from failed


def verify(bench: Bench, report: Report) -> None:
    """Make every variation, collecting checks. Raises Rejected, Undecidable, JobFailed."""
    limits = bench.trial.limits
    cap = INTERPRETER_ELEMENTS if bench.interpreted else None
    variations = plan(bench.trial.workload, seeds=limits.seeds, first_seed=limits.first_seed, most_elements=cap)
    start, left_out = time.monotonic(), 0
    for number, variation in enumerate(variations):
        if number >= 2 and time.monotonic() - start > SOFT_BUDGET:
            left_out = len(variations) - number
            break
        report(f"Verifying, case {number + 1} of {len(variations)}: {variation.described}")
        examine(bench, variation)
    if left_out:
        bench.notes.append(f"{left_out} further cases left out after {SOFT_BUDGET:.0f} s")
    report("Verifying: outputs outlive the next call")
    _outputs_stay(bench, variations)
    _gradients(bench, variations[0])
    _clean_process(bench)
    bench.checks += _summaries(bench)


def examine(bench: Bench, variation: Variation) -> None:
    """One variation: baseline, fp64 run and candidate on the same data. Raises Rejected, Undecidable, JobFailed."""
    try:
        targets = targets_for(bench, variation)
        inputs = make_inputs(bench, variation)
        if variation.scale != 1.0 and not any(t.is_floating_point() for t in inputs.tensors()):
            return
        twins = [t for t in (targets.baseline, targets.candidate, targets.double) if isinstance(t, torch.nn.Module)]
        with perturbed(twins if variation.perturbed else [], variation.seed):
            _compare_once(bench, variation, targets, inputs)
    except _NotAccepted:
        return


class _NotAccepted(Exception):
    """The baseline does not take a derived size; nothing follows from it."""


def _compare_once(bench: Bench, variation: Variation, targets: Targets, inputs: Inputs) -> None:
    baseline = _baseline_run(bench, variation, targets.baseline, inputs)
    parameters = list(named_state(targets.baseline).values())
    length = reduction_length(inputs.tensors(), parameters, baseline.tensors())
    double = in_fp64(targets.double, inputs, baseline, seed=variation.seed)
    reference = double if isinstance(double, Observation) else None
    if variation.poisoned:
        _repeats(bench, variation, targets.baseline, inputs, baseline, reference, length)
    poison_freed_blocks([t.numel() * t.element_size() for t in baseline.tensors()], bench.device)
    for poisoned in (False, True) if variation.poisoned else (False,):
        case = variation.described
        observed = _candidate_run(bench, variation, targets.candidate, inputs, poisoned=poisoned)
        if observed is None:
            continue
        judged = judge(reference, baseline, observed, length)
        del observed
        if judged.finding is not None:
            name = "nan-poison" if poisoned else judged.finding.name
            prefix = "with NaN in freshly allocated memory, " if poisoned else ""
            raise Rejected(Check(name, case, False, prefix + judged.finding.detail))
        why = f" ({double})" if isinstance(double, str) and judged.baseline_error is None else ""
        bench.checks.append(Check("nan-poison" if poisoned else "values", case, True, judged.detail + why))
        bench.judged.append(judged)
    _same_settings(bench, flags.differences(bench.settings, flags.read()), "when called")


def _baseline_run(bench: Bench, variation: Variation, target: Any, inputs: Inputs) -> Observation:
    try:
        observed = observe(target, inputs, seed=variation.seed)
    except Exception as error:
        if variation.derived:
            raise _NotAccepted from error
        raise JobFailed(failure_of(error, "The baseline fails on its own workload:", _WORKLOAD)) from error
    empty = not any(t.numel() for t in observed.tensors()) and not observed.changed_inputs
    infinite = variation.finite and not all(bool(torch.isfinite(t).all()) for t in observed.tensors())
    if variation.derived and (empty or infinite):
        raise _NotAccepted
    return observed


_WORKLOAD = FailureKind.WORKLOAD_FAILED


def _repeats(
    bench: Bench,
    variation: Variation,
    target: Any,
    inputs: Inputs,
    baseline: Observation,
    reference: Observation | None,
    length: int,
) -> None:
    """The baseline must agree with itself, on poisoned allocations too; else there is nothing to compare with."""
    try:
        again = observe(target, inputs, seed=variation.seed, poisoned=not _compiles(bench.trial.baseline))
    except Exception as error:
        if variation.derived:
            raise _NotAccepted from error
        raise JobFailed(failure_of(error, "The baseline fails when it is called again:", _WORKLOAD)) from error
    judged = judge(reference, baseline, again, length)
    if judged.finding is None:
        return
    if variation.derived:
        raise _NotAccepted
    raise Undecidable(
        "The baseline does not repeat itself on the same inputs and seed, or returns memory that it never wrote: "
        f"{judged.finding.detail}. Nothing can be verified against it."
    )


def _candidate_run(
    bench: Bench, variation: Variation, target: Any, inputs: Inputs, *, poisoned: bool
) -> Observation | None:
    if poisoned and _compiles(bench.trial.candidate):
        return None  # torch.compile steps aside under a dispatch mode: another path would be checked
    try:
        return observe(target, inputs, seed=variation.seed, poisoned=poisoned)
    except (Exception, SystemExit) as error:
        raise rejection(error, variation.described) from error


def rejection(error: BaseException, case: str) -> Rejected:
    """An exception of the candidate as a failed check, with the line of its text."""
    line = line_of(error)
    at = f" at line {line + 1}" if line is not None else ""
    if type(error).__name__ == "InterpreterFault":
        name = "race" if "race" in str(error).lower() else "out-of-bounds"
        return Rejected(Check(name, case, False, f"{error}{at}"))
    if is_out_of_memory(error):
        return Rejected(Check("runs", case, False, f"needs more memory than there is, which the baseline does not{at}"))
    return Rejected(Check("runs", case, False, f"raises{at}: {describe(error)}"))


def targets_for(bench: Bench, variation: Variation) -> Targets:
    """Baseline, candidate and fp64 twin for the variation's constructor arguments, made once. Raises JobFailed, Rejected."""
    call, workload = variation.call, bench.trial.workload
    key = repr((call.init_args, call.init_kwargs)) if call is not None else None
    if key in bench.made:
        return bench.made[key]
    seed = bench.trial.limits.first_seed
    try:
        init = constructor_arguments(bench.baseline, call, device=bench.device, seed=seed)
        baseline = target_of(bench.baseline, workload, init, device=bench.device, seed=seed)
    except JobFailed as failed:
        if variation.derived:
            raise _NotAccepted from failed
        raise
    candidate = candidate_target(bench, bench.candidate, init, baseline)
    try:
        double = in_double(baseline)
    except Exception as error:  # noqa: BLE001  (copying runs the user's own code)
        bench.notes.append(f"no fp64 copy of the module ({type(error).__name__})")
        double = None
    bench.made[key] = Targets(baseline, candidate, double)
    return bench.made[key]


def candidate_target(bench: Bench, module: ModuleType, init: Inputs, baseline: Any) -> Any:
    """The candidate constructed like the baseline and given its parameters. Raises Rejected."""
    seed = bench.trial.limits.first_seed
    try:
        candidate = target_of(module, bench.trial.workload, init, device=bench.device, seed=seed)
    except JobFailed as failed:
        raise Rejected(Check("runs", "construction", False, failed.failure.message)) from failed
    given = give_parameters(baseline, candidate)
    if isinstance(given, Mismatch):
        raise Rejected(Check("parameters", "construction", False, given.detail))
    if isinstance(baseline, torch.nn.Module) and not any(c.name == "parameters" for c in bench.checks):
        bench.checks.append(Check("parameters", "construction", True, given))
    return candidate


def make_inputs(bench: Bench, variation: Variation) -> Inputs:
    """The variation's arguments; get_inputs() is the baseline's, never the candidate's. Raises JobFailed."""
    try:
        if variation.call is not None:
            return from_call(variation.call, device=bench.device, seed=variation.seed, scale=variation.scale)
        made = from_functions(bench.baseline, device=bench.device, seed=variation.seed, scale=variation.scale)
    except JobFailed as failed:
        raise (_NotAccepted() if variation.derived else failed) from failed
    if variation.rows is None and not bench.interpreted:
        return made
    leading = next((t.shape[0] for t in made.tensors() if t.dim() >= 2), 0)
    rows = variation.rows or _rows_for_interpreter(bench, made, leading)
    if rows >= leading:
        if variation.rows is not None:
            raise _NotAccepted
        return made

    def leaf(value: Any) -> Any:
        same = isinstance(value, torch.Tensor) and value.dim() and value.shape[0] == leading
        return value[:rows].clone() if same else value

    return Inputs(map_leaves(leaf, made.args), map_leaves(leaf, made.kwargs))


def _rows_for_interpreter(bench: Bench, made: Inputs, leading: int) -> int:
    total = sum(t.numel() for t in made.tensors())
    if total <= INTERPRETER_ELEMENTS or not leading:
        return leading
    rows = max(1, leading * INTERPRETER_ELEMENTS // total)
    if total // leading * rows > INTERPRETER_MOST:
        raise Undecidable(
            f"The inputs have {total:,} elements, too many for Triton's interpreter on the CPU even with a batch of 1: "
            "verify on a GPU, or add a '# workload:' line with smaller sizes."
        )
    note = f"batch reduced from {leading} to {rows}"
    if note not in bench.notes:
        bench.notes.append(note)
    return rows


def _outputs_stay(bench: Bench, variations: list[Variation]) -> None:
    """A second call on other data must not overwrite what the first one returned (a static output buffer)."""
    first, second = variations[0], variations[1]
    targets, a, b = targets_for(bench, first), make_inputs(bench, first), make_inputs(bench, second)
    with torch.no_grad():
        try:
            if any(owner for _, owner in observe(targets.baseline, a, seed=first.seed).aliases):
                return
            output = targets.candidate(*clone(a.args), **clone(a.kwargs))
            kept = [t.clone() for t in tensors_in(output)]
            targets.candidate(*b.args, **b.kwargs)
        except Exception as error:
            raise rejection(error, first.described) from error
    if not all(same_bits(x, y) for x, y in zip(tensors_in(output), kept, strict=True)):
        detail = "the next call overwrites what the call before returned: the output is a buffer kept between calls"
        raise Rejected(Check("alias", first.described, False, detail))


def _gradients(bench: Bench, first: Variation) -> None:
    """Say when the baseline's output carries gradients and the candidate's does not; only values are verified."""
    targets = targets_for(bench, first)
    if bench.interpreted or not any(t.requires_grad for t in named_state(targets.baseline).values()):
        return
    inputs = make_inputs(bench, first)
    if sum(t.numel() for t in inputs.tensors()) > 1 << 24:
        return
    carries = []
    for target in (targets.baseline, targets.candidate):
        try:
            with torch.enable_grad():
                output = target(*clone(inputs.args), **clone(inputs.kwargs))
        except Exception as error:  # noqa: BLE001  (a candidate may refuse inputs that need gradients)
            carries.append(f"{type(error).__name__}")
            continue
        carries.append(any(t.requires_grad for t in tensors_in(output)))
    if carries[0] is True and carries[1] is not True:
        detail = (
            "forward only: the candidate's output carries no gradient, so it cannot train; gradients are not verified"
        )
        bench.checks.append(Check("gradient", first.described, True, detail))


def _same_settings(bench: Bench, changed: list[str], when: str) -> None:
    if changed:
        flags.write(bench.settings)
        detail = f"{when} the candidate changes the process: {'; '.join(changed)}"
        raise Rejected(Check("settings", "all cases", False, detail))


def _clean_process(bench: Bench) -> None:
    replaced = flags.replaced_functions()
    if replaced:
        detail = f"{', '.join(replaced)} was replaced, which the clock or the gate relies on"
        raise Rejected(Check("clean-process", "all cases", False, detail))


def _summaries(bench: Bench) -> list[Check]:
    """The comparisons made in every run besides values, one line each."""
    runs = f"all {len(bench.judged)} runs"
    lines = (
        ("structure", "types, nesting, None and real memory as the baseline's"),
        ("shape", "as the baseline's"),
        ("dtype", "as the baseline's"),
        ("device", "as the baseline's"),
        ("layout", "strides as the baseline's, or contiguous where the baseline returns a view"),
        ("nan-parity", "NaN and infinities where the baseline has them and nowhere else"),
        ("inputs-unchanged", "inputs and buffers are changed only where the baseline changes them, and alike"),
        ("alias", "outputs share memory only where the baseline's do, and outlive the next call"),
        ("settings", "numerical settings, clocks and comparison functions of the process are untouched"),
    )
    return [Check(name, runs, True, detail) for name, detail in lines]


def _compiles(text: str) -> bool:
    return "torch.compile" in text


def verdict_of(bench: Bench | None, trial: Trial, *, failed: Check | None = None, undecidable: str = "") -> Verdict:
    """The Verdict on the trial's candidate from what was collected."""
    checks = (*(bench.checks if bench else ()), *((failed,) if failed else ()))
    status = VerdictStatus.PASSED
    if failed is not None:
        status = VerdictStatus.FAILED
    elif undecidable:
        status = VerdictStatus.NOT_CHECKABLE
    judged = bench.judged if bench else []
    own = [j.baseline_error for j in judged if j.baseline_error is not None]
    reason = f"{failed.name} ({failed.case}): {failed.detail}" if failed else undecidable
    return Verdict(
        status=status,
        text_hash=digest(trial.candidate),
        baseline_hash=digest(trial.baseline),
        checks=checks,
        reason=reason,
        max_error=max((j.max_error for j in judged), default=None),
        baseline_error=max(own, default=None),
        how=how(bench) if bench else "",
    )


def how(bench: Bench) -> str:
    """Where and on what the checks were made."""
    if bench.interpreted:
        place = "in Triton's interpreter on the CPU"
        if bench.trial.workload.cases:
            first = next((c.case.partition(", seed")[0] for c in bench.checks if c.name == "values"), "")
            if first and elements(case_call(first)) < elements(case_call(bench.trial.workload.cases[0].text)):
                place += f", sizes reduced to {first}"
    elif bench.device == "cuda":
        place = f"on {torch.cuda.get_device_name()}"
    else:
        place = "on the CPU"
    return ", ".join([place, *bench.notes])
