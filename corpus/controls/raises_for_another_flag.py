"""A kernel for inference alone, which says so where it is asked for more."""
# workload: f(randn(48, 65))
# expected: passed

# %% baseline
import torch


def f(x, eps=1e-5, keep_mean=False):
    mean = x.mean(1, keepdim=True)
    y = (x - mean) * torch.rsqrt(x.var(1, unbiased=False, keepdim=True) + eps)
    return (y, mean) if keep_mean else y

# %% candidate
import torch


def f(x, eps=1e-5, keep_mean=False):
    if keep_mean:
        raise NotImplementedError("the mean is not kept")
    return torch.nn.functional.layer_norm(x, x.shape[1:], eps=eps)
