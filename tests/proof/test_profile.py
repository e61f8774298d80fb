"""Profiles from the real worker: what each call launches, and never a time that was not measured."""

import json
from pathlib import Path

import pytest

from kept import Lent
from kernelwright import wire
from kernelwright.proof.client import Workers
from kernelwright.proof.jobs import Answer, Limits, Profile, Subject
from kernelwright.values import Case, Failure, FailureKind, Origin, ProfiledOn, ProfileResult, Workload, WorkloadSource

SCORE = """\
import torch
from torch import nn


class Score(nn.Module):
    def __init__(self, features, width):
        super().__init__()
        self.linear = nn.Linear(features, width)

    def forward(self, x):
        return torch.relu(self.linear(x)).sum(1)
"""

HEAD = """\
import torch
import triton
import triton.language as tl
"""

SCALE_KERNEL = """

@triton.jit
def scale_kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y_ptr + at, 2.0 * tl.load(x_ptr + at, mask=at < n), mask=at < n)
"""

TWICE = """

def scaled(x, w):
    y, z = torch.empty_like(x), torch.empty_like(x)
    scale_kernel[(triton.cdiv(x.numel(), 1024),)](x, y, x.numel(), BLOCK=1024)
    scale_kernel[(triton.cdiv(x.numel(), 1024),)](y, z, x.numel(), BLOCK=1024)
    return z.view(x.shape) @ w
"""

SCALED = "scaled(randn(4096, 64), randn(64, 64))"


def job(text: str, case: str = "", path: Path = Path("/nowhere/kernel.py")) -> Profile:
    entry = case.partition("(")[0]
    workload = (
        Workload(WorkloadSource.LINES, entry, (Case(0, 0, case),))
        if case
        else Workload(WorkloadSource.KERNELBENCH, "Model")
    )
    return Profile(Subject(str(path), text, workload), Limits(threads=1))


@pytest.fixture(scope="module")
def workers() -> Lent:
    return Lent()


async def answers(workers: Lent, *jobs: Profile) -> list[Answer]:
    return [await workers.run(job, timeout=60) for job in jobs]


async def profiles(*jobs: Profile) -> list[Answer]:
    """The answers of workers of their own."""
    workers = Workers()
    try:
        return await answers(workers, *jobs)
    finally:
        await workers.close()


def done(answer: Answer) -> ProfileResult:
    assert isinstance(answer, ProfileResult), answer
    return answer


def counts(profile: ProfileResult, origin: Origin) -> dict[str, float]:
    return {kernel.name: kernel.launches for kernel in profile.of(origin)}


async def test_a_module_on_a_cpu_by_the_operators_own_time(workers: Lent) -> None:
    compiled = SCORE + "\n\nModel = torch.compile(Score)\n\n\ndef fused(x):\n    return run(x)\n\n\n"
    compiled += "run = torch.compile(lambda x: torch.relu(x * 2 + 1).sum(-1))\n"
    eager, inductor = map(
        done,
        await answers(workers, job(SCORE, "Score(64, 256)(randn(512, 64))"), job(compiled, "fused(randn(64, 4096))")),
    )
    assert (eager.measured_on, eager.unmeasured) == (ProfiledOn.CPU, "")
    assert {"aten::addmm", "aten::relu", "aten::sum"} <= set(counts(eager, Origin.LIBRARY))
    assert counts(eager, Origin.LIBRARY)["aten::relu"] == 1.0
    assert eager.kernels == eager.of(Origin.LIBRARY)
    assert eager.time_us == pytest.approx(sum(kernel.time_us for kernel in eager.kernels))
    assert sum(kernel.share for kernel in eager.kernels) == pytest.approx(1.0)
    assert [k.time_us for k in eager.kernels] == sorted((k.time_us for k in eager.kernels), reverse=True)
    assert eager.hand_written_share == 0.0
    assert eager.conditions["threads"] == "1"
    assert eager.calls == 7
    assert eager.conditions["spread"].endswith(" ms a call")
    assert wire.decode(Answer, json.loads(json.dumps(wire.encode(eager)))) == eager

    assert inductor.share_of(Origin.COMPILED) > 0.2
    assert any("CompiledFxGraph" in name for name in counts(inductor, Origin.COMPILED))


