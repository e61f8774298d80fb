"""What is remembered of a kernel between two looks at it."""

import dataclasses
from pathlib import Path
from typing import Any, cast

from kernelwright.journal import open_in_memory
from kernelwright.macro.strategy import Observation
from kernelwright.observer import _MOST_GRAPHS, Observer, silent
from kernelwright.proof.client import Workers
from kernelwright.proof.jobs import Capture
from kernelwright.settings import DEFAULTS
from kernelwright.values import Graph, WorkloadSource, digest, joined
from lsp.test_record import KERNEL

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


def test_a_line_of_the_journal_is_the_workload_of_a_text_without_one(tmp_path: Path) -> None:
    journal = open_in_memory(tmp_path)
    observer = Observer(DEFAULTS, cast(Workers, Counting()), journal)
    text = "import torch\n\n\ndef f(x):\n    return torch.relu(x) * 2\n"
    journal.keep_lines("f.py", (("f", ("f(randn(4))",)),))
    found, elsewhere = observer.observe("f.py", text, "f"), observer.observe("g.py", text, "f")
    assert isinstance(found, Observation)
    assert isinstance(elsewhere, Observation)
    assert found.workload is not None
    assert (found.workload.source, found.workload.described) == (WorkloadSource.JOURNAL, "f(randn(4))")
    assert elsewhere.workload is None
    journal.keep_lines("f.py", (("f", ()),))
    assert observer.observe("f.py", text, "f") == dataclasses.replace(elsewhere, path="f.py")


def test_of_a_joined_text_the_lines_of_both_files_count(tmp_path: Path) -> None:
    journal = open_in_memory(tmp_path)
    observer = Observer(DEFAULTS, cast(Workers, Counting()), journal)
    kernel, launcher = KERNEL.split("\n\ndef double(")
    both = joined(
        kernel, "launch.py", f"import torch, triton\nfrom kernel import double_kernel\n\ndef double({launcher}"
    )
    assert both is not None
    journal.keep_lines("ops/launch.py", (("double", ("double(randn(4))",)),))
    found = observer.observe("ops/kernel.py", both, "double_kernel")
    assert isinstance(found, Observation)
    assert found.workload is not None
    assert found.workload.described == "double(randn(4))"
