"""Even blocks: which masks go, who computes the flag, what the gate says of odd sizes, and what is refused."""

import ast

import pytest

from kernelwright.macro.strategies.triton_even_blocks import STRATEGY
from macro.triton_files import HEAD, differing, gated, observe, refusal, rewritten

LAUNCH = "    BLOCK = 64\n    first_kernel[(x.shape[0],)](x, y, x.stride(0), x.shape[1], BLOCK=BLOCK)\n"


def kernel(loop: str, launch: str = LAUNCH, jit: str = "@triton.jit", more: str = "", kind: str = "") -> str:
    """A file with a kernel that sums a row, and writes the row and the sum."""
    lines = "".join(f"    {line}\n" for line in loop.splitlines())
    return (
        f"{HEAD}{jit}\ndef first_kernel(x_ptr, y_ptr, stride, n{kind}, BLOCK: tl.constexpr{more}):\n"
        "    row = tl.program_id(0)\n    lanes = tl.arange(0, BLOCK)\n    total = 0.0\n"
        f"{lines}    tl.store(y_ptr + row, total)\n\n\n"
        "# workload: sums(randn(5, 128))\n# workload: sums(randn(5, 131))\n"
        f"def sums(x):\n    y = torch.empty(x.shape[0], device=x.device)\n{launch}    return y\n"
    )


def summed(load: str, head: str = "for k in range(0, n, BLOCK):", before: str = "") -> str:
    inner = "\n    ".join([*before.splitlines(), f"total += tl.sum({load}, axis=0)"])
    return f"{head}\n    {inner}"


PLAIN = summed("tl.load(x_ptr + row * stride + k + lanes, mask=k + lanes < n, other=0.0)")
AT = "x_ptr + row * stride + k + lanes"
BY_BLOCKS = "x_ptr + row * stride + k * BLOCK + lanes"
COUNTED = "for k in range(0, tl.cdiv(n, BLOCK)):"

MOVED = "for k in range(0, n, BLOCK):\n    total += tl.sum(tl.load(x_ptr + at, mask=at < n))\n    {}"

