"""How a process ended, in a sentence for the user."""

import pytest

from kernelwright.proof.worker.ended import BROKEN, OWN_FAULT, ended


@pytest.mark.parametrize(
    ("code", "words"),
    [
        (None, "closed the worker's result pipe"),
        (0, "ended the process with exit code 0: remove the call of exit()"),
        (3, "exit code 3"),
        (OWN_FAULT, "exit code 70"),
        (BROKEN, "The code broke the process that it ran in"),
        (-11, "at line 7 with a segmentation fault (SIGSEGV): look for an access out of bounds"),
        (-9, "SIGKILL from outside"),
    ],
)
def test_an_end_in_words(code: int | None, words: str) -> None:
    dump = 'Fatal Python error\n  File "/tmp/kernelwright-abc/0/kernel.py", line 7 in f\n'
    found = ended(code, dump, "/home/me/kernel.py")
    assert words in found.message
    assert found.detail == dump
    assert found.line == 6


def test_what_the_code_printed_last_is_told() -> None:
    log = "warming up\n[CUDA ERROR] at file solve.cu:9:\ninvalid configuration argument\n\n"
    words = "exit code 1 after it had printed `invalid configuration argument`: remove the call of exit()"
    assert words in ended(1, log).message
    assert "exit code 1: remove" in ended(1, "").message


def test_a_fault_of_ours_has_a_traceback() -> None:
    log = "Traceback (most recent call last):\nKeyError: 1\n"
    assert "Kernelwright's own process around the code failed" in ended(OWN_FAULT, log).message
