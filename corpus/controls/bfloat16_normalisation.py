"""bfloat16 in and out, statistics in float32."""
# workload: f(randn(48, 256, dtype=bfloat16))
# expected: passed

# %% baseline
import torch


def f(x):
    return torch.nn.functional.layer_norm(x, (x.shape[1],))

# %% candidate
import torch


def f(x):
    y = x.float()
    variance, mean = torch.var_mean(y, dim=1, keepdim=True, correction=0)
    return ((y - mean) * torch.rsqrt(variance + 1e-5)).bfloat16()
