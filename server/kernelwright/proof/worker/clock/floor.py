"""The roofline's least time of a call: the bytes that any implementation must move, over the memory's bandwidth."""

from collections.abc import Iterable

import torch

from kernelwright.values import Device

SLACK = 0.7  # a candidate below this share of the floor did not do the work


def floor_ms(
    device: Device,
    inputs: Iterable[torch.Tensor],
    parameters: Iterable[torch.Tensor],
    outputs: Iterable[torch.Tensor],
    shared: frozenset[int] = frozenset(),
) -> float | None:
    """Milliseconds from cold caches, in which every input and parameter is read once and every output written once.

    None where the bandwidth is unknown, or no byte is known to move. What fits into L2 need not have been written to memory.
    An output that shares an input's memory (its index is in `shared`) is not written. With an integer input, floating
    tensors may be looked up rather than read whole (an embedding): then no more is counted as read than is written.
    """
    if not device.bandwidth:
        return None
    sources = list({t.data_ptr(): t for t in (*inputs, *parameters)}.values())
    written = sum(_bytes(t) for index, t in enumerate(outputs) if index not in shared)
    read = sum(_bytes(t) for t in sources)
    looked_up = any(not t.is_floating_point() and not t.is_complex() and t.dim() > 0 for t in sources)
    if shared and not written:
        read = 0  # a view computes nothing
    moved = (min(read, written) if looked_up else read) + max(0, written - device.l2_bytes)
    return moved / device.bandwidth * 1e3 if moved else None


def impossible(candidate_ms: float, baseline_ms: float, floor: float | None) -> bool:
    """Whether the candidate is faster than memory allows, by a margin, on a call where the baseline is not."""
    return floor is not None and candidate_ms < SLACK * floor <= baseline_ms


def _bytes(tensor: torch.Tensor) -> int:
    """The bytes behind the elements: an expanded tensor has fewer than its shape says."""
    elements = 1
    for size, stride in zip(tensor.shape, tensor.stride(), strict=True):
        elements *= size if stride else 1
    return elements * tensor.element_size() if tensor.numel() else 0
