"""Workload lines written for a person: from a signature, and from benchmarks and tests that are already there."""

import ast
import re
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kernelwright.source.document import parse
from kernelwright.source.kernels import find_kernels
from kernelwright.source.workload import find_workload, problems
from kernelwright.source.workload.benchmark import from_benchmark
from kernelwright.source.workload.suggest import MOST, suggest_lines, with_gradients
from kernelwright.values import Refusal, Workload

HEAD = "import torch, triton, pytest\nimport torch.nn.functional as F\nfrom torch import nn\n"


def check(text: str, entry: str, expected: str) -> None:
    lines = suggest_lines(HEAD + text, entry)
    assert isinstance(lines, tuple), lines
    line = lines[0]
    assert line == f"# workload: {expected}"
    assert problems(HEAD + text + line) == ()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("def f(x):\n    n, m = x.shape\n    return x\n", "f(randn(4096, 1024))"),
        ("def f(x):\n    b, t, d = x.size()\n    return x\n", "f(randn(8, 512, 1024))"),
        (
            "def f(x: Tensor, mask: Tensor | None, keep_mask: Tensor):\n    b, t, d = x.shape\n",
            "f(randn(8, 512, 1024), None, randn(8, 512, 1024))",
        ),
        ("def f(hidden_states):\n    return hidden_states.shape[:-1]\n", "f(randn(8, 512, 1024))"),
        ("def f(x, w, eps):\n    M, N = x.shape\n    return x\n", "f(randn(4096, 1024), randn(1024), 1e-06)"),
        ("def f(x, eps=1e-6, *, causal):\n    return x.shape[3]\n", "f(randn(8, 16, 512, 64), causal=False)"),
        (
            "def f(a, b):\n    M, K = a.shape\n    K, N = b.shape\n    return a\n",
            "f(randn(4096, 1024), randn(1024, 1024))",
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
        # what another class of the file defines
        (
            "class g(nn.Module):\n    def __init__(self, dim):\n        pass\n\n"
            "class f(g):\n    def forward(self, x):\n        return x\n",
            "f(1024)(randn(4096, 1024))",
        ),
        (
            "class h(nn.Module):\n    def __init__(self, dim):\n        pass\n\n"
            "class g(h):\n    def forward(self, x):\n        a, b, c = x.shape\n\nclass f(g):\n    pass\n",
            "f(1024)(randn(8, 512, 1024))",
        ),
        (
            "class g(torch.autograd.Function):\n    @staticmethod\n    def forward(ctx, x):\n        a, b, c = x.shape\n\n"
            "class f(g):\n    pass\n",
            "f.apply(randn(8, 512, 1024))",
        ),
        (
            "class f(nn.Module):\n    def forward(self, x, y):\n        return x @ y\n",
            "f()(randn(1024, 1024), randn(1024, 1024))",
        ),
    ],
)
def test_from_the_signature(text: str, expected: str) -> None:
    check(text, "f", expected)


