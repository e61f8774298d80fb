"""Steps of a minimal GRU, the inputs of all projected at once."""
# workload: f(randn(12, 8, 20), randn(16, 20), randn(16, 20))
# expected: passed

# %% baseline
import torch
import torch.nn.functional as F


def f(x, wz, wh):
    h, out = x.new_zeros(x.shape[1], wz.shape[0]), []
    for step in x:
        z = torch.sigmoid(F.linear(step, wz))
        h = (1 - z) * h + z * torch.tanh(F.linear(step, wh))
        out.append(h)
    return torch.stack(out)

# %% candidate
import torch
import torch.nn.functional as F


def f(x, wz, wh):
    z, c = torch.sigmoid(x @ wz.t()), torch.tanh(x @ wh.t())
    h, out = torch.zeros_like(c[0]), torch.empty_like(c)
    for t in range(len(x)):
        h = torch.lerp(h, c[t], z[t])
        out[t] = h
    return out
