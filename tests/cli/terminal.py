"""The real command line, in this process and with short timings, and the files that the tests of it share."""

import functools
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from kept import lent
from kernelwright import engine
from kernelwright.cli import console
from kernelwright.cli.app import app
from kernelwright.settings import Settings

SCORE = """\
import torch
from torch import nn


class Score(nn.Module):
    def __init__(self, features: int, width: int):
        super().__init__()
        self.linear = nn.Linear(features, width)

    def forward(self, x):
        y = self.linear(x)
        return torch.sum(y, dim=1, keepdim=True)


# workload: Score(512, 640)(randn(384, 512))
"""

SMALL = SCORE.replace("Score(512, 640)(randn(384, 512))", "Score(16, 32)(randn(8, 16))")

COPY = """\
import torch
import triton
import triton.language as tl


@triton.jit
def copy_kernel(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out_ptr + at, tl.load(x_ptr + at, mask=at < n), mask=at < n)


def copy(x):
    out = torch.empty_like(x)
    copy_kernel[(triton.cdiv(x.numel(), 256),)](x, out, x.numel(), BLOCK=256)
    return out


# workload: copy(randn(1000))
"""


def kernelwright(*arguments: object, own_workers: bool = False) -> Result:
    """What a command says. Its workers are those of the commands before it, unless it is to start its own."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(console, "Settings", functools.partial(Settings, timing_budget=0.2))
        if not own_workers:
            patch.setattr(engine, "Workers", lent)
        return CliRunner().invoke(app, [str(argument) for argument in arguments])


def file(folder: Path, text: str | bytes, name: str = "score.py") -> Path:
    path = folder / name
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return path
