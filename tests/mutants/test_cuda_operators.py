"""Every operator for CUDA C++: a statement goes in, and the statements with one fault each come out."""

import pytest
from benchmarks.mutants.baselines import cuda_baselines, mutants_of
from benchmarks.mutants.cuda import OPERATORS, read
from benchmarks.mutants.cuda.probe_lines import lines_of
from benchmarks.mutants.cuda.subjects import FURTHER
from benchmarks.mutants.mutant import NotParsed, difference, generate

from kernelwright.macro.strategies import for_language
from kernelwright.macro.strategy import ask
from kernelwright.source.workload import evaluate
from kernelwright.values import Language

NAMED = {operator.name: operator for operator in OPERATORS}
TEXT = """\
__global__ void kernel(const float* x, const float* w, float* y, int n, int m) {{
    {device}
}}

void solve(const float* x, const float* w, float* y, int n, int m) {{
    {host}
}}
"""
LAUNCH = "kernel<<<(n + 255) / 256, 256, 4 * n>>>(x, w, y, n, m);"

# (operator, a statement of the kernel, what comes in its place)
ON_DEVICE: list[tuple[str, str, list[str]]] = [
    ("missing-barrier", "__syncthreads();", [";"]),
    ("divergent-barrier", "__syncwarp();", ["if (threadIdx.x % 2 == 0) __syncwarp();"]),
    ("late-barrier", "__syncthreads(); y[0] = s[1];", ["y[0] = s[1]; __syncthreads();"]),
    ("wrong-index", "int i = threadIdx.x;", ["int i = blockIdx.x;", "int i = threadIdx.y;"]),
    ("wrong-index", "i += gridDim.x;", ["i += blockDim.x;"]),
    (
        "wrong-shuffle",
        "sum += __shfl_down_sync(0xff, sum, 4);",
        [
            "sum += __shfl_up_sync(0xff, sum, 4);",
            "sum += __shfl_down_sync((0xff >> 1), sum, 4);",
            "sum += __shfl_down_sync(0xff, sum, 4 / 2);",
            "sum += sum;",
        ],
    ),
    ("lost-atomic", "atomicAdd(&y[0], x[i]);", ["*(&y[0]) += x[i];"]),
    ("wrong-pointer", "y[i] = x[i];", ["y[i] = w[i];"]),
    ("wrong-pointer", "y[i] = 0;", []),
    ("wrong-offset", "s[i] = 1;", ["s[i + 1] = 1;"]),
    ("swapped-subscripts", "s[i][j] = 1;", ["s[j][i] = 1;"]),
    ("swapped-factors", "float v = x[i * n + k];", ["float v = x[k * n + i];"]),
    ("wrong-stride", "float v = x[i * n + k];", ["float v = x[i * m + k];"]),
    (
        "wrong-layout",
        "Tile<wmma::row_major> t; store(t, 16, wmma::mem_col_major);",
        [
            "Tile<wmma::col_major> t; store(t, 16, wmma::mem_col_major);",
            "Tile<wmma::row_major> t; store(t, 16, wmma::mem_row_major);",
        ],
    ),
    ("wrong-part", "v.x = 0;", ["v.y = 0;"]),
    ("wrong-part", "float v[4]; v[k] = 0;", ["float v[4]; v[3 - k] = 0;"]),
    (
        "little-shared",
        "__shared__ float s[T];",
        ["__shared__ float s[T - 1];", "__shared__ float s[(T + 1) / 2];"],
    ),
    ("off-by-one-bound", "if (i < n) y[i] = 0;", ["if (i <= n) y[i] = 0;"]),
    ("off-by-one-bound", "for (int k = 4; k > 0; k /= 2) y[k] = 0;", []),
    (
        "dropped-guard",
        "if (i < n && j) y[i] = 0;",
        ["if (true) y[i] = 0;", "if (i < n && true) y[i] = 0;", "if (true && j) y[i] = 0;"],
    ),
    ("dropped-guard", "if (i >= n) return;", ["if (false) return;"]),
    ("dropped-guard", "float v = i < n ? x[i] : 0;", ["float v = true ? x[i] : 0;"]),
    ("dropped-tail", "if (i < n) y[i] = 0; else y[0] = 1;", ["if (i < n) y[i] = 0;"]),
    (
        "short-loop",
        "for (int k = 0; k < n; k += T) y[k] = 0;",
        ["for (int k = 0; k < n - T; k += T) y[k] = 0;", "for (int k = 0 + T; k < n; k += T) y[k] = 0;"],
    ),
    (
        "wrong-step",
        "for (int k = i; k < n; k += T) y[k] = 0;",
        ["for (int k = i; k < n; k += 2 * T) y[k] = 0;", "for (int k = i; k < n; k += (T + 1) / 2) y[k] = 0;"],
    ),
    ("wrong-step", "for (int k = 4; k > 0; k >>= 1) y[k] = 0;", ["for (int k = 4; k > 0; k >>= 1 + 1) y[k] = 0;"]),
    ("dropped-statement", "y[i] = 0;", [";"]),
    ("wrong-sign", "float v = x[i] - w[0];", ["float v = x[i] + w[0];"]),
    ("wrong-sign", "for (int k = 0; k < n; k += T) v -= k;", []),
    ("dropped-term", "float v = x[i] * w[0];", ["float v = x[i];", "float v = w[0];"]),
    ("swapped-operands", "float v = x[i] / w[0];", ["float v = w[0] / x[i];"]),
    ("lost-sum", "sum += x[i];", ["sum = x[i];"]),
    ("wrong-constant", "float v = -INFINITY, u = 0.0f, t = 2.0f;", [
        "float v = -1.0f, u = 0.0f, t = 2.0f;",
        "float v = -INFINITY, u = 1.0f, t = 2.0f;",
        "float v = -INFINITY, u = 0.0f, t = (1.02f * 2.0f);",
    ]),
    ("wrong-constant", "int lane = i % 32u;", ["int lane = i % 33;"]),
    ("wrong-extreme", "float v = fmaxf(x[0], x[1]);", ["float v = fminf(x[0], x[1]);"]),
    ("lower-precision", "y[i] = x[i];", ["y[i] = __half2float(__float2half(x[i]));"]),
    ("lower-precision", "int k = 0; k += n;", []),
]  # fmt: skip
# The same for a statement of the function that launches it.
ON_HOST: list[tuple[str, str, list[str]]] = [
    (
        "short-grid",
        LAUNCH,
        [LAUNCH.replace("(n + 255) / 256", "n / 256"), LAUNCH.replace("(n + 255) / 256", "((n + 255) / 256) - 1")],
    ),
    ("small-block", LAUNCH, [LAUNCH.replace("256, 4", "256 / 2, 4")]),
    ("little-shared", LAUNCH, [LAUNCH.replace("4 * n", "(4 * n) / 2")]),
    ("swapped-arguments", LAUNCH, [LAUNCH.replace("x, w,", "w, x,"), LAUNCH.replace("n, m)", "m, n)")]),
    ("wrong-constant", LAUNCH, []),
]


