"""The kernels that the clock is tried on: four kinds, from microseconds to tens of milliseconds, with or without a plant.

A plant is more of the same work, whose result is thrown away: a share EXTRA of what the call does anyway.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from kernelwright.proof.jobs import Limits, Trial
from kernelwright.values import Case, Device, Workload, WorkloadSource

# Repeating a call on the same tensors makes it longer without the memory, and the time in the gate, of larger tensors.
_TORCH = """import torch

REPEATS, EXTRA = {repeats}, {extra}


def f({parameters}):
    for _ in range(REPEATS):
        out = {call}
    rest = round(EXTRA * REPEATS * len(x))
    while rest > 0:
        scratch = {tail}
        rest -= len(x)
    return out
"""

# The plant is in the grid: more programs of one launch, so that it can be smaller than a launch.
_TRITON = """import torch
import triton
import triton.language as tl

REPEATS, EXTRA = {repeats}, {extra}


@triton.jit
def softmax_rows(x_ptr, out_ptr, rows, length, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    cols = tl.arange(0, BLOCK)
    inside = cols < length
    x = tl.load(x_ptr + (row % rows) * length + cols, mask=inside, other=-float("inf"))
    e = tl.exp(x - tl.max(x, axis=0))
    tl.store(out_ptr + row * length + cols, e / tl.sum(e, axis=0), mask=inside)


def f(x):
    rows, length = x.shape
    extra = round(EXTRA * REPEATS * rows)
    out = torch.empty((rows + extra, length), device=x.device, dtype=x.dtype)
    block = triton.next_power_of_2(length)
    for _ in range(REPEATS - 1):
        softmax_rows[(rows,)](x, out, rows, length, BLOCK=block)
    softmax_rows[(rows + extra,)](x, out, rows, length, BLOCK=block)
    return out[:rows]
"""

_COLUMNS = 1024
_LARGEST = {"cuda": 1 << 26, "cpu": 1 << 21}  # elements of a tensor
_LARGEST_SIDE = {"cuda": 8192, "cpu": 1024}
_LAUNCH = {"cuda": 2e-6, "cpu": 5e-6}  # seconds before anything is computed
# Where the device's ceilings are not known, and what is reached of them.
_BYTES_PER_SECOND = {"cuda": 1e12, "cpu": 1.5e10}
_FLOPS_PER_SECOND = {"cuda": 1e13, "cpu": 2e11}
_REACHED = 0.8


@dataclass(frozen=True)
class Subject:
    """One kernel in one size. `target_ms` is what the size was chosen for, not what it takes."""

    kind: str
    target_ms: float
    call: str
    repeats: int

    @property
    def name(self) -> str:
        return f"{self.kind} {named(self.target_ms)}"

    @property
    def workload(self) -> Workload:
        return Workload(WorkloadSource.LINES, "f", (Case(0, 0, self.call),))

    def text(self, extra: float = 0.0) -> str:
        """The file; with `extra` > 0 with that share of the work once more."""
        given = {"repeats": self.repeats, "extra": repr(extra)}
        if self.kind == "triton softmax":
            return _TRITON.format(**given)
        parameters, call, tail = _CALLS[self.kind]
        return _TORCH.format(**given, parameters=parameters, call=call, tail=tail)


_CALLS = {
    "pointwise": ("x", "torch.nn.functional.gelu(x)", "torch.nn.functional.gelu(x[:rest])"),
    "softmax": ("x", "torch.softmax(x, -1)", "torch.softmax(x[:rest], -1)"),
    "matmul": ("x, w", "x @ w", "x[:rest] @ w"),
}
KINDS = (*_CALLS, "triton softmax")


@dataclass(frozen=True)
class Wanted:
    """One trial to make: a kernel, with a share of extra work in its candidate or its baseline.

    `true` is how many times as long the planted text takes, as found by other means; 0 where nothing is planted.
    """

    subject: Subject
    plant: float = 0.0  # what was aimed at; > 0: the candidate has it, < 0: the baseline
    extra: float = 0.0
    true: float = 0.0

    def trial(self, number: int, limits: Limits) -> Trial:
        """The candidate is a file with another comment, so that no two texts are the same."""
        plain, planted = self.subject.text(), self.subject.text(self.extra)
        baseline, candidate = (planted, plain) if self.plant < 0 else (plain, planted)
        candidate += f"\n# The same result again, number {number}.\n"
        return Trial("/nowhere/kernel.py", baseline, baseline, candidate, self.subject.workload, limits=limits)


def kinds_on(device: Device) -> tuple[str, ...]:
    """Without a GPU Triton is interpreted, and its speed is not measured."""
    return KINDS if device.is_gpu else tuple(_CALLS)


def log_spaced(shortest: float, longest: float, count: int) -> tuple[float, ...]:
    """`count` milliseconds, each as many times the one before, to two digits."""
    step = (longest / shortest) ** (1 / (count - 1)) if count > 1 else 1.0
    return tuple(float(f"{shortest * step**i:.2g}") for i in range(count))


def subjects(kinds: Sequence[str], milliseconds: Sequence[float], device: Device) -> tuple[Subject, ...]:
    """Every kind in every size, the sizes of a kind in their order."""
    return tuple(subject(kind, ms, device) for ms in milliseconds for kind in kinds)


def subject(kind: str, target_ms: float, device: Device) -> Subject:
    """A kernel of this kind that takes about `target_ms` on the device: as large as may be, then repeated."""
    on = "cuda" if device.is_gpu else "cpu"
    seconds = max(target_ms / 1e3 - _LAUNCH[on], 1e-6)
    if kind == "matmul":
        rate = _REACHED * (device.peak_flops.get("float32", 0.0) or _FLOPS_PER_SECOND[on])
        side = min(max(16 * round((seconds * rate / 2) ** (1 / 3) / 16), 32), _LARGEST_SIDE[on])
        return Subject(
            kind, target_ms, f"f(randn({side}, {side}), randn({side}, {side}))", _times(seconds * rate, 2 * side**3)
        )
    rate = _REACHED * (device.bandwidth or _BYTES_PER_SECOND[on]) / 8  # elements, read and written in fp32
    elements = min(seconds * rate, _LARGEST[on])
    rows = max(round(elements / _COLUMNS), 17)  # more rows than the gate takes for a flag
    call = f"f(randn({rows * _COLUMNS}))" if kind == "pointwise" else f"f(randn({rows}, {_COLUMNS}))"
    return Subject(kind, target_ms, call, _times(seconds * rate, rows * _COLUMNS))


def named(ms: float) -> str:
    """ "32 us", "1 ms"."""
    return f"{ms * 1e3:.3g} us" if ms < 1 else f"{ms:.3g} ms"


def _times(wanted: float, each: float) -> int:
    return max(1, math.floor(wanted / each + 0.5))
