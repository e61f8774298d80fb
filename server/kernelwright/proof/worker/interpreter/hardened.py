"""Triton's interpreter, hardened: an access out of bounds or a race between programs raises InterpreterFault instead of
crashing or passing, an accumulator that its loop widens CompilationError, bfloat16 computes, libdevice and autotune work,
programs run in either order, and launches and hints that a GPU does not bear are refused.
Written against triton 3.6 and 3.7."""

import contextlib
import functools
import hashlib
import inspect
import math
import textwrap
import traceback
import weakref
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
import torch
import triton
import triton.language as tl
from triton.runtime import interpreter
from triton.runtime.autotuner import Autotuner
from triton.runtime.interpreter import TensorHandle
from triton.runtime.jit import JITFunction, KernelParam

from kernelwright.proof.worker import offline_driver, patience
from kernelwright.proof.worker.interpreter import libdevice, limits, logic, numbers, rounds, shortcuts, types
from kernelwright.proof.worker.interpreter.memory import InterpreterFault, LaunchMemory, Waiting
from kernelwright.proof.worker.reference_gpu import NotSupported

__all__ = ["InterpreterFault", "install"]

_installed = False
launched = 0  # launches in this process so far
_launches: list[LaunchMemory] = []  # the innermost running launch is the last one
_accesses: weakref.WeakKeyDictionary[Callable[..., Any], int] = weakref.WeakKeyDictionary()  # most of one program
_waits: weakref.WeakSet[Callable[..., Any]] = weakref.WeakSet()  # kernels of which one program waits for another
# A program that waits for one before it would wait forever where the last one comes first. It shows by its accesses, of which
# it makes more than so many times those of any program so far, and some.
_PATIENCE, _PATIENT_FOR = 50, 2000
_TRIED = 2  # configurations of an autotuned kernel that are launched to be timed


def install() -> None:
    """Harden the interpreter of this process; calling it again changes nothing.

    Call it after TRITON_INTERPRET=1 is set and before user code is loaded, which may import libdevice functions by name.
    """
    global _installed
    if _installed:
        return
    _installed = True
    for part in (shortcuts, numbers, libdevice, types, logic, limits):
        part.install()
    offline_driver.install(90, "cpu")
    _check_memory()
    _mend_index()
    _mend_ranges()
    _mend_floats()
    _mend_constants()
    _answer_with_handles()
    _pass_for_compiled()
    _take_turns_at_autotuning()


def _check_memory() -> None:
    builder, executor = interpreter.InterpreterBuilder, interpreter.GridExecutor
    original_init, original_call = executor._init_args_hst, executor.__call__
    load, store = builder.create_masked_load, builder.create_masked_store
    rmw, cas = builder.create_atomic_rmw, builder.create_atomic_cas
    choose, span = builder.set_grid_idx, builder.set_grid_dim
    sizes = interpreter._get_np_dtype

    @functools.wraps(original_init)
    def init(self: Any, args_dev: Any, kwargs: Any) -> Any:
        args, named = original_init(self, args_dev, kwargs)
        if _launches:
            _launches[-1].know(dict(zip(self.arg_names, args, strict=False)) | named)
        return args, named

    @functools.wraps(original_call)
    def call(self: Any, *args: Any, **kwargs: Any) -> Any:
        global launched
        launched += 1
        limits.check_warps(kwargs)
        most = _accesses.get(self.fn, 0)
        if most and rounds.backwards and self.fn not in _waits:
            memory = LaunchMemory(
                interpreter.interpreter_builder, backwards=True, patience=_PATIENCE * most + _PATIENT_FOR
            )
            try:
                return launch(self, memory, args, kwargs)
            except Waiting:
                memory.restore()
                _waits.add(self.fn)
        memory = LaunchMemory(interpreter.interpreter_builder)
        try:
            return launch(self, memory, args, kwargs)
        finally:
            _accesses[self.fn] = max(most, memory.most)

    def launch(self: Any, memory: LaunchMemory, args: Any, kwargs: Any) -> Any:
        _launches.append(memory)
        options = interpreter.interpreter_builder.options
        interpreter.interpreter_builder.options = shortcuts.for_launch(options, debug=bool(kwargs.get("debug")))
        try:
            with torch._C.DisableTorchFunction():  # the launch itself sees tensors as they are
                return original_call(self, *args, **kwargs)
        except Exception as error:
            fault = _fault_in(error)
            if fault is None:
                raise
            # The interpreter wraps whatever a kernel raises, once per device function.
            raise fault from None
        finally:
            interpreter.interpreter_builder.options = options
            _launches.pop()

    def set_grid_idx(self: Any, x: int, y: int, z: int) -> None:
        patience.check()
        if _launches and _launches[-1].backwards:
            x, y, z = (size - 1 - index for size, index in zip(self.grid_dim, (x, y, z), strict=True))
        choose(self, x, y, z)

    def set_grid_dim(self: Any, *sizes: Any) -> None:
        span(self, *map(int, sizes))  # what a grid computes from the kernel's own arguments is a tensor here

    def itemsize(pointers: Any) -> int:
        return sizes(pointers.get_element_ty()).itemsize

    def masked_load(self: Any, ptrs: Any, mask: Any, *rest: Any, **named: Any) -> Any:
        if _launches:
            volatile = bool(named.get("is_volatile", rest[3] if len(rest) > 3 else False))
            _launches[-1].load(ptrs.data, mask.data, itemsize(ptrs), volatile=volatile)
        return load(self, ptrs, mask, *rest, **named)

    def masked_store(self: Any, ptrs: Any, value: Any, mask: Any, *rest: Any, **named: Any) -> Any:
        if _launches:
            _launches[-1].store(ptrs.data, mask.data, value.data, itemsize(ptrs))
        return store(self, ptrs, value, mask, *rest, **named)

    def atomic_rmw(self: Any, op: Any, ptr: Any, val: Any, mask: Any, *rest: Any, **named: Any) -> Any:
        with _launches[-1].atomic(ptr.data, mask.data, itemsize(ptr)) if _launches else contextlib.nullcontext():
            return rmw(self, op, ptr, val, mask, *rest, **named)

    def atomic_cas(self: Any, ptr: Any, *rest: Any, **named: Any) -> Any:
        with _launches[-1].atomic(ptr.data, True, itemsize(ptr)) if _launches else contextlib.nullcontext():
            return cas(self, ptr, *rest, **named)

    executor._init_args_hst, executor.__call__ = init, call
    builder.create_masked_load, builder.create_masked_store = masked_load, masked_store
    builder.create_atomic_rmw, builder.create_atomic_cas = atomic_rmw, atomic_cas
    builder.set_grid_idx, builder.set_grid_dim = set_grid_idx, set_grid_dim


