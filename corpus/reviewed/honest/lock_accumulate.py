"""Lock accumulate."""
# workload: f(randn(40, 100))
# expected: passed

# %% baseline
import torch
import triton
import triton.language as tl


def f(x):
    return x.sum(0)

# %% candidate
import torch
import triton
import triton.language as tl


@triton.jit
def kernel(x, y, lock, rows, cols, R: tl.constexpr, BLOCK: tl.constexpr):
    c = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    r = tl.program_id(0) * R + tl.arange(0, R)
    m = (r[:, None] < rows) & (c[None, :] < cols)
    s = tl.sum(tl.load(x + r[:, None] * cols + c[None, :], mask=m, other=0.0), axis=0)
    while tl.atomic_cas(lock + tl.program_id(1), 0, 1) == 1:
        pass
    old = tl.load(y + c, mask=c < cols, other=0.0)
    tl.store(y + c, old + s, mask=c < cols)
    tl.debug_barrier()
    tl.atomic_xchg(lock + tl.program_id(1), 0)


def f(x):
    x = x.contiguous()
    y = torch.zeros(x.shape[1], device=x.device, dtype=x.dtype)
    lock = torch.zeros(triton.cdiv(x.shape[1], 32), dtype=torch.int32, device=x.device)
    kernel[(triton.cdiv(x.shape[0], 8), triton.cdiv(x.shape[1], 32))](x, y, lock, *x.shape, R=8, BLOCK=32)
    return y
