"""Calls on tensors of which each lies against unmapped memory: what a kernel reads or writes beyond one is seen.

The method is that of Electric Fence (Bruce Perens, 1987), on a GPU. Memory that a text asks torch for during such a call lies
so as well; what a library allocates inside of an operator does not.
"""

import contextlib
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import torch

from kernelwright.proof.worker.dispatch import DispatchMode
from kernelwright.proof.worker.driver import as_tensor
from kernelwright.proof.worker.free_memory import lately_free_on
from kernelwright.proof.worker.hosts.pages import NoPages, Pages, mapped, page_size, unmap
from kernelwright.proof.worker.inputs import Inputs, clone_tensor, seed_everything
from kernelwright.proof.worker.observe import buffers_put_back, named_state
from kernelwright.proof.worker.poison import ALLOCATIONS
from kernelwright.proof.worker.raised import describe, line_of
from kernelwright.proof.worker.rejected import Rejected, rejection

NAME, ALIGNMENT = "out-of-bounds", "alignment"
# Bytes that a tensor's address is a multiple of: what the widest loads and TMA ask for, and Triton takes for granted. Blocks
# end at larger powers of two, so that with torch's own 512 most of what they read beyond would still be mapped.
_ALIGNED = 16
_SMALL = 64 << 20  # bytes of tensors up to which both ends are looked at
_MOST_BLOCKS = 256  # in one call: a loop that allocates more has shown what it does
_STOPPED = re.compile(r"illegal memory access|illegal_?address", re.IGNORECASE)
_MISALIGNED = re.compile(r"misaligned[ _]?address", re.IGNORECASE)
_CROWDED = f"half of the free memory, or {_MOST_BLOCKS} tensors, do not hold all that a call makes"
_WHAT_TO_DO = "mask the access or fix the index"
_UNTOUCHED = 255
_WRITTEN = "zeros zeros_like new_zeros ones ones_like new_ones full full_like new_full clone _to_copy"
_ALLOCATING = {  # and whether what is allocated is written at once
    **dict.fromkeys(ALLOCATIONS, False),
    **{getattr(torch.ops.aten, name): True for name in _WRITTEN.split()},
}


@dataclass(frozen=True)
class Place:
    """Where a tensor lies in whole pages of `whole` bytes: from byte `start` up to byte `end`."""

    whole: int
    start: int
    end: int


