"""The worker's loop: take a job from the private pipe, let its handler answer, send the answer."""

import contextlib
import gc
import importlib
import importlib.util
import os
import select
import socket
import sys
from collections.abc import Callable
from typing import BinaryIO

from kernelwright.proof.jobs import (
    Answer,
    Capture,
    Compile,
    Contest,
    Job,
    Probe,
    Profile,
    Race,
    Trial,
    TrialResult,
    TryLines,
)
from kernelwright.proof.worker import aftermath, failed, lifetime
from kernelwright.proof.worker.frames import (
    HEADER,
    Hello,
    Ping,
    Pong,
    Ready,
    Reply,
    Request,
    Stage,
    body_length,
    pack,
    unpack,
)
from kernelwright.values import Failure, FailureKind

Report = Callable[[str], None]
Handler = Callable[[Job, Report], Answer]

# Imported when first needed: (module in this package, function).
HANDLERS: dict[type, tuple[str, str]] = {
    Probe: ("probe", "probe"),
    Capture: ("graph.capture", "capture"),
    Compile: ("compiling.compile", "compile_subject"),
    Trial: ("trial", "run_trial"),
    Race: ("clock.race", "run_race"),
    Contest: ("clock.contest", "run_contest"),
    Profile: ("attribution.profile", "run_profile"),
    TryLines: ("trying", "try_lines"),
}


# The second is what a capture imports with its first fake tensor, and takes as long as torch itself.
_AHEAD = {
    "run": (
        f"{__package__}.graph.capture",
        "torch._inductor.config",
        f"{__package__}.attribution.profile",
        f"{__package__}.clock.race",
    ),
    # torch imports the second, which takes 0.4 s, for the first get_inputs() on the meta device.
    "judge": (f"{__package__}.trial", "torch.fx.experimental.symbolic_shapes"),
}
_QUIET = 0.5  # seconds without a first job after which there is time
_LINGERING = (FailureKind.OUT_OF_MEMORY, FailureKind.CRASHED, FailureKind.DEVICE_GONE)
_owner = 0  # the process that serves the pipe


def handler_of(job: Job) -> Handler:
    """The function that answers this kind of job."""
    module, function = HANDLERS[type(job)]
    return getattr(importlib.import_module(f"{__package__}.{module}"), function)


def main(descriptor: int, role: str, server: int) -> None:
    """Serve jobs on the socket `descriptor` until the process `server` closes it.

    `role` is "run", "compile", or "judge": a process in which candidates never run, since it forks hosts for them.
    """
    lifetime.bind_to_server(descriptor, server)
    global _owner
    _owner = os.getpid()
    pipe = socket.socket(fileno=descriptor)
    requests = pipe.makefile("rb")
    _send(pipe, Hello())
    gc.disable()  # what imports make is there to stay: looking through it again and again takes a tenth of their time
    gpu = prepare(role)
    if role == "judge":
        from kernelwright.proof.worker.hosts.zygote import fork_zygote
        from kernelwright.proof.worker.sandbox import limits

        fork_zygote(close=(descriptor,))
        limits.keep_private()
    before = aftermath.note()
    _send(pipe, Ready(gpu))
    if not select.select([pipe], [], [], _QUIET)[0]:
        _import_ahead(role)
    gc.freeze()  # else each collection before a timing looks through it, for 50 ms
    gc.enable()
    while (request := _receive(requests)) is not None:
        if isinstance(request, Ping):
            if not _can_fork():
                return
            _send(pipe, Pong(request.id))
            continue
        answer, spent = answer_of(request.job, lambda words, id=request.id: _send(pipe, Stage(id, words)), gpu)
        # Candidates' processes are adopted by the judge; what ran in a worker of another role may linger in it.
        left = aftermath.settle(before, end_children=role == "judge")
        if left:
            print(f"This worker is not used again: {left}.", file=sys.__stderr__)
        if not _can_fork():
            left, answer = "no zygote", _without_zygote(answer)
        lifetime.flush_prints()
        _send(pipe, Reply(request.id, answer, spent or bool(left)))
        _bury()


def _import_ahead(role: str) -> None:
    """What the first job would import, for which a spare has the time. What is missing is the job's to tell."""
    for name in _AHEAD.get(role, ()):
        with contextlib.suppress(Exception):
            importlib.import_module(name)


def zygote_main(descriptor: int, parent: int) -> None:
    """Be the zygote of a process that did not fork its own at the start."""
    from kernelwright.proof.worker.hosts.zygote import serve

    gc.disable()
    prepare("zygote")
    serve(socket.socket(fileno=descriptor), parent)


