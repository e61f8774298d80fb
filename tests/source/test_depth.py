"""Code of any depth and any tangle of names costs a bounded number of steps and never an exception."""

import sys
from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kernelwright.source.document import parse
from kernelwright.source.estimate import value_of
from kernelwright.source.findings import find_findings
from kernelwright.source.imports import aliases_in
from kernelwright.source.kernels import find_kernels
from kernelwright.source.workload import find_workload
from kernelwright.source.workload.benchmark import from_benchmark
from kernelwright.source.workload.problems import problems
from kernelwright.source.workload.suggest import suggest_lines
from kernelwright.values import Call, Estimate, TensorSpec

HEAD = """\
import torch
import torch.nn.functional as F
import triton
import triton.language as tl
from torch import nn
"""
CALLS = {"run": Call("run", (TensorSpec("zeros", (1 << 20, 4096)),), {})}
MOST_CALLS = 1_000_000  # of Python functions; a tangle that doubles 30 times would need a thousand times as many


def look(text: str) -> None:
    """Everything that a key press asks of a text."""
    document = parse(text)
    kernels = find_kernels(document)
    find_findings(document, kernels, CALLS)
    problems(text)
    for kernel in kernels:
        find_workload(text, kernel.entry)
        from_benchmark(text, kernel)
        suggest_lines(text, kernel)


def calls_of(work: Callable[[], object]) -> int:
    """How many Python functions `work` calls: a measure that does not depend on the machine."""
    count = 0

    def counted(frame: object, event: str, argument: object) -> None:
        nonlocal count
        count += event == "call"
        if count > MOST_CALLS:
            raise AssertionError(f"more than {MOST_CALLS} calls")

    before = sys.getprofile()
    sys.setprofile(counted)
    try:
        work()
    finally:
        sys.setprofile(before)
    return count


def kernel(*lines: str) -> str:
    body = "".join(f"    {line}\n" for line in lines)
    return (
        f"{HEAD}\n@triton.jit\ndef kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):\n"
        f"    x0 = tl.program_id(0)\n    o0 = tl.arange(0, BLOCK)\n{body}\n\n"
        "def run(x):\n    kernel[(triton.cdiv(x.shape[0], 64),)](x, x, x.shape[0], BLOCK=64, num_warps=4)\n"
    )


def forward(*lines: str) -> str:
    body = "".join(f"        {line}\n" for line in lines)
    return f"{HEAD}\nclass M(nn.Module):\n    def forward(self, x):\n{body}        return x\n\nm = M().eval()\n"


def doubled(template: str, times: int = 40) -> list[str]:
    """`template` for each pair of names in a row: x1 = x0 + x0, x2 = x1 + x1, …"""
    return [template.replace("NEW", str(i + 1)).replace("OLD", str(i)) for i in range(times)]


def loops(depth: int, innermost: str) -> list[str]:
    return [f"{'    ' * i}for i{i} in range(n):" for i in range(depth)] + ["    " * depth + innermost]


