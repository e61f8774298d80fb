"""Memory that judge and host both see, through which tensors cross: CUDA IPC on a GPU, a shared file elsewhere.

An arena is allocated by itself, never from torch's pool: a host that opens it must not see the judge's other tensors.
"""

import contextlib
import ctypes
import mmap
import os
import tempfile
from collections.abc import Callable
from dataclasses import dataclass

import torch

from kernelwright.proof.worker.driver import as_tensor, driver


@dataclass(frozen=True)
class Handle:
    """How another process opens an arena of `size` bytes. Without `ipc` it is the shared file sent beside the handle."""

    size: int
    ipc: bytes = b""


@dataclass
class Arena:
    """Such memory as a flat uint8 tensor `bytes`, on the GPU where processes can share its memory, else on the host.

    `descriptor`: the shared file, where this process owns it.
    """

    bytes: torch.Tensor
    release: Callable[[], object] = lambda: None
    handle: Handle = Handle(0)
    descriptor: int | None = None

    def close(self) -> None:
        """Let go of it; views of it must not be used any more. GPU memory is free only when all who opened it have done so."""
        del self.bytes
        self.release()


def make_arena(size: int, device: str) -> Arena:
    """An arena that this process owns. On CUDA without IPC it lies in host memory. Raises torch.OutOfMemoryError."""
    size = max(size, 1 << 12)
    if device == "cuda":
        with contextlib.suppress(_NoIpc):
            return _cuda_arena(size)
    descriptor = _shared_file(size)
    return Arena(_mapped(descriptor, size), lambda: os.close(descriptor), Handle(size), descriptor)


def open_arena(handle: Handle, descriptor: int | None) -> Arena:
    """The arena of another process. Raises RuntimeError when CUDA refuses."""
    if handle.ipc:
        torch.cuda.synchronize()  # makes the context that the driver's calls below work in
        opened = ctypes.c_uint64()
        code = driver().cuIpcOpenMemHandle_v2(ctypes.byref(opened), _IpcHandle.from_buffer_copy(handle.ipc), 1)
        if code != 0:
            raise RuntimeError(f"CUDA driver error {code} while opening memory shared between processes")
        return Arena(as_tensor(opened.value, handle.size), lambda: _close_ipc(opened))
    assert descriptor is not None
    mapped = _mapped(descriptor, handle.size)
    os.close(descriptor)
    return Arena(mapped)


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
    free = lambda: cuda.cuMemFree_v2(address)
    return Arena(as_tensor(address.value, size), free, Handle(size, bytes(shared.reserved)))


def _close_ipc(opened: ctypes.c_uint64) -> None:
    torch.cuda.synchronize()
    driver().cuIpcCloseMemHandle(opened)


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
