"""A user's text as something that can be called: loaded as a module, its class constructed, its arguments made."""

import functools
import importlib
import itertools
import linecache
import os
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import torch

from kernelwright.proof.worker import inputs as making
from kernelwright.proof.worker.failed import JobFailed
from kernelwright.proof.worker.raised import failure_of, line_of, scratch_folder, trace_of
from kernelwright.source.workload import WorkloadError, evaluate
from kernelwright.values import Call, Failure, FailureKind, Workload

_numbers = itertools.count(1)


def load_module(path: str, text: str, name: str = "subject") -> ModuleType:
    """`text` run as a module of its own, never as `__main__`.

    The text is written to a scratch file, so that inspect.getsource, Triton and tracebacks find it. Imports see the folder
    of `path`, no longer that of a file loaded before; relative imports work in a package. Raises JobFailed with
    IMPORT_FAILED or MISSING_PACKAGE, the line counted from 0.
    """
    folder = Path(path).resolve().parent
    scratch = scratch_folder() / str(next(_numbers))
    scratch.mkdir()
    file = scratch / (Path(path).name or "subject.py")
    file.write_text(text, encoding="utf-8", errors="surrogatepass")
    package = _package_of(folder)
    module = ModuleType(f"{package + '.' if package else ''}_kernelwright_{name}_{scratch.name}")
    module.__file__ = str(file)
    module.__package__ = package
    _make_importable(folder, package)
    # Classes find their source through sys.modules; the entry also keeps pickling and dataclasses working.
    sys.modules[module.__name__] = module
    try:
        exec(compile(text, str(file), "exec", dont_inherit=True), module.__dict__)
    except (Exception, SystemExit) as error:
        sys.modules.pop(module.__name__, None)
        raise JobFailed(_import_failure(error)) from error
    return module


def unload(module: ModuleType) -> None:
    """Forget a module that load_module made, so that its kernels and tensors can be freed."""
    sys.modules.pop(module.__name__, None)
    if module.__file__ and Path(module.__file__).is_relative_to(scratch_folder()):
        linecache.cache.pop(module.__file__, None)
        shutil.rmtree(Path(module.__file__).parent, ignore_errors=True)


def forget_neighbours(path: str) -> None:
    """Drop imported modules that lie in the folder of `path`, so that the next load sees what is on disk now."""
    importlib.invalidate_caches()
    for name in neighbours(path):
        sys.modules.pop(name, None)


def neighbours(path: str) -> dict[str, Path]:
    """The imported modules that lie in the folder of `path`, with their files; nothing that was installed."""
    folder = Path(path).resolve().parent
    found: dict[str, Path] = {}
    for name, module in list(sys.modules.items()):
        file = getattr(module, "__file__", None) or next(iter(vars(module).get("__path__", ())), None)  # a bare folder
        if isinstance(file, str) and name.split(".")[0] != "kernelwright" and lies_in(folder, file):
            found[name] = Path(file)
    return found


def lies_in(folder: Path, file: str) -> bool:
    """Whether `file` lies in the folder, or below it, and is not part of an installed package."""
    if "site-packages" in file or not Path(file).is_relative_to(folder):
        return False
    return not any(Path(file).is_relative_to(place) for place in (sys.prefix, os.path.dirname(os.__file__)))


def make_target(
    module: ModuleType, workload: Workload, init: making.Inputs, *, device: str, seed: int
) -> Callable[..., Any]:
    """The callable under test: the function itself, or the nn.Module class constructed under `seed` on `device`.

    A module is used as constructed, like KernelBench does: `Model(*get_init_inputs())`, no eval(). `init` are the
    constructor's arguments, of which it gets its own copy. Raises JobFailed.
    """
    entry = getattr(module, workload.entry, None)
    if not callable(entry):
        words = f"The file has no function or class named {workload.entry}, which the workload calls."
        raise making.workload_failed(words)
    if not isinstance(entry, type):
        return entry
    given = init.copied()
    making.seed_everything(seed)
    try:
        with torch.device(device):
            made = entry(*given.args, **given.kwargs)
        # On the CPU it is where it belongs; fake parameters cannot be moved.
        return made.to(device) if isinstance(made, torch.nn.Module) and device != "cpu" else made
    except (Exception, SystemExit) as error:
        failure = failure_of(error, f"Constructing {workload.entry} raised", FailureKind.WORKLOAD_FAILED)
        raise JobFailed(failure) from error


def case_call(text: str) -> Call:
    """The evaluated workload line. Raises JobFailed(WORKLOAD_FAILED) with the evaluator's own sentence."""
    try:
        return evaluate(text)
    except WorkloadError as error:
        raise making.workload_failed(f"The workload line cannot be used: {error.message}") from error


def performance_target(module: ModuleType, workload: Workload, *, device: str) -> Callable[..., Any]:
    """The target of the performance case, constructed as that asks for. Raises JobFailed."""
    call = _performance_case(workload)
    own = call if call is not None and call.init_args is not None else None
    how = {"device": device, "seed": 0}
    return make_target(module, workload, making.initial_arguments(module, own, **how), **how)


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


def _import_failure(error: BaseException) -> Failure:
    line = line_of(error)
    if isinstance(error, ModuleNotFoundError):
        message = (
            f"The file imports {error.name!r}, which {sys.executable} does not have: install it there, or set "
            "kernelwright.interpreter to the Python that has it."
        )
        return Failure(FailureKind.MISSING_PACKAGE, message, trace_of(error), line)
    at = f" at line {line + 1}" if line is not None else ""
    return failure_of(error, f"Importing the file failed{at}:", FailureKind.IMPORT_FAILED)


def _package_of(folder: Path) -> str:
    names: list[str] = []
    while (folder / "__init__.py").exists() and folder.name.isidentifier():
        names.insert(0, folder.name)
        folder = folder.parent
    return ".".join(names)


_importable: list[str] = []  # the folders that the last text imports from, apart from those that were there before


def _make_importable(folder: Path, package: str) -> None:
    root = folder.parents[package.count(".")] if package else folder
    wanted = [str(folder), *([str(root)] if package else [])]
    for place in [place for place in _importable if place not in wanted]:
        _importable.remove(place)
        sys.path.remove(place)
        forget_neighbours(f"{place}/file.py")  # and what was imported from there
    for place in reversed(wanted):
        if place not in sys.path:
            sys.path.insert(0, place)
            _importable.append(place)
