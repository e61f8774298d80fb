"""Which Kernels a file has, in every way that people write them, and what is left of broken code."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kernelwright.source.document import parse
from kernelwright.source.kernels import find_kernels
from kernelwright.values import Access, Kernel, Language

HEAD = """\
import functools
import torch
import torch.nn.functional as F
import triton
import triton.language as tl
from torch import nn
"""

KERNEL = """\
@triton.jit
def kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offs, mask=offs < n, other=0.0)
    tl.store(y_ptr + offs, x * 2 + 1, mask=offs < n)
"""


def kernels(text: str) -> dict[str, Kernel]:
    return {kernel.name: kernel for kernel in find_kernels(parse(text))}


def check(text: str, expected: dict[str, str | None]) -> None:
    """`expected`: names of the kernels with their entries."""
    assert {name: kernel.entry for name, kernel in kernels(HEAD + text).items()} == expected


@pytest.mark.parametrize(
    ("launcher", "entry"),
    [
        ("def run(x, y):\n    kernel[(1,)](x, y, x.numel(), BLOCK=128)\n", "run"),
        ("def run(x, y):\n    grid = lambda meta: (1,)\n    kernel[grid](x, y, 3, 128)\n", "run"),
        ("def run(x, y):\n    def grid(meta):\n        return (1,)\n    kernel[grid](x, y, 3, 128)\n", "run"),
        ("def run(x, y):\n    launch = functools.partial(kernel[(1,)], x, y)\n    launch(3, BLOCK=8)\n", "run"),
        ("def run(x, y):\n    compiled = kernel.warmup(x, y, 3, grid=(1,))\n    compiled[(1, 1, 1)](x, y, 3)\n", "run"),
        ("def run(x, y):\n    k = kernel if x.is_cuda else other\n    k[(1,)](x, y, 3)\n", "run"),
        ("def run(x, y):\n    def inner():\n        kernel[(1,)](x, y, 3)\n    inner()\n", "run"),
        ("def run(x, y):\n    with torch.cuda.device(0):\n        kernel[(1,)](x, y, 3)\n", "run"),
        ("alias = triton.heuristics({})(kernel)\ndef run(x, y):\n    alias[(1,)](x, y, 3)\n", "run"),
        ("class Norm(nn.Module):\n    def forward(self, x):\n        kernel[(1,)](x, x, 3)\n", "Norm"),
        ("class Norm:\n    def __call__(self, x):\n        kernel[(1,)](x, x, 3)\n", "Norm"),
        ("class Norm:\n    def run(self, x):\n        kernel[(1,)](x, x, 3)\n", None),
        (
            "class Norm:\n    def __init__(self):\n        self.launched = kernel\n    def run(self, x):\n"
            "        self.launched[(1,)](x, x, 3)\ndef norm(x):\n    return Norm().run(x)\n",
            "norm",
        ),
        (
            "class Twice(torch.autograd.Function):\n    @staticmethod\n    def forward(ctx, x):\n"
            "        kernel[(1,)](x, x, 3)\ndef twice(x):\n    return Twice.apply(x)\n",
            "twice",
        ),
        (
            "class Twice(torch.autograd.Function):\n    @staticmethod\n    def forward(ctx, x):\n"
            "        kernel[(1,)](x, x, 3)\ntwice = Twice.apply\n",
            "twice",
        ),
        (
            "class Twice(torch.autograd.Function):\n    @staticmethod\n    def backward(ctx, x):\n"
            "        kernel[(1,)](x, x, 3)\ntwice = Twice.apply\n",
            None,
        ),
        (
            "class Twice(torch.autograd.Function):\n    @staticmethod\n    def forward(ctx, x):\n"
            "        kernel[(1,)](x, x, 3)\n",
            "Twice",
        ),
        ("# workload: kernel[(1,)](randn(3), randn(3), 3, BLOCK=4)\n", "kernel"),
        ("# workload: kernel[(1,)](randn(3), randn(3), 3)\ndef run(x):\n    kernel[(1,)](x, x, 3)\n", "kernel"),
        (
            "# workload: run(randn(3))\n# workload: kernel[(1,)](randn(3), randn(3), 3)\n"
            "def run(x):\n    kernel[(1,)](x, x, 3)\n",
            "kernel",
        ),
        ("def test_kernel(x):\n    kernel[(1,)](x, x, 3)\n", None),
        ("def test_kernel(x):\n    kernel[(1,)](x, x, 3)\ndef run(x):\n    kernel[(1,)](x, x, 3)\n", "run"),
        ("if __name__ == '__main__':\n    kernel[(1,)](torch.ones(3), torch.ones(3), 3)\n", None),
        ("", None),
    ],
)
def test_what_a_workload_calls(launcher: str, entry: str | None) -> None:
    assert kernels(HEAD + KERNEL + launcher)["kernel"].entry == entry


@pytest.mark.parametrize(
    ("imports", "decorators"),
    [
        ("import triton\nimport triton.language as tl", "@triton.jit"),
        ("import triton as t\nimport triton.language as tl", "@t.jit"),
        ("from triton import jit\nimport triton.language as tl", "@jit"),
        ("from triton import jit\nimport triton.language as tl", "@jit(do_not_specialize=['n'])"),
        (
            "import triton, torch\nfrom triton import language as tl",
            "@triton.autotune(configs=[triton.Config({'BLOCK': 64})], key=['n'])\n@triton.heuristics({})\n@triton.jit",
        ),
    ],
)
def test_decorators_and_aliases(imports: str, decorators: str) -> None:
    text = imports + "\n" + KERNEL.replace("@triton.jit", decorators)
    found = kernels(text)["kernel"]
    lines = text.split("\n")
    assert lines[found.start_line].startswith("@")
    assert lines[found.name_line][found.name_column :].startswith("kernel(")
    assert found.end_line == len(lines) - 1
    assert found.facts.autotune_configs == decorators.count("Config")
    assert len(found.facts.accesses) == 2


def test_a_jit_of_something_else_is_no_kernel() -> None:
    check("import numba\n@numba.jit\ndef f(x):\n    return x\n@torch.jit.script\ndef g(x: int):\n    return x\n", {})


def test_configs_that_stand_elsewhere() -> None:
    text = "CONFIGS = [triton.Config({'BLOCK': 64}), triton.Config({'BLOCK': 128})]\n" + KERNEL.replace(
        "@triton.jit", "@triton.autotune(configs=CONFIGS, key=['n'])\n@triton.jit"
    )
    assert kernels(HEAD + text)["kernel"].facts.autotune_configs == 2


def test_device_functions_belong_to_their_caller() -> None:
    text = """\