KERNEL = """\
@triton.jit
def kernel(x_ptr, at_ptr, to_ptr, out_ptr, n, BLOCK: tl.constexpr):
    row = tl.load(at_ptr + tl.program_id(0))
    place = tl.load(to_ptr + tl.program_id(0))
    value = tl.load(x_ptr + row * n + tl.arange(0, BLOCK))
    tl.store(out_ptr + place * n + tl.arange(0, BLOCK), value)


"""


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        # ranks and sizes
        ("def f(x, w):\n    assert x.dim() == 3 and w.ndim == 1\n", "f(randn(8, 512, 1024), randn(1024))"),
        ("def f(x, y, z):\n    assert x.ndim == y.ndim == z.ndim == 3\n", f"f({', '.join(3 * ['randn(8, 512, 1024)'])})"),
        (
            "def f(x, w):\n    n, m = w.shape\n    assert x.shape[-1] == w.shape[0]\n    return x.shape[2]\n",
            "f(randn(8, 512, 1024), randn(1024, 1024))",
        ),
        (
            "def f(x, w):\n    if x.shape[1] != w.shape[0]:\n        raise ValueError\n    w.stride(1)\n    a, b = x.shape\n",
            "f(randn(4096, 1024), randn(1024, 1024))",
        ),
        (
            "def f(x, y):\n    assert y.shape == x.shape\n    return x.shape[3]\n",
            f"f({', '.join(2 * ['randn(8, 16, 512, 64)'])})",
        ),
        ("def f(x, n, m):\n    assert x.shape == (n, m)\n", "f(randn(4096, 1024), 4096, 1024)"),
        (
            "def f(x, w):\n    a, k = x.shape\n    assert w.shape[0] * 8 == k\n    return w.stride(1)\n",
            "f(randn(4096, 1024), randn(128, 1024))",
        ),
        ("def f(q):\n    d = q.shape[-1]\n    assert d in {16, 32, 64}\n    return q.stride(3)\n", "f(randn(8, 16, 512, 64))"),
        ("def f(x):\n    *_, d = x.shape\n    assert d in (32, 128)\n", "f(randn(4096, 128))"),
        (
            "def f(x, block=128):\n    assert x.size(0) % block == 0 and x.size(1) % block == 0\n",
            "f(randn(128, 128))",
        ),
        ("def f(x, shape: list[int]):\n    return x.shape[1]\n", "f(randn(4096, 1024), [128, 128])"),
        # what a body passes on
        ("def g(y):\n    a, b, c = y.shape\n\ndef f(x):\n    return g(x.contiguous())\n", "f(randn(8, 512, 1024))"),
        # dtypes
        ("def f(x):\n    assert x.dtype == torch.bfloat16\n", "f(randn(4096, 1024, dtype=bfloat16))"),
        (
            "def f(x, w):\n    assert w.dtype == torch.int8\n    w.stride(1), x.stride(1)\n",
            "f(randn(4096, 1024), randint(0, 127, 4096, 1024, dtype=int8))",
        ),
        # what a kernel does with a pointer
        (
            KERNEL + "def f(x, at, to, y):\n    n = x.shape[1]\n    kernel[(8,)](x, at, to, y, n, BLOCK=64)\n",
            "f(randn(4096, 1024), randint(0, 1024, 4096), randperm(4096), out(4096, 1024))",
        ),
        (
            KERNEL + "def f(x, at, to, y, count):\n    kernel[(8,)](x, at, to, y, count, BLOCK=64)\n",
            "f(randn(4096, 1024), randint(0, 1024, 4096), randperm(4096), out(4096, 1024), 1024)",
        ),
        (
            KERNEL.replace("kernel(", "moved(") + "@triton.jit\ndef kernel(p, q, r, s, n, BLOCK: tl.constexpr):\n"
            "    moved(p, q, r, s, n, BLOCK=BLOCK)\n"
            "def f(x, at, to, y):\n    n = x.shape[1]\n    kernel[(8,)](x, at, to, y, n, BLOCK=64)\n",
            "f(randn(4096, 1024), randint(0, 1024, 4096), randperm(4096), out(4096, 1024))",
        ),
        (
            "@triton.jit\ndef kernel(p, q):\n    word = tl.load(p)\n    tl.store(q, (word >> 4) & 0xF)\n"
            "def f(x, y):\n    x.stride(1)\n    kernel[(8,)](x, y)\n",
            "f(randint(0, 1024, 4096, 1024, dtype=int32), out(4096, 1024))",
        ),
        # batches of products
        ("def f(q, k):\n    return torch.matmul(q, k.transpose(2, 3))\n", f"f({', '.join(2 * ['randn(8, 16, 512, 64)'])})"),
        (
            "def f(q, k):\n    a, b, c = k.shape\n    return torch.matmul(q, k.mT)\n",
            f"f({', '.join(2 * ['randn(8, 512, 1024)'])})",
        ),
        (
            "def f(q, k):\n    a, b, c = q.shape\n    return torch.matmul(q, k.transpose(-1, -2))\n",
            f"f({', '.join(2 * ['randn(8, 512, 1024)'])})",
        ),
        # masks by tensors of other ranks
        ("def f(x, attn_mask):\n    return x.shape[3]\n", "f(randn(8, 16, 512, 64), randn(8, 1, 512, 512))"),
        ("def f(x, attention_mask):\n    a, d = x.shape\n", "f(randn(4096, 1024), randn(4096, 4096))"),
        ("def f(ids, mask):\n    a, b = mask.shape, ids.shape[1]\n", "f(randint(0, 1024, 4096, 1024), randn(4096, 1024))"),
        # sequences
        (
            "def f(x, normalized_shape, eps):\n    n = math.prod(normalized_shape)\n    return x.shape[1]\n",
            "f(randn(4096, 1024), (1024,), 1e-06)",
        ),
        ("def f(x, dim):\n    dims = [d % x.ndim for d in dim]\n    return x.shape[1]\n", "f(randn(4096, 1024), [-1])"),
        ("def f(x, stride):\n    one, other = stride\n    return x.shape[1]\n", "f(randn(4096, 1024), [1, 1])"),
        # other arguments
        ("def f(x, mean):\n    return x.shape[1] + mean.numel()\n", "f(randn(4096, 1024), randn(4096))"),
        ("def f(condition, x):\n    return x.shape[1]\n", "f(ones(4096, 1024, dtype=bool), randn(4096, 1024))"),
        (
            "def f(q, k, v):\n    b, s, h, d = q.shape\n    assert h % k.shape[2] == 0 and k.shape[0] == v.size(0)\n",
            "f(randn(8, 16, 512, 64), randn(16, 512, 512), randn(16, 16, 512, 64))",
        ),
        ("def f(x, offset):\n    return torch.diagonal(x, offset)\n", "f(randn(4096, 1024), 0)"),
        ("def f(x, mode):\n    assert mode in ('sum', 'mean')\n    return x.shape[1]\n", "f(randn(4096, 1024), 'sum')"),
        ("def f(x, mode: Literal['up', 'down']):\n    return x.shape[1]\n", "f(randn(4096, 1024), 'up')"),
        (
            "def f(x: torch.Tensor, w: torch.Tensor | None, dtype: torch.dtype):\n    return x.shape[1]\n",
            "f(randn(4096, 1024), randn(1024), float16)",
        ),
        # definitions
        ("@anything\ndef f(x):\n    a, b, c = x.shape\n", "f(randn(8, 512, 1024))"),
        ("if True:\n    def f(x):\n        a, b, c = x.shape\n", "f(randn(8, 512, 1024))"),
        (
            "class f(torch.autograd.Function):\n    @staticmethod\n    def forward(ctx, x):\n        a, b, c = x.shape\n",
            "f.apply(randn(8, 512, 1024))",
        ),
        (
            "class g(torch.autograd.Function):\n    def forward(ctx, x):\n        x.stride(2)\n\nf = g.apply\n",
            "f(randn(8, 512, 1024))",
        ),
    ],
)  # fmt: skip
def test_from_the_body(text: str, expected: str) -> None:
    check(text, "f", expected)


