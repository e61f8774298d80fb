"""Captures the op graph of one call on the workload: what ran, on which shapes, from which expression.

Without a GPU the call runs on fake tensors, which have shapes and no memory; with one it runs for real.
"""

import contextlib
import functools
import inspect
from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch._subclasses.fake_tensor import (
    DataDependentOutputException,
    DynamicOutputShapeException,
    FakeTensorMode,
    UnsupportedFakeTensorException,
)
from torch.nn.modules.module import register_module_forward_hook

from kernelwright.proof.jobs import Capture
from kernelwright.proof.worker.failed import JobFailed
from kernelwright.proof.worker.graph.recorder import Recorder, recorded_launches
from kernelwright.proof.worker.inputs import leaves, tensors_in
from kernelwright.proof.worker.languages import language_of
from kernelwright.proof.worker.raised import failure_of
from kernelwright.proof.worker.subject import performance_call
from kernelwright.proof.worker.without_memory import fake_call
from kernelwright.values import Failure, FailureKind, Graph, digest


def capture(job: Capture, report: Callable[[str], None]) -> Graph:
    """The Graph of one call of the subject on its performance case.

    Raises JobFailed: NOT_CAPTURED where tensors leave torch or decide control flow, otherwise what loading and
    calling the subject can fail with.
    """
    subject = job.subject
    report("Capturing the op graph")
    language = language_of(subject.language)
    module = language.load(subject.path, subject.text, "subject")
    try:
        if torch.cuda.is_available():
            call = performance_call(module, subject.workload, device="cuda")
            return _record(call, job, str(module.__file__), "cuda", fake=False)
        fakes = FakeTensorMode(allow_non_fake_inputs=True)
        try:
            call = fake_call(module, subject.workload, fakes)
        except UnsupportedFakeTensorException as error:
            raise _not_captured("Making the inputs needs real memory, which is only used on a GPU.") from error
        with fakes:
            return _record(call, job, str(module.__file__), "cpu", fake=True)
    finally:
        language.unload(module)


def _record(call: functools.partial[Any], job: Capture, filename: str, device: str, *, fake: bool) -> Graph:
    text = job.subject.text
    recorder = Recorder(filename, tuple(text.splitlines()), call.func)
    for name, value in _named_arguments(call):
        recorder.declare(value, "input", name)
    training = call.func.training if isinstance(call.func, torch.nn.Module) else False
    try:
        with torch.no_grad(), _as_written(), recorded_launches(recorder, run=not fake), recorder:
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


@contextlib.contextmanager
def _as_written() -> Iterator[None]:
    """Within, a hook watches all modules: a forward that can be replayed or compiled runs as it is written then."""
    hook = register_module_forward_hook(lambda *_: None)
    try:
        yield
    finally:
        hook.remove()


def _named_arguments(call: functools.partial[Any]) -> list[tuple[str, torch.Tensor]]:
    """The tensors among the arguments, named as the callee spells them ("x", "xs[0]")."""
    target = call.func.forward if isinstance(call.func, torch.nn.Module) else call.func
    try:
        given = dict(inspect.signature(target).bind(*call.args, **call.keywords).arguments)
    except (TypeError, ValueError):
        given = {f"argument_{i}": value for i, value in enumerate(call.args)} | call.keywords
    found = (pair for name, value in given.items() for pair in leaves(value, name))
    return [(name, value) for name, value in found if isinstance(value, torch.Tensor)]


def _not_captured(message: str, line: int | None = None) -> JobFailed:
    return JobFailed(Failure(FailureKind.NOT_CAPTURED, message, line=line))
