"""Does a gradient flow back as the baseline's does? For random cotangents, against the baseline and its fp64 twin."""

import re
from collections.abc import Sequence
from dataclasses import replace
from enum import StrEnum
from typing import Any

import torch

from kernelwright.proof.worker.answers.judge import ACCURACY, Judged, judge
from kernelwright.proof.worker.answers.oracle import Oracle
from kernelwright.proof.worker.answers.tolerance import reduction_length, rounding_floor
from kernelwright.proof.worker.bench import Bench, NotAccepted, Rejected, Targets, targets_for
from kernelwright.proof.worker.gate.arguments import make_inputs
from kernelwright.proof.worker.gate.backward import BackwardFailed, Flow, NoGradient, gradients
from kernelwright.proof.worker.gate.cases import Variation
from kernelwright.proof.worker.gate.nonfinite import agree
from kernelwright.proof.worker.hosts.contender import Contender
from kernelwright.proof.worker.inputs import Inputs, map_leaves
from kernelwright.proof.worker.observe import Observation
from kernelwright.proof.worker.reference.fp64 import free_bytes
from kernelwright.proof.worker.reference.unrounded import better, unrounded
from kernelwright.values import Check

NAME = "gradient"
_MOST_ELEMENTS = 1 << 26  # of inputs and parameters; beyond that the activations of a call may not fit
_SLACK = 4.0  # a backward pass rounds more often than the forward pass that the tolerance is made for
_AS_CLOSE = 2.0  # times the baseline's own root mean square error
_ZERO = 1e-11  # of the largest gradient: rounding errors of fp64
_OWN_BACKWARD = re.compile(r"Function|autograd|custom_op|library|cpp_extension|load_inline")
_ATTEMPTS = 2  # a comparison on the very threshold of a relu or a maximum may fall either way, once


class Arrival(StrEnum):
    """How gradients of outputs lie in memory: plainly, as from a sum over the first dimension, as from a transposition."""

    PLAIN = ""
    EXPANDED = ", gradients that arrive expanded"
    TRANSPOSED = ", gradients that arrive transposed"


def compare_gradients(bench: Bench, contender: Contender, variations: Sequence[Variation], *, always: bool) -> None:
    """The `gradient` check on the variations, where the baseline's output carries a gradient.

    Inputs that require grad make a right gradient mandatory; parameters alone do not, since a module's always require
    grad: a candidate without a gradient is then called forward only, one with a wrong gradient is rejected. With `always`
    floating-point inputs require grad in any case. A backward pass of the candidate's own gets gradients in other layouts, too:
    torch's own operators take any. Raises Rejected, JobFailed.
    """
    own = bool(_OWN_BACKWARD.search(bench.trial.candidate))
    for variation in variations:
        arrivals = list(Arrival) if own and variation is variations[0] else [Arrival.PLAIN]
        for arrival in arrivals:
            try:
                if not _compare(bench, contender, variation, always, arrival):
                    return
            except NotAccepted:
                continue


def _compare(bench: Bench, contender: Contender, variation: Variation, always: bool, arrival: Arrival) -> bool:
    """Whether further variations tell more. Raises NotAccepted where this one tells nothing."""
    for attempt in range(_ATTEMPTS):
        again = replace(variation, seed=variation.seed + attempt)
        targets = targets_for(bench, again)
        inputs = make_inputs(bench, again)
        mandatory = any(t.requires_grad for t in inputs.tensors())
        parameters = _parameters(targets.baseline)
        if not mandatory and (bench.interpreted or not (parameters or always)):
            return False
        if not mandatory and always:
            inputs = _requiring_grad(inputs)
        if _too_large(bench, targets, inputs):
            return False
        judged = _judged(bench, contender, again, targets, inputs, parameters, mandatory, arrival)
        if judged is None:
            return False
        if judged.finding is None or judged.reduced:
            case = again.described + arrival
            bench.checks.append(Check(NAME, case, True, _told(judged.detail)))
            bench.reduced += [(case, judged)] if judged.reduced else []
            return True
    assert judged.finding is not None
    raise Rejected(Check(NAME, again.described + arrival, False, _told(judged.finding.detail)))


