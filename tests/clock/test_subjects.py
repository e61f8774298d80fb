"""The kernels that the clock is tried on: as long as asked for, and the same with a plant."""

import pytest
import torch
from benchmarks.subjects import KINDS, Subject, Wanted, kinds_on, log_spaced, named, subject, subjects

from kernelwright.proof.jobs import Limits
from kernelwright.values import Device

H200 = Device("cuda", "NVIDIA H200", bandwidth=4.8e12, peak_flops={"float32": 67e12})
CPU = Device("cpu", "a CPU")


def test_sizes_are_log_spaced() -> None:
    assert log_spaced(0.01, 10.0, 4) == (0.01, 0.1, 1.0, 10.0)
    assert log_spaced(0.01, 10.0, 7)[1:3] == (0.032, 0.1)
    assert log_spaced(0.5, 10.0, 1) == (0.5,)


@pytest.mark.parametrize(
    ("ms", "call", "repeats"),
    [
        (0.01, "f(randn(3840000))", 1),  # 31 MB in 8 us, which is 80 % of the bandwidth, behind 2 us of launch
        (0.1, "f(randn(47040512))", 1),
        (10.0, "f(randn(67108864))", 72),  # no larger tensors, but again
    ],
)
def test_a_pointwise_kernel_is_as_large_as_its_time_allows(ms: float, call: str, repeats: int) -> None:
    made = subject("pointwise", ms, H200)
    assert (made.call, made.repeats) == (call, repeats)


def test_the_plan_has_every_kind_in_every_size() -> None:
    plan = subjects(kinds_on(H200), (0.1, 1.0), H200)
    assert [(one.kind, one.target_ms) for one in plan] == [(kind, ms) for ms in (0.1, 1.0) for kind in KINDS]
    assert "triton softmax" not in kinds_on(CPU)


def test_names() -> None:
    assert (named(0.032), named(1.0), named(10.0)) == ("32 us", "1 ms", "10 ms")


@pytest.mark.parametrize("kind", kinds_on(CPU))
def test_a_plant_does_not_change_the_result(kind: str) -> None:
    one = Subject(kind, 1.0, "f(randn(40, 40), randn(40, 40))", 3)
    given = torch.randn(40, 40, generator=torch.Generator().manual_seed(0))
    answers = []
    for extra in (0.0, 0.5):
        module: dict = {}
        exec(one.text(extra), module)
        answers.append(module["f"](given, given) if kind == "matmul" else module["f"](given))
    assert torch.equal(*answers)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("plant", "place"), [(0.05, "candidate"), (-0.05, "baseline")])
def test_the_plant_is_in_the_text_that_its_sign_says(kind: str, plant: float, place: str) -> None:
    made = Wanted(subject(kind, 1.0, H200), plant, extra=0.047, true=1.05).trial(3, Limits())
    having = {name for name in ("baseline", "candidate") if "EXTRA = 1, 0.047" in getattr(made, name)}
    having |= {name for name in ("baseline", "candidate") if ", 0.047\n" in getattr(made, name)}
    assert having == {place}
    assert made.previous == made.baseline


def test_an_a_a_pair_differs_in_a_comment_only() -> None:
    made = Wanted(subject("softmax", 1.0, H200)).trial(3, Limits())
    assert made.candidate.startswith(made.baseline)
    assert made.candidate.removeprefix(made.baseline).strip().startswith("#")
