"""Vector accesses: which kernels get them, what they are made of, and what must stay one element after the other."""

import pytest

from kernelwright.macro.strategies.cuda_vectorise_access import STRATEGY
from macro.cuda_files import refusal, rewritten

LAUNCH = "run<<<(n + 255) / 256, 256>>>(x, y, z, n);"
PARAMETERS = "const float* x, float* y, float* z, int n"


def text(body: str, parameters: str = PARAMETERS, launch: str = LAUNCH, top: str = "") -> str:
    return (
        f"{top}__global__ void run({parameters}) {{\n    {body}\n}}\n"
        f"void solve({parameters}) {{\n    {launch}\n}}\n"
    )  # fmt: skip


def guarded(body: str) -> str:
    return f"int i = blockIdx.x * blockDim.x + threadIdx.x;\n    if (i < n) {{ {body} }}"


def test_the_whole_of_it() -> None:
    body = "unsigned int at = threadIdx.x + blockDim.x * blockIdx.x;\n    if (n <= at) return;\n    y[at] = x[at] * at;"
    before = text(body, launch="run<<<(n - 1) / 64 + 1, 64>>>(x, y, z, n);")
    assert rewritten(STRATEGY, before)[0] == text(
        """\
unsigned int at = threadIdx.x + blockDim.x * blockIdx.x;
    bool aligned = (reinterpret_cast<size_t>(x) | reinterpret_cast<size_t>(y)) % 16 == 0;
    if (aligned && at < n / 4) {
        alignas(16) float x4[4];
        alignas(16) float y4[4];
        *reinterpret_cast<float4*>(x4) = reinterpret_cast<const float4*>(x)[at];
        #pragma unroll
        for (int k = 0; k < 4; ++k) {
            unsigned int j = 4 * at + k;
            y4[k] = x4[k] * j;
        }
        reinterpret_cast<float4*>(y)[at] = *reinterpret_cast<const float4*>(y4);
    } else if (at <= n / 4) {
        for (unsigned int j = 4 * at; j < n && j - 4 * at < 4; ++j) {
            y[j] = x[j] * j;
        }
    }""",
        launch="run<<<(n - 1) / 4 / 64 + 1, 64>>>(x, y, z, n);",
    )


@pytest.mark.parametrize(
    ("body", "parameters", "expected"),
    [
        ("y[i] += x[i];", PARAMETERS, "y4[k] += x4[k];"),
        ("y[i] = x[i] + x[i + n];", PARAMETERS, "y4[k] = x4[k] + x[j + n];"),
        ("y[i] = z[0] * i;", PARAMETERS, "y4[k] = z[0] * j;"),
        ("y[i] = z[i] > 0 ? x[i] : 0;", PARAMETERS, "y4[k] = z4[k] > 0 ? x[j] : 0;"),
        ("y[i] = x[i]; z[i] = 2;", PARAMETERS, "y4[k] = x4[k]; z4[k] = 2;"),
        ("y[i] = x[i]; z[i] = y[i];", PARAMETERS, "y4[k] = x4[k]; z4[k] = y4[k];"),
        ("y[i] = x[i];", "const half* x, half* y, half* z, int n", "y8[k] = x8[k];"),
        ("y[i] = x[i];", "const double* x, float* y, half* z, int n", "y2[k] = x2[k];"),
        ("y1[i] = x[i];", "const int* x, int* y1, float* z, int n", "y1_4[k] = x4[k];"),
        ("float k = x[i], j = k; y[i] = j;", PARAMETERS, "float k = x4[lane], j = k; y4[lane] = j;"),
    ],
)
def test_what_is_done_for_each_element(body, parameters, expected) -> None:
    launch = LAUNCH.replace("y, ", "y1, ") if "y1" in parameters else LAUNCH
    assert f"            {expected}\n" in rewritten(STRATEGY, text(guarded(body), parameters, launch))[0]


def test_vectors_by_type() -> None:
    def vectors(base: str) -> list[str]:
        parameters = PARAMETERS.replace("float", base)
        variants = rewritten(STRATEGY, text(guarded("y[i] = x[i];"), parameters))
        return [one.split("reinterpret_cast<const ")[1].split("*")[0] for one in variants]

    assert vectors("float") == ["float4", "float2"]
    assert vectors("int") == ["int4", "int2"]
    assert vectors("double") == ["double2"]
    assert vectors("__nv_bfloat16") == ["uint4", "uint2"]
    assert vectors("unsigned char") == ["uint4", "uint2"]


