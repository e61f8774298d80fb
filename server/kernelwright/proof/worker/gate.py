"""The gate: is a candidate correct against the Baseline? Makes every variation's calls and collects the checks.

The baseline and its fp64 twin run here, the candidate in a process of its own.
"""

import functools
import time
from collections.abc import Callable

import torch

from kernelwright.proof.worker.accuracy import hangs_on_a_rounding, in_float64, judged_closely, settle, too_sensitive
from kernelwright.proof.worker.arguments import make_inputs
from kernelwright.proof.worker.bench import Bench, NotAccepted, Rejected, Report, Targets, targets_for
from kernelwright.proof.worker.cases import INTERPRETER_ELEMENTS, Variation, for_gradients
from kernelwright.proof.worker.constancy import outputs_stay
from kernelwright.proof.worker.effort import SCOPES, variations
from kernelwright.proof.worker.fan_in import fan_in
from kernelwright.proof.worker.gradients import compare_gradients
from kernelwright.proof.worker.grounds import (
    baseline_run,
    compiles,
    draws_nothing,
    repeats,
    stops_the_gpu,
    takes_views,
    tells_nothing,
)
from kernelwright.proof.worker.hosts.contender import Contender
from kernelwright.proof.worker.in_bounds import bounds_kept, observe_in_bounds
from kernelwright.proof.worker.inputs import Inputs
from kernelwright.proof.worker.judge import Judged, judge
from kernelwright.proof.worker.large import compare_large
from kernelwright.proof.worker.nonfinite import excused
from kernelwright.proof.worker.observe import Observation, named_state
from kernelwright.proof.worker.oracle import Oracle
from kernelwright.proof.worker.other_numbers import compare_others
from kernelwright.proof.worker.pair import perturbed
from kernelwright.proof.worker.properties import INFINITE, LARGE, NON_FINITE, VIEWS
from kernelwright.proof.worker.reference import in_fp64
from kernelwright.proof.worker.stand_ins import right_further_on
from kernelwright.proof.worker.tie_orders import judged_in_another_order
from kernelwright.proof.worker.ties import ties_apart
from kernelwright.proof.worker.tolerance import reduction_length
from kernelwright.proof.worker.unrounded import judged_unrounded
from kernelwright.proof.worker.verdict import summaries
from kernelwright.values import Check

_SPECIAL_SLACK = 8.0  # rounding errors of special data do not average out as the tolerance supposes
_CALLS_AFTER = 2  # variations that what follows them takes the time of
_LEFT_OUT = "data left out on which the baseline may stop the GPU"
_LOST = (
    ". A NaN in the inputs must stay visible: fmaxf, fminf, tl.max and tl.maximum drop it "
    "(tl.maximum keeps it with propagate_nan=tl.PropagateNan.ALL)"
)


def verify(bench: Bench, contender: Contender, report: Report, between: Callable[[], None] = lambda: None) -> None:
    """Make every variation, collecting checks; `between` is called after each one that has passed.

    Raises Rejected, Undecidable, JobFailed.
    """
    limits = bench.trial.limits
    cap = INTERPRETER_ELEMENTS if bench.interpreted else None
    scope, planned = SCOPES[limits.effort], variations(bench.trial.workload, limits, cap)
    start, waited, left_out, slowest = time.monotonic(), contender.waited, 0, 0.0

    def spent() -> float:
        """Seconds, of the candidate's no more than of the original's: slow on purpose, it would not be looked at any more."""
        of_candidate = contender.waited - waited
        own = time.monotonic() - start - of_candidate
        return own + min(of_candidate, own)

    for number, variation in enumerate(planned):
        began = spent()
        if number >= 2 and began + _CALLS_AFTER * slowest > scope.budget:
            left_out = len(planned) - number
            break
        report(f"Verifying, case {number + 1} of {len(planned)}: {variation.described}")
        examine(bench, contender, variation)
        slowest = max(slowest, spent() - began)
        between()
    if left_out:
        bench.notes.append(f"{left_out} further cases left out: {scope.budget:.0f} s do not suffice")
    report("Verifying: outputs outlive the next call")
    outputs_stay(bench, contender, planned[0], planned[1], scope.repetitions)
    if scope.beyond_32_bits:
        compare_large(bench, report)
    settle(bench)
    assert contender.confinement is not None  # known since it was first called
    bench.checks.append(Check("sandbox", "the candidate's process", True, contender.confinement.sentence))
    bench.checks += bounds_kept(bench) + summaries(bench)


def verify_backward(bench: Bench, contender: Contender, report: Report) -> None:
    """Gradients. After all timing: a process that has called autograd may be slower ever after. Raises like `verify`."""
    report("Verifying: gradients")
    limits, every = bench.trial.limits, SCOPES[bench.trial.limits.effort].all_gradients
    cap = INTERPRETER_ELEMENTS if bench.interpreted else None
    calls = for_gradients(bench.trial.workload, first_seed=limits.first_seed, most_elements=cap, every=every)
    settled = bool(bench.reduced)
    compare_gradients(bench, contender, calls, always=every)
    if bench.reduced and not settled:
        settle(bench)


