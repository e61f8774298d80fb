"""Calls with other numbers than the workload has: scalars and flags, and whole numbers that the baseline's text asks for."""

import copy
from collections.abc import Iterable, Sequence
from dataclasses import replace

import torch

from kernelwright.proof.worker.bench import Bench
from kernelwright.proof.worker.gate.comparison import compare_once
from kernelwright.proof.worker.gate.grounds import grounds
from kernelwright.proof.worker.gate.named_numbers import named_numbers
from kernelwright.proof.worker.gate.scalar_arguments import Change, changes
from kernelwright.proof.worker.hosts.contender import Contender
from kernelwright.proof.worker.inputs import Inputs, seed_everything
from kernelwright.proof.worker.rejected import NotAccepted, Rejected
from kernelwright.proof.worker.targets import Targets
from kernelwright.proof.worker.variation import Variation
from kernelwright.proof.worker.whole_numbers import all_different, is_whole, never_falls, with_planted

_ENOUGH = 8  # elements of a tensor in which a number can stand beside others


def compare_others(bench: Bench, contender: Contender, variation: Variation, targets: Targets, inputs: Inputs) -> None:
    """Of all numbers and flags of the call, and whole numbers that the baseline asks for. Raises like `compare_changes`."""
    planted = _planted(inputs, named_numbers(bench.trial.baseline))
    compare_changes(bench, contender, variation, targets, (*changes(targets.baseline, inputs), *planted))


def compare_changes(
    bench: Bench,
    contender: Contender,
    variation: Variation,
    targets: Targets,
    changed: Iterable[Sequence[Change]],
) -> None:
    """`compare_once` on every change that the baseline takes. Raises Rejected, Undecidable, JobFailed.

    What the candidate raises on them is told and not held against it: nobody asked for them, and whoever does will see it.
    """
    for alternatives in changed:
        for change in alternatives:
            if not change.harmless and not harmless(bench, targets, change.inputs):
                continue
            try:
                described = replace(variation, changed=change.described)
                compare_once(bench, contender, grounds(bench, described, targets, change.inputs))
            except NotAccepted:
                continue
            except Rejected as rejected:
                if rejected.check.name != "runs" or not rejected.check.detail.startswith("raises"):
                    raise
                bench.evidence.notes.append(
                    f"with {change.described} the baseline has an answer, the candidate {rejected}"
                )
                if bench.device == "cuda" and "CUDA" in rejected.check.detail:
                    contender.start_again()  # an assertion on the device ends the context
            break


def takes_any_number(bench: Bench, targets: Targets, inputs: Inputs) -> bool:
    """Whether nothing of the baseline's counts as far as a number says, or reads where it says.

    Nobody knows that of a kernel in Triton.
    """
    return not bench.language.may_read_by_number(bench.trial.baseline) and harmless(bench, targets, inputs)


def harmless(bench: Bench, targets: Targets, inputs: Inputs) -> bool:
    """Whether no operator of the baseline's asserts on the GPU, which would end the judge's own context.

    Operators of torch raise on a CPU where they do; what a kernel of the baseline's would read, nobody knows before.
    """
    if bench.device != "cuda":
        return True
    if bench.language.may_break_the_context(bench.trial.baseline):
        return False
    return raised_on_a_cpu(targets, inputs) is None


def raised_on_a_cpu(targets: Targets, inputs: Inputs) -> Exception | None:
    """What the baseline raises when it is called on a CPU; None for nothing."""
    try:
        target = (
            copy.deepcopy(targets.baseline).cpu() if isinstance(targets.baseline, torch.nn.Module) else targets.baseline
        )
        given = inputs.changed(lambda tensor: tensor.detach().to("cpu", copy=True))
        seed_everything(0)
        with torch.no_grad():
            given.passed_to(target)
    except Exception as error:  # noqa: BLE001  (the text raises anything)
        return error
    return None


def _planted(inputs: Inputs, numbers: Sequence[int]) -> list[tuple[Change]]:
    """Those that lie within the range of a tensor's own, and by themselves those beyond it."""
    found = []
    for within in (True, False):
        told: dict[int, None] = {}

        def planted(tensor: torch.Tensor, within: bool = within, told: dict[int, None] = told) -> torch.Tensor:
            if not _takes_more(tensor):
                return tensor
            low, high = int(tensor.min()), int(tensor.max())
            held = torch.iinfo(tensor.dtype)
            here = [n for n in numbers if (low <= n <= high) is within and held.min <= n <= held.max]
            told.update(dict.fromkeys(here))
            return with_planted(tensor, here) if here else tensor

        made = inputs.changed(planted)
        if told:
            found.append((Change(f"{', '.join(map(str, told))} among the whole numbers", made),))
    return found


def _takes_more(tensor: torch.Tensor) -> bool:
    """Whether it is drawn by chance: no offsets, no numbering, no places of which each is there once."""
    if not is_whole(tensor) or tensor.numel() < _ENOUGH:
        return False
    flat = tensor.reshape(-1)
    return not never_falls(flat) and not all_different(flat)
