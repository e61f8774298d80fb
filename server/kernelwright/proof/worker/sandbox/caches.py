"""Where compilers and temporary files go: below the scratch folder, whatever the user's environment says.

A cache that another process writes too would let one candidate leave a compiled kernel for the other.
"""

import os
import sys
from pathlib import Path

_FOLDERS = {
    "TMPDIR": "tmp",
    "TRITON_CACHE_DIR": "triton",
    "TORCHINDUCTOR_CACHE_DIR": "inductor",
    "TORCH_EXTENSIONS_DIR": "extensions",
    "CUDA_CACHE_PATH": "cuda",  # the driver's own, for PTX
    "CUPY_CACHE_DIR": "cupy",
    "NUMBA_CACHE_DIR": "numba",
    "FLAGGEMS_CACHE_DIR": "flaggems",  # where it writes the Triton kernels that it makes
    "MPLCONFIGDIR": "matplotlib",
}


def variables(folder: Path) -> dict[str, str]:
    """The environment variables that move every cache and temporary file below `folder`."""
    return {name: str(folder / place) for name, place in _FOLDERS.items()}


def of_triton(folder: Path) -> Path:
    """Where Triton's kernels are kept below `folder`."""
    return folder / _FOLDERS["TRITON_CACHE_DIR"]


def move_to(folder: Path) -> None:
    """Make the folders, and let this process and all that it starts use them. Raises OSError."""
    for name, place in variables(folder).items():
        os.makedirs(place, exist_ok=True)
        os.environ[name] = place
    if "tempfile" in sys.modules:
        sys.modules["tempfile"].tempdir = None  # asked again, it reads TMPDIR
