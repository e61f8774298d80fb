"""Block sizes: where the number is written, what follows it, and the kernels that rely on it."""

import pytest

from kernelwright.macro.strategies.cuda_launch_geometry import STRATEGY
from macro.cuda_files import refusal, rewritten

INDEX = "int i = blockIdx.x * blockDim.x + threadIdx.x;"
BODY = f"{INDEX}\n    if (i < n) y[i] = x[i];"
LAUNCH = "k<<<(n + 63) / 64, 64>>>(x, y, n);"


def text(launch: str = LAUNCH, body: str = BODY, top: str = "", bounds: str = "") -> str:
    return (
        f"{top}__global__ void {bounds}k(const float* x, float* y, int n) {{\n    {body}\n}}\n"
        f"void solve(const float* x, float* y, int n) {{\n    {launch}\n}}\n"
    )


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (LAUNCH, "k<<<(n + 255) / 256, 256>>>(x, y, n);"),
        ("k<<<(n + 64 - 1) / 64, 64>>>(x, y, n);", "k<<<(n + 256 - 1) / 256, 256>>>(x, y, n);"),
        ("k<<<(n - 1) / 64 + 1, 64>>>(x, y, n);", "k<<<(n - 1) / 256 + 1, 256>>>(x, y, n);"),
        (
            "int threads = 64;\n    int blocks = (n + threads - 1) / threads;\n    k<<<blocks, threads>>>(x, y, n);",
            "int threads = 256;\n    int blocks = (n + threads - 1) / threads;\n    k<<<blocks, threads>>>(x, y, n);",
        ),
        (
            "dim3 block(64);\n    dim3 grid((n + block.x - 1) / block.x);\n    k<<<grid, block>>>(x, y, n);",
            "dim3 block(256);\n    dim3 grid((n + block.x - 1) / block.x);\n    k<<<grid, block>>>(x, y, n);",
        ),
        ("k<<<dim3((n + 63) / 64), dim3(64)>>>(x, y, n);", "k<<<dim3((n + 255) / 256), dim3(256)>>>(x, y, n);"),
    ],
)  # fmt: skip
def test_the_number_is_changed_where_it_is_written(before, after) -> None:
    assert rewritten(STRATEGY, text(before))[0] == text(after)


@pytest.mark.parametrize(
    ("top", "launch", "body"),
    [
        ("#define BLOCK 64  // threads\n", "k<<<(n + BLOCK - 1) / BLOCK, BLOCK>>>(x, y, n);", BODY),
        ("constexpr int BLOCK = 64;\n", "k<<<(n + BLOCK - 1) / BLOCK, BLOCK>>>(x, y, n);", BODY),
        (
            "#define BLOCK 64\n#define CEIL_DIV(a, b) (((a) + (b) - 1) / (b))\n",
            "k<<<CEIL_DIV(n, BLOCK), BLOCK>>>(x, y, n);",
            BODY.replace("blockDim.x", "BLOCK"),
        ),
        (
            "#define BLOCK 64\n",
            "dim3 block(BLOCK), grid((n + BLOCK - 1) / BLOCK);\n    k<<<grid, block>>>(x, y, n);",
            BODY,
        ),
        (
            "const int BLOCK = 64;\ninline int up(int a, int b) { return (a + b - 1) / b; }\n",
            "k<<<up(n, BLOCK), BLOCK>>>(x, y, n);",
            BODY,
        ),
    ],
)
def test_a_constant_of_the_file(top, launch, body) -> None:
    assert rewritten(STRATEGY, text(launch, body, top))[0] == text(launch, body, top.replace("64", "256"))


def test_bounds_follow() -> None:
    before, after = "__launch_bounds__(64, 16) ", "__launch_bounds__(256, 4) "
    assert rewritten(STRATEGY, text(bounds=before))[0] == text("k<<<(n + 255) / 256, 256>>>(x, y, n);", bounds=after)


def test_a_copy_in_the_kernel_follows() -> None:
    body = BODY.replace("blockDim.x", "64")
    after = text("k<<<(n + 255) / 256, 256>>>(x, y, n);", BODY.replace("blockDim.x", "256"))
    assert rewritten(STRATEGY, text(body=body))[0] == after


def test_every_width_is_a_variant() -> None:
    assert [one.split("<<<")[1].split(">>>")[0].split(", ")[1] for one in rewritten(STRATEGY, text())] == [
        "256", "128", "512", "1024",
    ]  # fmt: skip


@pytest.mark.parametrize(
    "body",
    [
        f"{INDEX}\n    if (i >= n) return;\n    y[i] = x[i];",
        "const int tid = threadIdx.x;\n    int i = blockIdx.x * blockDim.x + tid;\n    if (n > i) { y[i] = x[i]; }",
        "for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) y[i] = x[i];",
    ],
)
def test_kernels_that_do_not_rely_on_the_number(body) -> None:
    assert rewritten(STRATEGY, text(body=body))[0] == text("k<<<(n + 255) / 256, 256>>>(x, y, n);", body)


