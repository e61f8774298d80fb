"""Does a gradient flow back as the baseline's does? For random cotangents, against the baseline and its fp64 twin."""

import functools
import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from enum import StrEnum
from typing import Any

import torch

from kernelwright.proof.jobs import Trial
from kernelwright.proof.worker import flags
from kernelwright.proof.worker.answers.compare import values
from kernelwright.proof.worker.answers.expected import Expected
from kernelwright.proof.worker.answers.fan_in import reduction_length
from kernelwright.proof.worker.answers.form import Finding
from kernelwright.proof.worker.answers.judge import ACCURACY, Judged, judge
from kernelwright.proof.worker.answers.oracle import Oracle
from kernelwright.proof.worker.answers.tolerance import rounding_floor
from kernelwright.proof.worker.backward import BackwardFailed, Cotangent, Flow, NoGradient, gradients
from kernelwright.proof.worker.bench import Bench
from kernelwright.proof.worker.construct import targets_for
from kernelwright.proof.worker.evidence import Evidence
from kernelwright.proof.worker.free_memory import has_free
from kernelwright.proof.worker.gate.arguments import make_inputs
from kernelwright.proof.worker.gate.grounds import stops_the_gpu
from kernelwright.proof.worker.gate.nonfinite import agree
from kernelwright.proof.worker.gate.properties import with_property
from kernelwright.proof.worker.gate.unrounded import better, unrounded
from kernelwright.proof.worker.hosts.contender import Contender
from kernelwright.proof.worker.inputs import Inputs
from kernelwright.proof.worker.observe import Observation
from kernelwright.proof.worker.rejected import NotAccepted, Rejected
from kernelwright.proof.worker.targets import Targets
from kernelwright.proof.worker.texts import listed
from kernelwright.proof.worker.variation import Variation
from kernelwright.values import Accuracy, Check

NAME = "gradient"
_CUT_OFF = re.compile(r"\b(?:no_grad|inference_mode|set_grad_enabled|detach_?)\b|\.data\b")
_MOST_ELEMENTS = 1 << 26  # of inputs and parameters; beyond that the activations of a call may not fit
_SLACK = 4.0  # a backward pass rounds more often than the forward pass that the tolerance is made for
_AS_CLOSE = 2.0  # times the baseline's own root mean square error
_ZERO = 1e-11  # of the largest gradient: rounding errors of fp64
_OWN_BACKWARD = re.compile(r"Function|autograd|custom_op|library|cpp_extension|load_inline")
_BACKWARD = re.compile(r"\bdef backward\b|\bregister_autograd\b")
_NOT_COMPARED = "gradients not compared"
_IN_PART = "some gradients not compared"
_NO_SMALL_SIZE = "the baseline takes none of the sizes that they are compared on"
_ATTEMPTS = 2  # a comparison on the very threshold of a relu or a maximum may fall either way, once


Cotangents = dict[int, torch.Tensor]  # by index of the output
Flowing = Callable[[Any, Inputs, Cotangent], Flow]


class Arrival(StrEnum):
    """How gradients of outputs lie in memory: plainly, as from a sum over the first dimension, as from a transposition."""

    PLAIN = ""
    EXPANDED = ", gradients that arrive expanded"
    TRANSPOSED = ", gradients that arrive transposed"


def compare_gradients(bench: Bench, contender: Contender, variations: Sequence[Variation]) -> None:
    """The `gradient` check on the variations, with respect to whatever the baseline lets differentiate.

    Floating-point inputs require grad where the workload asks of none, unless the baseline raises then. A gradient that is
    lost, or added, is a difference: see _lost, _added. A backward pass of the candidate's own gets gradients in other
    layouts, too: torch's own operators take any. Raises Rejected, JobFailed.
    """
    own, compared, reason = bool(_OWN_BACKWARD.search(bench.trial.candidate)), False, _NO_SMALL_SIZE
    for variation in variations[:1] if bench.interpreted else variations:
        arrivals = list(Arrival) if own and variation is variations[0] else [Arrival.PLAIN]
        for arrival in arrivals:
            try:
                if not _compare(bench, contender, variation, arrival):
                    return
                compared = True
            except NotAccepted as why:
                reason = str(why) or reason
    if not compared:
        bench.evidence.caveats.append(_NOT_COMPARED)
        bench.evidence.notes.append(f"{_NOT_COMPARED}: {reason}")


