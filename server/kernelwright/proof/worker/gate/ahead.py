"""What the baseline answers to the calls that come next, found out while the candidate's process is at work.

A process that makes its CUDA context, or compiles a kernel, keeps the judge waiting for as long as many of these take.
"""

from collections import deque
from collections.abc import Sequence

from kernelwright.proof.worker.bench import Bench
from kernelwright.proof.worker.construct import targets_for
from kernelwright.proof.worker.free_memory import has_free
from kernelwright.proof.worker.gate.arguments import make_inputs
from kernelwright.proof.worker.gate.grounds import Ground, grounds, stops_the_gpu
from kernelwright.proof.worker.gate.other_numbers import takes_any_number
from kernelwright.proof.worker.gate.properties import LARGE_WHOLE_NUMBERS, OTHER_RANKS
from kernelwright.proof.worker.rejected import NotAccepted
from kernelwright.proof.worker.variation import Variation

_MOST = 64 << 20  # bytes of tensors kept for later, beyond which no further call is looked at
_SMALL, _ROOMY = 4 << 20, 16  # bytes of inputs; those of larger ones must be free so many times


class Ahead:
    """The grounds of planned calls: `look` finds out about the next one, `take` asks for the one whose turn it is.

    Calls with other parameters, or with several sets of numbers, are left to their turn.
    """

    def __init__(self, bench: Bench, planned: Sequence[Variation]) -> None:
        self._bench = bench
        self._coming = deque(one for one in planned if not (one.perturbed or one.numbers or _stops(bench, one)))
        self._found: dict[int, Ground | NotAccepted] = {}  # by the variation's id
        self._held = 0

    def look(self) -> bool:
        """Find out about the next call; False where there is none, or no room to keep what it answers."""
        if not self._coming or self._held > _MOST:
            return False
        variation = self._coming.popleft()
        try:
            found = self._found[id(variation)] = _ground(self._bench, variation, fitting=True)
            self._held += found.bytes
        except NotAccepted as none:
            self._found[id(variation)] = none
        except Exception:  # noqa: BLE001  (it comes again in its turn, and is told then)
            pass
        return True

    def take(self, variation: Variation) -> Ground:
        """What the baseline answers. Raises NotAccepted where it tells nothing, Undecidable, JobFailed."""
        if any(one is variation for one in self._coming):
            while self._coming.popleft() is not variation:
                pass  # what was left out for time
        found = self._found.pop(id(variation), None)
        if isinstance(found, NotAccepted):
            raise found
        if found is None:
            return _ground(self._bench, variation)
        self._held -= found.bytes
        return found


class _Large(Exception):
    """There may be no memory for it beside the call that is being made."""


def _stops(bench: Bench, variation: Variation) -> bool:
    return bench.device == "cuda" and stops_the_gpu(variation, bench.trial.baseline)


def _ground(bench: Bench, variation: Variation, *, fitting: bool = False) -> Ground:
    targets, inputs = targets_for(bench, variation), make_inputs(bench, variation)
    size = sum(tensor.numel() * tensor.element_size() for tensor in inputs.tensors())
    if fitting and size > _SMALL and not has_free(bench.device, _ROOMY * size):
        raise _Large
    if variation.scale != 1.0 and not any(tensor.is_floating_point() for tensor in inputs.tensors()):
        raise NotAccepted
    if variation.data in OTHER_RANKS | {LARGE_WHOLE_NUMBERS} and not takes_any_number(bench, targets, inputs):
        raise NotAccepted
    return grounds(bench, variation, targets, inputs)
