"""Streaming loads: which loads get the hint, how it is written, and that no value changes."""

import ast
import dataclasses
from pathlib import Path

import pytest

from kernelwright.macro.strategies.triton_stream_loads import STRATEGY
from macro.triton_files import CPU, HEAD, differing, observe, refusal, rewritten, run_interpreted

EXAMPLES = Path(__file__).parents[3] / "examples"
HINT = 'eviction_policy="evict_first"'


def kernel(body: str, parameters: str = "x_ptr, w_ptr, y_ptr, n, stride, BLOCK: tl.constexpr", more: str = "") -> str:
    """A file with one kernel, which is launched once."""
    lines = "".join(f"    {line}\n" for line in body.splitlines())
    names = [one.split(":")[0].strip() for one in parameters.split(",")]
    return (
        f"{HEAD}{more}@triton.jit\ndef first_kernel({parameters}):\n{lines}\n\n"
        f"# workload: launch(randn(8, 128), randn(128))\ndef launch(x, w):\n    y = torch.empty_like(x)\n"
        f"    first_kernel[(8,)]({', '.join({'x_ptr': 'x', 'w_ptr': 'w', 'y_ptr': 'y'}.get(n, '128') for n in names)})\n"
        f"    return y\n"
    )


ROWS = """\
row = tl.program_id(0)
i = tl.arange(0, BLOCK)
"""
STORE = "\ntl.store(y_ptr + row * stride + i, x)"


def hinted(text: str) -> set[str]:
    """What the loads with a hint read, as it is written."""
    (after,) = rewritten(STRATEGY, text)
    loads = [n for n in ast.walk(ast.parse(after)) if isinstance(n, ast.Call) and ast.unparse(n.func) == "tl.load"]
    assert ast.dump(ast.parse(after.replace(f", {HINT}", ""))) == ast.dump(ast.parse(text)), "nothing else changes"
    return {ast.unparse(n.args[0]) for n in loads if any(k.arg == "eviction_policy" for k in n.keywords)}


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (
            ROWS + "x = tl.load(x_ptr + row * stride + i) * tl.load(w_ptr + i)" + STORE,
            {"x_ptr + row * stride + i"},
        ),
        (
            ROWS + "p = x_ptr + row * stride\nx = tl.load(p + i) + tl.load(w_ptr + i)" + STORE,
            {"p + i"},
        ),
        (
            ROWS
            + "x = tl.zeros((BLOCK,), tl.float32)\n"
            + "for k in range(0, tl.cdiv(n, BLOCK)):\n    x += tl.load(x_ptr + row * stride + k * BLOCK + i)"
            + STORE,
            {"x_ptr + row * stride + k * BLOCK + i"},
        ),
        (
            ROWS
            + "p = x_ptr + row.to(tl.int64) * stride + i\nx = tl.zeros((BLOCK,), tl.float32)\n"
            + "for _ in range(n):\n    x += tl.load(p)\n    p = p + BLOCK"
            + STORE,
            {"p"},
        ),
        (
            "i = tl.arange(0, BLOCK)\n"
            + "for row in range(tl.program_id(0), n, tl.num_programs(0)):\n"
            + "    x = tl.load(x_ptr + row * stride + i)\n    tl.store(y_ptr + row * stride + i, x)",
            {"x_ptr + row * stride + i"},
        ),
        (
            ROWS + "x = tl.load(x_ptr + row // n * stride + row % n * BLOCK + i)" + STORE,
            {"x_ptr + row // n * stride + row % n * BLOCK + i"},
        ),
        (
            ROWS + "half = tl.cdiv(stride, 2) // 2\nx = tl.load(x_ptr + row * half + i)" + STORE,
            {"x_ptr + row * half + i"},
        ),
        (
            ROWS.replace("tl.", "more.", 1) + "x = tl.load(x_ptr + row * stride + i)" + STORE,
            {"x_ptr + row * stride + i"},
        ),
        (
            ROWS
            + "p = tl.make_block_ptr(x_ptr, (n, stride), (stride, 1), (row, 0), (1, BLOCK), (1, 0))\nx = tl.zeros((1, BLOCK))\n"
            + "for _ in range(0, n, BLOCK):\n    x += tl.load(p)\n    p = tl.advance(p, (0, BLOCK))"
            + STORE,
            {"p"},
        ),
    ],
    ids=[
        "a row",
        "a pointer with a name",
        "a loop",
        "a pointer that moves",
        "a persistent kernel",
        "both halves of a program id",
        "a quotient that is the same everywhere",
        "a program id of another library",
        "a block pointer that moves",
    ],
)
def test_what_is_read_once_gets_the_hint(body: str, expected: set[str]) -> None:
    assert hinted(kernel(body)) == expected


