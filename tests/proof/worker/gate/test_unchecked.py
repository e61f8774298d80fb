"""A passing verdict names the checks that were not made of it, as many as where it was reached could not make."""

import pytest

from kernelwright.values import CHECKS, Verdict, VerdictStatus, unchecked
from proof.worker.trials import trial

WHOLE = "import torch\ndef f(x):\n    return x // 2\n"
REAL = "import torch\ndef f(x):\n    return x / 2\n"


def lacking(verdict: Verdict) -> set[str]:
    return {one.name for one in verdict.unchecked}


def test_on_a_cpu_neither_memory_nor_streams_are_looked_at() -> None:
    verdict = trial(REAL, REAL.replace("x / 2", "x * 0.5"), "f(randn(48, 65))").verdict
    assert verdict.status is VerdictStatus.PASSED, verdict.reason
    assert lacking(verdict) == {"out-of-bounds", "race", "stream-order"}


def test_where_nothing_has_a_gradient_none_is_compared() -> None:
    verdict = trial(
        WHOLE, WHOLE.replace("x // 2", "torch.div(x, 2, rounding_mode='floor')"), "f(randint(0, 9, (48, 65)))"
    )
    assert verdict.verdict.status is VerdictStatus.PASSED, verdict.verdict.reason
    assert "gradient" in lacking(verdict.verdict)


def test_of_what_fails_nothing_is_said() -> None:
    assert trial(REAL, REAL.replace("x / 2", "x / 3"), "f(randn(48, 65))").verdict.unchecked == ()


@pytest.mark.parametrize("kind", [kind for kind in CHECKS if kind.missing], ids=lambda kind: kind.name)
def test_a_check_that_was_made_is_not_among_them(kind) -> None:
    others = {other.name for other in CHECKS} - {kind.name}
    assert [(one.name, one.why) for one in unchecked(others)] == [(kind.name, kind.missing)]
    assert unchecked(others | {kind.name}) == ()
