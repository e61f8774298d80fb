"""Launchers that are written for CUDA pass the gate without a GPU, wrong ones do not, and the judge is not redirected."""

import os
import subprocess
import sys

import pytest

from interpreted import judged
from kernelwright.proof.jobs import Limits, Trial, TrialResult
from kernelwright.values import Case, Effort, VerdictStatus, Workload, WorkloadSource

NOTE = "in Triton's interpreter on the CPU in place of the GPU that the text asks for"
PRELUDE = """\
import torch
import triton
import triton.language as tl


@triton.jit
def scale_kernel(x_ptr, out_ptr, n, factor, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out_ptr + at, tl.load(x_ptr + at, mask=at < n) * factor, mask=at < n)


def launched(x, out, factor=2.0):
    scale_kernel[(triton.cdiv(x.numel(), 64),)](x, out, x.numel(), factor, BLOCK=64)
    return out


"""
# name: (the rest of the text, the workload line)
TEXTS: dict[str, tuple[str, str]] = {
    "at module level": (
        """
DEVICE = triton.runtime.driver.active.get_active_torch_device()
FACTORS = torch.tensor([2.0, 3.0], device=DEVICE)
assert FACTORS.is_cuda and str(FACTORS.device) == "cuda:0" and FACTORS.device == torch.device("cuda", 0)
torch.set_default_device("cuda")
torch.set_default_device(None)


def captured(graph: torch.cuda.CUDAGraph | None = None):
    return graph


def scale(x):
    out = torch.empty(x.shape, device="cuda:0", dtype=x.dtype)
    return launched(x, out, FACTORS[0].item())
""",
        "scale(randn(300))",
    ),
    "the random numbers of a GPU": (
        """
def scale(x):
    generator = torch.cuda.default_generators[0]
    state = generator.get_state()
    seed, offset = state.view(torch.int64)
    assert x.is_cuda
    first = torch.tensor([int(seed), int(offset) + 4]).view(torch.uint8)
    generator.set_state(first)
    assert int(torch.cuda.get_rng_state().view(torch.int64)[1]) == int(offset) + 4
    torch.cuda.manual_seed(7)
    assert generator.get_state().view(torch.int64).tolist() == [7, 0]
    generator.set_state(state)
    return launched(x, torch.empty_like(x))
""",
        "scale(randn(300))",
    ),
    "in a launcher": (
        """
def scale(x):
    assert x.is_cuda and not x.is_cpu and x.device.type == "cuda" and x.get_device() == 0
    if not x.is_cuda:
        return x * 3.0
    with torch.cuda.device(x.device.index), torch.cuda.stream(torch.cuda.Stream()):
        out = torch.empty_like(x, device=torch.device("cuda", torch.cuda.current_device()))
        launched(x.cuda(), out)
    torch.cuda.current_stream().synchronize()
    return out.to("cuda", torch.float32).to(0)
""",
        "scale(randn(300))",
    ),
    "in a module": (
        """
class Scale(torch.nn.Module):
    def __init__(self, features):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.ones(features, device="cuda"))
        self.register_buffer("shift", torch.arange(features, device="cuda").float())
        self.cuda()

    def forward(self, x):
        assert self.weight.is_cuda and next(self.parameters()).device == x.device
        with torch.device("cuda"):
            out = torch.empty(x.shape)
        return launched(x, out) * self.weight + self.shift
""",
        "Scale(32)(randn(8, 32))",
    ),
    "what torch.cuda tells": (
        """
def scale(x):
    assert torch.cuda.is_available() and torch.cuda.device_count() == 1
    assert torch.cuda.get_device_capability() >= (8, 0)
    properties = torch.cuda.get_device_properties(x.device)
    assert properties.multi_processor_count == triton.runtime.driver.active.utils.get_device_properties(0)[
        "multiprocessor_count"
    ]
    start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    start.record()
    out = launched(x, torch.zeros_like(x))
    end.record()
    torch.cuda.synchronize()
    assert 0.0 < start.elapsed_time(end) and torch.cuda.max_memory_allocated() >= 0
    noise = torch.rand(3, device="cuda", generator=torch.Generator(device="cuda").manual_seed(0))
    return out + noise.sum()
""",
        "scale(randn(300))",
    ),
    "autocast": (
        """
@torch.amp.custom_fwd(device_type="cuda", cast_inputs=torch.float16)
def halved(x):
    return x


def scale(x, w):
    with torch.autocast("cuda"):
        assert torch.is_autocast_enabled() and torch.get_autocast_dtype("cuda") is torch.float16
        y = x @ w
    assert y.dtype is torch.float16 and not torch.is_autocast_enabled("cuda")
    return launched(y, torch.empty_like(y))
""",
        "scale(randn(16, 16), randn(16, 16))",
    ),
    "a warm-up": (
        """
def scale(x):
    out = torch.empty_like(x, device="cuda")
    kernel = scale_kernel.warmup(x, out, x.numel(), 2.0, BLOCK=64, grid=(1,))
    kernel._init_handles()
    programs = min(kernel.n_regs, triton.cdiv(x.numel(), 64)) + 0 * kernel.metadata.shared
    kernel[(programs,)](x, out, x.numel(), 2.0)
    return out
""",
        "scale(randn(300))",
    ),
    "an operator of its own": (
        """
library = torch.library.Library("without_gpu_test", "FRAGMENT")
if not hasattr(torch.ops.without_gpu_test, "scale"):
    library.define("scale(Tensor x) -> Tensor")


@torch.library.impl(library, "scale", "CUDA")
def scale_on_cuda(x):
    assert x.is_cuda
    return launched(x, torch.empty(x.shape, device="cuda"))


def scale(x):
    return torch.ops.without_gpu_test.scale(x)
""",
        "scale(randn(300))",
    ),
    "its own autograd": (
        """
class Scale(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return launched(x, torch.empty(x.shape, device="cuda"))

    @staticmethod
    def backward(ctx, gradient):
        assert gradient.is_cuda
        return launched(gradient.contiguous(), torch.empty(gradient.shape, device="cuda"))
""",
        "Scale.apply(randn(300, requires_grad=True))",
    ),
}
PLAIN = """
def scale(x):
    return launched(x, torch.empty_like(x))
"""
ON_GPU = TEXTS["in a launcher"][0]
FIXED = """
@triton.autotune([triton.Config({"B": b}) for b in (64, 64, 64, 64, 16)], key=[])
@triton.jit
def tuned_kernel(x, out, n, B: tl.constexpr):
    at = tl.program_id(0) * B + tl.arange(0, B)
    tl.store(out + at, tl.load(x + at, mask=at < n) * 2, mask=at < n)


def scale(x):
    out = torch.zeros_like(x)
    tuned_kernel[(4,)](x, out, x.numel())
    return out
"""
PRODUCT = """
def scale(x, n):
    assert x.numel() == n, "n is the number of elements"
    return launched(x, torch.empty_like(x))
"""


