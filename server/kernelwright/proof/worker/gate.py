"""The gate: is a candidate correct against the Baseline? Makes every variation's calls on a bench and collects the checks."""

import time
from typing import Any

import torch

from kernelwright.proof.worker import flags
from kernelwright.proof.worker.arguments import make_inputs
from kernelwright.proof.worker.bench import (
    Bench,
    NotAccepted,
    Rejected,
    Report,
    Targets,
    Undecidable,
    rejection,
    same_settings,
    targets_for,
)
from kernelwright.proof.worker.cases import INTERPRETER_ELEMENTS, Variation, plan
from kernelwright.proof.worker.compare import same_bits
from kernelwright.proof.worker.failed import JobFailed
from kernelwright.proof.worker.inputs import Inputs, clone, tensors_in
from kernelwright.proof.worker.judge import judge
from kernelwright.proof.worker.observe import Observation, named_state, observe
from kernelwright.proof.worker.pair import perturbed
from kernelwright.proof.worker.poison import poison_freed_blocks
from kernelwright.proof.worker.reference import in_fp64
from kernelwright.proof.worker.subject import failure_of
from kernelwright.proof.worker.tolerance import reduction_length
from kernelwright.proof.worker.verdict import summaries
from kernelwright.values import Check, FailureKind

_WORKLOAD = FailureKind.WORKLOAD_FAILED
SOFT_BUDGET = 40.0  # seconds after which only the most telling variations are still made


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
    bench.checks += summaries(bench)


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
    except NotAccepted:
        return


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
    same_settings(bench, flags.differences(bench.settings, flags.read()), "when called")


def _baseline_run(bench: Bench, variation: Variation, target: Any, inputs: Inputs) -> Observation:
    try:
        observed = observe(target, inputs, seed=variation.seed)
    except Exception as error:
        if variation.derived:
            raise NotAccepted from error
        raise JobFailed(failure_of(error, "The baseline fails on its own workload:", _WORKLOAD)) from error
    empty = not any(t.numel() for t in observed.tensors()) and not observed.changed_inputs
    infinite = variation.finite and not all(bool(torch.isfinite(t).all()) for t in observed.tensors())
    if variation.derived and (empty or infinite):
        raise NotAccepted
    return observed


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
            raise NotAccepted from error
        raise JobFailed(failure_of(error, "The baseline fails when it is called again:", _WORKLOAD)) from error
    judged = judge(reference, baseline, again, length)
    if judged.finding is None:
        return
    if variation.derived:
        raise NotAccepted
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


def _clean_process(bench: Bench) -> None:
    replaced = flags.replaced_functions()
    if replaced:
        detail = f"{', '.join(replaced)} was replaced, which the clock or the gate relies on"
        raise Rejected(Check("clean-process", "all cases", False, detail))


def _compiles(text: str) -> bool:
    return "torch.compile" in text
