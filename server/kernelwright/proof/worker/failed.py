"""How a job fails inside the worker: one exception that carries the typed Failure, and the words for all the others."""

import errno
import os
import re
import sys
import tempfile
import traceback

from kernelwright.values import Failure, FailureKind

_POISON = re.compile(  # torch ends every CUDA error with advice on "device-side assertions"
    r"illegal memory access|device-side assert(?!ions)|misaligned address|unspecified launch failure|illegal instruction"
    r"|illegal address|hardware stack error|invalid program counter|CUDA_ERROR_ASSERT"
    r"|launch timed out|context is destroyed",
    re.IGNORECASE,
)
_OUT_OF_MEMORY = re.compile(
    r"out of memory|DefaultCPUAllocator: (can't|not enough)|CUDA_ERROR_OUT_OF_MEMORY|CUBLAS_STATUS_ALLOC_FAILED"
    r"|nvmlInit_v2_\(\) INTERNAL ASSERT",  # torch asks who holds the memory, and a confined process may not know
    re.IGNORECASE,
)
_GONE = re.compile(
    r"no CUDA-capable device|No CUDA GPUs are available|busy or unavailable|device unavailable|no NVIDIA driver"
    r"|CUDA unknown error|CUDA error: unknown error|CUDA driver initialization failed|driver shutting down"
    r"|system not yet initialized|unsupported display driver|uncorrectable ECC|0 active drivers"
    r"|GPU is lost|fallen off the bus|Driver/library version mismatch|Driver Not Loaded|initialize NVML",
    re.IGNORECASE,
)
_NEEDS_GPU = re.compile(r"not compiled with CUDA enabled|not linked with support for cuda|not supported without a GPU")
NO_NVCC = "CUDA C++ needs nvcc to be compiled for the GPU: install the CUDA toolkit, or set CUDA_HOME to it."
_NO_GPU_FOR_CUDA = (
    "The file compiles CUDA C++ by {}, which needs nvcc and an NVIDIA GPU, and there is no GPU here: run it where there is "
    "one. Here the kernels in it can be checked by workload lines of their own, kernel<<<grid, block>>>(…)."
)
_COMPILES_CUDA = {
    ("cpp_extension.py", "load_inline"): ("cuda_sources", "load_inline"),
    ("cpp_extension.py", "_jit_compile"): ("with_cuda", "torch.utils.cpp_extension"),
    ("__init__.py", "_compile_kernel"): ("kernel_source", "torch.cuda._compile_kernel"),
}
"""By the file and name of a function of torch's, the variable that tells whether it compiles CUDA C++, and a name for users."""
_FULL = (errno.ENOSPC, errno.EDQUOT)
_OURS = ("torch", "triton", "numpy")  # the packages that the worker itself needs


class JobFailed(Exception):
    """The job has no answer but this Failure. Any handler, and any function that it calls, may raise it."""

    def __init__(self, failure: Failure) -> None:
        super().__init__(failure.message)
        self.failure = failure


