"""Accesses out of bounds: where a tensor is put so that they end, and what follows from one that does."""

from dataclasses import dataclass, field

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kernelwright.proof.worker.evidence import Evidence
from kernelwright.proof.worker.gate.grounds import Ground
from kernelwright.proof.worker.gate.in_bounds import baseline_stays, bounds_kept, observe_in_bounds
from kernelwright.proof.worker.hosts.bounds import ALIGNMENT, NAME, placed
from kernelwright.proof.worker.rejected import NotAccepted, Rejected
from kernelwright.proof.worker.variation import Variation
from proof.worker.trials import trial

PAGE = 2 << 20


@given(size=st.integers(1, 5 * PAGE), at_start=st.booleans())
def test_a_tensor_lies_against_one_end_of_its_pages(size: int, at_start: bool) -> None:
    place = placed(size, PAGE, at_start=at_start)
    assert place.whole % PAGE == 0
    assert 0 <= place.start < place.end <= place.whole < size + PAGE
    assert place.end - place.start == size
    assert place.start % 16 == 0
    assert place.start == 0 if at_start else place.whole - place.end < 16


# --- what follows, with processes that only say what they would ---------------------------------------


@dataclass
class Bench:
    device: str = "cuda"
    evidence: Evidence = field(default_factory=Evidence)


@dataclass
class Contender:
    """Runs out of bounds or not; `asked` are the calls, True where they were to be between unmapped addresses."""

    strays: bool = False
    check: str = NAME
    unbounded: str = ""
    asked: list[bool] = field(default_factory=list)
    starts: int = 1

    def observe(self, *_: object, bounded: bool = False, **__: object) -> str:
        self.asked.append(bounded)
        if bounded and self.strays:
            raise Rejected(self.check, "a case", "stopped")
        return "observed"

    def start_again(self) -> None:
        self.starts += 1

    def close(self) -> None:
        pass


CALL = Ground(Variation("a case", None, 0), None, None, None, "", 0)


@pytest.fixture
def baseline(monkeypatch: pytest.MonkeyPatch) -> Contender:
    """The process of the baseline, which is asked only when a candidate has strayed."""
    made = Contender()
    monkeypatch.setattr("kernelwright.proof.worker.gate.in_bounds.Contender", lambda bench, text, path: made)
    monkeypatch.setattr(Bench, "trial", type("Trial", (), {"baseline": "", "home": ""})(), raising=False)
    return made


def observed(bench: Bench, contender: Contender, *, poisoned: bool = True) -> object:
    return observe_in_bounds(bench, contender, CALL, poisoned=poisoned)


def test_each_poisoned_call_on_a_gpu_is_made_between_unmapped_addresses(baseline: Contender) -> None:
    bench, contender = Bench(), Contender()
    for poisoned in (False, True, True):
        assert observed(bench, contender, poisoned=poisoned) == "observed"
    assert contender.asked == [False, True, True]
    assert [check.case for check in bounds_kept(bench.evidence)] == ["2 calls"]
    assert not baseline.asked


def test_no_call_on_a_cpu_is() -> None:
    bench, contender = Bench(device="cpu"), Contender(strays=True)
    assert observed(bench, contender) == "observed"
    assert contender.asked == [False]
    assert not bounds_kept(bench.evidence)


def test_what_the_baseline_does_not_do_ends_the_trial(baseline: Contender) -> None:
    with pytest.raises(Rejected) as refused:
        observed(Bench(), Contender(strays=True))
    assert refused.value.check.name == NAME
    assert baseline.asked == [True]


def test_what_the_baseline_does_as_well_is_no_longer_looked_for(baseline: Contender) -> None:
    baseline.strays = True
    bench, contender = Bench(), Contender(strays=True)
    assert observed(bench, contender) == observed(bench, contender) == "observed"
    assert contender.asked == [True, False, False]
    assert contender.starts == 2, "the context of the first process is gone"
    assert set(bench.evidence.notes) == {"accesses out of bounds are not looked for: the baseline makes them as well"}
    assert not bounds_kept(bench.evidence)


def test_what_asks_for_wider_alignment_is_left_alone(baseline: Contender) -> None:
    bench, contender = Bench(), Contender(strays=True, check=ALIGNMENT)
    assert observed(bench, contender) == "observed"
    assert (contender.starts, baseline.asked) == (2, [])
    assert set(bench.evidence.notes) == {
        "accesses out of bounds are not looked for: it asks for tensors at multiples of more than 16 bytes"
    }


def test_what_else_ends_the_candidate_ends_the_trial(baseline: Contender) -> None:
    with pytest.raises(Rejected):
        observed(Bench(), Contender(strays=True, check="runs"))
    assert not baseline.asked


def test_why_it_could_not_be_looked_for_is_said(baseline: Contender) -> None:
    bench, contender = Bench(), Contender(unbounded="the driver gives no pages")
    observed(bench, contender)
    observed(bench, contender)
    assert set(bench.evidence.notes) == {
        "accesses out of bounds are not looked for everywhere: the driver gives no pages"
    }
    assert not bounds_kept(bench.evidence)