@triton.jit
def helper(x_ptr, i):
    return tl.sum(tl.load(x_ptr + tl.arange(0, 16)))
@triton.jit
def kernel(x_ptr, n):
    for i in range(0, n, 16):
        helper(x_ptr, i)
@triton.jit
def unused(x_ptr):
    tl.store(x_ptr, 1.0)
def run(x):
    kernel[(1,)](x, 3)
"""
    check(text, {"kernel": "run", "unused": None})
    (access,) = kernels(HEAD + text)["kernel"].facts.accesses
    assert (access.kind, access.line, access.in_loop) == ("load", 8, True)


DEVICE_FUNCTION = """
import triton
import triton.language as tl

@triton.jit
def gelu(x):
    return x * half(x)

@triton.jit
def half(x):
    return 0.5 * (1 + tl.erf(x))
"""


@pytest.mark.parametrize(
    ("text", "kernels"),
    [
        (DEVICE_FUNCTION, []),
        (DEVICE_FUNCTION.replace("return x", "y = x"), []),
        (DEVICE_FUNCTION.replace("return x", "tl.store(x, 1)\n    return x"), []),
        (DEVICE_FUNCTION.replace("return x", "tl.store(x, 1)\n    y = x"), ["gelu"]),
        (DEVICE_FUNCTION.replace("0.5 * (1", "tl.load(x) * (1").replace("return x", "y = x"), ["gelu"]),
        (DEVICE_FUNCTION.replace("return x", "offset = tl.program_id(0)\n    y = x"), ["gelu"]),
        (DEVICE_FUNCTION + "\ndef launch(x):\n    gelu[(1,)](x)\n", ["gelu"]),
        ("# workload: gelu[(1,)](randn(4))\n" + DEVICE_FUNCTION, ["gelu"]),
    ],
    ids=[
        "computes",
        "computes and returns nothing",
        "returns",
        "writes",
        "reads through another",
        "asks for its program",
        "launched",
        "called by a line",
    ],
)
def test_what_only_computes_is_a_part_of_kernels_elsewhere(text: str, kernels: list[str]) -> None:
    assert [kernel.name for kernel in find_kernels(parse(text))] == kernels


def test_several_kernels_in_one_launcher() -> None:
    text = KERNEL + KERNEL.replace("def kernel", "def second")
    text += "def run(x, y):\n    kernel[(1,)](x, y, 3)\n    second[(2,)](x, y, 4)\n    kernel[(3,)](x, y, 3)\n"
    check(text, {"kernel": "run", "second": "run"})
    assert [launch.grid for launch in kernels(HEAD + text)["kernel"].launches] == ["(1,)", "(3,)"]


def test_the_launcher_that_a_line_names() -> None:
    text = (
        KERNEL + "def a(x):\n    kernel[(1,)](x, x, 3)\n# workload: b(randn(3))\ndef b(x):\n    kernel[(1,)](x, x, 3)\n"
    )
    check(text, {"kernel": "b"})


def test_a_launch() -> None:
    (launch,) = kernels(HEAD + KERNEL + "def run(x, y):\n    kernel[(4, 2)](x, y, n=x.numel(), BLOCK=128)\n")[
        "kernel"
    ].launches
    assert (launch.line, launch.function, launch.grid, launch.args) == (12, "run", "(4, 2)", ("x", "y"))
    assert launch.kwargs == {"n": "x.numel()", "BLOCK": "128"}


def test_a_launch_at_top_level_counts_once() -> None:
    text = "if True:\n    for n in (3, 4):\n        kernel[(n,)](x, x, n)\n"
    (launch,) = kernels(HEAD + KERNEL + text)["kernel"].launches
    assert (launch.line, launch.function, launch.grid) == (13, None, "(n,)")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("class A(nn.Module):\n    def forward(self, x):\n        return x\n", {"A": "A"}),
        ("class A(torch.nn.Module):\n    def __init__(self):\n        pass\n", {}),
        (
            "class A(nn.Module):\n    def forward(self, x):\n        return x\nclass B(A):\n    pass\n",
            {"A": "A", "B": "B"},
        ),
        ("class A(dict):\n    def forward(self, x):\n        return x\n", {}),
        ("def f(x):\n    return torch.softmax(x, -1)\n", {"f": "f"}),
        ("def f(x):\n    return F.relu(x)\n", {"f": "f"}),
        ("def f(x):\n    return x.softmax(-1)\n", {"f": "f"}),
        ("def f(a, b):\n    return a @ b\n", {"f": "f"}),
        ("def f(x: torch.Tensor):\n    return x * 2\n", {"f": "f"}),
        ("@torch.no_grad()\ndef f(x):\n    return torch.sum(x)\n", {"f": "f"}),
        ("def f(n):\n    return 2 * n + 1\n", {}),
        ("def f(n):\n    torch.manual_seed(n)\n    return torch.randn(n)\n", {}),
        ("def test_f(x):\n    assert torch.sum(x) == 1\n", {}),
        ("def benchmark(x):\n    return torch.sum(x)\n", {}),
        ("@triton.testing.perf_report(b)\ndef run(x):\n    return torch.sum(x)\n", {}),
        ("@norm.register_fake\ndef shapes(x):\n    return torch.empty_like(x) * 2\n", {}),
        ('@torch.library.register_fake("own::norm")\ndef shapes(x):\n    return torch.empty_like(x) * 2\n', {}),
        ("def get_inputs():\n    return [torch.rand(3).sum()]\n", {}),
        ("def main():\n    print(torch.ones(3).sum())\n", {}),
        ("if __name__ == '__main__':\n    torch.ones(3).sum()\n", {}),
        ("if True:\n    def f(x):\n        return torch.sum(x)\n", {"f": "f"}),
        ("def outer(x):\n    def inner(y):\n        return torch.sum(y)\n    return 1\n", {"outer": "outer"}),
        (
            "# workload: f(randn(3))\ndef f(x):\n    return run(x)\ndef run(x):\n    kernel[(1,)](x, x, 3)\n" + KERNEL,
            {"f": "f", "kernel": "run"},
        ),
        ("", {}),
    ],
)
def test_pytorch(text: str, expected: dict[str, str | None]) -> None:
    check(text, expected)


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("    x = tl.load(p + tl.arange(0, 16))\n", 1),
        ("    offs = tl.arange(0, 16)\n    x = tl.load(p + offs * 2)\n", 2),
        ("    offs = tl.arange(0, 16)\n    x = tl.load(p + offs * s)\n", "s"),
        ("    offs = tl.arange(0, 16)\n    q = p + offs[:, None] * s + offs[None, :]\n    x = tl.load(q)\n", 1),
        ("    offs = tl.arange(0, 16)\n    q = p + offs[:, None] + offs[None, :] * s\n    x = tl.load(q)\n", "s"),
        ("    offs = tl.arange(0, 16)\n    x = tl.load(p + offs[:, None] * s)\n", "s"),
        ("    offs = (n + tl.arange(0, 16)) % s\n    x = tl.load(p + offs.to(tl.int64))\n", 1),
        ("    q = p + tl.arange(0, 16)\n    q += n * s\n    x = tl.load(q)\n", 1),
        ("    offs = tl.max_contiguous(tl.arange(0, 16), 16)\n    x = tl.load(p + offs)\n", 1),
        ("    x = tl.load(p + tl.arange(0, 16) // 2)\n", None),
        ("    x = tl.load(p + n)\n", None),
    ],
)
def test_the_innermost_stride(body: str, expected: int | str | None) -> None:
    (access,) = kernels(HEAD + "@triton.jit\ndef kernel(p, s, n):\n" + body)["kernel"].facts.accesses
    assert access.innermost_stride == expected


def test_facts() -> None:
    text = """\
