"""GPU memory in whole pages between addresses that nothing is mapped to: whoever reads or writes there is stopped by the GPU.

The driver's virtual memory management: https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__VA.html
"""

import contextlib
import ctypes
import functools
from collections.abc import Iterator
from dataclasses import dataclass

import torch

from kernelwright.proof.worker.driver import driver

_UNMAPPED = 64 << 20  # bytes on either side: what runs over a tensor by a block of rows still ends there
_SUPPORTED = 102  # CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED
_PINNED, _ON_DEVICE, _READ_AND_WRITE = 1, 1, 3  # CU_MEM_ALLOCATION_TYPE_, CU_MEM_LOCATION_TYPE_, CU_MEM_ACCESS_FLAGS_


class NoPages(Exception):
    """The driver gives none: in words."""


@dataclass(frozen=True)
class Pages:
    """`size` bytes at `address`, mapped from `handle`, within a larger range of addresses."""

    address: int
    size: int
    handle: int


class _Location(ctypes.Structure):
    _fields_ = (("type", ctypes.c_int), ("id", ctypes.c_int))


class _Properties(ctypes.Structure):
    _fields_ = (
        ("type", ctypes.c_int),
        ("handle_types", ctypes.c_int),
        ("location", _Location),
        ("metadata", ctypes.c_void_p),
        ("flags", ctypes.c_ubyte * 8),
    )


class _Access(ctypes.Structure):
    _fields_ = (("location", _Location), ("flags", ctypes.c_int))


@functools.cache
def page_size() -> int:
    """Bytes of which every mapping is a multiple. Raises NoPages."""
    torch.cuda.synchronize()  # makes the context that the driver's calls work in
    supported, size = ctypes.c_int(), ctypes.c_size_t()
    with _told():
        _check(driver().cuDeviceGetAttribute(ctypes.byref(supported), _SUPPORTED, torch.cuda.current_device()))
        if not supported.value:
            raise NoPages("this GPU has no virtual memory management")
        _check(driver().cuMemGetAllocationGranularity(ctypes.byref(size), ctypes.byref(_properties()), 0))
    return size.value


def mapped(size: int) -> Pages:
    """`size` bytes, a multiple of `page_size()`, with nothing mapped before and behind them. Raises NoPages."""
    cuda, base, handle = driver(), ctypes.c_uint64(), ctypes.c_uint64()
    access = _Access(_Location(_ON_DEVICE, torch.cuda.current_device()), _READ_AND_WRITE)
    whole = ctypes.c_size_t(size + 2 * _UNMAPPED)
    bytes_, nothing = ctypes.c_size_t(size), ctypes.c_ulonglong(0)
    with contextlib.ExitStack() as undo, _told():
        _check(cuda.cuMemAddressReserve(ctypes.byref(base), whole, ctypes.c_size_t(0), ctypes.c_uint64(0), nothing))
        undo.callback(cuda.cuMemAddressFree, base, whole)
        _check(cuda.cuMemCreate(ctypes.byref(handle), bytes_, ctypes.byref(_properties()), nothing))
        undo.callback(cuda.cuMemRelease, handle)
        address = ctypes.c_uint64(base.value + _UNMAPPED)
        _check(cuda.cuMemMap(address, bytes_, ctypes.c_size_t(0), handle, nothing))
        undo.callback(cuda.cuMemUnmap, address, bytes_)
        _check(cuda.cuMemSetAccess(address, bytes_, ctypes.byref(access), ctypes.c_size_t(1)))
        undo.pop_all()
    return Pages(address.value, size, handle.value)


def unmap(pages: Pages) -> None:
    """Give the pages back. Nothing on the GPU may use them any more."""
    cuda = driver()
    cuda.cuMemUnmap(ctypes.c_uint64(pages.address), ctypes.c_size_t(pages.size))
    cuda.cuMemRelease(ctypes.c_uint64(pages.handle))
    cuda.cuMemAddressFree(ctypes.c_uint64(pages.address - _UNMAPPED), ctypes.c_size_t(pages.size + 2 * _UNMAPPED))


def _properties() -> _Properties:
    return _Properties(type=_PINNED, location=_Location(_ON_DEVICE, torch.cuda.current_device()))


@contextlib.contextmanager
def _told() -> Iterator[None]:
    try:
        yield
    except (OSError, AttributeError) as error:  # no driver, or one that is older than these calls
        raise NoPages(f"the driver cannot map pages ({error})") from error


def _check(code: int) -> None:
    if code != 0:
        raise NoPages(f"the driver gives no pages (CUDA error {code})")
