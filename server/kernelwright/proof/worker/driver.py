"""The CUDA driver's library, for the few calls that torch does not make."""

import ctypes
import functools


@functools.cache
def driver() -> ctypes.CDLL:
    """libcuda. Its calls work in the context that torch has made current. Raises OSError where there is none."""
    return ctypes.CDLL("libcuda.so.1")
