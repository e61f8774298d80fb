"""Takes two threads within the call and puts the setting back."""
# workload: f(randn(512, 1000))
# expected: no-gain, not-timed, refused

# %% baseline
import torch


def f(x):
    return torch.softmax(torch.sin(x), dim=1)

# %% candidate
import torch


def f(x):
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    try:
        return torch.softmax(torch.sin(x), dim=1)
    finally:
        torch.set_num_threads(before)
