"""What one host works with, and how tensors come to it and leave it: through the arena, never by reference."""

import math
from dataclasses import dataclass, field
from types import ModuleType
from typing import Any

import torch

from kernelwright.proof.worker.clock.timing import Clock
from kernelwright.proof.worker.hosts.arena import OpenedArena
from kernelwright.proof.worker.hosts.parcels import Parcel, filled, slotted, view
from kernelwright.proof.worker.inputs import Inputs, clone_tensor


@dataclass(frozen=True)
class Armed:
    """A sample to be taken: `batch` calls of the target, each after so many flushes, on the copies of its inputs in turn."""

    target: Any
    copies: list[Inputs]
    batch: int
    flushes: int


@dataclass
class Room:
    """What one host works with."""

    descriptor: int
    device: str = "cpu"
    module: ModuleType | None = None
    settings: dict[str, Any] = field(default_factory=dict)
    targets: dict[int, Any] = field(default_factory=dict)
    arena: OpenedArena | None = None
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
        clone_tensor(view(one, arena_of(room), room.device), one.lead).requires_grad_(one.requires_grad)
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


def arena_of(room: Room) -> torch.Tensor:
    if room.arena is None:
        room.arena = OpenedArena(torch.empty(0, dtype=torch.uint8))
    return room.arena.bytes


def settle(room: Room) -> None:
    if room.device == "cuda":
        torch.cuda.synchronize()
