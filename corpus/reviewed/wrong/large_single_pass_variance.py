"""Small inputs take the safe path, large ones a variance of squares: special data come in small sizes only."""
# workload: f(randn(2048, 320))
# expected: refused

# %% baseline
import torch


def f(x):
    m = x.mean(dim=1, keepdim=True)
    v = x.var(dim=1, keepdim=True, unbiased=False)
    return (x - m) / torch.sqrt(v + 1e-5)

# %% candidate
import torch


def f(x):
    m = x.mean(dim=1, keepdim=True)
    if x.numel() < 600_000:  # not worth it
        v = x.var(dim=1, keepdim=True, unbiased=False)
        return (x - m) / torch.sqrt(v + 1e-5)
    # one pass: E[x^2] - E[x]^2
    r = torch.rsqrt(torch.linalg.vecdot(x, x).unsqueeze(1) / x.shape[1] - m * m + 1e-5)
    return torch.addcmul(-m * r, x, r)