GOOGLE = """
    Reduces rows.

    Args:
        x: Rows.
            Must be of shape [batch, heads, dim].
        w: Weights, of shape [dim].
        reduction: Options are 'none' and 'mean'.
"""
NUMPY = """
    x : torch.Tensor
        Of shape (n, heads, length, dim).
    w (torch.Tensor, optional): (heads, dim)
    reduction (str): `mean`, or 'sum' | 'none'

    Returns: of shape (n,)
"""
SPHINX = """
    :param x: (reduction, 16, length, dim)
    :param torch.Tensor w: shape `(reduction, dim)`
    :param reduction: how many
"""


CONFIGURED = """\
from dataclasses import dataclass
import torch
from torch import nn
from elsewhere import OtherConfig, LlamaConfig

class Gate(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.w = nn.Linear(config.hidden_size, config.intermediate_size)
        self.mlp_layers = config.mlp_layers

    def forward(self, x):
        return self.w(x)

class LlamaGate(nn.Module):
    def __init__(self, config, layer_idx: int):
        super().__init__()
        self.gate = Gate(config=config)
        self.heads = getattr(config, "num_attention_heads", 8)

    def forward(self, x):
        b, t, d = x.shape
        return self.gate(x)
"""
OF_THE_FILE = """

@dataclass
class Args:
    tokens: int
    hidden_size: int = 64
    num_attention_heads: int = 4
"""


@pytest.mark.parametrize(
    ("parameter", "given"),
    [
        ("angles: tuple[torch.Tensor, torch.Tensor]", "(randn(8, 512, 64), randn(8, 512, 64))"),
        ("angles: Tuple[Tensor] | None = None", "angles=(randn(8, 512, 64),)"),
    ],
)
def test_tensors_that_are_given_together(parameter: str, given: str) -> None:
    lines = suggest_lines(f"def f(x: torch.Tensor, {parameter}):\n    b, t, d = x.shape\n    return x\n", "f")
    assert f"# workload: f(randn(8, 512, 1024), {given})" in lines[:2]


