"""The order of equal values: open where torch leaves it open, and nothing else is."""

from collections.abc import Callable

import pytest
import torch

from kernelwright.proof.worker.inputs import Inputs
from kernelwright.proof.worker.observe import Observation, observe
from kernelwright.proof.worker.reference.ties import names_an_open_order, ties_apart
from proof.worker.trials import ended_by

X = torch.tensor([[3.0, 1.0, 3.0, 2.0, 2.0], [0.0, 0.0, 0.0, 0.0, float("nan")]])


def accepted(original: Callable[[torch.Tensor], torch.Tensor], text: str, other: object) -> bool:
    inputs = Inputs((X,))
    baseline = observe(original, inputs, seed=0)
    candidate = Observation(torch.tensor(other, dtype=baseline.output.dtype))
    found, words = ties_apart(text, original, inputs, baseline, candidate, seed=0)
    assert bool(words) is (found is not candidate)
    return torch.equal(found.output, baseline.output)


@pytest.mark.parametrize(
    ("other", "fine"),
    [
        ([[2, 0, 4], [4, 3, 0]], True),
        ([[2, 0, 3], [4, 1, 2]], True),
        ([[2, 2, 3], [4, 1, 2]], False),  # one place twice
        ([[2, 0, 1], [4, 1, 2]], False),
        ([[2, 0, 5], [4, 1, 2]], False),  # no place
        ([[2, 3, 0], [4, 1, 2]], False),  # not in order
        ([[2, 0, 3], [1, 4, 2]], False),
    ],
)
def test_an_index_may_point_to_another_of_equal_values(other: list[list[int]], fine: bool) -> None:
    assert accepted(lambda x: x.topk(3, 1).indices, "topk", other) is fine
    assert accepted(lambda x: x.sort(1, descending=True).indices[:, :3], "sort", other) is fine
    assert accepted(lambda x: x.topk(3, 1).indices.int(), "topk", other) is fine
    assert accepted(lambda x: x.t().topk(3, 0).indices.t(), "topk", other) is fine


def test_what_torch_documents_stays() -> None:
    last = [[2, 0, 4], [4, 3, 0]]
    assert not accepted(lambda x: x.sort(dim=1, descending=True, stable=True).indices[:, :3], "sort", last)
    assert not accepted(lambda x: x.argmax(1), "argmax", [2, 4])
    assert not accepted(lambda x: x.topk(3, 1).indices + 1, "topk", [[3, 1, 5], [5, 4, 1]])  # no place any more
    assert accepted(lambda x: x.kthvalue(2, 1).indices, "kthvalue", [4, 2])


def test_the_gate_takes_any_of_equal_values() -> None:
    original = "import torch\ndef f(x):\n    return torch.topk(x, 3, dim=1).indices\n"
    last = original.replace(
        "torch.topk(x, 3, dim=1).indices", "x.shape[1] - 1 - torch.topk(x.flip(1), 3, dim=1).indices"
    )
    case = "f(randn(48, 300, dtype=bfloat16))"
    assert ended_by(original, last, case) == "passed"
    assert ended_by(original, last.replace("- 1 -", "- 2 -"), case) == "values"


COUNTS = """
import torch


def f(x, w):
    values, places = torch.topk(x @ w, 2, dim=1)
    return torch.bincount(places.flatten(), minlength=w.shape[1]), torch.zeros_like(x @ w).scatter(1, places, values)
"""


@pytest.mark.parametrize(
    ("change", "check"),
    [
        (("torch.topk(x @ w, 2, dim=1)", "torch.sort(x @ w, dim=1, descending=True, stable=True)"), "passed"),
        (("torch.topk(x @ w, 2, dim=1)", "torch.sort(x @ w, dim=1, descending=True, stable=False)"), "passed"),
        (("places.flatten()", "places[:, :1].flatten()"), "values"),
        (("scatter(1, places, values)", "masked_scatter((x @ w) >= values[:, -1:], values)"), "values"),
    ],
)
def test_what_hangs_on_the_order_of_equal_values(change: tuple[str, str], check: str) -> None:
    first_two = COUNTS.replace(*change).replace(
        "    return", "    values, places = values[:, :2], places[:, :2]\n    return"
    )
    assert ended_by(COUNTS, first_two, "f(randn(48, 8), randn(8, 9))") == check


def test_a_workload_whose_equal_values_decide_is_not_checkable() -> None:
    stable = COUNTS.replace("torch.topk(x @ w, 2, dim=1)", "torch.sort(x @ w, dim=1, descending=True, stable=True)")
    stable = stable.replace("    return", "    values, places = values[:, :2], places[:, :2]\n    return")
    assert ended_by(COUNTS, stable, "f(randn(480, 8, dtype=bfloat16), randn(8, 90, dtype=bfloat16))") == "not checkable"


@pytest.mark.parametrize(
    ("text", "open_order"),
    [
        ("return x.mode(1).indices", True),
        ("return torch.sort(x, dim=1)", True),
        ("order = torch.argsort(x)", True),
        ("nn.init.kaiming_normal_(weight, mode='fan_out')", False),
        ("self.up = nn.Upsample(scale_factor=2, mode = 'nearest')", False),
        ("return torch.relu(x)", False),
    ],
)
def test_the_name_of_an_argument_names_no_order(text: str, open_order: bool) -> None:
    assert names_an_open_order(text) is open_order
