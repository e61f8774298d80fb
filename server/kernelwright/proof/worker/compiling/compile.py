"""Compile every Triton kernel that a call launches, for a named GPU, without a GPU and without running anything: the
launcher runs on fake tensors, and each launch becomes a compilation with the specialisation that it would have."""

import contextlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from types import ModuleType
from typing import Any
from unittest import mock  # the standard way to replace attributes for the length of a block

from kernelwright.proof.jobs import Compile, CompileResult, Subject
from kernelwright.proof.worker import inputs, offline_driver, subject
from kernelwright.proof.worker.compiling import resources
from kernelwright.proof.worker.failed import JobFailed
from kernelwright.values import Call, Failure, FailureKind, Resources, TensorSpec

_MOST_CONFIGS = 8  # of one autotuned kernel
_MOST_KERNELS = 32


@dataclass
class _Launches:
    """What the launcher has launched so far."""

    capability: int
    report: Callable[[str], None]
    found: list[Resources] = field(default_factory=list)

    def add(self, compiled: Any, name: str) -> None:
        if len(self.found) < _MOST_KERNELS:
            entry = resources.of_kernel(compiled, name, self.capability)
            if entry not in self.found:
                self.found.append(entry)


def compile_subject(job: Compile, report: Callable[[str], None]) -> CompileResult:
    """The resources of each kernel and config that the performance case launches. Raises JobFailed."""
    try:
        import triton  # noqa: F401
    except ModuleNotFoundError as error:
        from kernelwright.proof.worker.failed import failure_of

        raise JobFailed(failure_of(error)) from error
    capability = job.compute_capability or 90
    offline_driver.install(capability, "cuda:0")
    launches = _Launches(capability, report)
    module = subject.load_module(job.subject.path, job.subject.text, "compile")
    try:
        with _intercepted(launches), _offline_cuda(capability):
            _launch(module, job.subject, "cuda")
    except JobFailed as failed:
        if failed.failure.kind is FailureKind.COMPILE_FAILED and failed.failure.line is not None:
            raise
        launches.found.clear()
        # Not every launcher can do on a fake GPU what it does on a real one; the kernels are the same on a fake CPU.
        with _intercepted(launches), _offline_cuda(capability):
            try:
                _launch(module, job.subject, "cpu")
            except JobFailed:
                raise failed from None
    finally:
        subject.unload(module)
    return CompileResult(tuple(launches.found))


def _launch(module: ModuleType, given: Subject, device: str) -> None:
    """Call the workload's entry once on fake tensors of `device`. Raises JobFailed."""
    from torch._subclasses.fake_tensor import FakeTensorMode

    workload = given.workload
    call = subject.case_call(workload.cases[0].text) if workload.cases else None
    try:
        with FakeTensorMode(allow_non_fake_inputs=True):
            target = _target(module, subject.entry_of(module, workload), call, device)
            args, kwargs = _arguments(module, call, device)
            target(*args, **kwargs)
    except JobFailed:
        raise
    except (Exception, SystemExit) as error:
        message = f"The launcher does not run without data: {subject.describe(error)}"
        raise JobFailed(Failure(FailureKind.COMPILE_FAILED, message, "", subject.line_of(error))) from error


def _target(module: ModuleType, entry: Any, call: Call | None, device: str) -> Any:
    if not isinstance(entry, type):
        return entry
    if call is not None:
        args, kwargs = _made(call.init_args or (), device), _made(call.init_kwargs or {}, device)
    else:
        maker = getattr(module, "get_init_inputs", None)
        given = inputs._as_inputs(maker(), "get_init_inputs") if maker else inputs.Inputs(())
        args, kwargs = given.args, given.kwargs
    return _module_on(entry(*args, **kwargs), device)


def _module_on(made: Any, device: str) -> Any:
    """The module with its tensors on `device`. A torch without CUDA makes fake CUDA tensors, but cannot move to them."""
    import torch

    for part in made.modules() if isinstance(made, torch.nn.Module) else ():
        for name, value in part._parameters.items():
            if value is not None:
                part._parameters[name] = torch.nn.Parameter(_on(value, device), requires_grad=False)
        for name, value in part._buffers.items():
            part._buffers[name] = _on(value, device) if value is not None else None
    return made


def _on(tensor: Any, device: str) -> Any:
    import torch

    return torch.empty_strided(tensor.shape, tensor.stride(), dtype=tensor.dtype, device=device)