def trial_of(baseline: str, candidate: str, line: str) -> Trial:
    texts = PRELUDE + baseline, PRELUDE + candidate
    entry = line.partition("(")[0].partition(".")[0]
    workload = Workload(WorkloadSource.LINES, entry, (Case(0, 0, line),))
    limits = Limits(threads=1, seeds=2, effort=Effort.QUICK)
    return Trial("/nowhere/kernel.py", texts[0], texts[0], texts[1], workload, limits=limits)


# name: (baseline, candidate, line, how the trial ends, words of the verdict)
TRIALS: dict[str, tuple[str, str, str, str, str]] = {
    **{name: (text, f"{text}\n", line, "passed", NOTE) for name, (text, line) in TEXTS.items()},
    "no GPU is asked for": (PLAIN, f"{PLAIN}\n", "scale(randn(300))", "passed", ""),
    "the candidate alone asks": (PLAIN, ON_GPU, "scale(randn(300))", "passed", NOTE),
    "a wrong candidate": (
        ON_GPU,
        ON_GPU.replace("x.cuda(), out", "x.cuda(), out, 2.01"),
        "scale(randn(300))",
        "values",
        NOTE,
    ),
    "the branch without a GPU is not what counts": (
        ON_GPU,
        ON_GPU.replace("x * 3.0", "x"),
        "scale(randn(300))",
        "passed",
        NOTE,
    ),
    "a candidate that ends the redirection": (
        PLAIN,
        """
from kernelwright.proof.worker import without_gpu
without_gpu.user_code = without_gpu._rows = without_gpu.begin = lambda *a: None
without_gpu._state.wanted = False


def scale(x):
    return launched(x, torch.empty_like(x), 2.0 if torch.cuda.is_available() else 2.01)
""",
        "scale(randn(300))",
        "values",
        "",
    ),
    "a candidate that answers for itself": (
        PLAIN,
        """
torch.Tensor.is_cuda = property(lambda self: True)
torch.equal = torch.allclose = lambda *a, **k: True


def scale(x):
    return x if x.is_cuda else launched(x, torch.empty_like(x))
""",
        "scale(randn(300))",
        "clean-process",
        "",
    ),
    "a graph": (
        PLAIN,
        """
def scale(x):
    graph = torch.cuda.CUDAGraph()
    return launched(x, torch.empty_like(x))
""",
        "scale(randn(300))",
        "runs",
        "torch.cuda.CUDAGraph is not supported without a GPU",
    ),
    "a baseline with too few programs for some configurations": (
        FIXED,
        f"{FIXED}\n",
        "scale(randn(256))",
        "not checkable",
        "",
    ),
    "sizes that belong together": (PRODUCT, f"{PRODUCT}\n", "scale(randn(128, 128), 16384)", "passed", "sizes as in "),
    "sizes that do not": (PLAIN, f"{PLAIN}\n", "scale(randn(128, 128))", "passed", "sizes reduced to "),
}


