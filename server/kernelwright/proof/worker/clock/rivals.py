"""The processes that are timed, the candidate's among them, which start and warm up while the gate is still at work.

A process makes its CUDA context in a quarter of a second, and a Triton kernel is compiled in one or more, which would
otherwise pass between the gate and the clock. Without either, on a CPU, they start when the gate has passed: a candidate
that fails costs no more processes than its own. The candidate is not timed in the process that the gate has called: after
these calls a matrix product of 24 us was slower by 2 to 5 % there, on an H200 (benchmarks/aa.py).
"""

from collections.abc import Mapping

from kernelwright.proof.jobs import Trial
from kernelwright.proof.worker.bench import Bench
from kernelwright.proof.worker.clock.performance import Performance, performed
from kernelwright.proof.worker.clock.samples import TWIN
from kernelwright.proof.worker.failed import JobFailed
from kernelwright.proof.worker.free_memory import has_ample, has_free
from kernelwright.proof.worker.hosts.timed import TimedContender
from kernelwright.proof.worker.rejected import Rejected, Undecidable

_ROOMY = 16  # times the bytes of a call that must be free for each to warm up on it beside the gate


class Rivals:
    """Contenders by name, each opened once ahead and afterwards when asked for. `close` it, whatever happens."""

    def __init__(self, bench: Bench) -> None:
        self._bench = bench
        self._begun = False
        self._ready: dict[str, TimedContender] = {}
        self._calling: set[str] = set()  # for the first time, in which a text compiles
        self._warm: set[str] = set()
        self._ending: list[TimedContender] = []
        self.case: Performance | None = None  # what they warm up on

    @property
    def start_slowly(self) -> bool:
        """Whether they make a CUDA context, or compile for seconds, before their first call."""
        texts = {text for text, _ in rivals(self._bench.trial).values()}
        return self._bench.device == "cuda" or any(map(self._bench.language.compiles, texts))

    def advance(self) -> None:
        """Between two calls of the gate: open them, where there is memory for that, or take each a step further."""
        if not self._begun:
            self._begun = True
            if has_ample(self._bench.device):  # else the gate may need what their contexts take
                self._open()
            return
        for name, contender in list(self._ready.items()):
            try:
                self._step(name, contender)
            except (Rejected, JobFailed, Undecidable):  # told of the one that is opened when it is asked for
                self.end({name: self._ready.pop(name)})

    def take(self, *, twin: bool) -> dict[str, TimedContender]:
        """One of each, new where it was taken before; the caller ends them. Without `twin`, the baseline once only."""
        self.settle()
        taken: dict[str, TimedContender] = {}
        try:
            for name, (text, path) in rivals(self._bench.trial).items():
                if twin or name != TWIN:
                    taken[name] = self._taken(name) or TimedContender(self._bench, text, path)
        except BaseException:
            self.end(taken)
            raise
        finally:
            self._end_ready()
        return taken

    def end(self, contenders: Mapping[str, TimedContender]) -> None:
        """Kill these, without waiting until they are gone: a process with a CUDA context takes a while to end."""
        for one in contenders.values():
            one.kill()
        self._ending += contenders.values()

    def make_way(self) -> None:
        """Wait for those that have ended where others may need what they hold."""
        if self._bench.device != "cuda" or not has_ample(self._bench.device):
            self.settle()

    def settle(self) -> None:
        """Wait until those that were ended are gone."""
        ending, self._ending = self._ending, []
        for one in ending:
            one.close()

    def close(self) -> None:
        """End those that nobody took; `bury` waits for all that have ended."""
        self._end_ready()
        while self._ending:
            self._ending.pop().leave()

    def _end_ready(self) -> None:
        self.end(self._ready)
        self._ready = {}

    def _open(self) -> None:
        for name, (text, path) in rivals(self._bench.trial).items():
            self._ready[name] = TimedContender(self._bench, text, path)
        try:
            case = performed(self._bench)
        except Exception:  # noqa: BLE001  (the baseline's own code raises anything: told when it is timed)
            return
        needed = (case.given_bytes + case.answered_bytes) * _ROOMY * len(self._ready)
        if has_free(self._bench.device, needed):
            self.case = case

    def _step(self, name: str, contender: TimedContender) -> None:
        """The next step, if the last one is done: the calls of the gate do not wait for it."""
        case = self.case
        if case is None or name in self._warm or not contender.has_answered():
            return
        if name in self._calling:
            self._calling.remove(name)
            contender.end_fire()
            self._warm.add(name)
        else:
            contender.arm(case.targets, case.inputs, case.seen, seed=case.seed, batch=1)
            contender.begin_fire()
            self._calling.add(name)

    def _taken(self, name: str) -> TimedContender | None:
        """One that is ready, its first call waited for; None where there is none, or it has failed."""
        contender = self._ready.pop(name, None)
        try:
            if contender is not None and name in self._calling:
                self._calling.remove(name)
                contender.end_fire()
        except (Rejected, JobFailed, Undecidable):
            self.end({name: contender})
            return None
        return contender


def rivals(trial: Trial) -> Mapping[str, tuple[str, str]]:
    """The texts by name, each with its file: the candidate, the baseline twice, and the previous one where it is another.

    What two processes with the same text differ by is no speedup.
    """
    baseline, previous = (trial.baseline, trial.home), (trial.previous, trial.path)
    texts = {"candidate": (trial.candidate, trial.path), "baseline": baseline, TWIN: baseline}
    return texts if previous == baseline else {**texts, "previous": previous}
