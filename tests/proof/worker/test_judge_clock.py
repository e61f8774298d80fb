"""The judge's own clock, on made-up series of a GPU: what an honest process may answer later than the baseline's."""

from dataclasses import dataclass, field

import pytest

from kernelwright.proof.worker.bench import Rejected
from kernelwright.proof.worker.clock import judge_clock
from kernelwright.proof.worker.clock.samples import TWIN, Unsteady

FLUSH = 0.2  # milliseconds before each call, which the judge's clock sees


@dataclass
class Made:
    """A text that reports `ms` a call, of which each truly takes `hidden` more; its replies take `around`."""

    ms: float
    hidden: float = 0.0
    around: float = 1.0
    batch: int = 1
    residual_ms: list[float] = field(default_factory=lambda: [0.0])

    @property
    def typical_ms(self) -> float:
        return self.ms

    @property
    def outside_ms(self) -> list[float]:
        return [self.around + FLUSH + self.hidden]

    @property
    def many(self) -> tuple[int, int]:
        return max(int(5 / self.ms), 1), 1

    def sample(self) -> None: ...

    def timed(self, calls: int, copies: int) -> tuple[None, float]:
        return None, self.around + calls * (FLUSH + self.ms + self.hidden)


def look(candidate: Made, baseline: Made, twin: Made | None = None) -> None:
    series = {"candidate": candidate, "baseline": baseline, TWIN: twin or baseline}
    judge_clock.complete(candidate)
    judge_clock.nothing_hidden(series, "cuda")
    judge_clock.short_calls_agree(series, "cuda")


@pytest.mark.parametrize("ms", [0.02, 0.4, 3.0])
def test_a_process_on_a_slower_core_is_honest(ms: float) -> None:
    look(Made(ms, around=1.3), Made(1.1 * ms))


@pytest.mark.parametrize(("ms", "hidden"), [(0.02, 0.06), (0.4, 0.6), (3.0, 1.0)])
def test_hidden_work_is_found(ms: float, hidden: float) -> None:
    with pytest.raises(Rejected) as refused:
        look(Made(ms, hidden), Made(ms + hidden))
    assert refused.value.check.name == "judge-clock"


def test_where_the_baseline_does_not_fit_either_the_machine_is_too_busy() -> None:
    with pytest.raises(Unsteady):
        look(Made(0.4, hidden=0.6), Made(1.0), Made(1.0, hidden=2.0))


def test_work_that_goes_on_after_the_sample_is_found() -> None:
    with pytest.raises(Rejected) as refused:
        look(Made(0.4, residual_ms=[0.3, 0.4]), Made(0.4))
    assert refused.value.check.name == "timing-complete"
