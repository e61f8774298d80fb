"""The gate: is a candidate correct against the Baseline? Makes every variation's calls and collects the checks.

The baseline and its fp64 twin run here, the candidate in a process of its own.
"""

import contextlib
import time
from collections.abc import Callable
from dataclasses import replace

import torch

from kernelwright.proof.jobs import Trial
from kernelwright.proof.worker.bench import Bench, Report
from kernelwright.proof.worker.construct import targets_for
from kernelwright.proof.worker.evidence import Evidence
from kernelwright.proof.worker.gate.accuracy import settle
from kernelwright.proof.worker.gate.added_reads import added_reads
from kernelwright.proof.worker.gate.ahead import Ahead
from kernelwright.proof.worker.gate.arguments import make_inputs
from kernelwright.proof.worker.gate.bad_arguments import raises_alike
from kernelwright.proof.worker.gate.cap import cap
from kernelwright.proof.worker.gate.cases import for_gradients
from kernelwright.proof.worker.gate.comparison import compare_once
from kernelwright.proof.worker.gate.compiled_ahead import CompiledAhead
from kernelwright.proof.worker.gate.constancy import attributes_move_alike, outputs_stay
from kernelwright.proof.worker.gate.effort import SCOPES, variations
from kernelwright.proof.worker.gate.gradients import compare_gradients
from kernelwright.proof.worker.gate.grounds import Ground, grounds, stops_the_gpu
from kernelwright.proof.worker.gate.in_bounds import bounds_kept
from kernelwright.proof.worker.gate.large import compare_large
from kernelwright.proof.worker.gate.other_numbers import compare_others
from kernelwright.proof.worker.gate.pinned import workload
from kernelwright.proof.worker.gate.properties import OTHER_RANKS, UNALIGNED
from kernelwright.proof.worker.gate.verdict import summaries
from kernelwright.proof.worker.hosts.contender import Contender
from kernelwright.proof.worker.observe import named_state
from kernelwright.proof.worker.reference.pair import perturbed
from kernelwright.proof.worker.rejected import NotAccepted, Rejected, Undecidable
from kernelwright.proof.worker.targets import Targets
from kernelwright.proof.worker.variation import Variation
from kernelwright.source.interface import broken, gone
from kernelwright.values import Check, Effort

_CALLS_AFTER = 2  # variations that what follows them takes the time of
_LONGEST = 2  # budgets by the clock on the wall, after which nothing more is begun
_LEFT_OUT = "data left out on which the baseline may stop the GPU"
_OTHER_ANSWERS = ("structure", "shape", "dtype", "layout", "values", "nan-parity")
_NOT_EMPTY = "fails on an empty batch, which the baseline takes"
_NOT_UNALIGNED = "fails on views that begin off any alignment, which the baseline takes"


def verify(bench: Bench, contender: Contender, report: Report, between: Callable[[], None] = lambda: None) -> None:
    """Make every variation, collecting checks; `between` is called after each one that has passed.

    Raises Rejected, Undecidable, JobFailed.
    """
    trial, evidence = bench.trial, bench.evidence
    limits = trial.limits
    _same_interface(trial, evidence)
    evidence.caveats += [*added_reads(trial.candidate, trial.baseline), *bench.language.caveats(bench.baseline)]
    scope, planned = SCOPES[limits.effort], variations(workload(bench), limits, cap(bench))
    ahead = Ahead(bench, planned)
    attributes_move_alike(bench, contender, planned[0], ahead.look)
    start, waited, slowest = time.monotonic(), contender.waited, 0.0
    left_out, made, cpu = list[Variation](), set[str](), time.process_time()

    def spent() -> float:
        """Seconds, of the candidate's no more than of the baseline's: slow on purpose, it would not be looked at any more.

        Of the judge's own those in which it has a core: who keeps the machine busy is looked at as long as anybody.
        """
        of_candidate = contender.waited - waited
        own = min(time.monotonic() - start - of_candidate, time.process_time() - cpu)
        return own + min(of_candidate, own)

    with contextlib.closing(CompiledAhead(bench, contender, planned)) as compiled:

        def meanwhile() -> bool:
            compiled.advance()
            return ahead.look()

        for number, variation in enumerate(planned):
            began, before = spent(), len(evidence.judged)
            late = number >= 2 and began + _CALLS_AFTER * slowest > scope.budget and variation.evidence in made
            if late or (number >= 2 and time.monotonic() - start > _LONGEST * scope.budget):
                left_out.append(variation)
                continue
            report(f"Verifying, case {number + 1} of {len(planned)}: {variation.described}")
            with contender.beside(None if variation.perturbed else meanwhile):  # its parameters are others then
                examine(bench, contender, variation, ahead)
            slowest = max(slowest, spent() - began)
            made |= {variation.evidence} if len(evidence.judged) > before else set()
            between()
    if left_out:
        _enough(evidence, len(planned), left_out, made, starved=contender.helped > time.process_time() - cpu)
    report("Verifying: outputs outlive the next call")
    outputs_stay(bench, contender, planned[0], planned[1], scope.repetitions)
    if scope.beyond_32_bits:
        compare_large(bench, report)
    settle(evidence, trial)
    assert contender.confinement is not None  # known since it was first called
    evidence.checks.append(Check("sandbox", "the candidate's process", True, contender.confinement.sentence))
    if limits.effort is not Effort.QUICK:
        ran = contender.ran
        _bad_arguments(bench, contender, planned[0])
        contender.ran = ran  # what only they reach has no answer that was compared
    evidence.checks += bounds_kept(evidence, interpreted=bench.interpreted) + summaries(evidence.judged)


