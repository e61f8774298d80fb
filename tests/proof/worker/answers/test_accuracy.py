"""The accuracy classes: of one tensor beside the fp64 run, of a whole trial, and what a sum's length is measured to be."""

import dataclasses
import math
from collections.abc import Callable

import pytest
import torch

from kernelwright.proof.jobs import Trial
from kernelwright.proof.worker.answers.compare import Errors, values
from kernelwright.proof.worker.answers.expected import Expected
from kernelwright.proof.worker.answers.fan_in import fan_in
from kernelwright.proof.worker.answers.form import Finding
from kernelwright.proof.worker.inputs import Inputs
from kernelwright.proof.worker.observe import observe
from kernelwright.proof.worker.trial import run_trial
from kernelwright.values import Accuracy, Verdict
from proof.worker.trials import QUICK, workload

INF, NAN = math.inf, math.nan
Product = Callable[[torch.Tensor, torch.Tensor], torch.Tensor]


def bf16(x: torch.Tensor) -> torch.Tensor:
    return x.bfloat16().float()


def tf32(x: torch.Tensor) -> torch.Tensor:
    return ((x.view(torch.int32) + 0x1000) & -0x2000).view(torch.float32)


def cut(x: torch.Tensor) -> torch.Tensor:
    return (x.view(torch.int32) & -0x2000).view(torch.float32)