def _compare(bench: Bench, contender: Contender, variation: Variation, arrival: Arrival) -> bool:
    """Whether further variations tell more. Raises NotAccepted where this one tells nothing."""
    for attempt in range(_ATTEMPTS):
        again = replace(variation, seed=variation.seed + attempt)
        targets = targets_for(bench, again)
        inputs = make_inputs(bench, again)
        _must_fit(bench, targets, inputs)
        judged = _judged(bench, contender, again, targets, inputs, arrival)
        if judged is None:
            return False
        if judged.finding is None or judged.reduced:
            case = again.described + arrival
            bench.evidence.checks.append(Check(NAME, case, True, _told(judged.detail)))
            bench.evidence.reduced += [(case, judged)] if judged.reduced else []
            return True
    assert judged is not None
    assert judged.finding is not None
    raise Rejected(NAME, again.described + arrival, _told(judged.finding.detail))


def _judged(
    bench: Bench, contender: Contender, variation: Variation, targets: Targets, inputs: Inputs, arrival: Arrival
) -> Judged | None:
    """None where one of the two has no gradients, which is said. Raises NotAccepted, Rejected, JobFailed."""
    cotangents: Cotangents = {}
    generator = torch.Generator(bench.device).manual_seed(variation.seed)

    def drawn(index: int, output: torch.Tensor) -> torch.Tensor:
        made = torch.randn(output.shape, generator=generator, device=output.device, dtype=torch.float32)
        return cotangents.setdefault(index, _laid_out(made.to(output.dtype), arrival))

    case, seed, parameters = variation.described + arrival, variation.seed, _parameters(targets.baseline)
    flowing = functools.partial(gradients, parameters=parameters, seed=seed)
    asked = any(t.requires_grad for t in inputs.tensors())
    for given in (inputs,) if asked else (_requiring_grad(_generic(bench, variation, inputs)), inputs):
        names = [f"input {i}" for i, t in enumerate(given.tensors()) if t.requires_grad]
        names += [f"self.{name}" for name in parameters]
        cotangents.clear()
        try:
            expected = flowing(targets.baseline, given, drawn)
            break
        except NoGradient:
            continue
        except BackwardFailed as error:
            raise NotAccepted(f"of the baseline {error}") from error
    else:
        return None
    inputs = given
    if not names:
        return None
    if expected.carried and not cotangents:
        raise NotAccepted("the baseline's outputs are complex")
    if expected.carried and not any(gradient.numel() for gradient in expected.tensors):
        raise NotAccepted("they have no elements")
    if arrival is not Arrival.PLAIN:
        _takes(flowing, targets.baseline, inputs, cotangents, expected)
    answer = contender.gradients(targets, inputs, cotangents, parameters, expected.tensors, case=case, seed=seed)
    carried = set() if isinstance(answer, str) else set(answer.carried)
    if carried - set(expected.carried):
        _added(bench, case, expected)
    if isinstance(answer, str) or (expected.carried and not answer.tensors):
        words = answer if isinstance(answer, str) else "its output carries no gradient"
        _lost(bench.trial, bench.evidence, case, words, whole=True, asked=asked, silent=not isinstance(answer, str))
        return None
    if not expected.carried:
        return None
    lost = _unreached(names, expected, answer)
    if lost and arrival is Arrival.PLAIN:
        _lost(bench.trial, bench.evidence, case, lost, whole=False, asked=asked, silent=True)
    kept = [i for i in range(len(names)) if i in expected.unreached or i not in answer.unreached]
    reference = _reference(flowing, targets.double, inputs, cotangents)
    baseline, candidate = _named(names, expected.tensors, kept), _named(names, answer.tensors, kept)
    reference = _named(names, reference.tensors, kept) if reference is not None else None
    if reference is not None and not agree(reference, baseline):
        raise NotAccepted("the baseline's own are not those of its fp64 run")
    length = max(
        reduction_length(None, inputs, expected.tensors),
        max(c.numel() for c in cotangents.values()) // max(min(g.numel() for g in expected.tensors), 1),
    )
    if reference is not None:
        counting = _counting(reference, baseline, candidate, length)
        reference, baseline, candidate = (_only(of, counting) for of in (reference, baseline, candidate))
    plain = lambda: _in_fp32(flowing, targets.baseline, inputs, cotangents)
    shown = lambda flow: flow and _only(_named(names, flow.tensors, kept), set(baseline.output))
    oracle = Oracle(reference, baseline, in_fp32=lambda: shown(plain()))
    if not asked and None in oracle.own_errors:  # nobody knows which of two is nearer, where terms cancel as in a norm
        known = {name for name in baseline.output if name.startswith("self.")}
        if not known:
            raise NotAccepted("the baseline's own are not those of its fp64 run")
        reference = _only(reference, known) if reference is not None else None
        baseline, candidate = _only(baseline, known), _only(candidate, known)
        oracle = Oracle(reference, baseline, in_fp32=lambda: shown(plain()))
        if None in oracle.own_errors and oracle.explained:
            raise NotAccepted("the baseline's own are rounding errors in large part")
    if arrival is Arrival.EXPANDED and None in oracle.own_errors:
        raise NotAccepted  # equal gradients may cancel, as those of a norm do
    judged = judge(oracle, candidate, length, any_layout=True, slack=_SLACK)
    wide = unrounded(bench, targets) if judged.finding is not None else None
    exact = _reference(flowing, wide, inputs, cotangents)
    if exact is not None and not asked:
        raise NotAccepted("the baseline rounds to 16 bits inside")
    if exact is not None:
        beside = Oracle(_only(_named(names, exact.tensors, kept), set(baseline.output)), baseline)
        judged = better(judged, judge(beside, candidate, length, any_layout=True, slack=_SLACK))
    if judged.finding is not None and not asked:
        moved = _moved(oracle, shown(plain()), length)
        if moved:
            kept_names = set(baseline.output) - moved
            if not kept_names:
                raise NotAccepted("without TF32 the baseline's own differ by more than is allowed")
            bench.evidence.caveats += [] if _IN_PART in bench.evidence.caveats else [_IN_PART]
            reference, baseline, candidate = (of and _only(of, kept_names) for of in (reference, baseline, candidate))
            judged = judge(Oracle(reference, baseline), candidate, length, any_layout=True, slack=_SLACK)
    wrong = judged.finding is not None and judged.finding.name in ("values", ACCURACY)
    rounded = [errors for errors in judged.errors if errors.accuracy is Accuracy.REDUCED]
    unknown = judged.reduced and not asked and all(errors.baseline is None for errors in rounded)
    if unknown or (wrong and _as_close(reference, baseline, candidate)):
        return Judged(None, judged.errors)
    return judged