FORMS = {
    "start + lanes < n": (PLAIN, f"tl.load({AT})"),
    "lanes < n - start": (summed(f"tl.load({AT}, mask=lanes < n - k, other=0.0)"), f"tl.load({AT})"),
    "n > lanes + start": (summed(f"tl.load({AT}, mask=n > lanes + k, other=0.0)"), f"tl.load({AT})"),
    "at most n - 1": (summed(f"tl.load({AT}, mask=lanes + k <= n - 1, other=0.0)"), f"tl.load({AT})"),
    "by position": (summed(f"tl.load({AT}, k + lanes < n, 0.0)"), f"tl.load({AT})"),
    "through names": (
        summed(
            "tl.load(x_ptr + row * stride + i, mask=inside, other=0.0)",
            before="i = k + lanes\ninside = i < n",
        ),
        "tl.load(x_ptr + row * stride + i)",
    ),
    "one of several conditions": (
        summed(f"tl.load({AT}, mask=(k + lanes < n) & (lanes >= 2), other=0.0)"),
        f"tl.load({AT}, mask=lanes >= 2, other=0.0)",
    ),
    "one of several with a name": (
        summed(
            f"tl.load({AT}, mask=inside, other=0.0)", before="inside = (k + lanes < n) & (lanes >= 2) & (lanes < 50)"
        ),
        f"tl.load({AT}, mask=(lanes >= 2) & (lanes < 50), other=0.0)",
    ),
    "several joined by and": (
        summed(f"tl.load({AT}, mask=inside, other=0.0)", before="inside = row >= 0 and k + lanes < n"),
        f"tl.load({AT}, mask=row >= 0, other=0.0)",
    ),
    "lanes that move on": (
        "at = lanes\n" + summed("tl.load(x_ptr + row * stride + at, mask=at < n, other=0.0)") + "\n    at += BLOCK",
        "tl.load(x_ptr + row * stride + at)",
    ),
    "lanes that move on by blocks": (
        "at = lanes\n"
        + summed("tl.load(x_ptr + row * stride + at, mask=at < n, other=0.0)", COUNTED)
        + "\n    at += BLOCK",
        "tl.load(x_ptr + row * stride + at)",
    ),
    "numbers of blocks": (
        summed(f"tl.load({BY_BLOCKS}, mask=lanes < n - k * BLOCK, other=0.0)", COUNTED),
        f"tl.load({BY_BLOCKS})",
    ),
    "the number of blocks by a name": (
        "blocks = (n + BLOCK - 1) // BLOCK\n"
        + summed(f"tl.load({BY_BLOCKS}, mask=k * BLOCK + lanes < n, other=0.0)", "for k in range(blocks):"),
        f"tl.load({BY_BLOCKS})",
    ),
    "a range that begins further on": (
        summed(f"tl.load({AT}, mask=k + lanes < n, other=0.0)", "for k in range(row * BLOCK, n, 2 * BLOCK):"),
        f"tl.load({AT})",
    ),
    "a range that may end sooner": (
        "end = tl.minimum((row + 1) * BLOCK, n)\n"
        + summed(f"tl.load({AT}, mask=k + lanes < n, other=0.0)", "for k in range(0, end, BLOCK):"),
        f"tl.load({AT})",
    ),
    "tl.range with stages": (
        summed(f"tl.load({AT}, mask=k + lanes < n, other=0.0)", "for k in tl.range(0, n, BLOCK, num_stages=2):"),
        f"tl.load({AT})",
    ),
    "lanes that stay where they are": (
        "p = x_ptr + row * stride + lanes\n"
        + summed("tl.load(p, mask=lanes < n, other=0.0)", "for k in range(0, tl.cdiv(n, BLOCK)):", "q = k")
        + "\n    p += BLOCK",
        "tl.load(p)",
    ),
    "a condition above the loop": (
        "p = x_ptr + row * stride + lanes\ninside = (lanes >= 2) & (lanes < n)\n"
        + summed("tl.load(p, mask=inside, other=0.0)")
        + "\n    p += BLOCK",
        "tl.load(p, mask=lanes >= 2, other=0.0)",
    ),
    "what is left": (
        "p = x_ptr + row * stride + lanes\n"
        + summed("tl.load(p, mask=lanes < k, other=0.0)", "for k in range(n, 0, -BLOCK):")
        + "\n    p += BLOCK",
        "tl.load(p)",
    ),
    "hints and a wide type": (
        summed(
            f"tl.load({AT}, mask=i < n, other=0.0)",
            before="i = k + tl.max_contiguous(tl.multiple_of(lanes, 8), 8).to(tl.int64)",
        ),
        f"tl.load({AT})",
    ),
}


def light_loads(text: str) -> list[str]:
    """The loads where the flag is set; beside them stand those of before."""
    branches = [node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.If)]
    found: list[str] = []
    for branch in branches:
        assert ast.unparse(branch.test).startswith("EVEN_")
        assert branch.orelse
        found += [ast.unparse(n) for s in branch.body for n in ast.walk(s) if ast.unparse(n).startswith("tl.load(")
                  and isinstance(n, ast.Call) and ast.unparse(n.func) == "tl.load"]  # fmt: skip
    return found


def heavy(text: str) -> str:
    """The text with what stands where the flag is not set in the place of the branch."""

    class Otherwise(ast.NodeTransformer):
        def visit_If(self, node: ast.If) -> list[ast.stmt]:
            return node.orelse

    return ast.unparse(Otherwise().visit(ast.parse(text)))


@pytest.mark.parametrize(("loop", "expected"), FORMS.values(), ids=FORMS)
def test_the_mask_of_the_loop_goes_and_no_other(loop: str, expected: str) -> None:
    text = kernel(loop)
    (after,) = rewritten(STRATEGY, text)
    assert light_loads(after) == [ast.unparse(ast.parse(expected))]
    back = heavy(after).replace(", EVEN_N: tl.constexpr=False", "").replace(", EVEN_N=x.shape[1] % BLOCK == 0", "")
    assert back == ast.unparse(ast.parse(text)), "where it is not even, nothing has changed"


