"""The state of a GPU in words."""

import pytest

from kernelwright.proof.worker.clock.gpu_state import described, gpu_conditions


@pytest.mark.parametrize(
    ("held", "listed", "clock", "others"),
    [
        ((), {10, 11}, "1980 MHz", "none"),
        (("the power limit", "heat"), {10}, "1980 MHz, held down by the power limit and heat", "none"),
        ((), {10, 99, 98}, "1980 MHz", "2, which may slow the measured one down"),
        ((), {99}, "1980 MHz", "not known here"),
        ((), set(), "1980 MHz", "not known here"),
    ],
)
def test_a_state_in_words(held: tuple[str, ...], listed: set[int], clock: str, others: str) -> None:
    words = described(1980, 41, held, listed, {10, 11, 12})
    assert words == {"SM clock": clock, "temperature": "41 C", "other processes": others}


def test_without_such_a_gpu_nothing_is_said() -> None:
    assert gpu_conditions("GPU-00000000-0000-0000-0000-000000000000") == {}
