"""Trees of tensors as a description in plain data and bytes in an arena, both ways.

The judge describes what it sends as a tree with `Slot`s (trusted by the host). What a host sends is JSON, decoded here
into tensors that view the arena, and into stand-ins for whatever is not a plain tensor.
"""

import ctypes
import math
import mmap
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import torch

from kernelwright.proof.worker.inputs import lead_of, map_leaves

_ALIGNMENT = 256  # bytes; what cudaMalloc gives, so that kernels see tensors aligned as usual
# A tensor with another key computes, wraps or copies when it is read: fake, functional, batched, of zeros without memory.
_PLAIN_KEYS = frozenset(f"{kind}{device}" for kind in ("", "Autograd", "Autocast") for device in ("CPU", "CUDA")) | {
    "ADInplaceOrView",
    "Conjugate",
    "Negative",
}
_WIPE_ON_FORK, _KEEP_ON_FORK = 18, 19  # of <linux/mman.h>
_madvise = ctypes.CDLL(None).madvise
_madvise.argtypes = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int)
_MOST_HOLES = 2.0  # span over elements; a sparse view of a large buffer is sent without its gaps


@dataclass(frozen=True)
class Slot:
    """Stands for tensor number `index` of a parcel."""

    index: int


@dataclass(frozen=True)
class Sent:
    """One tensor in an arena: `offset` in bytes, strides in elements. `unusual` says in words why there are no bytes.

    `lazy`: what torch had left to be done to it by whoever reads it, and what does it, in words. `lead`: see inputs.lead_of.
    """

    dtype: str
    shape: tuple[int, ...]
    stride: tuple[int, ...]
    device: str
    offset: int = -1
    requires_grad: bool = False
    unusual: str = ""
    lazy: str = ""
    lead: int = 0


@dataclass(frozen=True)
class Parcel:
    """A tree whose tensors are `Slot`s, and those tensors."""

    tree: Any
    tensors: tuple[Sent, ...]


class DoesNotFit(Exception):
    """The arena is too small; `needed` bytes would do."""

    def __init__(self, needed: int) -> None:
        super().__init__(f"{needed} bytes")
        self.needed = needed


def slotted(tree: Any) -> tuple[Any, list[torch.Tensor]]:
    """`tree` with Slots in the place of its tensors, and the tensors."""
    found: list[torch.Tensor] = []

    def leaf(value: Any) -> Any:
        if not isinstance(value, torch.Tensor):
            return value
        found.append(value)
        return Slot(len(found) - 1)

    return map_leaves(leaf, tree), found


def filled(tree: Any, tensors: Sequence[Any]) -> Any:
    """The reverse of `slotted`."""
    return map_leaves(lambda leaf: tensors[leaf.index] if isinstance(leaf, Slot) else leaf, tree)


def room_for(tensors: Iterable[torch.Tensor]) -> int:
    """Bytes that `put` takes for these tensors."""
    return sum(room for _, room, _ in map(_layout, tensors))


