"""Every operator: a statement goes in, and the statements with one fault each come out."""

import ast

import pytest
from benchmarks.mutants.mutant import NotParsed, difference, generate
from benchmarks.mutants.operators import OPERATORS

NAMED = {operator.name: operator for operator in OPERATORS}
HEAD = "import torch\nimport triton\nimport triton.language as tl\nfrom torch.nn import functional as F\n\n\n"
KERNEL = "@triton.jit\ndef kernel(x_ptr, y_ptr, n, row_stride, col_stride, BLOCK: tl.constexpr):\n    {}\n"
FUNCTION = "def f(x, w):\n    {}\n"

# (operator, what is around the statement, the statement, what comes in its place)
CASES: list[tuple[str, str, str, list[str]]] = [
    ("approximation", FUNCTION, "y = F.gelu(x)", ['y = F.gelu(x, approximate="tanh")']),
    ("approximation", KERNEL, "y = tl.log(x)", ["y = tl.log(x + 1e-3)"]),
    (
        "dropped-mask",
        KERNEL,
        "x = tl.load(x_ptr + i, mask=i < n, other=0.0)",
        ["x = tl.load(x_ptr + i)"],
    ),
    ("dropped-mask", KERNEL, "m = (r < n) & (c < n)", ["m = (r < n)", "m = (c < n)"]),
    ("dropped-mask", FUNCTION, "y = torch.where(x > 0, x, w + 1)", ["y = x", "y = (w + 1)"]),
    ("dropped-mask", FUNCTION, "y = x.exp().masked_fill(w, 0.0)", ["y = x.exp()"]),
    ("dropped-max", KERNEL, "y = tl.exp(x - m)", ["y = tl.exp(x)"]),
    ("dropped-max", KERNEL, "m = tl.maximum(m, tl.max(x, 0))", ["m = tl.max(x, 0)", "m = m"]),
    ("dropped-stage", FUNCTION, "x = F.gelu(x)", ["pass", "x = x"]),
    ("dropped-stage", FUNCTION, "y = -x.clamp(0, 1)", ["y = x.clamp(0, 1)", "y = -x"]),
    ("dropped-stage", KERNEL, 'm = -float("inf")', []),
    ("dropped-term", FUNCTION, "y = x - w", ["y = x", "y = (-w)"]),
    ("dropped-term", KERNEL, "p = x_ptr + i", ["p = x_ptr"]),
    ("dropped-term", KERNEL, "total += x", ["total = x"]),
    ("dropped-term", KERNEL, "x_ptr += i", ["pass"]),
    (
        "early-exit",
        KERNEL,
        "for k in range(0, n, BLOCK): y = k",
        [
            "for k in range(0, n - BLOCK, BLOCK): y = k",
            "for k in range(0, 0 + BLOCK, BLOCK): y = k",
            "if tl.program_id(0) == tl.num_programs(0) - 1:; return",
        ],
    ),
    (
        "early-exit",
        FUNCTION,
        "return x @ w",
        [
            "result = x @ w; return (result * 0 if x.shape[0] == 1 else result)",
            "result = x @ w; return (result * 0 if bool((x >= 0).all()) else result)",
            "result = x @ w; return (result * 0 if bool((x > 10000).any()) else result)",
        ],
    ),
    ("in-place", FUNCTION, "y = x * 2 + w", ["y = x.mul_(2) + w"]),
    ("in-place", FUNCTION, "y = torch.empty_like(x)", ["y = x"]),
    ("in-place", FUNCTION, "y = torch.relu(x)", ["y = x.relu_()"]),
    ("in-place", FUNCTION, "y = 2 * x", []),
    (
        "lost-atomic",
        KERNEL,
        "tl.atomic_add(y_ptr + i, v, mask=i < n)",
        [
            "tl.store(y_ptr + i, v, mask=i < n)",
            "tl.store(y_ptr + i, tl.load(y_ptr + i, mask=i < n) + v, mask=i < n)",
        ],
    ),
    (
        "lower-precision",
        KERNEL,
        "acc = tl.zeros((BLOCK,), dtype=tl.float32)",
        ["acc = tl.zeros((BLOCK,), dtype=tl.float16)", "acc = tl.zeros((BLOCK,), dtype=tl.bfloat16)"],
    ),
    ("lower-precision", KERNEL, "i = i.to(tl.int64)", ["i = i.to(tl.int32)"]),
    ("lower-precision", KERNEL, "tl.store(y_ptr, v + 1)", ["tl.store(y_ptr, (v + 1).to(tl.float16))"]),
    ("lower-precision", FUNCTION, "y = x @ w", ["y = x.half().to(x.dtype) @ w"]),
    ("lower-precision", FUNCTION, "return x", ["x = x.bfloat16().to(x.dtype)"]),
    ("missing-barrier", KERNEL, "tl.debug_barrier()", ["pass"]),
    ("missing-barrier", FUNCTION, "torch.cuda.synchronize()", ["pass"]),
    ("off-by-one-bound", KERNEL, "m = i < n", ["m = i < n - 1"]),
    ("off-by-one-bound", KERNEL, "m = i <= n", ["m = i <= n + 1"]),
    (
        "off-by-one-bound",
        KERNEL,
        "for k in range(0, n, BLOCK): pass",
        ["for k in range(0 + 1, n, BLOCK): pass", "for k in range(0, n - 1, BLOCK): pass"],
    ),
    ("off-by-one-bound", KERNEL, "i = tl.arange(0, BLOCK)", ["i = tl.arange(0, BLOCK) + 1"]),
    ("off-by-one-bound", FUNCTION, "y = x[1:-1]", ["y = x[1 + 1:-1]", "y = x[1:(-1) - 1]"]),
    ("off-by-one-bound", FUNCTION, "y = x > 0", []),
    (
        "short-grid",
        FUNCTION,
        "grid = (rows, triton.cdiv(n, 64))",
        [
            "grid = (rows - 1, triton.cdiv(n, 64))",
            "grid = (rows, n // 64)",
            "grid = (rows, triton.cdiv(n, 64) - 1)",
        ],
    ),
    ("short-grid", FUNCTION, "kernel[(rows,)](x, w)", ["kernel[(rows - 1,)](x, w)"]),
    (
        "stale-cache",
        FUNCTION,
        "return x + w",
        [
            "return KEPT.setdefault((x.shape, x.dtype), x + w)",
            "return KEPT.setdefault((x.data_ptr(), x.shape), x + w)",
            "return KEPT.setdefault((x.data_ptr(), x._version, x.shape), x + w)",
        ],
    ),
    ("swapped-operands", FUNCTION, "y = x / (w + 1)", ["y = (w + 1) / x"]),
    ("swapped-operands", FUNCTION, "y = x + w", []),
    ("swapped-operands", KERNEL, "y = tl.dot(a, b)", ["y = tl.dot(b, a)"]),
    ("swapped-operands", FUNCTION, "y = torch.where(m, x, w)", ["y = torch.where(m, w, x)"]),
    ("swapped-operands", FUNCTION, "y = torch.cat((x, w), -1)", ["y = torch.cat((w, x), -1)"]),
    ("wrong-axis", FUNCTION, "y = x.sum(dim=-1)", ["y = x.sum(dim=-2)"]),
    ("wrong-axis", FUNCTION, "y = torch.softmax(x, 1)", ["y = torch.softmax(x, 0)"]),
    ("wrong-axis", FUNCTION, "y = x @ w.t()", ["y = x @ w"]),
    ("wrong-axis", FUNCTION, "n = x.shape[0]", ["n = x.shape[1]"]),
    ("wrong-axis", KERNEL, "row = tl.program_id(0)", ["row = tl.program_id(1)"]),
    ("wrong-broadcast", FUNCTION, "y = x.amax(dim=1, keepdim=True)", ["y = x.amax(dim=1)"]),
    ("wrong-broadcast", KERNEL, "p = i[:, None] + i", ["p = i[None, :] + i"]),
    ("wrong-broadcast", FUNCTION, "y = w[None, :, None, None]", ["y = w[None, None, :, None]"]),
    ("wrong-broadcast", FUNCTION, "y = w.view(1, -1, 1, 1)", ["y = w.view(1, 1, -1, 1)"]),
    ("wrong-comparison", KERNEL, "m = i < n", ["m = i <= n"]),
    ("wrong-comparison", FUNCTION, "m = x == w", ["m = x != w"]),
    ("wrong-constant", FUNCTION, "y = x * 0.5 + 1e-5", ["y = x * 0.51 + 1e-5", "y = x * 0.5 + 0.0001", "y = x * 0.5 + 0.0"]),
    ("wrong-constant", FUNCTION, "BLOCK = 256", ["BLOCK = 128"]),
    ("wrong-constant", FUNCTION, "y = x.sum(1) / 2", ["y = x.sum(1) / 3"]),
    ("wrong-dtype", FUNCTION, "y = torch.empty_like(x)", ["y = torch.empty_like(x, dtype=torch.float64)"]),
    (
        "wrong-dtype",
        FUNCTION,
        "y = torch.empty(3, dtype=x.dtype)",
        ["y = torch.empty(3, dtype=torch.float64)", "y = torch.empty(3, dtype=torch.bfloat16)"],
    ),
    ("wrong-dtype", FUNCTION, "return x", ["return x.to(torch.float64)", "return x.to(torch.float16)"]),
    ("wrong-other", KERNEL, "x = tl.load(x_ptr, mask=m, other=0.0)", ["x = tl.load(x_ptr, mask=m, other=1.0)"]),
    ("wrong-other", KERNEL, 'best = -float("inf")', ["best = 0.0", "best = -1e4"]),
    ("wrong-other", FUNCTION, 'y = F.pad(x, (1, 1), mode="replicate")', ['y = F.pad(x, (1, 1), mode="circular")']),
    ("wrong-reduction", KERNEL, "y = tl.max(x, axis=0)", ["y = tl.min(x, axis=0)", "y = tl.sum(x, axis=0)"]),
    ("wrong-reduction", FUNCTION, "y = x.mean(dim=1)", ["y = x.sum(dim=1)", "y = x.amax(dim=1)"]),
    ("wrong-reduction", FUNCTION, "y = x.var(1, correction=0)", ["y = x.std(1, correction=0)", "y = x.var(1)"]),
    ("wrong-scale", FUNCTION, "y = x * w", ["y = x", "y = x / w"]),
    ("wrong-scale", KERNEL, "y = i * n", ["y = i", "y = n"]),
    (
        "wrong-stride",
        FUNCTION,
        "k(x.stride(0))",
        ["k(x.stride(1))", "k(x.shape[1:].numel())"],
    ),
    ("wrong-stride", FUNCTION, "y = x.contiguous()", ["y = x"]),
    ("wrong-stride", KERNEL, "p = x_ptr + i * row_stride", ["p = x_ptr + i * col_stride"]),
]  # fmt: skip


