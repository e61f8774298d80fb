"""Compile-only facts, by a real worker without a GPU."""

import textwrap

import pytest

from kept import Lent
from kernelwright.proof.jobs import Answer, Compile, CompileResult, Subject
from kernelwright.proof.worker.compiling.resources import parse_spills, parse_usage
from kernelwright.values import Case, Failure, FailureKind, Resources, Workload, WorkloadSource

KERNEL = """\
import torch
import triton
import triton.language as tl

DEVICE = triton.runtime.driver.active.get_active_torch_device()


@triton.jit
def scale_kernel(x, o, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(o + at, tl.load(x + at, mask=at < n) * 2, mask=at < n)
"""
LAUNCHER = """

def scale(x):
    assert x.is_cuda and x.device == DEVICE
    o = torch.empty_like(x)
    with torch.cuda.device(x.device):
        scale_kernel[(triton.cdiv(x.numel(), 1024),)](x, o, x.numel(), BLOCK=1024, num_warps=8)
    return o
"""


@pytest.fixture(scope="module")
def workers() -> Lent:
    return Lent()


async def compiled(workers: Lent, text: str, call: str = "scale(randn(4096, 4096))", capability: int = 0) -> Answer:
    source = WorkloadSource.LINES if call else WorkloadSource.KERNELBENCH
    workload = Workload(source, call.partition("(")[0] or "Model", (Case(0, 0, call),) if call else ())
    return await workers.run(Compile(Subject("/tmp/scale.py", textwrap.dedent(text), workload), capability), timeout=60)


async def test_a_launch_is_compiled_for_the_named_gpu(workers: Lent) -> None:
    answer = await compiled(workers, KERNEL + LAUNCHER, capability=80)
    assert isinstance(answer, CompileResult), answer
    (found,) = answer.resources
    assert (found.kernel, found.compute_capability, found.num_warps) == ("scale_kernel", 80, 8)
    assert 8 <= found.registers <= 64
    assert (found.spill_bytes, found.occupancy, found.limited_by) == (0, 1.0, "threads")


async def test_every_config_of_an_autotuned_kernel_that_compiles_counts(workers: Lent) -> None:
    answer = await compiled(
        workers,
        """\
        import torch
        import triton
        import triton.language as tl

        @triton.autotune([triton.Config({"B": 32}, num_warps=2), triton.Config({"B": 64}, num_warps=4),
                          triton.Config({"B": 128}, num_warps=8)], key=["n"])
        @triton.jit
        def product_kernel(x, o, n, B: tl.constexpr):
            tl.static_assert(B < 128)
            i = tl.arange(0, B)
            at = i[:, None] * n + i[None, :]
            tl.store(o + at, tl.dot(tl.load(x + at), tl.load(x + at)))

        class Model(torch.nn.Module):
            def __init__(self, n):
                super().__init__()
                self.linear = torch.nn.Linear(n, n, dtype=torch.float16)

            def forward(self, x):
                y = self.linear(x)
                product_kernel[(1,)](y, torch.empty_like(y), y.shape[0])

        def get_inputs():
            return [torch.randn(64, 64).half()]

        def get_init_inputs():
            return [64]
        """,
        call="",
    )
    assert isinstance(answer, CompileResult), answer
    assert [found.num_warps for found in answer.resources] == [2, 4]
    assert all(isinstance(found, Resources) and found.compute_capability == 90 for found in answer.resources)


async def test_a_compile_error_names_the_kernel_and_its_line(workers: Lent) -> None:
    answer = await compiled(
        workers, (KERNEL + LAUNCHER).replace("BLOCK)\n    tl.store", "BLOCK)\n    tl.no_such(at)\n    tl.store")
    )
    assert isinstance(answer, Failure)
    assert answer.kind is FailureKind.COMPILE_FAILED
    assert answer.line == 10
    assert answer.message.startswith("scale_kernel does not compile at line 11: ")


async def test_a_launcher_that_reads_its_data_is_refused(workers: Lent) -> None:
    answer = await compiled(workers, KERNEL + "\n\ndef scale(x):\n    return x if x.sum().item() > 0 else -x\n")
    assert isinstance(answer, Failure)
    assert answer.kind is FailureKind.WORKLOAD_FAILED
    assert "does not run without data" in answer.message


def test_the_tools_output() -> None:
    usage = "Resource usage:\n Common:\n  GLOBAL:0\n Function k:\n  REG:255 STACK:48 SHARED:0 LOCAL:0 CONSTANT[0]:560\n"
    assert parse_usage(usage, "k") == (255, 48)
    assert parse_usage(usage, "other") == (0, 0)
    assert parse_spills("    48 bytes stack frame, 40 bytes spill stores, 44 bytes spill loads\n") == 84


async def test_a_file_that_defines_its_kernels_where_there_is_a_gpu_alone(workers: Lent) -> None:
    guard = "import torch\nfrom torch.utils._triton import has_triton\nif not (has_triton() and torch.cuda.is_available()):\n"
    answer = await compiled(workers, guard + "    raise ImportError\n" + textwrap.dedent(KERNEL + LAUNCHER))
    assert isinstance(answer, CompileResult), answer


async def test_a_file_that_asks_more_of_a_gpu_is_loaded_without(workers: Lent) -> None:
    guard = "import torch\nif torch.cuda.is_available():\n    torch.cuda.current_stream()\n"
    answer = await compiled(workers, guard + textwrap.dedent(KERNEL + LAUNCHER))
    assert isinstance(answer, CompileResult), answer
