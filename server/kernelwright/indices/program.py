"""Examines the indices of a CUDA C++ text for its workload lines, or those of two versions of one.

Run as a program of its own, since z3 may take long and end badly: the text on the standard input, an `Indices` as JSON on the
standard output; with the argument `compare` a list of the two texts and the calls of the lines, and what is wrong with the
second one, or null. Also null where z3 is not installed.
"""

import importlib.util
import json
import sys
from collections.abc import Sequence

from kernelwright.indices.examine import examine
from kernelwright.indices.obligations import counterexample
from kernelwright.indices.results import Indices
from kernelwright.languages.cuda.workloads import lines_in
from kernelwright.wire import encode

_PATIENCE = 5.0  # seconds that z3 gets for a text


def indices(text: str) -> Indices | None:
    """What can be said of the indices of a text; None without z3."""
    if importlib.util.find_spec("z3") is None:
        return None
    from kernelwright.indices.asking import Solver

    return examine(text, [case.text for case in lines_in(text)], Solver(_PATIENCE))


def wrong(before: str, after: str, lines: Sequence[str]) -> str | None:
    """What an edit does wrong, in a sentence; None where nothing is known to be, and without z3."""
    if importlib.util.find_spec("z3") is None:
        return None
    from kernelwright.indices.asking import Solver

    return counterexample(before, after, lines, Solver(_PATIENCE))


if __name__ == "__main__":
    given = sys.stdin.buffer.read().decode("utf-8", "surrogatepass")
    json.dump(wrong(*json.loads(given)) if sys.argv[1:] == ["compare"] else encode(indices(given)), sys.stdout)