def _judged(
    bench: Bench,
    contender: Contender,
    variation: Variation,
    targets: Targets,
    inputs: Inputs,
    parameters: list[str],
    mandatory: bool,
    arrival: Arrival,
) -> Judged | None:
    """None where the candidate is forward only, which is then said. Raises NotAccepted, Rejected, JobFailed."""
    cotangents: dict[int, torch.Tensor] = {}
    generator = torch.Generator(bench.device).manual_seed(variation.seed)

    def drawn(index: int, output: torch.Tensor) -> torch.Tensor:
        made = torch.randn(output.shape, generator=generator, device=output.device, dtype=torch.float32)
        return cotangents.setdefault(index, _laid_out(made.to(output.dtype), arrival))

    case, seed = variation.described + arrival, variation.seed
    names = [f"input {i}" for i, t in enumerate(inputs.tensors()) if t.requires_grad]
    names += [f"self.{name}" for name in parameters]
    if not names:
        raise NotAccepted
    try:
        expected = gradients(targets.baseline, inputs, drawn, parameters, seed=seed)
    except (NoGradient, BackwardFailed) as error:
        raise NotAccepted from error
    if arrival is not Arrival.PLAIN:
        _takes(targets.baseline, inputs, cotangents, parameters, expected, seed)
    answer = contender.gradients(targets, inputs, cotangents, parameters, expected.tensors, case=case, seed=seed)
    lacking = answer if isinstance(answer, str) else _unreached(names, expected, answer)
    if lacking and mandatory:
        detail = f"the workload's inputs require grad, and the candidate has no gradient: {lacking}"
        raise Rejected(Check(NAME, case, False, detail))
    if lacking and arrival is Arrival.PLAIN:
        detail = f"forward only: it cannot train, and no gradient is verified that it lacks ({lacking})"
        bench.checks.append(Check(NAME, case, True, detail))
    if isinstance(answer, str):
        return None
    kept = [i for i in range(len(names)) if i in expected.unreached or i not in answer.unreached]
    baseline, candidate = _named(names, expected.tensors, kept), _named(names, answer.tensors, kept)
    reference = _reference(targets.double, inputs, cotangents, parameters, seed)
    reference = _named(names, reference.tensors, kept) if reference is not None else None
    if reference is not None and not agree(reference, baseline):
        raise NotAccepted
    length = max(
        reduction_length(inputs.tensors(), [], expected.tensors),
        max(c.numel() for c in cotangents.values()) // max(min(g.numel() for g in expected.tensors), 1),
    )
    if reference is not None:
        counting = _counting(reference, baseline, candidate, length)
        reference, baseline, candidate = (_only(of, counting) for of in (reference, baseline, candidate))
    oracle = Oracle(reference, baseline)
    if arrival is Arrival.EXPANDED and None in oracle.own_errors:
        raise NotAccepted  # equal gradients may cancel, as those of a norm do
    judged = judge(oracle, candidate, length, any_layout=True, slack=_SLACK)
    exact = (
        None if judged.finding is None else _reference(unrounded(bench, targets), inputs, cotangents, parameters, seed)
    )
    if exact is not None:
        beside = Oracle(_only(_named(names, exact.tensors, kept), set(baseline.output)), baseline)
        judged = better(judged, judge(beside, candidate, length, any_layout=True, slack=_SLACK))
    wrong = judged.finding is not None and judged.finding.name in ("values", ACCURACY)
    if wrong and _as_close(reference, baseline, candidate):
        return Judged(None, judged.errors)
    return judged


def _laid_out(made: torch.Tensor, arrival: Arrival) -> torch.Tensor:
    """Numbers of `made`, of its shape; in memory of its size, so that nobody who takes them for contiguous reads beyond it."""
    shape = made.shape
    if arrival is Arrival.EXPANDED and made.dim():
        return made[:1].expand(shape)
    if arrival is Arrival.TRANSPOSED and made.dim() >= 2:
        return made.reshape(*shape[:-2], shape[-1], shape[-2]).transpose(-1, -2)
    return made


def _takes(
    target: Any,
    inputs: Inputs,
    cotangents: dict[int, torch.Tensor],
    parameters: list[str],
    expected: Flow,
    seed: int,
) -> None:
    """Raises NotAccepted where all cotangents are contiguous, or the baseline has other gradients for them in that layout."""
    if all(cotangent.is_contiguous() for cotangent in cotangents.values()):
        raise NotAccepted
    try:
        plain = gradients(target, inputs, lambda index, _: cotangents[index].contiguous(), parameters, seed=seed)
    except (NoGradient, BackwardFailed) as error:
        raise NotAccepted from error
    length = max(c.numel() for c in cotangents.values())
    one, other = (Observation(list(flow.tensors)) for flow in (plain, expected))
    if judge(Oracle(None, one), other, length, any_layout=True, slack=_SLACK).finding is not None:
        raise NotAccepted


