"""What a text leaves behind in a worker neither helps nor harms the next trial there."""

import dataclasses
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest
import pytest_asyncio
from corpus import SECONDS, case

from cheats.outcome import QUICK, as_expected, ended_by, reason_of, trial_of
from kernelwright.proof.client import Workers
from kernelwright.proof.jobs import Capture, Contest, Job, Profile, Race, Subject, Trial

WRONG = case("exploits", "e03_output_forged")
RIGHT_AND_POISONOUS = case("exploits", "a10_judge_replaced").candidate.replace(
    "torch.zeros_like(x)", "torch.softmax(x, dim=1)"
)


def trial(wrong: Trial) -> Job:
    return dataclasses.replace(wrong, candidate=RIGHT_AND_POISONOUS)


def race(wrong: Trial) -> Job:
    return Race(wrong.path, wrong.baseline, (wrong.baseline, RIGHT_AND_POISONOUS), wrong.workload, QUICK)


def contest(wrong: Trial) -> Job:
    return Contest(wrong.path, wrong.baseline, RIGHT_AND_POISONOUS, wrong.workload, compile=False, limits=QUICK)


def capture(wrong: Trial) -> Job:
    return Capture(Subject(wrong.path, RIGHT_AND_POISONOUS, wrong.workload))


def profile(wrong: Trial) -> Job:
    return Profile(Subject(wrong.path, RIGHT_AND_POISONOUS, wrong.workload))


@pytest_asyncio.fixture(scope="module")
async def workers() -> AsyncIterator[Workers]:
    """Shared, so that one poison meets what another has left."""
    workers = Workers()
    yield workers
    await workers.close()


@pytest.mark.parametrize("first", [trial, race, contest, capture, profile])
async def test_a_wrong_candidate_is_caught_after(
    first: Callable[[Trial], Job], workers: Workers, tmp_path: Path
) -> None:
    wrong = trial_of(WRONG, tmp_path)
    await workers.run(first(wrong), timeout=SECONDS)
    answer = await workers.run(wrong, timeout=SECONDS)
    assert as_expected(WRONG, ended_by(answer)), reason_of(answer)


async def test_the_flags_of_one_original_do_not_reach_the_next(workers: Workers, tmp_path: Path) -> None:
    right = dataclasses.replace(WRONG, candidate=WRONG.baseline)
    await workers.run(trial_of(case("controls", "tf32_where_the_original_has_it"), tmp_path), timeout=SECONDS)
    answer = await workers.run(trial_of(right, tmp_path), timeout=SECONDS)
    assert "passed" in ended_by(answer), reason_of(answer)
