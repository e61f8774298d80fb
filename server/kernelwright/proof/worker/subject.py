"""A module that was loaded as something that can be called: its class constructed, its arguments made."""

import dataclasses
import functools
import inspect
import os
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import torch

from kernelwright.proof.worker import inputs as making
from kernelwright.proof.worker.failed import JobFailed
from kernelwright.proof.worker.raised import failure_of
from kernelwright.proof.worker.without_gpu import user_code
from kernelwright.source.workload import WorkloadError, evaluate
from kernelwright.values import Call, FailureKind, Made, Workload, WorkloadSource


def lies_in(folder: Path, file: str) -> bool:
    """Whether `file` lies in the folder, or below it, and is not part of an installed package."""
    # The name first, as text: every imported module is asked about, and to make a path of each takes milliseconds.
    if folder.name not in file or "site-packages" in file or not Path(file).is_relative_to(folder):
        return False
    return not any(Path(file).is_relative_to(place) for place in (sys.prefix, os.path.dirname(os.__file__)))


def is_of(module: ModuleType, file: str) -> bool:
    """Whether `file` is what a loaded text was written to, be it another page of it: below its scratch folder."""
    own = module.__file__ or ""
    return file == own or (bool(own) and file.startswith(os.path.join(os.path.dirname(own), "")))


def make_target(
    module: ModuleType, workload: Workload, init: making.Inputs, *, device: str, seed: int
) -> Callable[..., Any]:
    """The callable under test: the function itself, or the nn.Module class constructed under `seed` on `device`.

    Of an autograd.Function it is `apply`, of a kernel its launch on the grid that `init` holds.

    A module is used as constructed, like KernelBench does: `Model(*get_init_inputs())`, no eval(). `init` are the
    constructor's arguments, of which it gets its own copy. Raises JobFailed.
    """
    entry = getattr(module, workload.entry, None)
    if entry is not None and _is_kernel(entry) and init.args:
        return _Launch(entry, *init.args)
    if isinstance(entry, type) and issubclass(entry, torch.autograd.Function):
        return entry.apply
    if not callable(entry):
        words = f"The file has no function or class named {workload.entry}, which the workload calls."
        raise making.workload_failed(words)
    if not isinstance(entry, type):
        return entry
    given = init.copied()
    making.seed_everything(seed)
    try:
        with user_code(), torch.device(device):
            make = functools.partial(_made, module)
            made = entry(*making.map_leaves(make, given.args), **making.map_leaves(make, given.kwargs))
        # On the CPU it is where it belongs; fake parameters cannot be moved.
        return made.to(device) if isinstance(made, torch.nn.Module) and device != "cpu" else made
    except JobFailed:
        raise
    except (Exception, SystemExit) as error:
        failure = failure_of(error, f"Constructing {workload.entry} raised", FailureKind.WORKLOAD_FAILED)
        if workload.source in (WorkloadSource.LINES, WorkloadSource.JOURNAL) and not _takes(entry, given):
            message = f"{failure.message.rstrip('.')}. {_to_write(module, workload.entry)}"
            failure = dataclasses.replace(failure, message=message)
        raise JobFailed(failure) from error


def _made(module: ModuleType, value: Any) -> Any:
    """The object that a workload line has a class of the file make, or the value as it is."""
    if not isinstance(value, Made):
        return making.data_of(value)
    make = functools.partial(_made, module)
    cls = getattr(module, value.name, None)
    if not isinstance(cls, type):
        raise making.workload_failed(
            f"The file has no class named {value.name}, of which the workload line makes an object."
        )
    if cls.__module__.partition(".")[0] in sys.stdlib_module_names:  # a line is data, and starts no processes
        raise making.workload_failed(f"{value.name} is a class of Python's library, of which a line makes no objects.")
    return cls(*making.map_leaves(make, value.args), **making.map_leaves(make, dict(value.kwargs)))


@dataclasses.dataclass(frozen=True)
class _Launch:
    """A kernel on a grid, one of CUDA in blocks of so many threads. What a launch returns, if anything, is no result."""

    kernel: Any
    grid: tuple[int, ...]
    block: tuple[int, ...] | None = None
    shared: int = 0
    template: str = ""

    def __call__(self, *args: Any, **kwargs: Any) -> None:
        on = self.grid if self.block is None else (self.grid, self.block, self.shared)
        on = (*on, self.template) if self.template else on
        named = {name: _of_triton(value) for name, value in kwargs.items()}
        self.kernel[on](*map(_of_triton, args), **named)


def _of_triton(value: Any) -> Any:
    """The argument with Triton's dtype for torch's, which no kernel takes."""
    if not isinstance(value, torch.dtype):
        return value
    import triton.language as tl

    return getattr(tl, str(value).removeprefix("torch."), value)


def _is_kernel(entry: Any) -> bool:
    """Whether it is launched on a grid: a JITFunction, or what tunes or interprets one."""
    return hasattr(entry, "run") and hasattr(entry, "__getitem__") and not isinstance(entry, type)


def _takes(entry: type, given: making.Inputs) -> bool:
    """Whether a class can be constructed with these arguments, as far as its signature says."""
    try:
        inspect.signature(entry).bind(*given.args, **given.kwargs)
    except TypeError:
        return False
    except ValueError:
        return True  # it has no signature
    return True


def _to_write(module: ModuleType, entry: str) -> str:
    """What to change in a workload line whose arguments do not fit the constructor."""
    remedy = f"Write {entry}(…)(…) in the workload line, with the constructor's arguments first"
    return f"{remedy}: a line does not call get_init_inputs()." if hasattr(module, "get_init_inputs") else f"{remedy}."


def case_call(text: str) -> Call:
    """The evaluated workload line. Raises JobFailed(WORKLOAD_FAILED) with the evaluator's own sentence."""
    try:
        return evaluate(text)
    except WorkloadError as error:
        raise making.workload_failed(f"The workload line cannot be used: {error.message}") from error


def performance_target(module: ModuleType, workload: Workload, *, device: str) -> Callable[..., Any]:
    """The target of the performance case, constructed as that asks for. Raises JobFailed."""
    call, how = _performance_case(workload), {"device": device, "seed": 0}
    return make_target(module, workload, making.initial_arguments(module, call, **how), **how)


def performance_call(
    module: ModuleType, workload: Workload, *, device: str, target: Callable[..., Any] | None = None
) -> functools.partial[Any]:
    """Target, made here unless it is given, and arguments of the performance case. Raises JobFailed."""
    call = _performance_case(workload)
    made = target or performance_target(module, workload, device=device)
    how = {"device": device, "seed": 0}
    given = making.from_functions(module, **how) if call is None else making.from_call(call, **how)
    return functools.partial(made, *given.args, **given.kwargs)


def _performance_case(workload: Workload) -> Call | None:
    """The first workload line; None where get_inputs() makes the case."""
    return case_call(workload.cases[0].text) if workload.cases else None
