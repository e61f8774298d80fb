"""What of the toolchain is here, and one sentence on how to mend each gap."""

import asyncio
import importlib.util
import os
import shutil
import sys
from dataclasses import dataclass
from pathlib import Path

from kernelwright import words
from kernelwright.journal import open_journal
from kernelwright.journal.opening import FOLDER, is_begun
from kernelwright.proof.client import Workers
from kernelwright.proof.worker.sandbox import landlock
from kernelwright.values import Device, Failure, FailureKind, Refusal


@dataclass(frozen=True)
class DoctorLine:
    name: str
    found: bool
    detail: str
    remedy: str = ""


async def examine(workers: Workers, workspace: Path) -> tuple[DoctorLine, ...]:
    """One line each for the interpreter, torch, Triton, the GPU, the tools, the sandbox, z3, models and the journal."""
    device = await workers.device()
    tools = await asyncio.to_thread(lambda: tuple(_tool(*tool) for tool in _TOOLS))
    return (
        *_interpreter_lines(workers.interpreter, device),
        *tools,
        _sandbox(),
        _indices(),
        _models(workspace),
        _journal(workspace),
    )


def _interpreter_lines(interpreter: str, device: Device | Failure) -> tuple[DoctorLine, ...]:
    choose = "Set kernelwright.interpreter to the Python of your project."
    if isinstance(device, Failure) and device.kind is FailureKind.DEVICE_GONE:
        mend = "Mend what nvidia-smi reports, or start with CUDA_VISIBLE_DEVICES= (empty) to work on the CPU."
        return (DoctorLine("GPU", False, device.message, mend),)
    if isinstance(device, Failure):
        return (DoctorLine("interpreter", False, device.message, choose),)
    install = f"Install it with: {interpreter} -m pip install"
    return (
        DoctorLine("interpreter", True, f"Python {device.python} at {interpreter}"),
        DoctorLine("torch", device.torch is not None, device.torch or "", f"{install} torch"),
        DoctorLine("triton", device.triton is not None, device.triton or "", f"{install} triton"),
        DoctorLine(
            "GPU",
            device.is_gpu,
            device.name if device.is_gpu else "",
            "Kernels are verified on the CPU and Triton's interpreter; speed of GPU code is not measured.",
        ),
    )


_TOOLS = (
    (("nvcc", "/usr/local/cuda/bin/nvcc"), "CUDA compiler", "Install the CUDA toolkit to compile CUDA C++ with nvcc."),
    (("g++", "clang++", "c++"), "C++ compiler", "Install g++ (`apt install g++`) to check CUDA C++ without a GPU."),
)


def _tool(commands: tuple[str, ...], name: str, remedy: str) -> DoctorLine:
    path = next((path for command in commands if (path := shutil.which(command))), None)
    return DoctorLine(name, path is not None, path or "", remedy)


def _sandbox() -> DoctorLine:
    """Of the sandbox's means only Landlock depends on the system; what held of all is in each verdict."""
    version = landlock.version() if sys.platform == "linux" else 0
    remedy = "Use Linux 6.2 or newer with Landlock enabled: kernels that are tried may write to your files without it."
    return DoctorLine("sandbox", version >= landlock.TRUNCATION, f"Landlock {version}" if version else "", remedy)


def _indices() -> DoctorLine:
    found = importlib.util.find_spec("z3") is not None
    remedy = "Install kernelwright[z3] to have indices of CUDA kernels checked for bounds and write races."
    return DoctorLine("z3", found, "checks indices of CUDA kernels" if found else "", remedy)


def _models(workspace: Path) -> DoctorLine:
    """Whether hosted models can be asked, and what asking any has taken in this workspace."""
    found = importlib.util.find_spec("litellm") is not None
    detail = "litellm" if found else "not needed: the strategies here work without a model"
    opened = open_journal(workspace) if is_begun(workspace) else None
    if opened is not None and not isinstance(opened, Refusal):
        with opened as journal:
            spent = [f"{model}: {words.of_usage(usage)}" for model, usage in journal.spent().items()]
        detail = "; ".join([detail, *spent])
    return DoctorLine("language models", found, detail, "Install kernelwright[llm] to let a model write rewrites.")


def _journal(workspace: Path) -> DoctorLine:
    """Looks without beginning a journal where there is none."""
    folder = workspace / FOLDER
    if is_begun(workspace):
        journal = open_journal(workspace)
        if isinstance(journal, Refusal):
            return DoctorLine("journal", False, journal.reason, "Open a folder that you can write to.")
        with journal:
            return DoctorLine("journal", journal.persistent, journal.notice or str(folder), "Make the folder writable.")
    if not workspace.is_dir():
        return DoctorLine("journal", False, f"{workspace} is not a folder", "Open a folder that you can write to.")
    if folder.exists() and not folder.is_dir():
        return DoctorLine("journal", False, f"{folder} is not a folder", "Move that file away.")
    home = folder if folder.exists() else workspace
    if not os.access(home, os.W_OK | os.X_OK):
        return DoctorLine("journal", False, f"{home} is read-only", "Make the folder writable, to keep the history.")
    return DoctorLine("journal", True, f"{folder}, begun with the first step that is kept on disk")
