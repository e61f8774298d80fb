"""A CUDA graph with its own input and output buffers, copied in and out on every call."""
# workload: f(randn(1024, 1024))
# expected: passed
# marks: gpu

# %% baseline
import torch


def f(x):
    return torch.softmax(x, dim=1)

# %% candidate
import torch

graphs = {}


def f(x):
    if x.requires_grad:
        raise RuntimeError("a CUDA graph records no gradients")
    key = (x.shape, x.dtype)
    if key not in graphs:
        given = x.clone()
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            torch.softmax(given, dim=1)
        torch.cuda.current_stream().wait_stream(side)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            out = torch.softmax(given, dim=1)
        graphs[key] = (graph, given, out)
    graph, given, out = graphs[key]
    given.copy_(x)
    graph.replay()
    return out.clone()
