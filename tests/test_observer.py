"""What is remembered of a kernel between two looks at it."""

from pathlib import Path
from typing import Any, cast

from kernelwright.journal import open_in_memory
from kernelwright.observer import _MOST_GRAPHS, Observer, silent
from kernelwright.proof.client import Workers
from kernelwright.proof.jobs import Capture
from kernelwright.settings import DEFAULTS
from kernelwright.values import Graph, digest

TEXT = "import torch\n\n\ndef f(x):\n    return x * {number}\n\n\n# workload: f(randn(4))\n"


class Counting:
    """Workers that answer every capture with an empty graph."""

    def __init__(self) -> None:
        self.captured = 0

    async def run(self, job: Capture, **_: Any) -> Graph:
        self.captured += 1
        return Graph("f", digest(job.subject.text), "cpu", False, (), (), ())


async def test_the_graphs_asked_for_last_are_kept_and_no_more(tmp_path: Path) -> None:
    workers = Counting()
    observer = Observer(DEFAULTS, cast(Workers, workers), open_in_memory(tmp_path))

    async def ask(number: int) -> None:
        observation = observer.observe("f.py", TEXT.format(number=number), "f")
        await observer.capture(observation, silent, None)  # type: ignore[arg-type]

    for number in range(_MOST_GRAPHS):
        await ask(number)
    await ask(0)
    await ask(_MOST_GRAPHS)  # the oldest is now number 1
    assert workers.captured == _MOST_GRAPHS + 1
    await ask(0)
    assert workers.captured == _MOST_GRAPHS + 1
    await ask(1)
    assert workers.captured == _MOST_GRAPHS + 2
