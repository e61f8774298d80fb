"""Where the time of a trial goes: the stages that it reports in words, and within them the steps that a clock around a few
calls of the judge has seen.
"""

import contextlib
import functools
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

JUDGE = "judge's own work"
_STARTING = "start of the timed processes"  # told by no stage: the first process forked after the gate's last stage
_LAST_OF_GATE = "gate: calls one after another"
_STAGES = (
    ("Loading", "load, first process"),
    ("Verifying:", _LAST_OF_GATE),
    ("Measuring: warming up", "warm-up"),
    ("Measuring, round", "timed samples"),
    ("Measuring the gain again", "new processes for a gain that may be luck"),
    ("Measuring again", "new processes where the clocks disagree"),
    ("Checking", "audits after timing"),
    ("Looking", "whose kernels, close"),
)


@dataclass(frozen=True)
class Mark:
    """From `at` on (seconds) the trial is in the stage that it told in `words`."""

    at: float
    words: str


@dataclass(frozen=True)
class Span:
    """A step, from `start` to `end` in seconds."""

    step: str
    start: float
    end: float


@dataclass
class StageClock:
    """What one trial has told (`report`), and what was seen of it (`watching`)."""

    now: Callable[[], float] = time.perf_counter
    marks: list[Mark] = field(default_factory=list)
    spans: list[Span] = field(default_factory=list)

    def report(self, words: str) -> None:
        self.marks.append(Mark(self.now(), words))

    @contextlib.contextmanager
    def watching(self, *methods: tuple[type, str, str]) -> Iterator[None]:
        """Note each call of (class, method, step); a step that is empty is called after the class of the argument."""
        baselines = [(owner, method, getattr(owner, method)) for owner, method, _ in methods]
        for owner, method, step in methods:
            setattr(owner, method, self._noted(getattr(owner, method), step))
        try:
            yield
        finally:
            for owner, method, baseline in baselines:
                setattr(owner, method, baseline)

    def _noted(self, method: Callable, step: str) -> Callable:
        @functools.wraps(method)
        def noted(*args, **kwargs):
            start = self.now()
            try:
                return method(*args, **kwargs)
            finally:
                self.spans.append(Span(step or type(args[1]).__name__.lower(), start, self.now()))

        return noted


def stage_of(words: str, case: str, properties: Sequence[str]) -> str:
    """The stage that these words tell. `case` is the performance case as it is written, `properties` kinds of data."""
    for beginning, stage in _STAGES:
        if words.startswith(beginning):
            return stage
    if not words.startswith("Verifying, case"):
        return "other: " + words
    label = words.partition(": ")[2]
    if any(f", {name}" in label for name in properties):
        return "gate: special data"
    if ", inputs x" in label:
        return "gate: scaled inputs"
    if not label.startswith(f"{case},"):
        return "gate: other sizes"
    return "gate: the case itself" if words.startswith("Verifying, case 1 ") else "gate: other seeds"


def times(
    marks: Sequence[Mark], spans: Sequence[Span], end: float, name: Callable[[str], str]
) -> dict[tuple[str, str], float]:
    """Seconds by (stage, step) until `end`; a step's own seconds only, and all that is no step's is the judge's.

    `name` gives a mark's words their stage. Spans lie within each other or apart, as calls do.
    """
    stages = _with_start_of_processes([(mark.at, name(mark.words)) for mark in marks], spans)
    taken: dict[tuple[str, str], float] = defaultdict(float)
    bounds = [at for at, _ in stages[1:]] + [end]
    for (at, stage), until in zip(stages, bounds, strict=True):
        taken[stage, JUDGE] += until - at
        for span in spans:
            seconds = min(span.end, until) - max(span.start, at)
            if seconds <= 0:
                continue
            taken[stage, span.step] += seconds
            around = [other for other in spans if other is not span and _within(span, other)]
            outer = min(around, key=lambda other: other.end - other.start, default=None)
            taken[stage, outer.step if outer else JUDGE] -= seconds
    return dict(taken)


def by_stage(taken: dict[tuple[str, str], float]) -> dict[str, float]:
    return _summed(taken, 0)


def by_step(taken: dict[tuple[str, str], float]) -> dict[str, float]:
    return _summed(taken, 1)


def _summed(taken: dict[tuple[str, str], float], part: int) -> dict[str, float]:
    sums: dict[str, float] = defaultdict(float)
    for key, seconds in taken.items():
        sums[key[part]] += seconds
    return dict(sums)


def _within(inner: Span, outer: Span) -> bool:
    return outer.start <= inner.start and inner.end <= outer.end


def _with_start_of_processes(stages: list[tuple[float, str]], spans: Sequence[Span]) -> list[tuple[float, str]]:
    found = []
    for (at, stage), (until, _) in zip(stages, [*stages[1:], (float("inf"), "")], strict=True):
        found.append((at, stage))
        forks = [span.start for span in spans if span.step == "fork" and at <= span.start < until]
        if stage == _LAST_OF_GATE and forks:
            found.append((min(forks), _STARTING))
    return found
