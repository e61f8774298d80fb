"""The texts that a candidate is timed beside, in processes that start while the gate is still at work.

A process makes its CUDA context in half a second, which would otherwise pass between the gate and the clock.
"""

from collections.abc import Mapping

import torch

from kernelwright.proof.jobs import Trial
from kernelwright.proof.worker.bench import Bench
from kernelwright.proof.worker.hosts.contender import Contender
from kernelwright.proof.worker.samples import TWIN

_AMPLE = 8 << 30  # bytes that must be free on the GPU: else the gate may need what their contexts take


class Rivals:
    """Contenders by name, each opened once ahead and afterwards when asked for. `close` it, whatever happens."""

    def __init__(self, bench: Bench) -> None:
        self._bench = bench
        self._ready: dict[str, Contender] = {}

    def start(self) -> None:
        """Open them, where there is memory for that."""
        if self._bench.device != "cuda" or torch.cuda.mem_get_info()[0] >= _AMPLE:
            for name, text in rivals(self._bench.trial).items():
                self._ready[name] = Contender(self._bench, text)

    def take(self, *, twin: bool) -> dict[str, Contender]:
        """One of each, new where it was taken before; the caller closes them. Without `twin`, the baseline once only."""
        taken: dict[str, Contender] = {}
        try:
            for name, text in rivals(self._bench.trial).items():
                if twin or name != TWIN:
                    taken[name] = self._ready.pop(name, None) or Contender(self._bench, text)
        except BaseException:
            close_all(taken)
            raise
        finally:
            self.close()
        return taken

    def close(self) -> None:
        """End those that nobody took."""
        close_all(self._ready)
        self._ready = {}


def rivals(trial: Trial) -> Mapping[str, str]:
    """The texts by name: the previous one only where it is not the baseline, and the baseline twice.

    What two processes with the same text differ by is no speedup.
    """
    texts = {"baseline": trial.baseline, TWIN: trial.baseline}
    return texts if trial.previous == trial.baseline else {**texts, "previous": trial.previous}


def close_all(contenders: Mapping[str, Contender]) -> None:
    """End their processes, each while the others end."""
    for one in contenders.values():
        one.kill()
    for one in contenders.values():
        one.close()
