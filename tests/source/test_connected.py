"""The kernels around some lines are those of the whole file, however its definitions hang together."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kernelwright.source.document import parse
from kernelwright.source.findings.rules import registry as rules
from kernelwright.source.kernels import find_kernels
from kernelwright.values import Kernel

HEAD = "import functools\nimport torch\nimport triton\nimport triton.language as tl\nfrom torch import nn\n"
KERNEL = """@triton.jit
def {0}(x_ptr, BLOCK: tl.constexpr):
    x = {1}(tl.load(x_ptr + tl.arange(0, BLOCK)))
    tl.store(x_ptr + tl.arange(0, BLOCK), x)
"""
LAUNCHER = """# workload: {0}(randn(64))
def {0}(x):
    {1}[(1,)](x, BLOCK=64)
    return x
"""
METHOD = """class {0}(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        {1}[(1,)](x, BLOCK=64)
        return x
"""
FORMS = (
    KERNEL,
    KERNEL.replace("@triton.jit", "@triton.autotune(configs=CONFIGS, key=[])\n@triton.jit"),
    KERNEL.replace("@triton.jit\n", ""),
    LAUNCHER,
    LAUNCHER.replace("    {1}[", '    chosen = {{"a": {1}}}["a"]\n    chosen['),
    METHOD,
    "def {0}(x):\n    return {1}.apply(x)\n",
    "{0} = {1}\n",
    "{0} = {1}.apply\n",
    "{0} = triton.jit({1})\n",
    "CONFIGS = [triton.Config({{}}), triton.Config({{}})]\n{0} = CONFIGS\n",
    "{1}[(1,)](torch.ones(8), BLOCK=8)\n",
    "class {0}(nn.Module):\n    def forward(self, x):\n        return {1}(x)\n",
    "class {0}({1}):\n    pass\n",
    "class {0}({1}):\n    def forward(self, x):\n        return torch.relu(x)\n",
    "def {0}(x):\n    return torch.softmax({1}(x), -1)\n",
    "def test_{0}():\n    {1}(torch.ones(8))\n",
    "{0} = 64\n",
)
NAMES = st.sampled_from("abcdef")
PIECES = st.builds(str.format, st.sampled_from(FORMS), NAMES, NAMES)


def around(kernels: tuple[Kernel, ...], line: int) -> list[Kernel]:
    """The kernels that stand on a line or are launched from there."""
    spans = [((k.start_line, k.end_line), (k.entry_start_line or 0, k.entry_end_line or 0)) for k in kernels]
    return [k for k, both in zip(kernels, spans, strict=True) if any(start <= line < end for start, end in both)]


def check(text: str) -> None:
    document = parse(text)
    every = find_kernels(document)
    for line in range(text.count("\n") + 1):
        assert around(find_kernels(document, range(line, line + 1)), line) == around(every, line), (
            f"line {line}:\n{text}"
        )


@settings(deadline=None, max_examples=300)
@given(st.lists(PIECES, max_size=9))
def test_as_in_the_whole_file(pieces: list[str]) -> None:
    check(HEAD + "\n".join(pieces))


@settings(deadline=None, max_examples=40)
@given(st.lists(PIECES, min_size=1, max_size=6), st.data())
def test_while_it_is_typed(pieces: list[str], data: st.DataObject) -> None:
    text = HEAD + "\n".join(pieces)
    check(text)
    at = data.draw(st.integers(len(HEAD), len(text)))
    check(text[:at] + data.draw(st.sampled_from("([{'\"\n#x:")) + text[at:])


@pytest.mark.parametrize("code", rules())
def test_in_code_as_people_write_it(code: str) -> None:
    check(rules()[code].example_wrong + "\n" + rules()[code].example_right)


def test_only_what_hangs_together_is_read() -> None:
    pairs = [(f"k{i}", f"run{i}") for i in range(20)]
    text = HEAD + "\n".join(KERNEL.format(kernel, "tl.exp") + LAUNCHER.format(run, kernel) for kernel, run in pairs)
    line = text[: text.index("def k7")].count("\n")
    assert [kernel.name for kernel in find_kernels(parse(text), range(line, line + 1))] == ["k7"]
