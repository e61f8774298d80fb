"""What a workload line's tensors hold."""

from types import ModuleType

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from kernelwright.proof.worker import inputs
from kernelwright.proof.worker.failed import JobFailed
from kernelwright.proof.worker.inputs import bytes_of_call, bytes_of_get_inputs, check_memory, from_call
from kernelwright.proof.worker.subject import case_call
from proof.worker.trials import ended_by, trial


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


@given(low=st.integers(-300, 300), range_=st.integers(1, 400), seed=st.integers(0, 9))
def test_half_of_the_whole_numbers_are_ends_where_asked_for(low: int, range_: int, seed: int) -> None:
    call = case_call(f"f(randn(5), randint({low}, {low + range_}, 2000))")
    plain, ends = (from_call(call, device="cpu", seed=seed, ends=ends).tensors() for ends in (False, True))
    assert plain[0].equal(ends[0])  # what is no whole number stays as it was
    assert low <= int(ends[1].min()) <= int(ends[1].max()) < low + range_
    for end in (low, low + range_ - 1):
        assert (ends[1] == end).sum() > 400
    if range_ > 20:
        assert len(ends[1].unique()) > 10


LOSS = """import torch


def f(x, y):
    kept = y >= 0
    loss = torch.logsumexp(x, 1) - x.gather(1, y.clamp(min=0)[:, None])[:, 0]
    return torch.where(kept, loss, 0.0).sum() / kept.sum()
"""


def test_a_branch_for_one_number_of_many_shows() -> None:
    wrong = LOSS.replace("loss, 0.0)", "loss, 0.002)")
    assert wrong != LOSS
    lines = ("f(randn(64, 300), randint(0, 300, 64))", "f(randn(512, 100), randint(-1, 100, 512))")
    assert ended_by(LOSS, LOSS + "\n# The same again.\n", *lines) == "passed"
    assert ended_by(LOSS, wrong, *lines) == "values"


def test_what_has_no_room_is_refused_before_it_is_made(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(inputs, "free_on", lambda device: 8 << 30)
    fits = case_call("f(randn(1024, 1024, 256), randn(1024, 1024, 256, dtype=float16))")
    check_memory(bytes_of_call(fits), "cpu")  # 1.6 GB
    call = case_call("f(randn(65536, 65536), scale=randn(1024, 1024, 1024, dtype=float16))")
    with pytest.raises(JobFailed) as refused:
        check_memory(bytes_of_call(call), "cpu")
    words = "The workload's tensors take 19.3 GB, and a call is made on 3 copies of them, where 8.59 GB are free"
    assert words in refused.value.failure.message


def made_by(body: str) -> int:
    module = ModuleType("workload")
    exec(f"import torch\n\n\ndef get_inputs():\n    {body}\n", module.__dict__)
    return bytes_of_get_inputs(module)


def test_the_size_of_get_inputs_is_known_before_it_is_made() -> None:
    assert made_by("return [torch.randn(1 << 20, 1 << 20), torch.ones(8, dtype=torch.int64)]") == (4 << 40) + 64
    assert made_by("return [torch.rand(64, 1 << 30).half().transpose(0, 1)]") == 64 << 31
    assert made_by("return [torch.rand(3) + float(torch.rand(1))]") == 0, "needs a number that is drawn"


def test_a_workload_of_get_inputs_that_has_no_room_is_refused() -> None:
    model = "import torch\n\n\nclass Model(torch.nn.Module):\n    def forward(self, x):\n        return x + x\n"
    text = model + "\n\ndef get_inputs():\n    return [torch.randn(1 << 20, 1 << 20)]\n"
    with pytest.raises(JobFailed) as refused:
        trial(text, text + "\n# The same again.\n")
    assert "The workload's tensors take 4.4e+03 GB" in refused.value.failure.message


def made(argument: str) -> torch.Tensor:
    (tensor,) = from_call(case_call(f"f({argument})"), device="cpu", seed=0).tensors()
    return tensor


def test_numbers_that_are_written_out() -> None:
    assert made("tensor([[0, 12], [64, 3]], dtype=int32)").equal(torch.tensor([[0, 12], [64, 3]], dtype=torch.int32))
    assert made("tensor(True)").item() is True
    assert made("randperm(100)").sort().values.equal(torch.arange(100))


@pytest.mark.parametrize(("count", "last"), [(1025, 16384), (3, 5), (2, 7), (5, 0), (1, 0), (0, 0)])
def test_offsets_rise_from_0_to_the_last(count: int, last: int) -> None:
    offsets = made(f"offsets({count}, {last}, dtype=int32)")
    assert offsets.shape == (count,)
    assert offsets.dtype is torch.int32
    lengths = offsets.diff()
    assert bool((lengths >= 0).all())
    assert offsets[:1].tolist() == [0] * min(count, 1)
    assert offsets[-1:].tolist() == [last] * min(count, 1)
    if count == 1025:
        assert 0 in lengths
        assert len(lengths.unique()) > 10


@pytest.mark.parametrize(
    ("argument", "strides"), [("randn(8, 64, strides=(192, 1))", (192, 1)), ("randn(4, 8, strides=(0, 1))", (0, 1))]
)
def test_elements_lie_apart_as_the_strides_say(argument: str, strides: tuple[int, ...]) -> None:
    tensor = made(argument)
    assert tensor.stride() == strides
    assert tensor.isfinite().all()
    assert not tensor.requires_grad


def test_what_lies_between_the_elements_is_poisoned() -> None:
    tensor = made("randn(8, 64, strides=(192, 1))")
    assert tensor.as_strided((7, 192), (192, 1))[:, 64:].isnan().all()


def test_a_dtype_is_an_argument() -> None:
    given = from_call(case_call("f(randn(2), float16, to=torch.bfloat16)"), device="cpu", seed=0)
    assert (given.args[1], given.kwargs) == (torch.float16, {"to": torch.bfloat16})
