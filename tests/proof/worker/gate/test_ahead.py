"""What is found out ahead is what would be found out in its turn, and nothing is where it would disturb the call at hand."""

import contextlib
import time
from collections.abc import Iterator

import pytest

from kernelwright.proof.jobs import Trial
from kernelwright.proof.worker.bench import Bench, opened
from kernelwright.proof.worker.failed import JobFailed
from kernelwright.proof.worker.gate import ahead
from kernelwright.proof.worker.gate.ahead import Ahead
from kernelwright.proof.worker.gate.effort import variations
from kernelwright.proof.worker.hosts.contender import Contender
from kernelwright.proof.worker.rejected import NotAccepted
from kernelwright.proof.worker.tensors import same_bits
from kernelwright.proof.worker.variation import Variation
from proof.worker.trials import QUICK, ended_by, workload

TEXT = (
    "import torch\n\n\ndef f(x):\n    if x.shape[0] == 3:\n        raise ValueError\n    return torch.softmax(x, -1)\n"
)
SLOW = "import time\n\ntime.sleep(1)\n\n" + TEXT
COUNTING = """import torch


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.calls = 0

    def forward(self, x):
        self.calls += 1
        return x + {calls}


def get_inputs():
    return [torch.randn(8, 16)]
"""


def begun(*cases: str, candidate: str = TEXT) -> contextlib.AbstractContextManager[Bench]:
    return opened(Trial("/nowhere/kernel.py", TEXT, TEXT, candidate, workload(*cases), limits=QUICK))


@pytest.fixture
def bench() -> Iterator[Bench]:
    with begun("f(randn(48, 65))") as bench:
        yield bench


def planned(bench: Bench) -> list[Variation]:
    return variations(bench.trial.workload, bench.trial.limits, None)


def answers(ahead: Ahead, of: list[Variation]) -> list[object]:
    """The tensor that the baseline answers to each, None where nothing follows from it."""
    found: list[object] = []
    for one in of:
        try:
            found.append(ahead.take(one).baseline.output)
        except NotAccepted:
            found.append(None)
    return found


def test_it_is_the_same_as_in_its_turn(bench: Bench) -> None:
    plain = [one for one in planned(bench) if not one.numbers]
    early, late = Ahead(bench, plain), Ahead(bench, plain)
    looks = 0
    while early.look():
        looks += 1
    pairs = list(zip(answers(early, plain), answers(late, plain), strict=True))
    assert looks == len(plain) > 10
    assert all(a is b or same_bits(a, b) for a, b in pairs)
    assert {a is None for a, _ in pairs} == {True, False}
    assert early._held == 0


def test_it_stops_where_there_is_no_room(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ahead, "_MOST", 0)
    plain = planned(bench)[:3]
    looking = Ahead(bench, plain)
    assert [looking.look(), looking.look()] == [True, False]
    looking.take(plain[0])
    assert looking.look()


def test_what_is_passed_over_is_not_looked_at_any_more(bench: Bench) -> None:
    plain = planned(bench)[:4]
    looking = Ahead(bench, plain)
    looking.take(plain[2])
    assert [looking.look(), looking.look()] == [True, False]


def test_other_parameters_and_numbers_are_left_to_their_turn(bench: Bench) -> None:
    first = planned(bench)[0]
    others = [
        Variation(first.label, first.call, 0, perturbed=True),
        Variation(first.label, first.call, 0, numbers=True),
    ]
    assert not Ahead(bench, others).look()


def test_what_the_baseline_raises_is_told_in_its_turn() -> None:
    with begun("f(randn(48, 65))", "f(randn(3, 5))") as bench:
        second = next(one for one in planned(bench) if one.label == "f(randn(3, 5))")
        looking = Ahead(bench, [second])
        assert looking.look()
        with pytest.raises(JobFailed, match="fails on its own workload"):
            looking.take(second)


def test_work_is_done_until_there_is_an_answer_or_no_more_of_it() -> None:
    with begun("f(randn(48, 65))", candidate=SLOW) as bench, contextlib.closing(Contender(bench, SLOW)) as contender:
        pieces = iter(range(3))
        with contender.beside(lambda: next(pieces, None) is not None):
            contender._wait_for_load()
        assert next(pieces, None) is None
    with begun("f(randn(48, 65))", candidate=SLOW) as bench, contextlib.closing(Contender(bench, SLOW)) as contender:
        done: list[float] = []
        with contender.beside(lambda: not time.sleep(0.1) and not done.append(0.1)):
            contender._wait_for_load()
        assert 1 < len(done) < 100


def test_calls_ahead_do_not_count_where_attributes_are_compared() -> None:
    assert ended_by(COUNTING.format(calls="0.0"), COUNTING.format(calls="0.0") + "\n# again") == "passed"
    assert ended_by(COUNTING.format(calls="0.0"), COUNTING.format(calls="0.0").replace("+= 1", "+= 2")) == "state"