def error_corrected(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    high, low = (tf32(a), tf32(b)), (tf32(a - tf32(a)), tf32(b - tf32(b)))
    return high[0] @ high[1] + (high[0] @ low[1] + low[0] @ high[1])


def of_product(product: Product, depth: int = 256) -> str:
    generator = torch.Generator().manual_seed(1)
    a, b = torch.randn(64, depth, generator=generator), torch.randn(depth, 48, generator=generator)
    return named(values(Expected(a.double() @ b.double(), a @ b), product(a, b), depth))


def named(found: Errors | Finding) -> str:
    return found.name if isinstance(found, Finding) else str(found.accuracy)


@pytest.mark.parametrize(
    ("product", "expected"),
    [
        (lambda a, b: a @ b, "bit-exact"),
        (lambda a, b: a[:, :100] @ b[:100] + a[:, 100:] @ b[100:], "as accurate as the baseline"),
        (lambda a, b: (a.double() @ b.double()).float(), "as accurate as the baseline"),
        (error_corrected, "as accurate as the baseline"),
        (lambda a, b: tf32(a) @ tf32(b), "reduced accuracy"),
        (lambda a, b: cut(a) @ cut(b), "reduced accuracy"),
        (lambda a, b: (a.half() @ b.half()).float(), "reduced accuracy"),
        (lambda a, b: bf16(a) @ bf16(b), "reduced accuracy"),
        (lambda a, b: bf16(bf16(a) @ bf16(b)), "reduced accuracy"),
        (lambda a, b: a @ b * 1.0005, "values"),
        (lambda a, b: a @ b + 1e-3, "values"),
        (lambda a, b: a[:, :-1] @ b[:-1], "values"),
    ],
)
def test_a_matrix_product(product: Product, expected: str) -> None:
    assert of_product(product) == expected


@pytest.mark.parametrize(
    ("exponential", "expected"),
    [
        (lambda x: torch.exp2(x * 1.4426950408889634), "as accurate as the baseline"),
        (lambda x: 1 + x * (1 + x * (0.5 + x * (0.1666666 + x * (0.0416654 + x * 0.00833)))), "reduced accuracy"),
        (lambda x: torch.exp(x.half()).float(), "reduced accuracy"),
        (lambda x: 1 + x, "values"),
    ],
)
def test_an_elementwise_function(exponential: Callable[[torch.Tensor], torch.Tensor], expected: str) -> None:
    x = torch.rand(4096, generator=torch.Generator().manual_seed(0)) * 0.69 - 0.345
    assert named(values(Expected(torch.exp(x.double()), torch.exp(x)), exponential(x), 1)) == expected


def test_signs_of_zero_are_bits() -> None:
    zeros = torch.zeros(8)
    assert named(values(Expected(zeros.double(), zeros), -zeros, 1)) == "as accurate as the baseline"
    holes = torch.full((8,), float("nan"))
    assert named(values(Expected(holes.double(), holes), holes.clone(), 1)) == "bit-exact"


def test_accurate_by_length_only() -> None:
    x = torch.randn(4096, 1024, generator=torch.Generator().manual_seed(0))
    once = torch.zeros(1024)
    for row in x:
        once += row
    found = values(Expected(x.double().sum(0), x.double().sum(0).float()), once, 4096)
    assert isinstance(found, Errors)
    assert found.accuracy is Accuracy.AS_BASELINE
    assert found.by_length


@pytest.mark.parametrize(
    ("function", "shapes", "expected"),
    [
        (lambda x: torch.exp(-x), ((40, 300),), 1),
        (lambda x, y: x * 2 + y, ((40, 300), (300,)), 1),
        (lambda x: torch.softmax(x, 1), ((40, 300),), 300),
        (lambda x: x.sum(0), ((40, 300),), 40),
        (lambda a, b: a @ b, ((16, 70), (70, 24)), 70),
        (lambda x: x.mul_(2), ((40, 300),), 1),
        (lambda x: torch.relu(x).amax(1), ((40, 300),), 300),
    ],
)
def test_how_many_inputs_an_output_depends_on(function: Callable, shapes: tuple, expected: int) -> None:
    inputs = Inputs(tuple(torch.randn(shape, generator=torch.Generator().manual_seed(0)) for shape in shapes))
    before = observe(function, inputs, seed=0)
    assert fan_in(function, inputs, before, seed=0, estimate=10_000) == expected


def test_what_cannot_be_measured_is_estimated() -> None:
    def whole(x: torch.Tensor) -> torch.Tensor:
        if float(x.abs().max()) > 5:
            raise ValueError("too large")
        return x.sum()

    inputs = Inputs((torch.ones(10),))
    before = observe(whole, inputs, seed=0)
    big = Inputs((torch.full((10,), 4.0),))
    assert fan_in(whole, inputs, before, seed=0, estimate=77) == 10
    assert fan_in(whole, big, observe(whole, big, seed=0), seed=0, estimate=77) == 77
    counts = Inputs((torch.arange(10),))
    assert fan_in(torch.sum, counts, observe(torch.sum, counts, seed=0), seed=0, estimate=77) == 77


PRODUCT = "import torch\ndef f(a, b):\n    return a @ b\n"
SHAPES = "f(randn(48, 64), randn(64, 40))"
ATTENTION = "import torch\ndef f(q, k, v):\n    return torch.softmax(q @ k.T / 6, dim=1) @ v\n"
HEADS = "f(randn(48, 32), randn(64, 32), randn(64, 32))"
BF16_ATTENTION = (
    "import torch\n"
    "def r(x):\n    return x.bfloat16().float()\n"
    "def f(q, k, v):\n    return torch.softmax(r(q) @ r(k).T / 6, dim=1) @ v\n"
)
LOSS = "import torch\ndef f(x, y):\n    return (x - y).square().mean()\n"
ROWS = "f(randn(48, 65), randn(48, 65))"
PEAKS = "import torch\ndef f(x):\n    return torch.exp(4 * (x @ x.T))"  # few elements tell
TALL = "f(randn(48, 8))"


def verdict(baseline: str, candidate: str, case: str, *, accept: bool) -> Verdict:
    limits = dataclasses.replace(QUICK, accept_reduced=accept)
    job = Trial("/nowhere/kernel.py", baseline, baseline, candidate, workload(case), measure=False, limits=limits)
    return run_trial(job, lambda stage: None).verdict


@pytest.mark.parametrize(
    ("baseline", "candidate", "case", "refused", "accepted"),
    [
        (PRODUCT, PRODUCT.replace("a @ b", "a.bfloat16().float() @ b.bfloat16().float()"), SHAPES, "accuracy", ""),
        (PRODUCT, PRODUCT.replace("a @ b", "a @ b * 1.001"), SHAPES, "values", "values"),
        (ATTENTION, BF16_ATTENTION, HEADS, "accuracy", ""),
        (LOSS, LOSS.replace("x - y", "x.bfloat16() - y").replace("mean()", "mean().float()"), ROWS, "values", "values"),
        (PEAKS, PEAKS + " * 1.001", TALL, "values", "values"),
    ],
)
def test_a_setting_accepts_reduced_accuracy_and_nothing_else(
    baseline: str, candidate: str, case: str, refused: str, accepted: str
) -> None:
    for expected, accept in ((refused, False), (accepted, True)):
        found = verdict(baseline, candidate, case, accept=accept)
        assert "".join(check.name for check in found.failed_checks) == expected, found.reason
        if found.passed:
            assert found.accuracy is Accuracy.REDUCED
            said = next(check.detail for check in found.checks if check.name == "accuracy")
            assert said.startswith("reduced accuracy, accepted by kernelwright.acceptReducedAccuracy: ")


def test_an_honest_verdict_says_its_class() -> None:
    same = verdict(PRODUCT, PRODUCT + "# the same\n", SHAPES, accept=False)
    assert same.accuracy is Accuracy.BIT_EXACT
    other = verdict(
        PRODUCT, PRODUCT.replace("a @ b", "torch.einsum('ik,kj->ij', a, b) * 1.0 + 0"), SHAPES, accept=False
    )
    assert other.accuracy in (Accuracy.BIT_EXACT, Accuracy.AS_BASELINE)
    split = verdict(
        PRODUCT, PRODUCT.replace("a @ b", "a[:, ::2] @ b[::2] + a[:, 1::2] @ b[1::2]"), SHAPES, accept=False
    )
    assert split.accuracy is Accuracy.AS_BASELINE


@pytest.mark.parametrize(
    ("double", "baseline", "got", "special", "expected"),
    [
        (1e39, INF, NAN, True, "accepted"),
        (1e39, INF, -INF, True, "accepted"),
        (1e20, NAN, INF, True, "accepted"),
        (1e20, INF, 1e20, True, "accepted"),
        (1e39, INF, NAN, False, "nan-parity"),
        (1e39, INF, 3e38, True, "nan-parity"),
        (1e20, INF, 2e20, True, "nan-parity"),
        (INF, INF, NAN, True, "nan-parity"),
        (NAN, NAN, INF, True, "nan-parity"),
        (1e20, 1e20, INF, True, "nan-parity"),
        (1e20, 1e20, NAN, True, "nan-parity"),
    ],
)
def test_an_overflow_of_the_baseline_may_end_otherwise(
    double: float, baseline: float, got: float, special: bool, expected: str
) -> None:
    reference, base, candidate = (torch.ones(64) for _ in range(3))
    reference = reference.double()
    reference[3], base[3], candidate[3] = double, baseline, got
    found = values(Expected(reference, base), candidate, 64, special=special)
    assert (found.name if isinstance(found, Finding) else "accepted") == expected
