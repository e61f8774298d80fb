"""Calls on other data in the memory of an earlier one: a kept answer is found, and what is honest passes."""

from unittest import mock

import pytest

from kernelwright.proof.worker.hosts import contender
from proof.worker.trials import ended_by, trial

HEAD = "import torch\n"
SIN = HEAD + "def f(x):\n    return torch.sin(x)\n"
# It keeps its inputs as well, so that nothing else comes to lie in their memory.
KEPT_BY = HEAD + "kept = {}\ndef f(x):\n    return kept.setdefault({key}, (x, torch.sin(x)))[1].clone()\n"
SCALED_IN_PLACE = HEAD + "def f(x):\n    return x.mul_(3)\n"
OFTEN_KEPT = HEAD + (
    "kept = {}\ndef f(x):\n    n, all = kept.setdefault(x.shape, [0, [torch.empty_like(x) for _ in range({turns})]])\n"
    "    kept[x.shape][0] += 1\n    return torch.sin(x, out=all[n % {turns}])\n"
)
PAIR = HEAD + "def f(x, y):\n    return x + y\n"


@pytest.mark.parametrize("key", ["(x.data_ptr(), x.shape, x._version)", "id(x)"])
def test_an_answer_kept_by_what_does_not_tell_of_the_data_is_found_without_a_clock(key: str) -> None:
    verdict = trial(SIN, KEPT_BY.replace("{key}", key), "f(randn(48, 65))").verdict
    assert [check.name for check in verdict.failed_checks] == ["values"]
    assert "in the memory of an earlier call's" in verdict.reason


@pytest.mark.parametrize(
    ("text", "case"),
    [
        (SCALED_IN_PLACE, "f(randn(48, 65))"),
        (PAIR, "f(randn(48, 65), randn(48, 65))"),
        (SIN, "f(randn(48, 65, layout=transposed))"),
    ],
    ids=["writes to its input", "two inputs", "transposed"],
)
def test_what_is_honest_passes(text: str, case: str) -> None:
    assert ended_by(text, text + "\n", case) == "passed"


def test_of_slow_calls_fewer_are_made_and_that_is_said() -> None:
    slow = SIN.replace("    return", "    import time\n    time.sleep(0.02)\n    return")
    with mock.patch.object(contender, "_LONGEST_CALLS", 0.05):
        verdict = trial(SIN, slow, "f(randn(48, 65))").verdict
        assert ended_by(SIN, OFTEN_KEPT.replace("{turns}", "2"), "f(randn(48, 65))") == "alias", (
            "two further calls show it"
        )
    (words,) = (check.detail for check in verdict.checks if check.name == "determinism")
    assert words.endswith("further calls instead of 12, as these are slow")
    assert ended_by(SIN, OFTEN_KEPT.replace("{turns}", "9"), "f(randn(48, 65))") == "alias"