HEURISTIC = '{"EVEN_N": lambda args: args["n"] % args["BLOCK"] == 0}'
TUNED = '@triton.autotune([triton.Config({"BLOCK": 64})], key=["n"])\n'
LITERAL = LAUNCH.replace("BLOCK=BLOCK", "BLOCK=64").replace("    BLOCK = 64\n", "")
WITHOUT = LAUNCH.replace(", BLOCK=BLOCK", "").replace("    BLOCK = 64\n", "")
OTHERS = '@triton.heuristics({"num_warps": lambda args: 4})\n@triton.jit'
LIBRARY = (
    "def tuned(configs, key):\n    return triton.autotune(configs, key)\n\n\n"
    '@tuned(configs=[triton.Config({"BLOCK": 64})], key=["n"])\n'
)
DICTIONARY = LAUNCH.replace("BLOCK = 64", 'meta = {"BLOCK": 64}').replace("BLOCK=BLOCK", "**meta")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (kernel(PLAIN), "BLOCK=BLOCK, EVEN_N=x.shape[1] % BLOCK == 0)"),
        (kernel(PLAIN, LAUNCH.replace("x.shape[1]", "x.shape[0] + 1")), "EVEN_N=(x.shape[0] + 1) % BLOCK == 0)"),
        (kernel(PLAIN, LITERAL), f"@triton.heuristics({HEURISTIC})\n@triton.jit"),
        (kernel(PLAIN, DICTIONARY), f"@triton.heuristics({HEURISTIC})\n@triton.jit"),
        (kernel(PLAIN, WITHOUT, f"{TUNED}@triton.jit"), f"{TUNED}@triton.heuristics({HEURISTIC})\n@triton.jit"),
        (
            kernel(PLAIN, WITHOUT, f"@other\n{TUNED}@triton.jit"),
            f"@other\n{TUNED}@triton.heuristics({HEURISTIC})\n@triton.jit",
        ),
        (kernel(PLAIN, WITHOUT, f"{LIBRARY}@triton.jit"), f"{LIBRARY}@triton.heuristics({HEURISTIC})\n@triton.jit"),
        (kernel(PLAIN, LITERAL, OTHERS), f'({{"num_warps": lambda args: 4, {HEURISTIC[1:]})'),
        (kernel(PLAIN, kind=": tl.constexpr"), "    EVEN_N: tl.constexpr = n % BLOCK == 0\n    row ="),
    ],
    ids=[
        "a variable", "a sum", "a literal", "a dictionary", "a configuration", "a wrapper around it",
        "a library's autotuner", "other heuristics", "in the kernel",
    ],
)  # fmt: skip
def test_the_flag_is_computed_where_the_block_size_is_chosen(text: str, expected: str) -> None:
    (after,) = rewritten(STRATEGY, text)
    assert expected in after
    assert after.count("EVEN_N") == (2 if "constexpr = n %" in after else 3)


def test_every_launch_of_the_function_gets_the_flag() -> None:
    (after,) = rewritten(STRATEGY, kernel(PLAIN, LAUNCH + LAUNCH.partition("\n")[2]))
    assert after.count("EVEN_N=x.shape[1] % BLOCK == 0") == 2


def test_neighbours_share_a_branch_and_comments_stay() -> None:
    loop = (
        "for k in range(0, n, BLOCK):\n    # the row\n    a = tl.load(x_ptr + k + lanes, mask=k + lanes < n, other=0.0)\n"
        "    # again\n    b = tl.load(x_ptr + row * stride + k + lanes,\n                mask=k + lanes < n, other=0.0)\n"
        "    total += tl.sum(a * b, axis=0)"
    )
    (after,) = rewritten(STRATEGY, kernel(loop))
    assert (
        """\
        # the row
        if EVEN_N:
            a = tl.load(x_ptr + k + lanes)
            # again
            b = tl.load(x_ptr + row * stride + k + lanes)
        else:
            a = tl.load(x_ptr + k + lanes, mask=k + lanes < n, other=0.0)
            b = tl.load(x_ptr + row * stride + k + lanes,
                        mask=k + lanes < n, other=0.0)
        total += """
        in after
    )


