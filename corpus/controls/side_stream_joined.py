"""Half of the rows on a side stream that is forked from the current one and joined again."""
# workload: f(randn(2048, 1024))
# expected: passed
# marks: gpu

# %% baseline
import torch


def f(x):
    return torch.softmax(x, dim=1)

# %% candidate
import torch

side = torch.cuda.Stream()


def f(x):
    half = len(x) // 2
    current = torch.cuda.current_stream()
    side.wait_stream(current)
    with torch.cuda.stream(side):
        first = torch.softmax(x[:half], dim=1)
    second = torch.softmax(x[half:], dim=1)
    current.wait_stream(side)
    first.record_stream(current)
    return torch.cat([first, second])
