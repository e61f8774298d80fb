"""Runs launchers that are written for CUDA on the CPU: in Triton's interpreter, what a text asks of a GPU is answered.

`_rows` is the table of the functions and classes that are redirected. Devices among the arguments of torch's own operators,
and what tensors tell of their device, are redirected by a function mode. Both hold within `user_code`, which surrounds each
load and call of a text, and nowhere else: the judge sees tensors as they are. Tensors lie on the CPU, whatever is told.
"""

import contextlib
import functools
import importlib
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import torch
from torch.overrides import TorchFunctionMode, _get_current_function_mode_stack
from torch.utils._device import DeviceContext, _device_constructors

from kernelwright.proof.worker import reference_gpu
from kernelwright.proof.worker.gpu_generator import GENERATOR
from kernelwright.proof.worker.reference_gpu import CAPABILITY, NotSupported
from kernelwright.values.targets import DEFAULT_TARGET

NOTE = "in place of the GPU that the text asks for"
_GPU, _CPU = torch.device("cuda", 0), torch.device("cpu")
_GIB = 2**30


@dataclass
class _State:
    """`wanted`: whether texts are redirected in this process now. `used`: whether one has asked for a GPU since then."""

    wanted: bool = False
    used: bool = False


_state = _State()


@contextlib.contextmanager
def redirecting(wanted: bool) -> Iterator[None]:
    """Within it texts are redirected, if `wanted`."""
    before = _state.wanted, _state.used
    begin(wanted)
    try:
        yield
    finally:
        _state.wanted, _state.used = before


def begin(wanted: bool) -> None:
    """From here on texts are redirected in this process, or are not."""
    _state.wanted, _state.used = wanted, False


def was_asked_for() -> bool:
    """Whether a text has asked for a GPU and was redirected."""
    return _state.used


def hold() -> None:
    """From here on the CPU stands in for a GPU in all of this process, which is the user's own and no worker.

    Call it after torch is imported and before any kernel is: what is bound by name before is not redirected.
    """
    with contextlib.suppress(ImportError):  # without Triton there is nothing to interpret
        from kernelwright.proof.worker.interpreter import hardened

        hardened.install()
    begin(True)
    for owner, name, value in _rows():
        setattr(owner, name, value)
    _OnCpu().__enter__()


@contextlib.contextmanager
def user_code() -> Iterator[None]:
    """Surrounds what is a text's own: there, and where it is wanted, the CPU stands in for a GPU."""
    if not _state.wanted:
        yield
        return
    with contextlib.ExitStack() as undo:
        for owner, name, value in _rows():
            before = vars(owner)[name] if isinstance(owner, type) else getattr(owner, name)
            setattr(owner, name, value)
            undo.callback(_put_back, owner, name, value, before)
        with _OnCpu():
            yield


def in_user_code(function: Callable[..., Any]) -> Callable[..., Any]:
    """A text's function that torch calls from within an operator, where no function mode holds."""

    @functools.wraps(function)
    def called(*args: Any, **kwargs: Any) -> Any:
        with _OnCpu() if _state.wanted else contextlib.nullcontext():
            return function(*args, **kwargs)

    return called


def _put_back(owner: Any, name: str, value: Any, before: Any) -> None:
    """What the text has put there meanwhile stays: a check may look for it."""
    if (vars(owner).get(name) if isinstance(owner, type) else getattr(owner, name, None)) is value:
        setattr(owner, name, before)


class _OnCpu(TorchFunctionMode):
    """Has devices of CUDA among the arguments of torch's functions be the CPU, and tensors say that they are on a GPU."""

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        if (answer := _TOLD.get(func)) is not None:
            return answer(func, *args, **kwargs)
        if func is torch.device:  # which is only a name so far
            return func(*args, **kwargs)
        args = tuple(map(_here, args))
        kwargs = {name: _here(value) for name, value in kwargs.items()}
        if kwargs.get("pin_memory"):
            kwargs["pin_memory"] = False
        device = kwargs.get("device")
        if (isinstance(device, int) and not isinstance(device, bool)) or (
            device is None and func in _device_constructors() and _inside_of_a_gpu()
        ):
            kwargs["device"] = _CPU
        if func is torch.Tensor.to and len(args) > 1 and type(args[1]) is int:
            args = (args[0], _CPU, *args[2:])
        return func(*args, **kwargs)


