"""The CUDA driver's library, for the few calls that torch does not make, and its memory as torch's tensors."""

import ctypes
import functools

import torch


@functools.cache
def driver() -> ctypes.CDLL:
    """libcuda. Its calls work in the context that torch has made current. Raises OSError where there is none."""
    return ctypes.CDLL("libcuda.so.1")


def as_tensor(address: int, size: int, owner: object = None) -> torch.Tensor:
    """Device memory as a flat uint8 tensor, without a copy; `owner` lives as long as the tensor's storage."""
    return torch.as_tensor(_Memory(address, size, owner), device="cuda")


class _Memory:
    """What torch.as_tensor takes, and keeps."""

    def __init__(self, address: int, size: int, owner: object) -> None:
        self._owner = owner
        self.__cuda_array_interface__ = {
            "shape": (size,),
            "typestr": "|u1",
            "data": (address, False),
            "version": 3,
        }