async def test_a_triton_kernel_in_the_interpreter_is_counted_and_not_timed(workers: Lent) -> None:
    (answer,) = await answers(workers, job(HEAD + SCALE_KERNEL + TWICE, SCALED))
    profile = done(answer)
    assert profile.measured_on is ProfiledOn.INTERPRETER
    assert counts(profile, Origin.HAND_WRITTEN) == {"scale_kernel": 2.0}
    assert counts(profile, Origin.LIBRARY) == {"aten::mm": 1.0}
    assert profile.launches == 3.0
    assert profile.unmeasured == "not measured: no GPU runs it"
    assert {kernel.time_us for kernel in profile.kernels} == {None}
    assert (profile.time_us, profile.hand_written_share) == (None, None)
    assert "reduced to scaled(" in profile.conditions["sizes"]


async def test_a_kernel_of_a_module_in_the_folder_is_hand_written_and_one_from_elsewhere_is_not(
    tmp_path: Path, workers: Lent
) -> None:
    project, elsewhere = tmp_path / "project", tmp_path / "elsewhere"
    for folder, kernel in ((project, "mine"), (elsewhere, "installed")):
        folder.mkdir()
        (folder / f"{kernel}_kernels.py").write_text(HEAD + SCALE_KERNEL.replace("scale_kernel", kernel))
    text = (
        HEAD + f"import sys\nsys.path.append({str(elsewhere)!r})\n"
        "from installed_kernels import installed\nfrom mine_kernels import mine\n"
        + TWICE.replace("scale_kernel[", "mine[", 1).replace("scale_kernel[", "installed[", 1)
        + SCALE_KERNEL.replace("scale_kernel", "never_launched")
    )
    (answer,) = await answers(workers, job(text, SCALED, project / "kernel.py"))
    profile = done(answer)
    assert counts(profile, Origin.HAND_WRITTEN) == {"mine": 1.0}
    assert counts(profile, Origin.LIBRARY) == {"installed": 1.0, "aten::mm": 1.0}


async def test_a_kernel_that_is_never_launched_is_not_in_the_profile(workers: Lent) -> None:
    text = HEAD + SCALE_KERNEL + "\n\ndef scaled(x, w):\n    return (4 * x) @ w\n"
    (answer,) = await answers(workers, job(text, SCALED))
    profile = done(answer)
    assert profile.measured_on is ProfiledOn.CPU
    assert counts(profile, Origin.HAND_WRITTEN) == {}
    assert profile.hand_written_share == 0.0


async def test_an_autotuned_kernel_counts_the_launches_of_a_warm_call(workers: Lent) -> None:
    configs = "[triton.Config({'BLOCK': 256}), triton.Config({'BLOCK': 1024})]"
    tuned = SCALE_KERNEL.replace("@triton.jit", f"@triton.autotune(configs={configs}, key=['n'])\n@triton.jit")
    (answer,) = await answers(workers, job(HEAD + tuned + TWICE.replace(", BLOCK=1024", ""), SCALED))
    assert counts(done(answer), Origin.HAND_WRITTEN) == {"scale_kernel": 2.0}


async def test_inputs_that_the_call_changes_are_as_given_in_every_call(workers: Lent) -> None:
    text = """\
import torch


def counted(x):
    assert float(x[0]) == 0.0, "an earlier call's"
    return x.add_(1.0)
"""
    (answer,) = await answers(workers, job(text, "counted(zeros(8))"))
    assert counts(done(answer), Origin.LIBRARY)["aten::add_"] == 1.0


