"""Which cores the timed threads are pinned to, and that they are."""

import os
import subprocess
import sys
import textwrap

import pytest

from kernelwright.proof.worker import cores

FOUR_OF_TWO = {0: "0,4", 1: "1,5", 2: "2,6", 3: "3,7", 4: "0,4", 5: "1,5", 6: "2,6", 7: "3,7"}


@pytest.mark.parametrize(
    ("threads", "siblings", "busy", "expected"),
    [
        (2, {0: "0", 1: "1"}, {}, (0, 1)),
        (1, {0: "0", 1: "1"}, {0: 1, 1: 1}, (1,)),
        (1, {0: "0", 1: "1"}, {0: 1, 1: 5}, (0,)),
        (4, FOUR_OF_TWO, {0: 9}, (0, 1, 2, 3)),
        (2, FOUR_OF_TWO, {}, (2, 3)),
        (2, FOUR_OF_TWO, {7: 5}, (1, 2)),
        (5, FOUR_OF_TWO, {}, (0, 1, 2, 3, 7)),
        (8, FOUR_OF_TWO, {}, tuple(range(8))),
        (2, {3: "2-3", 2: "2-3", 8: "8-9", 9: "8-9"}, {}, (2, 8)),
    ],
)
def test_idle_physical_cores_before_their_second_threads(
    threads: int, siblings: dict[int, str], busy: dict[int, int], expected: tuple[int, ...]
) -> None:
    assert cores.chosen(threads, siblings, busy) == expected


def test_no_more_threads_than_cores() -> None:
    usable = len(os.sched_getaffinity(0))
    assert cores.cpu_threads(10_000) == usable
    assert 1 <= cores.cpu_threads(0) <= usable
    assert cores.cpu_threads(1) == 1


def test_every_thread_is_pinned_those_that_exist_and_those_to_come() -> None:
    """In a process of its own: the test's must stay as free as it is."""
    script = """
        import os, threading
        from kernelwright.proof.worker import cores
        def own(found): found.append(cores.bound())
        early, late, go = [], [], threading.Event()
        waiting = threading.Thread(target=lambda: (go.wait(), own(early)))
        waiting.start()
        with cores.pinned(1):
            go.set(); waiting.join()
            last = threading.Thread(target=own, args=(late,)); last.start(); last.join()
            assert [cores.bound()] == early == late, (cores.bound(), early, late)
            assert cores.described(1) == f"1, pinned to core {cores.bound()[0]}", cores.described(1)
            assert cores.cpu_threads(10_000) == len(cores._usable)  # as it was started
        assert cores.bound() == cores._usable
        assert cores.described(len(cores._usable) + 1).endswith("not pinned")
    """
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(script)], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr


def test_cores_that_are_not_lent_are_told_and_nothing_fails() -> None:
    before = cores.bound()
    cores.bind([4095])
    assert cores.bound() == before


def test_a_system_that_cannot_pin(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cores, "_CAN_PIN", False)
    with cores.pinned(1):
        assert cores.bound() == ()
        assert cores.described(2) == "2, not pinned"


def test_a_core_that_works_is_seen_to() -> None:
    script = """
        import os, subprocess, sys, time
        from kernelwright.proof.worker import cores
        core = cores._usable[-1]
        code = f"import os; os.sched_setaffinity(0, [{core}]); print(flush=True)\\nwhile True: pass"
        busy = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE)
        try:
            busy.stdout.readline()
            found = [cores._busy().get(core, 0) for _ in range(10)]
        finally:
            busy.kill()
        assert sum(found) >= 10 * cores._WHILE * 100 * 0.5, found
    """
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(script)], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