def _reference(
    double: Any,
    inputs: Inputs,
    cotangents: dict[int, torch.Tensor],
    parameters: list[str],
    seed: int,
) -> Flow | None:
    """The fp64 twin's gradients for the same cotangents, None where it has none."""

    def leaf(value: Any) -> Any:
        if not isinstance(value, torch.Tensor) or not value.is_floating_point():
            return value
        return value.detach().double().requires_grad_(value.requires_grad)

    def sent(index: int, output: torch.Tensor) -> torch.Tensor | None:
        one = cotangents.get(index)
        return None if one is None else one.to(output.dtype)

    if double is None:
        return None
    wide = Inputs(map_leaves(leaf, inputs.args), map_leaves(leaf, inputs.kwargs))
    try:
        found = gradients(double, wide, sent, parameters, seed=seed)
    except (NoGradient, BackwardFailed):
        return None
    return found if all(one.dtype == torch.float64 for one in found.tensors) else None


def _named(names: list[str], tensors: Sequence[torch.Tensor], kept: list[int]) -> Observation:
    return Observation({names[i]: tensors[i] for i in kept})


def _only(of: Observation, names: set[str]) -> Observation:
    return Observation({name: tensor for name, tensor in of.output.items() if name in names})


def _counting(reference: Observation, baseline: Observation, candidate: Observation, length: int) -> set[str]:
    """The gradients that are more than rounding errors; one that is zero by fp64 counts where a candidate's is more than that.

    That of a bias before a norm, or of attention's keys, is zero, and what comes out of it is what is left of terms as large
    as the other gradients: beside itself every error of it is large.
    """
    largest = max((_largest(t) for t in reference.tensors()), default=0.0)

    def zero(name: str) -> bool:
        exact, base, cand = (of.output[name] for of in (reference, baseline, candidate))
        limit = _SLACK * rounding_floor(base.dtype, length) * largest
        nothing = exact.numel() > 0 and _largest(exact) <= _ZERO * largest
        return nothing and base.shape == cand.shape and max(_largest(base), _largest(cand)) <= limit

    return {name for name in reference.output if not zero(name)}


def _largest(tensor: torch.Tensor) -> float:
    """The largest size of an element, NaN where there is one."""
    return float(tensor.detach().abs().max()) if tensor.numel() else 0.0


def _unreached(names: list[str], expected: Flow, answer: Flow) -> str:
    """Which leaves lack a gradient that the baseline's have, in words; empty for none."""
    lost = [names[i] for i in answer.unreached if i not in expected.unreached]
    return f"none reaches {', '.join(lost[:4])}{f' and {len(lost) - 4} more' if len(lost) > 4 else ''}" if lost else ""


def _as_close(reference: Observation | None, baseline: Observation, candidate: Observation) -> bool:
    """In 16 bits many elements lie on the threshold of a relu or a maximum, for the baseline as well.

    Then its root mean square error against fp64 is the measure, gradient by gradient.
    """
    if reference is None or any(torch.finfo(t.dtype).bits > 16 for t in baseline.tensors()):
        return False
    for exact, base, cand in zip(reference.tensors(), baseline.tensors(), candidate.tensors(), strict=True):
        own, error = ((t.double() - exact).square().mean().sqrt() for t in (base, cand))
        if not float(error) <= _AS_CLOSE * float(own):
            return False
    return True


def _parameters(target: Any) -> list[str]:
    if not isinstance(target, torch.nn.Module):
        return []
    return [name for name, parameter in target.named_parameters() if parameter.requires_grad]


def _requiring_grad(inputs: Inputs) -> Inputs:
    def leaf(value: Any) -> Any:
        floating = isinstance(value, torch.Tensor) and value.is_floating_point() and not bool(value.isnan().any())
        return value.detach().requires_grad_() if floating else value

    return Inputs(map_leaves(leaf, inputs.args), map_leaves(leaf, inputs.kwargs))


def _too_large(bench: Bench, targets: Targets, inputs: Inputs) -> bool:
    tensors = list(inputs.tensors())
    if isinstance(targets.baseline, torch.nn.Module):
        tensors += list(targets.baseline.parameters())
    count = sum(t.numel() for t in tensors)
    if count <= _MOST_ELEMENTS and count * 8 * 8 <= free_bytes(inputs):
        return False
    bench.notes.append(f"gradients not compared, with {count:,} elements of inputs and parameters")
    return True


def _told(detail: str) -> str:
    return re.sub(r"the output\['(.+?)'\]", r"of \1", detail)