def _layout(tensor: torch.Tensor) -> tuple[tuple[int, ...], int, str]:
    """How a tensor lies in an arena: its strides there, the bytes that it takes, and what makes it unusual."""
    if unusual := _unusual(tensor):
        return (), 0, unusual
    stride = _packed(tensor.shape, tensor.stride())
    size = _span(tensor.shape, stride) * tensor.element_size()
    return stride, -(-size // _ALIGNMENT) * _ALIGNMENT, ""


def put(tensors: Sequence[torch.Tensor], arena: torch.Tensor) -> tuple[Sent, ...]:
    """Copy tensors into the arena, in memory order. Raises DoesNotFit, having copied nothing."""
    layouts = [_layout(tensor) for tensor in tensors]
    needed = sum(room for _, room, _ in layouts)
    if needed > arena.numel():
        raise DoesNotFit(needed)
    sent: list[Sent] = []
    offset = 0
    for tensor, (stride, room, unusual) in zip(tensors, layouts, strict=True):
        plain = unusual == ""
        one = Sent(
            str(tensor.dtype).removeprefix("torch."),
            tuple(tensor.shape),
            tuple(tensor.stride()) if plain else (),
            str(tensor.device),
            offset if plain else -1,
            tensor.requires_grad,
            unusual,
            left_to_do(tensor) if plain else "",
            lead_of(tensor) if plain else 0,
        )
        if plain and tensor.numel():
            source, sizes = tensor.detach().resolve_conj().resolve_neg(), tuple(tensor.shape)
            if 0 in stride:  # an expanded dimension has one element behind it, which is all that is copied
                sizes = tuple(1 if s == 0 else n for n, s in zip(sizes, stride, strict=True))
                source = source[tuple(slice(0, n) for n in sizes)]
            region = _region(arena, offset, tensor.dtype, _span(sizes, stride))
            region.as_strided(sizes, stride).copy_(source)
            offset += room
        sent.append(one)
    return tuple(sent)


def view(sent: Sent, arena: torch.Tensor, device: str) -> Any:
    """The tensor as a view of the arena, moved to `device` where the arena is elsewhere; a stand-in for unusual ones.

    Raises ValueError for a description that does not describe bytes of this arena.
    """
    if sent.unusual:
        return stand_in(sent.unusual)
    dtype = getattr(torch, sent.dtype, None)
    if not isinstance(dtype, torch.dtype) or len(sent.shape) != len(sent.stride) or min((*sent.shape, 0)) < 0:
        raise ValueError(f"no tensor: {sent}")
    stride = _packed(sent.shape, sent.stride)
    count = _span(sent.shape, stride)
    inside = sent.offset >= 0 and sent.offset + count * dtype.itemsize <= arena.numel()
    if (math.prod(sent.shape) and not inside) or min((*stride, 0)) < 0:
        raise ValueError(f"a tensor outside the arena: {sent}")
    if not math.prod(sent.shape):
        return torch.empty_strided(sent.shape, sent.stride, dtype=dtype, device=sent.device)
    made = _region(arena, sent.offset, dtype, count).as_strided(sent.shape, stride)
    if sent.device.partition(":")[0] != arena.device.type:
        moved = torch.empty_strided(sent.shape, stride, dtype=dtype, device=sent.device)
        return moved.copy_(made) if 0 not in stride else made.to(sent.device)
    return made


def described(tree: Any) -> tuple[Any, list[torch.Tensor]]:
    """A host's output as JSON data, and its tensors. Leaves that are neither tensors nor scalars go by their type's name."""
    found: list[torch.Tensor] = []
    return _description(tree, found), found


def _description(value: Any, found: list[torch.Tensor]) -> Any:
    # Not within `described`: a function that calls itself there would hold `found` until the next garbage collection,
    # and there is none while calls are timed.
    if isinstance(value, torch.Tensor):
        found.append(value)
        return {"kind": "tensor", "index": len(found) - 1}
    if value is None:
        return {"kind": "none"}
    if type(value) in (bool, int, float, str):
        return {"kind": type(value).__name__, "value": repr(value) if isinstance(value, float) else value}
    if isinstance(value, dict) and all(isinstance(key, str | int) for key in value):
        items = [[key, _description(item, found)] for key, item in value.items()]
        return {"kind": "dict", "type": type(value).__name__, "items": items}
    if isinstance(value, list | tuple):
        kind = "list" if isinstance(value, list) else "tuple"
        return {"kind": kind, "type": type(value).__name__, "items": [_description(item, found) for item in value]}
    return {"kind": "other", "type": type(value).__name__}


def rebuilt(data: Any, tensors: Sequence[Any], like: Any) -> Any:
    """The tree that `described` told of. Containers take the type of `like`, the baseline's, when their names agree.

    Raises ValueError, KeyError, TypeError or IndexError for data that describes nothing.
    """
    match data:
        case {"kind": "tensor", "index": int(index)} if index >= 0:
            return tensors[index]
        case {"kind": "none"}:
            return None
        case {"kind": "float", "value": str(value)}:
            return float(value)
        case {"kind": "bool" | "int" | "str", "value": value}:
            return value
        case {"kind": "dict", "type": name, "items": items}:
            known = like if isinstance(like, dict) else {}
            made = {key: rebuilt(item, tensors, known.get(key)) for key, item in items}
            return made if name == "dict" else _typed(made, name, like)
        case {"kind": "list" | "tuple" as kind, "type": name, "items": items}:
            known = list(like) if isinstance(like, list | tuple) else []
            known += [None] * (len(items) - len(known))
            parts = [rebuilt(item, tensors, one) for item, one in zip(items, known, strict=False)]
            plain = parts if kind == "list" else tuple(parts)
            return plain if name == kind else _typed(plain, name, like)
        case {"kind": "other", "type": str(name)}:
            return stand_in(name)
    raise ValueError(f"no description of an output: {str(data)[:100]}")


def stand_in(name: str) -> Any:
    """A value of a type called `name`: it differs from whatever a baseline returns, and says why."""
    return type(name, (), {})()


def left_to_do(tensor: torch.Tensor) -> str:
    """What torch does to it only when it is read, with what does it at once; empty for most."""
    if tensor.is_conj():
        return "conjugated when it is read (.resolve_conj() does it)"
    return "negated when it is read (.resolve_neg() does it)" if tensor.is_neg() else ""


def _typed(value: Any, name: Any, like: Any) -> Any:
    if type(like).__name__ != name or len(like) != len(value):
        return stand_in(str(name))
    try:
        return type(like)(*value) if hasattr(like, "_fields") else type(like)(value)
    except TypeError:
        return stand_in(str(name))


def _unusual(tensor: torch.Tensor) -> str:
    """What keeps the tensor's bytes from being sent, as the name of a type; empty for a plain tensor."""
    if type(tensor) not in (torch.Tensor, torch.nn.Parameter):
        return f"{type(tensor).__name__}, a tensor subclass that may compute later"
    if type(tensor) is torch.Tensor and (
        own := [name for name, value in vars(tensor).items() if not _of_dynamo(name, value)]
    ):
        return f"tensor with its own {own[0]}, which may compute later"
    if tensor.layout is not torch.strided:
        return f"{str(tensor.layout).removeprefix('torch.')} tensor"
    if tensor.is_quantized:
        return "quantized tensor"
    reached = (_span(tensor.shape, tensor.stride()) + tensor.storage_offset()) * tensor.element_size()
    if tensor.numel() and (tensor.is_meta or tensor.untyped_storage().nbytes() < reached):
        return "tensor without memory of its own size"
    more = set(str(torch._C._dispatch_keys(tensor)).partition("(")[2].rstrip(")").split(", ")) - _PLAIN_KEYS
    if more:
        return f"tensor of the kind {min(more)}, which may compute later"
    if torch._C._is_cow_tensor(tensor):
        return "lazy clone, whose copy is left to whoever writes to it (.clone() makes it at once)"
    return "tensor in the memory of a file, which others may write to" if _in_a_file(tensor) else ""


def _of_dynamo(name: str, value: object) -> bool:
    """Whether torch.compile has left this at a tensor: which of its dimensions vary, as plain numbers."""
    if not name.startswith("_dynamo_"):
        return False
    plain = type(value) in (set, frozenset) and all(type(number) is int for number in value)
    return plain or value is None or type(value) in (bool, int)


def _in_a_file(tensor: torch.Tensor) -> bool:
    """Whether its memory is a file's or shared with other processes; only looked up for what torch has not allocated."""
    storage = tensor.untyped_storage()
    if tensor.is_cuda or not tensor.numel() or (storage.resizable() and not storage.is_shared()):
        return False
    address = tensor.data_ptr()
    if _is_private(address, _span(tensor.shape, tensor.stride()) * tensor.element_size()):
        return False
    with open("/proc/self/maps", encoding="utf-8", errors="replace") as maps:
        for line in maps:
            span, _, _, _, inode, *_ = line.split(maxsplit=5)
            low, _, high = span.partition("-")
            if int(low, 16) <= address < int(high, 16):
                return inode != "0"
    return False


def _is_private(address: int, size: int) -> bool:
    """Whether the kernel is sure that nobody shares this memory: it takes this advice for private anonymous pages alone.

    Reading /proc/self/maps instead takes up to half a millisecond, within a timed sample. False where madvise(2) is refused.
    """
    first = address & -mmap.PAGESIZE
    if _madvise(first, address + size - first, _WIPE_ON_FORK):
        return False
    _madvise(first, address + size - first, _KEEP_ON_FORK)
    return True


def _packed(shape: Sequence[int], stride: Sequence[int]) -> tuple[int, ...]:
    """The strides in the arena: the tensor's own unless it has large gaps, then contiguous ones."""
    elements = math.prod(n for n, s in zip(shape, stride, strict=True) if s)
    span = _span(shape, stride)
    if min((*stride, 0)) >= 0 and elements <= max(span, 1) and span <= _MOST_HOLES * max(elements, 1):
        return tuple(stride)
    packed, step = [], 1
    for size in reversed(shape):
        packed.insert(0, step)
        step *= max(size, 1)
    return tuple(packed)


def _span(shape: Sequence[int], stride: Sequence[int]) -> int:
    """Elements from the first to the last one reached."""
    if 0 in shape:
        return 0
    return 1 + sum((size - 1) * step for size, step in zip(shape, stride, strict=True))


def _region(arena: torch.Tensor, offset: int, dtype: torch.dtype, count: int) -> torch.Tensor:
    return arena[offset : offset + count * dtype.itemsize].view(dtype)