def faults(operator: str, text: str) -> list[str]:
    """The changed line of each mutant."""
    made = [difference(text, mutant.text)[2] for mutant in generate(text, [NAMED[operator]], read)]
    return [" ".join("".join(lines).split()) for lines in made]


@pytest.mark.parametrize(("operator", "statement", "expected"), ON_DEVICE)
def test_an_operator_makes_these_faults_in_a_kernel(operator: str, statement: str, expected: list[str]) -> None:
    assert faults(operator, TEXT.format(device=statement, host="")) == expected


@pytest.mark.parametrize(("operator", "statement", "expected"), ON_HOST)
def test_an_operator_makes_these_faults_in_a_launch(operator: str, statement: str, expected: list[str]) -> None:
    assert faults(operator, TEXT.format(device="", host=statement)) == expected


def test_every_operator_is_tested() -> None:
    assert {case[0] for case in (*ON_DEVICE, *ON_HOST)} == set(NAMED)


def test_a_text_that_does_not_parse_is_refused() -> None:
    with pytest.raises(NotParsed):
        generate("__global__ void kernel(", OPERATORS, read)


def test_every_strategy_with_a_rewrite_gives_faults() -> None:
    subjects = cuda_baselines()
    strategies = {one.id.removeprefix("cuda.") for one in for_language(Language.CUDA) if one.intent is not ask}
    assert {subject.name for subject in subjects} == strategies | {f"{name} of {file}" for name, file in FURTHER}
    counts = [len(mutants_of(subject, None, 0)) for subject in subjects]
    assert min(counts) > 20
    assert sum(len(mutants_of(subject, 2, 0)) for subject in subjects) > 400
    assert all(subject.rewrite != subject.text for subject in subjects)


def test_a_probe_has_small_and_odd_sizes() -> None:
    lines = lines_of("solve(a=randn(m * k), c=out(m), m=4096, k=1 << 10, eps=0.5)")
    assert lines[0] == "solve(a=randn(m * k), c=out(m), m=33, k=17, eps=0.5)"
    assert len(lines) == len(set(lines)) > 4
    assert all(evaluate(line).kwargs["eps"] == 0.5 for line in lines)