def prepare(role: str) -> bool:
    """Import torch, and choose between Triton's compiler and its interpreter while that can still be chosen.

    Triton reads TRITON_INTERPRET when a function is decorated, its own library functions included. A package that is
    missing or broken is left for the job that needs it, which then says so. True when the process is one for a GPU.
    """
    if role == "compile":
        os.environ.pop("TRITON_INTERPRET", None)
    try:
        import torch
    except (ImportError, OSError):
        return False
    with contextlib.suppress(ImportError):
        import numpy.random  # noqa: F401  (else every host imports it for itself)
    gpu = False
    if role != "compile":
        # Asked of NVML: the runtime would initialise CUDA, which a process that forks hosts must leave alone.
        os.environ["PYTORCH_NVML_BASED_CUDA_CHECK"] = "1"
        gpu = torch.cuda.is_available()
        if gpu:
            os.environ.pop("TRITON_INTERPRET", None)
        else:
            os.environ["TRITON_INTERPRET"] = "1"
    try:
        import triton  # noqa: F401
    except (ImportError, OSError):
        return gpu
    if os.environ.get("TRITON_INTERPRET") == "1":
        from kernelwright.proof.worker.interpreter import hardened

        hardened.install()
    return gpu


def answer_of(job: Job, report: Report, gpu: bool = False) -> tuple[Answer, bool]:
    """The handler's answer, or the Failure in its place; and whether this process must not be used again.

    `gpu` says that the process was prepared for one: without it, nothing that the job says would be of that GPU.
    """
    missing = None if isinstance(job, Probe) else _missing()
    if missing is not None:
        return missing, False
    if gpu and not sys.modules["torch"].cuda.is_available():
        return Failure(FailureKind.DEVICE_GONE, failed.gone("it was there when the worker started")), True
    try:
        answer = handler_of(job)(job, report)
    except BaseException as error:  # noqa: BLE001  (user code raises anything; it is typed here)
        answer = failed.failure_of(error)
    poison = _poison()
    if poison is not None and (poison.kind is FailureKind.DEVICE_GONE or _looks_fine(answer)):
        return poison, True
    held = isinstance(answer, Failure) and answer.kind in _LINGERING
    if isinstance(job, Trial) and isinstance(answer, Failure) and answer.kind is FailureKind.CRASHED:
        held = False  # what crashed in a trial was the candidate's own process
    return answer, held or poison is not None


def _bury() -> None:
    """Wait for the processes of a trial to be gone, now that nobody waits for its verdict."""
    contender = sys.modules.get(f"{__package__}.hosts.contender")
    if contender is not None:
        contender.bury()


def _can_fork() -> bool:
    """Whether the zygote of a judge is there; also for a process that has none and needs none."""
    zygote = sys.modules.get(f"{__package__}.hosts.zygote")
    return zygote is None or zygote.is_there()


def _without_zygote(answer: Answer) -> Answer:
    """A Failure of a trial whose processes were taken away says so, whatever it looked like from inside."""
    if not isinstance(answer, Failure):
        return answer
    message = "The process that candidates are started from was ended or stopped from outside: try again."
    return Failure(FailureKind.CRASHED, message, f"{answer.message}\n{answer.detail}")


def _missing() -> Failure | None:
    if importlib.util.find_spec("torch") is None:
        return Failure(FailureKind.MISSING_PACKAGE, failed.missing_package("torch"))
    try:
        import numpy  # noqa: F401
        import torch  # noqa: F401
    except ModuleNotFoundError as error:
        return failed.failure_of(error)
    except (ImportError, OSError) as error:
        message = f"torch does not import in {sys.executable} ({error}): repair it, or choose another interpreter."
        return Failure(FailureKind.MISSING_PACKAGE, message, failed.failure_of(error).detail)
    return None


def _poison() -> Failure | None:
    """The Failure of a CUDA context that is gone: a sticky error also fails the next synchronisation. Frees its memory."""
    torch = sys.modules.get("torch")
    if torch is None or not torch.cuda.is_available() or not torch.cuda.is_initialized():
        return None
    try:
        torch.cuda.synchronize()
        # A worker that waits for the next job leaves the GPU's memory to others.
        gc.collect()
        torch.cuda.empty_cache()
    except RuntimeError as error:
        return failed.failure_of(error, FailureKind.CRASHED)
    return None


def _looks_fine(answer: Answer) -> bool:
    """An answer that blames nobody cannot stand when the device has failed meanwhile."""
    if isinstance(answer, TrialResult):
        return answer.verdict.passed
    return not isinstance(answer, Failure)


def _send(pipe: socket.socket, frame: Hello | Ready | Stage | Reply | Pong) -> None:
    if os.getpid() != _owner:
        os._exit(0)  # a child that user code forked, and that came back up the stack
    pipe.sendall(pack(frame))


def _receive(requests: BinaryIO) -> Request | Ping | None:
    """The next request; None when the server closed the pipe."""
    header = requests.read(HEADER.size)
    if len(header) < HEADER.size:
        return None
    length = body_length(header)
    body = requests.read(length)
    frame = unpack(body) if len(body) == length else None
    return frame if isinstance(frame, Request | Ping) else None
