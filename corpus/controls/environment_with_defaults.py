"""Sets variables of the environment that have no value yet, as libraries do, and lengthens a path."""
# workload: f(randn(48, 65))
# expected: passed

# %% baseline
import torch


def f(x):
    return torch.softmax(x, dim=1)

# %% candidate
import os
import warnings

os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
os.environ.setdefault("TORCH_CUDA_ARCH_LIST", "9.0")
os.environ["PATH"] = "/usr/local/cuda/bin:" + os.environ.get("PATH", "")
warnings.filterwarnings("ignore", message="slow path")

import torch


def f(x):
    warnings.warn("slow path")
    return torch.exp(torch.log_softmax(x, dim=1))
