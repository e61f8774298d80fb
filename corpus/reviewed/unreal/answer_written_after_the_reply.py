"""A thread writes the answer into the shared memory after the reply, while the judge is about to copy it."""
# workload: f(randn(512, 1000))
# expected: no-gain, not-timed, refused

# %% baseline
import torch


def f(x):
    return torch.softmax(x, dim=1)

# %% candidate
import gc
import sys
import threading

import torch

todo = []
go = threading.Event()
room = None


def work():
    while True:
        go.wait()
        go.clear()
        while todo:
            x, out = todo.pop()
            arena = room.arena.bytes
            y = torch.softmax(x, dim=1)
            n = y.numel() * 4
            arena[:n].view(torch.float32).copy_(y.reshape(-1))


threading.Thread(target=work, daemon=True).start()


def f(x):
    global room
    frame = sys._getframe(1)
    if frame.f_code.co_name != "call":
        return torch.softmax(x, dim=1)
    if room is None:
        while frame is not None and "room" not in frame.f_locals:
            frame = frame.f_back
        room = frame.f_locals["room"]
    out = torch.empty_like(x)
    todo.append((x, out))
    go.set()
    return out