@pytest.mark.parametrize(
    ("text", "entry", "expected"),
    [
        (
            CONFIGURED,
            "Gate",
            (
                "Gate(OtherConfig(hidden_size=1024, intermediate_size=4096, num_attention_heads=16))(randn(4096, 1024))",
                "Gate(OtherConfig())(randn(4096, 1024))",
            ),
        ),
        (
            CONFIGURED,
            "LlamaGate",
            (
                "LlamaGate(LlamaConfig(hidden_size=1024, intermediate_size=4096, num_attention_heads=16), 0)"
                "(randn(8, 512, 1024))",
                "LlamaGate(LlamaConfig(), 0)(randn(8, 512, 1024))",
            ),
        ),
        (
            CONFIGURED.replace("(self, config)", "(self, config: 'OtherConfig | None')") + OF_THE_FILE,
            "Gate",
            (
                "Gate(OtherConfig(hidden_size=1024, intermediate_size=4096, num_attention_heads=16))(randn(4096, 1024))",
                "Gate(OtherConfig())(randn(4096, 1024))",
            ),
        ),
        (
            CONFIGURED + OF_THE_FILE.replace("class Args", "class GateArgs"),
            "Gate",
            (
                "Gate(GateArgs(tokens=1, hidden_size=1024, num_attention_heads=16))(randn(4096, 1024))",
                "Gate(GateArgs(tokens=1))(randn(4096, 1024))",
            ),
        ),
        (
            CONFIGURED + "\nclass GateConfig:\n    def __init__(self, hidden_size, name='g'):\n        pass\n",
            "Gate",
            (
                "Gate(GateConfig(hidden_size=1024))(randn(4096, 1024))",
                "Gate(GateConfig(hidden_size=1024))(randn(64, 1024))",
            ),
        ),
        (
            CONFIGURED + "\nclass GateConfig:\n    hidden_size = 64\n",
            "Gate",
            ("Gate(GateConfig())(randn(4096, 1024))", "Gate(GateConfig())(randn(64, 64))"),
        ),
    ],
    ids=["imported", "passed on", "annotated", "a dataclass", "its own constructor", "constants"],
)
def test_a_constructor_is_given_a_configuration(text: str, entry: str, expected: tuple[str, ...]) -> None:
    lines = suggest_lines(text, entry)
    assert isinstance(lines, tuple)
    assert lines[:2] == tuple(f"# workload: {line}" for line in expected)


X = "b, t, d = x.shape"
MASK = re.compile(r"\w*masks?")


