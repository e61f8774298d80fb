"""Baseline, candidate and their fp64 twin, made alike: the same constructor arguments, the same parameters."""

import contextlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import torch

from kernelwright.proof.worker.observe import named_state, put_back
from kernelwright.proof.worker.texts import listed


@dataclass(frozen=True)
class Mismatch:
    """The candidate's parameters are not the baseline's."""

    detail: str


def give_parameters(baseline: Any, candidate: Any) -> str | Mismatch:
    """Copy the baseline's state into the candidate's; what was found in words."""
    is_module = isinstance(baseline, torch.nn.Module)
    return take_parameters(candidate, is_module, is_module and baseline.training, state_of(baseline))


def state_of(target: Any) -> dict[str, torch.Tensor]:
    """What a checkpoint of a module holds; nothing for a function."""
    if not isinstance(target, torch.nn.Module):
        return {}
    return {name: value for name, value in target.state_dict().items() if isinstance(value, torch.Tensor)}


def take_parameters(
    candidate: Any, is_module: bool, training: bool, state: Mapping[str, torch.Tensor]
) -> str | Mismatch:
    """Load the baseline's `state` into the candidate; what was found in words."""
    if not is_module:
        return "a function: no parameters"
    if not isinstance(candidate, torch.nn.Module):
        return Mismatch("the baseline is an nn.Module and the candidate is not")
    if training != candidate.training:
        return Mismatch("the candidate is constructed in another mode (train or eval) than the baseline")
    try:
        result = candidate.load_state_dict(state, strict=False)
    except RuntimeError as error:
        return Mismatch(" ".join(str(error).split()))
    buffers = dict(candidate.named_buffers())
    own = [name for name in result.missing_keys if name not in buffers]
    if own or result.unexpected_keys:
        return Mismatch(
            f"the candidate's parameters are not the baseline's: it lacks {listed(result.unexpected_keys, 4) or 'nothing'} "
            f"and adds {listed(own, 4) or 'nothing'}, so a checkpoint of the baseline does not load"
        )
    if result.missing_keys:
        derived = listed(result.missing_keys, 4)
        return f"the baseline's state loads; the candidate adds the buffers {derived}, derived at construction"
    return f"the baseline's {len(state)} parameters and buffers load strictly"


@contextlib.contextmanager
def perturbed(targets: list[Any], seed: int, *, everything: bool = False) -> Iterator[tuple[str, ...]]:
    """Within it the parameters and buffers that are all alike hold varied values, the same in every target; their names.

    A bias of zeros or a scale of ones hides that it is not used. Positive constants (a variance) stay positive. With
    `everything` all other floating-point ones are scaled, element by element, by 0.5 to 1.5: what was derived from them
    at construction is then out of date.
    """
    first = named_state(targets[0]) if targets else {}
    changes: dict[str, torch.Tensor] = {}
    for name, tensor in first.items():
        if not tensor.is_floating_point() or tensor.numel() == 0:
            continue
        held = tensor.detach()
        constant = float(held.min()) == float(held.max())
        if not constant and not everything:
            continue
        generator = torch.Generator(held.device).manual_seed(seed)
        noise = torch.rand(held.shape, generator=generator, dtype=torch.float64, device=held.device)
        zero = constant and float(held.reshape(-1)[0]) == 0.0
        made = 0.5 * (noise - 0.5) if zero else held.to(torch.float64) * (0.5 + noise)
        changes[name] = made.to(held.dtype)  # rounded for all, so that the fp64 twin starts from the same numbers
    before = [
        {name: t.detach().clone() for name, t in named_state(target).items() if name in changes} for target in targets
    ]
    try:
        for target in targets:
            put_back(named_state(target), changes)
        yield tuple(changes)
    finally:
        for target, saved in zip(targets, before, strict=True):
            put_back(named_state(target), saved)
