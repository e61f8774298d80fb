"""Memory that holds NaN where it was not written, so that reading or returning it cannot go unseen."""

from collections.abc import Callable, Iterable
from typing import Any

import torch

from kernelwright.proof.worker.dispatch import DispatchMode
from kernelwright.proof.worker.inputs import poison_

ALLOCATIONS = tuple(
    getattr(torch.ops.aten, name) for name in ["empty", "empty_like", "empty_strided", "new_empty", "new_empty_strided"]
)


class PoisonedAllocation(DispatchMode):
    """Within it torch.empty and its relatives return memory full of NaN (integers: a value near their maximum).

    Or of what else `fill` writes into it.
    """

    def __init__(self, fill: Callable[[torch.Tensor], Any] = poison_) -> None:
        super().__init__()
        self._fill = fill

    def seen(self, func: Any, packet: Any, args: Any, kwargs: Any, made: Any) -> Any:
        if packet in ALLOCATIONS and isinstance(made, torch.Tensor):
            self._fill(made)
        return made


def poison_freed_blocks(sizes: Iterable[int], device: str, limit: int = 1 << 31) -> None:
    """Leave freed blocks of these sizes (bytes) full of NaN: the next allocation of such a size finds one of them.

    All bits set is NaN in float16, bfloat16, float32 and float64 alike, and -1 for integers.
    """
    wanted = [size for size in sizes if size > 0]
    if sum(wanted) * 2 > limit:
        wanted = wanted[:1] if wanted and wanted[0] * 2 <= limit else []
    blocks = [torch.full((size,), 255, dtype=torch.uint8, device=device) for size in wanted for _ in range(2)]
    del blocks
