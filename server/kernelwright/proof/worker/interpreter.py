"""Triton's interpreter, hardened: an access out of bounds or a race between programs raises InterpreterFault instead of
crashing or passing, an accumulator that its loop widens CompilationError, bfloat16 computes, libdevice and autotune work.
Written against triton 3.6 and 3.7."""

import functools
from typing import Any

from kernelwright.proof.worker import interpreter_libdevice, interpreter_numbers, interpreter_types, offline_driver
from kernelwright.proof.worker.interpreter_memory import InterpreterFault, LaunchMemory

__all__ = ["InterpreterFault", "install"]

_installed = False
launched = 0  # launches in this process so far
_launches: list[LaunchMemory] = []  # the innermost running launch is the last one


def install() -> None:
    """Harden the interpreter of this process; calling it again changes nothing.

    Call it after TRITON_INTERPRET=1 is set and before user code is loaded, which may import libdevice functions by name.
    """
    global _installed
    if _installed:
        return
    _installed = True
    import triton.runtime.interpreter as interpreter

    interpreter_numbers.install(interpreter)
    interpreter_libdevice.install(interpreter)
    interpreter_types.install(interpreter)
    offline_driver.install(90, "cpu")
    _check_memory(interpreter)
    _mend_index(interpreter)
    _skip_autotune_benchmarks()


def _check_memory(interpreter: Any) -> None:
    builder, executor = interpreter.InterpreterBuilder, interpreter.GridExecutor
    original_init, original_call = executor._init_args_hst, executor.__call__
    load, store = builder.create_masked_load, builder.create_masked_store
    rmw, cas = builder.create_atomic_rmw, builder.create_atomic_cas
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
        _launches.append(LaunchMemory(interpreter.interpreter_builder))
        try:
            return original_call(self, *args, **kwargs)
        except Exception as error:
            fault = _fault_in(error)
            if fault is None:
                raise
            # The interpreter wraps whatever a kernel raises, once per device function.
            raise fault from None
        finally:
            _launches.pop()

    def itemsize(pointers: Any) -> int:
        return sizes(pointers.get_element_ty()).itemsize

    def masked_load(self: Any, ptrs: Any, mask: Any, *rest: Any, **named: Any) -> Any:
        if _launches:
            _launches[-1].load(ptrs.data, mask.data, itemsize(ptrs))
        return load(self, ptrs, mask, *rest, **named)

    def masked_store(self: Any, ptrs: Any, value: Any, mask: Any, *rest: Any, **named: Any) -> Any:
        if _launches:
            _launches[-1].store(ptrs.data, mask.data, value.data, itemsize(ptrs))
        return store(self, ptrs, value, mask, *rest, **named)

    def atomic_rmw(self: Any, op: Any, ptr: Any, val: Any, mask: Any, *rest: Any, **named: Any) -> Any:
        if _launches:
            _launches[-1].atomic(ptr.data, mask.data, itemsize(ptr))
        return rmw(self, op, ptr, val, mask, *rest, **named)

    def atomic_cas(self: Any, ptr: Any, *rest: Any, **named: Any) -> Any:
        if _launches:
            _launches[-1].atomic(ptr.data, True, itemsize(ptr))
        return cas(self, ptr, *rest, **named)

    executor._init_args_hst, executor.__call__ = init, call
    builder.create_masked_load, builder.create_masked_store = masked_load, masked_store
    builder.create_atomic_rmw, builder.create_atomic_cas = atomic_rmw, atomic_cas


def _fault_in(error: BaseException | None) -> InterpreterFault | interpreter_types.CompilationError | None:
    while error is not None:
        if isinstance(error, InterpreterFault | interpreter_types.CompilationError):
            return error
        error = error.__cause__ or error.__context__
    return None


def _mend_index(interpreter: Any) -> None:
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


def _skip_autotune_benchmarks() -> None:
    """Speed means nothing here: every config costs the same, so the first one that is left after pruning is taken."""
    from triton.runtime.autotuner import Autotuner

    Autotuner._bench = lambda self, *args, config, **meta: [1.0, 1.0, 1.0]
