"""Grid-stride loops: how the guard becomes a loop, how the grid is capped, and what must stay."""

import dataclasses

import pytest

from kernelwright.coders.carrying_out import carried_out
from kernelwright.macro.strategies.cuda_grid_stride import STRATEGY
from kernelwright.values import Refusal, apply
from macro.cuda_files import H200, observe, refusal, rewritten

INDEX = "int i = blockIdx.x * blockDim.x + threadIdx.x;"
HEAD = "(long long i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += blockDim.x * gridDim.x)"
LAUNCH = "run<<<(n + 255) / 256, 256>>>(x, y, n);"
CAPPED = (
    "const int max_blocks = 132 * 8;  // 8 for each multiprocessor\n"
    "    run<<<min((n + 255) / 256, max_blocks), 256>>>(x, y, n);"
)


def text(body: str, launch: str = LAUNCH, bound: str = "int", top: str = "") -> str:
    parameters = f"const float* x, float* y, {bound} n"
    return f"{top}__global__ void run({parameters}) {{\n    {body}\n}}\nvoid solve({parameters}) {{\n    {launch}\n}}\n"


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (f"{INDEX}\n    if (i < n) y[i] = x[i];", f"for {HEAD} {{\n        y[i] = x[i];\n    }}"),
        (f"{INDEX}\n    if (i >= n) return;\n    y[i] = x[i];", f"for {HEAD} {{\n        y[i] = x[i];\n    }}"),
        (
            f"{INDEX}\n    if (i < n) {{\n        // odd ones\n        if (i % 2) y[i] = x[i];\n    }}",
            f"for {HEAD} {{\n        const int i = at;\n        // odd ones\n        if (i % 2) y[i] = x[i];\n    }}".replace(
                "(long long i", "(long long at"
            ).replace("i < n; i +=", "at < n; at +="),
        ),
        (
            f"float a = 2 * n;\n    {INDEX}\n    if (i < n) {{ y[i] = a * x[i]; }}",
            f"float a = 2 * n;\n    for {HEAD} {{\n        y[i] = a * x[i];\n    }}",
        ),
    ],
)
def test_the_guard_becomes_a_loop(body, expected) -> None:
    assert rewritten(STRATEGY, text(body))[0] == text(expected, CAPPED)


@pytest.mark.parametrize(
    ("launch", "expected"),
    [
        (
            "int threads = 128, blocks = (n + threads - 1) / threads;\n    run<<<blocks, threads>>>(x, y, n);",
            "const int max_blocks = 132 * 16;  // 16 for each multiprocessor\n"
            "    int threads = 128, blocks = min((n + threads - 1) / threads, max_blocks);\n"
            "    run<<<blocks, threads>>>(x, y, n);",
        ),
        (
            "dim3 block(256);\n    dim3 grid((n + block.x - 1) / block.x);\n    run<<<grid, block>>>(x, y, n);",
            "dim3 block(256);\n    const int max_blocks = 132 * 8;  // 8 for each multiprocessor\n"
            "    dim3 grid(min(static_cast<int>((n + block.x - 1) / block.x), max_blocks));\n"
            "    run<<<grid, block>>>(x, y, n);",
        ),
    ],
)
def test_the_grid_is_capped(launch, expected) -> None:
    body = f"{INDEX}\n    if (i < n) y[i] = x[i];"
    assert rewritten(STRATEGY, text(body, launch))[0] == text(f"for {HEAD} {{\n        y[i] = x[i];\n    }}", expected)


def test_a_wide_index_keeps_its_type() -> None:
    body = f"{INDEX}\n    if (i < n) y[i] = x[i];".replace("int", "size_t")
    after = rewritten(STRATEGY, text(body, bound="size_t"))[0]
    assert "for (size_t i = " in after
    assert "min(static_cast<int>((n + 255) / 256), max_blocks)" in after


def test_the_cap_is_that_of_the_device() -> None:
    observation = observe(STRATEGY.example.before, device=dataclasses.replace(H200, multiprocessors=80))
    actions = STRATEGY.find(observation)
    assert not isinstance(actions, Refusal)
    edits = carried_out(STRATEGY, observation, actions[0])
    assert not isinstance(edits, Refusal)
    caps = [apply(one, observation.text).split("max_blocks = ")[1].split(";")[0] for one in edits]
    assert caps == ["80 * 8", "80 * 16", "80 * 32"]


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (f"{INDEX}\n    if (i < n) {{ if (x[i] < 0) return; y[i] = x[i]; }}", "may leave the kernel"),
        (f"{INDEX}\n    if (i < n) y[i] = x[i] + blockIdx.x;", "uses blockIdx.x besides its index"),
        (f"{INDEX}\n    if (i < n) y[i] = x[i];\n    __syncthreads();", "follows the guard"),
        (f"float s = 0;\n    {INDEX}\n    if (i < n) {{ s += x[i]; y[i] = s; }}", "declared ahead of it"),
        (f"float a = n;\n    {INDEX}\n    if (i < n) {{ sincosf(x[i], &a, &y[i]); }}", "declared ahead of it"),
        (
            "int i = blockIdx.x * blockDim.x + threadIdx.x, e = 1;\n    if (i < n) y[i] = e;",
            "together with other names",
        ),
        (f"for {HEAD} y[i] = x[i];", "stride over the elements already"),
        ("int i = threadIdx.x;\n    if (i < n) y[i] = x[i];", "does not begin with the index of its thread"),
    ],
)
def test_what_must_stay(body, expected) -> None:
    assert expected in refusal(STRATEGY, text(body))


FIXED = """\
__global__ void run(const float* x, float* y, int n) {
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) y[i] = 2.0f * x[i];
}
void solve(const float* x, float* y, int n) {
    run<<<60, 128>>>(x, y, n);
}
"""


def test_a_fixed_grid_gets_as_many_blocks_as_the_device_holds() -> None:
    assert [one.split("<<<")[1].split(",")[0] for one in rewritten(STRATEGY, FIXED)] == ["2112", "4224", "8448"]
    assert len(rewritten(STRATEGY, FIXED.replace("60,", "2112,"))) == 2


@pytest.mark.parametrize(
    ("was", "becomes"),
    [("60,", "n,"), ("2.0f *", "gridDim.x *"), ("y[i] =", "__syncthreads(), y[i] ="), ("128>>>", "n>>>")],
)
def test_grids_that_stay(was: str, becomes: str) -> None:
    assert refusal(STRATEGY, FIXED.replace(was, becomes))
