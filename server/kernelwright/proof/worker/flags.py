"""Process-wide settings and clocks that a file can change: compared, put back, and never part of a speedup."""

import sys
import time
from collections.abc import Callable, Mapping
from typing import Any

import torch

_CLOCKS: tuple[tuple[Any, str], ...] = (
    (time, "perf_counter"),
    (time, "perf_counter_ns"),
    (time, "time"),
    (torch, "allclose"),
    (torch, "equal"),
    (torch, "isfinite"),
    (torch, "where"),
    (torch.Tensor, "copy_"),
    (torch.Tensor, "to"),
    (torch.cuda, "synchronize"),
    (torch.cuda, "current_stream"),
    (torch.cuda.Event, "record"),
    (torch.cuda.Event, "elapsed_time"),
    (torch.cuda.Event, "synchronize"),
)
_ORIGINALS = tuple(getattr(owner, name) for owner, name in _CLOCKS)
_DENORMAL = "torch.set_flush_denormal()"
_SMALLEST = sys.float_info.min  # half of it is denormal
_SETTERS: Mapping[str, Callable[[Any], None]] = {
    "torch.get_default_dtype()": torch.set_default_dtype,
    "torch.get_num_threads()": torch.set_num_threads,
    "torch.are_deterministic_algorithms_enabled()": torch.use_deterministic_algorithms,
    _DENORMAL: torch.set_flush_denormal,
}


def read() -> dict[str, Any]:
    """The numerical settings of the process."""
    return {
        "torch.backends.cuda.matmul.allow_tf32": torch.backends.cuda.matmul.allow_tf32,
        "torch.backends.cudnn.allow_tf32": torch.backends.cudnn.allow_tf32,
        "torch.backends.cudnn.benchmark": torch.backends.cudnn.benchmark,
        "torch.backends.cudnn.deterministic": torch.backends.cudnn.deterministic,
        "torch.backends.cuda.matmul.allow_fp16_reduced_precision_reduction": (
            torch.backends.cuda.matmul.allow_fp16_reduced_precision_reduction
        ),
        "torch.backends.cuda.matmul.allow_bf16_reduced_precision_reduction": (
            torch.backends.cuda.matmul.allow_bf16_reduced_precision_reduction
        ),
        "torch.get_default_dtype()": torch.get_default_dtype(),
        "torch.get_num_threads()": torch.get_num_threads(),
        "torch.are_deterministic_algorithms_enabled()": torch.are_deterministic_algorithms_enabled(),
        _DENORMAL: _SMALLEST * 0.5 == 0.0,  # torch does not tell: the processor does
    }


def write(settings: Mapping[str, Any]) -> None:
    """Put the settings back to what `read` returned; only those that differ, since setting some imports a compiler."""
    now = read()
    for name, value in settings.items():
        if value == now[name]:
            continue
        if name in _SETTERS:
            _SETTERS[name](value)
        else:
            owner: Any = torch.backends
            *path, attribute = name.removeprefix("torch.backends.").split(".")
            for part in path:
                owner = getattr(owner, part)
            setattr(owner, attribute, value)


def differences(expected: Mapping[str, Any], got: Mapping[str, Any]) -> list[str]:
    """Sentences such as "torch.backends.cuda.matmul.allow_tf32 is True instead of False"."""
    return [f"{name} is {got[name]} instead of {value}" for name, value in expected.items() if got[name] != value]


def replaced_functions() -> list[str]:
    """Clock and comparison functions that something has replaced since this module was imported."""
    return [
        f"{getattr(owner, '__name__', owner)}.{name}"
        for (owner, name), original in zip(_CLOCKS, _ORIGINALS, strict=True)
        if getattr(owner, name) is not original
    ]


def described() -> dict[str, str]:
    """The settings that a measurement names beside its number."""
    return {
        "TF32 matmul": "on" if torch.backends.cuda.matmul.allow_tf32 else "off",
        "TF32 cudnn": "on" if torch.backends.cudnn.allow_tf32 else "off",
        "cudnn.benchmark": "on" if torch.backends.cudnn.benchmark else "off",
    }
