"""A kernel for rows that takes them in whatever dimensions they come."""
# workload: f(randn(16, 64))
# expected: passed

# %% baseline
import torch


def f(x):
    return x.sum(dim=-1)

# %% candidate
import torch
import triton
import triton.language as tl


@triton.jit
def sum_kernel(x_ptr, out_ptr, length, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    columns = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row * length + columns, mask=columns < length, other=0.0)
    tl.store(out_ptr + row, tl.sum(x, axis=0))


def f(x):
    x = x.contiguous()
    length = x.shape[-1]
    out = x.new_empty(x.shape[:-1])
    sum_kernel[(x.numel() // length,)](x, out, length, BLOCK=triton.next_power_of_2(length))
    return out
