"""Settings, random states and clocks of a process that a file can change: compared, put back, never part of a speedup."""

import contextlib
import random
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from hashlib import blake2b
from typing import Any

import numpy
import torch

from kernelwright.proof.worker import surroundings
from kernelwright.proof.worker.surroundings import Row

_WATCHED: tuple[tuple[Any, str], ...] = (
    (time, "perf_counter perf_counter_ns time"),
    (torch, "allclose equal isfinite where"),
    (torch.Tensor, "copy_ to"),
    (torch.cuda, "synchronize current_stream"),
    (torch.cuda.Event, "record elapsed_time synchronize"),
)
_ORIGINALS = {(owner, name): getattr(owner, name) for owner, names in _WATCHED for name in names.split()}
_SMALLEST = sys.float_info.min  # half of it is denormal
IMPORT_SEED = 1853012377  # what no text seeds with: one that did would not be seen to seed
_GRAD = "torch.is_grad_enabled()"
_PRINTED = torch._tensor_str.PRINT_OPTS
_BACKENDS = (
    "cuda.matmul.allow_tf32",
    "cuda.matmul.allow_fp16_reduced_precision_reduction",
    "cuda.matmul.allow_bf16_reduced_precision_reduction",
    "cudnn.allow_tf32",
    "cudnn.benchmark",
    "cudnn.deterministic",
    "cudnn.enabled",
    "mkldnn.matmul.fp32_precision",  # torch 2.9 and later
    "mkldnn.conv.fp32_precision",
)


def _backend(name: str) -> Row:
    *path, attribute = name.split(".")
    owner: Any = torch.backends
    for part in path:
        owner = getattr(owner, part, None)
    return Row(
        f"torch.backends.{name}",
        lambda: getattr(owner, attribute, None),
        lambda value: setattr(owner, attribute, value),
    )


def _attention(kind: str) -> Row:
    read, write = (getattr(torch.backends.cuda, name) for name in (f"{kind}_sdp_enabled", f"enable_{kind}_sdp"))
    return Row(f"torch.backends.cuda.{kind}_sdp_enabled()", read, write)


def _autocast(device: str) -> Row:
    return Row(
        f"torch.is_autocast_enabled({device!r})",
        lambda: torch.is_autocast_enabled(device),
        lambda value: torch.set_autocast_enabled(device, value),
    )


_NUMERICAL: tuple[Row, ...] = (
    *map(_backend, _BACKENDS),
    *map(_attention, ("flash", "mem_efficient", "math")),
    *map(_autocast, ("cpu", "cuda")),
    Row("torch.get_default_dtype()", torch.get_default_dtype, torch.set_default_dtype),
    Row(
        "torch.get_default_device()",
        lambda: str(torch.get_default_device()),
        lambda value: torch.set_default_device(None if value == "cpu" else value),
    ),
    Row("torch.get_num_threads()", torch.get_num_threads, torch.set_num_threads),
    Row(
        "torch.are_deterministic_algorithms_enabled()",
        torch.are_deterministic_algorithms_enabled,
        torch.use_deterministic_algorithms,
    ),
    # torch does not tell: the processor does
    Row("torch.set_flush_denormal()", lambda: _SMALLEST * 0.5 == 0.0, torch.set_flush_denormal),
    Row(_GRAD, torch.is_grad_enabled, torch.set_grad_enabled),
    Row("torch.is_inference_mode_enabled()", torch.is_inference_mode_enabled),
    Row("torch.is_anomaly_enabled()", torch.is_anomaly_enabled, torch.autograd.set_detect_anomaly),
    Row("torch's function modes", torch._C._len_torch_function_stack),
    Row(
        "torch.cuda.current_stream()",
        lambda: torch.cuda.current_stream().cuda_stream if torch.cuda.is_initialized() else 0,
    ),
    Row("torch.set_printoptions()", lambda: dict(vars(_PRINTED)), lambda value: vars(_PRINTED).update(value)),
    Row("numpy.geterr()", numpy.geterr, lambda value: numpy.seterr(**value)),
    Row("numpy.get_printoptions()", numpy.get_printoptions, lambda value: numpy.set_printoptions(**value)),
)
ROWS = (*surroundings.ROWS, *_NUMERICAL)


def read(*, short: bool = False) -> dict[str, Any]:
    """The settings of the process; `short`: those of torch and numpy alone, in a quarter of the time."""
    return surroundings.read(_NUMERICAL if short else ROWS)


def write(settings: Mapping[str, Any]) -> None:
    """Put the settings back to what `read` returned, as far as they can be."""
    surroundings.write(settings, ROWS)


@contextlib.contextmanager
def changed_to(change: Callable[[Mapping[str, Any]], Mapping[str, Any]]) -> Iterator[None]:
    """Within it the settings are what `change` makes of those of the process."""
    before = read()
    write(change(before))
    try:
        yield
    finally:
        write(before)


def in_tf32(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Settings with which matrix products and convolutions of fp32 round their operands to TF32, on GPUs that can."""
    return {**settings, "torch.backends.cuda.matmul.allow_tf32": True, "torch.backends.cudnn.allow_tf32": True}


def without_tf32(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Settings with which products and convolutions of fp32 keep their operands as they are."""
    return {**settings, "torch.backends.cuda.matmul.allow_tf32": False, "torch.backends.cudnn.allow_tf32": False}


def in_a_call(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Settings as they are in calls that are made without gradients."""
    return {**settings, _GRAD: False}


def seeds() -> dict[str, str]:
    """What seeding changes, and of Python and numpy drawing too; torch's numbers may be drawn by an import."""
    _, words, following = random.getstate()
    of_numpy: Any = numpy.random.get_state(legacy=False)
    return {
        "torch.initial_seed()": str(torch.initial_seed()),
        "random.getstate()": f"{hash(words)} {following}",
        "numpy.random.get_state()": _digest(
            of_numpy["state"]["key"].tobytes(), of_numpy["state"]["pos"], of_numpy["has_gauss"]
        ),
    }


def generators() -> dict[str, str]:
    """Digests of the generators' states by name: two readings that are equal tell that nothing was drawn in between."""
    states = {"torch.get_rng_state()": torch.default_generator.get_state()}
    if torch.cuda.is_initialized():
        for number, generator in enumerate(torch.cuda.default_generators):
            states[f"torch.cuda.get_rng_state({number})"] = generator.get_state()
    return seeds() | {name: _digest(state.numpy().tobytes()) for name, state in states.items()}


def _digest(content: bytes, *numbers: int) -> str:
    return blake2b(content + repr(numbers).encode(), digest_size=16).hexdigest()


def replaced_functions() -> list[str]:
    """Clock and comparison functions that something has replaced since this module was imported."""
    return [
        f"{getattr(owner, '__name__', owner)}.{name}"
        for (owner, name), original in _ORIGINALS.items()
        if getattr(owner, name) is not original
    ]


def described() -> dict[str, str]:
    """The settings that a measurement names beside its number."""
    return {
        "TF32 matmul": "on" if torch.backends.cuda.matmul.allow_tf32 else "off",
        "TF32 cudnn": "on" if torch.backends.cudnn.allow_tf32 else "off",
        "cudnn.benchmark": "on" if torch.backends.cudnn.benchmark else "off",
    }
