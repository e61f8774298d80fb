"""Workload lines written for a person: from a signature, and from benchmarks and tests that are already there."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kernelwright.source.document import parse
from kernelwright.source.kernels import find_kernels
from kernelwright.source.workload import find_workload, from_benchmark, problems, suggest_line
from kernelwright.values import Refusal, Workload

HEAD = "import torch, triton, pytest\nimport torch.nn.functional as F\nfrom torch import nn\n"


def check(text: str, entry: str, expected: str) -> None:
    line = suggest_line(HEAD + text, entry)
    assert line == f"# workload: {expected}"
    assert problems(HEAD + text + line) == ()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("def f(x):\n    n, m = x.shape\n    return x\n", "f(randn(4096, 1024))"),
        ("def f(x):\n    b, t, d = x.size()\n    return x\n", "f(randn(8, 512, 1024))"),
        ("def f(x, w, eps):\n    M, N = x.shape\n    return x\n", "f(randn(4096, 1024), randn(1024), 1e-06)"),
        ("def f(x, eps=1e-6, *, causal):\n    return x.shape[3]\n", "f(randn(8, 16, 512, 64), causal=False)"),
        (
            "def f(a, b):\n    M, K = a.shape\n    K, N = b.shape\n    return a\n",
            "f(randn(1024, 1024), randn(1024, 1024))",
        ),
        (
            "def f(x, res):\n    M, N = x.shape\n    M, N = res.shape\n    return x\n",
            "f(randn(4096, 1024), randn(4096, 1024))",
        ),
        (
            "def f(x: torch.Tensor, n: int, s: float, flag: bool):\n    return x\n",
            "f(randn(4096, 1024), 1024, 0.5, False)",
        ),
        ("def f(x, weight):\n    return F.linear(x, weight)\n", "f(randn(1024, 1024), randn(1024, 1024))"),
        (
            "def f(x, y, bias):\n    return torch.addmm(bias, x, y)\n",
            "f(randn(1024, 1024), randn(1024, 1024), randn(1024))",
        ),
        (
            "def f(x, labels):\n    return F.cross_entropy(x, labels)\n",
            "f(randn(4096, 1024), randint(0, 1024, 4096))",
        ),
        ("def f(x, num_heads):\n    return x\n", "f(randn(4096, 1024), 16)"),
        (
            "class f(nn.Module):\n    def __init__(self, dim, eps=1e-6):\n        pass\n"
            "    def forward(self, x):\n        return x\n",
            "f(1024)(randn(4096, 1024))",
        ),
        (
            "class f(nn.Module):\n    def forward(self, x, y):\n        return x @ y\n",
            "f()(randn(1024, 1024), randn(1024, 1024))",
        ),
    ],
)
def test_from_the_signature(text: str, expected: str) -> None:
    check(text, "f", expected)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("f = g\n", "cannot be read"),
        ("@triton.jit\ndef f(x):\n    pass\n", "is a Triton kernel"),
        ("class f(nn.Module):\n    pass\n", "no forward"),
        ("def f(x:\n", "cannot be read"),
    ],
)
def test_what_cannot_be_suggested(text: str, words: str) -> None:
    refusal = suggest_line(HEAD + text, "f")
    assert isinstance(refusal, Refusal)
    assert words in refusal.reason


FUNCTION = "def f(x, w=None, eps=1e-6):\n    return x\n"


def taken(text: str, expected: list[str]) -> None:
    lines = from_benchmark(HEAD + FUNCTION + text, "f")
    assert isinstance(lines, tuple), lines
    assert list(lines) == [f"# workload: {line}" for line in expected]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("def test_f():\n    x = torch.randn(8, 16, device='cuda')\n    f(x)\n", ["f(randn(8, 16))"]),
        (
            "def test_f():\n    f(torch.randn((8, 2 * 8)).cuda().half(), eps=1e-5)\n",
            ["f(randn(8, 16, dtype=float16), eps=1e-05)"],
        ),
        (
            "SIZE = 64\ndef test_f(n=3):\n    x = torch.rand(SIZE, n)\n    f(x, torch.zeros_like(x))\n",
            ["f(rand(64, 3), zeros(64, 3))"],
        ),
        ("def test_f():\n    M, N = 4, 8\n    f(torch.randn(M, N).t())\n", ["f(randn(8, 4, layout=transposed))"]),
        (
            "def test_f():\n    x = torch.randint(0, 9, (4,))\n    f(x, torch.empty(4))\n",
            ["f(randint(0, 9, 4), out(4))"],
        ),
        ("def test_f():\n    for n in [8, 16]:\n        f(torch.randn(n))\n", ["f(randn(16))", "f(randn(8))"]),
        (
            "@pytest.mark.parametrize('m, n', [(2, 3), (64, 32)])\n@pytest.mark.parametrize('dtype', [torch.bfloat16])\n"
            "def test_f(m, n, dtype):\n    x = torch.randn(m, n, dtype=dtype)\n    f(x, x.shape[1])\n",
            ["f(randn(64, 32, dtype=bfloat16), 32)", "f(randn(2, 3, dtype=bfloat16), 3)"],
        ),
        (
            "@triton.testing.perf_report(triton.testing.Benchmark(x_names=['n'], x_vals=[128 * i for i in range(1, 9)],"
            " args={'m': 4096}))\ndef benchmark(m, n, provider):\n    x = torch.randn(m, n)\n"
            "    return triton.testing.do_bench(lambda: f(x))\n",
            ["f(randn(4096, 1024))", "f(randn(4096, 896))", "f(randn(4096, 768))", "f(randn(4096, 128))"],
        ),
    ],
)
def test_from_a_benchmark(text: str, expected: list[str]) -> None:
    taken(text, expected)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "No benchmark or test"),
        ("def test_f(x):\n    f(x)\n", "No benchmark or test"),
        ("def test_f():\n    f(3)\n", "No benchmark or test"),
        ("def test_f(:\n    f(x)\n", "does not parse"),
    ],
)
def test_what_cannot_be_taken(text: str, words: str) -> None:
    refusal = from_benchmark(HEAD + FUNCTION + text, "f")
    assert isinstance(refusal, Refusal)
    assert words in refusal.reason


SAMPLE = (
    HEAD
    + """\
