"""Has the candidate's answer the form of the baseline's? Pure functions on what two calls left behind."""

from dataclasses import dataclass
from typing import Any

import torch


@dataclass(frozen=True)
class Finding:
    """One failed comparison: the check's name and the evidence."""

    name: str
    detail: str


def structure(expected: Any, got: Any, where: str = "the output") -> Finding | None:
    """Types and nesting: tuples, lists, dicts and their keys, None, numbers, plain tensors that own real memory."""
    if isinstance(expected, torch.Tensor):
        return _tensor_type(got, where)
    if type(expected) is not type(got) and not _made_anew(expected, got):
        return Finding("structure", f"{where} is {_article(got)}, the baseline's is {_article(expected)}")
    if isinstance(expected, dict):
        if list(expected) != list(got):
            return Finding("structure", f"{where} has the keys {list(got)}, the baseline's {list(expected)}")
        pairs = [(expected[key], got[key], f"{where}[{key!r}]") for key in expected]
    elif isinstance(expected, list | tuple):
        if len(expected) != len(got):
            return Finding("structure", f"{where} has {len(got)} items, the baseline's {len(expected)}")
        pairs = [(a, b, f"{where}[{i}]") for i, (a, b) in enumerate(zip(expected, got, strict=True))]
    else:
        return None
    return next((found for a, b, name in pairs if (found := structure(a, b, name))), None)


def _made_anew(expected: Any, got: Any) -> bool:
    """Whether both are of a `namedtuple` class of the same name and fields, which a text may make in each call."""
    classes = (type(expected), type(got))
    if not all(issubclass(one, tuple) and one.__mro__[1:] == (tuple, object) for one in classes):
        return False
    names = {(one.__name__, getattr(one, "_fields", ())) for one in classes}
    return len(names) == 1 and hasattr(expected, "_fields")


def same_form(expected: torch.Tensor, got: torch.Tensor, where: str) -> Finding | None:
    """Shape, dtype, device and layout of two tensors."""
    if expected.shape != got.shape:
        return Finding("shape", f"{where} has shape {tuple(got.shape)}, the baseline's {tuple(expected.shape)}")
    if expected.dtype != got.dtype:
        return Finding("dtype", f"{where} is {_name(got.dtype)}, the baseline's is {_name(expected.dtype)}")
    if expected.device != got.device:
        return Finding("device", f"{where} is on {got.device}, the baseline's on {expected.device}")
    return _layout(expected, got, where)


def _layout(expected: torch.Tensor, got: torch.Tensor, where: str) -> Finding | None:
    """A contiguous tensor may replace a view: whatever a caller does with the view works on it. Not the other way."""
    strides = [[n for size, n in zip(t.shape, t.stride(), strict=True) if size > 1] for t in (expected, got)]
    if strides[0] == strides[1] or got.is_contiguous() or expected.numel() == 0:
        return None
    detail = f"{where} has strides {tuple(got.stride())}, the baseline's {tuple(expected.stride())}"
    return Finding("layout", f"{detail}: a caller's .view() would fail")


def _tensor_type(got: Any, where: str) -> Finding | None:
    if not isinstance(got, torch.Tensor):
        return Finding("structure", f"{where} is {_article(got)}, the baseline's is a tensor")
    if type(got) not in (torch.Tensor, torch.nn.Parameter):
        return Finding("structure", f"{where} is a {type(got).__name__}, a tensor subclass that may compute later")
    if got.layout is torch.strided and got.numel():
        span = 1 + sum((n - 1) * s for n, s in zip(got.shape, got.stride(), strict=True)) + got.storage_offset()
        if got.is_meta or got.untyped_storage().nbytes() < span * got.element_size():
            return Finding("structure", f"{where} is a tensor without memory of its own size")
    return None


def _article(value: Any) -> str:
    return "None" if value is None else f"a {type(value).__name__}"


def _name(dtype: torch.dtype) -> str:
    return str(dtype).removeprefix("torch.")
