"""Whether a line comes to the same when it is called again, whatever fresh memory held in its first call."""

from collections.abc import Callable
from types import ModuleType

import pytest
import torch

from kernelwright.proof.worker.hosts import messages
from kernelwright.proof.worker.hosts.calls import try_line
from kernelwright.proof.worker.hosts.room import Room
from kernelwright.proof.worker.poison import PoisonedAllocation


def _unwritten(x: torch.Tensor) -> torch.Tensor:
    return torch.cat((x, torch.empty_like(x)))


def _not_a_number(x: torch.Tensor) -> torch.Tensor:
    return torch.cat((x, torch.log(-x.double())))


@pytest.mark.parametrize("dtype", ["float32", "int64", "bool"])
@pytest.mark.parametrize(("entry", "repeats"), [(_unwritten, False), (_not_a_number, True)])
def test_memory_that_nobody_wrote(entry: Callable[[torch.Tensor], torch.Tensor], repeats: bool, dtype: str) -> None:
    module = ModuleType("text")
    module.__dict__.update(entry=entry, __file__="/nowhere/text.py")
    with PoisonedAllocation():  # as where what an earlier line had poisoned is allocated again
        launched = try_line(Room(0, module=module), messages.Try(f"entry(ones(8, dtype={dtype}))"))
    assert isinstance(launched, messages.Launched)
    assert launched.repeats is repeats