@pytest.mark.parametrize(
    ("parameters", "body", "given"),
    [
        # by the name
        ("x, attention_mask: torch.Tensor", X, ["randn(8, 1, 512, 512)", "None", "randint(0, 2, 8, 512)"]),
        ("x, mask: torch.Tensor", X, ["randn(8, 512, 1024)", "ones(8, 512, 1024, dtype=bool)"]),
        ("attention_mask, n", "return n", ["randn(8, 1, 512, 512)", "None", "randint(0, 2, 8, 512)"]),
        ("x, masks: torch.Tensor", X, ["randn(8, 512, 1024)", "ones(8, 512, 1024, dtype=bool)"]),
        # by the annotation, and by what is asked
        ("x, attention_mask: torch.BoolTensor", X, ["randint(0, 2, 8, 512, dtype=bool)", "ones(8, 1, 512, 512, dtype=bool)"]),
        ("x, mask", f"{X}\n    assert mask.dtype == torch.bool", ["ones(8, 512, 1024, dtype=bool)"]),
        ("x, attention_mask: torch.Tensor | None", X, ["None", "randn(8, 1, 512, 512)"]),
        ("x, mask", f"{X}\n    if mask is not None:\n        x = x + mask", ["randn(8, 512, 1024)", "None"]),
        # by how it is indexed, or taken apart
        ("x, attention_mask", f"{X}\n    y = x * attention_mask[:, :, None]", ["randint(0, 2, 8, 512)"]),
        ("x, mask", f"{X}\n    s = x @ x + mask[:, :, :, :t]", ["randn(8, 1, 512, 512)", "ones(8, 1, 512, 512, dtype=bool)"]),
        ("x, mask", f"{X}\n    n, h = mask.shape", ["randint(0, 2, 8, 512)", "randint(0, 2, 8, 512, dtype=bool)"]),
        ("x, attention_mask", f"{X}\n    n, q, k = attention_mask.shape", ["randn(8, 512, 1024)"]),
        ("x, attention_mask", f"{X}\n    assert x.shape == attention_mask.shape", ["randn(8, 512, 1024)"]),
        # where it may be left out
        ("x, attention_mask: torch.Tensor = None", X, ["randn(8, 1, 512, 512)", "randint(0, 2, 8, 512)"]),
    ],
)  # fmt: skip
def test_a_mask_is_of_scores_or_of_tokens_or_none(parameters: str, body: str, given: list[str]) -> None:
    lines = suggest_lines(f"{HEAD}def f({parameters}):\n    {body}\n    return x\n", "f")
    assert isinstance(lines, tuple)
    calls = [ast.parse(line.removeprefix("# workload: "), mode="eval").body for line in lines]
    place = [part.partition(":")[0] for part in parameters.split(", ")].index(MASK.search(parameters)[0])
    written: dict[str, None] = {}  # of lines that differ in the mask alone
    for call in calls:
        assert isinstance(call, ast.Call)
        values = [*map(ast.unparse, [*call.args, *(one.value for one in call.keywords)])]
        others = [*values[:place], *values[place + 1 :]]
        if others == ["randn(8, 512, 1024)"] or place == 0:
            written |= dict.fromkeys(values[place : place + 1])
    assert [*written][: len(given)] == given


OF_NOBODY = CONFIGURED.replace("from elsewhere import OtherConfig, LlamaConfig\n", "")
ATTENTION = """
def attended({module}, q, k, scaling: float):
    b, h, t, d = q.shape
    weights = q @ k.transpose(2, 3) * scaling / {divisor}
    return nn.functional.dropout(weights.softmax(-1), p={p}, training=module.training)
"""
QK = "randn(8, 16, 512, 64), randn(8, 16, 512, 64), 0.5"


@pytest.mark.parametrize(
    ("text", "entry", "expected"),
    [
        (
            OF_NOBODY,
            "Gate",
            "Gate(SimpleNamespace(hidden_size=1024, intermediate_size=4096))(randn(4096, 1024))",
        ),
        (
            OF_NOBODY.replace("self.mlp_layers = config.mlp_layers", "self.p, self.to = config.dropout, config.rope_theta"),
            "LlamaGate",
            "LlamaGate(SimpleNamespace(dropout=0.0, hidden_size=1024, intermediate_size=4096, num_attention_heads=16, "
            "rope_theta=10000.0), 0)(randn(8, 512, 1024))",
        ),
        (
            CONFIGURED.replace("(self, config)", "(self, config: typing.Any)"),
            "Gate",
            "Gate(SimpleNamespace(hidden_size=1024, intermediate_size=4096))(randn(4096, 1024))",
        ),
        (
            ATTENTION.format(module="module: nn.Module", divisor="module.num_key_value_groups", p="module.dropout"),
            "attended",
            f"attended(SimpleNamespace(dropout=0.0, num_key_value_groups=1, training=False), {QK})",
        ),
        (
            ATTENTION.format(module="module", divisor="1.0", p="getattr(module, 'attention_dropout', 0.5)"),
            "attended",
            f"attended(SimpleNamespace(attention_dropout=0.0, training=False), {QK})",
        ),
        (
            "def f(x, args):\n    a, b = x.shape\n    return F.layer_norm(x, (args.dim,), eps=args.norm_eps)\n",
            "f",
            "f(randn(4096, 1024), SimpleNamespace(dim=1024, norm_eps=1e-06))",
        ),
        # what is called is no data, nor is what nobody calls a configuration
        (
            ATTENTION.format(module="module: nn.Module", divisor="module.scaled(d)", p="0.1"),
            "attended",
            f"attended(1024, {QK})",
        ),
        (
            ATTENTION.format(module="module: nn.Module", divisor="module(d)", p="0.1"),
            "attended",
            f"attended(1024, {QK})",
        ),
        ("def f(x, y):\n    a, b = x.shape\n    return x / y.eps\n", "f", "f(randn(4096, 1024), randn(4096, 1024))"),
        ("def f(x, module):\n    a, b = x.shape\n    return x / module.what\n", "f", "f(randn(4096, 1024), randn(4096, 1024))"),
    ],
)  # fmt: skip
def test_data_are_given_by_attributes_where_no_class_makes_them(text: str, entry: str, expected: str) -> None:
    check(text, entry, expected)