def _here(value: Any) -> Any:
    """The argument with the CPU for a GPU."""
    match value:
        case torch.device(type="cuda"):
            _state.used = True
            return _CPU
        case str() if value.partition(":")[0] == "cuda":
            _state.used = True
            return "cpu"
        case str() if value.startswith("torch.cuda."):
            _state.used = True
            return value.replace(".cuda", "", 1)
    return value


def _inside_of_a_gpu() -> bool:
    """Whether this is within `with torch.device("cuda")`."""
    stack = _get_current_function_mode_stack()
    return any(isinstance(mode, DeviceContext) and mode.device.type == "cuda" for mode in stack)


def _to_gpu(func: Any, tensor: torch.Tensor, *args: Any, **kwargs: Any) -> torch.Tensor:
    _state.used = True
    return tensor


def _device(func: Any, tensor: torch.Tensor, *rest: Any) -> torch.device:
    found = func(tensor, *rest)
    return _GPU if found.type == "cpu" else found


def _on_gpu(func: Any, tensor: torch.Tensor, *rest: Any) -> bool:
    _state.used = True
    return tensor.device.type == "cpu"


_TOLD: dict[Any, Callable[..., Any]] = {
    torch.Tensor.device.__get__: _device,  # type: ignore[attr-defined]
    torch.Tensor.is_cuda.__get__: _on_gpu,  # type: ignore[attr-defined]
    torch.Tensor.is_cpu.__get__: lambda func, tensor, *rest: False,  # type: ignore[attr-defined]
    torch.Tensor.get_device: lambda func, tensor: 0,
    torch.Tensor.cuda: _to_gpu,
    torch.Tensor.pin_memory: lambda func, tensor, *rest: tensor,
    torch.Tensor.is_pinned: lambda func, tensor, *rest: False,
    torch.Tensor.record_stream: lambda func, tensor, stream: None,
}


class _Event:
    """Stands for torch.cuda.Event, with the time that goes by here."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        self._at = time.perf_counter()

    def record(self, stream: Any = None) -> None:
        self._at = time.perf_counter()

    def elapsed_time(self, end: "_Event") -> float:
        return (end._at - self._at) * 1e3

    def query(self) -> bool:
        return True

    def synchronize(self) -> None:
        """Everything is done when it is called."""

    def wait(self, stream: Any = None) -> None:
        """As well."""


class _Stream:
    """Stands for torch.cuda.Stream: there is one, and everything on it is done."""

    device, device_index, stream_id, cuda_stream, priority = _GPU, 0, 0, 0, 0

    def __init__(self, *args: Any, **kwargs: Any) -> None: ...

    def query(self) -> bool:
        return True

    def record_event(self, event: _Event | None = None) -> _Event:
        return event or _Event()

    def __enter__(self) -> "_Stream":
        return self

    def __exit__(self, *raised: object) -> None: ...

    def synchronize(self, other: Any = None) -> None:
        """Everything is done when it is called."""

    wait_stream = wait_event = synchronize


class _Generator(torch.Generator):
    def __new__(cls, device: Any = "cpu") -> "_Generator":
        return super().__new__(cls, device=_here(device))


def _refused(name: str) -> type:
    """A class, since annotations say `CUDAGraph | None`."""

    def refuse(*args: Any, **kwargs: Any) -> Any:
        raise NotSupported(f"{name} is not supported without a GPU")

    return type(name.rpartition(".")[2], (), {"__new__": refuse})


def _asked(answer: Callable[..., Any]) -> Callable[..., Any]:
    """The answer, and a note that it was asked for."""

    @functools.wraps(answer)
    def noted(*args: Any, **kwargs: Any) -> Any:
        _state.used = True
        return answer(*args, **kwargs)

    return noted


def _of_autocast(original: Callable[..., Any]) -> Callable[..., Any]:
    """Autocast on the CPU has bfloat16 where that of CUDA has float16."""

    def init(self: Any, device_type: Any, dtype: Any = None, *args: Any, **kwargs: Any) -> None:
        kind = _here(device_type)
        original(self, kind, dtype or (torch.float16 if kind != device_type else None), *args, **kwargs)

    return init


def _device_first(original: Callable[..., Any]) -> Callable[..., Any]:
    """A function of a device's name, which is CUDA where none is given."""
    return lambda device_type="cuda": original(_here(device_type))