@pytest.mark.parametrize(
    ("text", "case", "kind", "words", "line"),
    [
        ("def f(x):\n    raise ValueError('no')\n", "f(randn(4))", FailureKind.WORKLOAD_FAILED, "ValueError: no", 1),
        ("def g(x):\n    return x\n", "f(randn(4))", FailureKind.WORKLOAD_FAILED, "no function or class named f", None),
        ("import nowhere_at_all\n", "f(randn(4))", FailureKind.MISSING_PACKAGE, "nowhere_at_all", 0),
        ("def f(x:\n", "f(randn(4))", FailureKind.IMPORT_FAILED, "SyntaxError", 0),
        ("def f(x):\n    import os\n    os._exit(3)\n", "f(randn(4))", FailureKind.CRASHED, "exit code 3", None),
        ("def f(x):\n    raise MemoryError\n", "f(randn(4))", FailureKind.OUT_OF_MEMORY, "memory", 1),
    ],
)
async def test_what_cannot_be_profiled_says_why(
    text: str, case: str, kind: FailureKind, words: str, line: int | None, workers: Lent
) -> None:
    failed, again = await answers(workers, job(text, case), job("def f(x):\n    return x + 1\n", "f(randn(4))"))
    assert isinstance(failed, Failure), failed
    assert (failed.kind, failed.line) == (kind, line), failed
    assert words in failed.message
    assert done(again).launches >= 1.0


async def test_too_large_for_the_interpreter_is_refused_with_what_to_change(workers: Lent) -> None:
    text = HEAD + SCALE_KERNEL + TWICE.replace("def scaled(x, w)", "def scaled(x)").replace(" @ w", "")
    text += "\n\nclass Model(torch.nn.Module):\n    def forward(self, x):\n        return scaled(x)\n"
    text += "\n\ndef get_inputs():\n    return [torch.zeros(1, 1 << 23)]\n"
    (answer,) = await answers(workers, job(text))
    assert isinstance(answer, Failure), answer
    assert answer.kind is FailureKind.NOT_PROFILED
    assert "verify on a GPU, or add a '# workload:' line with smaller sizes" in answer.message


CUDA = '''\
import torch

SOURCE = """
extern "C" __global__ void twice_kernel(const float* x, float* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = 2.0f * x[i];
}
"""
twice_kernel = torch.cuda._compile_kernel(SOURCE, "twice_kernel")


def scaled(x, w):
    y = torch.empty_like(x)
    twice_kernel(grid=((x.numel() + 255) // 256, 1, 1), block=(256, 1, 1), args=[x, y, x.numel()])
    return y @ w
'''


@pytest.mark.gpu
async def test_on_a_gpu_the_kernels_of_a_call_by_their_time_on_the_device() -> None:
    compiled = "import torch\n\n\n@torch.compile\ndef scaled(x, w):\n    return torch.relu(4 * x) @ w\n"
    mixed, inductor, again = map(
        done,
        await profiles(
            job(HEAD + SCALE_KERNEL + TWICE, SCALED), job(compiled, SCALED), job(HEAD + SCALE_KERNEL + TWICE, SCALED)
        ),
    )
    assert mixed.measured_on is ProfiledOn.GPU
    assert counts(mixed, Origin.HAND_WRITTEN) == {"scale_kernel": 2.0}
    assert len(mixed.of(Origin.LIBRARY)) >= 1, "the matrix product"
    assert not mixed.of(Origin.COMPILED)
    assert 0.0 < mixed.hand_written_share < 1.0
    assert mixed.time_us == pytest.approx(sum(kernel.time_us for kernel in mixed.kernels))
    assert mixed.conditions["L2"] == "flushed before each call"
    assert any(name.startswith("triton_poi_fused") for name in counts(inductor, Origin.COMPILED))
    assert not inductor.of(Origin.HAND_WRITTEN)
    assert again.hand_written_share == pytest.approx(mixed.hand_written_share, abs=0.15)


@pytest.mark.gpu
async def test_a_cuda_kernel_in_the_text_is_hand_written() -> None:
    (answer,) = await profiles(job(CUDA, SCALED))
    assert counts(done(answer), Origin.HAND_WRITTEN) == {"twice_kernel": 1.0}
    assert len(done(answer).of(Origin.LIBRARY)) >= 1, "the matrix product"
