"""Does an answer last, does it come again, is it that of the data, and is it there for the next work on the stream?

Further calls on other data, one of them in the memory of the first, of which no address or version tells.
"""

import functools
from collections.abc import Sequence
from dataclasses import replace

import torch

from kernelwright.proof.worker import flags
from kernelwright.proof.worker.answers.fan_in import reduction_length
from kernelwright.proof.worker.answers.judge import judge
from kernelwright.proof.worker.answers.oracle import Oracle
from kernelwright.proof.worker.bench import Bench
from kernelwright.proof.worker.construct import targets_for
from kernelwright.proof.worker.gate.arguments import make_inputs
from kernelwright.proof.worker.gate.grounds import baseline_run
from kernelwright.proof.worker.hosts.contender import Contender
from kernelwright.proof.worker.hosts.remote import Work
from kernelwright.proof.worker.inputs import Inputs, poison_, seed_everything
from kernelwright.proof.worker.observe import Observation, attributes_of, changed, observe
from kernelwright.proof.worker.reference.fp32 import in_fp32
from kernelwright.proof.worker.reference.fp64 import in_fp64
from kernelwright.proof.worker.reference.ties import ties_apart
from kernelwright.proof.worker.rejected import Rejected
from kernelwright.proof.worker.targets import Targets
from kernelwright.proof.worker.tensors import same_bits
from kernelwright.proof.worker.variation import Variation
from kernelwright.values import Check

_MOST_MOVED = 1 << 30  # bytes of an answer beyond which the memory for one more may be missing
_REPEATED = "determinism", "two calls on the same data"  # a check, and what was done
_IN_A_ROW = 3
_IN_ORDER = (
    "stream-order",
    "the call does not wait for what was queued on the current stream before it, or does not make that stream wait for "
    "its own work",
)

Answer = list[torch.Tensor]


def outputs_stay(bench: Bench, contender: Contender, first: Variation, second: Variation, repetitions: int = 1) -> None:
    """Further calls on other data must not overwrite what the first one returned; the same data give the same answer.

    Raises Rejected, JobFailed.
    """
    targets, a, b = targets_for(bench, first), make_inputs(bench, first), make_inputs(bench, second)
    like = observe(targets.baseline, a, seed=first.seed)
    aliasing = any(owner for _, owner in like.aliases)
    answer: list[torch.Tensor] = []
    moved_like = observe(targets.baseline, b, seed=first.seed) if _can_move(a, b, like) else None
    few = ""  # in words, where a slow text was called less often
    words = f"{'two' if repetitions == 1 else 2 * repetitions} calls on the same data and seed agree bit for bit"
    for _ in range(repetitions):
        (before, after, again, moved), few = contender.call_often(
            targets,
            a,
            b,
            like,
            moving=moved_like is not None,
            overwriting=not aliasing,
            case=first.described,
            seed=first.seed,
        )
        if not aliasing and not _same(before, after):
            detail = "a later call overwrites what the call before returned: the output is a buffer kept between calls"
            raise Rejected("alias", first.described, detail)
        answer = answer or [t.clone() for t in before]  # what is returned are views, until the next request
        if _written_over(answer, again):
            if _shares_memory(like, observe(targets.baseline, a, seed=first.seed)):
                break  # as the baseline's
            detail = "two calls return the same memory: what one caller writes into its answer is in the other's"
            raise Rejected("alias", first.described, detail)
        for other in (before, again):
            if not _same(answer, other):
                words = _not_repeated(targets, a, like, first, (answer, other), _REPEATED)
        if moved_like is not None:
            _of_its_data(bench, targets, b, first, moved_like, moved)
    bench.evidence.checks.append(Check("determinism", first.described, True, words + few))
    _next_numbers(bench, contender, targets, a, first, like)
    if like.changed_state:
        _steps(bench, contender, targets, a, first)
    if bench.device == "cuda" and [t.shape for t in a.tensors()] == [t.shape for t in b.tensors()]:
        late = contender.call_in_order(targets, a, b, like, case=first.described, seed=first.seed)
        if not _same(answer, late):
            _not_repeated(targets, a, like, first, (answer, late), _IN_ORDER)
        words = "inputs that arrived 10 ms after the launch, and a result read right behind it on the same stream"
        bench.evidence.checks.append(Check("stream-order", first.described, True, words))


def _written_over(before: list[torch.Tensor], again: list[torch.Tensor]) -> bool:
    """Whether a tensor of the second answer is nothing but what was written into the first."""
    pairs = zip(before, again, strict=False)
    return any(two.numel() and same_bits(two, poison_(two.clone())) and not same_bits(one, two) for one, two in pairs)


def _shares_memory(one: Observation, two: Observation) -> bool:
    pairs = zip(one.tensors(), two.tensors(), strict=False)
    return any(a.numel() and a.data_ptr() == b.data_ptr() for a, b in pairs)


def _next_numbers(
    bench: Bench, contender: Contender, targets: Targets, inputs: Inputs, first: Variation, like: Observation
) -> None:
    """Raises Rejected where the second of two calls under one seed draws other numbers than the baseline's second does."""
    seed_everything(first.seed)
    if like.random == flags.generators():
        return  # nothing is drawn
    expected = observe(targets.baseline, inputs, seed=first.seed, calls=2)
    found = contender.observe(targets, inputs, expected, case=first.described, seed=first.seed, calls=2)
    length = reduction_length(targets.baseline, inputs, expected.tensors())
    known = bench.evidence.own_error
    judged = judge(Oracle(None, Observation(expected.output)), Observation(found.output), length, known=known)
    if judged.finding is not None and not judged.reduced:
        detail = f"of two calls under one seed the second has other numbers: {judged.finding.detail}"
        raise Rejected("random-state", first.described, detail)


