"""In what state the GPU was when it was measured: its clock and temperature, what held the clock down, and who else used it."""

import os
from collections.abc import Sequence

from kernelwright.proof.worker import processes

_HELD_DOWN = {  # NVML's reasons for a lower clock that say something about a measurement
    "SwPowerCap": "the power limit",
    "HwSlowdown": "the hardware's slowdown",
    "HwThermalSlowdown": "heat",
    "SwThermalSlowdown": "heat",
    "HwPowerBrakeSlowdown": "the power brake",
    "ApplicationsClocksSetting": "the clocks that somebody set",
}


def gpu_conditions(uuid: str) -> dict[str, str]:
    """The state of the GPU with this UUID in words, when NVML and its Python package are there; nothing otherwise."""
    try:
        import pynvml
    except ImportError:
        return {}
    try:
        pynvml.nvmlInit()
        handle = pynvml.nvmlDeviceGetHandleByUUID(uuid if uuid.startswith("GPU-") else f"GPU-{uuid}")
        reasons = pynvml.nvmlDeviceGetCurrentClocksThrottleReasons(handle)
        held = [
            words for name, words in _HELD_DOWN.items() if reasons & getattr(pynvml, f"nvmlClocksThrottleReason{name}")
        ]
        clock = pynvml.nvmlDeviceGetClockInfo(handle, pynvml.NVML_CLOCK_SM)
        heat = pynvml.nvmlDeviceGetTemperature(handle, pynvml.NVML_TEMPERATURE_GPU)
        listed = {process.pid for process in pynvml.nvmlDeviceGetComputeRunningProcesses(handle)}
    except (pynvml.NVMLError, AttributeError):
        return {}
    server = os.getppid()
    return described(clock, heat, held, listed, {server, *processes.descendants({server}, processes.processes())})


def described(clock: int, heat: int, held: Sequence[str], listed: set[int], own: set[int]) -> dict[str, str]:
    """The clock in MHz, why it was not higher, the temperature in degrees Celsius and the processes on the GPU, in words.

    `own`: this process and its relatives; where NVML lists other numbers than this system's, as in a container, nothing is
    known of the others.
    """
    down = f", held down by {' and '.join(dict.fromkeys(held))}" if held else ""
    others = len(listed - own)
    if not listed & own:
        sharing = "not known here"
    else:
        sharing = "none" if others == 0 else f"{others}, which may slow the measured one down"
    return {"SM clock": f"{clock} MHz{down}", "temperature": f"{heat} C", "other processes": sharing}
