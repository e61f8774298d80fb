"""A torch function mode that writes down each torch-level call as a Node, in single-assignment form."""

import contextlib
import sys
import weakref
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any
from unittest import mock  # the standard way to replace attributes for the length of a block

import torch
from torch.overrides import TorchFunctionMode

from kernelwright.ops import flops, row
from kernelwright.proof.worker.failed import JobFailed
from kernelwright.proof.worker.graph import spans
from kernelwright.proof.worker.graph.binding import BoundTorchCall, bind
from kernelwright.proof.worker.inputs import tensors_in
from kernelwright.values import Argument, Failure, FailureKind, Node, TensorRef, TensorType, Value

_LEAVES_TORCH = {
    "item": "a number is taken out of a tensor with .item()",
    "__bool__": "a tensor decides which branch is taken",
    "__float__": "a tensor is turned into a Python float",
    "__int__": "a tensor is turned into a Python int",
    "__index__": "a tensor is used as a Python index",
    "tolist": "a tensor is turned into a list",
    "numpy": "a tensor is handed to numpy",
    "__array__": "a tensor is handed to numpy",
    "__contains__": "a tensor is searched for a value",
    "equal": "two tensors are compared on the host",
    "allclose": "two tensors are compared on the host",
    "__repr__": "a tensor is printed",
    "__format__": "a tensor is printed",
}
_UNINTERESTING = frozenset({"__set__", "__delete__", "size", "dim", "numel", "stride", "is_floating_point", "__len__",
                            "is_contiguous", "__hash__", "element_size", "get_device", "requires_grad_"})  # fmt: skip
_EMPTY = frozenset({"empty", "empty_like", "new_empty", "empty_strided"})


class Recorder(TorchFunctionMode):
    """Tensors are known by identity through weak references, so that recording keeps none of them alive."""

    def __init__(self, filename: str, lines: tuple[str, ...], target: Any) -> None:
        super().__init__()
        self.values: list[Value] = []
        self.nodes: list[Node] = []
        self._filename = filename
        self._lines = lines
        self._ids: dict[int, tuple[weakref.ref[torch.Tensor], int]] = {}
        self._paths: dict[int, str] = {}
        if isinstance(target, torch.nn.Module):
            self._paths = {id(module): path for path, module in target.named_modules()}
            for name, parameter in target.named_parameters():
                self.declare(parameter, "parameter", name)
            for name, buffer in target.named_buffers():
                self.declare(buffer, "buffer", name)

    def declare(self, tensor: torch.Tensor, origin: str, name: str = "") -> int:
        """A new Value for `tensor`; from now on the tensor is known as that one."""
        id_ = len(self.values)
        self.values.append(Value(id_, _type_of(tensor), origin, name))
        self._ids[id(tensor)] = (weakref.ref(tensor), id_)
        return id_

    def value_of(self, tensor: torch.Tensor) -> int:
        known = self._ids.get(id(tensor))
        if known is not None and known[0]() is tensor:
            return known[1]
        return self.declare(tensor, "constant")

    def line(self) -> int | None:
        """The line, from 0, of the last recorded call."""
        return next((node.where.start_line for node in reversed(self.nodes) if node.where), None)

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        name = _name_of(func)
        if name in _LEAVES_TORCH:
            self._refuse(_LEAVES_TORCH[name])
        result = func(*args, **kwargs)
        outputs = list(tensors_in(result))
        if name not in _UNINTERESTING and outputs and not isinstance(result, torch.nn.Parameter):
            self._record(func, name, args, kwargs, outputs)
        return result

    def launch(self, name: str, tensors: list[torch.Tensor]) -> None:
        """A kernel of the user's own was launched on `tensors`: it may write the freshly allocated ones."""
        made_by = {v: node.op for node in self.nodes for v in node.outputs}
        ids = [self.value_of(t) for t in tensors]
        written = [t for t, v in zip(tensors, ids, strict=True) if made_by.get(v) in _EMPTY] or tensors
        call = BoundTorchCall("triton_kernel", tuple(TensorRef(v) for v in ids), {"kernel": name}, inplace=True)
        self._append(call, tensors, written)

    def _record(self, func: Any, name: str, args: Any, kwargs: Any, outputs: list[torch.Tensor]) -> None:
        tensors = list(tensors_in((args, kwargs)))
        bound = bind(func, name, args, kwargs)
        operands = tuple(self._argument(a) for a in bound.args)
        options = {key: self._argument(value) for key, value in bound.kwargs.items()}
        self._append(replace(bound, args=operands, kwargs=options), tensors, outputs)

    def _append(self, call: BoundTorchCall, tensors: list[torch.Tensor], outputs: list[torch.Tensor]) -> None:
        """A node for the call, whose arguments are the graph's own."""
        frame = spans.user_frame(sys._getframe(), self._filename)
        self.nodes.append(
            Node(
                id=len(self.nodes),
                op=call.op,
                args=call.args,
                kwargs=call.kwargs,
                outputs=tuple(self.declare(t, "node") for t in outputs),
                where=spans.span_of(frame, self._lines) if frame else None,
                module=spans.innermost_module(sys._getframe(), self._paths, self._filename),
                inplace=call.inplace,
                estimated_bytes=_estimated_bytes(call.op, tensors, outputs),
                estimated_flops=flops(call.op, *([tuple(t.shape) for t in some] for some in (tensors, outputs))),
            )
        )

    def _argument(self, value: Any) -> Argument:
        if isinstance(value, torch.Tensor):
            return TensorRef(self.value_of(value))
        if value is None or isinstance(value, bool | int | float | str):
            return value
        if isinstance(value, list | tuple):
            return tuple(self._argument(item) for item in value)
        if isinstance(value, slice):
            return ("slice", self._argument(value.start), self._argument(value.stop), self._argument(value.step))
        if value is Ellipsis:
            return "..."
        return str(value).removeprefix("torch.")

    def _refuse(self, what: str) -> None:
        frame = spans.user_frame(sys._getframe(), self._filename)
        line = frame.f_lineno - 1 if frame else None
        where = f" in line {line + 1}" if line is not None else ""
        message = f"The op graph cannot be captured: {what}{where}."
        raise JobFailed(Failure(FailureKind.NOT_CAPTURED, message, line=line))