def _fault_in(error: BaseException | None) -> Exception | None:
    while error is not None:
        if isinstance(error, InterpreterFault | types.CompilationError | limits.FalsePromise):
            return error
        error = error.__cause__ or error.__context__
    return None


def _mend_index() -> None:
    """`range(n)` over a loaded or computed scalar: older versions convert an array of one dimension, numpy 2.4 refuses."""
    original = interpreter._patch_lang_tensor

    @functools.wraps(original)
    def patched(tensor: Any, *scope: Any) -> Any:
        result = original(tensor, *scope)
        index = lambda self: int(self.handle.data.reshape(-1)[0])
        if scope:
            scope[0].set_attr(tensor, "__index__", index)
        else:
            tensor.__index__ = index
        return result

    interpreter._patch_lang_tensor = patched


def _mend_ranges() -> None:
    """`range` of a kernel takes the keywords of `tl.range`, as compiled."""

    def looped(*bounds: Any, step: Any = None, **hints: Any) -> range:
        if step is None:
            return range(*bounds)
        return range(0, *bounds, step) if len(bounds) == 1 else range(*bounds, step)

    interpreter.range = looped  # the interpreter hands its own globals to kernels


def _mend_floats() -> None:
    """A float is float32 in a kernel, as compiled: a tensor without dims, which has `.to()` and makes float16 float32.

    A flag is one bit, for which the interpreter of 3.7 has too large an array.
    """
    original = interpreter._implicit_cvt

    def converted(value: Any) -> Any:
        if type(value) is bool:
            return tl.tensor(TensorHandle(np.array([value], np.bool_), tl.int1), tl.int1)
        if type(value) is float:
            return tl.tensor(TensorHandle(np.array([value], np.float32), tl.float32), tl.float32)
        return original(value)

    interpreter._implicit_cvt = converted


def _mend_constants() -> None:
    """A constant and a tensor are computed as a tensor, as compiled: the interpreter makes a constant that holds one."""
    functions = {name: value for name, value in vars(tl.constexpr).items() if inspect.isfunction(value)}
    for name, original in functions.items():
        if not name.startswith("__") or [*inspect.signature(original).parameters] != ["self", "other"]:
            continue

        def operator(self: Any, other: Any, original: Any = original) -> Any:
            return NotImplemented if isinstance(other, tl.tensor) else original(self, other)

        setattr(tl.constexpr, name, functools.wraps(original)(operator))


class Handle:
    """What a launch or a warm-up returns. With what a launcher asks of it to choose a grid (assumed), and no compiled code."""

    n_regs, n_spills, shared, num_warps = 32, 0, 1024, 4

    def __init__(self, function: Any, args: tuple[Any, ...], options: dict[str, Any]) -> None:
        self._function = function
        given = {**dict(zip(function.arg_names, args, strict=False)), **options}
        self._constants = {p.name: given[p.name] for p in function.params if p.is_constexpr and p.name in given}
        self.metadata = SimpleNamespace(shared=self.shared, num_warps=options.get("num_warps", self.num_warps))

    def _init_handles(self) -> None:
        """There is nothing to load."""

    def __getitem__(self, grid: Any) -> Callable[..., Any]:
        """A launch like the one before; it may leave out the constants among its arguments, which are compiled in."""
        names = self._function.arg_names
        others = [name for name in names if name not in self._constants]

        def launch(*args: Any, **kwargs: Any) -> Any:
            given = dict(zip(others if len(args) <= len(others) else names, args, strict=False))
            return self._function[grid](**{**self._constants, **given, **kwargs})

        return launch

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(
            f"{name} of a compiled kernel is not supported without a GPU: Triton's interpreter compiles none"
        )


