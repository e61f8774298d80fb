"""Kernels that cast up to float32 inside have an fp64 run, and with it all special data count."""

import pytest
import torch

from kept import Lent
from kernelwright.proof.jobs import Compile, CompileResult, Subject, Trial
from kernelwright.proof.worker import flags
from kernelwright.proof.worker.bench import opened
from kernelwright.proof.worker.reference.widened import widened
from kernelwright.values import Failure
from proof.worker.trials import ended_by, trial, workload

RMS_NORM = """
import torch


def f(x, eps=1e-6):
    wide = x.to(torch.float32)
    return (wide * torch.rsqrt(wide.square().mean(-1, keepdim=True) + eps)).to(x.dtype)
"""
LOSS = """
import torch


class Loss(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.scale = torch.nn.Parameter(torch.randn(65, dtype=torch.float32))
        self.register_buffer("shift", torch.randn(65, dtype=torch.float32), persistent=False)

    def forward(self, x):
        return torch.logsumexp((x * self.scale + self.shift).float(), 1)
"""
ONLINE = """
import torch
import triton
import triton.language as tl


@triton.jit
def kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    scale = 0.5
    largest = -float("inf")
    total = 0.0
    for start in range(0, n, BLOCK):
        cols = start + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + row * n + cols, mask=cols < n, other=-float("inf")) * scale
        new = tl.maximum(largest, tl.max(x, axis=0))
        total = total * tl.exp(largest - new) + tl.sum(tl.exp(x - new), axis=0)
        largest = new
    tl.store(y_ptr + row, largest + tl.log(total))


def f(x):
    y = torch.empty(x.shape[0], device=x.device, dtype=x.dtype)
    kernel[(x.shape[0],)](x, y, x.shape[1], BLOCK=512)
    return y
"""
ROWS = "f(randn(48, 65))"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("y = x.to(tl.float32)", "y = x.to(tl.float64)"),
        ("y = torch.empty(3, dtype=torch.float)", "y = torch.empty(3, dtype=torch.float64)"),
        ("y = x.float() + float(z)", "y = x.double() + float(z)"),
        ("y = x.real.to(torch.complex64)", "y = x.real.to(torch.complex128)"),
        ("y = x.half().to(torch.bfloat16)", None),
        ("y = x / (x.norm() + torch.finfo(torch.float32).eps)", None),
        ("y = triton.language.zeros(4, np.float32)", "y = triton.language.zeros(4, np.float64)"),
        ("op = torch.library.custom_op('a::b')(lambda x: x.float())", None),
        ("m = load_inline('m', source); y = x.float()", None),
    ],
)  # fmt: skip
def test_casts_are_widened_and_what_must_not_run_twice_is_left(text: str, expected: str | None) -> None:
    assert widened(text) == expected


async def test_a_loop_that_adds_in_a_triton_kernel_compiles_for_fp64_data_once_it_is_widened() -> None:
    made = widened(ONLINE)
    assert made is not None
    assert "scale = 0.5\n" in made  # no loop gives it a value
    assert "total = tl.cast(0.0, tl.float64)" in made
    case = "f(randn(64, 3000, dtype=float64))"
    plain, wide = [
        await Lent().run(Compile(Subject("/nowhere/kernel.py", text, workload(case)), 90), timeout=60)
        for text in (ONLINE, made)
    ]
    assert isinstance(plain, Failure)
    assert isinstance(wide, CompileResult), wide


def test_a_kernel_that_casts_up_is_held_against_fp64() -> None:
    verdict = trial(RMS_NORM, RMS_NORM.replace("rsqrt(", "pow(").replace(" + eps)", " + eps, -0.5)"), ROWS).verdict
    assert verdict.passed, verdict.reason
    assert verdict.baseline_error is not None
    assert 0 < verdict.baseline_error < 1e-5
    cases = {check.case for check in verdict.checks if check.name == "values"}
    assert any("large values planted" in case for case in cases)


@pytest.mark.parametrize(
    ("baseline", "right", "wrong", "case"),
    [
        (RMS_NORM, "return (", "return (0 if bool((x > 10000).any()) else 1) * (", ROWS),
        (RMS_NORM, "return (", "return (0 if bool((x >= 0).all()) else 1) * (", ROWS),
        (LOSS, "return torch", "return (0 if bool((x >= 0).all()) else 1) * torch", "Loss()(randn(48, 65))"),
    ],
)
def test_special_data_end_what_is_wrong_on_them_alone(baseline: str, right: str, wrong: str, case: str) -> None:
    assert ended_by(baseline, baseline, case) == "passed"
    assert ended_by(baseline, baseline.replace(right, wrong), case) == "values"


def test_the_fp64_run_of_a_module_has_its_buffers_too() -> None:
    verdict = trial(LOSS, LOSS + "\n", "Loss()(randn(48, 65))").verdict
    assert verdict.passed, verdict.reason
    assert not any("no fp64 reference" in check.detail for check in verdict.checks)


def test_a_text_that_does_not_load_widened_is_judged_without_an_fp64_run() -> None:
    text = "import torch\nassert torch.zeros(1, dtype=torch.float32).element_size() == 4\n"
    text += "def f(x):\n    return torch.logsumexp(x.float(), 1)\n"
    verdict = trial(text, text, ROWS).verdict
    assert verdict.passed, verdict.reason
    assert any("casts to a narrower type" in check.detail for check in verdict.checks)


def test_settings_that_only_the_widened_text_asks_for_do_not_hold() -> None:
    text = RMS_NORM + "\nif torch.float32 is torch.float64:\n    torch.backends.cuda.matmul.allow_tf32 = True\n"
    with opened(Trial("/nowhere/kernel.py", text, text, text, workload(ROWS))) as bench:
        assert bench.wide is not None
        assert not torch.backends.cuda.matmul.allow_tf32
        assert flags.read() == bench.settings