def _steps(bench: Bench, contender: Contender, targets: Targets, inputs: Inputs, first: Variation) -> None:
    """Raises Rejected where state, or what is computed of it, is another than the baseline's after two or three calls."""
    for calls in range(2, _IN_A_ROW + 1):
        case = f"{first.described}, call {calls} in a row"
        expected = observe(targets.baseline, inputs, seed=first.seed, calls=calls)
        answer = contender.observe(targets, inputs, expected, case=case, seed=first.seed, calls=calls)
        length = reduction_length(targets.baseline, inputs, expected.tensors())
        judged = judge(Oracle(None, expected), answer, length)
        if judged.wrong:  # which may be rounding errors, where terms cancel
            same = {"seed": first.seed, "calls": calls}
            double = in_fp64(targets.double, inputs, expected, original=targets.baseline, **same)
            plain = functools.partial(in_fp32, targets.baseline, inputs, **same)
            oracle = Oracle(double if isinstance(double, Observation) else None, expected, in_fp32=plain)
            judged = judge(oracle, answer, length)
        if judged.finding is not None and not judged.reduced:
            raise Rejected("state", case, judged.finding.detail)
        bench.evidence.checks.append(Check("state", case, True, judged.detail))


def attributes_move_alike(bench: Bench, contender: Contender, first: Variation, beside: Work) -> None:
    """The first three calls of all, after each of which a module's plain attributes must be those of the baseline.

    What only the candidate has is its own. `beside`: calls of the baseline that may be made where none of its attributes
    moves. Raises Rejected, JobFailed.
    """
    targets = targets_for(bench, first)
    target = targets.baseline
    for calls in range(1, _IN_A_ROW + 1 if attributes_of(target) else 1):
        variation = replace(first, seed=first.seed + calls - 1)
        case, inputs = f"{variation.described}, call {calls}", make_inputs(bench, variation)
        before = attributes_of(target)
        like = baseline_run(bench, variation, target, inputs)
        after = attributes_of(target)
        like = replace(like, changed_state=changed(after, before))
        known = after.keys() | before.keys()
        with contender.beside(None if like.changed_state else beside):
            answer = contender.observe(targets, inputs, like, case=case, seed=variation.seed, attributes=known)
        expected, found = (
            Observation(None, {}, {n: t.cpu() for n, t in one.changed_state.items()}) for one in (like, answer)
        )
        if further := found.changed_state.keys() - expected.changed_state.keys():
            raise Rejected("state", case, f"self.{min(further)} is changed, which the baseline leaves as it is")
        judged = judge(Oracle(None, expected), found, 1)
        if judged.finding is not None:
            raise Rejected("state", case, judged.finding.detail)
        if not expected.changed_state:
            return


def _can_move(first: Inputs, second: Inputs, like: Observation) -> bool:
    """Whether the second data fit into the first one's memory, no element of which is another's too."""
    forms = [[(t.shape, t.dtype) for t in inputs.tensors()] for inputs in (first, second)]
    overlapping = any(0 in t.stride() for t in first.tensors())
    small = sum(t.numel() * t.element_size() for t in like.tensors()) <= _MOST_MOVED
    return bool(forms[0]) and forms[0] == forms[1] and not overlapping and small


def _of_its_data(
    bench: Bench, targets: Targets, inputs: Inputs, first: Variation, expected: Observation, moved: list[torch.Tensor]
) -> None:
    """Raises Rejected where an answer is not that of the data which were put into an earlier call's memory."""
    length = reduction_length(targets.baseline, inputs, expected.tensors())
    known = bench.evidence.own_error
    plain, text, target = Observation(expected.tensors()), bench.trial.baseline, targets.baseline
    observed, _ = ties_apart(text, target, inputs, plain, Observation(moved), seed=first.seed)
    judged = judge(Oracle(None, plain), observed, length, known=known)
    if judged.finding is not None and not judged.reduced:
        detail = f"on other data in the memory of an earlier call's: {judged.finding.detail}"
        raise Rejected("values", first.described, detail)


def _not_repeated(
    targets: Targets, inputs: Inputs, like: Observation, first: Variation, two: Sequence[Answer], told: tuple[str, str]
) -> str:
    """How far two calls are apart, for the verdict. Raises Rejected when the baseline repeats itself and this is far.

    `told`: the check that this fails, and what was done.
    """
    (before, again), (name, what) = two, told
    itself = observe(targets.baseline, inputs, seed=first.seed)
    length = reduction_length(targets.baseline, inputs, like.tensors())
    judged = judge(Oracle(None, Observation(before)), Observation(again), length)
    if judged.finding is not None and _same(like.tensors(), itself.tensors()):
        raise Rejected(name, first.described, f"{what}: {judged.finding.detail}")
    return f"two calls on the same data and seed differ: {judged.detail if judged.errors else 'like the baseline'}"


def _same(left: list[torch.Tensor], right: list[torch.Tensor]) -> bool:
    return len(left) == len(right) and all(same_bits(x, y) for x, y in zip(left, right, strict=True))