def test_threads_that_stride_over_a_row() -> None:
    body = "for (int c = threadIdx.x; c < n; c += blockDim.x) y[blockIdx.x * n + c] = x[blockIdx.x * n + c];"
    before, after = "k<<<n, 64>>>(x, y, n);", "k<<<n, 256>>>(x, y, n);"
    assert rewritten(STRATEGY, text(before, body))[0] == text(after, body)


def test_a_step_follows() -> None:
    body = "for (int c = threadIdx.x; c < n; c += 64) y[blockIdx.x * n + c] = x[blockIdx.x * n + c];"
    before, after = "k<<<n, 64>>>(x, y, n);", "k<<<n, 256>>>(x, y, n);"
    assert rewritten(STRATEGY, text(before, body))[0] == text(after, body.replace("64", "256"))


def test_launches_that_share_the_number_change_together() -> None:
    top = "__global__ void first(float* y, int n) {\n    " + INDEX + "\n    if (i < n) y[i] = 0;\n}\n"
    launch = (
        "int threads = 64;\n    int blocks = (n + threads - 1) / threads;\n"
        "    first<<<blocks, threads>>>(y, n);\n    k<<<blocks, threads>>>(x, y, n);"
    )
    assert rewritten(STRATEGY, text(launch, top=top), "k")[0] == text(launch.replace("64", "256"), top=top)
    again = launch.replace("(y, n)", "(x, y, n)").replace("first", "k")
    assert rewritten(STRATEGY, text(again))[0] == text(again.replace("64", "256"))
    shared = top.replace("y[i] = 0;", "y[i] = 0;\n    __syncthreads();")
    assert "work together" in refusal(STRATEGY, text(launch, top=shared), "k")


@pytest.mark.parametrize(
    ("launch", "body", "expected"),
    [
        (LAUNCH, f"__shared__ float s[64];\n    {BODY}", "shared memory"),
        (LAUNCH, f"{INDEX}\n    float v = __shfl_down_sync(~0u, x[i], 1);\n    if (i < n) y[i] = v;", "work together"),
        (LAUNCH, f"{INDEX}\n    if (i < n) y[i] = x[i] + threadIdx.x;", "for something else"),
        (LAUNCH, f"{INDEX}\n    if (i < n) y[i] = x[i] + blockDim.x;", "for something else"),
        (LAUNCH, f"{INDEX}\n    y[i] = x[i];", "does not begin with the index of its thread and a guard"),
        (LAUNCH, f"{INDEX}\n    if (i < n - 1) y[i] = x[i];", "covers n elements, the kernel's guard asks for n - 1"),
        ("k<<<n / 64, 64>>>(x, y, n);", BODY, "not a size divided by the block"),
        ("k<<<(n + 63) / 64, n>>>(x, y, n);", BODY, "no number that this file says"),
        ("k<<<(n + 63) / 64, 64, 1024>>>(x, y, n);", BODY, "sizes shared memory"),
        (
            "int threads = 64;\n    log(threads);\n    k<<<(n + 63) / 64, threads>>>(x, y, n);",
            BODY,
            "something else than",
        ),
        (f"{LAUNCH}\n    {LAUNCH}", BODY, "launched in several places"),
        (
            LAUNCH,
            "for (int c = threadIdx.x; c < n; c += blockDim.x) y[c] = x[c];\n    atomicAdd(y, 1.0f);",
            "calls something outside its loop",
        ),
        (
            LAUNCH,
            "float s = 0;\n    for (int c = threadIdx.x; c < n; c += blockDim.x) { s += x[c]; y[c] = s; }",
            "s is carried from turn to turn",
        ),
        (
            LAUNCH,
            "float s[1] = {0};\n    for (int c = threadIdx.x; c < n; c += blockDim.x) { s[0] += x[c]; y[c] = s[0]; }",
            "s is carried from turn to turn",
        ),
    ],
)
def test_a_number_that_is_relied_on_stays(launch, body, expected) -> None:
    assert expected in refusal(STRATEGY, text(launch, body))


def test_no_block_becomes_lower() -> None:
    body = (
        "int c = blockIdx.x * blockDim.x + threadIdx.x;\n    int r = blockIdx.y * blockDim.y + threadIdx.y;\n"
        "    if (r < n && c < n) y[r * n + c] = x[r * n + c];"
    )
    launch = "dim3 block(16, 16);\n    dim3 grid((n + 15) / 16, (n + 15) / 16);\n    k<<<grid, block>>>(x, y, n);"
    assert rewritten(STRATEGY, text(launch, body)) == tuple(
        text(
            f"dim3 block({x}, {y});\n    dim3 grid((n + {x - 1}) / {x}, (n + {y - 1}) / {y});\n"
            "    k<<<grid, block>>>(x, y, n);",
            body,
        )
        for x, y in ((32, 16), (64, 16), (32, 32), (16, 32))
    )


def test_a_kernel_that_the_workload_calls_itself_keeps_its_launch() -> None:
    line = "// workload: k<<<(n + 63) / 64, 64>>>(n=1000, x=randn(n), y=out(n))\n"
    assert "by its workload line alone" in refusal(STRATEGY, line + text())
