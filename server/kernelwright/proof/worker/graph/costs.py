"""Bytes and floating-point operations that one torch call cannot avoid, from shapes alone."""

from collections.abc import Sequence

import torch

from kernelwright.ops import flops, row


def estimated_bytes(op: str, inputs: Sequence[torch.Tensor], outputs: Sequence[torch.Tensor]) -> int:
    """Each distinct input read once and each output written once; views move nothing."""
    if row(op).view:
        return 0
    distinct = {id(t): t for t in inputs}.values()
    return sum(t.numel() * t.element_size() for t in (*distinct, *outputs))


def estimated_flops(op: str, inputs: Sequence[torch.Tensor], outputs: Sequence[torch.Tensor]) -> int:
    """Multiply-adds count as two."""
    return flops(op, [tuple(t.shape) for t in inputs], [tuple(t.shape) for t in outputs])