@pytest.fixture(scope="module")
def results() -> dict[str, TrialResult]:
    found = judged([trial_of(*row[:3]) for row in TRIALS.values()])
    return dict(zip(TRIALS, found, strict=True))


@pytest.mark.parametrize("name", TRIALS)
def test_how_a_trial_ends(name: str, results: dict[str, TrialResult]) -> None:
    verdict = results[name].verdict
    *_, expected, words = TRIALS[name]
    failed = verdict.failed_checks[0].name if verdict.failed_checks else str(verdict.status)
    assert failed in expected.split(" or "), f"{failed}: {verdict.reason} {verdict.failed_checks}"
    told = " ".join([verdict.how, *(check.detail for check in verdict.failed_checks)])
    assert words in told
    assert (NOTE in told) == (words == NOTE), told


JUDGE = """
import torch, triton
from kernelwright.proof.worker import without_gpu
from kernelwright.proof.worker.interpreter import hardened
hardened.install()
x = torch.ones(4)
plain = torch.cuda.is_available, torch.Generator, torch.cuda.Stream, torch.library.Library.impl
with without_gpu.redirecting(True):
    with without_gpu.user_code():
        made = torch.zeros(4, device="cuda")
        assert made.is_cuda and torch.cuda.is_available() and without_gpu.was_asked_for()
        torch.cuda.synchronize = leaves = lambda: None
    assert made.device == x.device == torch.device("cpu") and not made.is_cuda
    assert torch.cuda.synchronize is leaves  # for a check to find
    assert plain == (torch.cuda.is_available, torch.Generator, torch.cuda.Stream, torch.library.Library.impl)
with without_gpu.user_code():
    assert not x.is_cuda and not without_gpu.was_asked_for()
without_gpu.hold()
assert x.is_cuda and torch.zeros(3, device="cuda").device.type == "cuda"
"""


def test_outside_of_a_text_tensors_are_what_they_are() -> None:
    environment = {**os.environ, "TRITON_INTERPRET": "1", "CUDA_VISIBLE_DEVICES": ""}
    ended = subprocess.run([sys.executable, "-c", JUDGE], env=environment, capture_output=True, text=True, timeout=120)
    assert ended.returncode == 0, ended.stderr


def test_a_verdict_of_the_own_sizes_names_them(results: dict[str, TrialResult]) -> None:
    verdict = results["sizes that belong together"].verdict
    assert verdict.status is VerdictStatus.PASSED
    assert "sizes as in scale(randn(128, 128), 16384), since the baseline fails on smaller ones" in verdict.how
    assert "reduced to" not in verdict.how
