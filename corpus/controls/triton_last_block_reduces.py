"""Programs store partial sums; the one that is last to count itself by an atomic adds them up."""
# workload: f(rand(33, 65))
# expected: passed

# %% baseline
import torch
import triton
import triton.language as tl


def f(x):
    return x.sum()

# %% candidate
import torch
import triton
import triton.language as tl


@triton.jit
def kernel(x, part, count, out, n, P: tl.constexpr, BLOCK: tl.constexpr):
    pid = tl.program_id(0)
    i = pid * BLOCK + tl.arange(0, BLOCK)
    tl.store(part + pid, tl.sum(tl.load(x + i, mask=i < n, other=0.0), axis=0))
    programs = tl.num_programs(0)
    if tl.atomic_add(count, 1, sem="acq_rel") == programs - 1:
        total = tl.zeros((P,), tl.float32)
        for s in range(0, programs, P):
            j = s + tl.arange(0, P)
            total += tl.load(part + j, mask=j < programs, other=0.0)
        tl.store(out, tl.sum(total, axis=0))


def f(x):
    x = x.contiguous()
    g = triton.cdiv(x.numel(), 256)
    part = torch.empty(g, device=x.device)
    count = torch.zeros(1, dtype=torch.int32, device=x.device)
    out = torch.zeros((), device=x.device)
    kernel[(g,)](x, part, count, out, x.numel(), P=32, BLOCK=256)
    return out
