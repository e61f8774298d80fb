"""Trials whose workload is a program: what `main` prints, and how it ends."""

import dataclasses

import pytest

from kernelwright.languages.cuda import SUPPORT
from kernelwright.proof.jobs import Trial
from kernelwright.proof.worker.trial import run_trial
from kernelwright.values import Refusal, Verdict, VerdictStatus, Workload, WorkloadSource
from proof.worker.trials import QUICK

PROGRAM = """#include <chrono>
#include <cmath>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

__global__ void total(const float* x, float* sums, int n) {
  float sum = 0.0f;
  for (int i = blockIdx.x; i < n; i += gridDim.x) sum += x[i];
  sums[blockIdx.x] = sum;
}

// workload: main(1001, "three")
int main(int count, char** given) {
  auto begun = std::chrono::steady_clock::now();
  int n = count > 1 ? atoi(given[1]) : 100, blocks = count > 2 && !strcmp(given[2], "three") ? 3 : 2;
  std::vector<float> x(n), back(blocks);
  for (int i = 0; i < n; i++) x[i] = 0.1f * (i % 7);
  float *in, *sums;
  cudaMalloc(&in, n * sizeof(float));
  cudaMalloc(&sums, blocks * sizeof(float));
  cudaMemcpy(in, x.data(), n * sizeof(float), cudaMemcpyHostToDevice);
  total<<<blocks, 1>>>(in, sums, n);
  cudaMemcpy(back.data(), sums, blocks * sizeof(float), cudaMemcpyDeviceToHost);
  double right[3] = {0, 0, 0}, error = 0;
  for (int i = 0; i < n; i++) right[i % blocks] += 0.1 * (i % 7);
  for (int i = 0; i < blocks; i++) error = fmax(error, fabs(back[i] - right[i]));
  printf("%d numbers, the sums are:", n);
  for (float one : back) printf(" %.5f", one);
  printf("\\nlargest error %g\\n", error);
  std::chrono::duration<double, std::micro> taken = std::chrono::steady_clock::now() - begun;
  printf("it took %.3f us\\n", taken.count());
  return n % 2;
}
"""
LOOP = "for (int i = blockIdx.x; i < n; i += gridDim.x) sum += x[i];"
OTHER_WAY = "for (int i = n - 1; i >= 0; i--) if (i % gridDim.x == blockIdx.x) sum += x[i];"


@pytest.fixture(autouse=True)
def without_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRITON_INTERPRET", "1")


def tried(baseline: str, *change: str) -> Verdict:
    """The verdict on a baseline with one part of it exchanged, as the server asks for it."""
    assert not change or change[0] in baseline
    candidate = baseline.replace(*change) if change else baseline
    (kernel,) = SUPPORT.kernels(baseline)
    workload = SUPPORT.workload(baseline, kernel.entry)
    assert isinstance(workload, Workload)
    texts = (SUPPORT.unit(text, kernel).run for text in (baseline, baseline, candidate))
    job = Trial("/nowhere/p.cu", *texts, workload, measure=True, limits=QUICK, language="cuda-cpp", kernel=kernel.name)
    result = run_trial(job, lambda stage: None)
    assert result.measurement is None
    return result.verdict


def test_the_line_is_the_workload_of_a_kernel_that_main_launches() -> None:
    (kernel,) = SUPPORT.kernels(PROGRAM)
    workload = SUPPORT.workload(PROGRAM, kernel.entry)
    assert isinstance(workload, Workload)
    assert (workload.source, workload.entry) == (WorkloadSource.PROGRAM, "main")
    assert SUPPORT.workload_problems(PROGRAM) == ()


@pytest.mark.parametrize("change", [(), (LOOP, OTHER_WAY)])
def test_a_right_candidate_passes_and_the_line_with_a_time_is_left_out(change: tuple[str, ...]) -> None:
    verdict = tried(PROGRAM, *change)
    assert verdict.status is VerdictStatus.PASSED, verdict.reason
    assert {"printed", "exit-status", "race", "out-of-bounds", "coverage"} <= {one.name for one in verdict.checks}
    (said,) = (one.detail for one in verdict.checks if one.name == "printed")
    assert said == "2 lines with 5 numbers"
    assert any(one.startswith("line 3 of what main(1001") for one in verdict.caveats)