@pytest.mark.parametrize(
    "body",
    [
        ROWS + "x = tl.load(w_ptr + i)" + STORE,
        ROWS + "x = tl.load(x_ptr + row * stride + i)\nx += tl.load(x_ptr + row * stride + i)" + STORE,
        ROWS + "x = tl.load(x_ptr + row // 2 * stride + i)" + STORE,
        ROWS + "q = row % 4\nx = tl.load(x_ptr + q * stride + i)" + STORE,
        ROWS + "x = tl.load(x_ptr + row // n * stride + row % 4 * BLOCK + i)" + STORE,
        ROWS + "x = tl.load(x_ptr + tl.minimum(row, 4) * stride + i)" + STORE,
        ROWS + "x = tl.load(x_ptr + mapped(row) * stride + i)" + STORE,
        ROWS
        + "p = tl.make_block_ptr(x_ptr, (n, stride), (stride, 1), (0, 0), (1, BLOCK), (1, 0))\nx = tl.load(p)"
        + STORE,
        ROWS + "x = i * 0.0\nfor k in range(n):\n    x += tl.load(x_ptr + row * stride + k // 2 * BLOCK + i)" + STORE,
        ROWS + "column = tl.program_id(1)\nx = tl.load(x_ptr + row * stride + i) + column" + STORE,
        ROWS + "x = tl.load(x_ptr + tl.load(w_ptr + row) * stride + i)" + STORE,
        ROWS + "x = i * 0.0\nfor _ in range(n):\n    x += tl.load(x_ptr + row * stride + i)" + STORE,
        ROWS + "x = tl.load(x_ptr + row)" + STORE,
        ROWS + "x = tl.load(x_ptr + row * stride + i)\ntl.atomic_add(x_ptr + row * stride + i, x)" + STORE,
        "i = tl.arange(0, BLOCK)\nx = tl.load(x_ptr + i)\ntl.store(y_ptr + i, x)",
        ROWS + 'x = tl.load(x_ptr + row * stride + i, cache_modifier=".cg")' + STORE,
        ROWS + 'x = tl.load(x_ptr + row * stride + i, eviction_policy="evict_last")' + STORE,
        ROWS + "x = tl.load(x_ptr + row * stride + i, volatile=True)" + STORE,
    ],
)
def test_what_may_be_read_again_or_is_spoken_for_is_left_alone(body: str) -> None:
    assert "reads each element of its tensor only once" in refusal(STRATEGY, kernel(body)).reason


@pytest.mark.parametrize(
    ("branches", "hints"),
    [
        ("if n % 2 == 0:\n    x = tl.load(P)\nelse:\n    x = tl.load(P, mask=i < n)\n", 2),
        (
            "if n % 2 == 0:\n    x = tl.load(P)\nelif n > 5:\n    x = tl.load(P, mask=i < n)\n"
            "else:\n    x = tl.load(P, i < n)\n",
            3,
        ),
        ("x = tl.load(P)\nif n % 2 == 0:\n    x = tl.load(P, mask=i < n)\n", 0),
        ("if n > 2:\n    x = tl.load(P)\nif n < 9:\n    x = tl.load(P, mask=i < n)\n", 0),
    ],
)
def test_what_branches_read_instead_of_each_other_is_read_once(branches: str, hints: int) -> None:
    text = kernel(ROWS + branches.replace("P", "x_ptr + row * stride + i") + STORE)
    found = STRATEGY.find(observe(text))
    assert isinstance(found, tuple) == (hints > 0)
    assert not hints or rewritten(STRATEGY, text)[0].count(HINT) == hints
    assert not isinstance(found, tuple) or found[0].region.label == "loads of x_ptr"


def test_a_pointer_that_cannot_be_followed_is_said() -> None:
    body = ROWS + "p = x_ptr if n > 3 else w_ptr\nx = tl.load(p + row * stride + i)" + STORE
    assert "Not every pointer can be followed" in refusal(STRATEGY, kernel(body)).reason


FOLLOWED = {
    "a step that the compiler knows": "p = x_ptr + row * stride + lanes\nfor k in range(0, n, BLOCK):\n"
    "    x = tl.load(p, mask=lanes < n - k, other=0.0)\n    tl.store(y_ptr + row * stride + k + lanes, x, mask=lanes < n - k)\n"
    "    p += BLOCK",
    "a step that is multiplied elsewhere": "p = x_ptr + row * stride + lanes\nfor k in range(0, 1):\n"
    "    x = tl.load(p, mask=lanes < n)\n    tl.store(y_ptr + row * stride + k + lanes, x, mask=lanes < n)\n    p += stride",
    "numbers in front": "at = row * stride\nx = tl.load(at + lanes + x_ptr, mask=lanes < n)\n"
    "tl.store(BLOCK - BLOCK + at.to(tl.int64) + lanes + y_ptr, x, mask=lanes < n)",
}


