"""Structures that kernels and launchers take by value."""

import pytest
import torch

from kernelwright.languages.cuda import SUPPORT
from kernelwright.proof.jobs import TryLines
from kernelwright.proof.worker.languages.cuda import modules
from kernelwright.proof.worker.languages.cuda.faults import KernelFault
from kernelwright.proof.worker.trying import try_lines
from kernelwright.values import VerdictStatus
from proof.worker.languages.cuda.test_gate import tried

SCALED = """struct Range { int first, last; };
struct alignas(16) Params {
  Range range;
  float by[2], shift = 0.5f;
  const float* __restrict__ x;
  bool doubled = false;
  float4 more{};
  __device__ float at(int i) const { return by[0] * x[i]; }
};
__global__ void scaled(const Params p, float* y) {
  int i = p.range.first + blockIdx.x * blockDim.x + threadIdx.x;
  if (i < p.range.last) y[i] = (p.doubled ? 2.0f : 1.0f) * p.at(i) + p.by[1] * p.shift + p.more.x;
}
typedef struct {
  const double* x;
  double* y;
  long long n;
} Copy;
void copied(const Copy& one) { cudaMemcpy(one.y, one.x, one.n * sizeof(double), cudaMemcpyDeviceToDevice); }
"""
FIELDS = "range=struct(first=1, last=100), by=(3.0, 2.0), x=randn(last)"
LINE = f"scaled<<<(last + 63) / 64, 64>>>(p=struct({FIELDS}), y=inout(zeros(last)))"


@pytest.fixture(autouse=True)
def without_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRITON_INTERPRET", "1")


@pytest.fixture(scope="module")
def module():
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TRITON_INTERPRET", "1")
        made = modules.load("/nowhere/structures.cu", SCALED, "structures")
    yield made
    modules.unload(made)


def test_fields_are_where_the_compiler_has_them(module) -> None:
    x, y = torch.randn(100), torch.zeros(100)
    given = {"range": {"first": 1, "last": 100}, "by": (3.0, 2.0), "x": x}
    module.scaled[(2,), (64,), 0](given, y)
    assert torch.equal(y[1:], 3 * x[1:] + 2 * 0.5)
    assert y[0] == 0
    more = given | {"doubled": True, "shift": 1.0, "more": (0.25, 0.0, 0.0, 0.0)}
    module.scaled[(2,), (64,), 0](p=more, y=y)
    assert torch.allclose(y[1:], 6 * x[1:] + 2 + 0.25)


def test_one_is_passed_to_a_launcher_by_reference(module) -> None:
    x, y = torch.randn(9, dtype=torch.float64), torch.zeros(9, dtype=torch.float64)
    module.copied({"n": 9, "x": x, "y": y})
    assert torch.equal(x, y)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"z": 1}, "p of scaled has no field z"),
        ({"by": (1.0,)}, "p.by of scaled is float2, so 2 numbers are given"),
        ({"x": torch.zeros(3, dtype=torch.int32)}, "p.x of scaled points to float"),
        ({"range": {"first": 1}}, "is not given range.last"),
        ({"doubled": torch.zeros(1)}, "p.doubled of scaled is a number"),
    ],
)
def test_what_does_not_fit_is_said(module, change: dict, words: str) -> None:
    given = {"range": {"first": 1, "last": 4}, "by": (3.0, 2.0), "x": torch.randn(4)} | change
    with pytest.raises(TypeError, match=words):
        module.scaled[(1,), (64,), 0](given, torch.zeros(4))


def test_a_number_in_place_of_one_is_told_how_to_write_it(module) -> None:
    with pytest.raises(TypeError, match=r"p of scaled is a structure: write struct\(range=…, by=…, shift=…\)"):
        module.scaled[(1,), (64,), 0](3, torch.zeros(4))