@pytest.mark.parametrize(
    ("old", "new", "check", "words"),
    [
        ("sum += x[i];", "sum += x[i] * 1.001f;", "printed", "line 1: it prints `1001 numbers, the sums are:"),
        ("return n % 2;", "return 0;", "exit-status", "it ends with status 0, the baseline with 1"),
        ("return n % 2;", "exit(4);", "exit-status", "it ends with status 4, the baseline with 1"),
        ("largest error", "biggest error", "printed", "where the baseline prints `largest error"),
        ('printf("it took', 'printf("more\\n"); printf("it took', "printed", "line 4: it prints `it took"),
        ("sums[blockIdx.x] = sum;", "sums[blockIdx.x + 1] = sum;", "out-of-bounds", "block (2, 0, 0) writes"),
        ("int n) {\n", "int n) {\n  sums[0] = 0.0f;\n", "race", "writes memory of cudaMalloc[0]"),
        ("return n % 2;", "raise(11);", "runs", "SIGSEGV ends the program"),
    ],
)
def test_each_fault_is_named(old: str, new: str, check: str, words: str) -> None:
    verdict = tried(PROGRAM, old, new)
    assert [one.name for one in verdict.failed_checks] == [check], verdict.reason
    assert words in verdict.reason


def test_an_error_that_is_printed_may_be_another_one_of_rounding() -> None:
    only_error = PROGRAM.replace(" %.5f", "", 1).replace("1001", "900")
    verdict = tried(only_error, LOOP, OTHER_WAY)
    assert verdict.status is VerdictStatus.PASSED, verdict.reason


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ('printf("%d numbers, the sums are:", n);', "return 0;", "prints nothing"),
        ("return n % 2;", "return std::chrono::steady_clock::now().time_since_epoch().count() % 251;", "status"),
    ],
)
def test_of_some_programs_nothing_can_be_said(old: str, new: str, words: str) -> None:
    verdict = tried(PROGRAM.replace(old, new))
    assert verdict.status is VerdictStatus.NOT_CHECKABLE
    assert words in verdict.reason


def test_a_kernel_that_no_command_line_reaches_is_not_checked() -> None:
    unreached = PROGRAM.replace("total<<<", "if (n < 0) total<<<")
    verdict = tried(unreached)
    assert verdict.status is VerdictStatus.NOT_CHECKABLE
    assert "kernel `total` was launched in no case" in verdict.reason


BESIDE = "// workload: total<<<3, 1>>>(x=randn(n), sums=out(3), n=1000)\n"


def test_a_program_is_run_beside_the_lines_of_a_kernel() -> None:
    both = BESIDE + PROGRAM
    (kernel,) = SUPPORT.kernels(both)
    workload = SUPPORT.workload(both, kernel.entry)
    assert isinstance(workload, Workload)
    assert (workload.source, workload.entry, len(workload.programs)) == (WorkloadSource.LINES, "total", 1)
    verdict = tried(both, LOOP, OTHER_WAY)
    assert verdict.status is VerdictStatus.PASSED, verdict.reason
    assert {"values", "printed"} <= {one.name for one in verdict.checks}
    refused = tried(both, "return n % 2;", "return 7;")
    assert [one.name for one in refused.failed_checks] == ["exit-status"]


def test_the_quick_fix_writes_a_line_above_main() -> None:
    plain = PROGRAM.replace('// workload: main(1001, "three")\n', "")
    (kernel,) = SUPPORT.kernels(plain)
    found = SUPPORT.program_line(plain, kernel)
    assert found is not None
    line, written = found
    assert (plain.splitlines()[line][:9], written) == ("int main(", "// workload: main()")
    assert SUPPORT.program_line(PROGRAM, kernel) is None
    assert SUPPORT.program_line(plain.replace("total<<<", "other<<<"), kernel) is None


@pytest.mark.parametrize(
    ("call", "words"),
    [
        ("main(n=3)", "as on a command line"),
        ("main(randn(8))", "as on a command line"),
        ("main(1, true)", "as on a command line"),
    ],
)
def test_a_line_that_is_no_command_line_is_said(call: str, words: str) -> None:
    (problem,) = SUPPORT.workload_problems(PROGRAM.replace('main(1001, "three")', call))
    assert words in problem.message


def test_a_program_without_parameters_takes_no_arguments() -> None:
    text = PROGRAM.replace("int main(int count, char** given)", "int main()")
    (problem,) = SUPPORT.workload_problems(text)
    assert problem.message == "main takes no arguments, this line gives 2."


def test_a_line_of_a_program_that_cannot_be_read_is_refused() -> None:
    text = PROGRAM.replace('main(1001, "three")', "main(1001 +)")
    (kernel,) = (dataclasses.replace(one, entry="main") for one in SUPPORT.kernels(text))
    assert isinstance(SUPPORT.workload(text, kernel.entry), Refusal)