def _arguments(module: ModuleType, call: Call | None, device: str) -> tuple[Any, Any]:
    if call is not None:
        return _made(call.args, device), _made(call.kwargs, device)
    maker = getattr(module, "get_inputs", None)
    if maker is None:
        raise inputs.workload_failed("The file has no get_inputs() function: add one, or a '# workload:' comment.")
    made = inputs._as_inputs(maker(), "get_inputs")
    move = lambda leaf: _on(leaf, device) if hasattr(leaf, "untyped_storage") else leaf
    return inputs.map_leaves(move, made.args), inputs.map_leaves(move, made.kwargs)


def _made(tree: Any, device: str) -> Any:
    """The arguments with an empty tensor for every spec: shapes, dtypes and strides are all that compiling needs."""
    import torch

    def leaf(value: Any) -> Any:
        if not isinstance(value, TensorSpec):
            return value
        shape, finish = inputs._memory_shape(value)
        return finish(torch.empty(shape, dtype=inputs.dtype_named(value.dtype), device=device))

    return inputs.map_leaves(leaf, tree)


class _Pointer:
    """Stands for a tensor argument; an offset into its storage decides the alignment that the compiler may assume."""

    def __init__(self, tensor: Any) -> None:
        self.dtype = tensor.dtype
        self.shape = tuple(tensor.shape)
        self._address = tensor.storage_offset() * tensor.element_size()

    def data_ptr(self) -> int:
        return self._address


@contextlib.contextmanager
def _intercepted(launches: _Launches) -> Iterator[None]:
    """Every launch inside the block compiles and returns."""
    import torch
    from triton.runtime.autotuner import Autotuner
    from triton.runtime.jit import JITFunction

    original = JITFunction.run

    def stand_in(value: Any) -> Any:
        return _Pointer(value) if isinstance(value, torch.Tensor) else value

    def run(self: Any, *args: Any, grid: Any = None, warmup: bool = False, **kwargs: Any) -> Any:
        launches.report(f"compiling {self.fn.__name__}")
        args, kwargs = tuple(map(stand_in, args)), {key: stand_in(value) for key, value in kwargs.items()}
        try:
            compiled = original(self, *args, grid=grid, warmup=True, **kwargs)
        except Exception as error:
            raise JobFailed(_compile_failure(error, self)) from error
        launches.add(compiled, self.fn.__name__)
        return compiled

    def run_configs(self: Any, *args: Any, **kwargs: Any) -> Any:
        self.nargs = dict(zip(self.arg_names, args, strict=False))
        configs = list(self.prune_configs(kwargs))[:_MOST_CONFIGS]
        for config in configs:
            self.fn.run(*args, **kwargs, **config.all_kwargs())
        self.best_config = configs[0]
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
    import inspect

    lines, start = inspect.getsourcelines(function.fn)
    offset = next((number for number, line in enumerate(lines) if line.lstrip().startswith("def ")), 0)
    return start - 1 + offset


@contextlib.contextmanager
def _offline_cuda(capability: int) -> Iterator[None]:
    """What launchers ask torch.cuda for, answered without a GPU."""
    import torch

    class Device(contextlib.nullcontext):
        def __init__(self, device: Any = None) -> None:
            super().__init__(device)

    answers = {
        "device": Device,
        "current_device": lambda: 0,
        "device_count": lambda: 1,
        "synchronize": lambda device=None: None,
        "get_device_capability": lambda device=None: divmod(capability, 10),
        "get_device_name": lambda device=None: f"sm_{capability}",
        "get_device_properties": lambda device=None: _Properties(capability),
    }
    with contextlib.ExitStack() as stack:
        for name, answer in answers.items():
            stack.enter_context(mock.patch.object(torch.cuda, name, answer))
        yield


class _Properties:
    """An H100's, as far as launchers ask."""

    multi_processor_count = 132
    warp_size = 32
    max_threads_per_multi_processor = 2048
    regs_per_multiprocessor = 65536
    shared_memory_per_block_optin = 232448
    shared_memory_per_multiprocessor = 233472
    total_memory = 80 << 30
    L2_cache_size = 50 << 20

    def __init__(self, capability: int) -> None:
        self.major, self.minor = divmod(capability, 10)
        self.name = f"sm_{capability}"
