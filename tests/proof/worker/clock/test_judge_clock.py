"""The judge's own clock, on made-up series: what an honest process may answer later than the baseline's."""

from dataclasses import dataclass, field
from types import SimpleNamespace

import pytest

from kernelwright.proof.worker.clock import judge_clock
from kernelwright.proof.worker.clock.samples import TWIN, Busy
from kernelwright.proof.worker.rejected import Rejected

FLUSH = 0.04  # milliseconds before each call, which the judge's clock sees


@dataclass
class Made:
    """A text that reports `typical_ms` a call, of which each truly takes `hidden` more; its replies take `around`.

    `flush`: milliseconds before each call, which the judge's clock sees; `each_copy`: for late data in one of the inputs;
    `samples`: what it reported of each, where they differ; `slower`: by which factor calls take longer by now, as it reports.
    """

    typical_ms: float
    hidden: float = 0.0
    around: float = 1.0
    batch: int = 1
    flush: float = FLUSH
    each_copy: float = 0.0
    residual_ms: list[float] = field(default_factory=lambda: [0.0])
    samples: tuple[float, ...] = ()
    slower: float = 1.0

    @property
    def ms(self) -> list[float]:
        return [*self.samples] or [self.typical_ms]

    @property
    def outside_ms(self) -> list[float]:
        return [self.around + self.each_copy * self.batch + (self.flush + self.hidden) * self.batch for _ in self.ms]

    def many(self, device: str) -> tuple[int, int]:
        calls = max(int({"cuda": 2, "cpu": 5}[device] / self.typical_ms), 1)
        return calls, min(calls, 32)

    def sample(self) -> None:
        raise AssertionError("a sample too many of one: a ratio needs as many of both")

    def timed(self, calls: int, copies: int = 0) -> tuple[SimpleNamespace, float]:
        around, now = self.around + self.each_copy * (copies or calls), self.slower * self.typical_ms
        return SimpleNamespace(ms=now), around + calls * (self.flush + now + self.hidden)


def look(candidate: Made, baseline: Made, twin: Made | None = None, device: str = "cuda") -> None:
    series = {"candidate": candidate, "baseline": baseline, TWIN: twin or baseline}
    judge_clock.complete(candidate)
    judge_clock.nothing_hidden(series, device)
    judge_clock.short_calls_agree(series, device)


def on_a_cpu(ms: float, hidden: float = 0.0, batch: int = 1) -> Made:
    return Made(ms, hidden, flush=0.0, each_copy=0.1, batch=batch)


@pytest.mark.parametrize("ms", [0.02, 0.4, 3.0])
def test_a_process_on_a_slower_core_is_honest(ms: float) -> None:
    look(Made(ms, around=1.3), Made(1.1 * ms))


@pytest.mark.parametrize("ms", [0.004, 0.02])
def test_a_process_that_starts_each_flush_later_is_honest(ms: float) -> None:
    look(Made(ms, flush=1.15 * FLUSH), Made(ms))


def test_a_process_that_a_neighbour_slows_is_not_blamed() -> None:
    candidate, baseline = on_a_cpu(0.2), on_a_cpu(0.3)
    candidate.slower = 2.0
    with pytest.raises(Busy, match="calls take longer now than while they were timed"):
        look(candidate, baseline, device="cpu")
    candidate.slower, candidate.hidden = 1.0, 0.2
    with pytest.raises(Rejected):
        look(candidate, baseline, device="cpu")


def test_a_baseline_that_a_busy_host_slowed_while_it_was_timed_accuses_nobody() -> None:
    look(Made(0.7), Made(3.0, slower=0.5))
    with pytest.raises(Rejected):
        look(Made(0.7, hidden=1.2), Made(3.0, slower=0.5))


@pytest.mark.parametrize(("ms", "hidden"), [(0.02, 0.06), (0.4, 0.6), (3.0, 1.0)])
def test_hidden_work_is_found(ms: float, hidden: float) -> None:
    with pytest.raises(Rejected) as refused:
        look(Made(ms, hidden), Made(ms + hidden))
    assert refused.value.check.name == "judge-clock"


@pytest.mark.parametrize(
    ("ms", "batch", "of_base"), [(0.08, 1, 0.3), (0.08, 1, 0.08), (0.02, 3, 0.4), (0.002, 25, 5.0)]
)
def test_late_data_of_many_copies_are_nobodys_work(ms: float, batch: int, of_base: float) -> None:
    look(on_a_cpu(ms, batch=batch), on_a_cpu(of_base), device="cpu")


def test_hidden_work_is_found_beside_late_data() -> None:
    with pytest.raises(Rejected) as refused:
        look(on_a_cpu(0.08, hidden=0.1), on_a_cpu(0.3), device="cpu")
    assert refused.value.check.name == "judge-clock"


def test_where_the_baseline_does_not_fit_either_the_machine_is_too_busy() -> None:
    with pytest.raises(Busy):
        look(Made(0.4, hidden=0.6), Made(1.0), Made(1.0, hidden=2.0))


def test_work_that_goes_on_after_the_sample_is_found() -> None:
    with pytest.raises(Rejected) as refused:
        look(Made(0.4, residual_ms=[0.3, 0.4]), Made(0.4))
    assert refused.value.check.name == "timing-complete"


@pytest.mark.parametrize("device", ["cuda", "cpu"])
@pytest.mark.parametrize(
    ("candidate", "unseen"),
    [
        (Made(0.95), ()),  # a gain of a twentieth that is there
        (Made(0.9, hidden=0.1), ("baseline",)),  # one that is not
        (Made(0.93, hidden=0.08), ("baseline",)),
        (Made(1.02), ()),  # none is claimed
        (Made(0.3), ()),  # more than could be hidden
    ],
)
def test_a_gain_counts_as_seen_where_the_judges_clock_shows_it(
    candidate: Made, unseen: tuple[str, ...], device: str
) -> None:
    assert judge_clock.unseen_gains({"candidate": candidate, "baseline": Made(1.0)}, device) == unseen


def test_what_is_hidden_does_not_add_to_luck() -> None:
    """Of a gain, a part is hidden and another is how far two processes with the same text are apart."""
    series = {"candidate": Made(0.7, hidden=0.25), "baseline": Made(1.0)}
    assert judge_clock.unseen_gains(series, "cpu", apart=1.1) == ("baseline",)
    assert judge_clock.unseen_gains(series, "cpu", apart=1.01) == ()


def test_only_a_gain_that_is_certain_is_larger_than_what_could_be_hidden() -> None:
    """The medians differ by more than could be hidden; what the samples say for certain does not."""
    varied = Made(2.4, samples=(2.0,) * 7 + (2.4,) * 9)
    candidate = Made(1.8, hidden=0.7, samples=(1.8,) * 16)
    assert judge_clock.unseen_gains({"candidate": candidate, "baseline": varied}, "cpu") == ("baseline",)


def test_of_short_calls_many_are_compared() -> None:
    """Batches that differ hide a difference in single samples."""
    honest, cheat = Made(0.019, batch=5), Made(0.019, hidden=0.002, batch=5)
    series = {"baseline": Made(0.02, batch=4), "previous": Made(0.018, batch=5)}
    assert judge_clock.unseen_gains({"candidate": honest, **series}, "cuda") == ()
    assert judge_clock.unseen_gains({"candidate": cheat, **series}, "cuda") == ("baseline",)