def test_an_access_beyond_a_field_is_named(module) -> None:
    given = {"range": {"first": 0, "last": 5}, "by": (3.0, 2.0), "x": torch.randn(4)}
    with pytest.raises(KernelFault, match=r"reads p\.x\[4\] of 4 elements"):
        module.scaled[(1,), (64,), 0](given, torch.zeros(5))


@pytest.mark.parametrize(
    ("old", "new", "check"),
    [
        ("p.by[1] * p.shift", "p.shift * p.by[1]", ""),
        ("p.by[1] * p.shift", "2.0f * p.shift", "values"),
        ("(p.doubled ? 2.0f : 1.0f) * p.at(i)", "p.at(i)", "values"),
        ("i < p.range.last", "i <= p.range.last", "out-of-bounds"),
    ],
)
def test_the_gate_judges_by_other_numbers_in_fields_too(old: str, new: str, check: str) -> None:
    line = LINE.replace("by=(3.0, 2.0)", "by=(3.0, 2.0), doubled=false, shift=0.25")
    if "2.0f * p.shift" in new:
        old, new = "+ p.by[1] * p.shift", "+ p.by[1] * 0.25f"
    assert old in SCALED
    verdict = tried(SCALED, SCALED.replace(old, new), line, "scaled")
    if check:
        assert [one.name for one in verdict.failed_checks] == [check], verdict.reason
    else:
        assert verdict.status is VerdictStatus.PASSED, verdict.reason


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (LINE, ""),
        (LINE.replace("last=100", "last=100, step=2"), "p.range has no field step; it has first, last."),
        (LINE.replace("by=(3.0, 2.0), ", ""), "p also needs by."),
        (LINE.replace("struct(first=1, last=100)", "struct(1, 100)"), "gives its fields by their names"),
        (LINE.replace("randn(last)", "randn(size)"), "size is not defined"),
    ],
)
def test_a_line_with_one_is_read(call: str, words: str) -> None:
    problems = SUPPORT.workload_problems(f"// workload: {call}\n{SCALED}")
    assert [words in one.message for one in problems] == [True] * bool(words), problems


def test_a_line_that_was_guessed_from_fields_runs() -> None:
    text = SCALED.replace("by[2]", "by, other = 1.0f").replace("by[0]", "by").replace("by[1]", "other")
    (kernel,) = SUPPORT.kernels(text)
    lines = SUPPORT.lines_from_signature(text, kernel)
    assert isinstance(lines, tuple)
    calls = tuple(line.removeprefix(SUPPORT.workload_sign) for line in lines)
    tried_lines = try_lines(
        TryLines("/nowhere/s.cu", text, calls, ("scaled",), language="cuda-cpp"), lambda words: None
    )
    assert tried_lines.ran, tried_lines.reasons
    assert "p=struct(range=struct(first=" in tried_lines.ran[0]


PAINT = """\
enum Mode { PLAIN, DOUBLED };
__global__ void paint(int* out, int width, Mode mode) {
  int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y;
  if (x < width) out[y * width + x] = mode == PLAIN ? x + y : 2 * x;
}
void run(dim3 grid, dim3 block, int* out, int width, Mode mode) { paint<<<grid, block>>>(out, width, mode); }
"""


def test_a_grid_is_three_numbers_and_an_enumeration_one() -> None:
    module = modules.load("/nowhere/paint.cu", PAINT, "paint")
    out, x, y = torch.zeros(3 * 5, dtype=torch.int32), torch.arange(5), torch.arange(3)[:, None]
    module.run((2, 3, 1), (4, 1, 1), out, 5, 0)
    assert torch.equal(out.view(3, 5), (x + y).int())
    module.run((2, 3, 1), (4, 1, 1), out, 5, mode=1)
    assert torch.equal(out.view(3, 5), (2 * x).expand(3, 5).int())
    with pytest.raises(TypeError, match=r"grid of run is unsigned int3, so 3 numbers are given for it: \(1, 1, 1\)"):
        module.run(2, (4, 1, 1), out, 5, 0)
    modules.unload(module)
