"""One call with gradients: what flows back to the inputs and parameters for given cotangents of the outputs."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch

from kernelwright.proof.worker.inputs import Inputs, clone, clone_tensor, seed_everything, tensors_in
from kernelwright.proof.worker.observe import named_state, synchronize

Cotangent = Callable[[int, torch.Tensor], torch.Tensor | None]


@dataclass(frozen=True)
class Flow:
    """A gradient for each leaf that was asked for, zeros where none reaches it; the indices of those."""

    tensors: tuple[torch.Tensor, ...]
    unreached: tuple[int, ...] = ()


class NoGradient(Exception):
    """The output carries no gradient; the message says why."""


class BackwardFailed(Exception):
    """The forward call records a gradient, and computing it raises."""


def gradients(target: Any, inputs: Inputs, cotangent: Cotangent, parameters: Sequence[str], *, seed: int) -> Flow:
    """Of the inputs that require grad, in order, then of `parameters`.

    `cotangent(index, output)` is that of output tensor `index`, None to leave it out; it is asked for outputs that require
    grad only. Buffers are put back afterwards. Raises NoGradient, BackwardFailed.
    """
    given = Inputs(clone(inputs.args), clone(inputs.kwargs))
    state = named_state(target)
    leaves = [t for t in given.tensors() if t.requires_grad] + [state[name] for name in parameters]
    before = {name: clone_tensor(t) for name, t in state.items() if not isinstance(t, torch.nn.Parameter)}
    seed_everything(seed)
    try:
        outputs, cotangents = _forward(target, given, cotangent)
        return _backward(outputs, cotangents, leaves)
    finally:
        with torch.no_grad():
            for name, saved in before.items():
                state[name].copy_(saved)


def _forward(target: Any, given: Inputs, cotangent: Cotangent) -> tuple[list[torch.Tensor], list[torch.Tensor]]:
    try:
        with torch.enable_grad():
            output = target(*given.args, **given.kwargs)
    except Exception as error:
        raise NoGradient(f"with gradients enabled it raises {type(error).__name__}: {_first_line(error)}") from error
    outputs, cotangents = [], []
    for index, tensor in enumerate(tensors_in(output)):
        if not tensor.requires_grad or not tensor.is_floating_point():
            continue
        sent = cotangent(index, tensor)
        if sent is not None:
            outputs.append(tensor)
            cotangents.append(sent)
    if not outputs:
        raise NoGradient("its output carries no gradient")
    return outputs, cotangents


class _Start(torch.autograd.Function):
    """A scalar after the outputs, from which exactly these cotangents flow back to them."""

    @staticmethod
    def forward(ctx: Any, cotangents: list[torch.Tensor], *outputs: torch.Tensor) -> torch.Tensor:
        ctx.cotangents = cotangents
        return torch.zeros((), device=outputs[0].device)

    @staticmethod
    def backward(ctx: Any, unit: torch.Tensor) -> tuple[torch.Tensor | None, ...]:
        return None, *ctx.cotangents


def _backward(outputs: list[torch.Tensor], cotangents: list[torch.Tensor], leaves: list[torch.Tensor]) -> Flow:
    wanted = [leaf for leaf in leaves if leaf.requires_grad]
    try:
        # Given cotangents, torch.autograd.grad would import sympy in every new process: a second, or two.
        with torch.enable_grad():
            start = _Start.apply(cotangents, *outputs)
        found = iter(torch.autograd.grad(start, wanted, allow_unused=True)) if wanted else iter(())
        synchronize()
    except NotImplementedError as error:
        raise NoGradient(f"it has no backward: {_first_line(error)}") from error
    except Exception as error:
        raise BackwardFailed(f"its backward raises {type(error).__name__}: {_first_line(error)}") from error
    made = [next(found) if leaf.requires_grad else None for leaf in leaves]
    tensors = [
        torch.zeros_like(leaf, memory_format=torch.contiguous_format) if one is None else one.contiguous()
        for one, leaf in zip(made, leaves, strict=True)
    ]
    return Flow(tuple(t.detach() for t in tensors), tuple(i for i, one in enumerate(made) if one is None))


def _first_line(error: Exception) -> str:
    lines = str(error).strip().splitlines()
    return lines[0][:200] if lines else "without a message"