def _impl(original: Callable[..., Any]) -> Callable[..., Any]:
    """Register for the CPU what an operator of the text's own does on CUDA. Those of torch stay: the gate uses them, too."""

    def impl(self: Any, op_name: Any, fn: Any, dispatch_key: str = "", **kwargs: Any) -> Any:
        if self.ns != "aten" and callable(fn):
            fn = in_user_code(fn)
            dispatch_key = "CPU" if dispatch_key == "CUDA" else dispatch_key
        return original(self, op_name, fn, dispatch_key, **kwargs)

    return impl


def _unless_gpu(original: Callable[..., Any]) -> Callable[..., Any]:
    return lambda device: original(None if _here(device) in ("cpu", _CPU) else device)


_TORCH_CUDA: dict[str, Any] = {
    **{
        name: answer if isinstance(answer, type) else _asked(answer)
        for name, answer in reference_gpu.answers(CAPABILITY, DEFAULT_TARGET.name).items()
    },
    "is_available": _asked(lambda: True),
    "is_initialized": lambda: True,
    "is_bf16_supported": lambda including_emulation=True: True,
    "init": lambda: None,
    "_lazy_init": lambda: None,
    "set_device": lambda device: None,
    "device_of": reference_gpu.Device,
    "Stream": _Stream,
    "Event": _Event,
    "stream": reference_gpu.Device,
    "current_stream": lambda device=None: _Stream(),
    "is_current_stream_capturing": lambda: False,
    "default_stream": lambda device=None: _Stream(),
    "set_stream": lambda stream: None,
    "empty_cache": lambda: None,
    "ipc_collect": lambda: None,
    **dict.fromkeys(
        ("memory_allocated", "max_memory_allocated", "memory_reserved", "max_memory_reserved"), lambda device=None: 0
    ),
    **dict.fromkeys(("reset_peak_memory_stats", "reset_max_memory_allocated"), lambda device=None: None),
    "mem_get_info": lambda device=None: (DEFAULT_TARGET.memory_bytes, DEFAULT_TARGET.memory_bytes),
    "get_arch_list": lambda: [f"sm_{CAPABILITY}"],
    **dict.fromkeys(("manual_seed", "manual_seed_all"), lambda seed: GENERATOR.manual_seed(seed) and None),
    "initial_seed": lambda: GENERATOR.initial_seed(),
    "get_rng_state": lambda device="cuda": GENERATOR.get_state(),
    "set_rng_state": lambda state, device="cuda": GENERATOR.set_state(state),
    "default_generators": (GENERATOR,),
    **{name: _refused(f"torch.cuda.{name}") for name in ("CUDAGraph", "graph", "make_graphed_callables")},
}
_NVTX = SimpleNamespace(
    **dict.fromkeys(
        ("rangePushA", "rangePop", "rangeStartA", "rangeEnd", "markA", "deviceRangeStart", "deviceRangeEnd"),
        lambda *args: 0,
    )
)


@functools.cache
def _rows() -> tuple[tuple[Any, str, Any], ...]:
    """What is redirected: owner, name and what stands there. What another version of torch or Triton lacks is left out."""
    autocast = torch.amp.autocast_mode.autocast
    table: tuple[tuple[str, dict[str, Any]], ...] = (
        ("torch.cuda", _TORCH_CUDA),
        ("torch.cuda.nvtx", {"_nvtx": _NVTX}),
        ("torch.version", {"cuda": "12.8"}),
        ("torch", {"Generator": _Generator, "set_default_device": _unless_gpu(torch.set_default_device)}),
        (
            "torch",
            {name: _device_first(getattr(torch, name)) for name in ("is_autocast_enabled", "get_autocast_dtype")},
        ),
        ("torch", {"get_autocast_gpu_dtype": lambda: torch.get_autocast_dtype("cpu")}),
        ("torch.amp.autocast_mode:autocast", {"__init__": _of_autocast(autocast.__init__)}),
        ("torch.autograd", {"_engine_run_backward": in_user_code(torch.autograd._engine_run_backward)}),
        ("torch.library:Library", {"impl": _impl(torch.library.Library.impl)}),
        ("torch.library", {"wrap_triton": lambda kernel: kernel}),
        (f"{__package__}.offline_driver:OfflineDriver", {"get_active_torch_device": _asked(lambda self: _GPU)}),
    )
    found = []
    for place, values in table:
        module, _, name = place.partition(":")
        try:
            owner: Any = importlib.import_module(module)
        except ImportError:
            continue
        owner = getattr(owner, name) if name else owner
        found += [(owner, key, value) for key, value in values.items() if hasattr(owner, key)]
    return tuple(found)
