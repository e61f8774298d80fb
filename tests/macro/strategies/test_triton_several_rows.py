"""Several rows a program: how each form is written, what the gate says of odd numbers of rows, and what is refused."""

import ast

import pytest

from kernelwright.macro.strategies.triton_several_rows import STRATEGY
from macro.triton_files import HEAD, differing, gated, observe, refusal, rewritten

ROW = "row = tl.program_id(0)\ncols = tl.arange(0, BLOCK)\nmask = cols < n\n"
LOAD = 'x = tl.load(x_ptr + row * stride + cols, mask=mask, other=-float("inf"))\n'
STORE = "tl.store(y_ptr + row * n + cols, x, mask=mask)"
SETUP = """\
    y = torch.empty_like(x)
    s = torch.empty(x.shape[0], device=x.device)
    BLOCK = triton.next_power_of_2(x.shape[1])
"""
LAUNCH = "first_kernel[(x.shape[0],)](x, y, s, x.stride(0), x.shape[1], BLOCK=BLOCK)"


def kernel(
    body: str, launch: str = LAUNCH, setup: str = SETUP, jit: str = "@triton.jit", more: str = "", calls: str = ""
) -> str:
    lines = "".join(f"    {line}\n" if line else "\n" for line in body.splitlines())
    workload = calls or "# workload: rows(randn(20000, 60))\n# workload: rows(randn(37, 60))\n"
    return (
        f"{HEAD}{jit}\ndef first_kernel(x_ptr, y_ptr, s_ptr, stride, n, BLOCK: tl.constexpr{more}):\n{lines}\n\n"
        f"{workload}def rows(x):\n{setup}    {launch}\n    return y, s\n"
    )


SUMS = "tl.store(s_ptr + row, tl.sum(tl.where(mask, x, 0.0), axis=0))\n"
SOFTMAX = ROW + LOAD + "e = tl.exp(x - tl.max(x))\nx = e / tl.sum(e, 0)\n" + STORE + "\n" + SUMS
TYPED = "row = tl.program_id(axis=0).to(tl.int64)\n" + ROW.partition("\n")[2] + LOAD + STORE + "\n" + SUMS
INLINE = (
    "cols = tl.arange(0, BLOCK)\nx_ptr += tl.program_id(0) * stride\n"
    "x = tl.load(x_ptr + cols, cols < n, 0.0)\n"
    "tl.store(y_ptr + tl.program_id(0) * n + cols, x * 2, cols < n)\ntl.store(s_ptr + tl.program_id(0), tl.max(x, axis=0))"
)
NORM = (
    ROW + LOAD + "mean = tl.sum(tl.where(mask, x, 0.0), axis=0) / n\nd = tl.where(mask, x - mean, 0.0)\n"
    "scale = 1 / tl.sqrt(tl.sum(d * d, axis=-1) / n + 1e-5)\nw = tl.load(x_ptr + cols, mask=mask)\n"
    "if stride > 0:\n    w = w + 1\nx = d * scale * w\ntl.store(s_ptr + row, mean)\n" + STORE
)  # fmt: skip
PICKED = (
    ROW + "first = tl.load(x_ptr + row * stride)\nat = tl.abs(first * 100).to(tl.int32) % 3\n"
    "x = tl.load(x_ptr + at * stride + cols, mask=mask & (cols > 0), other=0.0)\n" + STORE + "\n"
    "tl.store(s_ptr + row, tl.argmax(x, axis=0).to(tl.float32))"
)  # fmt: skip
PICKED_APART = (
    ROW + LOAD + "ks = tl.arange(0, K)\ntl.store(s_ptr + row * K + ks, tl.sum(tl.where(mask, x, 0.0)) + ks)\n" + STORE
)  # fmt: skip
TOP = (
    ROW + LOAD + "ks = tl.arange(0, 4)\n"
    "total = tl.sum(tl.load(x_ptr + row * stride + ks, mask=ks < n, other=0.0), axis=0)\n"
    "for k in tl.static_range(3):\n    best = tl.argmax(x, axis=0)\n    top = tl.max(x, axis=0)\n"
    "    tl.store(y_ptr + row * n + k, top, mask=k < n)\n    total += tl.where(k < n, top * best, 0.0)\n"
    '    x = tl.where(cols == best, -float("inf"), x)\ntl.store(s_ptr + row, total)'
)  # fmt: skip
DOUBLED = ROW + LOAD + "for turn in range(stride):\n    x = x + turn * tl.max(x, axis=0)\n" + STORE + "\n" + SUMS
CARRIED = (
    ROW + LOAD + 'total = 0.0\nbest = -float("inf")\nat = 0\nfor k in range(3):\n'
    "    best = tl.maximum(best, tl.max(x, axis=0))\n    total += best * k\n"
    "    at += tl.argmax(x, axis=0)\n    x = x * 0.5\n" + STORE + "\ntl.store(s_ptr + row, total + at)"
)  # fmt: skip
SCANNED = ROW + LOAD + "x = tl.cumsum(tl.where(mask, x, 0.0), axis=0)\n" + STORE + "\n" + SUMS
AGAIN = (
    ROW + LOAD + STORE + "\nx = tl.sum(tl.where(mask, x, 0.0), axis=0)\ntotal = 0.0\nfor k in range(3):\n"
    "    e = x_ptr + row * stride + cols\n    e = tl.load(e, mask=mask, other=0.0) * k\n    e = tl.sum(e, axis=0)\n"
    "    total += e\nif stride > 0:\n    e2 = x + cols\n    e2 = tl.max(e2)\n    total += e2\n"
    "mask = x > 0\nx += total\nx = tl.where(mask, x, 0.0)\ntl.store(s_ptr + row, x)"
)  # fmt: skip
FILLED = (
    ROW + LOAD + "total = tl.zeros((BLOCK,), dtype=tl.float32)\ntop = tl.full([BLOCK], -3.0, tl.float32)\n"
    "w = tl.zeros([BLOCK], tl.float32)\nz = tl.zeros_like(cols)\nfor k in range(3):\n    total += x * k\n"
    "    top = tl.maximum(top, x - k)\n    w += k\nfor k in range(stride):\n    more = tl.zeros((BLOCK,), tl.float32)\n"
    "    more += 1\n    total += more\nx = total + top * w + z\n" + STORE + "\n" + SUMS
)  # fmt: skip
HELPED = ROW + LOAD + "x = soft(x) + tl.num_programs(1)\n" + STORE + "\n" + SUMS + "return"
HELPER = (
    "@triton.jit\ndef soft(x):\n    return x / (1.0 + tl.exp(-x))\n\n\n"
    "@triton.jit\ndef most(x):\n    return tl.max(x)\n\n\n"
)


