"""How a captured tensor lies in memory: dense in the order of its dims, or with the channels last."""

from collections.abc import Sequence

from kernelwright.values import TensorType

CONTIGUOUS, CHANNELS_LAST = "contiguous", "channels_last"


def contiguous_strides(shape: Sequence[int]) -> tuple[int, ...]:
    strides, step = [], 1
    for size in reversed(shape):
        strides.append(step)
        step *= size
    return tuple(reversed(strides))


def is_contiguous(type_: TensorType) -> bool:
    expected = contiguous_strides(type_.shape)
    return all(a == b or size == 1 for a, b, size in zip(type_.stride, expected, type_.shape, strict=True))


def is_channels_last(type_: TensorType) -> bool:
    shape, stride = type_.shape, type_.stride
    if len(shape) not in (4, 5) or is_contiguous(type_):
        return False
    order = channels_last_order(len(shape))
    expected = contiguous_strides([shape[d] for d in order])
    return all(stride[d] == e or shape[d] == 1 for d, e in zip(order, expected, strict=True))


def layout_of(type_: TensorType) -> str | None:
    """CONTIGUOUS or CHANNELS_LAST; None for a tensor that is neither."""
    if is_contiguous(type_):
        return CONTIGUOUS
    return CHANNELS_LAST if is_channels_last(type_) else None


def order_of(type_: TensorType) -> tuple[int, ...]:
    """The dims of a channels-last tensor in the order of memory; () for one whose dims are in that order themselves."""
    return channels_last_order(len(type_.shape)) if is_channels_last(type_) else ()


def channels_last_order(rank: int) -> tuple[int, ...]:
    return (0, *range(2, rank), 1)