def test_loops_over_two_sizes_get_two_flags() -> None:
    loop = f"{PLAIN}\n{PLAIN.replace('n,', 'stride,').replace('< n', '< stride')}"
    (after,) = rewritten(STRATEGY, kernel(loop))
    assert "EVEN_N=x.shape[1] % BLOCK == 0, EVEN_STRIDE=x.stride(0) % BLOCK == 0" in after
    assert after.count("if EVEN_N:") == after.count("if EVEN_STRIDE:") == 1


RUN = {
    name: kernel(FORMS[name][0])
    for name in (
        "start + lanes < n",
        "one of several with a name",
        "lanes that move on",
        "a range that may end sooner",
        "what is left",
    )
} | {
    "a literal": kernel(PLAIN, LITERAL),
    "other heuristics": kernel(PLAIN, LITERAL, OTHERS),
    "a library's autotuner": kernel(PLAIN, WITHOUT, f"{LIBRARY}@triton.jit"),
    "in the kernel": kernel(PLAIN, kind=": tl.constexpr"),
    "the example": STRATEGY.example.before,
}


def test_each_form_computes_what_its_baseline_does_on_even_and_odd_sizes() -> None:
    calls = ["sums(randn(5, 128))", "sums(randn(5, 131))", "sums(randn(2, 1))"]
    product = ["matmul(randn(20, 96), randn(96, 20))", "matmul(randn(20, 67), randn(67, 20))"]
    rows = [
        (name, text, rewritten(STRATEGY, text)[0], product if name == "the example" else calls)
        for name, text in RUN.items()
    ]
    for name in ("lanes that stay where they are", "a condition above the loop"):  # they read past odd rows
        text = kernel(FORMS[name][0])
        rows.append((name, text, rewritten(STRATEGY, text)[0], calls[:1]))
    assert differing(rows) == {}


def test_the_gate_finds_a_flag_that_is_always_set() -> None:
    calls = ["sums(randn(5, 128))", "sums(randn(5, 131))"]
    (made,) = rewritten(STRATEGY, kernel(PLAIN, LITERAL))
    always = made.replace('args["n"] % args["BLOCK"] == 0', "True")
    assert always != made
    passed, other = gated([(kernel(PLAIN, LITERAL), one, calls) for one in (made, always)])
    assert passed == "passed"
    assert other != "passed"