def f(x: torch.Tensor, w, n: int = 3, *args, eps=1e-6, **kwargs):
    M, *rest = x.shape
    (a, b), c = x.size(), w.stride(-1)
    return torch.matmul(x, w) @ w

SIZES = [(1, 2), (3, 4)]

@pytest.mark.parametrize(("m", "n"), SIZES)
def test_f(m, n):
    x = torch.randn(m, n, dtype=torch.float16).cuda() * 0.1
    for k in range(2, 9, 3):
        f(x, torch.rand(size=(k, n)).T, n=k)
"""
)


@settings(max_examples=150, deadline=None)
@given(st.integers(0, len(SAMPLE)), st.integers(0, 30), st.sampled_from(["", "(", "0", "x", "*", "-", "[]", "\n", "é"]))
def test_nothing_is_raised(start: int, length: int, put: str) -> None:
    """Whatever the text: a line that the file's own workload finder accepts, or a refusal in words."""
    text = SAMPLE[:start] + put + SAMPLE[start + length :]
    lines = from_benchmark(text, "f")
    line = suggest_line(text, "f")
    for written in (*(lines if isinstance(lines, tuple) else ()), *([line] if isinstance(line, str) else ())):
        assert isinstance(find_workload(text + "\n" + written, "f"), Workload)
    for refusal in (lines, line):
        assert not isinstance(refusal, Refusal) or refusal.reason


def test_of_a_kernel() -> None:
    text = HEAD + "import triton.language as tl\n@triton.jit\ndef k(p):\n    tl.load(p)\ndef run(x):\n    k[(1,)](x)\n"
    (kernel,) = find_kernels(parse(text))
    assert suggest_line(text, kernel) == "# workload: run(randn(4096, 1024))"