def _answer_with_handles() -> None:
    """Launches return a handle, and Gluon, which only a compiler runs, is refused."""
    run, compiled = interpreter.InterpretedFunction.run, JITFunction.run

    @functools.wraps(run)
    def interpreted(self: Any, *args: Any, grid: Any, warmup: bool, **kwargs: Any) -> Any:
        run(self, *args, grid=grid, warmup=warmup, **kwargs)
        return Handle(self, args, kwargs)

    @functools.wraps(compiled)
    def refused(self: Any, *args: Any, **kwargs: Any) -> Any:
        if getattr(self, "is_gluon", bool)():
            raise NotSupported(f"{self.fn.__name__} is a Gluon kernel, which is not supported without a GPU")
        return compiled(self, *args, **kwargs)

    interpreter.InterpretedFunction.run, JITFunction.run = interpreted, refused


def _pass_for_compiled() -> None:
    """Let kernels pass for a JITFunction, with what wrappers around launches read of one."""

    class Either(type):
        def __instancecheck__(cls, instance: object) -> bool:
            return isinstance(instance, interpreter.InterpretedFunction | JITFunction)

        def __getitem__(cls, parameters: object) -> type:
            return cls

    known = Either(JITFunction.__name__, (JITFunction,), {"__module__": JITFunction.__module__})
    for module in (triton, triton.runtime, triton.runtime.jit):
        module.JITFunction = known
    for name, answer in _OF_COMPILED.items():
        setattr(interpreter.InterpretedFunction, name, property(answer))


def _params(kernel: Any) -> list[KernelParam]:
    special = kernel.kwargs.get("do_not_specialize") or ()
    parameters = enumerate(kernel.signature.parameters.values())
    return [KernelParam(i, p, i in special or p.name in special, False) for i, p in parameters]


_OF_COMPILED: dict[str, Callable[[Any], Any]] = {
    "signature": lambda kernel: inspect.signature(kernel.fn),
    "params": _params,
    "src": lambda kernel: textwrap.dedent(inspect.getsource(kernel.fn)),
    "cache_key": lambda kernel: hashlib.sha256(kernel.src.encode()).hexdigest(),
}


def _is_static_assertion(error: BaseException | None) -> bool:
    """Whether a launch ended in `tl.static_assert`, which the interpreter makes an assert of its own."""
    while error is not None and not isinstance(error, AssertionError):
        error = error.__cause__
    return error is not None and traceback.extract_tb(error.__traceback__)[-1].name == "_new_static_assert"


def _take_turns_at_autotuning() -> None:
    """Speed means nothing here: in each call of the gate another one of the configs that are left after pruning is taken.

    The first two that are tried are launched for it once, as all are on a GPU: what they leave behind is the kernel's to reset.
    One that a static assertion of the kernel refuses is left out, as there, unless no other is left.
    """
    prune, bench, run = Autotuner.prune_configs, Autotuner._bench, Autotuner.run
    refused: weakref.WeakKeyDictionary[Any, list[Any]] = weakref.WeakKeyDictionary()
    tuned_in: weakref.WeakKeyDictionary[Any, int] = weakref.WeakKeyDictionary()
    tried: weakref.WeakKeyDictionary[Any, int] = weakref.WeakKeyDictionary()

    def called_once(call: Callable[[], Any], **named: Any) -> list[float]:
        call()
        return [1.0, 1.0, 1.0]

    def in_turn(self: Any, kwargs: Any) -> Any:
        pruned = list(prune(self, kwargs))
        left = [config for config in pruned if config not in refused.get(self, ())] or pruned
        first = rounds.turn(len(left))
        return left[first:] + left[:first]

    def benched(self: Any, *args: Any, config: Any, **meta: Any) -> list[float]:
        if rounds.number and tried.get(self, 0) < _TRIED:
            tried[self] = tried.get(self, 0) + 1
            self.do_bench = called_once
            try:
                bench(self, *args, config=config, **meta)
            except interpreter.InterpreterError as error:
                if not _is_static_assertion(error):
                    raise
                return [math.inf] * 3
        return [1.0, 1.0, 1.0]

    def tuned(self: Any, *args: Any, **kwargs: Any) -> Any:
        if tuned_in.setdefault(self, rounds.number) != rounds.number:
            tuned_in[self] = rounds.number
            self.cache.clear()
        refused[self] = known = []  # by this call alone: an assertion may ask for its sizes, too
        while True:
            self.best_config = None
            try:
                return run(self, *args, **kwargs)
            except interpreter.InterpreterError as error:
                if self.best_config is None or self.best_config in known or not _is_static_assertion(error):
                    raise
                known.append(self.best_config)
                self.cache.clear()

    Autotuner.prune_configs, Autotuner._bench, Autotuner.run = in_turn, benched, tuned