def test_a_loop_over_the_grid_keeps_its_grid() -> None:
    head = "for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)"
    (after, _) = rewritten(STRATEGY, text(f"{head} y[i] = x[i];", launch="run<<<264, 256>>>(x, y, z, n);"))
    assert head.replace("i < n", "i <= n / 4") + " {" in after
    assert "<<<264, 256>>>" in after


@pytest.mark.parametrize(
    "launch",
    [
        "int blocks = (n + 255) / 256;\n    run<<<blocks, 256>>>(x, y, z, n);\n    other(blocks);",
        "dim3 grid((n + 255) / 256);\n    run<<<grid, 256>>>(x, y, z, n);\n    other(grid);",
    ],
)
def test_a_grid_that_others_use_is_written_at_the_launch(launch) -> None:
    after = rewritten(STRATEGY, text(guarded("y[i] = x[i];"), launch=launch))[0]
    assert "run<<<((n + 3) / 4 + 255) / 256, 256>>>" in after


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (guarded("if (x[i] > 0) y[i] = x[i];"), "y[i] is not stored for every element"),
        (guarded("y[i + 1] = x[i];"), "y is accessed at another index than i"),
        (guarded("y[2 * i] = x[i];"), "y is accessed at another index than i"),
        (guarded("atomicAdd(&y[i], x[i]);"), "What is done with y cannot be followed"),
        (guarded("f(y, i);"), "cannot be followed"),
        (guarded("y[i] = x[i]; z[i] = x[i];"), "x is read after y is stored"),
        (guarded("y[i] = 1; z[i] = 2; y[i] = 3;"), "stored in turns"),
        (guarded("if (x[i] < 0) return; y[i] = x[i];"), "may leave the kernel"),
        (guarded("y[i] = x[i] + threadIdx.x;"), "uses threadIdx.x besides its index"),
        (guarded("y[i] = __shfl_xor_sync(~0u, x[i], 1);"), "work together"),
        (guarded("n = 3; y[i] = x[i];"), "guard"),
        (
            "int i = blockIdx.x * blockDim.x + threadIdx.x, e = 2 * i;\n    if (i < n) y[i] = x[e];",
            "ahead of the guard",
        ),
        (
            "int i = blockIdx.x * blockDim.x + threadIdx.x;\n    if (i < n) y[i] = x[i];\n    z[0] = 1;",
            "follows the guard",
        ),
        (
            "float s = 0;\n    " + guarded("s += x[i]; y[i] = s;"),
            "s is changed under the guard, but declared ahead of it",
        ),
        (guarded("y[i] = ELEMENT;"), "macro ELEMENT hides the index"),
    ],
)
def test_what_must_stay(body, expected) -> None:
    assert expected in refusal(STRATEGY, text(body, top="#define ELEMENT x[i]\n"))


def test_a_type_of_a_template_has_no_known_size() -> None:
    body = text(guarded("y[i] = x[i];"), "const T* x, T* y, float* z, int n", top="template <typename T>\n")
    assert "no plain array of numbers of a known size" in refusal(STRATEGY, body)


def test_the_index_is_divided_once_for_a_vector() -> None:
    body = "int at = i % n;\n        y[i] = x[i] + z[at] + i / n + i / 3;"
    lines = [line.strip() for line in rewritten(STRATEGY, text(guarded(body)))[0].splitlines()]
    assert "const int rest = 4 * i % n;" in lines
    assert "const int whole = 4 * i / n;" in lines
    assert "int at = rest + k < n ? rest + k : j % n;" in lines
    assert "y4[k] = x4[k] + z[at] + (rest + k < n ? whole : j / n) + j / 3;" in lines


@pytest.mark.parametrize("body", ["y[i] = n > 3 ? x[i % n] : 0.0f;", "y[i] = x[i] + i / f;", "y[i] = x[i] + i % 3;"])
def test_divisions_that_stay(body: str) -> None:
    assert (
        "rest"
        not in rewritten(STRATEGY, text(guarded(body), f"{PARAMETERS}, float f", LAUNCH.replace("n);", "n, f);")))[0]
    )


PLANE = """\
int x = blockIdx.x * blockDim.x + threadIdx.x;
    int r = blockIdx.y * blockDim.y + threadIdx.y;
    if (x < n && r < m) {body}"""
