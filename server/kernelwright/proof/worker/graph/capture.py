"""Captures the op graph of one call on the workload: what ran, on which shapes, from which expression.

Without a GPU the call runs on fake tensors, which have shapes and no memory; with one it runs for real.
"""

import inspect
from collections.abc import Callable
from types import ModuleType
from typing import Any

import torch
from torch._subclasses.fake_tensor import (
    DataDependentOutputException,
    DynamicOutputShapeException,
    FakeTensorMode,
    UnsupportedFakeTensorException,
)

from kernelwright.proof.jobs import Capture
from kernelwright.proof.worker import inputs
from kernelwright.proof.worker.failed import JobFailed
from kernelwright.proof.worker.graph.recorder import Recorder, recorded_launches
from kernelwright.proof.worker.inputs import tensors_in
from kernelwright.proof.worker.subject import (
    BoundCall,
    case_call,
    entry_of,
    failure_of,
    load_module,
    performance_call,
    unload,
)
from kernelwright.values import Failure, FailureKind, Graph, Workload, digest


def capture(job: Capture, report: Callable[[str], None]) -> Graph:
    """The Graph of one call of the subject on its performance case.

    Raises JobFailed: NOT_CAPTURED where tensors leave torch or decide control flow, otherwise what loading and
    calling the subject can fail with.
    """
    subject = job.subject
    report("Capturing the op graph")
    module = load_module(subject.path, subject.text)
    try:
        if torch.cuda.is_available():
            call = performance_call(module, subject.workload, device="cuda")
            return _record(call, job, str(module.__file__), "cuda", fake=False)
        with FakeTensorMode(allow_non_fake_inputs=True):
            try:
                call = _fake_call(module, subject.workload)
            except UnsupportedFakeTensorException as error:
                raise _not_captured("Making the inputs needs real memory, which is only used on a GPU.") from error
            return _record(call, job, str(module.__file__), "cpu", fake=True)
    finally:
        unload(module)


def _fake_call(module: ModuleType, workload: Workload) -> BoundCall:
    """performance_call, except that the module is built where it stays: fake parameters cannot be moved by `to`."""
    call = case_call(workload.cases[0].text) if workload.cases else None
    given = (
        inputs.from_call(call, device="cpu", seed=0) if call else inputs.from_functions(module, device="cpu", seed=0)
    )
    entry = entry_of(module, workload)
    if not isinstance(entry, type):
        return BoundCall(entry, given.args, given.kwargs)
    own = call if call is None or call.init_args is not None else None
    init = inputs.initial_arguments(module, own, device="cpu", seed=0)
    try:
        return BoundCall(entry(*init.args, **init.kwargs), given.args, given.kwargs)
    except (Exception, SystemExit) as error:
        failure = failure_of(error, f"Constructing {workload.entry} raised", FailureKind.WORKLOAD_FAILED)
        raise JobFailed(failure) from error


def _record(call: BoundCall, job: Capture, filename: str, device: str, *, fake: bool) -> Graph:
    text = job.subject.text
    recorder = Recorder(filename, tuple(text.splitlines()), call.target)
    for name, value in _named_arguments(call):
        recorder.declare(value, "input", name)
    training = call.target.training if isinstance(call.target, torch.nn.Module) else False
    try:
        with torch.no_grad(), recorded_launches(recorder, run=not fake), recorder:
            result = call()
    except JobFailed:
        raise
    except (DataDependentOutputException, DynamicOutputShapeException) as error:
        raise _not_captured(
            "The result's shape or the way through the code depends on the numbers in a tensor.", recorder.line()
        ) from error
    except (Exception, SystemExit) as error:
        failure = failure_of(error, f"Calling {job.subject.workload.entry} raised", FailureKind.WORKLOAD_FAILED)
        raise JobFailed(failure) from error
    return Graph(
        entry=job.subject.workload.entry,
        text_hash=digest(text),
        device=device,
        training=training,
        outputs=tuple(recorder.value_of(t) for t in tensors_in(result)),
        values=tuple(recorder.values),
        nodes=tuple(recorder.nodes),
    )


def _named_arguments(call: BoundCall) -> list[tuple[str, torch.Tensor]]:
    """The tensors among the arguments, named as the callee spells them ("x", "xs[0]")."""
    target = call.target.forward if isinstance(call.target, torch.nn.Module) else call.target
    try:
        given = dict(inspect.signature(target).bind(*call.args, **call.kwargs).arguments)
    except (TypeError, ValueError):
        given = {f"argument_{i}": value for i, value in enumerate(call.args)} | call.kwargs
    return [pair for name, value in given.items() for pair in _leaves(name, value)]


def _leaves(name: str, value: Any) -> list[tuple[str, torch.Tensor]]:
    if isinstance(value, torch.Tensor):
        return [(name, value)]
    if isinstance(value, list | tuple):
        return [pair for i, item in enumerate(value) for pair in _leaves(f"{name}[{i}]", item)]
    if isinstance(value, dict):
        return [pair for key, item in value.items() for pair in _leaves(f"{name}[{key!r}]", item)]
    return []


def _not_captured(message: str, line: int | None = None) -> JobFailed:
    return JobFailed(Failure(FailureKind.NOT_CAPTURED, message, line=line))
