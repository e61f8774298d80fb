"""What a workload line's tensors hold."""

from hypothesis import given
from hypothesis import strategies as st

from kernelwright.proof.worker.inputs import from_call
from kernelwright.proof.worker.subject import case_call


@given(
    low=st.integers(-300, 300),
    range_=st.integers(1, 400),
    shape=st.lists(st.integers(1, 6), min_size=1, max_size=3),
    layout=st.sampled_from(["", ", layout=transposed"]),
    seed=st.integers(0, 9),
)
def test_whole_numbers_take_both_ends_of_their_range(
    low: int, range_: int, shape: list[int], layout: str, seed: int
) -> None:
    line = f"f(randint({low}, {low + range_}, {', '.join(map(str, shape))}{layout if len(shape) > 1 else ''}))"
    (made,) = from_call(case_call(line), device="cpu", seed=seed).tensors()
    assert list(made.shape) == shape
    assert low <= int(made.min()) <= int(made.max()) < low + range_
    if made.numel() > 1:
        assert (int(made.min()), int(made.max())) == (low, low + range_ - 1)
