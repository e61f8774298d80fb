"""The text of the fp64 twin of a CUDA text."""

import pytest

from kernelwright.proof.worker.languages.cuda.widened import widened


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("float x = 1.0f * y;", "double x = 1.0 * y;"),
        ("float x = 1f + 2.f + .5F + 1e-3f + 0x1f;", "double x = 1.0 + 2. + .5 + 1e-3 + 0x1f;"),
        ("float4 v = make_float4(1, 2, 3, 4);", "double4 v = make_double4(1, 2, 3, 4);"),
        (
            "float e = expf(x) + __expf(y) + fmaxf(a, b) + rsqrtf(c);",
            "double e = exp(x) + exp(y) + fmax(a, b) + rsqrt(c);",
        ),
        ('float x; printf("float %f 1.0f"); // float', 'double x; printf("float %f 1.0f"); // float'),
        ("#define ZERO 0.0f\nfloat x = ZERO;", "#define ZERO 0.0\ndouble x = ZERO;"),
        ("float x = elf(y) + half;", "double x = elf(y) + half;"),
        ("int x = 1;", None),
        ("// workload: f<float, 4><<<1, 8>>>(randn(8))\n", "// workload: f<double, 4><<<1, 8>>>(randn(8))\n"),
        ("half x = __float2half(1.0f);", None),
        ("float x = __int_as_float(1);", None),
    ],
)
def test_single_precision(text: str, expected: str | None) -> None:
    assert widened(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("half x = __float2half(1.0f);", "double x = double(1.0);"),
        ("float y = __bfloat162float(x[i]);", "double y = double(x[i]);"),
        ("half2 x; float y;", None),
    ],
)
def test_sixteen_bits(text: str, expected: str | None) -> None:
    assert widened(text, narrow=True) == expected
