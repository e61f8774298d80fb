"""What one host works with, and how tensors come to it and leave it: through the arena, never by reference."""

import math
from collections.abc import Iterable
from dataclasses import dataclass, field
from types import ModuleType
from typing import Any

import torch

from kernelwright.proof.worker.hosts.arena import Arena
from kernelwright.proof.worker.hosts.parcels import Parcel, Sent, filled, put, slotted, view
from kernelwright.proof.worker.inputs import Inputs, clone_tensor
from kernelwright.proof.worker.timing.timer import Clock


def no_arena() -> Arena:
    """One that nothing fits into."""
    return Arena(torch.empty(0, dtype=torch.uint8))


@dataclass(frozen=True)
class Armed:
    """A sample to be taken: `batch` calls of the target, each after so many flushes, on the copies of its inputs in turn."""

    target: Any
    copies: list[Inputs]
    batch: int
    flushes: int


@dataclass
class Room:
    """What one host works with: `path`, `text` and `language` of the `module` that it has loaded, targets made of that."""

    descriptor: int
    device: str = "cpu"
    path: str = ""
    text: str = ""
    language: str = ""
    module: ModuleType | None = None
    settings: dict[str, Any] = field(default_factory=dict)
    targets: dict[int, Any] = field(default_factory=dict)
    buffers: dict[int, dict[str, torch.Tensor]] = field(default_factory=dict)  # of targets, before the first sample
    arena: Arena = field(default_factory=no_arena)
    received: int | None = None  # the descriptor that came with the last request
    clock: Clock | None = None
    armed: Armed | None = None
    last_ms: float = math.inf
    collected: bool = False  # before the first sample


def inputs_of(room: Room, parcel: Parcel) -> Inputs:
    """Arguments with memory of their own."""
    args, kwargs = unpacked(room, parcel)
    return Inputs(args, kwargs)


def unpacked(room: Room, parcel: Parcel) -> Any:
    tensors = [
        clone_tensor(view(one, room.arena.bytes, room.device), one.lead).requires_grad_(one.requires_grad)
        for one in parcel.tensors
    ]
    return filled(parcel.tree, tensors)


def unpacked_as_sent(room: Room, parcel: Parcel) -> Any:
    """Expanded tensors too, which a copy has written out: one element, however many indices lead to it."""
    tree, tensors = slotted(unpacked(room, parcel))
    pairs = zip(tensors, parcel.tensors, strict=True)
    return filled(tree, [_expanded(tensor, one.stride) if 0 in one.stride else tensor for tensor, one in pairs])


def _expanded(tensor: torch.Tensor, stride: tuple[int, ...]) -> torch.Tensor:
    own = tensor[tuple(slice(0, 1) if step == 0 else slice(None) for step in stride)].clone()
    return own.expand(tensor.shape)


def told(room: Room, tensors: Iterable[torch.Tensor]) -> tuple[Sent, ...]:
    """The tensors in the arena, where the judge reads them. Raises DoesNotFit."""
    sent = put(list(tensors), room.arena.bytes)
    settle(room)
    return sent


def settle(room: Room) -> None:
    if room.device == "cuda":
        torch.cuda.synchronize()