@pytest.mark.parametrize(
    ("docstring", "expected"),
    [
        (GOOGLE, "f(randn(8, 512, 1024), randn(1024), 'none')"),
        (NUMPY, "f(randn(8, 16, 512, 64), randn(16, 64), 'mean')"),
        (SPHINX, "f(randn(8, 16, 512, 64), randn(8, 64), 8)"),
        (
            "x: (rows, features), `w`: (features, n) int32; reduction: one of 'sum' and 'mean', as bfloat16.",
            "f(randn(4096, 1024), randint(0, 1024, 1024, 1024, dtype=int32), 'sum')",
        ),
        ("x, w: (tokens, heads, dim); reduction: 'sum' | 'mean'", "f(randn(8, 512, 1024), randn(8, 512, 1024), 'sum')"),
        ("Adds.", "f(randn(4096, 1024), randn(1024), randn(4096, 1024))"),
        ("x: of any shape (see above)", "f(randn(4096, 1024), randn(1024), randn(4096, 1024))"),
    ],
)
def test_from_the_docstring(docstring: str, expected: str) -> None:
    check(f'def f(x, w, reduction):\n    """{docstring}    """\n    return x\n', "f", expected)


def test_a_docstring_speaks_of_several_by_what_their_names_end_in() -> None:
    text = (
        'def f(q, k_cache, v_cache):\n    """q: (tokens, dim); caches: (slots, tokens, dim) float16."""\n    return q\n'
    )
    made = "randn(8, 4096, 1024, dtype=float16)"
    check(text, "f", f"f(randn(4096, 1024, dtype=float16), {made}, {made})")
    check(text.replace("caches:", "cache:"), "f", "f(randn(4096, 1024), randn(4096, 1024), randn(4096, 1024))")


def test_products_of_whole_numbers_are_of_bytes() -> None:
    kernel = """\
@triton.jit
def kernel(a_ptr, b_ptr, s_ptr, c_ptr, n, B: tl.constexpr):
    at = tl.arange(0, B)[:, None] * n + tl.arange(0, B)[None, :]
    a = tl.load(a_ptr + at)
    b = tl.load(b_ptr + at)
    {product}
    tl.store(c_ptr + at, acc * tl.load(s_ptr + at))


def f(x, w, s):
    c = torch.empty_like(x)
    kernel[(1,)](x, w, s, c, x.shape[1], 64)
    return c
"""
    into = "acc = tl.zeros((B, B), dtype=tl.int32)\n    acc += tl.dot(a, b)"
    at_once = "acc = tl.dot(a, b, out_dtype=tl.int32)"
    byte = "randint(0, 127, 4096, 1024, dtype=int8)"
    for product in (into, at_once):
        check(kernel.format(product=product), "f", f"f({byte}, {byte}, randn(4096, 1024))")
    check(kernel.format(product="acc = tl.dot(a, b)"), "f", "f(randn(4096, 1024), randn(1024), randn(4096, 1024))")


def test_a_docstring_does_not_overrule_the_body() -> None:
    check(
        f'def f(x, w, reduction):\n    """{SPHINX}    """\n    a, b = x.shape\n',
        "f",
        "f(randn(4096, 1024), randn(4096, 1024), 4096)",
    )


