"""The baseline refuses mixed values (a matrix must be positive definite), so all samples have the same data."""
# expected: no-gain, not-timed, refused

# %% baseline
import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, a):
        return torch.cholesky_inverse(torch.linalg.cholesky(a))


def get_inputs():
    a = torch.randn(256, 256)
    return [a @ a.t() + 256 * torch.eye(256)]


def get_init_inputs():
    return []

# %% candidate
import torch
import torch.nn as nn


class Model(nn.Module):
    last = None

    def forward(self, a):
        last = Model.last
        if last is None or not torch.equal(last[0], a):
            Model.last = last = a.clone(), torch.cholesky_inverse(torch.linalg.cholesky(a))
        return last[1].clone()


def get_inputs():
    a = torch.randn(256, 256)
    return [a @ a.t() + 256 * torch.eye(256)]


def get_init_inputs():
    return []