def with_helpers(text: str) -> str:
    return text.replace("# workload", HELPER + "# workload", 1)


COUNTED = kernel(SOFTMAX, more=", m=7").replace("first_kernel[(x.shape[0],)]", "first_kernel[(len_,)]")
COUNTED = COUNTED.replace("BLOCK=BLOCK)", "BLOCK=BLOCK, m=len_)").replace(
    "    y = torch", "    len_ = x.shape[0]\n    y = torch"
)

FORMS = {
    "a softmax": kernel(SOFTMAX),
    "a wide row number": kernel(TYPED),
    "the id within expressions": kernel(INLINE),
    "a mean and a branch that all rows take": kernel(NORM),
    "rows that are looked up": kernel(PICKED),
    "a scan": kernel(SCANNED),
    "as many results as another constant says": kernel(
        PICKED_APART,
        LAUNCH.replace("BLOCK=BLOCK", "BLOCK=BLOCK, K=4"),
        SETUP.replace("x.shape[0],", "(x.shape[0], 4),"),
        more=", K: tl.constexpr",
    ),
    "picks written out": kernel(TOP, setup=SETUP.replace("empty_like", "zeros_like")),
    "a loop that all rows turn alike": kernel(DOUBLED),
    "numbers that a loop begins with": kernel(CARRIED),
    "names that one value after another has": kernel(AGAIN),
    "blocks of one number": kernel(FILLED),
    "a function of the file, and a return at the end": with_helpers(kernel(HELPED)),
    "a parameter that has the rows already, and defaults": COUNTED,
    "a grid with a name": kernel(SOFTMAX, "grid = (x.shape[0],)\n    " + LAUNCH.replace("(x.shape[0],)", "grid")),
    "a grid that asks": kernel(SOFTMAX, LAUNCH.replace("(x.shape[0],)", "lambda meta: (x.shape[0], 1)")),
    "a literal block": kernel(SOFTMAX, LAUNCH.replace("BLOCK=BLOCK", "BLOCK=64")),
    "a block size computed in the launch": kernel(
        SOFTMAX, LAUNCH.replace("BLOCK=BLOCK", "BLOCK=triton.next_power_of_2(x.shape[1])")
    ),
    "tuned warps": kernel(SOFTMAX, jit='@triton.autotune([triton.Config({}, num_warps=2)], key=["n"])\n@triton.jit'),
}


