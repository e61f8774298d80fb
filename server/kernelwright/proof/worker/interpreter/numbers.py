"""Numbers in Triton's interpreter as the hardware has them: bfloat16, which it stores as raw 16-bit integers and computes
with as such, float32 operands of a product, which a GPU rounds to TF32 unless told otherwise, and minimum and maximum, which
return the number when one side is NaN unless told otherwise."""

from collections.abc import Callable
from typing import Any

import numpy as np


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


def install(interpreter: Any) -> None:
    """Replace the builder's operations. `interpreter` is the module triton.runtime.interpreter."""
    import triton.language as tl

    builder, handle = interpreter.InterpreterBuilder, interpreter.TensorHandle

    def is_raw(value: Any) -> bool:
        return value.dtype.scalar == tl.bfloat16 and value.data.dtype == np.uint16

    def wide(value: Any) -> Any:
        return handle(widen(value.data), tl.float32) if is_raw(value) else value

    def back(value: Any) -> Any:
        """A comparison has given truth values, which stay."""
        if value.data.dtype == np.bool_:
            return value
        return handle(narrow(value.data), tl.bfloat16)

    def computing(original: Callable[..., Any]) -> Callable[..., Any]:
        """The operation on float32, rounded once, when an operand is bfloat16."""

        def operation(self: Any, *operands: Any, **named: Any) -> Any:
            if not any(isinstance(operand, handle) and is_raw(operand) for operand in operands):
                return original(self, *operands, **named)
            wider = [wide(operand) if isinstance(operand, handle) else operand for operand in operands]
            return back(original(self, *wider, **named))

        return operation

    for name in ("binary_op", "unary_op", "create_fma", "create_rsqrt", "create_erf", "create_clampf"):
        setattr(builder, name, computing(getattr(builder, name)))
    builder.create_minnumf = lambda self, lhs, rhs: self.binary_op(lhs, rhs, np.fmin)
    builder.create_maxnumf = lambda self, lhs, rhs: self.binary_op(lhs, rhs, np.fmax)
    builder.get_bf16 = lambda self, value: handle(narrow(np.array([value], np.float32)), tl.bfloat16)

    dot = builder.create_dot
    rounded = interpreter._ir.INPUT_PRECISION.TF32

    def multiplied(operand: Any, precision: Any) -> Any:
        if precision == rounded and operand.dtype.scalar == tl.float32:
            return handle(tf32(operand.data), tl.float32)
        return wide(operand)

    def create_dot(self: Any, a: Any, b: Any, d: Any, input_precision: Any, *rest: Any, **named: Any) -> Any:
        left, right = (multiplied(operand, input_precision) for operand in (a, b))
        result = dot(self, left, right, wide(d), input_precision, *rest, **named)
        return back(result) if is_raw(d) else result

    builder.create_dot = create_dot
    builder.cast_impl = _cast(interpreter, builder.cast_impl, handle, is_raw)
    builder.create_fp_to_fp = _fp_to_fp(interpreter, builder.create_fp_to_fp, handle)
    _reductions(interpreter, tl)
    builder.create_atomic_rmw = _atomic(interpreter, builder.create_atomic_rmw, handle)


def _cast(interpreter: Any, original: Any, handle: Any, is_raw: Any) -> Any:
    import triton.language as tl

    def cast(self: Any, source: Any, target: Any) -> Any:
        kind = target.scalar
        if is_raw(source) and kind != tl.bfloat16:
            wider = widen(source.data)
            return handle(wider.astype(interpreter._get_np_dtype(target)), kind)
        if kind == tl.bfloat16 and not is_raw(source) and source.data.dtype.kind in "fiub":
            if source.dtype.scalar.is_fp8():
                return original(self, source, target)
            return handle(narrow(source.data.astype(np.float32)), kind)
        return original(self, source, target)

    return cast


def _fp_to_fp(interpreter: Any, original: Any, handle: Any) -> Any:
    """The interpreter rounds half up here; the hardware rounds half to even."""
    import triton.language as tl

    nearest = interpreter._ir.ROUNDING_MODE.RTNE

    def convert(self: Any, source: Any, target: Any, rounding: Any) -> Any:
        if rounding == nearest and source.data.dtype in (np.float32, np.float64):
            if target.scalar == tl.bfloat16:
                return handle(narrow(source.data.astype(np.float32)), target.scalar)
            if target.scalar == tl.float16:
                return handle(source.data.astype(np.float16), target.scalar)
        return original(self, source, target, rounding)

    return convert


def _reductions(interpreter: Any, tl: Any) -> None:
    base = interpreter.ReduceScanOpInterface
    original = base.apply

    def retyped(tensor: Any, data: np.ndarray, kind: Any) -> Any:
        shape = tl.block_type(kind, list(data.shape)) if tensor.type.is_block() else kind
        return tl.tensor(interpreter.TensorHandle(data, kind), shape)

    def apply(self: Any, given: Any) -> Any:
        if not isinstance(given, tuple):
            return original(self, given)  # which calls this again with a tuple
        raw = [item.dtype == tl.bfloat16 for item in given]
        if not any(raw):
            return original(self, given)
        wider = tuple(
            retyped(item, widen(item.handle.data), tl.float32) if is_raw else item
            for item, is_raw in zip(given, raw, strict=True)
        )
        results = original(self, wider)
        return tuple(
            retyped(result, narrow(result.handle.data), tl.bfloat16)
            if is_raw and result.dtype == tl.float32
            else result
            for result, is_raw in zip(results, [*raw, *([False] * len(results))], strict=False)
        )

    base.apply = apply


def _atomic(interpreter: Any, original: Any, handle: Any) -> Any:
    """bfloat16 additions one lane at a time: lanes may share an address, and each addition rounds."""
    import triton.language as tl

    native = interpreter._interpreter
    addition = interpreter._ir.ATOMIC_OP.FADD

    def atomic(self: Any, op: Any, ptr: Any, val: Any, mask: Any, sem: Any, scope: Any) -> Any:
        if ptr.get_element_ty() != tl.bfloat16 or op != addition:
            return original(self, op, ptr, val, mask, sem, scope)
        shape = ptr.data.shape
        pointers = ptr.data.reshape(-1)
        values = widen(np.broadcast_to(val.data, shape).reshape(-1))
        active = np.broadcast_to(np.asarray(mask.data, bool), shape).reshape(-1)
        before = np.zeros(pointers.shape, np.uint16)
        one, zero = np.ones(1, bool), np.zeros(1, np.uint16)
        for lane in np.flatnonzero(active):
            at = pointers[lane : lane + 1]
            before[lane : lane + 1] = native.load(at, one, zero, np.dtype(np.uint16))
            native.store(at, narrow(widen(before[lane : lane + 1]) + values[lane : lane + 1]), one)
        return handle(before.reshape(shape), tl.bfloat16)

    return atomic
