"""Trials of CUDA texts through the whole gate: what is right passes, and each fault is named."""

from pathlib import Path

import pytest

from kernelwright.proof.jobs import Trial
from kernelwright.proof.worker.gate.line_sizes import at_boundaries, each_long, pinned, shrunk
from kernelwright.proof.worker.trial import run_trial
from kernelwright.values import Verdict, VerdictStatus
from proof.worker.trials import QUICK, workload

PRODUCT = """#define T 16
__global__ void product(const float* A, const float* B, float* C, int M, int N, int K) {
  __shared__ float a[T][T], b[T][T];
  int row = blockIdx.y * T + threadIdx.y, col = blockIdx.x * T + threadIdx.x;
  float acc = 0.0f;
  for (int k = 0; k < K; k += T) {
    a[threadIdx.y][threadIdx.x] = row < M && k + threadIdx.x < K ? A[row * K + k + threadIdx.x] : 0.0f;
    b[threadIdx.y][threadIdx.x] = col < N && k + threadIdx.y < K ? B[(k + threadIdx.y) * N + col] : 0.0f;
    __syncthreads();
    for (int i = 0; i < T; ++i) acc += a[threadIdx.y][i] * b[i][threadIdx.x];
    __syncthreads();
  }
  if (row < M && col < N) C[row * N + col] = acc;
}
extern "C" void solve(const float* A, const float* B, float* C, int M, int N, int K) {
  product<<<dim3((N + T - 1) / T, (M + T - 1) / T), dim3(T, T)>>>(A, B, C, M, N, K);
}
"""
SOLVE = "solve(A=randn(M * K), B=randn(K * N), C=out(M * N), M=64, N=48, K=32)"
SAXPY = """__global__ void saxpy(int n, float a, const float* x, float* y) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = a * x[i] + y[i];
}
"""
LAUNCH = "saxpy<<<(n + 255) / 256, 256>>>(n=1 << 16, a=2.0, x=randn(n), y=inout(randn(n)))"
SUM = """__global__ void sum(const float* x, float* out, int n) {
  __shared__ float s[128];
  float v = 0.0f;
  for (int i = threadIdx.x; i < n; i += 128) v += x[i];
  s[threadIdx.x] = v;
  __syncthreads();
  for (int k = 64; k > 0; k /= 2) {
    if (threadIdx.x < k) s[threadIdx.x] += s[threadIdx.x + k];
    __syncthreads();
  }
  if (threadIdx.x == 0) *out = s[0];
}
"""
# The number of blocks is the text's own: no smaller `out` will do.
PARTS = """__global__ void scaled(const float* x, float* out, int n) {
  float v = 0.0f;
  for (int i = blockIdx.x; i < n; i += gridDim.x) v += 1.0f * x[i];
  out[blockIdx.x] = v;
}
extern "C" void parts(const float* x, float* out, int n) { scaled<<<40, 1>>>(x, out, n); }
"""
SEGMENTS = """__global__ void segments(const float* x, const int* first, float* out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float sum = 0.0f;
  for (int k = first[i]; k < first[i + 1]; ++k) sum += x[k];
  out[i] = sum;
}
"""
OFFSETS = (
    "segments<<<(n + 63) / 64, 64>>>(x=randn(16 * n), first=offsets(n + 1, 16 * n, dtype=int32), out=out(n), n=999)"
)
TOTAL = "sum<<<1, 128>>>(x=randn(n), out=out(1), n=1000)"


@pytest.fixture(autouse=True)
def without_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRITON_INTERPRET", "1")


def tried(baseline: str, candidate: str, line: str, kernel: str = "") -> Verdict:
    job = Trial(
        "/nowhere/kernel.cu",
        baseline,
        baseline,
        candidate,
        workload(line),
        measure=False,
        limits=QUICK,
        language="cuda-cpp",
        kernel=kernel,
    )
    return run_trial(job, lambda stage: None).verdict


@pytest.mark.parametrize(
    ("text", "old", "new", "line"),
    [
        (PRODUCT, "#define T 16", "#define T 8", SOLVE),
        (SEGMENTS, "int k = first[i]; k < first[i + 1]", "int k = first[i], end = first[i + 1]; k < end", OFFSETS),
        (SAXPY, "a * x[i] + y[i]", "fmaf(a, x[i], y[i])", LAUNCH),
        (
            SUM,
            "  for (int k = 64; k > 0; k /= 2) {",
            "  if (threadIdx.x < 64) s[threadIdx.x] += s[threadIdx.x + 64];\n  __syncthreads();\n"
            "  for (int k = 32; k > 0; k /= 2) {",
            TOTAL,
        ),
        (PARTS, "1.0f * x[i]", "x[i] * 1.0f", "parts(x=randn(n), out=out(40), n=1 << 20)"),
    ],
)
def test_what_is_right_passes(text: str, old: str, new: str, line: str) -> None:
    verdict = tried(text, text.replace(old, new), line)
    assert verdict.status is VerdictStatus.PASSED, verdict.reason
    assert verdict.how.startswith("in an emulator of CUDA on the CPU")
    assert verdict.coverage is not None
    assert verdict.coverage.described.startswith("1 of 1 kernel launched, all ")
    assert verdict.share is not None
    assert len(verdict.share.kernels) == 1


