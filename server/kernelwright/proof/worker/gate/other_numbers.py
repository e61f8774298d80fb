"""Calls with other numbers than the workload has: scalars and flags, and whole numbers that the original's text asks for."""

import copy
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import torch

from kernelwright.proof.worker.bench import Bench, NotAccepted, Rejected, Targets, uses_triton
from kernelwright.proof.worker.gate.cases import Variation
from kernelwright.proof.worker.gate.named_numbers import named_numbers
from kernelwright.proof.worker.gate.scalar_arguments import Change, changes
from kernelwright.proof.worker.hosts.contender import Contender
from kernelwright.proof.worker.inputs import Inputs, map_leaves, seed_everything
from kernelwright.proof.worker.whole_numbers import all_different, is_whole, never_falls, with_planted

_ENOUGH = 8  # elements of a tensor in which a number can stand beside others

Compare = Callable[[Bench, Contender, Variation, Targets, Inputs], None]


def compare_others(
    bench: Bench, contender: Contender, variation: Variation, targets: Targets, inputs: Inputs, compare: Compare
) -> None:
    """`compare` on every change that the baseline takes. Raises Rejected, Undecidable, JobFailed.

    What the candidate raises on them is told and not held against it: nobody asked for them, and whoever does will see it.
    """
    for alternatives in (*changes(targets.baseline, inputs), *_planted(inputs, named_numbers(bench.trial.baseline))):
        for change in alternatives:
            if not change.harmless and not harmless(bench, targets, change.inputs):
                continue
            try:
                compare(bench, contender, replace(variation, changed=change.described), targets, change.inputs)
            except NotAccepted:
                continue
            except Rejected as rejected:
                if rejected.check.name != "runs" or not rejected.check.detail.startswith("raises"):
                    raise
                bench.notes.append(f"with {change.described} the baseline has an answer, the candidate {rejected}")
                if bench.device == "cuda" and "CUDA" in rejected.check.detail:
                    contender.start_again()  # an assertion on the device ends the context
            break


def takes_any_number(bench: Bench, targets: Targets, inputs: Inputs) -> bool:
    """Whether nothing of the baseline's counts as far as a number says, or reads where it says.

    Nobody knows that of a kernel in Triton.
    """
    return not uses_triton(bench.trial.baseline) and harmless(bench, targets, inputs)


def harmless(bench: Bench, targets: Targets, inputs: Inputs) -> bool:
    """Whether no operator of the baseline's asserts on the GPU, which would end the judge's own context.

    Operators of torch raise on a CPU where they do; what a kernel of the baseline's would read, nobody knows before.
    """
    if bench.device != "cuda":
        return True
    if uses_triton(bench.trial.baseline) and "jit" in bench.trial.baseline:
        return False
    try:
        target = (
            copy.deepcopy(targets.baseline).cpu() if isinstance(targets.baseline, torch.nn.Module) else targets.baseline
        )
        args, kwargs = (map_leaves(_on_cpu, part) for part in (inputs.args, inputs.kwargs))
        seed_everything(0)
        with torch.no_grad():
            target(*args, **kwargs)
    except Exception:  # noqa: BLE001  (the text raises anything: then it is not asked on the GPU)
        return False
    return True


def _on_cpu(value: Any) -> Any:
    return value.detach().to("cpu", copy=True) if isinstance(value, torch.Tensor) else value


def _planted(inputs: Inputs, numbers: Sequence[int]) -> list[tuple[Change]]:
    """Those that lie within the range of a tensor's own, and by themselves those beyond it."""
    found = []
    for within in (True, False):
        told: dict[int, None] = {}

        def leaf(value: Any, within: bool = within, told: dict[int, None] = told) -> Any:
            if not _takes_more(value):
                return value
            low, high = int(value.min()), int(value.max())
            held = torch.iinfo(value.dtype)
            here = [n for n in numbers if (low <= n <= high) is within and held.min <= n <= held.max]
            told.update(dict.fromkeys(here))
            return with_planted(value, here) if here else value

        made = Inputs(map_leaves(leaf, inputs.args), map_leaves(leaf, inputs.kwargs))
        if told:
            found.append((Change(f"{', '.join(map(str, told))} among the whole numbers", made),))
    return found


def _takes_more(value: object) -> bool:
    """Whether it is drawn by chance: no offsets, no numbering, no places of which each is there once."""
    if not isinstance(value, torch.Tensor) or not is_whole(value) or value.numel() < _ENOUGH:
        return False
    flat = value.reshape(-1)
    return not never_falls(flat) and not all_different(flat)