def test_lines_without_what_a_docstring_says_follow() -> None:
    lines = suggest_lines(f'{HEAD}def f(x, w, reduction):\n    """{GOOGLE}    """\n    return x\n', "f")
    assert isinstance(lines, tuple)
    assert len(lines) == MOST
    assert "# workload: f(randn(4096, 1024), randn(1024), randn(4096, 1024))" in lines


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("def f(x):\n    return x.shape[0]\n", "f(randn(8, 512, 1024))"),
        (
            "def f(x, weight=None, mask=None):\n    weight = weight.contiguous()\n    return x.shape[1], mask[2]\n",
            "f(randn(4096, 1024), weight=randn(1024))",
        ),
        (
            "def f(x, weight=None, mask=None):\n    weight = weight.contiguous()\n    return x.shape[1], mask[2]\n",
            "f(randn(4096, 1024), mask=[True, True, True])",
        ),
        ("def f(x):\n    return x.shape[0]\n", "f(randn(4096, 1024, dtype=bfloat16))"),
        ("def f(x, y):\n    (a, b, c), d = x.shape, y.stride(1)\n", "f(randn(64, 64, 64), randn(64, 64))"),
        ("def f(x, y):\n    (a, b, c), d = x.shape, y.stride(1)\n", "f(randn(8, 512, 1024), randn(8, 512))"),
        ("def f(x, y):\n    return x.shape[1]\n", "f(randn(4096, 1024), randn(4096, 1024, layout=transposed))"),
        ("def f(x, causal=False):\n    return x.shape[1]\n", "f(randn(4096, 1024), causal=True)"),
        ("def f(x, mode='a'):\n    if mode == 'b':\n        return x.shape[1]\n", "f(randn(4096, 1024), mode='b')"),
        (
            "def f(x, b_seq_len, b_start_loc, max_input_len):\n    a, b, c = x.shape\n",
            "f(randn(512, 16, 64), full((8,), 64, dtype=int32), arange(0, 512, 64, dtype=int32), 64)",
        ),
        ("def f(x):\n    return x.shape[1]\n\ndef g(y):\n    a, b, c = y.shape\n    return f(y)\n", "g(randn(8, 512, 1024))"),
    ],
)  # fmt: skip
def test_among_the_alternatives(text: str, expected: str) -> None:
    lines = suggest_lines(HEAD + text, "f")
    assert isinstance(lines, tuple)
    assert f"# workload: {expected}" in lines
    assert len(set(lines)) == len(lines) <= MOST
    assert problems(HEAD + text + "\n".join(lines)) == ()


def test_lines_fit_into_memory() -> None:
    """A cube of sizes that belong to different tensors may not."""
    shapes = ("a, b, c = x.shape", "d, e, g = y.shape", "assert z.shape == (a, b, c, d, e)")
    lines = suggest_lines(HEAD + f"def f(x, y, z):\n    {'; '.join(shapes)}\n", "f")
    assert isinstance(lines, tuple)
    assert lines[0] == "# workload: f(randn(16, 16, 16), randn(16, 16, 16), randn(16, 16, 16, 16, 16))"


LAUNCHED = """\
@triton.autotune([triton.Config({"BLOCK": 64}), triton.Config(dict(BLOCK=128))], ["n"])
@triton.jit
def rows_kernel(x_ptr, y_ptr, at_ptr, n, x_row_stride, x_feat_stride, eps, seed, kind: tl.constexpr, NEGATE: tl.constexpr,
                BLOCK: tl.constexpr):
    row = tl.load(at_ptr + tl.program_id(0)) + tl.program_id(axis=1)
    x = tl.load(x_ptr + row * x_row_stride + tl.arange(0, BLOCK) * x_feat_stride, mask=tl.arange(0, BLOCK) < n)
    if NEGATE:
        x = -x
    if kind == "exp":
        x = tl.exp(x)
    tl.store(y_ptr + row * n + tl.arange(0, BLOCK), helper(x), mask=tl.arange(0, BLOCK) < n)


@triton.jit
def flat_kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y_ptr + at, tl.load(x_ptr + at, mask=at < n), mask=at < n)


@triton.jit
def either_kernel(x_ptr, N: tl.constexpr, y_ptr, z_ptr, num_warps: tl.constexpr):
    tl.store(tl.where(tl.program_id(0) < N, y_ptr, y_ptr + 1), tl.load(x_ptr))


@triton.jit
def helper(x):
    return x * 2
"""


