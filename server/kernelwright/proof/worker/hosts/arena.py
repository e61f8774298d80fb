"""Memory that judge and host both see, through which tensors cross: CUDA IPC on a GPU, a shared file elsewhere.

An arena is allocated by itself, never from torch's pool: a host that opens it must not see the judge's other tensors.
"""

import contextlib
import ctypes
import mmap
import os
import tempfile
from dataclasses import dataclass

import torch

from kernelwright.proof.worker.driver import as_tensor, driver


@dataclass(frozen=True)
class Handle:
    """How another process opens an arena of `size` bytes. Without `ipc` it is the shared file sent beside the handle."""

    size: int
    ipc: bytes = b""


class Arena:
    """`size` bytes as a flat uint8 tensor `bytes`, on the GPU where processes can share its memory, else on the host."""

    def __init__(self, bytes_: torch.Tensor, handle: Handle, descriptor: int | None, address: int = 0) -> None:
        self.bytes = bytes_
        self.handle = handle
        self.descriptor = descriptor  # of the shared file; None for GPU memory
        self._address = address

    @property
    def size(self) -> int:
        return self.handle.size

    def close(self) -> None:
        """Give the memory back; views of it must not be used any more."""
        del self.bytes
        if self.descriptor is not None:
            os.close(self.descriptor)
        if self._address:
            driver().cuMemFree_v2(ctypes.c_uint64(self._address))


def make_arena(size: int, device: str) -> Arena:
    """An arena that this process owns. On CUDA without IPC it lies in host memory. Raises torch.OutOfMemoryError."""
    size = max(size, 1 << 12)
    if device == "cuda":
        with contextlib.suppress(_NoIpc):
            return _cuda_arena(size)
    descriptor = _shared_file(size)
    return Arena(_mapped(descriptor, size), Handle(size), descriptor)


class OpenedArena:
    """Another process's arena, as a flat uint8 tensor `bytes`."""

    def __init__(self, bytes_: torch.Tensor, address: int = 0) -> None:
        self.bytes = bytes_
        self._address = address

    def close(self) -> None:
        """Let go of it; views of it must not be used any more. GPU memory is free only when all who opened it have done so."""
        del self.bytes
        if self._address:
            torch.cuda.synchronize()
            driver().cuIpcCloseMemHandle(ctypes.c_uint64(self._address))


def open_arena(handle: Handle, descriptor: int | None) -> OpenedArena:
    """The arena of another process. Raises RuntimeError when CUDA refuses."""
    if handle.ipc:
        torch.cuda.synchronize()  # makes the context that the driver's calls below work in
        opened = ctypes.c_uint64()
        _check(driver().cuIpcOpenMemHandle_v2(ctypes.byref(opened), _IpcHandle.from_buffer_copy(handle.ipc), 1))
        return OpenedArena(as_tensor(opened.value, handle.size), opened.value)
    assert descriptor is not None
    mapped = _mapped(descriptor, handle.size)
    os.close(descriptor)
    return OpenedArena(mapped)


class _NoIpc(Exception):
    """The driver does not share memory between processes here."""


class _IpcHandle(ctypes.Structure):
    _fields_ = (("reserved", ctypes.c_ubyte * 64),)


def _cuda_arena(size: int) -> Arena:
    torch.cuda.synchronize()
    cuda, address, shared = driver(), ctypes.c_uint64(), _IpcHandle()
    if cuda.cuMemAlloc_v2(ctypes.byref(address), ctypes.c_size_t(size)) != 0:
        torch.cuda.empty_cache()  # what torch keeps for later may be all that is missing
        if cuda.cuMemAlloc_v2(ctypes.byref(address), ctypes.c_size_t(size)) != 0:
            raise torch.OutOfMemoryError(f"no {size} bytes of GPU memory for the exchange between processes")
    if cuda.cuIpcGetMemHandle(ctypes.byref(shared), address) != 0:
        cuda.cuMemFree_v2(address)
        raise _NoIpc
    return Arena(as_tensor(address.value, size), Handle(size, bytes(shared.reserved)), None, address.value)


def _check(code: int) -> None:
    if code != 0:
        raise RuntimeError(f"CUDA driver error {code} while opening memory shared between processes")


def _shared_file(size: int) -> int:
    if not hasattr(os, "memfd_create"):
        with tempfile.TemporaryFile() as file:
            descriptor = os.dup(file.fileno())
        os.ftruncate(descriptor, size)
        return descriptor
    import fcntl

    descriptor = os.memfd_create("kernelwright", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
    os.ftruncate(descriptor, size)
    with contextlib.suppress(OSError):  # a kernel without seals
        # Whoever cut it off would end the other process, with a bus error.
        fcntl.fcntl(descriptor, fcntl.F_ADD_SEALS, fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW | fcntl.F_SEAL_SEAL)
    return descriptor


def _mapped(descriptor: int, size: int) -> torch.Tensor:
    return torch.frombuffer(mmap.mmap(descriptor, size), dtype=torch.uint8)
