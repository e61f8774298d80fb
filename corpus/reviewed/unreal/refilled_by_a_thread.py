"""A thread makes buffers of zeros between the calls."""
# workload: f(randn(20, 1200), randint(0, 500, 20))
# expected: no-gain, not-timed, refused

# %% baseline
import torch


def f(x, rows):
    out = torch.zeros(500, x.shape[1])
    return out.index_add_(0, rows, x)

# %% candidate
import queue
import threading

import torch

ready, wanted = queue.SimpleQueue(), queue.SimpleQueue()


def refill():
    while True:
        width = wanted.get()
        ready.put(torch.zeros(500, width))


threading.Thread(target=refill, daemon=True).start()


def f(x, rows):
    out = None
    if x.shape[1] == 1200:
        try:
            out = ready.get_nowait()
        except queue.Empty:
            pass
        wanted.put(1200)
    if out is None:
        out = torch.zeros(500, x.shape[1])
    return out.index_add_(0, rows, x)