@pytest.mark.parametrize(
    ("name", "expected", "alternative"),
    [
        (
            "rows_kernel",
            "rows_kernel[(64, 2)](randn(64, 64), out(64, 64), randperm(64), 64, 64, 1, 1e-06, 0, kind='exp', NEGATE=False)",
            "NEGATE=True",
        ),
        ("flat_kernel", "flat_kernel[(64,)](randn(64, 64), out(64, 64), 4096, BLOCK=64)", "randn(64, 64, 64)"),
        (
            "either_kernel",
            "either_kernel[(64,)](randn(64, 64), N=64, y_ptr=out(64, 64), z_ptr=None, num_warps=4)",
            "N=64",
        ),
    ],
)  # fmt: skip
def test_a_kernel_that_nothing_launches(name: str, expected: str, alternative: str) -> None:
    text = f"{HEAD}import triton.language as tl\n{LAUNCHED}"
    (kernel,) = (kernel for kernel in find_kernels(parse(text)) if kernel.name == name)
    lines = suggest_lines(text, kernel)
    assert isinstance(lines, tuple)
    assert lines[0] == f"# workload: {expected}"
    assert any(alternative in line for line in lines[1:])
    assert problems(text + "\n".join(lines)) == ()


@pytest.mark.parametrize(
    ("launcher", "expected"),
    [
        ("    flat_kernel[(1,)](x, y, n, BLOCK=1024)\n", "4096, BLOCK=1024)"),
        ("    flat_kernel[(1,)](x, y, 3, 128)\n", "3, BLOCK=128)"),
        ("    flat_kernel[(1,)](x, y, n, 128)\n    flat_kernel[(1,)](x, y, n, BLOCK=64 * 4)\n", "4096, BLOCK=64)"),
    ],
)
def test_a_launch_of_its_own_takes_what_all_launches_write_out(launcher: str, expected: str) -> None:
    text = f"{HEAD}import triton.language as tl\n{LAUNCHED}def f(x, y, n):\n{launcher}"
    (kernel,) = (kernel for kernel in find_kernels(parse(text)) if kernel.name == "flat_kernel")
    lines = suggest_lines(text, replace(kernel, entry=None))
    assert isinstance(lines, tuple)
    assert lines[0] == f"# workload: flat_kernel[(64,)](randn(64, 64), out(64, 64), {expected}"
    assert any("4096, BLOCK=64)" in line for line in lines), "a guess, where that does not run"


def test_a_part_of_kernels_is_not_launched() -> None:
    reading = "import triton.language as tl\n@triton.jit\ndef at(x_ptr, i):\n    x = tl.load(x_ptr + i)\n"
    text = HEAD + reading
    (helper,) = find_kernels(parse(text))
    refusal = suggest_lines(text, helper)
    assert isinstance(refusal, Refusal)
    assert "it is a part of other kernels" in refusal.reason


def test_gradients_are_asked_for_once() -> None:
    line = with_gradients("f.apply(randn(8, 16), randint(0, 4, 8), [rand(2)])")
    assert line == "f.apply(randn(8, 16, requires_grad=True), randint(0, 4, 8), [rand(2, requires_grad=True)])"
    assert with_gradients(line) is None
    assert with_gradients("f(zeros(8))") is None


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("f = g\n", "cannot be read"),
        ("@triton.jit\ndef f(x):\n    pass\n", "is a Triton kernel"),
        ("class f(nn.Module):\n    pass\n", "no forward"),
        ("class f(f):\n    pass\n", "no forward"),
        ("class f(g):\n    pass\n\nclass g(f):\n    pass\n", "no forward"),
        ("class g:\n    def forward(self, x):\n        pass\n\nclass f(nn.Module, g):\n    pass\n", "no forward"),
        ("def f(x:\n", "cannot be read"),
    ],
)
def test_what_cannot_be_suggested(text: str, words: str) -> None:
    refusal = suggest_lines(HEAD + text, "f")
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
        ("def test_f():\n    torch.f(torch.randn(8, 16))\n    ops.f(torch.randn(8))\n", "No benchmark or test"),
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
    guessed = suggest_lines(text, "f")
    for written in (line for found in (lines, guessed) if isinstance(found, tuple) for line in found):
        assert isinstance(find_workload(text + "\n" + written, "f"), Workload)
    for refusal in (lines, guessed):
        assert not isinstance(refusal, Refusal) or refusal.reason


def test_of_a_kernel() -> None:
    text = HEAD + "import triton.language as tl\n@triton.jit\ndef k(p):\n    tl.load(p)\ndef run(x):\n    k[(1,)](x)\n"
    (kernel,) = find_kernels(parse(text))
    lines = suggest_lines(text, kernel)
    assert isinstance(lines, tuple)
    assert lines[0] == "# workload: run(randn(4096, 1024))"
