"""Where Triton compiles for each size, a second process of the candidate's goes ahead; what becomes of it decides nothing."""

import contextlib
import time
from pathlib import Path

import psutil
import pytest

from kernelwright.proof.jobs import Limits, Trial
from kernelwright.proof.worker.bench import Bench, opened
from kernelwright.proof.worker.construct import targets_for
from kernelwright.proof.worker.gate import compiled_ahead
from kernelwright.proof.worker.gate.compiled_ahead import CompiledAhead
from kernelwright.proof.worker.gate.effort import variations
from kernelwright.proof.worker.gate.gate import verify
from kernelwright.proof.worker.hosts.contender import Contender, bury
from proof.worker.trials import workload

PLUS_ONE = "import torch\n\n\ndef f(x):\n    return x + 1\n"
KEEPING = """import os
import pathlib

import torch

KEPT = pathlib.Path(os.environ["TRITON_CACHE_DIR"])


def f(x):
    (KEPT / f"{os.getpid()} {tuple(x.shape)}").write_text("")
    return x + 1
"""


def begun(candidate: str) -> contextlib.AbstractContextManager[Bench]:
    limits = Limits(threads=1)
    return opened(
        Trial("/nowhere/kernel.py", PLUS_ONE, PLUS_ONE, candidate, workload("f(randn(48, 65))"), limits=limits)
    )


@pytest.fixture(autouse=True)
def wanted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compiled_ahead, "_is_wanted", lambda bench: True)


def test_its_calls_are_of_the_other_sizes_and_it_shares_the_folder() -> None:
    with begun(KEEPING) as bench, contextlib.closing(Contender(bench, KEEPING)) as contender:
        planned = variations(bench.trial.workload, bench.trial.limits, None)
        folder = Path(contender._scratch) / "triton"
        with contextlib.closing(CompiledAhead(bench, contender, planned)) as compiled:
            compiled.advance()
            assert compiled._second is None  # before the first has loaded
            contender.construct(targets_for(bench, planned[0]))
            until = time.monotonic() + 60
            while len(list(folder.iterdir())) < 4 and time.monotonic() < until:
                compiled.advance()
                time.sleep(0.01)
            second = compiled._second
            assert second is not None
        bury()
        assert not psutil.pid_exists(second.pid)
        made = [file.name.partition(" ") for file in folder.iterdir()]
    assert {int(pid) for pid, _, _ in made} == {second.pid}
    assert {f"f(randn{shape})" for _, _, shape in made} <= {one.label for one in planned}
    assert not folder.exists()


@pytest.mark.parametrize("second", ["raise SystemExit", "os._exit(1)"])
def test_what_becomes_of_it_decides_nothing(second: str) -> None:
    """The second one to load does not come up."""
    text = KEEPING.replace(
        "\n\n\ndef", f"\nif (KEPT / 'first').exists():\n    {second}\n(KEPT / 'first').mkdir()\n\n\ndef"
    )
    with begun(text) as bench, contextlib.closing(Contender(bench, text)) as contender:
        verify(bench, contender, lambda words: None)
        assert len(bench.evidence.judged) > 20
