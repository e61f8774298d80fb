"""Honest kernels that look like cheats, or are rare: none may be refused.

Each is verified once; KERNELWRIGHT_CONTROL_REPEATS=10 asks ten times, since a check that refuses one run in ten is wrong.
"""

import os
from collections.abc import Iterator

import pytest
from corpus import Case, cases

from cheats.bench import Bench, bench_for
from cheats.outcome import ended_by, reason_of, well_formed

HONEST = cases("controls")
REPEATS = int(os.environ.get("KERNELWRIGHT_CONTROL_REPEATS", "1"))


def parameter(case: Case) -> pytest.param:
    return pytest.param(case, marks=[pytest.mark.gpu] if "gpu" in case.marks else [], id=case.name)


@pytest.fixture(scope="module")
def bench(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bench]:
    yield from bench_for(request, tmp_path_factory.mktemp("controls"), lanes=1)


@pytest.mark.parametrize("repetition", range(REPEATS))
@pytest.mark.parametrize("case", [parameter(case) for case in HONEST])
def test_an_honest_kernel_passes(case: Case, repetition: int, bench: Bench) -> None:
    answer = bench.answer(case, repetition)
    ends = ended_by(answer)
    assert "passed" in ends, f"{case}: {reason_of(answer)}"
    if "@triton.jit" in case.candidate:
        assert not ends & {"library-call", "kernel-share"}, reason_of(answer)


def test_the_set_is_whole() -> None:
    assert all(well_formed(case) for case in HONEST)
    assert len(HONEST) >= 40
    assert all(case.expected == {"passed"} for case in HONEST)
