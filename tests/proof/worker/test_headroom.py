"""What timing does without where memory is short."""

from hypothesis import given
from hypothesis import strategies as st

from kernelwright.proof.worker.headroom import LEAST, Headroom, headroom

GIB = 1 << 30
SIZES = st.integers(0, 16 * GIB)


def test_small_calls_have_all_of_it() -> None:
    assert headroom(1 << 20, 1 << 20, 8 * GIB, 2) == Headroom(twin=True, pools=True)


def test_a_reduction_of_eight_gib_keeps_both_on_a_card_of_140() -> None:
    assert headroom(8 * GIB, GIB // 8, 128 * GIB, 2) == Headroom(twin=True, pools=True)


def test_a_normalisation_of_seven_gib_does_without() -> None:
    assert headroom(7 * GIB, 7 * GIB, 122 * GIB, 2) == LEAST


@given(given=SIZES, answered=SIZES, free=st.integers(0, 200 * GIB), processes=st.integers(2, 3))
def test_more_memory_and_fewer_processes_never_take_anything_away(
    given: int, answered: int, free: int, processes: int
) -> None:
    some = headroom(given, answered, free, processes)
    more = headroom(given, answered, free + GIB, processes - 1)
    assert more.twin >= some.twin
    assert more.pools >= some.pools or more.twin > some.twin  # the second baseline comes first