def examine(bench: Bench, contender: Contender, variation: Variation) -> None:
    """One variation: baseline, fp64 run and candidate on the same data. Raises Rejected, Undecidable, JobFailed."""
    if bench.device == "cuda" and stops_the_gpu(variation, bench.trial.baseline):
        bench.notes += [_LEFT_OUT] if _LEFT_OUT not in bench.notes else []
        return
    try:
        targets = targets_for(bench, variation)
        _construct(bench, contender, targets)
        inputs = make_inputs(bench, variation)
        if variation.scale != 1.0 and not any(t.is_floating_point() for t in inputs.tensors()):
            return
        if variation.numbers:
            compare_others(bench, contender, variation, targets, inputs, _compare_once)
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
    baseline = baseline_run(bench, variation, targets.baseline, inputs)
    parameters = list(named_state(targets.baseline).values())
    length = reduction_length(inputs.tensors(), parameters, baseline.tensors())
    double = in_fp64(targets.double, inputs, baseline, seed=variation.seed, original=targets.baseline)
    reference = double if isinstance(double, Observation) else None
    oracle = Oracle(reference, baseline, masks=not variation.data)  # special data are huge in many places themselves
    if tells_nothing(variation, oracle):
        raise NotAccepted
    if variation.data in VIEWS:
        takes_views(variation, targets.baseline, inputs, baseline, length)
    if variation.poisoned:
        repeats(bench, variation, targets.baseline, inputs, oracle, length)
    if variation.numbers:
        draws_nothing(variation, targets.baseline, inputs, oracle)
    case = variation.described
    special = bool(variation.data) or variation.finite
    slack = _SPECIAL_SLACK if special else 1.0
    terms = functools.cache(lambda: fan_in(targets.baseline, inputs, baseline, seed=variation.seed, estimate=length))
    givens = {"any_layout": variation.data in VIEWS, "slack": slack, "special": special, "given": inputs.tensors()}
    loosely = functools.partial(judge, **givens)
    for poisoned in (False, True) if variation.poisoned else (False,):
        if poisoned and contender.compiled and compiles(bench.trial.candidate):
            continue  # torch.compile steps aside under a dispatch mode: another path would be checked
        answer = observe_in_bounds(bench, contender, variation, targets, inputs, baseline, poisoned=poisoned)
        observed, accepted = excused(bench, variation, targets.baseline, baseline, answer)
        observed, tied = ties_apart(
            bench.trial.baseline, targets.baseline, inputs, baseline, observed, seed=variation.seed
        )
        closely = functools.partial(_closely, loosely, observed, length, terms)
        judged = closely(oracle)
        judged, unrounded = judged_unrounded(bench, targets, inputs, baseline, judged, closely, seed=variation.seed)
        if (judged.wrong or judged.reduced) and unrounded is not None and tells_nothing(variation, unrounded):
            raise NotAccepted
        given_to = bench.trial.baseline, targets, inputs, baseline
        as_it_is = functools.partial(_closely, loosely, answer, length, terms)
        judged = judged_in_another_order(*given_to, judged, as_it_is, seed=variation.seed)
        if special and judged.finding is not None:
            beside = functools.partial(loosely, length=length)
            if right_further_on(bench, variation, targets, inputs, observed, beside):
                raise NotAccepted
        del answer, observed, closely, as_it_is
        exact = targets, inputs, baseline, reference
        if variation.derived and bench.reduced and judged.wrong and too_sensitive(*exact, seed=variation.seed):
            raise NotAccepted
        off = judged.wrong or judged.reduced
        roundings = [torch.float32] if variation.data in LARGE or variation.numbers else []
        roundings += [torch.float64] if variation.data and in_float64(baseline) else []
        if off and any(hangs_on_a_rounding(*exact, to, seed=variation.seed) for to in roundings):
            raise NotAccepted
        if judged.reduced and variation.data and reference is None:
            raise NotAccepted  # what rounding does on such data is not known
        if judged.finding is not None and not judged.reduced:
            name = "nan-poison" if poisoned else judged.finding.name
            order = " and programs in the other order" if bench.interpreted else ""
            prefix = f"with NaN in freshly allocated memory{order}, " if poisoned else ""
            lost = variation.data in NON_FINITE - INFINITE and "the baseline has nan" in judged.finding.detail
            hint = _LOST if lost and name == "nan-parity" else ""
            raise Rejected(Check(name, case, False, prefix + judged.finding.detail + hint))
        why = f" ({double})" if isinstance(double, str) and judged.baseline_error is None else ""
        why += "".join(f"; accepted: {words}" for words in (accepted, tied) if words)
        bench.checks.append(Check("nan-poison" if poisoned else "values", case, True, judged.detail + why))
        bench.judged.append(judged)
        bench.reduced += [(case, judged)] if judged.reduced else []


def _closely(
    compare: Callable[..., Judged], observed: Observation, length: int, terms: Callable[[], int], oracle: Oracle
) -> Judged:
    return judged_closely(functools.partial(compare, oracle, observed), length, terms)
