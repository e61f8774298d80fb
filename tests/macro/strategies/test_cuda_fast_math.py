"""Fast math: which operations on floats get their fast form, how it is written, and which are left alone."""

import pytest

from kernelwright.macro.strategies.cuda_fast_math import STRATEGY
from kernelwright.values import Refusal
from macro.cuda_files import observe, refusal, rewritten

PARAMETERS = "const float* x, float* y, double d, float a, int n"


def text(expression: str, top: str = "", statement: str = "y[i] = {};") -> str:
    return (
        f"{top}__global__ void run({PARAMETERS}) {{\n    int i = threadIdx.x;\n    float v = x[i], s, c;\n"
        f"    {statement.format(expression)}\n}}\n"
    )


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("expf(v)", "__expf(v)"),
        ("exp(v)", "__expf(v)"),
        ("std::log(x[i])", "__logf(x[i])"),
        ("log2f(v) + sinf(cosf(v))", "__log2f(v) + __sinf(__cosf(v))"),
        ("v / a", "__fdividef(v, a)"),
        ("v / n", "__fdividef(v, n)"),
        ("1.0f / (1.0f + expf(-v))", "__fdividef(1.0f, 1.0f + __expf(-v))"),
        ("(v + a) / (v - a) / a", "__fdividef(__fdividef(v + a, v - a), a)"),
        ("a * v / (a / x[0])", "__fdividef(a * v, __fdividef(a, x[0]))"),
        ("1.0f / sqrtf(v)", "rsqrtf(v)"),
        ("(v - a) / sqrtf(v + 1e-5f)", "(v - a) * rsqrtf(v + 1e-5f)"),
        ("v / 3.0f + v / 4.0f", "__fdividef(v, 3.0f) + v / 4.0f"),
        ("(float)n / static_cast<float>(i)", "__fdividef((float)n, static_cast<float>(i))"),
        ("fmaxf(v, a) / max(v, a)", "__fdividef(fmaxf(v, a), max(v, a))"),
        ("v > 0 ? v / a : n / i", "v > 0 ? __fdividef(v, a) : n / i"),
    ],
)
def test_operations_on_floats(before, after) -> None:
    assert rewritten(STRATEGY, text(before))[0] == text(after)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("v /= a; y[i] = v;", "v = __fdividef(v, a); y[i] = v;"),
        ("y[i] /= sqrtf(a);", "y[i] *= rsqrtf(a);"),
        ("sincosf(v, &s, &c); y[i] = s;", "__sincosf(v, &s, &c); y[i] = s;"),
    ],
)
def test_statements(before, after) -> None:
    assert rewritten(STRATEGY, text("", statement=before))[0] == text("", statement=after)


@pytest.mark.parametrize(
    "expression",
    [
        "exp(d)",
        "v / d",
        "1.0 / v",
        "n / i",
        "v / 2.0f",
        "1.0f / 3.0f",
        "powf(v, a)",
        "unknown(v) / v",
        "tanhf(v)",
        "sqrtf(v)",
    ],
)
def test_what_is_left_alone(expression) -> None:
    assert "no division and no function of floats" in refusal(STRATEGY, text(expression))


def test_variants_leave_out_what_loses_most() -> None:
    before = text("sinf(v) + v / a + expf(v) + 1.0f / sqrtf(v)")
    assert rewritten(STRATEGY, before) == tuple(
        text(one)
        for one in (
            "__sinf(v) + __fdividef(v, a) + __expf(v) + rsqrtf(v)",
            "sinf(v) + __fdividef(v, a) + __expf(v) + rsqrtf(v)",
            "sinf(v) + v / a + __expf(v) + rsqrtf(v)",
            "sinf(v) + v / a + expf(v) + rsqrtf(v)",
        )
    )


def test_a_device_function_of_this_kernel_alone() -> None:
    helper = "__device__ float f(float v) {\n    return expf(v);\n}\n"
    assert "__expf(v)" in rewritten(STRATEGY, text("f(v)", helper))[0]
    other = "__global__ void other(float* y) {\n    y[0] = f(1.0f);\n}\n"
    assert "no division" in refusal(STRATEGY, text("f(v)", helper + other), "run")


def test_it_has_to_be_allowed() -> None:
    found = STRATEGY.find(observe(STRATEGY.example.before, reduced=False))
    assert isinstance(found, Refusal)
    assert "acceptReducedAccuracy" in found.reason