@triton.jit
def kernel(a_ptr, c_ptr, K, BLOCK: tl.constexpr):
    offs = tl.arange(0, BLOCK)
    acc = tl.zeros((BLOCK, BLOCK), dtype=tl.float32)
    for k in tl.range(0, K, BLOCK):
        a = tl.load(a_ptr + offs[:, None] * K + offs[None, :], mask=offs[None, :] < K - k, other=0.0)
        acc += tl.dot(a, a, out_dtype=tl.float32)
    row = tl.max(acc, axis=1)
    tl.store(c_ptr + offs, row, offs < K)
    tl.atomic_add(c_ptr, 1.0)
"""
    facts = kernels(HEAD + text)["kernel"].facts
    assert facts.accesses == (
        Access("load", 11, "a_ptr + offs[:, None] * K + offs[None, :]", "offs[None, :] < K - k", "0.0", 1, True),
        Access("store", 14, "c_ptr + offs", "offs < K", None, 1, False),
        Access("atomic", 15, "c_ptr"),
    )
    assert [(loop.line, loop.variable, loop.bounds, loop.step) for loop in facts.loops] == [
        (10, "k", "tl.range(0, K, BLOCK)", "BLOCK")
    ]
    assert [(r.line, r.op, r.axis, r.in_loop) for r in facts.reductions] == [(13, "max", "1", False)]
    assert [(d.line, d.accumulator, d.out_dtype) for d in facts.dots] == [(12, "acc", "tl.float32")]
    assert facts.constexprs == ("BLOCK",)
    assert facts.parameters == ("a_ptr", "c_ptr", "K", "BLOCK")
    assert facts.dtypes == ("float32",)


@pytest.mark.parametrize(
    ("call", "reductions", "products"),
    [
        ("torch.cumprod(x, 0)", [("cumprod", "0")], 0),
        ("x.log_softmax(-1)", [("log_softmax", "-1")], 0),
        ("F.mse_loss(x, y)", [("mse_loss", None)], 0),
        ("F.conv2d(x, y) + x.addmm(y, y)", [], 2),
        ("x.clip_(0).mish()", [], 0),
    ],
)
def test_facts_of_torch(call: str, reductions: list[tuple[str, str | None]], products: int) -> None:
    text = f"import torch\nimport torch.nn.functional as F\n\n\ndef f(x, y):\n    return {call}\n"
    facts = kernels(text)["f"].facts
    assert [(r.op, r.axis) for r in facts.reductions] == reductions
    assert len(facts.dots) == products


def test_columns_count_code_points() -> None:
    (found,) = kernels(
        "import torch\nif 'é': pass\nclass Größe(torch.nn.Module):\n    def forward(self, x): return x\n"
    ).values()
    assert (found.name, found.name_line, found.name_column) == ("Größe", 2, 6)


GOOD = (
    HEAD
    + KERNEL
    + '''
def run(x):
    """Doubles."""
    y = torch.empty_like(x)
    kernel[(triton.cdiv(x.numel(), 128),)](x, y, x.numel(), BLOCK=128)
    return y


class Block(nn.Module):
    def __init__(self, n):
        super().__init__()
        self.linear = nn.Linear(n, n)

    def forward(self, x):
        return F.gelu(self.linear(x)) + x


def loss(x, y):
    return (x - y).square().mean()
'''
)


def test_an_error_in_one_definition_leaves_the_others() -> None:
    for broken in (
        "def half(x, \n",
        "x = (1 +\n",
        "def f(:\n    pass\n",
        "@triton.\n",
        "class\n",
        "for in\n",
        "s = '''\n",
    ):
        found = kernels(GOOD.replace("class Block", broken + "\n\nclass Block"))
        assert {"kernel", "Block", "loss"} <= found.keys(), broken
        assert found["kernel"].entry == "run", broken


@settings(max_examples=250, deadline=None)
@given(
    st.integers(0, len(GOOD)),
    st.integers(0, 80),
    st.sampled_from(["", "(", "'''", "\n", "é", "[", "def ", "\x00", "\ud800"]),
)
def test_nothing_is_raised_for_broken_code(start: int, length: int, put: str) -> None:
    text = GOOD[:start] + put + GOOD[start + length :]
    lines = text.count("\n") + 1
    for kernel in find_kernels(parse(text)):
        assert 0 <= kernel.start_line <= kernel.name_line < kernel.end_line <= lines
        assert kernel.language in Language
        for access in kernel.facts.accesses:
            assert 0 <= access.line < lines


def test_an_empty_file() -> None:
    assert find_kernels(parse("")) == ()


def test_each_launch_has_the_grid_that_was_assigned_before_it():
    text = """import triton
import triton.language as tl

@triton.jit
def zero(y, n, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y + offs, 0.0, mask=offs < n)

def clear(y, z):
    grid = (triton.cdiv(y.numel(), 64),)
    zero[grid](y, y.numel(), BLOCK=64)
    grid = (triton.cdiv(z.numel(), 32),)
    zero[grid](z, z.numel(), BLOCK=32)
"""
    (kernel,) = find_kernels(parse(text))
    assert [launch.grid for launch in kernel.launches] == [
        "(triton.cdiv(y.numel(), 64),)",
        "(triton.cdiv(z.numel(), 32),)",
    ]
