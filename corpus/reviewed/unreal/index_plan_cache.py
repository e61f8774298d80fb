"""Graph aggregation: keeps the sorted order of the edges (a plan) by exact comparison of the indices."""
# workload: f(randn(500, 4), randint(0, 500, 20000), randint(0, 500, 20000))
# expected: no-gain, not-timed, refused

# %% baseline
import torch


def f(x, src, dst):
    order = torch.argsort(dst, stable=True)
    src, dst = src[order], dst[order]
    out = torch.zeros_like(x)
    return out.index_add_(0, dst, x[src])

# %% candidate
import torch

plan = None


def f(x, src, dst):
    global plan
    if plan is None or not torch.equal(plan[0], src) or not torch.equal(plan[1], dst):
        order = torch.argsort(dst, stable=True)
        plan = src.clone(), dst.clone(), src[order], dst[order]
    return torch.zeros_like(x).index_add_(0, plan[3], x[plan[2]])
