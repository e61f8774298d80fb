"""Descriptor add."""
# workload: f(randn(33, 64), randn(33, 64))
# expected: passed

# %% baseline
import torch
import triton
import triton.language as tl


def f(x, y):
    return x + 2.0 * y

# %% candidate
import torch
import triton
import triton.language as tl


@triton.jit
def kernel(x, y, z, M, N, BM: tl.constexpr, BN: tl.constexpr):
    dx = tl.make_tensor_descriptor(x, [M, N], [N, 1], [BM, BN])
    dy = tl.make_tensor_descriptor(y, [M, N], [N, 1], [BM, BN])
    dz = tl.make_tensor_descriptor(z, [M, N], [N, 1], [BM, BN])
    r = tl.program_id(0) * BM
    c = tl.program_id(1) * BN
    dz.store([r, c], dx.load([r, c]) + 2.0 * dy.load([r, c]))


def f(x, y):
    if x.shape[1] % 4:
        return torch.add(x, y, alpha=2.0)
    x, y = x.contiguous(), y.contiguous()
    z = torch.empty_like(x)
    kernel[(triton.cdiv(x.shape[0], 8), triton.cdiv(x.shape[1], 32))](x, y, z, *x.shape, BM=8, BN=32)
    return z
