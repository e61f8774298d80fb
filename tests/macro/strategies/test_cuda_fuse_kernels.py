"""Two launches in one: what the new kernel looks like, and which pairs depend on each other's elements."""

import pytest

from kernelwright.macro.strategies.cuda_fuse_kernels import STRATEGY
from macro.cuda_files import refusal, rewritten

INDEX = "int i = blockIdx.x * blockDim.x + threadIdx.x;"
LAUNCHES = "a<<<(n + 255) / 256, 256>>>(x, t, n);\n    b<<<(n + 127) / 128, 128>>>(t, y, n);"


def kernel(name: str, body: str, parameters: str = "const float* x, float* y, int n") -> str:
    return f"__global__ void {name}({parameters}) {{\n    {body}\n}}\n"


def guarded(body: str) -> str:
    return f"{INDEX}\n    if (i < n) {{\n        {body}\n    }}"


def text(*kernels: str, launches: str = LAUNCHES) -> str:
    return (
        "\n".join(kernels)
        + f"\nvoid solve(const float* x, float* t, float* y, const float* w, int n) {{\n    {launches}\n}}\n"
    )


def test_guards_that_return_and_comments() -> None:
    first = "// doubles\n" + kernel(
        "a", f"{INDEX}\n    if (i >= n) return;  // rest\n    float v = x[i];\n    y[i] = 2 * v;"
    )
    second = "// adds one\n" + kernel("b", f"{INDEX}\n    if (i < n) {{ float v = x[i]; y[i] = v + 1; }}")
    assert rewritten(STRATEGY, text(first, second)) == (
        """\
// doubles
// adds one
__global__ void a_b(const float* x, float* y, int n, float* y2) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;  // rest
    float v = x[i];
    y[i] = 2 * v;
    float v2 = y[i]; y2[i] = v2 + 1;
}

void solve(const float* x, float* t, float* y, const float* w, int n) {
    a_b<<<(n + 255) / 256, 256>>>(x, t, n, y);
}
""",
    )


@pytest.mark.parametrize("asked", ["a", "b"])
def test_either_of_the_two_may_be_asked_for(asked) -> None:
    before = text(kernel("a", guarded("y[i] = x[i];")), kernel("b", guarded("y[i] = x[i];")))
    assert "__global__ void a_b(" in rewritten(STRATEGY, before, asked)[0]


@pytest.mark.parametrize(
    ("second", "parameters", "launch", "expected"),
    [
        ("y[i] += x[i];", "const float* x, float* y, int n", "(t, y, n)", "y2[i] += y[i];"),
        ("x[i] += 1;", "float* x, int n", "(t, n)", "y[i] += 1;"),
        ("y[i] = w[i % 3];", "const float* w, float* y, int n", "(w, y, n)", "y2[i] = w[i % 3];"),
        ("float x = y[i]; y[i] = x;", "float* y, int n", "(t, n)", "float x2 = y[i]; y[i] = x2;"),
        ("for (int k = 0; k < m; ++k) y[i] += k;", "float* y, int n, int m", "(y, n, 3)", "y2[i] += k;"),
    ],
)
def test_names_are_kept_apart(second, parameters, launch, expected) -> None:
    launches = LAUNCHES.replace("(t, y, n)", launch)
    before = text(kernel("a", guarded("y[i] = x[i];")), kernel("b", guarded(second), parameters), launches=launches)
    assert expected in rewritten(STRATEGY, before)[0]


def test_a_promise_of_one_kernel_is_not_kept_for_both() -> None:
    parameters = "const float* __restrict__ x, float* __restrict__ y, int n"
    before = text(*(kernel(name, guarded("y[i] = x[i];"), parameters) for name in "ab"))
    assert "a_b(const float* x, float* y, int n, float* y2)" in rewritten(STRATEGY, before)[0]


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        ("y[i] = x[i];", "y[i] = x[i + 1];", "another element than its own"),
        ("y[i] = x[i + 1];", "y[i] = x[i];", "another element than its own"),
        ("y[2 * i] = x[i];", "y[i] = x[i];", "another element than its own"),
        ("y[i] = x[i];", "y[i] = x[0];", "another element than its own"),
        ("y[i] = x[i];", "y[n - i] = x[i];", "another element than its own"),
        ("y[i] = x[i];", "f(y, x[i]);", "cannot be followed"),
        ("y[i] = x[i];", "y[i] = x[i] + threadIdx.x;", "uses threadIdx.x besides its index"),
        ("if (x[i] < 0) return; y[i] = 1;", "y[i] = x[i];", "may leave the kernel"),
    ],
)
def test_elements_that_depend_on_others(first, second, expected) -> None:
    assert expected in refusal(STRATEGY, text(kernel("a", guarded(first)), kernel("b", guarded(second))))


@pytest.mark.parametrize(
    ("launches", "expected"),
    [
        (
            LAUNCHES.replace("\n", "\n    cudaMemcpy(x, t, n, cudaMemcpyDeviceToDevice);\n"),
            "No other kernel is launched",
        ),
        (LAUNCHES.replace("(t, y, n)", "(t, y, n / 2)"), "covers n elements, the kernel's guard asks for n"),
        (LAUNCHES.replace("128>>>", "128, 0, stream>>>"), "different streams"),
        (LAUNCHES.replace("(t, y, n)", "(t + 1, y, n)"), "different parts of t"),
        (LAUNCHES + "\n    b<<<1, 32>>>(t, y, 3);", "launched in several places"),
        ("a<<<(n + 255) / 256, 256>>>(x, t, n);\n    a<<<(n + 255) / 256, 256>>>(t, y, n);", "launched in 2 places"),
        (LAUNCHES.replace("(t, y, n)", "(t, next(), n)"), "more than names and numbers"),
    ],
)
def test_launches_that_stay(launches, expected) -> None:
    before = text(kernel("a", guarded("y[i] = x[i];")), kernel("b", guarded("y[i] = x[i];")), launches=launches)
    assert expected in refusal(STRATEGY, before)


def test_a_wait_between_the_launches_stays_behind_them() -> None:
    launches = LAUNCHES.replace("\n", "\n    cudaDeviceSynchronize();\n")
    before = text(kernel("a", guarded("y[i] = x[i];")), kernel("b", guarded("y[i] = x[i];")), launches=launches)
    after = rewritten(STRATEGY, before)[0]
    assert "    a_b<<<(n + 255) / 256, 256>>>(x, t, n, y);\n    cudaDeviceSynchronize();\n}" in after
