"""The texts beside the candidate load and make their first call while the gate is at work, and none of them stays."""

import time
from collections.abc import Iterator

import psutil
import pytest

from kernelwright.proof.jobs import Trial
from kernelwright.proof.worker.bench import Bench, opened
from kernelwright.proof.worker.clock.rivals import Rivals
from kernelwright.proof.worker.clock.samples import TWIN
from kernelwright.proof.worker.hosts.contender import Contender, bury
from kernelwright.proof.worker.hosts.timed import TimedContender
from kernelwright.proof.worker.trial import run_trial
from proof.worker.trials import QUICK, workload

TEXT = "import torch\n\n\ndef f(x):\n    return x + 1\n"
CASE = "f(randn(48, 65))"


@pytest.fixture
def bench() -> Iterator[Bench]:
    with opened(Trial("/nowhere/kernel.py", TEXT, TEXT, TEXT, workload(CASE), limits=QUICK)) as bench:
        yield bench


def advanced(rivals: Rivals) -> Rivals:
    """As far as the gate's cases would take it."""
    for _ in range(400):
        rivals.advance()
        if rivals._ready and rivals._warm >= rivals._ready.keys():
            break
        time.sleep(0.01)
    return rivals


def test_they_are_warm_when_they_are_taken(bench: Bench) -> None:
    rivals = advanced(Rivals(bench))
    pids = {name: one.pid for name, one in rivals._ready.items()}
    taken = rivals.take(twin=True)
    assert {name: one.pid for name, one in taken.items()} == pids
    assert rivals.case is not None
    rivals.end(taken)
    rivals.close()
    bury()
    assert not any(psutil.pid_exists(pid) for pid in pids.values())


def test_one_that_is_still_calling_is_waited_for(bench: Bench) -> None:
    rivals = Rivals(bench)
    rivals.advance()
    while not rivals._calling:
        rivals.advance()
    taken = rivals.take(twin=True)
    for one in taken.values():
        one.construct(rivals.case.targets)  # type: ignore[union-attr]  (answers: nothing is left unheard)
    rivals.end(taken)
    rivals.close()


def test_one_that_has_died_is_replaced_when_it_is_asked_for(bench: Bench) -> None:
    rivals = Rivals(bench)
    rivals.advance()
    dead = rivals._ready[TWIN]
    psutil.Process(dead.pid).kill()
    advanced(rivals)
    assert TWIN not in rivals._ready
    taken = rivals.take(twin=True)
    assert taken[TWIN].pid != dead.pid
    assert isinstance(taken[TWIN], Contender)
    rivals.end(taken)
    rivals.close()


def test_without_room_for_a_second_baseline_the_one_that_is_ready_ends(bench: Bench) -> None:
    rivals = advanced(Rivals(bench))
    twin = rivals._ready[TWIN].pid
    taken = rivals.take(twin=False)
    assert taken.keys() == {"candidate", "baseline"}
    rivals.end(taken)
    rivals.close()
    bury()
    assert not psutil.pid_exists(twin)


def test_nobody_is_opened_before_the_gate_has_passed_a_case(bench: Bench) -> None:
    rivals = Rivals(bench)
    taken = rivals.take(twin=True)  # as where the gate made one case only
    assert taken.keys() == {"candidate", "baseline", TWIN}
    rivals.end(taken)
    rivals.settle()
    assert not any(psutil.pid_exists(one.pid) for one in taken.values())


@pytest.mark.parametrize(("more", "early"), [("", 0), ("\n\ndef g(x):\n    return torch.compile(f)(x)\n", 3)])
def test_a_candidate_that_fails_costs_no_other_processes_on_a_cpu(
    more: str, early: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where one of the texts compiles, the others start beside the gate."""
    begun: list[str] = []
    begin = TimedContender._begin
    monkeypatch.setattr(TimedContender, "_begin", lambda one: (begun.append(one._text), begin(one))[1])
    text, wrong = TEXT + more, TEXT.replace("x + 1", "x + 1 if len(x) == 48 else x") + more
    result = run_trial(Trial("/nowhere/kernel.py", text, text, wrong, workload(CASE), limits=QUICK), lambda words: None)
    assert not result.verdict.passed
    assert len(begun) == early
