"""cuda.coalesce-mapping: which kernels get their thread axes swapped, and how the launch goes along."""

import pytest
import torch

from kernelwright.macro.strategies.cuda_coalesce_mapping import STRATEGY
from kernelwright.proof.worker.languages.cuda import LANGUAGE
from macro.cuda_files import refusal, rewritten

KERNEL = """\
__global__ void scale(const float* x, float* y, int rows, int columns) {{
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    int column = blockIdx.y * blockDim.y + threadIdx.y;
    if (row < rows && column < columns) {body}
}}

extern "C" void solve(const float* x, float* y, int rows, int columns) {{
    {launch}
}}
"""
BODY = "y[row * columns + column] = 2.0f * x[row * columns + column];"
SQUARE = "scale<<<dim3((rows + 15) / 16, (columns + 15) / 16), dim3(16, 16)>>>(x, y, rows, columns);"
SWAPPED = "blockIdx.x * blockDim.y + threadIdx.y", "blockIdx.y * blockDim.x + threadIdx.x"


BY_LINE = """\
// workload: scale<<<dim3((rows + 15) / 16, (columns + 15) / 16), dim3(16, 16)>>>(x=randn(rows * columns), \
y=out(rows * columns), rows=64, columns=64)
"""
STAGED = """{
        __shared__ float tile[1024];
        tile[threadIdx.x * blockDim.y + threadIdx.y] = x[row * columns + column];
        y[row * columns + column] = 2.0f * tile[threadIdx.x * blockDim.y + threadIdx.y] + threadIdx.z;
    }"""


def kernel(body: str = BODY, launch: str = SQUARE) -> str:
    return KERNEL.format(body=body, launch=launch)


def swapped(text: str) -> str:
    return text.replace("blockIdx.x * blockDim.x + threadIdx.x", SWAPPED[0]).replace(
        "blockIdx.y * blockDim.y + threadIdx.y", SWAPPED[1]
    )


def test_a_square_block_stays_as_it_is() -> None:
    assert rewritten(STRATEGY, kernel()) == (swapped(kernel()),)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (
            "scale<<<dim3((rows + 31) / 32, (columns + 7) / 8), dim3(32, 8)>>>(x, y, rows, columns);",
            "scale<<<dim3((rows + 31) / 32, (columns + 7) / 8), dim3(8, 32)>>>(x, y, rows, columns);",
        ),
        (
            "dim3 block(32, 8);\n    dim3 grid((rows + block.x - 1) / block.x, (columns + block.y - 1) / block.y);\n"
            "    scale<<<grid, block>>>(x, y, rows, columns);",
            "dim3 block(8, 32);\n    dim3 grid((rows + block.y - 1) / block.y, (columns + block.x - 1) / block.x);\n"
            "    scale<<<grid, block>>>(x, y, rows, columns);",
        ),
        (
            "const int H = 32, W = 8;\n    dim3 block(H, W);\n"
            "    scale<<<dim3(rows / H, columns / W), block>>>(x, y, rows, columns);",
            "const int H = 32, W = 8;\n    dim3 block(W, H);\n"
            "    scale<<<dim3(rows / H, columns / W), block>>>(x, y, rows, columns);",
        ),
    ],
    ids=["written at the launch", "read by name", "of two constants"],
)
def test_the_sizes_of_a_block_change_places(before: str, after: str) -> None:
    assert rewritten(STRATEGY, kernel(launch=before)) == (swapped(kernel(launch=after)),)


def test_a_square_grid_is_swapped_too() -> None:
    text = kernel(
        launch="dim3 grid((rows + 15) / 16, (rows + 15) / 16);\n    scale<<<grid, dim3(16, 16)>>>(x, y, rows, rows);"
    )
    (after,) = rewritten(STRATEGY, text)
    assert "int row = blockIdx.y * blockDim.y + threadIdx.y;" in after
    assert "int column = blockIdx.x * blockDim.x + threadIdx.x;" in after


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (swapped(kernel()), "already runs along"),
        (kernel("{ float v = __shfl_xor_sync(~0u, x[row * columns], 1); y[row * columns + column] = v; }"), "share a warp"),
        (kernel("y[row * columns + column] = x[row * columns] + twice(threadIdx);"), "as a whole"),
        (kernel(launch="scale<<<rows, 256>>>(x, y, rows, columns);"), "one dimension"),
        (kernel(launch="dim3 b(32, 8);\n    scale<<<1, b>>>(x, y, rows, columns);\n    use(b);"), "for more than this launch"),
        (kernel(launch=SQUARE + "\n    " + SQUARE.replace("dim3(16, 16)", "256")), "one dimension"),
        (BY_LINE.replace("dim3(16, 16)", "16") + kernel(), "one dimension"),
        (BY_LINE + kernel("y[row * columns + column] = __shfl_sync(~0u, x[row * columns], 1);"), "share a warp"),
        ("#define ME threadIdx.x\n" + kernel("y[row * columns + column] = ME;"), "reads the thread's index itself"),
    ],
)  # fmt: skip
def test_what_depends_on_the_axes_is_refused(text: str, reason: str) -> None:
    assert reason in refusal(STRATEGY, text)


@pytest.mark.parametrize(
    "text", [BY_LINE + kernel(), kernel(launch=SQUARE + "\n    " + SQUARE)], ids=["line", "launches"]
)
def test_threads_are_numbered_anew_where_the_launch_stays(text: str) -> None:
    (after,) = rewritten(STRATEGY, text)
    assert after == text.replace(
        "    int row = blockIdx.x * blockDim.x + threadIdx.x;\n    int column = blockIdx.y * blockDim.y + threadIdx.y;\n",
        "    // Neighbouring threads of a warp lie along y.\n"
        "    const unsigned int lane = threadIdx.y * blockDim.x + threadIdx.x;\n"
        "    const unsigned int tx = lane / blockDim.y, ty = lane % blockDim.y;\n"
        "    int row = blockIdx.x * blockDim.x + tx;\n    int column = blockIdx.y * blockDim.y + ty;\n",
    )


@pytest.mark.parametrize("body", [BODY, STAGED], ids=["plain", "staged"])
@pytest.mark.parametrize("block", [(16, 16, 1), (5, 3, 1), (1, 7, 1), (32, 1, 1)])
def test_threads_that_are_numbered_anew_do_the_same(monkeypatch, body: str, block: tuple[int, ...]) -> None:
    monkeypatch.setenv("TRITON_INTERPRET", "1")
    text, rows, columns = BY_LINE + kernel(body), 37, 19
    x, found = torch.randn(rows, columns), list[torch.Tensor]()
    for one in (text, *rewritten(STRATEGY, text)):
        module, y = LANGUAGE.load("/nowhere/scale.cu", one, "axes"), torch.full((rows, columns), torch.nan)
        grid = (-(-rows // block[0]), -(-columns // block[1]))
        module.scale[grid, block, 0](x, y, rows, columns)
        LANGUAGE.unload(module)
        found.append(y)
    assert torch.equal(found[0], found[1])
    assert not found[0].isnan().any()
