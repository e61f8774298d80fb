"""Compile every Triton kernel that a call launches, for a named GPU, without a GPU and without running anything: the
launcher runs on fake tensors, and each launch becomes a compilation with the specialisation that it would have."""

import contextlib
import inspect
from collections.abc import Callable, Iterator
from types import ModuleType
from typing import Any
from unittest import mock  # the standard way to replace attributes for the length of a block

import torch
import torch.utils._triton
from torch._subclasses.fake_tensor import FakeTensorMode
from triton.compiler.errors import CompileTimeAssertionFailure
from triton.runtime.autotuner import Autotuner
from triton.runtime.errors import OutOfResources, PTXASError
from triton.runtime.jit import JITFunction

from kernelwright.proof.jobs import Compile, CompileResult, Subject
from kernelwright.proof.worker import offline_driver, raised, reference_gpu
from kernelwright.proof.worker.compiling import resources
from kernelwright.proof.worker.failed import JobFailed
from kernelwright.proof.worker.inputs import Inputs
from kernelwright.proof.worker.languages import language_of
from kernelwright.proof.worker.without_memory import fake_call
from kernelwright.values import Failure, FailureKind, Resources

_MOST_CONFIGS = 8  # of one autotuned kernel
_MOST_KERNELS = 32
_LEFT_OUT = (CompileTimeAssertionFailure, OutOfResources, PTXASError)  # Triton's autotuner takes another config then


def compile_subject(job: Compile, report: Callable[[str], None]) -> CompileResult:
    """The resources of each kernel that the performance case launches, with each config that compiles. Raises JobFailed."""
    capability = job.compute_capability or 90
    offline_driver.install(capability, "cuda:0")
    found: list[Resources] = []
    language = language_of(job.subject.language)
    module = _loaded(job.subject, capability)
    try:
        with _intercepted(found, capability, report), _offline_cuda(capability):
            try:
                _launch(module, job.subject, "cuda")
            except JobFailed as failed:
                if failed.failure.kind is FailureKind.COMPILE_FAILED:
                    raise
                found.clear()
                # Not every launcher can do on a fake GPU what it does on a real one; the kernels are the same on a fake CPU.
                try:
                    _launch(module, job.subject, "cpu")
                except JobFailed:
                    raise failed from None
    finally:
        language.unload(module)
    return CompileResult(tuple(found))


def _loaded(given: Subject, capability: int) -> ModuleType:
    """The text as a module: as on a GPU, where some files define their kernels alone, or as here, where that fails."""
    language = language_of(given.language)
    try:
        with _offline_cuda(capability):
            return language.load(given.path, given.text, "compile")
    except JobFailed:
        return language.load(given.path, given.text, "compile")


def _launch(module: ModuleType, given: Subject, device: str) -> None:
    """Call the workload's entry once on fake tensors of `device`. Raises JobFailed."""
    try:
        fakes = FakeTensorMode(allow_non_fake_inputs=True)
        call = fake_call(module, given.workload, fakes)
        with fakes:
            arguments = Inputs(call.args, call.keywords).changed(lambda tensor: _on(tensor, device))
            _module_on(call.func, device)(*arguments.args, **arguments.kwargs)
    except JobFailed:
        raise
    except (Exception, SystemExit) as error:
        message = f"The launcher does not run without data: {raised.describe(error)}"
        raise JobFailed(Failure(FailureKind.WORKLOAD_FAILED, message, "", raised.line_of(error))) from error


def _module_on(made: Any, device: str) -> Any:
    """The module with its tensors on `device`. A torch without CUDA makes fake CUDA tensors, but cannot move to them."""
    for part in made.modules() if isinstance(made, torch.nn.Module) else ():
        for name, value in part._parameters.items():
            if value is not None:
                part._parameters[name] = torch.nn.Parameter(_on(value, device), requires_grad=False)
        for name, value in part._buffers.items():
            part._buffers[name] = _on(value, device) if value is not None else None
    return made


