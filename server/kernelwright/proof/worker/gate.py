"""The gate: is a candidate correct against the Baseline? Makes every variation's calls and collects the checks.

The baseline and its fp64 twin run here, the candidate in a process of its own.
"""

import time
from typing import Any

import torch

from kernelwright.proof.worker.arguments import make_inputs
from kernelwright.proof.worker.bench import Bench, NotAccepted, Rejected, Report, Targets, Undecidable, targets_for
from kernelwright.proof.worker.cases import INTERPRETER_ELEMENTS, Variation, plan
from kernelwright.proof.worker.compare import same_bits
from kernelwright.proof.worker.failed import JobFailed
from kernelwright.proof.worker.hosts.contender import Contender
from kernelwright.proof.worker.inputs import Inputs, map_leaves, tensors_in
from kernelwright.proof.worker.judge import judge
from kernelwright.proof.worker.observe import Observation, named_state, observe
from kernelwright.proof.worker.pair import perturbed
from kernelwright.proof.worker.properties import VIEWS
from kernelwright.proof.worker.reference import in_fp64
from kernelwright.proof.worker.subject import failure_of
from kernelwright.proof.worker.tolerance import reduction_length
from kernelwright.proof.worker.verdict import summaries
from kernelwright.values import Check, FailureKind

_WORKLOAD = FailureKind.WORKLOAD_FAILED
_SPECIAL_SLACK = 8.0  # rounding errors of special data do not average out as the tolerance supposes
_ILL_CONDITIONED = 0.004  # relative error of the baseline itself; TF32 has half of it
SOFT_BUDGET = 40.0  # seconds after which only the most telling variations are still made


def verify(bench: Bench, contender: Contender, report: Report) -> None:
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
        examine(bench, contender, variation)
    if left_out:
        bench.notes.append(f"{left_out} further cases left out after {SOFT_BUDGET:.0f} s")
    report("Verifying: outputs outlive the next call")
    _outputs_stay(bench, contender, variations)
    _gradients(bench, contender, variations[0])
    bench.checks.append(Check("sandbox", "the candidate's process", True, contender.confinement.sentence))
    bench.checks += summaries(bench)


def examine(bench: Bench, contender: Contender, variation: Variation) -> None:
    """One variation: baseline, fp64 run and candidate on the same data. Raises Rejected, Undecidable, JobFailed."""
    try:
        targets = targets_for(bench, variation)
        _construct(bench, contender, targets)
        inputs = make_inputs(bench, variation)
        if variation.scale != 1.0 and not any(t.is_floating_point() for t in inputs.tensors()):
            return
        if not variation.perturbed:
            _compare_once(bench, contender, variation, targets, inputs)
            return
        twins = [t for t in (targets.baseline, targets.double) if isinstance(t, torch.nn.Module)]
        with perturbed(twins, variation.seed, everything=variation.reweighted) as changed:
            contender.set_state(targets, _state(targets, changed))
            _compare_once(bench, contender, variation, targets, inputs)
        contender.set_state(targets, _state(targets, changed))
    except NotAccepted:
        return


def _state(targets: Targets, names: tuple[str, ...]) -> dict[str, torch.Tensor]:
    state = named_state(targets.baseline)
    return {name: state[name].detach() for name in names}


def _construct(bench: Bench, contender: Contender, targets: Targets) -> None:
    given = contender.construct(targets)
    if isinstance(targets.baseline, torch.nn.Module) and not any(c.name == "parameters" for c in bench.checks):
        bench.checks.append(Check("parameters", "construction", True, given))


def _compare_once(bench: Bench, contender: Contender, variation: Variation, targets: Targets, inputs: Inputs) -> None:
    baseline = _baseline_run(bench, variation, targets.baseline, inputs)
    parameters = list(named_state(targets.baseline).values())
    length = reduction_length(inputs.tensors(), parameters, baseline.tensors())
    double = in_fp64(targets.double, inputs, baseline, seed=variation.seed)
    reference = double if isinstance(double, Observation) else None
    if _tells_nothing(variation, reference, baseline, length):
        raise NotAccepted
    if variation.data in VIEWS:
        _takes_views(variation, targets.baseline, inputs, baseline, length)
    if variation.poisoned:
        _repeats(bench, variation, targets.baseline, inputs, baseline, reference, length)
    case = variation.described
    slack = _SPECIAL_SLACK if variation.data else 1.0
    for poisoned in (False, True) if variation.poisoned else (False,):
        if poisoned and _compiles(bench.trial.candidate):
            continue  # torch.compile steps aside under a dispatch mode: another path would be checked
        observed = contender.observe(targets, inputs, baseline, case=case, seed=variation.seed, poisoned=poisoned)
        judged = judge(reference, baseline, observed, length, any_layout=variation.data in VIEWS, slack=slack)
        del observed
        if judged.finding is not None:
            name = "nan-poison" if poisoned else judged.finding.name
            prefix = "with NaN in freshly allocated memory, " if poisoned else ""
            raise Rejected(Check(name, case, False, prefix + judged.finding.detail))
        why = f" ({double})" if isinstance(double, str) and judged.baseline_error is None else ""
        bench.checks.append(Check("nan-poison" if poisoned else "values", case, True, judged.detail + why))
        bench.judged.append(judged)


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