@pytest.mark.parametrize(
    ("loop", "words"),
    [
        (summed(f"tl.load({AT}, mask=lanes < stride - k, other=0.0)"), "No mask in a loop"),
        (summed(f"tl.load({AT}, mask=k + lanes < n - 1, other=0.0)"), "No mask in a loop"),
        (summed(f"tl.load({AT}, mask=k + 2 * lanes < n, other=0.0)"), "No mask in a loop"),
        (summed(f"tl.load({AT}, mask=k + lanes < n, other=0.0)", "for k in range(1, n, BLOCK):"), "No mask in a loop"),
        (summed(f"tl.load({AT}, mask=k + lanes < n, other=0.0)", "for k in range(0, n, 32):"), "No mask in a loop"),
        (summed(f"tl.load({AT}, mask=k + lanes < n, other=0.0)", "for k in range(0, n):"), "No mask in a loop"),
        (summed(f"tl.load({AT}, mask=k + lanes < n, other=0.0)", "for k in range(0, stride, BLOCK):"), "No mask in a loop"),
        (summed(f"tl.load({BY_BLOCKS}, mask=k * BLOCK + lanes < n, other=0.0)", "for k in range(0, n):"), "No mask"),
        (summed(f"tl.load({AT}, mask=lanes < n, other=0.0)", "for k in range(-BLOCK, n, BLOCK):"), "No mask in a loop"),
        (summed(f"tl.load({AT}, mask=lanes < n, other=0.0)", "for k in range(0, stride, BLOCK):"), "No mask in a loop"),
        (summed(f"tl.load({AT}, mask=lanes < k, other=0.0)", "for k in range(n, -1, -BLOCK):"), "No mask in a loop"),
        (summed(f"tl.load({AT}, mask=lanes < k, other=0.0)", "for k in range(n - 1, 0, -BLOCK):"), "No mask in a loop"),
        (summed(f"tl.load({AT}, mask=lanes < k, other=0.0)", "for k in range(n, 0, -32):"), "No mask in a loop"),
        ("inside = (lanes >= 2) & (lanes < n)\nn = n - 1\n" + summed(f"tl.load({AT}, mask=inside)"), "No mask in a loop"),
        (summed(f"tl.load({AT}, mask=k + lanes != n, other=0.0)"), "No mask in a loop"),
        (summed("tl.load(x_ptr + row, mask=k + lanes < n, other=0.0)"), "No mask in a loop"),
        (summed(f"tl.load({AT}, mask=inside, other=0.0)", before="inside = k + lanes < n\ninside &= lanes > 2"), "No"),
        (summed(f"tl.load({AT}, mask=k + lanes < n, other=0.0)", before="k = k + 1"), "No mask in a loop"),
        ("n = n - 1\n" + PLAIN, "No mask in a loop"),
        ("at = lanes\n" + MOVED.format("at += 32"), "No mask in a loop"),
        ("at = lanes\n" + MOVED.format("if k > 3:\n        at += BLOCK"), "No mask in a loop"),
        ("at = lanes + 1\n" + MOVED.format("at += BLOCK"), "No mask in a loop"),
        ("at = lanes\nfor _ in range(2):\n    " + MOVED.format("at += BLOCK").replace("\n", "\n    "), "No mask in a loop"),
        ("at = lanes\n" + MOVED.replace(":\n", ":\n    at += BLOCK\n").format(""), "No mask in a loop"),
        (f"for k in range(0, n, BLOCK):\n    if k > 0:\n        total += tl.sum(tl.load({AT}))\n    else:\n"
         f"        total += tl.sum(tl.load({AT}, mask=k + lanes < n, other=0.0))", "No mask in a loop"),
        (summed(f"tl.load({AT})"), "No load in a loop of the kernel has a mask"),
        ("total += tl.sum(tl.load(x_ptr + lanes, mask=lanes < n))", "no loop"),
    ],
)  # fmt: skip
def test_masks_that_may_keep_out_more_are_left_alone(loop: str, words: str) -> None:
    assert words in refusal(STRATEGY, kernel(loop)).reason


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (kernel(PLAIN, more=", EVEN_K: tl.constexpr = False"), "a flag for even blocks already: EVEN_K"),
        (kernel(PLAIN, LITERAL, "@other\n@triton.jit"), "other decorators"),
        (kernel(PLAIN, LITERAL).replace("n, BLOCK: tl.constexpr", "n, BLOCK: tl.constexpr = 64").replace(", BLOCK=64)", ")"),
         "BLOCK has a default"),
        (kernel(PLAIN, LITERAL) + "\n\n@triton.jit\ndef second(x, n):\n    first_kernel(x, x, n, n, 64)\n", "calls the kernel"),
        (kernel(PLAIN, more=", *rest"), "by a star"),
        (kernel(PLAIN, "    pass\n"), "launch"),
    ],
)  # fmt: skip
def test_flags_that_nobody_can_compute_are_refused(text: str, words: str) -> None:
    assert words in refusal(STRATEGY, text).reason


def test_a_size_that_is_known_to_be_odd_promises_nothing() -> None:
    product = STRATEGY.example.before
    odd = product.replace("4096, 4096", "4096, 4095", 1).replace("(4096, 4096", "(4095, 4096", 1).replace("64", "65")
    gains = []
    for text in (product, odd, kernel(PLAIN)):  # without a product nothing is expected
        actions = STRATEGY.find(observe(text))
        assert isinstance(actions, tuple)
        gains.append(actions[0].params["expected_gain"])
    assert gains == [0.03, 0.0, 0.0]
