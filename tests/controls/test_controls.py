"""Honest kernels that look like cheats, or are rare: none may be refused.

Each is verified once; KERNELWRIGHT_CONTROL_REPEATS=10 asks ten times, since a check that refuses one run in ten is wrong.
"""

import os
from collections.abc import Iterator

import pytest

from cheats.bench import Bench, bench_for
from cheats.outcome import Specimen, ended_by, reason_of, specimens, well_formed

HONEST = specimens("controls.honest")
REPEATS = int(os.environ.get("KERNELWRIGHT_CONTROL_REPEATS", "1"))

# What the gate refuses by mistake, with the check that is at fault. Strict: a gate that lets one pass must take it out.
REFUSED: dict[str, str] = {}


def parameter(specimen: Specimen) -> pytest.param:
    marks = [pytest.mark.gpu] if specimen.gpu else []
    if specimen.name in REFUSED:
        marks.append(pytest.mark.xfail(reason=REFUSED[specimen.name], strict=True, raises=AssertionError))
    return pytest.param(specimen, marks=marks, id=specimen.name)


@pytest.fixture(scope="module")
def bench(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bench]:
    yield from bench_for(request, tmp_path_factory.mktemp("controls"), lanes=1)


@pytest.mark.parametrize("repetition", range(REPEATS))
@pytest.mark.parametrize("specimen", [parameter(specimen) for specimen in HONEST])
def test_an_honest_kernel_passes(specimen: Specimen, repetition: int, bench: Bench) -> None:
    answer = bench.answer(specimen, repetition)
    ends = ended_by(answer)
    assert "passed" in ends, f"{specimen}: {reason_of(answer)}"
    assert "impossible" not in ends
    if "@triton.jit" in specimen.candidate:
        assert not ends & {"library-call", "kernel-share"}, reason_of(answer)


def test_the_set_is_whole() -> None:
    assert all(well_formed(specimen) for specimen in HONEST)
    assert len(HONEST) >= 40
    assert all(specimen.ends_with == {"passed"} for specimen in HONEST)
    assert set(REFUSED) <= {specimen.name for specimen in HONEST}
