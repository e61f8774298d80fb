"""cuda.reciprocal-root: which divisions become products, and that no other operation changes."""

import pytest

from kernelwright.macro.strategies.cuda_reciprocal_root import STRATEGY
from kernelwright.values import Refusal
from macro.cuda_files import observe, refusal, rewritten

KERNEL = """\
__global__ void scale(const float* x, float* y, double* d, int n) {{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {body}
}}
"""


@pytest.mark.parametrize(
    ("body", "made"),
    [
        ("y[i] = 1.0f / sqrtf(x[i]);", "y[i] = rsqrtf(x[i]);"),
        ("y[i] = expf(x[i]) / sqrtf(x[i] + 1.0f) / 3.0f;", "y[i] = expf(x[i]) * rsqrtf(x[i] + 1.0f) / 3.0f;"),
        ("y[i] /= sqrtf(x[i]);", "y[i] *= rsqrtf(x[i]);"),
    ],
)
def test_a_division_by_a_root_is_a_product(body: str, made: str) -> None:
    assert rewritten(STRATEGY, KERNEL.format(body=body)) == (KERNEL.format(body=made),)


@pytest.mark.parametrize("body", ["y[i] = x[i] / 3.0f;", "y[i] = sqrtf(x[i]) / 3.0f;", "d[i] = 1.0 / sqrt(d[i]);"])
def test_everything_else_stays(body: str) -> None:
    assert "divides no float by a square root" in refusal(STRATEGY, KERNEL.format(body=body))


def test_it_needs_no_permission() -> None:
    text = KERNEL.format(body="y[i] = 1.0f / sqrtf(x[i]);")
    assert not isinstance(STRATEGY.find(observe(text, reduced=False)), Refusal)


@pytest.mark.parametrize(
    ("body", "gain"),
    [
        ("for (int k = 0; k < n; ++k) { float d = x[k]; y[i] += 1.0f / sqrtf(d + 1.0f); }", 0.3),
        ("for (int k = 0; k < n; ++k) y[i] += x[k] / sqrtf(x[i]);", 0.03),
        ("y[i] = 1.0f / sqrtf(x[i]);", 0.03),
    ],
)
def test_a_root_that_is_new_in_each_turn_costs_most(body: str, gain: float) -> None:
    found = STRATEGY.find(observe(KERNEL.format(body=body)))
    assert not isinstance(found, Refusal)
    assert found[0].params["expected_gain"] == gain
