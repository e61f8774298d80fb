"""How Triton's interpreter makes the operands of an operation alike in kind and shape, in fewer steps: a number takes the kind
and the shape of the tensor beside it at once, and what a shape comes to is worked out once. Written against triton 3.6 and 3.7.
"""

import functools
from collections.abc import Callable
from typing import Any

import numpy as np
import triton.language as tl
from triton.language.semantic import TritonSemantic
from triton.runtime import interpreter
from triton.runtime.interpreter import TensorHandle

_FLOATS = frozenset({"fp32", "fp64"})
_WHOLE = {f"int{bits}": range(-(2 ** (bits - 1)), 2 ** (bits - 1)) for bits in (32, 64)}
# Kinds of which two are computed with as they are, in every operation; and in every one that is no division.
_CLOSED = frozenset({*_FLOATS, *_WHOLE, "int1"})
_CLOSED_BUT_FOR_DIVISION = frozenset({*_CLOSED, "fp16", "bf16"})


def install() -> None:
    """Take these ways in this process. It may be called once."""
    _share_shapes()
    TritonSemantic.broadcast_impl_value = _of_two_shapes(TritonSemantic.broadcast_impl_value)
    TritonSemantic.binary_op_type_checking_impl = _of_two_kinds(TritonSemantic.binary_op_type_checking_impl)


def _of_two_kinds(original: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(original)
    def checked(
        self: Any,
        lhs: Any,
        rhs: Any,
        allow_lhs_ptr: bool = False,
        allow_rhs_ptr: bool = False,
        arithmetic_check: bool = True,
        div_or_mod: bool = False,
    ) -> Any:
        if type(lhs) is tl.tensor:
            kind = lhs.dtype
            if type(rhs) is tl.tensor:
                other = rhs.dtype
                if kind is other and kind.name in (_CLOSED if div_or_mod else _CLOSED_BUT_FOR_DIVISION):
                    return self.broadcast_impl_value(lhs, rhs)
                if allow_lhs_ptr and type(kind) is tl.pointer_type and other.name in _WHOLE:
                    return self.broadcast_impl_value(lhs, rhs)
            elif arithmetic_check and _stays(rhs, kind.name):
                return lhs, _constant(rhs, lhs)
        elif arithmetic_check and type(rhs) is tl.tensor and _stays(lhs, rhs.dtype.name):
            return _constant(lhs, rhs), rhs
        return original(self, lhs, rhs, allow_lhs_ptr, allow_rhs_ptr, arithmetic_check, div_or_mod)

    return checked


def _stays(number: Any, kind: str) -> bool:
    """Whether a number takes the kind of the tensor beside it."""
    if type(number) is float:
        return kind in _FLOATS
    return type(number) is int and number in _WHOLE.get("int64" if kind in _FLOATS else kind, ())


def _constant(number: Any, like: Any) -> Any:
    """A tensor of a number, of the kind and the shape of another one. A zero has no sign, as there."""
    data = np.empty(like.type.shape if like.type.is_block() else (1,), _numpy(like))
    data.fill(number or 0)
    return tl.tensor(TensorHandle(data, like.dtype), like.type)


def _numpy(tensor: Any) -> Any:
    return interpreter._get_np_dtype(tensor.dtype)


def _of_two_shapes(original: Callable[..., Any]) -> Callable[..., Any]:
    of_number = tl.dtype.of_tensor

    def spread(tensor: Any, block: Any) -> Any:
        """A tensor without dims in the shape of a block."""
        data = np.empty(block.shape, _numpy(tensor))
        data[...] = tensor.handle.data
        return tl.tensor(TensorHandle(data, tensor.dtype), block.with_element_ty(tensor.dtype))

    @functools.wraps(original)
    def broadcast(self: Any, lhs: Any, rhs: Any) -> Any:
        left, right = lhs.type.of_tensor, rhs.type.of_tensor
        if left is right:
            return lhs, rhs
        if right is of_number:
            return lhs, spread(rhs, lhs.type)
        if left is of_number:
            return spread(lhs, rhs.type), rhs
        return original(self, lhs, rhs)

    return broadcast


def _share_shapes() -> None:
    """Check a shape, and make of it what types and tensors say, once for each shape."""
    known: dict[tuple[int, ...], Any] = {}
    made: dict[int, Any] = {}  # by the identity of a shape that is known
    of_block, of_tensor = tl.block_type.__init__, tl.tensor.__init__

    def for_tensor(kind: Any) -> tuple[Any, Any]:
        tensor = tl.tensor.__new__(tl.tensor)
        of_tensor(tensor, None, kind)
        return tensor.shape, tensor.numel

    def make_block(self: Any, element_ty: Any, shape: Any) -> None:
        row = made.get(id(shape))
        if row is None and {*map(type, shape)} == {int}:
            row = known.get(tuple(shape))
        if row is None:
            of_block(self, element_ty, shape)
            sizes = tuple(self.shape)
            if sizes not in known:
                known[sizes] = self.shape, self.numel, str(self.shape), for_tensor(self), {}
                made[id(self.shape)] = known[sizes]
            row = known[sizes]
        self.shape, self.numel, words, self.of_tensor, self.of_kinds = row
        self.element_ty, self.name = element_ty, f"<{words}, {element_ty}>"

    def of_kind(self: Any, kind: Any) -> Any:
        if type(kind) is not tl.dtype:
            return tl.block_type(kind, self.shape)
        block = self.of_kinds.get(kind.name)
        if block is None:
            block = self.of_kinds[kind.name] = tl.block_type(kind, self.shape)
        return block

    def make_tensor(self: Any, handle: Any, type: Any) -> None:
        self.handle, self.type, self.dtype = handle, type, type.scalar
        self.shape, self.numel = type.of_tensor

    tl.dtype.of_tensor = for_tensor(tl.int32)
    tl.block_type.__init__, tl.block_type.with_element_ty, tl.tensor.__init__ = make_block, of_kind, make_tensor
