"""In what state the GPU was when it was measured: its clock and temperature, what held the clock down, and who else used it."""

import os
from collections.abc import Collection
from dataclasses import dataclass

from kernelwright.proof.worker import processes

_HELD_DOWN = {  # NVML's reasons for a lower clock that say something about a measurement
    "SwPowerCap": "the power limit",
    "HwSlowdown": "the hardware's slowdown",
    "HwThermalSlowdown": "heat",
    "SwThermalSlowdown": "heat",
    "HwPowerBrakeSlowdown": "the power brake",
    "ApplicationsClocksSetting": "the clocks that somebody set",
}


@dataclass(frozen=True)
class GpuState:
    """SM clock in MHz, temperature in degrees Celsius, why the clock was not higher, and the processes on the GPU."""

    clock: int
    heat: int
    held_down_by: tuple[str, ...]
    processes: frozenset[int]

    def described(self, own: Collection[int]) -> dict[str, str]:
        """For the conditions of a measurement. `own`: this process and its relatives; where NVML lists other numbers than
        this system's, as in a container, nothing is known of the others."""
        held = f", held down by {' and '.join(self.held_down_by)}" if self.held_down_by else ""
        others = len(self.processes - set(own))
        if not self.processes & set(own):
            sharing = "not known here"
        else:
            sharing = "none" if others == 0 else f"{others}, which may slow the measured one down"
        return {"SM clock": f"{self.clock} MHz{held}", "temperature": f"{self.heat} C", "other processes": sharing}


def gpu_conditions(uuid: str) -> dict[str, str]:
    """The state of the GPU with this UUID in words, when NVML and its Python package are there; nothing otherwise."""
    state = _read(uuid)
    if state is None:
        return {}
    server = os.getppid()
    return state.described({server, *processes.descendants({server}, processes.processes())})


def _read(uuid: str) -> GpuState | None:
    try:
        import pynvml
    except ImportError:
        return None
    try:
        pynvml.nvmlInit()
        handle = pynvml.nvmlDeviceGetHandleByUUID(uuid if uuid.startswith("GPU-") else f"GPU-{uuid}")
        reasons = pynvml.nvmlDeviceGetCurrentClocksThrottleReasons(handle)
        held = [
            words for name, words in _HELD_DOWN.items() if reasons & getattr(pynvml, f"nvmlClocksThrottleReason{name}")
        ]
        return GpuState(
            pynvml.nvmlDeviceGetClockInfo(handle, pynvml.NVML_CLOCK_SM),
            pynvml.nvmlDeviceGetTemperature(handle, pynvml.NVML_TEMPERATURE_GPU),
            tuple(dict.fromkeys(held)),
            frozenset(process.pid for process in pynvml.nvmlDeviceGetComputeRunningProcesses(handle)),
        )
    except (pynvml.NVMLError, AttributeError):
        return None