def failure_of(error: BaseException, kind: FailureKind = FailureKind.WORKLOAD_FAILED) -> Failure:
    """The Failure for any exception that user code can raise.

    Out of memory, a missing package, a compile error, an exit, a GPU that there is none of or that is gone, and a broken CUDA
    context are told by the exception; everything else is of `kind`.
    """
    if isinstance(error, JobFailed):
        return error.failure
    detail = "".join(traceback.format_exception(error))
    words = f"{type(error).__name__}: {_first_line(error)}".rstrip(": ")
    if isinstance(error, SystemExit):
        return Failure(FailureKind.CRASHED, f"The code ended the process: sys.exit({error.code!r}).", detail)
    if is_out_of_memory(error):
        return Failure(FailureKind.OUT_OF_MEMORY, f"Out of memory: {_first_line(error) or 'host memory'}.", detail)
    compiler = cuda_compiler(error)
    if compiler and not sys.modules["torch"].cuda.is_available():
        return Failure(FailureKind.NO_GPU, _NO_GPU_FOR_CUDA.format(compiler), detail)
    if compiler and "CUDA_HOME" in str(error):
        return Failure(FailureKind.MISSING_TOOL, NO_NVCC, detail)
    if is_gone(error):
        return Failure(FailureKind.DEVICE_GONE, gone(_first_line(error)), detail)
    if needs_gpu(error):
        message = (
            f"The code needs an NVIDIA GPU, and there is none here ({_first_line(error)}): run it where there is one."
        )
        return Failure(FailureKind.NO_GPU, message, detail)
    if isinstance(error, OSError) and error.errno in _FULL:
        message = f"The disk is full ({error.strerror}): free space in {tempfile.gettempdir()}, or set TMPDIR."
        return Failure(FailureKind.DISK_FULL, message, detail)
    if is_poisoned(error):
        message = f"The kernel broke the CUDA context: {_first_line(error)}. Look for an access out of bounds."
        return Failure(FailureKind.CRASHED, message, detail)
    if isinstance(error, ModuleNotFoundError) and (error.name or "").split(".")[0] in _OURS:
        return Failure(FailureKind.MISSING_PACKAGE, missing_package(str(error.name)), detail)
    if type(error).__name__ in ("InterpreterFault", "KernelFault"):
        return Failure(FailureKind.CRASHED, str(error), detail)
    names = {base.__name__ for base in type(error).__mro__}
    if names & {
        "CompilationError",
        "CompileTimeAssertionFailure",
        "OutOfResources",
        "PTXASError",
        "MLIRCompilationError",
    }:
        return Failure(FailureKind.COMPILE_FAILED, f"The kernel does not compile: {words}", detail)
    return Failure(kind, words, detail)


def missing_package(name: str) -> str:
    """One sentence that says how to get the package."""
    package = name.split(".")[0]
    return (
        f"{package} is not installed in {sys.executable}: install it there (`{sys.executable} -m pip install {package}`)"
        " or choose another interpreter in the setting kernelwright.interpreter."
    )


def is_poisoned(error: BaseException) -> bool:
    """Whether the CUDA context of this process is gone, so that every later call would fail too."""
    if isinstance(error, MemoryError | SyntaxError):
        return False
    return isinstance(error, RuntimeError) and bool(_POISON.search(str(error)))


def gone(why: str) -> str:
    """One sentence that says what to do when the GPU cannot be used."""
    return f"The GPU cannot be used ({why}): see what `nvidia-smi` and `kernelwright doctor` say, then try again."


def is_gone(error: BaseException) -> bool:
    """Whether the driver has no GPU for this process, or one that is defective: nothing that a kernel does."""
    from_driver = isinstance(error, RuntimeError) or type(error).__name__.startswith("NVMLError")
    return from_driver and bool(_GONE.search(str(error)))


def needs_gpu(error: BaseException) -> bool:
    """Whether the code asked for what only a GPU has, on a machine without one."""
    return isinstance(error, AssertionError | RuntimeError) and bool(_NEEDS_GPU.search(str(error)))


def cuda_compiler(error: BaseException) -> str:
    """The function of torch's that was compiling CUDA C++ when the error arose; "" where none was."""
    for frame, _ in traceback.walk_tb(error.__traceback__):
        code = frame.f_code
        variable, name = _COMPILES_CUDA.get((os.path.basename(code.co_filename), code.co_name), ("", ""))
        if "torch" in code.co_filename and frame.f_locals.get(variable):
            return name
    return ""


def is_out_of_memory(error: BaseException) -> bool:
    """Host MemoryError, torch.OutOfMemoryError, and the RuntimeErrors that say so."""
    if isinstance(error, MemoryError) or type(error).__name__ == "OutOfMemoryError":
        return True
    return isinstance(error, RuntimeError) and bool(_OUT_OF_MEMORY.search(str(error)))


def _first_line(error: BaseException) -> str:
    lines = [line for line in str(error).splitlines() if line.strip()]
    return lines[0].strip().rstrip(".") if lines else ""