def test_each_form_is_written_for_blocks_of_several_sizes() -> None:
    for name, text in FORMS.items():
        variants = rewritten(STRATEGY, text)
        assert len(set(variants)) == 4, name
        for after in variants:
            ast.parse(after)
            assert after.count("tl.arange(0, ROWS)[:, None]") == 1, name
            assert after.count("triton.cdiv(") == 1, name


@pytest.mark.parametrize(
    ("form", "expected"),
    [
        ("a softmax", "row = tl.program_id(0) * ROWS + tl.arange(0, ROWS)[:, None]\n    rows_inside = row < n_rows\n"),
        ("a softmax", "tl.max(x, axis=1, keep_dims=True))\n    x = e / tl.sum(e, axis=1, keep_dims=True)\n"),
        (
            "a softmax",
            "tl.store(s_ptr + row, tl.sum(tl.where(mask, x, 0.0), axis=1, keep_dims=True), mask=rows_inside)",
        ),
        ("a softmax", "BLOCK: tl.constexpr, n_rows, ROWS: tl.constexpr):"),
        ("a softmax", "    ROWS = max(2048 // BLOCK, 1)\n    first_kernel[(triton.cdiv(x.shape[0], ROWS),)](x,"),
        ("a softmax", "BLOCK=BLOCK, n_rows=x.shape[0], ROWS=ROWS)"),
        (
            "a wide row number",
            "row = (tl.program_id(axis=0) * ROWS + tl.arange(0, ROWS)[:, None]).to(tl.int64)\n    rows_inside = row < n_rows",
        ),
        (
            "the id within expressions",
            "    rows = tl.program_id(0) * ROWS + tl.arange(0, ROWS)[:, None]\n    rows_inside = rows < n_rows\n"
            "    x_ptr += rows * stride\n    x = tl.load(x_ptr + cols, (cols < n) & rows_inside, 0.0)\n",
        ),
        ("a mean and a branch that all rows take", "w = tl.load(x_ptr + cols, mask=mask)\n"),
        ("rows that are looked up", "first = tl.load(x_ptr + row * stride, mask=rows_inside)\n"),
        ("rows that are looked up", "mask=mask & (cols > 0) & rows_inside, other=0.0)"),
        ("a scan", "tl.cumsum(tl.where(mask, x, 0.0), axis=1)"),
        ("picks written out", "mask=(ks < n) & rows_inside, other=0.0), axis=1, keep_dims=True)\n"),
        ("as many results as another constant says", "tl.store(s_ptr + row * K + ks,"),
        ("picks written out", "    ROWS = max(2048 // BLOCK, 1)\n"),
        ("picks written out", "        tl.store(y_ptr + row * n + k, top, mask=(k < n) & rows_inside)\n"),
        (
            "names that one value after another has",
            "    mask = x > 0\n    x += total\n    x = tl.where(mask, x, 0.0)\n",
        ),
        ("names that one value after another has", "    tl.store(s_ptr + row, x, mask=rows_inside)\n"),
        ("blocks of one number", "    total = tl.zeros((ROWS, BLOCK), dtype=tl.float32)\n"),
        ("blocks of one number", "    top = tl.full((ROWS, BLOCK), -3.0, tl.float32)\n"),
        ("blocks of one number", "    w = tl.zeros((1, BLOCK), tl.float32)\n"),
        ("numbers that a loop begins with", "    total = tl.full((ROWS, 1), 0.0, tl.float32)\n"),
        ("numbers that a loop begins with", '    best = tl.full((ROWS, 1), -float("inf"), tl.float32)\n'),
        ("numbers that a loop begins with", "    at = tl.full((ROWS, 1), 0, tl.int32)\n"),
        ("a loop that all rows turn alike", "x = x + turn * tl.max(x, axis=1, keep_dims=True)\n"),
        ("a parameter that has the rows already, and defaults", "m=7, ROWS: tl.constexpr = 1):"),
        ("a parameter that has the rows already, and defaults", "rows_inside = row < m\n"),
        ("a grid with a name", "    ROWS = max(2048 // BLOCK, 1)\n    grid = (triton.cdiv(x.shape[0], ROWS),)\n"),
        ("a grid that asks", "lambda meta: (triton.cdiv(x.shape[0], ROWS), 1)"),
        ("a literal block", "    ROWS = 32\n"),
        ("a block size computed in the launch", "ROWS = max(2048 // triton.next_power_of_2(x.shape[1]), 1)\n"),
    ],
)
def test_what_stands_where(form: str, expected: str) -> None:
    assert expected in rewritten(STRATEGY, FORMS[form])[0]