def _moved(oracle: Oracle, plain: Observation | None, length: int) -> set[str]:
    """The gradients that the baseline itself would be refused for without TF32: no candidate can be told by them.

    TF32 in fifty layers back and forth leaves nothing of a gradient but its size.
    """
    if plain is None or plain.output.keys() != oracle.baseline.output.keys():
        return set()
    parts = zip(oracle.baseline.output, oracle.parts, oracle.answers(plain), strict=True)
    return {
        name
        for name, (_, part), got in parts
        if isinstance(part, Expected) and isinstance(values(part, got, length, slack=_SLACK), Finding)
    }


def _laid_out(made: torch.Tensor, arrival: Arrival) -> torch.Tensor:
    """Numbers of `made`, of its shape; in memory of its size, so that nobody who takes them for contiguous reads beyond it."""
    shape = made.shape
    if arrival is Arrival.EXPANDED and made.dim():
        return made[:1].expand(shape)
    if arrival is Arrival.TRANSPOSED and made.dim() >= 2:
        return made.reshape(*shape[:-2], shape[-1], shape[-2]).transpose(-1, -2)
    return made


def _takes(flowing: Flowing, target: Any, inputs: Inputs, cotangents: Cotangents, expected: Flow) -> None:
    """Raises NotAccepted where all cotangents are contiguous, or the baseline has other gradients for them in that layout."""
    if all(cotangent.is_contiguous() for cotangent in cotangents.values()):
        raise NotAccepted
    try:
        plain = flowing(target, inputs, lambda index, _: cotangents[index].contiguous())
    except (NoGradient, BackwardFailed) as error:
        raise NotAccepted from error
    length = max(c.numel() for c in cotangents.values())
    one, other = (Observation(list(flow.tensors)) for flow in (plain, expected))
    if judge(Oracle(None, one), other, length, any_layout=True, slack=_SLACK).finding is not None:
        raise NotAccepted


