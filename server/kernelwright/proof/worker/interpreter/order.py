"""What atomics put in order among the programs of one launch: what a program did before an atomic is known to each that
comes to the same place by an atomic afterwards (vector clocks, kept for the running program and for each place).

Programs run one after another here, so the order that is seen is one of many: known is only what some place has handed on.
"""

import numpy as np

_ALL = 1 << 30  # more atomics than a program makes
_FEW = 256  # programs up to which a place keeps a list of its own; a shared one knows too much, which accuses nobody

Known = dict[int, int]  # by program: how many of its atomics are known


class Order:
    """The running program's view. `used`: whether there was an atomic in this launch."""

    def __init__(self) -> None:
        self.used = False
        self.now = 0  # atomics of the running program so far
        self._program = -1
        self._known: Known = {}
        self._places: dict[tuple[int, int], Known] = {}

    def begin(self, program: int) -> None:
        """`program` runs now; called before each access."""
        if program != self._program:
            self._program, self._known, self.now = program, {}, 0

    def meet(self, tensor: int, addresses: np.ndarray) -> None:
        """The running program makes an atomic access: it learns what was known at the place, and leaves what it knows.

        Where several lanes make one, the place is the whole tensor.
        """
        self.used = True
        alone = addresses.size == 1
        place, lanes, anywhere = (tensor, int(addresses.flat[0])), (tensor, -1), (tensor, -2)
        for source in (place, lanes) if alone else (anywhere,):
            self._learn(self._places.get(source))
        self.now += 1
        self._known[self._program] = self.now
        for target in (place if alone else lanes, anywhere):
            self._leave(target)

    def knows(self, programs: np.ndarray, times: np.ndarray) -> np.ndarray:
        """For each access, by `programs` after so many atomics of theirs, whether it came before what is done now."""
        kinds, which = np.unique(programs, return_inverse=True)
        known = np.array([self._known.get(int(kind), 0) for kind in kinds], np.int64)
        return known[which] > times

    def knows_something_of(self, programs: set[int]) -> bool:
        """Whether the running program has learnt from each of them."""
        return all(program == self._program or program in self._known for program in programs)

    def learn_all_of(self, programs: np.ndarray) -> None:
        """What these have done is known: the running program reads what they have left for it."""
        self._known |= dict.fromkeys((int(program) for program in np.unique(programs)), _ALL)

    def _learn(self, known: Known | None) -> None:
        if not known:
            return
        if not self._known:
            self._known = known if len(known) > _FEW else dict(known)
            return
        _add(known, self._known)

    def _leave(self, place: tuple[int, int]) -> None:
        there = self._places.get(place)
        if there is self._known:
            return
        if len(self._known) > _FEW:
            self._learn(there)
            self._places[place] = self._known
            return
        if there is None:
            self._places[place] = dict(self._known)
            return
        _add(self._known, there)


def _add(known: Known, to: Known) -> None:
    for program, count in known.items():
        if to.get(program, 0) < count:
            to[program] = count