def test_a_number_that_is_added_is_no_pointer() -> None:
    texts = {
        name: kernel("row = tl.program_id(0)\nlanes = tl.arange(0, BLOCK)\n" + body) for name, body in FOLLOWED.items()
    }
    rows = [
        (name, text, rewritten(STRATEGY, text)[0], ["launch(randn(8, 128), randn(128))"])
        for name, text in texts.items()
    ]
    assert [name for name, _, after, _ in rows if HINT not in after] == []
    assert differing(rows) == {}


@pytest.mark.parametrize("pointer", ["tl.load(w_ptr) + x_ptr", "(x_ptr if n > 3 else w_ptr) + stride"])
def test_what_may_be_a_pointer_in_front_of_another_is_left_open(pointer: str) -> None:
    body = ROWS + f"p = {pointer}\nq = tl.load(w_ptr)\nq += x_ptr\nx = tl.load(p + i) + tl.load(q)" + STORE
    assert "Not every pointer can be followed" in refusal(STRATEGY, kernel(body)).reason


HELPER = "@triton.jit\ndef helper(a):\n    return a + 1.0\n\n\n"


@pytest.mark.parametrize(
    ("body", "offered"),
    [
        ("x = helper(tl.load(x_ptr + row * stride + i))", True),
        ("p = x_ptr + row * stride + i\nx = tl.load(p)\nx = helper(x)", True),
        ("x = tl.load(x_ptr + row * stride + i).to(tl.float32)\nx = x.to(x_ptr.dtype.element_ty)", True),
        ("kind = x_ptr.dtype.element_ty\nx = helper(tl.load(x_ptr + row * stride + i).to(kind))", True),
        ("x = tl.load(x_ptr + row * stride + i) + helper((x_ptr + row).to(x_ptr.dtype))", False),
        ("p = x_ptr + row * stride\nx = tl.load(x_ptr + row * stride + i) + helper(p)", False),
    ],
)
def test_only_a_pointer_that_is_handed_on_may_be_read_elsewhere(body: str, offered: bool) -> None:
    text = kernel(ROWS + body + STORE).replace("@triton.jit\ndef first", HELPER + "@triton.jit\ndef first")
    observation = observe(text)
    found = next(k for k in observation.support.kernels(text) if k.name == "first_kernel")
    assert isinstance(STRATEGY.find(dataclasses.replace(observation, kernel=found)), tuple) == offered


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        ("tl.load(P, mask=(i < n))", f"tl.load(P, mask=(i < n), {HINT})"),
        ("tl.load(P, (i < n))", f"tl.load(P, (i < n), {HINT})"),
        ("tl.load(P, mask=i < n,)", f"tl.load(P, mask=i < n, {HINT},)"),
        (
            "tl.load(\n        P,\n        mask=i < n,\n    )",
            f"tl.load(\n        P,\n        mask=i < n,\n        {HINT},\n    )",
        ),
        ("tl.load(\n        P, mask=i < n\n    )", f"tl.load(\n        P, mask=i < n, {HINT}\n    )"),
    ],
)
def test_the_hint_is_the_last_argument(written: str, expected: str) -> None:
    pointer = "x_ptr + row * stride + i"
    end = "    i = tl.arange(0, BLOCK)\n"
    text = kernel(ROWS).replace(end, f"{end}    x = {written}\n".replace("P", pointer))
    (after,) = rewritten(STRATEGY, text)
    assert f"    x = {expected}\n".replace("P", pointer) in after


def test_a_comment_behind_the_arguments_is_not_moved() -> None:
    text = kernel(ROWS + "x = tl.load(\n    x_ptr + row * stride + i  # all of it\n)" + STORE)
    assert "reads each element" in refusal(STRATEGY, text).reason


def test_a_product_reads_its_operands_again() -> None:
    assert isinstance(refusal(STRATEGY, (EXAMPLES / "triton_matmul.py").read_text()).reason, str)


def test_a_gain_is_expected_only_where_something_is_read_again() -> None:
    alone = kernel(ROWS + "x = tl.load(x_ptr + row * stride + i)" + STORE)
    beside = kernel(ROWS + "x = tl.load(x_ptr + row * stride + i) * tl.load(w_ptr + i)" + STORE)
    gains = [STRATEGY.find(observe(text))[0].params["expected_gain"] for text in (alone, beside)]
    assert gains[0] == 0.0 < gains[1]


def test_without_a_gpu_there_is_nothing_to_measure() -> None:
    assert "needs a GPU to measure" in refusal(STRATEGY, STRATEGY.example.before, CPU).reason


def test_the_example_computes_the_same(tmp_path: Path) -> None:
    check = """\
import torch
import after, before
x, weight = torch.randn(7, 100), torch.randn(100)
assert torch.equal(after.rms_norm(x, weight), before.rms_norm(x, weight))
"""
    run_interpreted(tmp_path, {"before": STRATEGY.example.before, "after": STRATEGY.example.after}, check)