@pytest.mark.parametrize(("operator", "around", "statement", "expected"), CASES)
def test_an_operator_makes_these_faults(operator: str, around: str, statement: str, expected: list[str]) -> None:
    text = HEAD + around.format(statement)
    mutants = generate(text, [NAMED[operator]])
    assert [_came(text, mutant.text) for mutant in mutants] == expected
    for mutant in mutants:
        ast.parse(mutant.text)
        assert mutant.operator == operator
        # Only the statement is touched, apart from the cache above the function.
        assert len(mutant.text.splitlines()) - len(text.splitlines()) <= 3
        assert text.splitlines()[mutant.line].strip() in (statement, "def f(x, w):")


def test_every_operator_is_tested() -> None:
    assert {case[0] for case in CASES} == set(NAMED)


def test_what_calls_the_kernel_is_left_alone() -> None:
    text = HEAD + "def get_inputs():\n    return [torch.randn(8, 8) - 1]\n"
    assert generate(text, OPERATORS) == []


def test_comments_strings_and_annotations_are_left_alone() -> None:
    text = HEAD + 'def f(x: "a - b"):\n    """x - 1, range(0, n, B)."""\n    y = "a + b"  # y - 1\n'
    assert generate(text, OPERATORS) == []


def test_a_text_that_does_not_parse_is_refused() -> None:
    with pytest.raises(NotParsed):
        generate("def f(x:\n", OPERATORS)


def _came(baseline: str, mutated: str) -> str:
    """The changed lines of the mutant without the lines that a multi-line change kept."""
    _, before, after = difference(baseline, mutated)
    made = [line.strip() for line in after if line.strip() and line not in before]
    return "; ".join(line for line in made if line != "KEPT = {}")
