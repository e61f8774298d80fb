"""Causal attention in half precision, one block of queries per program, keys taken block by block."""

import torch
import triton
import triton.language as tl


@triton.jit
def attention_kernel(
    q_ptr, k_ptr, v_ptr, out_ptr, stride_head, stride_row, length, scale,
    SIZE: tl.constexpr, BLOCK_Q: tl.constexpr, BLOCK_K: tl.constexpr,
):  # fmt: skip
    head = tl.program_id(1) * stride_head
    rows = tl.program_id(0) * BLOCK_Q + tl.arange(0, BLOCK_Q)
    inner = tl.arange(0, SIZE)
    here = rows[:, None] < length
    q = tl.load(q_ptr + head + rows[:, None] * stride_row + inner[None, :], mask=here, other=0.0)
    largest = tl.full((BLOCK_Q,), -float("inf"), dtype=tl.float32)
    total = tl.zeros((BLOCK_Q,), dtype=tl.float32)
    acc = tl.zeros((BLOCK_Q, SIZE), dtype=tl.float32)
    for start in range(0, length, BLOCK_K):
        keys = start + tl.arange(0, BLOCK_K)
        there = keys[:, None] < length
        k = tl.load(k_ptr + head + keys[:, None] * stride_row + inner[None, :], mask=there, other=0.0)
        v = tl.load(v_ptr + head + keys[:, None] * stride_row + inner[None, :], mask=there, other=0.0)
        scores = tl.dot(q, tl.trans(k)) * scale
        scores = tl.where((keys[None, :] <= rows[:, None]) & (keys[None, :] < length), scores, -float("inf"))
        new = tl.maximum(largest, tl.max(scores, axis=1))
        weights = tl.exp(scores - new[:, None])
        factor = tl.exp(largest - new)
        total = total * factor + tl.sum(weights, axis=1)
        acc = acc * factor[:, None] + tl.dot(weights.to(v.dtype), v)
        largest = new
    out = acc / total[:, None]
    tl.store(out_ptr + head + rows[:, None] * stride_row + inner[None, :], out, mask=here)


# workload: attention(randn(16, 512, 64, dtype=float16), randn(16, 512, 64, dtype=float16), randn(16, 512, 64, dtype=float16))
# workload: attention(randn(2, 77, 16, dtype=float16), randn(2, 77, 16, dtype=float16), randn(2, 77, 16, dtype=float16))
def attention(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
    heads, length, size = q.shape
    q, k, v = q.contiguous(), k.contiguous(), v.contiguous()
    out = torch.empty_like(q)
    grid = (triton.cdiv(length, 32), heads)
    attention_kernel[grid](
        q, k, v, out, q.stride(0), q.stride(1), length, size**-0.5, SIZE=size, BLOCK_Q=32, BLOCK_K=32
    )  # fmt: skip
    return out