@contextlib.contextmanager
def recorded_launches(recorder: Recorder, *, run: bool) -> Iterator[None]:
    """Within, `kernel[grid](…)` of a Triton kernel is recorded, and carried out only when `run`."""
    try:
        from triton.runtime.jit import KernelInterface
    except ImportError:
        yield
        return
    original = KernelInterface.__getitem__

    def getitem(kernel: Any, grid: Any) -> Callable[..., Any]:
        def launch(*args: Any, **kwargs: Any) -> Any:
            tensors = list(tensors_in((args, kwargs)))
            with torch._C.DisableTorchFunction():
                result = original(kernel, grid)(*args, **kwargs) if run else None
            recorder.launch(_kernel_name(kernel), tensors)
            return result

        return launch

    with mock.patch.object(KernelInterface, "__getitem__", getitem):
        yield


def _kernel_name(kernel: Any) -> str:
    while hasattr(kernel, "fn") and not hasattr(kernel, "__name__"):
        kernel = kernel.fn
    return str(getattr(kernel, "__name__", "kernel"))


def _name_of(func: Any) -> str:
    """The function's own name; for a property (`Tensor.T.__get__`) the property's."""
    name = getattr(func, "__name__", "")
    if name == "__get__":
        return str(getattr(func.__self__, "__name__", name))
    return name


def _estimated_bytes(op: str, inputs: list[torch.Tensor], outputs: list[torch.Tensor]) -> int:
    """Each distinct input read once and each output written once; views move nothing."""
    if row(op).view:
        return 0
    distinct = {id(t): t for t in inputs}.values()
    return sum(t.numel() * t.element_size() for t in (*distinct, *outputs))


def _type_of(tensor: torch.Tensor) -> TensorType:
    stride = tuple(tensor.stride()) if tensor.layout is torch.strided else ()
    return TensorType(tuple(tensor.shape), stride, str(tensor.dtype).removeprefix("torch."))