def _enough(evidence: Evidence, planned: int, left_out: list[Variation], made: set[str], *, starved: bool) -> None:
    """Say what was left out for time. `starved`: processes of the candidate's had more of the processors than the judge.

    Raises Undecidable where all of a kind of evidence was, or these took the time.
    """
    few = f"{len(left_out)} of {planned} cases left out for time"
    missing = [kind for kind in dict.fromkeys(one.evidence for one in left_out) if kind not in made]
    if starved:
        raise Undecidable(f"{few}, while processes of the candidate kept the processors busy: end them with the call.")
    if missing:
        without = f"{few}, and none was made of {' or '.join(missing)}"
        raise Undecidable(f"{without}: use a smaller workload, a larger effort, or a quieter machine.")
    evidence.caveats.append(few)


def _bad_arguments(bench: Bench, contender: Contender, first: Variation) -> None:
    """On a small size where the baseline takes it, else on the workload's own. Raises Rejected."""
    small = for_gradients(workload(bench), first_seed=first.seed, most_elements=cap(bench))[0]
    for variation in (replace(small, derived=True), replace(first, derived=True)):
        with contextlib.suppress(NotAccepted):
            raises_alike(bench, contender, variation)
            return


def _same_interface(trial: Trial, evidence: Evidence) -> None:
    """Callers of the baseline's text can call the candidate's as they do. Raises Rejected."""
    texts = trial.baseline, trial.candidate
    try:
        words, lost = broken(*texts), gone(*texts)
    except (SyntaxError, ValueError, RecursionError):
        return  # what does not load is found out when it is loaded
    if words:
        raise Rejected("interface", "the text", words)
    evidence.caveats += [f"`{name}` is gone" for name in lost]
    evidence.checks.append(Check("interface", "the text", True, "public functions take what the baseline's take"))


def verify_backward(bench: Bench, contender: Contender, report: Report) -> None:
    """Gradients. After all timing: a process that has called autograd may be slower ever after. Raises like `verify`."""
    report("Verifying: gradients")
    limits, every = bench.trial.limits, SCOPES[bench.trial.limits.effort].all_gradients
    calls = for_gradients(workload(bench), first_seed=limits.first_seed, most_elements=cap(bench), every=every)
    settled = bool(bench.evidence.reduced)
    compare_gradients(bench, contender, calls)
    if bench.evidence.reduced and not settled:
        settle(bench.evidence, bench.trial)


def examine(bench: Bench, contender: Contender, variation: Variation, ahead: Ahead) -> None:
    """One variation: baseline, fp64 run and candidate on the same data. Raises Rejected, Undecidable, JobFailed."""
    if bench.device == "cuda" and stops_the_gpu(variation, bench.trial.baseline):
        bench.evidence.notes.append(_LEFT_OUT)
        return
    try:
        targets = targets_for(bench, variation)
        given = contender.construct(targets)
        noted = any(check.name == "parameters" for check in bench.evidence.checks)
        if isinstance(targets.baseline, torch.nn.Module) and not noted:
            bench.evidence.checks.append(Check("parameters", "construction", True, given))
        if variation.numbers:
            compare_others(bench, contender, variation, targets, make_inputs(bench, variation))
            return
        if told := _told_where_it_raises(variation):
            _compare_or_tell(bench, contender, ahead.take(variation), told)
            return
        if not variation.perturbed:
            compare_once(bench, contender, ahead.take(variation))
            return
        inputs = make_inputs(bench, variation)
        twins = [t for t in (targets.baseline, targets.double) if isinstance(t, torch.nn.Module)]
        with perturbed(twins, variation.seed, everything=variation.reweighted) as changed:
            contender.set_state(targets, _state(targets, changed))
            compare_once(bench, contender, grounds(bench, variation, targets, inputs))
        contender.set_state(targets, _state(targets, changed))
    except NotAccepted:
        return


def _told_where_it_raises(variation: Variation) -> str:
    if variation.data in OTHER_RANKS:
        return f"raises with {variation.data}, where the baseline answers"
    return _NOT_EMPTY if variation.empty else _NOT_UNALIGNED if variation.data == UNALIGNED else ""


def _compare_or_tell(bench: Bench, contender: Contender, ground: Ground, told: str) -> None:
    """`compare_once` where an exception is told: nobody gets a wrong answer by it.

    So is another answer at a rank that no workload line has. What leaves its memory there is refused.
    """
    data, reduced = ground.variation.data, len(bench.evidence.reduced)
    other_rank = data in OTHER_RANKS
    try:
        compare_once(bench, contender, ground)
        if other_rank:
            del bench.evidence.reduced[reduced:]  # less precision there decides nothing either
    except Rejected as rejected:
        name, detail = rejected.check.name, rejected.check.detail
        raises = name == "runs" and detail.startswith("raises") and not (other_rank and "CUDA error" in detail)
        if not raises and not (other_rank and name in _OTHER_ANSWERS):
            raise
        bench.evidence.caveats.append(told if raises else f"answers otherwise than the baseline with {data}")


def _state(targets: Targets, names: tuple[str, ...]) -> dict[str, torch.Tensor]:
    state = named_state(targets.baseline)
    return {name: state[name].detach() for name in names}
