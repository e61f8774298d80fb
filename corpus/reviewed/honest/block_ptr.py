"""Block ptr."""
# workload: f(randn(20, 40, dtype=float16), randn(40, 24, dtype=float16))
# expected: passed

# %% baseline
import torch
import triton
import triton.language as tl


def f(a, b):
    return a @ b

# %% candidate
import torch
import triton
import triton.language as tl


@triton.jit
def kernel(a, b, c, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    pm = tl.program_id(0)
    pn = tl.program_id(1)
    pa = tl.make_block_ptr(a, (M, K), (K, 1), (pm * BM, 0), (BM, BK), (1, 0))
    pb = tl.make_block_ptr(b, (K, N), (N, 1), (0, pn * BN), (BK, BN), (1, 0))
    t = tl.zeros((BM, BN), tl.float32)
    for _ in range(0, tl.cdiv(K, BK)):
        x = tl.load(pa, boundary_check=(0, 1), padding_option="zero")
        y = tl.load(pb, boundary_check=(0, 1), padding_option="zero")
        t += tl.dot(x, y, input_precision="ieee")
        pa = tl.advance(pa, (0, BK))
        pb = tl.advance(pb, (BK, 0))
    pc = tl.make_block_ptr(c, (M, N), (N, 1), (pm * BM, pn * BN), (BM, BN), (1, 0))
    tl.store(pc, t.to(c.dtype.element_ty), boundary_check=(0, 1))


def f(a, b):
    a, b = a.contiguous(), b.contiguous()
    c = torch.empty(a.shape[0], b.shape[1], dtype=a.dtype, device=a.device)
    kernel[(triton.cdiv(a.shape[0], 16), triton.cdiv(b.shape[1], 16))](a, b, c, *c.shape, a.shape[1], BM=16, BN=16, BK=16)
    return c
