import time

import torch


def slow(x):
    time.sleep(600)
    return torch.relu(x) * 2.0


# workload: slow(randn(8))
