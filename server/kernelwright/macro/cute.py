"""Strategies for a language model that writes NVIDIA's CuTe DSL, where that is installed."""

import functools
from collections.abc import Callable

from kernelwright.macro.rewrites import TORCH_REWRITE, Chance, offered
from kernelwright.macro.strategy import Example, Family, Observation, Strategy
from kernelwright.values import Action, Device, Language, Refusal

CuteLook = Callable[[Observation], Chance | Refusal]


def cute_rewrite(
    name: str,
    title: str,
    look: CuteLook,
    *,
    family: Family,
    why: str,
    doc: str,
    instruction: str,
    example: Example,
    needs_graph: bool = False,
) -> Strategy:
    """Return the strategy "torch.rewrite.<name>" for functions in which `look` sees a chance, on a GPU with CuTe DSL."""
    id = f"{TORCH_REWRITE.id}.{name}"
    return Strategy(
        id=id,
        title=title,
        family=family,
        languages=frozenset({Language.TORCH}),
        why=why,
        doc=doc,
        instruction=instruction,
        example=example,
        find=functools.partial(_find, id, look),
        needs_graph=needs_graph,
        needs_gpu=True,
        promises_kernel=True,
        group=TORCH_REWRITE,
    )


def _find(id: str, look: CuteLook, observation: Observation) -> tuple[Action, ...] | Refusal:
    return _missing(observation.device) or offered(id, observation, look(observation))


def _missing(device: Device) -> Refusal | None:
    if not device.is_gpu:
        return Refusal("Kernels in CuTe DSL run on an NVIDIA GPU only, and there is none here.")
    if device.cute is None:
        return Refusal("NVIDIA's CuTe DSL is not installed: `pip install nvidia-cutlass-dsl` in this interpreter.")
    return None
