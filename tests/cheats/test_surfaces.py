"""A sample of the controls and exploits through the command line and the language server, as a person meets them.

All of them: `python -m benchmarks.surfaces`. That each is found there as a kernel, with its workload: test_found.py.
"""

import dataclasses

import pytest
from benchmarks import surfaces
from benchmarks.surfaces import COMMAND_LINE, SERVER, agrees, chosen, compared
from corpus import case

import warm

# Nothing in sight that looks like a kernel, helpers with workloads of their own, several kernels of one launcher, and ends
# of every kind.
SAMPLE = (
    ("controls", "bool_output"),
    ("controls", "compiled_by_torch"),
    ("controls", "own_backward_recomputed"),
    ("controls", "threads_joined"),
    ("controls", "triton_split_reduction"),
    ("exploits", "c04_wrong_axis_hidden_by_equal_values"),
    ("exploits", "e01_descriptors_closed"),
    ("exploits", "e02_base_exception"),
    ("exploits", "e03_number_too_long_to_send"),
)


@pytest.fixture(autouse=True)
def without_a_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")


@pytest.fixture(autouse=True)
def with_warm_workers(monkeypatch: pytest.MonkeyPatch) -> None:
    for surface, name in ((COMMAND_LINE, "kernelwright"), (SERVER, "kernelwright.lsp")):
        monkeypatch.setitem(surfaces.PROGRAMS, surface, warm.module(name))


async def test_the_server_says_what_a_trial_does() -> None:
    told: list[str] = []
    assert await compared([case(*one) for one in SAMPLE], [SERVER], told.append) == 0, "\n".join(told)
    assert len(told) == len(SAMPLE)
    assert sum("not askable" in line for line in told) <= 1


async def test_the_command_line_says_what_a_trial_does() -> None:
    told: list[str] = []
    sample = [case(*one) for one in (SAMPLE[0], SAMPLE[4], SAMPLE[5])]
    assert await compared(sample, [COMMAND_LINE], told.append) == 0, "\n".join(told)


@pytest.mark.parametrize(
    ("ends", "wanted", "fine"),
    [
        ({"passed", "no-gain"}, {"passed"}, True),
        ({"passed"}, {"values"}, False),
        ({"declined", "The code crashed."}, {"crashed", "values"}, True),
        ({"declined", "There is no kernel."}, {"passed"}, False),
    ],
)
def test_what_agrees(ends: set[str], wanted: set[str], fine: bool) -> None:
    asked = dataclasses.replace(case(*SAMPLE[0]), expected=frozenset(wanted))
    assert agrees(asked, frozenset(ends)) is fine


def test_nearly_all_can_be_asked_for() -> None:
    assert len(chosen()) >= 240
