"""The performance case on fake tensors, which have shapes and no memory."""

import functools
from collections.abc import Callable
from types import ModuleType
from typing import Any

from torch._subclasses.fake_tensor import FakeTensorMode
from torch.utils._python_dispatch import TorchDispatchMode

from kernelwright.proof.worker.failed import JobFailed
from kernelwright.proof.worker.free_memory import free_on
from kernelwright.proof.worker.inputs import tensors_in
from kernelwright.proof.worker.subject import performance_call, performance_target
from kernelwright.values import Failure, FailureKind, Workload

_SHARE = 2
"""A constructor may take one part in so many of the free memory."""


def fake_call(module: ModuleType, workload: Workload, fakes: FakeTensorMode) -> functools.partial[Any]:
    """Target and arguments of the performance case, to be called under `fakes`. Raises JobFailed.

    A constructor that fake tensors do not carry through, as one that reads numbers of tensors, runs on real ones.
    """
    target = _target(module, workload, fakes)
    with fakes:
        return performance_call(module, workload, device="cpu", target=target)


def _target(module: ModuleType, workload: Workload, fakes: FakeTensorMode) -> Callable[..., Any]:
    try:
        with fakes:
            return performance_target(module, workload, device="cpu")
    except JobFailed as failed:
        if failed.__cause__ is None:  # nothing of the user's was raised
            raise
    limit = free_on("cpu") // _SHARE
    try:
        with _Limited(limit):
            return performance_target(module, workload, device="cpu")
    except JobFailed as failed:
        if isinstance(failed.__cause__, _TooLarge):
            message = (
                f"{workload.entry} is constructed on real tensors, because its constructor reads numbers of tensors, and "
                f"these take more than the {limit / 1e9:.3g} GB that may be used here: make its sizes smaller."
            )
            raise JobFailed(Failure(FailureKind.NOT_CAPTURED, message)) from failed
        raise


class _TooLarge(Exception):
    """More memory was asked for than may be used."""


class _Limited(TorchDispatchMode):
    """Raises _TooLarge once the tensors that are made have taken `limit` bytes; memory that is freed counts, too."""

    def __init__(self, limit: int) -> None:
        super().__init__()
        self._left = limit

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        given = list(tensors_in((args, kwargs)))
        if not given and "device" in kwargs:
            self._take(
                func(*args, **kwargs | {"device": "meta"} | ({"generator": None} if "generator" in kwargs else {}))
            )
            return func(*args, **kwargs)
        known = {tensor.untyped_storage().data_ptr() for tensor in given}
        result = func(*args, **kwargs)
        self._take([made for made in tensors_in(result) if made.untyped_storage().data_ptr() not in known])
        return result

    def _take(self, made: Any) -> None:
        self._left -= sum(tensor.untyped_storage().nbytes() for tensor in tensors_in(made))
        if self._left < 0:
            raise _TooLarge