PIXELS = "const unsigned char* in, unsigned char* out, const float* row, int m, int n"
PLANES = "run<<<dim3(n / 32 + (n % 32 != 0), (m + 7) / 8), dim3(32, 8)>>>(in, out, row, m, n);"
PIXEL = "{ int at = r * n + x;\n        out[at] = in[3 * at] + in[3 * at + 1] - in[3 * at + 2]; }"


def plane(body: str = PIXEL, parameters: str = PIXELS, launch: str = PLANES) -> str:
    return text(PLANE.format(body=body), parameters, launch)


def test_several_elements_an_index_in_two_dimensions() -> None:
    variants = rewritten(STRATEGY, plane())
    assert [one.split("if (")[1].split(" * x")[0] for one in variants] == ["16", "8", "4"]
    lines = [line.strip() for line in variants[2].splitlines()]
    start = lines.index("const int first = 4 * x;")
    assert lines[start : start + 18] == [
        "const int first = 4 * x;",
        "int at = r * n + first;",
        "const unsigned char* in_first = &in[3 * at];",
        "unsigned char* out_first = &out[at];",
        "if (first + 3 < n && (reinterpret_cast<size_t>(in_first) | reinterpret_cast<size_t>(out_first)) % 4 == 0) {",
        "alignas(4) unsigned char in4[12];",
        "alignas(4) unsigned char out4[4];",
        "#pragma unroll",
        "for (int p = 0; p < 3; ++p)",
        "reinterpret_cast<unsigned int*>(in4)[p] = reinterpret_cast<const unsigned int*>(in_first)[p];",
        "#pragma unroll",
        "for (int k = 0; k < 4; ++k) {",
        "const int j = first + k;",
        "int at = r * n + j;",
        "out4[k] = in4[3 * k] + in4[3 * k + 1] - in4[3 * k + 2];",
        "}",
        "*reinterpret_cast<unsigned int*>(out_first) = *reinterpret_cast<const unsigned int*>(out4);",
        "} else {",
    ]
    assert "dim3((n + 4 * 32 - 1) / (4 * 32), (m + 7) / 8)" in variants[2]


def test_rows_of_blocks() -> None:
    rows = "const int r = blockIdx.y;\n    int c = blockIdx.x * blockDim.x + threadIdx.x;\n    if (c >= n) return;\n"
    before = text(f"{rows}    out[r * n + c] = in[r * n + c] * row[r];", PIXELS,
                  "run<<<dim3((n + 255) / 256, m), 256>>>(in, out, row, m, n);")  # fmt: skip
    after = rewritten(STRATEGY, before.replace("unsigned char* out", "float* out"))[0]
    assert "if (4 * c >= n) return;" in after
    assert "out4[k] = in4[k] * row[r];" in after
    assert "reinterpret_cast<size_t>(in_first) % 4 == 0 && reinterpret_cast<size_t>(out_first) % 16 == 0" in after


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        ("out[r * n + x] = in[x * m + r];", ""),
        ("out[x * m + r] = in[r * n + x];", "block has more than one dimension"),
        ("out[2 * (r * n + x)] = in[r * n + x];", "block has more than one dimension"),
        ("out[r * n + x + 1] = in[r * n + x];", "block has more than one dimension"),
        ("if (in[r] > 3) out[r * n + x] = in[r * n + x];", "block has more than one dimension"),
        ("{ out[r * n + x] = in[r * n + x]; row += in[r]; }", "block has more than one dimension"),
        ("{ out[r * n + x] = in[r * n + x]; m = row[r]; }", "block has more than one dimension"),
        ("for (int i = 0; i < 3; ++i) out[r * n + x] = in[r * n + x];", "block has more than one dimension"),
        ("out[r * n + x + x / 2] = in[r * n + x];", "block has more than one dimension"),
        ("{ int at = r * n; at += 3; out[at + x] = in[r * n + x]; }", "block has more than one dimension"),
        ("{ int at = in[r] + x; out[at] = in[r * n + x]; }", "block has more than one dimension"),
        (
            "{ if (r > 3) { int at = r * n + x; out[at] = 1; } out[r * n + x] = 2; }",
            "block has more than one dimension",
        ),
        ("out[r * n + x] = in[r * n + x] + threadIdx.x;", "block has more than one dimension"),
    ],
)
def test_planes_that_must_stay(body: str, reason: str) -> None:
    if reason:
        assert reason in refusal(STRATEGY, plane(body))
    else:
        assert "out16[k] = in[j * m + r];" in rewritten(STRATEGY, plane(body))[0]
