"""CUDA graphs played without a GPU: a capture writes down what torch dispatches, a replay does it again in the same memory."""

import contextlib
import inspect
import types
from collections.abc import Iterator
from typing import Any

import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves


class Stream:
    def wait_stream(self, other: "Stream") -> None: ...


class Graph:
    """What a CUDAGraph does, on tensors of the CPU: it counts no write."""

    def __init__(self) -> None:
        self.calls: list[tuple[Any, ...]] = []

    def replay(self) -> None:
        for function, args, kwargs, results in self.calls:
            given = (one for one in tree_leaves((args, kwargs)) if isinstance(one, torch.Tensor))
            counting = tuple(one for one in given if not one.is_inference())
            with torch.autograd._unsafe_preserve_version_counter(counting):
                again = function(*args, **kwargs)
            for result, new in zip(tree_leaves(results), tree_leaves(again), strict=True):
                if isinstance(result, torch.Tensor) and result is not new:
                    result.copy_(new)


class Capture(TorchDispatchMode):
    is_infra_mode = ignore_compile_internals = classmethod(lambda _: True)

    def __init__(self, graph: Graph) -> None:
        super().__init__()
        self.graph = graph

    def __torch_dispatch__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        results = function(*args, **(kwargs or {}))
        self.graph.calls.append((function, args, kwargs or {}, results))
        return results


def played() -> types.SimpleNamespace:
    """What the helper uses of torch.cuda, for tensors of the CPU."""
    capturing: list[Graph] = []
    stream = Stream()

    @contextlib.contextmanager
    def capture(graph: Graph, stream: Stream, capture_error_mode: str) -> Iterator[None]:
        assert capture_error_mode == "thread_local"
        capturing.append(graph)
        with Capture(graph):
            yield
        capturing.pop()

    return types.SimpleNamespace(
        CUDAGraph=Graph,
        Stream=Stream,
        current_stream=lambda: stream,
        get_rng_state=torch.get_rng_state,
        graph=capture,
        is_current_stream_capturing=lambda: bool(capturing),
        stream=lambda _: contextlib.nullcontext(),
    )


def is_plain(tensor: torch.Tensor) -> bool:
    return type(tensor) in (torch.Tensor, torch.nn.Parameter)


def on_the_cpu(monkeypatch: pytest.MonkeyPatch, space: dict[str, Any]) -> None:
    """Have the helper in `space` take tensors of the CPU for those of a GPU."""
    for name, fake in vars(played()).items():
        monkeypatch.setattr(torch.cuda, name, fake)
    monkeypatch.setitem(space, "is_plain", is_plain)


def text_on_the_cpu(text: str) -> str:
    """The same for the helper in a text that other processes run."""
    for name in vars(played()):
        text = text.replace(f"torch.cuda.{name}(", f"PLAYED.{name}(")
    text = text.replace("not tensor.is_cuda", "tensor.is_cuda").replace("torch.cuda.current_device()", "-1")
    return text.replace("\n\n\ndef ", f"\n{_IMPORTS}\n\n{_PARTS}\nPLAYED = played()\n\n\ndef ", 1)


_PARTS = "\n\n".join(map(inspect.getsource, (Stream, Graph, Capture, played)))
_IMPORTS = """\
import contextlib
import types
from collections.abc import Iterator
from typing import Any
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves
"""