def _reference(flowing: Flowing, double: Any, inputs: Inputs, cotangents: Cotangents) -> Flow | None:
    """The fp64 twin's gradients for the same cotangents, None where it has none."""

    def doubled(tensor: torch.Tensor) -> torch.Tensor:
        return tensor.detach().double().requires_grad_(tensor.requires_grad) if tensor.is_floating_point() else tensor

    def sent(index: int, output: torch.Tensor) -> torch.Tensor | None:
        one = cotangents.get(index)
        return None if one is None else one.to(output.dtype)

    if double is None:
        return None
    try:
        found = flowing(double, inputs.changed(doubled), sent)
    except (NoGradient, BackwardFailed):
        return None
    return found if all(one.dtype == torch.float64 for one in found.tensors) else None


def _in_fp32(flowing: Flowing, baseline: Any, inputs: Inputs, cotangents: Cotangents) -> Flow | None:
    """The baseline's gradients without TF32, None where it has none then."""
    with flags.changed_to(flags.without_tf32):
        try:
            return flowing(baseline, inputs, lambda index, _: cotangents.get(index))
        except (NoGradient, BackwardFailed):
            return None


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


def _lost(trial: Trial, evidence: Evidence, case: str, words: str, *, whole: bool, asked: bool, silent: bool) -> None:
    """What follows from gradients that the baseline has and the candidate lacks.

    Who raises is forward only, and said to be, where neither the workload asks for gradients nor the baseline brings a
    backward of its own. So are kernels without a backward: those of a strategy that makes such, and, where all gradients
    are lost, those that were seen at work. Whatever else trains on without a word what it does not reach is refused.
    Raises Rejected.
    """
    kernels = trial.promises_kernel or trial.forward_only
    kernels = kernels or (whole and evidence.share is not None and bool(evidence.share.kernels))
    told = not silent or (kernels and (whole or not _BACKWARD.search(trial.candidate)))
    brought = words.startswith("its backward") and _BACKWARD.search(trial.candidate)
    if asked or brought or _BACKWARD.search(trial.baseline) or not told:
        who = "the workload's inputs require grad" if asked else "the baseline has gradients"
        hint = "" if asked else " (a kernel that has no backward can raise where an input requires grad)"
        raise Rejected(NAME, case, f"{who}, and the candidate has no gradient: {words}{hint}")
    detail = f"forward only: it cannot train, and no gradient is verified that it lacks ({words})"
    evidence.checks.append(Check(NAME, case, True, detail))
    evidence.caveats.append("forward only: gradients are lost" if whole else f"forward only: {words}")


def _added(bench: Bench, case: str, expected: Flow) -> None:
    """What follows from gradients that the candidate has and the baseline lacks: kernels lack them unintendedly.

    Raises Rejected where the baseline's text cuts them off.
    """
    if expected.carried or _CUT_OFF.search(bench.trial.baseline):
        detail = (
            "an output carries a gradient, and the baseline's does not (it is detached there, or made under no_grad)"
        )
        raise Rejected(NAME, case, detail)
    bench.evidence.caveats.append("with gradients, which the baseline does not have")


def _unreached(names: list[str], expected: Flow, answer: Flow) -> str:
    """Which leaves lack a gradient that the baseline's have, in words; empty for none. Zeros are as good as none."""
    lost = [names[i] for i in answer.unreached if i not in expected.unreached and bool(expected.tensors[i].any())]
    return f"none reaches {listed(lost, 4)}" if lost else ""


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


def _generic(bench: Bench, variation: Variation, inputs: Inputs) -> Inputs:
    """Constants varied: at equal values a maximum, and at zero a relu, have gradients of which each is right."""
    varied = replace(variation, data="constants varied")
    if bench.device == "cuda" and stops_the_gpu(varied, bench.trial.baseline):
        return inputs
    return with_property(inputs, varied.data) or inputs


def _requiring_grad(inputs: Inputs) -> Inputs:
    def asking(tensor: torch.Tensor) -> torch.Tensor:
        floating = tensor.is_floating_point() and not bool(tensor.isnan().any())
        return tensor.detach().requires_grad_() if floating else tensor

    return inputs.changed(asking)


def _must_fit(bench: Bench, targets: Targets, inputs: Inputs) -> None:
    """Raises NotAccepted where the activations of a call may not."""
    tensors = list(inputs.tensors())
    if isinstance(targets.baseline, torch.nn.Module):
        tensors += list(targets.baseline.parameters())
    count = sum(t.numel() for t in tensors)
    if count > _MOST_ELEMENTS or not has_free(bench.device, count * 8 * 8):
        raise NotAccepted(f"there are {count:,} elements of inputs and parameters")


def _told(detail: str) -> str:
    return re.sub(r"the output\['(.+?)'\]", r"of \1", detail)
