"""Both allow TF32."""
# workload: f(randn(64, 48), randn(48, 32))
# expected: passed
# marks: alone

# %% baseline
import torch

torch.backends.cuda.matmul.allow_tf32 = True


def f(a, b):
    return torch.relu(a @ b)

# %% candidate
import torch

torch.backends.cuda.matmul.allow_tf32 = True


def f(a, b):
    return (a @ b).clamp_(min=0)