@pytest.mark.parametrize(
    ("text", "old", "new", "line", "check", "words"),
    [
        (SAXPY, "i < n", "i <= n", LAUNCH, "out-of-bounds", "reads x[7] of 7 elements at line 3"),
        (SAXPY, "i < n", "i < n - 1", LAUNCH, "values", "input 1 after the call"),
        (SAXPY, "y[i] = a", "y[i] = a; y[i] += a", LAUNCH, "values", "input 1 after the call"),
        (PRODUCT, "    __syncthreads();\n  }", "  }", SOLVE, "race", "shared a["),
        (
            SEGMENTS,
            "k = first[i]; k < first[i + 1]",
            "k = 16 * i; k < 16 * i + 16",
            OFFSETS,
            "values",
            "input 2 after the call",
        ),
        (PRODUCT, "row * N + col", "row * M + col", SOLVE, "", ""),
        (PRODUCT, "k < K; k", "k + T <= K; k", SOLVE, "values", "input 2 after the call"),
        (SUM, "i = threadIdx.x;", "i = threadIdx.x + 128;", TOTAL, "values", "input 1 after the call"),
        (
            SUM,
            "  s[threadIdx.x] = v;",
            "  if (threadIdx.x < 100) s[threadIdx.x] = v;",
            TOTAL,
            "nan-parity",
            "reads shared s[100] at line 8 before any thread of the block has written it",
        ),
        (SAXPY, "y[i];", "y[i]", LAUNCH, "runs", "The file does not compile at line 3, column 36: expected ';'"),
    ],
)
def test_each_fault_is_named(text: str, old: str, new: str, line: str, check: str, words: str) -> None:
    verdict = tried(text, text.replace(old, new), line)
    assert verdict.status is VerdictStatus.FAILED
    assert words in verdict.reason
    assert not check or verdict.failed_checks[0].name == check


@pytest.mark.parametrize(
    ("text", "old", "new", "line", "words"),
    [
        (SAXPY, "y[i] = a", 'asm(""); y[i] = a', LAUNCH, "The file uses inline PTX at line 3, which is not supported"),
        (
            SAXPY,
            "  if (i < n)",
            "  if (n > 1 << 28) i += 0;\n  if (i < n)",
            LAUNCH,
            "line 3 (`i += 0;`), which is not in the baseline, ran in no case",
        ),
    ],
)
def test_what_cannot_be_told(text: str, old: str, new: str, line: str, words: str) -> None:
    verdict = tried(text, text.replace(old, new), line)
    assert verdict.status is VerdictStatus.NOT_CHECKABLE
    assert words in verdict.reason


def test_a_kernel_that_no_case_launches() -> None:
    other = PRODUCT.replace("extern", "__global__ void other(float* x) { x[0] = 1; }\nextern")
    never = other.replace("  product<<<", "  if (M > 1 << 28) other<<<1, 1>>>(C);\n  product<<<")
    verdict = tried(PRODUCT, never, SOLVE)
    assert verdict.status is VerdictStatus.NOT_CHECKABLE
    assert "kernel `other` was launched in no case" in verdict.reason


def test_a_size_that_is_pinned_stays_in_every_line() -> None:
    line = "f(x=randn(n), out=out(1024), n=65536)"
    assert list(pinned(line)) == [line.replace("1024", "1_024"), line.replace("65536", "65_536")]
    (short,) = pinned("f(x=randn(40))")
    assert short == "f(x=randn(4_0))"
    small = shrunk(next(pinned(line)), 4096)
    assert small == "f(x=randn(n), out=out(1_024), n=2048)"
    assert {text.partition("out=")[2].partition(",")[0] for text, _ in at_boundaries(small, 4096)} == {"out(1_024)"}


def test_each_named_size_is_long_once() -> None:
    assert list(each_long(SOLVE, 8192)) == [
        SOLVE.replace("M=64, N=48, K=32", sizes)
        for sizes in ("M=1025, N=3, K=3", "M=3, N=1025, K=3", "M=3, N=3, K=1025", "M=1, N=1, K=2049")
    ]
    assert list(each_long("f(x=randn(rows, 64), rows=512, eps=0.5, times=9)", 8192)) == []


def test_sizes_are_changed_but_not_launches() -> None:
    assert shrunk(LAUNCH, 1000) == LAUNCH.replace("1 << 16", "1 << 8")
    assert all(
        text.startswith("saxpy<<<(n + 255) / 256, 256>>>(n=")
        for text, _ in at_boundaries(LAUNCH.replace("1 << 16", "512"), 4096)
    )
    assert any("K=31" in text or "K=33" in text or "K=17" in text for text, _ in at_boundaries(SOLVE, 4096))


def test_texts_of_the_sandbox_are_compiled_before(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert tried(SAXPY, SAXPY.replace("a * x", "1 * a * x"), LAUNCH).status is VerdictStatus.PASSED
    assert (
        len(list((tmp_path / "kernelwright" / "cuda").glob("*.so"))) == 3
    )  # the baseline, its fp64 twin, the candidate
