"""Workload lines for kernels that take structures, from what is done with their fields."""

import pytest

from kernelwright.languages.cuda import SUPPORT
from kernelwright.source.cuda.definitions import read
from kernelwright.source.cuda.flattened import flattened, with_structures
from kernelwright.source.workload import evaluate
from kernelwright.values import Refusal

KERNEL = """struct Sizes { int rows, length; };
struct Params { Sizes all; float scale; const float* x; float* out; bool fast = true; };
__global__ void rowwise(const Params p) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < p.all.rows * p.all.length) p.out[i] = p.scale * p.x[i];
}
int main() {
  Params q;
  rowwise<<<4, 128>>>(q);
}
"""
LAUNCHED = (
    KERNEL.partition("int main")[0]
    + """void launch(Params p, int block_size) {
  rowwise<<<(p.all.rows * p.all.length + block_size - 1) / block_size, block_size>>>(p);
}
"""
)


def lines(text: str) -> tuple[str, ...]:
    (kernel,) = SUPPORT.kernels(text)
    found = SUPPORT.lines_from_signature(text, kernel)
    assert not isinstance(found, Refusal), found
    return tuple(line.removeprefix("// workload: ") for line in found)


def test_sizes_come_from_what_is_done_with_fields() -> None:
    first = lines(KERNEL)[0]
    fields = "all=struct(rows=4096, length=4096), scale=1.5, x=randn(rows*length), out=out(rows*length)"
    assert first == f"rowwise<<<(rows*length+127)/128, 128>>>(p=struct({fields}))"
    call = evaluate(first)
    assert call.grid == (131072,)
    assert call.named["x"].shape == (1 << 24,)


def test_a_launcher_that_takes_one_gets_lines_too() -> None:
    (kernel,) = SUPPORT.kernels(LAUNCHED + "// workload: launch(p=1, block_size=1)\n")
    assert kernel.entry == "launch"
    found = SUPPORT.lines_from_signature(LAUNCHED, kernel)
    assert not isinstance(found, Refusal)
    fields = "all=struct(rows=4096, length=4096), scale=1.5, x=randn(rows*length), out=out(rows*length)"
    assert found[0] == f"// workload: launch(p=struct({fields}), block_size=128)"
    assert not any(evaluate(line.removeprefix("// workload: ")).kwargs.keys() - {"p", "block_size"} for line in found)


def test_a_text_without_one_is_itself() -> None:
    file = read("struct P { int n; };\n__global__ void k(const P* p, int n) { }\n")
    assert flattened(file) is file


def test_what_cannot_be_guessed_is_refused() -> None:
    text = KERNEL.replace("float scale;", "float scale[3][2];")
    (kernel,) = SUPPORT.kernels(text)
    found = SUPPORT.lines_from_signature(text, kernel)
    assert isinstance(found, Refusal)
    assert "Nothing says what to pass for `const Params p` of rowwise" in found.reason


@pytest.mark.parametrize(
    ("line", "made"),
    [
        ("f(a=1, p_KW_n=2, p_KW_x=randn(p_KW_n, 3))", "f(a=1, p=struct(n=2, x=randn(n, 3)))"),
        ("f<<<(p_KW_n+1)/2, 2>>>(p_KW_n=2, y=out(p_KW_n))", "f<<<(n+1)/2, 2>>>(p=struct(n=2), y=out(n))"),
        ("f(p_KW_a_KW_n=2, p_KW_a_KW_m=3, p_KW_b=4)", "f(p=struct(a=struct(n=2, m=3), b=4))"),
        ("f(number_of_rows=2, p_KW_n=number_of_rows)", "f(number_of_rows=2, p=struct(n=number_of_rows))"),
        ("f(p_KW_n=2, q_KW_n=2)", "f(p=struct(n=2), q=struct(n=2))"),
        ("f(p_KW_n=2, q_KW_n=2, x=randn(q_KW_n))", None),
    ],
)
def test_a_line_gets_its_structures_back(line: str, made: str | None) -> None:
    assert with_structures(line) == made


ARRAYS = """#define COUNT (2 * 2)
typedef struct { float corr[COUNT]; int ids[3]; unsigned last[1]; int n; } Dims;
__global__ void turned(const Dims dims, const float* x, float* y) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < dims.n) y[i] = x[i] * dims.corr[dims.ids[0]] + dims.last[0];
}
"""


def test_arrays_of_some_numbers_are_written_out() -> None:
    first = lines(ARRAYS)[0]
    assert first.startswith(
        "turned<<<(n+255)/256, 256>>>(dims=struct(corr=(0.75, 0.75, 0.75, 0.75), ids=(1, 1, 1), last=(1,), n=16777216), "
    )
    assert evaluate(first).kwargs["dims"]["last"] == (1,)
    assert not SUPPORT.workload_problems(f"// workload: {first}\n{ARRAYS}")


@pytest.mark.parametrize("field", ["float corr[1000]", "float corr[2][2]", "float* corr[2]", "Other corr[2]"])
def test_other_arrays_are_not(field: str) -> None:
    text = ARRAYS.replace("float corr[COUNT]", field)
    (kernel,) = SUPPORT.kernels(text)
    found = SUPPORT.lines_from_signature(text, kernel)
    assert isinstance(found, Refusal)
    assert "Nothing says what to pass for `const Dims dims` of turned" in found.reason
