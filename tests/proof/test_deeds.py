"""What user code does to the process that runs it costs one typed Failure, and the next job is answered by the same Workers."""

from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from kernelwright.proof.client import Workers
from kernelwright.values import Failure, FailureKind, Graph
from proof.test_client import GOOD, failure, job, worker_pids
from proof.test_device_gone import LOST


@pytest_asyncio.fixture(scope="module")
async def workers(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Workers]:
    """Shared: each deed meets the process that answered after the last one. None is left when they are closed."""
    workers = Workers(cwd=tmp_path_factory.mktemp("deeds"))
    yield workers
    await workers.close()
    assert worker_pids(workers) == []


@pytest.mark.parametrize(
    ("deed", "kind", "words"),
    [
        ("import ctypes; ctypes.string_at(0)", FailureKind.CRASHED, "line 2 with a segmentation fault"),
        ("import os; os._exit(3)", FailureKind.CRASHED, "exit code 3"),
        ("import sys; sys.exit('enough')", FailureKind.WORKLOAD_FAILED, "SystemExit: enough"),
        ("import os, signal; os.kill(os.getpid(), signal.SIGKILL)", FailureKind.CRASHED, "SIGKILL"),
        ("import os; [os.write(fd, b'x' * 64) for fd in range(3, 512) if is_socket(fd)]", FailureKind.CRASHED, "pipe"),
        ("import os; os.closerange(3, 512); import time; time.sleep(60)", FailureKind.CRASHED, "closed the worker's"),
        ("raise MemoryError", FailureKind.OUT_OF_MEMORY, "memory"),
    ],
)
async def test_a_deed_in_the_kernel_costs_one_failure(
    deed: str, kind: FailureKind, words: str, workers: Workers
) -> None:
    text = f"""\
        def f(x):
            {deed}
            return x

        def is_socket(fd):
            import os, stat
            try:
                return stat.S_ISSOCK(os.fstat(fd).st_mode)
            except OSError:
                return False
    """
    answer = await workers.run(job(text), timeout=20)
    assert isinstance(answer, Failure), answer
    again = await workers.run(job(GOOD), timeout=20)
    failure(answer, kind, words)
    assert isinstance(again, Graph), again


async def test_a_forked_child_that_comes_back_answers_nothing(workers: Workers) -> None:
    answer = await workers.run(job("import os\ndef f(x):\n    os.fork()\n    return x + 1\n"), timeout=20)
    again = await workers.run(job(GOOD), timeout=20)
    assert isinstance(answer, Graph), answer
    assert isinstance(again, Graph), again


@pytest.mark.parametrize("text", [f"raise {LOST}", f"def f(x):\n    raise {LOST}\n"])
async def test_code_that_asks_for_a_gpu_where_there_is_none(text: str, workers: Workers) -> None:
    answer = await workers.run(job(text), timeout=20)
    again = await workers.run(job(GOOD), timeout=20)
    failure(answer, FailureKind.DEVICE_GONE, "The GPU cannot be used (CUDA error: no CUDA-capable device is detected)")
    assert isinstance(again, Graph), again