def placed(size: int, page: int, *, at_start: bool) -> Place:
    """A tensor of `size` bytes against the start or the end of its pages, as near as its alignment allows."""
    whole = -(-size // page) * page
    start = 0 if at_start else (whole - size) // _ALIGNED * _ALIGNED
    return Place(whole, start, start + size)


@dataclass
class _Guard:
    """The blocks of one call. `room`: bytes that may still be mapped; `crowded`: some tensor did not fit, or came too late."""

    at_start: bool
    room: int
    blocks: list[tuple[Pages, Place]] = field(default_factory=list)
    crowded: bool = False

    def copied(self, tensor: torch.Tensor, *, written: bool = True) -> torch.Tensor:
        """The tensor in pages of its own, NaN unless it was `written`; as it is where that cannot be."""
        span = 1 + sum((size - 1) * stride for size, stride in zip(tensor.shape, tensor.stride(), strict=True))
        place = placed(span * tensor.element_size(), page_size(), at_start=self.at_start)
        if span > 2 * tensor.numel():
            return tensor  # a sparse view of a large buffer
        if place.whole > self.room or len(self.blocks) == _MOST_BLOCKS:
            self.crowded = True
            return tensor
        pages = mapped(place.whole)
        self.room -= place.whole
        self.blocks.append((pages, place))
        as_tensor(pages.address, pages.size).fill_(_UNTOUCHED)
        own = as_tensor(pages.address + place.start, place.end - place.start, _Block(pages))
        made = torch.empty(0, dtype=tensor.dtype, device=tensor.device)
        made.set_(own.untyped_storage(), 0, tensor.shape, tensor.stride())
        return made.copy_(tensor) if written else made

    def overwritten(self) -> int:
        """How many bytes around the tensors are not as they were."""
        around = [
            as_tensor(pages.address + begin, end - begin)
            for pages, place in self.blocks
            for begin, end in ((0, place.start), (place.end, place.whole))
            if end > begin
        ]
        return int(torch.stack([(one != _UNTOUCHED).sum() for one in around]).sum()) if around else 0


@dataclass
class _Block:
    """What a tensor's storage has as its owner: its end is that of the last tensor there, one that the text keeps as well."""

    pages: Pages

    def __del__(self) -> None:
        _unused.append(self.pages)


_unused: list[Pages] = []  # not unmapped at once: the GPU may still be at work on them


def _give_back() -> None:
    """Unmap what nothing refers to any more; what the text has kept stays. Nothing may be at work on the GPU."""
    while _unused:
        unmap(_unused.pop())


class _GuardedAllocation(DispatchMode):
    """Within it torch.empty and its relatives return memory of the guard."""

    def __init__(self, guard: _Guard) -> None:
        super().__init__()
        self._guard = guard

    def seen(self, func: Any, packet: Any, args: Any, kwargs: Any, made: Any) -> Any:
        written = _ALLOCATING.get(packet)
        return made if written is None or not _can_move(made) else self._guard.copied(made, written=written)


def look(target: Any, inputs: Inputs, *, seed: int) -> str:
    """Call with every tensor against unmapped memory behind it, and in small calls also before it.

    Returns why that could not be, "" where nothing was touched. Raises Rejected; the CUDA context may be gone then.
    """
    size = sum(t.numel() * t.element_size() for t in (*inputs.tensors(), *named_state(target).values()))
    why = ""
    for at_start in (False, True) if size <= _SMALL else (False,):
        try:
            why = _called(target, inputs, at_start, seed) or why
        except NoPages as none:
            return str(none)
        except _Touched as touched:
            raise Rejected(NAME, "", str(touched)) from touched
        except Exception as error:
            if _STOPPED.search(str(error)):
                where, line = "before the start" if at_start else "behind the end", line_of(error)
                at = f" at line {line + 1}" if line is not None else ""
                detail = f"reads or writes memory {where} of a tensor{at}: {_WHAT_TO_DO} ({describe(error)})"
                raise Rejected(NAME, "", detail) from error
            if _works():
                return f"a call on memory that is not torch's own raises {type(error).__name__}"
            if _MISALIGNED.search(str(error)):
                raise Rejected(ALIGNMENT, "", describe(error)) from error
            raise rejection(error, "") from error
    return why


class _Touched(Exception):
    """Bytes around a tensor were written."""


def _works() -> bool:
    """Whether the CUDA context is still there."""
    try:
        torch.cuda.synchronize()
    except RuntimeError:
        return False
    return True


def _called(target: Any, inputs: Inputs, at_start: bool, seed: int) -> str:
    """One call; why not all of its tensors were guarded, "" where they were. Raises _Touched, NoPages, what the text raises."""
    guard = _Guard(at_start, lately_free_on("cuda") // 2)
    page_size()
    given = inputs.changed(lambda tensor: _guarded(guard, tensor))
    seed_everything(seed)
    # Buffers that did not fit are written to where they are.
    with buffers_put_back(target), _moved_state(guard, target), torch.no_grad(), _GuardedAllocation(guard):
        output = given.passed_to(target)
        torch.cuda.synchronize()
    written = guard.overwritten()
    del output, given
    _give_back()
    if written:
        count = f"{written} byte{'s' if written > 1 else ''}"
        raise _Touched(f"writes memory around a tensor ({count}): {_WHAT_TO_DO}")
    return _CROWDED if guard.crowded else ""


def _guarded(guard: _Guard, tensor: torch.Tensor) -> torch.Tensor:
    plain = tensor.detach()
    moved = guard.copied(plain) if _can_move(plain) else plain
    return clone_tensor(tensor) if moved is plain else moved.requires_grad_(tensor.requires_grad)


@contextlib.contextmanager
def _moved_state(guard: _Guard, target: Any) -> Iterator[None]:
    """The module's parameters and buffers in guarded memory, and afterwards again where and what they were."""
    state = [tensor for tensor in named_state(target).values() if _can_move(tensor.detach())]
    kept = [tensor.data for tensor in state]
    try:
        for tensor, data in zip(state, kept, strict=True):
            tensor.data = guard.copied(data)
        yield
    finally:
        for tensor, data in zip(state, kept, strict=True):
            tensor.data = data


def _can_move(made: Any) -> bool:
    if not is_plain(made) or made.device != torch.device("cuda", torch.cuda.current_device()):
        return False
    return not torch.cuda.is_current_stream_capturing()


def is_plain(made: Any) -> bool:
    """Whether it is a tensor with memory of its own for each element."""
    return (
        type(made) in (torch.Tensor, torch.nn.Parameter)
        and made.layout is torch.strided
        and made.numel() > 0
        and all(stride > 0 or size == 1 for size, stride in zip(made.shape, made.stride(), strict=True))
    )
