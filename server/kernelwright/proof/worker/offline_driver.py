"""A Triton driver where there is no GPU: enough for autotuning, for compiling, and for launchers that ask what is here."""

from types import SimpleNamespace
from typing import Any

import torch
from triton.backends.compiler import GPUTarget
from triton.runtime.driver import driver

from kernelwright.proof.worker.reference_gpu import TRITON_PROPERTIES


class OfflineDriver:
    """Stands for a CUDA device of `capability` (90 for sm_90) whose tensors lie on `device`."""

    def __init__(self, capability: int, device: str) -> None:
        self._target = GPUTarget("cuda", capability, 32)
        self._device = device
        self.utils = SimpleNamespace(get_device_properties=lambda device=0: dict(TRITON_PROPERTIES))

    def get_current_device(self) -> int:
        return 0

    def set_current_device(self, device: Any) -> None:
        """There is only one."""

    def get_current_stream(self, device: Any = None) -> int:
        return 0

    def get_current_target(self) -> Any:
        return self._target

    def get_active_torch_device(self) -> Any:
        return torch.device(self._device)

    def get_device_interface(self) -> Any:
        return torch.cuda

    def get_device_capability(self, device: Any = 0) -> tuple[int, int]:
        return divmod(self._target.arch, 10)

    def get_benchmarker(self) -> Any:
        return lambda call, quantiles=None, **named: [1.0] * len(quantiles) if quantiles else 1.0

    def get_empty_cache_for_benchmark(self) -> Any:
        return torch.empty(1)

    def clear_cache(self, cache: Any) -> None:
        """Nothing is timed here."""


def install(capability: int, device: str) -> None:
    """Make it the active driver of this process."""
    driver.set_active(OfflineDriver(capability, device))
