"""A GPU that goes away between two jobs costs one Failure that says so; the next job asks again what is there.

Without a GPU the interpreter pretends one: its torch says so as long as a file exists. The workers are the real ones.
"""

import asyncio
import os
import signal
from pathlib import Path

import pytest

from kernelwright.doctor import examine
from kernelwright.proof.client import Workers
from kernelwright.values import Device, Failure, FailureKind, Graph
from proof.test_client import GOOD, failure, job, running, threads, worker_pids

pytestmark = pytest.mark.usefixtures("workers_of_their_own")

LOST = 'RuntimeError("CUDA error: no CUDA-capable device is detected")'

# Python imports `sitecustomize` when it starts; torch.cuda is changed as soon as torch has loaded it.
PRETENDING = """\
import importlib.machinery, os, sys, types

class Finder:
    def find_spec(self, name, path, target=None):
        if name != "torch.cuda":
            return None
        spec = importlib.machinery.PathFinder.find_spec(name, path)
        load = spec.loader.exec_module
        spec.loader.exec_module = lambda module: (load(module), pretend(module))
        return spec

def pretend(cuda):
    cuda.is_available = lambda: os.path.exists(os.environ["PRETENDED_GPU"])
    cuda.current_device = lambda: 0
    cuda.get_device_properties = lambda index: types.SimpleNamespace(
        name="Pretended GPU", major=9, minor=0, multi_processor_count=132, total_memory=1 << 30
    )

sys.meta_path.insert(0, Finder())
"""


@pytest.fixture
def gpu(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The file that is the GPU: without it there is none."""
    (tmp_path / "sitecustomize.py").write_text(PRETENDING)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    monkeypatch.setenv("PRETENDED_GPU", str(tmp_path / "gpu"))
    (tmp_path / "gpu").touch()
    return tmp_path / "gpu"


async def name_of(workers: Workers) -> str:
    device = await workers.device()
    assert isinstance(device, Device), device
    return device.name if device.is_gpu else "no GPU"


async def end_all(workers: Workers) -> None:
    pids = worker_pids(workers)
    assert pids
    for pid in pids:
        os.kill(pid, signal.SIGKILL)
    while any(running(pid) or threads(pid) > 1 for pid in pids):  # the other threads end after the first one
        await asyncio.sleep(0.02)


async def test_a_gpu_that_goes_away_between_two_jobs_and_comes_back(gpu: Path) -> None:
    workers = Workers()
    before = await name_of(workers)
    gpu.unlink()
    answer = await workers.run(job(GOOD), timeout=20)
    without = await name_of(workers)
    again = await workers.run(job(GOOD), timeout=20)
    gpu.touch()
    after = await name_of(workers)
    await workers.close()
    assert (before, without, after) == ("Pretended GPU", "no GPU", "Pretended GPU")
    failure(answer, FailureKind.DEVICE_GONE, "see what `nvidia-smi` and `kernelwright doctor` say")
    assert isinstance(again, Graph), again


async def test_a_new_worker_that_no_longer_sees_the_gpu(gpu: Path) -> None:
    workers = Workers()
    await workers.device()
    gpu.unlink()
    await end_all(workers)
    answer = await workers.run(job(GOOD), timeout=20)
    again = await workers.run(job(GOOD), timeout=20)
    await workers.close()
    failure(answer, FailureKind.DEVICE_GONE, "Pretended GPU can no longer be used")
    assert isinstance(again, Graph), again


async def test_a_gpu_that_appears_is_found_by_a_new_worker(gpu: Path) -> None:
    gpu.unlink()
    workers = Workers()
    before = await name_of(workers)
    gpu.touch()
    await end_all(workers)
    await workers.run(job(GOOD), timeout=20)
    after = await name_of(workers)
    await workers.close()
    assert (before, after) == ("no GPU", "Pretended GPU")


async def test_what_the_driver_says_in_the_middle_of_a_job(gpu: Path) -> None:
    workers = Workers()
    await workers.device()
    answer = await workers.run(job(f"raise {LOST}"), timeout=20)
    gpu.unlink()
    after = await name_of(workers)
    await workers.close()
    failure(answer, FailureKind.DEVICE_GONE, "CUDA error: no CUDA-capable device is detected")
    assert after == "no GPU"


async def test_the_doctor_names_the_gpu_and_not_the_interpreter(gpu: Path, tmp_path: Path) -> None:
    broken = PRETENDING.replace("types.SimpleNamespace(", f"(_ for _ in ()).throw({LOST}) or dict(")
    (tmp_path / "sitecustomize.py").write_text(broken)
    workers = Workers()
    lines = await examine(workers, tmp_path)
    await workers.close()
    assert (lines[0].name, lines[0].found) == ("GPU", False)
    assert "no CUDA-capable device" in lines[0].detail
    assert "nvidia-smi" in lines[0].remedy


@pytest.mark.gpu
async def test_a_gpu_that_is_hidden_after_it_was_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    workers = Workers()
    device = await workers.device()
    given = workers._running.variables
    monkeypatch.setitem(given, "CUDA_VISIBLE_DEVICES", "")
    await end_all(workers)
    answer = await workers.run(job(GOOD), timeout=60)
    without = await name_of(workers)
    again = await workers.run(job(GOOD), timeout=60)
    monkeypatch.undo()
    await end_all(workers)
    after = await workers.run(job(GOOD), timeout=60)
    await workers.close()
    assert isinstance(device, Device), device
    assert device.is_gpu
    assert isinstance(answer, Failure), answer
    failure(answer, FailureKind.DEVICE_GONE, f"{device.name} can no longer be used")
    assert without == "no GPU"
    assert isinstance(again, Graph), again
    assert isinstance(after, Graph), after
