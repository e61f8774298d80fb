"""The fp64 run of the baseline: what the kernel would return without rounding, where the baseline can be run so."""

import contextlib
from collections.abc import Callable
from typing import Any

import torch

from kernelwright.proof.worker import tuning
from kernelwright.proof.worker.flags import generators
from kernelwright.proof.worker.free_memory import has_free
from kernelwright.proof.worker.inputs import Inputs, seed_everything
from kernelwright.proof.worker.observe import Observation, named_state, observe
from kernelwright.proof.worker.reference.drawn import Drawn, DrawnAgain

_SMALL = 64 << 20  # bytes for which nobody asks how much memory is free: asking takes longer than the run


def in_fp64(
    target: Callable[..., Any] | None,
    inputs: Inputs,
    baseline: Observation,
    *,
    seed: int,
    original: Callable[..., Any] | None = None,
    given: Inputs | None = None,
    calls: int = 1,
) -> Observation | str:
    """The observation of the fp64 twin `target` on the inputs in fp64, or why there is none, in words.

    Of so many `calls` the last counts.
    Where it draws random numbers, they are those that the `original` draws, on `given` where these inputs are changed ones.
    """
    if target is None:
        return "the module cannot be copied to fp64"
    if not baseline.results() and not baseline.changed_inputs:
        return "there is no output to compare"
    needed = needed_bytes(target, inputs, baseline)
    on_gpu = any(tensor.is_cuda for tensor in inputs.tensors())
    if needed > _SMALL and not has_free("cuda" if on_gpu else "cpu", needed):
        return "an fp64 copy does not fit into memory"
    usual = torch.get_default_dtype()
    try:
        torch.set_default_dtype(torch.float64)  # what the text makes without saying of which dtype
        seed_everything(seed)
        before = generators()
        wide = inputs.changed(lambda tensor: tensor.double() if tensor.is_floating_point() else tensor)
        with tuning.compiling_fast() if on_gpu else contextlib.nullcontext():
            observed = observe(target, wide, seed=seed, calls=calls)
        if original is not None and observed.random != before:
            torch.set_default_dtype(usual)
            with Drawn() as drawn:
                observe(original, given or inputs, seed=seed, calls=calls)
            torch.set_default_dtype(torch.float64)
            with DrawnAgain(drawn), tuning.compiling_fast() if on_gpu else contextlib.nullcontext():
                observed = observe(target, wide, seed=seed, calls=calls)
    except Exception as error:  # noqa: BLE001  (any error of user code says the same)
        return f"the baseline does not run in fp64 ({type(error).__name__})"
    finally:
        torch.set_default_dtype(usual)
    reached = [t.dtype in (torch.float64, torch.complex128) for t in observed.tensors() if t.is_floating_point()]
    if not all(reached):
        return "the baseline casts to a narrower type inside"
    return observed


def needed_bytes(target: Any, inputs: Inputs, baseline: Observation) -> int:
    """Memory for an fp64 run: inputs twice, outputs and as many temporaries, and 1 GiB of workspace at most."""
    taken = sum(t.numel() for t in inputs.tensors()) * 2 + sum(t.numel() for t in baseline.tensors()) * 3
    return taken * 8 + sum(t.numel() for t in named_state(target).values()) * 8
