"""What one contestant has shown so far: its times by its own process's clock, and by the judge's around it."""

import time
from dataclasses import dataclass, field

import numpy as np

from kernelwright.proof.worker.audit import Auditor
from kernelwright.proof.worker.bench import Targets
from kernelwright.proof.worker.hosts.contender import Contender
from kernelwright.proof.worker.hosts.messages import Sampled
from kernelwright.proof.worker.timing import SHORTEST_SAMPLE

_MOST_BATCH = 32


@dataclass
class Series:
    """Samples of `batch` calls each. `outside_ms` is what the judge's clock saw beyond what the host reported."""

    contender: Contender
    targets: Targets
    auditor: Auditor
    batch: int = 1
    ms: list[float] = field(default_factory=list)
    outside_ms: list[float] = field(default_factory=list)
    residual_ms: list[float] = field(default_factory=list)

    @property
    def typical_ms(self) -> float:
        return float(np.median(self.ms))

    def warm_up(self, device: str) -> float:
        """Seconds that a sample takes with what surrounds it, after compiling; sets the calls per sample."""
        begun = time.monotonic()
        self.sample()
        if time.monotonic() - begun < 1.0:
            self.sample()
        self.sample()
        single = self.ms[-1] / 1e3
        if device == "cpu" and single < SHORTEST_SAMPLE:
            self.batch = min(int(np.ceil(SHORTEST_SAMPLE / max(single, 1e-7))), _MOST_BATCH)
        begun = time.monotonic()
        self.sample()
        return max(time.monotonic() - begun, 1e-6)

    def sample(self) -> Sampled:
        """One more sample, on data that no call has seen."""
        taken, outside = self.timed(self.batch)
        self.ms.append(taken.ms)
        self.outside_ms.append(outside - taken.ms * self.batch)
        self.residual_ms.append(taken.residual_ms)
        return taken

    def timed(self, batch: int, copies: int = 0) -> tuple[Sampled, float]:
        """A sample that is not kept, and the milliseconds from the judge's request to the reply."""
        auditor = self.auditor
        inputs = auditor.next_inputs()
        self.contender.arm(self.targets, inputs, auditor.seen, seed=auditor.seed, batch=batch, copies=copies)
        begun = time.perf_counter_ns()
        taken = self.contender.fire()
        return taken, (time.perf_counter_ns() - begun) / 1e6

    def forget(self) -> None:
        """Begin anew, with what has been warmed up."""
        self.ms.clear()
        self.outside_ms.clear()
        self.residual_ms.clear()