def test_a_case_in_which_the_baseline_itself_strays_is_no_measure(baseline: Contender) -> None:
    baseline_stays(Bench(), CALL)
    baseline.strays = True
    baseline_stays(Bench(device="cpu"), CALL)
    with pytest.raises(NotAccepted):
        baseline_stays(Bench(), CALL)
    assert baseline.asked == [True, True]


# --- on a GPU ------------------------------------------------------------------------------------------

SCALE = """import torch
import triton
import triton.language as tl


@triton.jit
def scale(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = i < n
    x = tl.load(x_ptr + i, mask=mask)
    tl.store(y_ptr + i, 2 * x, mask=mask)


def f(x):
    y = torch.empty_like(x)
    scale[(triton.cdiv(x.numel(), 1024),)](x, y, x.numel(), BLOCK=1024)
    return y
"""
LINE = "f(randn(4096))"
STRAYING = {
    "a load": SCALE.replace("tl.load(x_ptr + i, mask=mask)", "tl.load(x_ptr + i)"),
    "a load before the start": SCALE.replace("2 * x, mask", "tl.where(mask, 2 * x, tl.load(x_ptr + i - 64)), mask"),
    "a store": SCALE.replace("2 * x, mask=mask", "2 * x"),
    "a store to zeros": SCALE.replace("2 * x, mask=mask", "2 * x").replace("empty_like", "zeros_like"),
    "an atomic addition": SCALE.replace(
        "tl.store(y_ptr + i, 2 * x, mask=mask)", "tl.atomic_add(y_ptr + i, 2 * x)"
    ).replace("empty_like", "zeros_like"),
}
KEPT = (
    SCALE.replace("torch.empty_like(x)", "room(x)").replace("return y", "return y.clone()")
    + '''

kept = {}


def room(x):
    """What was asked for in the call before: memory that a call between unmapped addresses was given is used after it."""
    before = kept.get(x.shape)
    kept[x.shape] = torch.empty_like(x)
    return kept[x.shape] if before is None else before
'''
)

MODULE = """import torch
import triton
import triton.language as tl


@triton.jit
def scale(x_ptr, w_ptr, y_ptr, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    w = tl.load(w_ptr + i, mask=i < n)
    x = tl.load(x_ptr + tl.program_id(0) * n + i, mask=i < n)
    tl.store(y_ptr + tl.program_id(0) * n + i, w * x, mask=i < n)


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.randn(200))

    def forward(self, x):
        y = torch.empty_like(x)
        scale[(x.shape[0],)](x, self.weight, y, x.shape[1], BLOCK=256)
        return y


def get_inputs():
    return [torch.randn(64, 200)]
"""


@pytest.mark.gpu
@pytest.mark.parametrize("what", STRAYING)
def test_an_access_out_of_bounds_that_changes_no_answer_is_found(what: str) -> None:
    verdict = trial(SCALE, STRAYING[what], LINE).verdict
    assert [check.name for check in verdict.failed_checks] == [NAME], verdict.reason


@pytest.mark.gpu
def test_an_access_beyond_a_parameter_is_found_and_an_honest_module_passes() -> None:
    straying = MODULE.replace("tl.load(w_ptr + i, mask=i < n)", "tl.load(w_ptr + i)")
    verdict = trial(MODULE, straying).verdict
    assert [check.name for check in verdict.failed_checks] == [NAME], verdict.reason
    assert trial(MODULE, MODULE + "\n# The same.\n").verdict.passed


@pytest.mark.gpu
@pytest.mark.parametrize("candidate", [SCALE + "\n# The same.\n", KEPT], ids=["as it is", "memory kept between calls"])
def test_what_stays_within_its_tensors_passes(candidate: str) -> None:
    verdict = trial(SCALE, candidate, LINE, measure=True).verdict
    assert verdict.passed, verdict.reason
    assert NAME in {check.name for check in verdict.checks}


TILED = """import torch
import triton
import triton.language as tl


@triton.jit
def sums(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    total = tl.zeros([BLOCK], tl.float32)
    for start in range(0, n, BLOCK):
        total += tl.load(x_ptr + tl.program_id(0) * n + start + tl.arange(0, BLOCK))
    tl.store(y_ptr + tl.program_id(0), tl.sum(total))


def f(x):
    y = x.new_empty(x.shape[0])
    sums[(x.shape[0],)](x, y, x.shape[1], BLOCK=64)
    return y
"""


@pytest.mark.gpu
def test_sizes_on_which_the_baseline_reads_what_lies_behind_its_tensors_decide_nothing() -> None:
    verdict = trial(TILED, TILED.replace("tl.sum(total))", "tl.sum(total, axis=0))"), "f(randn(64, 256))").verdict
    assert verdict.passed, verdict.reason


@pytest.mark.gpu
def test_what_the_baseline_reads_as_well_is_not_held_against_a_candidate() -> None:
    straying = STRAYING["a load"]
    verdict = trial(straying, straying + "\n# The same.\n", LINE).verdict
    assert verdict.passed, verdict.reason
    assert "the baseline makes them as well" in verdict.how