def _on(tensor: torch.Tensor, device: str) -> torch.Tensor:
    return torch.empty_strided(tensor.shape, tensor.stride(), dtype=tensor.dtype, device=device)


class _Pointer:
    """Stands for a tensor argument; an offset into its storage decides the alignment that the compiler may assume."""

    def __init__(self, tensor: Any) -> None:
        self.dtype = tensor.dtype
        self.shape = tuple(tensor.shape)
        self._address = tensor.storage_offset() * tensor.element_size()

    def data_ptr(self) -> int:
        return self._address


@contextlib.contextmanager
def _intercepted(found: list[Resources], capability: int, report: Callable[[str], None]) -> Iterator[None]:
    """Every launch inside the block compiles and returns; what it takes is added to `found`."""
    original = JITFunction.run

    def stand_in(value: Any) -> Any:
        return _Pointer(value) if isinstance(value, torch.Tensor) else value

    def run(self: Any, *args: Any, grid: Any = None, warmup: bool = False, **kwargs: Any) -> Any:
        report(f"compiling {self.fn.__name__}")
        args, kwargs = tuple(map(stand_in, args)), {key: stand_in(value) for key, value in kwargs.items()}
        try:
            compiled = original(self, *args, grid=grid, warmup=True, **kwargs)
        except Exception as error:
            raise JobFailed(_compile_failure(error, self)) from error
        entry = resources.of_kernel(compiled, self.fn.__name__, capability) if len(found) < _MOST_KERNELS else None
        found.extend([entry] if entry is not None and entry not in found else [])
        return compiled

    def run_configs(self: Any, *args: Any, **kwargs: Any) -> Any:
        self.nargs = dict(zip(self.arg_names, args, strict=False))
        fit: list[Any] = []
        left_out: JobFailed | None = None
        for config in list(self.prune_configs(kwargs))[:_MOST_CONFIGS]:
            try:
                self.fn.run(*args, **kwargs, **config.all_kwargs())
            except JobFailed as failed:
                if not isinstance(failed.__cause__, _LEFT_OUT):
                    raise
                left_out = left_out or failed
            else:
                fit.append(config)
        if left_out is not None and not fit:
            raise left_out
        self.best_config = fit[0]
        self.nargs = None

    with mock.patch.object(JITFunction, "run", run), mock.patch.object(Autotuner, "run", run_configs):
        yield


def _compile_failure(error: Exception, function: Any) -> Failure:
    """The innermost message, and the line (from 0) in the kernel that was launched."""
    node_line = getattr(getattr(error, "node", None), "lineno", None)
    line = _first_line(function) + node_line - 1 if node_line is not None else None
    inner: BaseException = error
    while inner.__cause__ is not None:
        inner = inner.__cause__
    words = getattr(inner, "error_message", None) or str(inner)
    words = next((part.strip() for part in str(words).splitlines() if part.strip()), type(inner).__name__)
    at = f" at line {line + 1}" if line is not None else ""
    name = function.fn.__name__
    return Failure(FailureKind.COMPILE_FAILED, f"{name} does not compile{at}: {words}", str(error), line)


def _first_line(function: Any) -> int:
    """The line (from 0) of the `def`, below its decorators."""
    lines, start = inspect.getsourcelines(function.fn)
    offset = next((number for number, line in enumerate(lines) if line.lstrip().startswith("def ")), 0)
    return start - 1 + offset


@contextlib.contextmanager
def _offline_cuda(capability: int) -> Iterator[None]:
    """What files and launchers ask torch for, answered without a GPU."""
    with contextlib.ExitStack() as stack:
        for name, answer in reference_gpu.answers(capability, f"sm_{capability}").items():
            stack.enter_context(mock.patch.object(torch.cuda, name, answer))
        for module, name in ((torch.cuda, "is_available"), (torch.utils._triton, "has_triton")):
            stack.enter_context(mock.patch.object(module, name, return_value=True))
        yield
