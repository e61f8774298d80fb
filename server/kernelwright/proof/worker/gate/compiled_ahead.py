"""A second process of the candidate's, which compiles what Triton makes for the sizes that the gate comes to last.

Triton compiles a kernel anew for each kind of size, in some 0.1 s. Both processes of the candidate share the folder in which
the kernels are kept, so that the one whose answers are compared finds them there. Nothing that the other answers counts, and
the process that is timed shares nothing with either.
"""

from collections.abc import Sequence

from kernelwright.proof.worker.bench import Bench
from kernelwright.proof.worker.construct import targets_for
from kernelwright.proof.worker.free_memory import has_ample, has_free
from kernelwright.proof.worker.gate.arguments import make_inputs
from kernelwright.proof.worker.gate.grounds import stops_the_gpu
from kernelwright.proof.worker.gate.properties import UNALIGNED
from kernelwright.proof.worker.hosts import messages
from kernelwright.proof.worker.hosts.contender import Contender
from kernelwright.proof.worker.variation import Variation
from kernelwright.values import Effort

_MOST = 1 << 30  # bytes of inputs, of all calls together
_ROOMY = 4  # times of these that must be free


class CompiledAhead:
    """Begun by the first `advance` after the `contender` has loaded; `close` it, whatever happens."""

    def __init__(self, bench: Bench, contender: Contender, planned: Sequence[Variation]) -> None:
        self._bench = bench
        self._first = contender
        self._calls = _worth_compiling(bench, planned) if _is_wanted(bench) else []
        self._second: Contender | None = None

    def advance(self) -> None:
        """Begin it, or tell it the calls once it has loaded. It may fail: then all is compiled in its turn."""
        if not self._calls or self._first.confinement is None:
            return
        try:
            if self._second is None:
                self._second = Contender(self._bench, self._bench.trial.candidate, sharing=self._first)
            elif self._second.has_answered():
                calls, self._calls = self._calls, []
                self._tell(self._second, calls)
        except Exception:  # noqa: BLE001  (whatever is wrong is found in the process that counts)
            self._calls = []

    def close(self) -> None:
        if self._second is not None:
            self._second.leave()

    def _tell(self, second: Contender, calls: Sequence[Variation]) -> None:
        targets, size = targets_for(self._bench, calls[0]), 0
        second.construct(targets)
        given = []
        for inputs in (make_inputs(self._bench, one) for one in calls if targets_for(self._bench, one) is targets):
            size += sum(tensor.numel() * tensor.element_size() for tensor in inputs.tensors())
            if size > _MOST or not has_free(self._bench.device, _ROOMY * size):
                break
            given.append((inputs.args, inputs.kwargs))
        second.tell(messages.Attempt(targets.number, second.pack(*given)))


def _is_wanted(bench: Bench) -> bool:
    language, text = bench.language, bench.trial.candidate
    triton = language.needs_triton(text) and not language.compiles(text)
    return bench.device == "cuda" and triton and bench.trial.limits.effort is not Effort.QUICK and has_ample("cuda")


def _worth_compiling(bench: Bench, planned: Sequence[Variation]) -> list[Variation]:
    """A call of each size but the first, and one of those with other alignment, the last ones first."""
    plain = [one for one in planned if not (one.numbers or one.perturbed or one.empty)]
    safe = [one for one in plain if not stops_the_gpu(one, bench.trial.baseline)]
    by_size = {(one.label, one.data == UNALIGNED): one for one in reversed(safe)}
    by_size.pop((planned[0].label, False), None)
    return list(by_size.values())
