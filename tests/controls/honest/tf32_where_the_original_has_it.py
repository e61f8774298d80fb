"""Both allow TF32."""

ALONE = True
BASELINE = """
import torch

torch.backends.cuda.matmul.allow_tf32 = True


def f(a, b):
    return torch.relu(a @ b)
"""
WORKLOAD = ("f(randn(64, 48), randn(48, 32))",)
CANDIDATE = """
import torch

torch.backends.cuda.matmul.allow_tf32 = True


def f(a, b):
    return (a @ b).clamp_(min=0)
"""
