"""Which of several orders and configurations Triton's interpreter takes: another configuration in each call of the gate, and
the other order in those on poisoned memory.

On a GPU programs run in any order, and which configuration of an autotuned kernel wins hangs on the device.
"""

from collections.abc import Iterator

_OTHERS = 3

number = 0  # calls of the gate in this process so far
backwards = False  # whether the last program of a launch comes first
most = 0  # configurations that a kernel of this process, or of its trial, was tuned among


def next_round(*, other_order: bool = False) -> None:
    """From here on another configuration, and where asked the other order of the programs."""
    global number, backwards
    number += 1
    backwards = other_order


def take_next(configuration: int) -> None:
    """From here on configurations are taken from this one on, which `turn` answers with in the next round."""
    global number
    number = (3 * configuration + 1) // 2


def others() -> Iterator[int]:
    """A few further configurations, the last one among them, each of which the next call takes. Nothing where none is tuned."""
    global number
    count, before = min(most - 1, _OTHERS), number
    try:
        for one in range(1, count + 1):
            take_next(one * (most - 1) // count)
            yield one
    finally:
        number = before


def turn(count: int) -> int:
    """Which of `count` configurations is taken; each of them in both orders, sooner or later."""
    global most
    most = max(most, count)
    return max(number - 1, 0) * 2 // 3 % count