def test_a_program_id_of_a_library_counts_rows_too() -> None:
    (after, *_) = rewritten(STRATEGY, kernel(SOFTMAX.replace("tl.program_id(0)", "more.program_id(0)")))
    assert "row = more.program_id(0) * ROWS + tl.arange(0, ROWS)[:, None]\n" in after


def test_other_warps_than_four_are_raced_against_four() -> None:
    computed = kernel(
        SOFTMAX, LAUNCH.replace("BLOCK=BLOCK", "BLOCK=BLOCK, num_warps=warps"), SETUP + "    warps = BLOCK // 64\n"
    )
    for text in (kernel(SOFTMAX, LAUNCH.replace("BLOCK=BLOCK", "BLOCK=BLOCK, num_warps=1")), computed):
        variants = rewritten(STRATEGY, text)
        assert len(set(variants)) == 8
        assert all("num_warps=4" in after and "warps = " not in after for after in variants[:4])
        assert not any("num_warps=4" in after for after in variants[4:])


def test_each_form_computes_what_its_baseline_does() -> None:
    calls = ["rows(randn(37, 60))", "rows(randn(3, 1))"]
    variants = {name: rewritten(STRATEGY, text)[::3] for name, text in FORMS.items() if "tuned" not in name}
    rows = [(f"{name}/{i}", FORMS[name], one, calls) for name, some in variants.items() for i, one in enumerate(some)]
    assert len(rows) > 20
    assert differing(rows) == {}


def test_the_gate_passes_rows_that_do_not_come_out_even_and_nothing_less() -> None:
    calls = ["rows(randn(5, 600))", "rows(randn(3, 1))"]  # two rows a program: the interpreter takes long for many
    baseline = FORMS["a softmax"]
    (made, *_) = rewritten(STRATEGY, baseline)
    wrong = [
        made.replace("mask=mask & rows_inside)", "mask=mask)"),
        made.replace("tl.sum(e, axis=1, keep_dims=True)", "tl.sum(tl.sum(e, axis=1, keep_dims=True), axis=0)"),
    ]
    assert made not in wrong
    passed, *others = gated([(baseline, one, calls) for one in (made, *wrong)])
    assert passed == "passed"
    assert "passed" not in others


