"""Opens a library of compiled CUDA C++ with what it calls of NVIDIA's own: cuBLAS and the like, wherever they are installed."""

import ctypes
import os
import re
import shutil
from collections.abc import Iterator
from pathlib import Path

_UNDEFINED = re.compile(r"undefined symbol: (\w+)")
_LIBRARIES = {
    "cublasLt": "libcublasLt",
    "cublas": "libcublas",
    "curand": "libcurand",
    "cufft": "libcufft",
    "cusparse": "libcusparse",
    "cusolver": "libcusolver",
    "cudnn": "libcudnn",
    "nccl": "libnccl",
    "nvrtc": "libnvrtc",
    "cu": "libcuda",
}
"""By what the names of their functions begin with, the longest first."""


def opened(library: Path) -> ctypes.CDLL:
    """The library, after those that define what it lacks, one after the other. Raises OSError with a sentence."""
    tried = set[str]()
    while True:
        try:
            return ctypes.CDLL(str(library))
        except OSError as error:
            missing = _UNDEFINED.search(str(error))
            stem = _library_of(missing[1]) if missing is not None else ""
            if missing is None or not stem or stem in tried:
                raise
            tried.add(stem)
            if not any(_opened_for_all(file) for file in _places(stem)):
                raise OSError(f"it calls {missing[1]}, and {stem}.so is not found here") from error


def _library_of(symbol: str) -> str:
    return next((stem for start, stem in _LIBRARIES.items() if symbol.startswith(start)), "")


def _opened_for_all(file: str) -> bool:
    """Open a library whose names other libraries may use."""
    try:
        ctypes.CDLL(file, mode=ctypes.RTLD_GLOBAL)
    except OSError:
        return False
    return True


def _places(stem: str) -> Iterator[str]:
    """Where a library may be: what this process has open already, beside nvcc, and where the linker looks."""
    mapped = Path("/proc/self/maps")
    for line in mapped.read_text().splitlines() if mapped.exists() else ():
        path = line.partition("/")
        if Path(path[2]).name.startswith(f"{stem}.so"):
            yield f"/{path[2]}"
    nvcc = shutil.which("nvcc") or "/usr/local/cuda/bin/nvcc"
    homes = (os.environ.get("CUDA_HOME"), os.environ.get("CUDA_PATH"), str(Path(nvcc).resolve().parents[1]))
    for home in filter(None, homes):
        yield from (str(Path(home, folder, f"{stem}.so")) for folder in ("lib64", "lib"))
    yield f"{stem}.so"
