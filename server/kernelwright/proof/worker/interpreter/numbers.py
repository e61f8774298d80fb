"""Numbers in Triton's interpreter as the hardware has them: bfloat16, which it stores as raw 16-bit integers and computes
with as such, float32 operands of a product, which a GPU rounds to TF32 unless told otherwise, and minimum and maximum, which
return the number when one side is NaN unless told otherwise."""

import dataclasses
from collections.abc import Callable
from typing import Any

import numpy as np
import triton.language as tl
from triton.runtime import interpreter
from triton.runtime.interpreter import (
    InterpreterBuilder,
    ReduceScanOpInterface,
    TensorHandle,
    _get_np_dtype,
    _interpreter,
    _ir,
)

_COMPUTING = ("binary_op", "unary_op", "create_fma", "create_rsqrt", "create_erf", "create_clampf")
_dot, _cast_impl = InterpreterBuilder.create_dot, InterpreterBuilder.cast_impl
_atomic_rmw, _apply = InterpreterBuilder.create_atomic_rmw, ReduceScanOpInterface.apply


def widen(bits: np.ndarray) -> np.ndarray:
    """bfloat16 bits (uint16) as float32, exact."""
    return (bits.astype(np.uint32) << np.uint32(16)).view(np.float32)


def narrow(values: np.ndarray) -> np.ndarray:
    """float32 rounded to bfloat16 bits (uint16), nearest with ties to even; NaN stays NaN."""
    bits = np.ascontiguousarray(values, dtype=np.float32).view(np.uint32)
    rounded = (bits + np.uint32(0x7FFF) + ((bits >> np.uint32(16)) & np.uint32(1))) >> np.uint32(16)
    return np.where(np.isnan(values), (bits >> np.uint32(16)) | np.uint32(0x40), rounded).astype(np.uint16)


def tf32(values: np.ndarray) -> np.ndarray:
    """float32 rounded to the 10 bits of a mantissa in TF32, nearest with ties to even; infinities and NaN stay."""
    bits = np.ascontiguousarray(values).view(np.uint32)
    rounded = (bits + np.uint32(0xFFF) + ((bits >> np.uint32(13)) & np.uint32(1))) & np.uint32(0xFFFFE000)
    return np.where(np.isfinite(values), rounded.view(np.float32), values)


def install() -> None:
    """Replace the builder's operations."""
    builder = InterpreterBuilder
    for name in _COMPUTING:
        setattr(builder, name, _computing(getattr(builder, name)))
    builder.create_minnumf = lambda self, lhs, rhs: self.binary_op(lhs, rhs, np.fmin)
    builder.create_maxnumf = lambda self, lhs, rhs: self.binary_op(lhs, rhs, np.fmax)
    builder.get_bf16 = lambda self, value: TensorHandle(narrow(np.array([value], np.float32)), tl.bfloat16)
    builder.create_dot, builder.cast_impl, builder.create_atomic_rmw = _create_dot, _cast, _atomic
    ReduceScanOpInterface.apply = _reduce
    options = interpreter.interpreter_builder.options
    known = {*options.allowed_dot_input_precisions, "bf16x6"}  # which is as good as fp32
    interpreter.interpreter_builder.options = dataclasses.replace(options, allowed_dot_input_precisions=tuple(known))


def _is_raw(value: Any) -> bool:
    return value.dtype.scalar.name == tl.bfloat16.name and value.data.dtype == np.uint16


def _wide(value: Any) -> Any:
    return TensorHandle(widen(value.data), tl.float32) if _is_raw(value) else value


def _back(value: Any) -> Any:
    """A comparison has given truth values, which stay."""
    return value if value.data.dtype == np.bool_ else TensorHandle(narrow(value.data), tl.bfloat16)


def _computing(original: Callable[..., Any]) -> Callable[..., Any]:
    """The operation on float32, rounded once, when an operand is bfloat16."""

    def operation(self: Any, *operands: Any, **named: Any) -> Any:
        for operand in operands:
            if isinstance(operand, TensorHandle) and _is_raw(operand):
                break
        else:
            return original(self, *operands, **named)
        wider = [_wide(operand) if isinstance(operand, TensorHandle) else operand for operand in operands]
        return _back(original(self, *wider, **named))

    return operation


def _create_dot(self: Any, a: Any, b: Any, d: Any, input_precision: Any, *rest: Any, **named: Any) -> Any:
    left, right = (_multiplied(operand, input_precision) for operand in (a, b))
    result = _dot(self, left, right, _wide(d), input_precision, *rest, **named)
    return _back(result) if _is_raw(d) else result


def _multiplied(operand: Any, precision: Any) -> Any:
    if precision == _ir.INPUT_PRECISION.TF32 and operand.dtype.scalar == tl.float32:
        return TensorHandle(tf32(operand.data), tl.float32)
    return _wide(operand)


def _cast(self: Any, source: Any, target: Any) -> Any:
    kind = target.scalar
    if _is_raw(source) and kind != tl.bfloat16:
        return TensorHandle(widen(source.data).astype(_get_np_dtype(target)), kind)
    number = source.data.dtype.kind in "fiub" and not source.dtype.scalar.is_fp8()
    if kind == tl.bfloat16 and not _is_raw(source) and number:
        return TensorHandle(narrow(source.data.astype(np.float32)), kind)
    return _cast_impl(self, source, target)


def _reduce(self: Any, given: Any) -> Any:
    # What is no tuple is made one by the interpreter, which calls this again.
    if not isinstance(given, tuple) or all(item.dtype != tl.bfloat16 for item in given):
        return _apply(self, given)
    raw = [item.dtype == tl.bfloat16 for item in given]
    wider = tuple(
        _retyped(item, widen(item.handle.data), tl.float32) if is_raw else item
        for item, is_raw in zip(given, raw, strict=True)
    )
    results = _apply(self, wider)
    return tuple(
        _retyped(result, narrow(result.handle.data), tl.bfloat16) if is_raw and result.dtype == tl.float32 else result
        for result, is_raw in zip(results, [*raw, *([False] * len(results))], strict=False)
    )


def _retyped(tensor: Any, data: np.ndarray, kind: Any) -> Any:
    shape = tl.block_type(kind, list(data.shape)) if tensor.type.is_block() else kind
    return tl.tensor(TensorHandle(data, kind), shape)


def _atomic(self: Any, op: Any, ptr: Any, val: Any, mask: Any, sem: Any, scope: Any) -> Any:
    """bfloat16 additions one lane at a time: lanes may share an address, and each addition rounds."""
    if ptr.get_element_ty() != tl.bfloat16 or op != _ir.ATOMIC_OP.FADD:
        return _atomic_rmw(self, op, ptr, val, mask, sem, scope)
    shape = ptr.data.shape
    pointers = ptr.data.reshape(-1)
    values = widen(np.broadcast_to(val.data, shape).reshape(-1))
    active = np.broadcast_to(np.asarray(mask.data, bool), shape).reshape(-1)
    before = np.zeros(pointers.shape, np.uint16)
    one, zero = np.ones(1, bool), np.zeros(1, np.uint16)
    for lane in np.flatnonzero(active):
        at = pointers[lane : lane + 1]
        before[lane : lane + 1] = _interpreter.load(at, one, zero, np.dtype(np.uint16))
        _interpreter.store(at, narrow(widen(before[lane : lane + 1]) + values[lane : lane + 1]), one)
    return TensorHandle(before.reshape(shape), tl.bfloat16)
