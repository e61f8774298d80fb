"""One call with gradients: what flows back to the inputs and parameters for given cotangents of the outputs."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch

from kernelwright.proof.worker.inputs import Inputs, seed_everything, tensors_in
from kernelwright.proof.worker.observe import buffers_put_back, named_state, synchronize
from kernelwright.proof.worker.raised import describe
from kernelwright.proof.worker.without_gpu import user_code

Cotangent = Callable[[int, torch.Tensor], torch.Tensor | None]


@dataclass(frozen=True)
class Flow:
    """A gradient for each leaf that was asked for, zeros where none reaches it; the indices of those.

    `carried`: indices of the output tensors that carry a gradient. There are no `tensors` where none has a cotangent.
    """

    tensors: tuple[torch.Tensor, ...] = ()
    unreached: tuple[int, ...] = ()
    carried: tuple[int, ...] = ()


class NoGradient(Exception):
    """A call with gradients is refused; the message says why."""


class BackwardFailed(Exception):
    """The forward call records a gradient, and computing it raises."""


class AddsItself(BackwardFailed):
    """The backward pass changes what a training step has summed up."""


def gradients(target: Any, inputs: Inputs, cotangent: Cotangent, parameters: Sequence[str], *, seed: int) -> Flow:
    """Of the inputs that require grad, in order, then of `parameters`.

    `cotangent(index, output)` is that of output tensor `index`, None to leave it out; it is asked for floating-point outputs
    that require grad only. The call gets copies of the leaves, so that it may write to them. Buffers are put back
    afterwards. Raises NoGradient, BackwardFailed.
    """
    given = inputs.copied()
    state = named_state(target)
    leaves = [t for t in given.tensors() if t.requires_grad] + [state[name] for name in parameters]
    seed_everything(seed)
    for leaf in leaves:
        leaf.grad = None
    with buffers_put_back(target):
        carried, outputs, cotangents = _forward(target, given, cotangent)
        return _backward(carried, outputs, cotangents, leaves)


def _forward(
    target: Any, given: Inputs, cotangent: Cotangent
) -> tuple[tuple[int, ...], list[torch.Tensor], list[torch.Tensor]]:
    try:
        with torch.enable_grad():
            # What a layer gets from the one before it: torch refuses to write to a leaf.
            passed = given.changed(lambda tensor: tensor.clone() if tensor.requires_grad else tensor)
            output = passed.passed_to(target)
    except Exception as error:
        raise NoGradient(f"with gradients enabled it raises {describe(error)}") from error
    carrying = {index: tensor for index, tensor in enumerate(tensors_in(output)) if tensor.requires_grad}
    outputs, cotangents = [], []
    for index, tensor in carrying.items():
        sent = cotangent(index, tensor) if tensor.is_floating_point() else None
        if sent is not None:
            outputs.append(tensor)
            cotangents.append(sent)
    return tuple(carrying), outputs, cotangents


class _Start(torch.autograd.Function):
    """A scalar after the outputs, from which exactly these cotangents flow back to them."""

    @staticmethod
    def forward(ctx: Any, cotangents: list[torch.Tensor], *outputs: torch.Tensor) -> torch.Tensor:
        ctx.cotangents = cotangents
        return torch.zeros((), device=outputs[0].device)

    @staticmethod
    def backward(ctx: Any, unit: torch.Tensor) -> tuple[torch.Tensor | None, ...]:
        return None, *ctx.cotangents


def _backward(
    carried: tuple[int, ...], outputs: list[torch.Tensor], cotangents: list[torch.Tensor], leaves: list[torch.Tensor]
) -> Flow:
    if not outputs:
        return Flow(carried=carried)
    wanted = [leaf for leaf in leaves if leaf.requires_grad]
    try:
        # Given cotangents, torch.autograd.grad would import sympy in every new process: a second, or two.
        with torch.enable_grad():
            start = _Start.apply(cotangents, *outputs)
        with user_code():
            found = iter(torch.autograd.grad(start, wanted, allow_unused=True)) if wanted else iter(())
        synchronize()
    except NotImplementedError as error:
        raise NoGradient(f"it has no backward: {describe(error)}") from error
    except Exception as error:
        raise BackwardFailed(f"its backward raises {describe(error)}") from error
    if any(leaf.grad is not None for leaf in leaves):
        raise AddsItself("its backward adds to .grad itself, beside the gradients that it returns")
    made = [next(found) if leaf.requires_grad else None for leaf in leaves]
    tensors = [
        torch.zeros_like(leaf, memory_format=torch.contiguous_format) if one is None else one.contiguous()
        for one, leaf in zip(made, leaves, strict=True)
    ]
    return Flow(tuple(t.detach() for t in tensors), tuple(i for i, one in enumerate(made) if one is None), carried)
