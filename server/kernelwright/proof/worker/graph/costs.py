"""Bytes and floating-point operations that one torch call cannot avoid, from shapes alone."""

import math
from collections.abc import Sequence
from typing import Any

import torch

_VIEWS = frozenset(
    [
        "view",
        "reshape",
        "unsqueeze",
        "squeeze",
        "transpose",
        "t",
        "permute",
        "expand",
        "detach",
        "flatten",
        "getitem",
        "select",
        "narrow",
        "view_as",
        "unflatten",
        "expand_as",
        "movedim",
        "chunk",
        "split",
        "unbind",
    ]
)
_FLOPS_PER_ELEMENT = {"gelu": 8, "softmax": 5, "log_softmax": 5, "layer_norm": 8, "group_norm": 8, "batch_norm": 4,
                      "mish": 10, "tanh": 6, "sigmoid": 4, "silu": 5, "softplus": 6, "logsumexp": 4}  # fmt: skip


def estimated_bytes(op: str, inputs: Sequence[torch.Tensor], outputs: Sequence[torch.Tensor]) -> int:
    """Each distinct input read once and each output written once; views move nothing."""
    if op in _VIEWS:
        return 0
    distinct = {id(t): t for t in inputs}.values()
    return sum(t.numel() * t.element_size() for t in (*distinct, *outputs))


def estimated_flops(op: str, inputs: Sequence[torch.Tensor], outputs: Sequence[torch.Tensor], bound: Any) -> int:
    """Multiply-adds count as two."""
    if op in _VIEWS or not outputs:
        return 0
    out = outputs[0].numel()
    if op in ("linear", "matmul", "mm", "bmm", "addmm", "baddbmm", "einsum") and inputs:
        first = inputs[1] if op in ("addmm", "baddbmm") else inputs[0]
        return 2 * out * (first.shape[-1] if first.dim() else 1)
    if op.startswith("conv_transpose") and len(inputs) > 1:
        return 2 * inputs[0].numel() * math.prod(inputs[1].shape[1:])
    if op.startswith("conv") and len(inputs) > 1:
        return 2 * out * math.prod(inputs[1].shape[1:])
    if op == "scaled_dot_product_attention" and len(inputs) > 1:
        return 4 * inputs[0].numel() * inputs[1].shape[-2]
    largest = max((t.numel() for t in (*inputs, *outputs)), default=0)
    return _FLOPS_PER_ELEMENT.get(op, 1) * largest