def _tells_nothing(variation: Variation, reference: Observation | None, baseline: Observation, length: int) -> bool:
    """Whether derived data make the baseline return little more than rounding errors, as a norm of equal values does."""
    floats = [t for t in baseline.tensors() if t.is_floating_point()]
    if not variation.derived or not floats or any(t.dtype == torch.float64 for t in floats):
        return False
    if reference is None:
        return bool(variation.data)
    owns = [errors.own for errors in judge(reference, baseline, baseline, length).errors]
    if None in owns or all(not bool(t.any()) for t in reference.tensors()):
        return True
    return bool(variation.data) and max(owns, default=0.0) > _ILL_CONDITIONED


def _contiguous(value: Any) -> Any:
    return value.contiguous() if isinstance(value, torch.Tensor) else value


def _takes_views(variation: Variation, target: Any, views: Inputs, seen: Observation, length: int) -> None:
    """A baseline that reads views as if they were contiguous returns something else on the same values laid out plainly."""
    plain = [map_leaves(_contiguous, part) for part in (views.args, views.kwargs)]
    try:
        expected = observe(target, Inputs(*plain), seed=variation.seed)
    except Exception as error:
        raise NotAccepted from error
    if judge(None, expected, seen, length, any_layout=True).finding is not None:
        raise NotAccepted


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


def _outputs_stay(bench: Bench, contender: Contender, variations: list[Variation]) -> None:
    """Further calls on other data must not overwrite what the first one returned; the same data give the same answer."""
    first, second = variations[0], variations[1]
    targets, a, b = targets_for(bench, first), make_inputs(bench, first), make_inputs(bench, second)
    like = observe(targets.baseline, a, seed=first.seed)
    aliasing = any(owner for _, owner in like.aliases)
    before, after, again = contender.call_often(targets, a, b, like, case=first.described, seed=first.seed)
    if not aliasing and not _same(before, after):
        detail = "a later call overwrites what the call before returned: the output is a buffer kept between calls"
        raise Rejected(Check("alias", first.described, False, detail))
    if _same(before, again):
        words = "two calls on the same data and seed agree bit for bit"
    else:
        words = _not_repeated(bench, targets, a, like, first, before, again)
    bench.checks.append(Check("determinism", first.described, True, words))


def _not_repeated(
    bench: Bench,
    targets: Targets,
    inputs: Inputs,
    like: Observation,
    first: Variation,
    before: list[torch.Tensor],
    again: list[torch.Tensor],
) -> str:
    """How far two calls are apart, for the verdict. Raises Rejected when the baseline repeats itself and this is far."""
    itself = observe(targets.baseline, inputs, seed=first.seed)
    length = reduction_length(inputs.tensors(), named_state(targets.baseline).values(), like.tensors())
    judged = judge(None, Observation(before), Observation(again), length)
    if judged.finding is not None and _same(like.tensors(), itself.tensors()):
        raise Rejected(
            Check("determinism", first.described, False, f"two calls on the same data: {judged.finding.detail}")
        )
    return f"two calls on the same data and seed differ: {judged.detail if judged.errors else 'like the baseline'}"


def _same(left: list[torch.Tensor], right: list[torch.Tensor]) -> bool:
    return len(left) == len(right) and all(same_bits(x, y) for x, y in zip(left, right, strict=True))


def _gradients(bench: Bench, contender: Contender, first: Variation) -> None:
    """Say when the baseline's output carries gradients and the candidate's does not; only values are verified."""
    targets = targets_for(bench, first)
    if bench.interpreted or not any(t.requires_grad for t in named_state(targets.baseline).values()):
        return
    inputs = make_inputs(bench, first)
    if sum(t.numel() for t in inputs.tensors()) > 1 << 24:
        return
    if _carries_gradient(targets.baseline, inputs) and contender.carries_gradient(targets, inputs) != "yes":
        detail = (
            "forward only: the candidate's output carries no gradient, so it cannot train; gradients are not verified"
        )
        bench.checks.append(Check("gradient", first.described, True, detail))


def _carries_gradient(target: Any, inputs: Inputs) -> bool:
    try:
        with torch.enable_grad():
            output = target(*inputs.args, **inputs.kwargs)
    except Exception:  # noqa: BLE001  (a baseline may refuse to run with gradients; then there are none to carry)
        return False
    return any(t.requires_grad for t in tensors_in(output))


def _compiles(text: str) -> bool:
    return "torch.compile" in text
