"""A CUDA graph with its own input and output buffers, copied in and out on every call."""

from cheats.texts import SOFTMAX

GPU = True
BASELINE = SOFTMAX
WORKLOAD = ("f(randn(1024, 1024))",)
CANDIDATE = """
import torch

graphs = {}


def f(x):
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
"""
