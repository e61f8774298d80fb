"""The processes that are timed, the candidate's among them, which start and warm up while the gate is still at work.

A process makes its CUDA context in a quarter of a second, and a Triton kernel is compiled in one or more, which would
otherwise pass between the gate and the clock. The candidate is not timed in the process that the gate has called: after
these calls a matrix product of 24 us was slower by 2 to 5 % there, on an H200 (docs/trust.md).
"""

import enum
from collections.abc import Mapping
from dataclasses import dataclass

import torch

from kernelwright.proof.jobs import Trial
from kernelwright.proof.worker.bench import Bench, Rejected, Undecidable
from kernelwright.proof.worker.clock.performance import Performance, performed
from kernelwright.proof.worker.clock.samples import TWIN
from kernelwright.proof.worker.failed import JobFailed
from kernelwright.proof.worker.hosts.contender import Contender
from kernelwright.proof.worker.reference.fp64 import free_bytes

_AMPLE = 8 << 30  # bytes that must be free on the GPU: else the gate may need what their contexts take
_ROOMY = 16  # times the bytes of a call that must be free for each to warm up on it beside the gate


class _Stage(enum.Enum):
    LOADING = enum.auto()
    CALLING = enum.auto()  # for the first time, in which it compiles
    WARM = enum.auto()


@dataclass
class _Early:
    """A contender that was opened ahead, and how far it is."""

    contender: Contender
    stage: _Stage = _Stage.LOADING


class Rivals:
    """Contenders by name, each opened once ahead and afterwards when asked for. `close` it, whatever happens."""

    def __init__(self, bench: Bench) -> None:
        self._bench = bench
        self._begun = False
        self._ready: dict[str, _Early] = {}
        self._ending: list[Contender] = []
        self.case: Performance | None = None  # what they warm up on

    def advance(self) -> None:
        """Between two calls of the gate: open them, where there is memory for that, or take each a step further."""
        if not self._begun:
            self._begun = True
            if self._ample():
                self._open()
            return
        for name, early in list(self._ready.items()):
            try:
                self._step(early)
            except (Rejected, JobFailed, Undecidable):  # told of the one that is opened when it is asked for
                del self._ready[name]
                self.end({name: early.contender})

    def take(self, *, twin: bool) -> dict[str, Contender]:
        """One of each, new where it was taken before; the caller ends them. Without `twin`, the baseline once only."""
        self.settle()
        taken: dict[str, Contender] = {}
        try:
            for name, (text, path) in rivals(self._bench.trial).items():
                if twin or name != TWIN:
                    taken[name] = self._taken(name) or Contender(self._bench, text, path)
        except BaseException:
            self.end(taken)
            raise
        finally:
            self.end({name: early.contender for name, early in self._ready.items()})
            self._ready = {}
        return taken

    def end(self, contenders: Mapping[str, Contender]) -> None:
        """Kill these, without waiting until they are gone: a process with a CUDA context takes a while to end."""
        for one in contenders.values():
            one.kill()
        self._ending += contenders.values()

    def make_way(self) -> None:
        """Wait for those that have ended where others may need what they hold."""
        if self._bench.device != "cuda" or not self._ample():
            self.settle()

    def settle(self) -> None:
        """Wait until those that were ended are gone."""
        ending, self._ending = self._ending, []
        for one in ending:
            one.close()

    def close(self) -> None:
        """End those that nobody took, and wait for all."""
        self.end({name: early.contender for name, early in self._ready.items()})
        self._ready = {}
        self.settle()

    def _ample(self) -> bool:
        return self._bench.device != "cuda" or torch.cuda.mem_get_info()[0] >= _AMPLE

    def _open(self) -> None:
        for name, (text, path) in rivals(self._bench.trial).items():
            self._ready[name] = _Early(Contender(self._bench, text, path))
        try:
            case = performed(self._bench)
        except Exception:  # noqa: BLE001  (the baseline's own code raises anything: told when it is timed)
            return
        needed = (case.given_bytes + case.answered_bytes) * _ROOMY * len(self._ready)
        if needed <= free_bytes(case.inputs):
            self.case = case

    def _step(self, early: _Early) -> None:
        """The next step, if the last one is done: the calls of the gate do not wait for it."""
        case, contender = self.case, early.contender
        if case is None or early.stage is _Stage.WARM or not contender.has_answered():
            return
        if early.stage is _Stage.LOADING:
            contender.arm(case.targets, case.inputs, case.seen, seed=case.seed, batch=1)
            contender.begin_fire()
            early.stage = _Stage.CALLING
        else:
            contender.end_fire()
            early.stage = _Stage.WARM

    def _taken(self, name: str) -> Contender | None:
        """One that is ready, its first call waited for; None where there is none, or it has failed."""
        early = self._ready.pop(name, None)
        if early is None:
            return None
        try:
            if early.stage is _Stage.CALLING:
                early.contender.end_fire()
        except (Rejected, JobFailed, Undecidable):
            self.end({name: early.contender})
            return None
        return early.contender


def rivals(trial: Trial) -> Mapping[str, tuple[str, str]]:
    """The texts by name, each with its file: the candidate, the baseline twice, and the previous one where it is another.

    What two processes with the same text differ by is no speedup.
    """
    baseline, previous = (trial.baseline, trial.home), (trial.previous, trial.path)
    texts = {"candidate": (trial.candidate, trial.path), "baseline": baseline, TWIN: baseline}
    return texts if previous == baseline else {**texts, "previous": previous}