@pytest.mark.parametrize(
    ("body", "words"),
    [
        (ROW + "for i in range(0, n, BLOCK):\n    " + LOAD + STORE, "in steps of BLOCK"),
        (
            ROW + LOAD + "x += tl.zeros((BLOCK // 1,), tl.float32)\n" + STORE,
            "(BLOCK // 1,), tl.float32) is for several rows",
        ),
        (
            ROW + LOAD + "x += tl.full((BLOCK,), tl.sum(x), tl.float32)\n" + STORE,
            "tl.sum(x), tl.float32) is for several rows",
        ),
        (
            ROW + LOAD + STORE + "\nif stride > 0:\n    x = tl.sum(x)\ntl.store(s_ptr + row, x)",
            "More elements are stored than there are addresses.",
        ),
        (
            ROW + LOAD + STORE + "\ny = x\nfor k in range(3):\n    tl.store(s_ptr + row, y)\n    y = tl.sum(x)",
            "y has no element for each row or column before the loop.",
        ),
        (ROW + "for i in range(row):\n    " + LOAD + STORE, "What range(row)"),
        (ROW + "for i in other(n):\n    " + LOAD + STORE, "other(n)"),
        (ROW + "while n > 3:\n    " + LOAD + STORE, "may differ by row"),
        (
            ROW
            + LOAD
            + "top = n * 1.0\nfor i in range(3):\n    top += tl.max(x)\n"
            + STORE
            + "\ntl.store(s_ptr + row, top)",
            "top has no element for each row",
        ),
        (ROW + "if row > n:\n    return\n" + LOAD + STORE, "Which branch is taken differs"),
        (ROW + "if n > 3:\n    return\n" + LOAD + STORE, "may end or branch off"),
        (ROW + LOAD + STORE + "\ntl.atomic_add(s_ptr, tl.sum(x))", "tl.atomic_add(s_ptr, tl.sum(x))"),
        (ROW + LOAD + "x = other(x)\n" + STORE, "What other(x)"),
        (ROW + LOAD + "x = x - most(x)\n" + STORE, "What most(x)"),
        (ROW + LOAD + "x = x + offset()\n" + STORE, "What offset()"),
        (
            ROW + LOAD + "x = x + tl.num_programs(0)\n" + STORE,
            "take turns at the rows: tl.num_programs(0) is asked for",
        ),
        (ROW + LOAD + STORE + "\nreturn x", "may end or branch off"),
        (ROW + LOAD + "return\n" + STORE, "may end or branch off"),
        (ROW + LOAD + "x = tl.reshape(x, (BLOCK,))\n" + STORE, "tl.reshape"),
        (ROW + LOAD + "x = x[:, None]\n" + STORE, "x[:, None]"),
        (ROW + LOAD + "x = tl.sum(x, axis=1)\n" + STORE, "tl.sum(x, axis=1)"),
        (ROW + LOAD + "top, at = tl.max(x, axis=0, return_indices=True)\n" + STORE, "return_indices"),
        (ROW + LOAD + "tl.store(y_ptr + cols, x, mask=mask)", "Every row is stored at the same address"),
        (ROW + LOAD + "tl.store(y_ptr + row, x)", "More elements are stored"),
        (ROW + LOAD + "tl.store(s_ptr + row, tl.sum(x), mask=mask)", "A mask has more elements"),
        (ROW + LOAD + "x = x if row > 3 else x + 1\n" + STORE, "x if row > 3 else x + 1"),
        (ROW.replace("row =", "axis = 0\nrow =").replace("(0)", "(axis)") + LOAD + STORE, "tl.program_id(axis)"),
        (ROW.replace("program_id(0)", "program_id(1)") + LOAD + STORE, "does not ask for its program id along axis 0"),
        (ROW + "more = tl.arange(1, 33)\n" + LOAD + STORE, "no range of lanes from 0 on"),
        (
            ROW.replace("tl.arange(0, BLOCK)", "row * BLOCK + tl.arange(0, BLOCK)") + LOAD + STORE,
            "something longer than a row",
        ),
        (ROW + LOAD, "stores nothing"),
    ],
)
def test_what_has_another_meaning_for_several_rows_is_refused(body: str, words: str) -> None:
    assert words in refusal(STRATEGY, with_helpers(kernel(body))).reason


LONG = "# workload: rows(randn(64, 3000))\n"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (kernel(SOFTMAX, LAUNCH + "\n    " + LAUNCH), "launched from several places"),
        (kernel(SOFTMAX, LAUNCH.replace("(x.shape[0],)", "(count(x),)")), "How many rows the grid has"),
        (
            kernel(SOFTMAX, LAUNCH.replace("(x.shape[0],)", 'lambda m: (x.shape[0] // m["BLOCK"],)')),
            "follows a block size",
        ),
        (kernel(SOFTMAX, LAUNCH.replace("BLOCK=BLOCK", "BLOCK=length(x)")), "How long a block is"),
        (
            kernel(SOFTMAX, LAUNCH.replace("(x.shape[0],)", "grid"), "    grid = (x.shape[0],)\n" + SETUP),
            "before the block size",
        ),
        (kernel(SOFTMAX, setup=SETUP + "    ROWS = 3\n"), "another variable called ROWS"),
        (kernel(SOFTMAX, more=", *rest"), "by a star"),
        (kernel(SOFTMAX, calls=LONG), "A row has 4096 columns"),
        (
            kernel(SOFTMAX) + "\n\n@triton.jit\ndef second(x, n):\n    first_kernel(x, x, x, n, n, 64)\n",
            "calls the kernel",
        ),
    ],
)
def test_launches_that_cannot_be_changed_are_refused(text: str, words: str) -> None:
    assert words in refusal(STRATEGY, text).reason


@pytest.mark.parametrize(
    ("shape", "gain"), [((200000, 60), 1.0), ((200000, 600), 0.3), ((200, 60), 0.0)], ids=["short", "longer", "few"]
)
def test_the_gain_to_expect_follows_length_and_number_of_rows(shape: tuple[int, int], gain: float) -> None:
    actions = STRATEGY.find(observe(kernel(SOFTMAX, calls=f"# workload: rows(randn{shape})\n")))
    assert isinstance(actions, tuple)
    assert actions[0].params["expected_gain"] == gain
