"""Which variants are raced, when a race takes too long."""

import asyncio
from types import SimpleNamespace
from typing import Any

import pytest

from kernelwright.coders import Variant
from kernelwright.observer import Report, silent
from kernelwright.proof.jobs import Limits, Race, RaceResult
from kernelwright.racing import MANY_VARIANTS, ranked
from kernelwright.values import Action, Edits, Failure, FailureKind, Region, Timing
from macro.torch_modules import GPU, module, observed

OURS, COMPILED, TUNED = "torch.fuse-pointwise", "torch.compile-module", "triton.tune-launch"


class Workers:
    """Takes too long for a race that the text "compiled" is in."""

    def __init__(self, failure: FailureKind) -> None:
        self.failure, self.races = failure, list[tuple[str, ...]]()
        self.expected = False  # a trial

    def expect_trial(self) -> None:
        self.expected = True

    async def run(self, job: Race, **_: Any) -> RaceResult | Failure:
        self.races.append(job.variants)
        if "compiled" in job.variants:
            return Failure(self.failure, "It took too long.")
        return RaceResult(tuple(map(_timed, job.variants)))


def _timed(text: str) -> Timing | Failure:
    """The shorter the faster; "wrong" fails."""
    if text == "wrong":
        return Failure(FailureKind.WORKLOAD_FAILED, "values: the output is wrong.")
    return Timing(float(len(text)), 1.0, 1.0, 9)


def variant(strategy: str, text: str) -> Variant:
    return Variant(Action(strategy, Region(0, 1, "")), Edits("", ()), text, "")


def race(
    workers: Workers, *variants: Variant, report: Report = silent, compiled: Any = None
) -> tuple[Variant, ...] | Failure:
    """`compiled`: what compiling an Observation comes to."""
    observer = SimpleNamespace(workers=workers, settings=SimpleNamespace(verify_timeout=1.0), resources=compiled)
    observation = observed(module("return torch.tanh(x) + 1"), GPU)
    return asyncio.run(ranked(observer, observation, variants, Limits(), report, None))  # type: ignore[arg-type]


def test_what_starts_slowly_is_left_out_of_a_second_race() -> None:
    workers = Workers(FailureKind.TIMED_OUT)
    long, short, compiled = variant(OURS, "a long text"), variant(OURS, "short"), variant(COMPILED, "compiled")
    assert race(workers, compiled, long, short) == (short, long)
    assert workers.races == [("compiled", "a long text", "short"), ("a long text", "short")]


@pytest.mark.parametrize("failure", [FailureKind.CANCELLED, FailureKind.CRASHED])
def test_another_failure_ends_the_race(failure: FailureKind) -> None:
    workers = Workers(failure)
    ended = race(workers, variant(COMPILED, "compiled"), variant(OURS, "short"), variant(OURS, "other"))
    assert isinstance(ended, Failure)
    assert ended.kind is failure
    assert len(workers.races) == 1


def test_nothing_but_what_starts_slowly_is_not_raced_again() -> None:
    workers = Workers(FailureKind.TIMED_OUT)
    ended = race(workers, variant(COMPILED, "compiled"), variant(COMPILED, "also compiled"))
    assert isinstance(ended, Failure)
    assert len(workers.races) == 1


def test_what_is_out_of_a_race_is_told() -> None:
    said: list[str] = []
    left = race(Workers(FailureKind.CRASHED), variant(OURS, "wrong"), variant(OURS, "right"), report=said.append)
    assert left == (variant(OURS, "right"),)
    assert said[-1] == ("1 of 2 variants are out of the race; Fuse pointwise operations: values: the output is wrong.")


@pytest.mark.parametrize(
    ("kind", "raced"), [(FailureKind.COMPILE_FAILED, 0), (FailureKind.WORKLOAD_FAILED, 9), (FailureKind.DEVICE_GONE, 9)]
)
def test_what_cannot_be_loaded_without_a_gpu_is_raced_as_it_is(kind: FailureKind, raced: int) -> None:
    asked: list[str] = []

    async def compiled(observation: Any, *_: Any) -> Failure:
        asked.append(observation.text)
        return Failure(kind, "not here")

    workers, texts = Workers(FailureKind.CRASHED), [f"text {number}" for number in range(MANY_VARIANTS + 1)]
    ended = race(workers, *(variant(TUNED, text) for text in texts), compiled=compiled)
    assert [len(one) for one in workers.races] == ([raced] if raced else [])
    assert isinstance(ended, Failure) is (not raced)
    assert len(asked) == (1 if raced else len(texts))
    assert workers.expected  # the judge starts beside