USES_O40 = (
    "m = o40 < n",
    "v = tl.load(x_ptr + o40, mask=m)",
    "w = tl.load(x_ptr + o40)",
    "s = tl.sum(v, axis=0)",
    "d = tl.dot(o40, o40)",
    "e = tl.exp(v) / tl.sum(tl.exp(v), axis=0)",
    "tl.store(y_ptr + x0 * o40, e)",
)
TANGLES = {
    "a sum of 2,000 terms": kernel("v = tl.program_id(0)" + " + 0" * 2000),
    "a sum of 100 terms": kernel("v = tl.program_id(0)" + " + 0" * 100, "tl.store(y_ptr + v, tl.sum(v, axis=0))"),
    "a sum of 100 loads": kernel("v = 0" + " + tl.load(x_ptr + o0, mask=o0 < n)" * 100, "s = tl.sum(v, axis=0)"),
    "a product of 100 loads": kernel("v = 1" + " / tl.load(x_ptr + o0, mask=o0 < n)" * 100, "s = tl.sum(v, axis=0)"),
    "offsets of 3,000 terms": kernel("v = tl.load(x_ptr + o0" + " + 0" * 3000 + ")"),
    "minus 3,000 times": HEAD + "x = " + "-" * 3000 + "1\n",
    "3,000 brackets": HEAD + "x = " + "(" * 3000 + "1" + ")" * 3000 + "\n",
    "3,000 open brackets": HEAD + "x = " + "[" * 3000 + "\n",
    "3,000 attributes": forward("y = x" + ".T" * 3000),
    "3,000 calls": forward("y = x" + ".relu()" * 3000),
    "40 nested dropouts": forward("y = " + "F.dropout(" * 40 + "x @ x.T" + ")" * 40, "z = torch.softmax(y, -1) @ x"),
    "2,000 nested dropouts": forward("y = " + "F.dropout(" * 2000 + "x" + ")" * 2000),
    "minus 900 times in a benchmark": HEAD + "def f(x):\n    return x @ x\n\ny = f(" + "-" * 900 + "1)\n",
    "a default of 900 brackets": HEAD + f"def f(x: {'(' * 150}int{')' * 150}, y={'-' * 900}1):\n    return x @ x\n",
    "doubling offsets": kernel(*doubled("oNEW = oOLD + oOLD"), *USES_O40),
    "doubling products": kernel(*doubled("oNEW = oOLD * oOLD"), *USES_O40),
    "doubling casts": kernel(*doubled("oNEW = oOLD.to(tl.int32) + tl.multiple_of(oOLD, 4)"), *USES_O40),
    "doubling subscripts": kernel(*doubled("oNEW = oOLD[:, None] + oOLD[None, :]"), *USES_O40),
    "doubling masks": kernel(
        "m0 = o0 < n", *doubled("mNEW = mOLD & mOLD"), "s = tl.sum(tl.load(x_ptr + o0, mask=m40), axis=0)"
    ),
    "doubling conditions": kernel(*doubled("oNEW = oOLD if n else oOLD"), *USES_O40),
    "names that stand for each other": kernel(
        "a = b + b", "b = a + a", "c = tl.load(x_ptr + a + b + o0)", "o40 = a + b"
    ),
    "one name, 300 times": kernel(*["o0 += x0 * BLOCK"] * 300, "v = tl.load(x_ptr + o0)", "tl.store(y_ptr + o0, v)"),
    "powers of powers": kernel(
        "k0 = 1 << 62", *doubled("kNEW = kOLD * kOLD"), "v = tl.load(x_ptr + tl.arange(0, k40))"
    ),
    "30 nested loops": kernel(*loops(30, "v = tl.load(x_ptr + o0, mask=o0 < n)")),
    "60 nested conditions": kernel(*[f"{'    ' * i}if x0 > {i}:" for i in range(60)], "    " * 60 + "pass"),
    "300 nested functions": HEAD + "".join(f"{' ' * i}def f{i}(x):\n" for i in range(300)) + " " * 300 + "pass\n",
    "300 nested classes": HEAD + "".join(f"{' ' * i}class C{i}:\n" for i in range(300)) + " " * 300 + "pass\n",
    "classes that inherit twice": HEAD + "class C0: pass\n" + "\n".join(doubled("class CNEW(COLD, COLD): pass")) + "\n",
    "1,200 classes in a row": HEAD + "class C0: pass\n" + "\n".join(doubled("class CNEW(COLD): pass", 1200)) + "\n",
    "doubling scores": forward("x0 = x @ x.T", *doubled("xNEW = xOLD + xOLD"), "y = torch.softmax(x40, -1) @ x"),
    "100 wide tensors": forward(*["x = x + x.double()"] * 100),
    "tensors made from each other": (
        kernel("v = tl.load(x_ptr + o0)", "tl.store(y_ptr + o0, v)")
        + "def other(x):\n    a = torch.empty(b.shape)\n    b = torch.empty(a.shape)\n    kernel[(1,)](a, b, 3, BLOCK=8)\n"
    ),
    "sizes that double": (
        kernel("v = tl.load(x_ptr + x0 * n + o0)")
        + "def other(x):\n    n0 = x.shape[0]\n"
        + "".join(f"    {line}\n" for line in doubled("nNEW = nOLD * nOLD"))
        + "    kernel[(n40,)](x, x, n40, BLOCK=8)\n"
    ),
    "a grid that doubles": (
        kernel("tl.store(y_ptr + x0 * BLOCK + o0, 0)")
        + "def run(x):\n    g0 = x.shape[0] // 8\n"
        + "".join(f"    {line}\n" for line in doubled("gNEW = gOLD + gOLD"))
        + "    kernel[(g40,)](x, x, 3, BLOCK=8)\n"
    ),
    "a workload line of blanks": HEAD + "# workload: a" + " " * 20000 + "b\ndef a(x):\n    return x @ x\n",
    "a benchmark whose sizes double": (
        HEAD
        + "def f(x):\n    return x @ x\n\ndef test_f():\n    n0 = 1\n"
        + "".join(f"    {line}\n" for line in doubled("nNEW = nOLD + nOLD"))
        + "    f(torch.randn(n40, n10))\n"
    ),
    "a number of 5,000 digits": HEAD + f"BIG = {'9' * 5000}\n" + kernel(f"v = tl.load(x_ptr + o0 * {'9' * 5000})"),
}


