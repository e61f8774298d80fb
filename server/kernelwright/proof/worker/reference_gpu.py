"""What launchers ask of torch.cuda and of Triton's driver, as an H100 answers it, for machines without a GPU.

Its ceilings are those of the device that facts are compiled for (`values.targets`).
"""

import contextlib
from collections.abc import Callable, Mapping
from types import SimpleNamespace
from typing import Any

from kernelwright.values.targets import DEFAULT_TARGET

CAPABILITY = DEFAULT_TARGET.compute_capability
SHARED_MEMORY = 232448  # bytes that a block may ask for
REGISTERS = 65536  # of one multiprocessor
WARP = 32

TRITON_PROPERTIES: Mapping[str, int] = {
    "max_shared_mem": SHARED_MEMORY,
    "max_num_regs": REGISTERS,
    "multiprocessor_count": DEFAULT_TARGET.multiprocessors,
    "warpSize": WARP,
    "sm_clock_rate": 1980000,
    "mem_clock_rate": 2619000,
    "mem_bus_width": 5120,
}
_TORCH_PROPERTIES: Mapping[str, Any] = {
    "multi_processor_count": DEFAULT_TARGET.multiprocessors,
    "warp_size": WARP,
    "max_threads_per_multi_processor": 2048,
    "max_threads_per_block": 1024,
    "regs_per_multiprocessor": REGISTERS,
    "shared_memory_per_block": 49152,
    "shared_memory_per_block_optin": SHARED_MEMORY,
    "shared_memory_per_multiprocessor": 233472,
    "total_memory": DEFAULT_TARGET.memory_bytes,
    "L2_cache_size": DEFAULT_TARGET.l2_bytes,
    "is_integrated": 0,
    "is_multi_gpu_board": 0,
    "gcnArchName": "",
}


class NotSupported(NotImplementedError):
    """What a GPU does and nothing here stands for."""


class Device(contextlib.nullcontext[None]):
    """Stands for torch.cuda.device, and for what else is entered and changes nothing."""

    def __init__(self, device: Any = None) -> None:
        super().__init__()
        self.idx, self.prev_idx = 0, -1


def answers(capability: int, name: str) -> dict[str, Callable[..., Any]]:
    """What torch.cuda answers, by the function's name, on a GPU of this compute capability and name."""
    major, minor = divmod(capability, 10)
    properties = SimpleNamespace(**_TORCH_PROPERTIES, name=name, major=major, minor=minor)
    return {
        "device": Device,
        "current_device": lambda: 0,
        "device_count": lambda: 1,
        "synchronize": lambda device=None: None,
        "get_device_capability": lambda device=None: (major, minor),
        "get_device_name": lambda device=None: name,
        "get_device_properties": lambda device=None: properties,
    }