@pytest.mark.parametrize("text", TANGLES.values(), ids=TANGLES)
def test_the_work_is_bounded(text: str) -> None:
    assert calls_of(lambda: look(text)) <= MOST_CALLS


@pytest.mark.parametrize("text", ["from x import (" + "#" * 60, "import x, (" + "a, # b" * 60])
def test_an_unfinished_import_is_read_in_linear_time(text: str) -> None:
    assert aliases_in((text + "\n!").encode()).names.keys() <= {"a", "x"}


@pytest.mark.parametrize(
    ("sizes", "expected"),
    [
        ({f"n{i + 1}": f"n{i} + n{i}" for i in range(20)} | {"n0": "x.shape[0]"}, 3 << 20),
        ({f"n{i + 1}": f"n{i} * n{i}" for i in range(20)} | {"n0": "x.shape[0]"}, None),
        ({"n20": "n20 + 1"}, None),
    ],
)
def test_sizes_that_double(sizes: dict[str, str], expected: int | None) -> None:
    given_ = {"x": TensorSpec("zeros", (3,))}
    assert value_of("n20", Estimate(sizes=sizes), given_) == expected


def expressions() -> st.SearchStrategy[str]:
    leaves = st.sampled_from(["x0", "o0", "n", "1", "tl.load(x_ptr + o0, mask=o0 < n)", "tl.arange(0, BLOCK)"])
    return st.recursive(
        leaves,
        lambda inner: st.one_of(
            st.tuples(inner, st.sampled_from(["+", "-", "*", "/", "//", "%", "<", "&"]), inner).map(" ".join),
            inner.map(lambda e: f"({e})"),
            inner.map(lambda e: f"-{e}"),
            inner.map(lambda e: f"tl.exp({e})"),
            inner.map(lambda e: f"tl.sum({e}, axis=0)"),
            inner.map(lambda e: f"({e})[:, None]"),
            st.tuples(inner, inner).map(lambda pair: f"tl.dot({pair[0]}, {pair[1]})"),
            st.tuples(inner, st.integers(1, 60)).map(lambda pair: f"{pair[0]}" + " + 0" * pair[1]),
        ),
        max_leaves=40,
    )


@settings(max_examples=25, deadline=500)
@given(first=expressions(), second=expressions())
def test_deep_expressions_are_looked_at_in_time(first: str, second: str) -> None:
    text = kernel(
        f"v = {first}", f"v = v + {second}", "w = tl.load(x_ptr + v, mask=v < n)", "tl.store(y_ptr + w, tl.sum(w))"
    )
    document = parse(text)
    find_findings(document, find_kernels(document), CALLS)
