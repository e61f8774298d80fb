"""Tuning a launch: which constants are free, what the variants look like, and that they fit the GPU."""

import dataclasses
import re
from pathlib import Path

import pytest

from kernelwright.macro.strategies.triton_tune_launch import STRATEGY
from macro.triton_files import CPU, H200, HEAD, differing, refusal, rewritten, run_interpreted

EXAMPLES = Path(__file__).parents[3] / "examples"
KERNEL = (
    HEAD
    + """\
@triton.jit
def copy_kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y_ptr + i, tl.load(x_ptr + i, mask=i < n), mask=i < n)


# workload: copy(randn(1000))
"""
)


TILES = (
    HEAD
    + """\
@triton.jit
def scale_kernel(x_ptr, y_ptr, rows, columns, HIGH: tl.constexpr, WIDE: tl.constexpr):
    row = tl.program_id(1).to(tl.int64)
    i = row * HIGH + tl.arange(0, HIGH)[:, None]
    j = tl.program_id(0) * WIDE + tl.arange(0, WIDE)[None, :]
    mask = (i < rows) & (j < columns)
    tl.store(y_ptr + i * columns + j, 2 * tl.load(x_ptr + i * columns + j, mask=mask), mask=mask)


# workload: scale(randn(1000, 500))
def scale(x):
    y = torch.empty_like(x)
    rows, columns = x.shape
    grid = (triton.cdiv(columns, 64), triton.cdiv(rows, 64))
    scale_kernel[grid](x, y, rows, columns, HIGH=64, WIDE=64)
    return y
"""
)


def launcher(body: str, head: str = "def copy(x):") -> str:
    lines = ["y = torch.empty_like(x)", "n = x.numel()", *body.splitlines(), "return y"]
    return KERNEL + head + "\n" + "".join(f"    {line}\n" for line in lines)


def test_the_worked_example() -> None:
    assert rewritten(STRATEGY, STRATEGY.example.before)[0] == STRATEGY.example.after


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            launcher("copy_kernel[(triton.cdiv(n, 128),)](x, y, n, BLOCK=128)"),
            ["copy_kernel[(triton.cdiv(n, 1024),)](x, y, n, BLOCK=1024)"],
        ),
        (
            launcher(
                "BLOCK = 128\ngrid = lambda meta: (triton.cdiv(n, meta['BLOCK']),)\ncopy_kernel[grid](x, y, n, BLOCK)"
            ),
            ["BLOCK = 1024"],
        ),
        (
            launcher("copy_kernel[(triton.cdiv(n, B),)](x, y, n, B, num_warps=8)", "B = 128\n\n\ndef copy(x):"),
            ["B = 1024", "num_warps=4"],
        ),
        (launcher("copy_kernel[(triton.cdiv(n, size),)](x, y, n, size)", "def copy(x, size=128):"), ["size=1024"]),
        (
            launcher("BLOCK = triton.next_power_of_2(n)\ncopy_kernel[(1,)](x, y, n, BLOCK)"),
            ["copy_kernel[(1,)](x, y, n, BLOCK, num_warps=8)"],
        ),
        (
            launcher("BLOCK, warps = settings(n)\ncopy_kernel[(1,)](x, y, n, BLOCK, num_warps=warps)"),
            ["BLOCK, _ = settings(n)", "copy_kernel[(1,)](x, y, n, BLOCK, num_warps=8)"],
        ),
        (
            launcher("copy_kernel[(triton.cdiv(n, 128),)](*(x, y, n), BLOCK=128)"),
            ["copy_kernel[(triton.cdiv(n, 1024),)](*(x, y, n), BLOCK=1024)"],
        ),
        (
            launcher("pointers = x, y\ncopy_kernel[(triton.cdiv(n, 128),)](*pointers, n, 128)"),
            ["copy_kernel[(triton.cdiv(n, 1024),)](*pointers, n, 1024)"],
        ),
        (
            launcher("BLOCK = 128\ncopy_kernel[(triton.cdiv(n, BLOCK),)](x, *(y, n), BLOCK)"),
            ["BLOCK = 1024"],
        ),
        (
            launcher(
                "meta = {'BLOCK': 128, 'num_warps': 8}\ncopy_kernel[(triton.cdiv(n, meta['BLOCK']),)](x, y, n, **meta)"
            ),
            ["meta = {'BLOCK': 1024, 'num_warps': 4}"],
        ),
        (
            launcher("m = dict(BLOCK=128)\ncopy_kernel[lambda m: (triton.cdiv(n, m['BLOCK']),)](x, y, n, **m)"),
            ["m = dict(BLOCK=1024)"],
        ),
        (
            launcher("BLOCK = min(n, 4096) // 2 * 2\ncopy_kernel[(triton.cdiv(n, BLOCK),)](x, y, n, BLOCK)"),
            ["BLOCK = 1024"],
        ),
        (
            launcher("BLOCK = 64\nblocks = triton.cdiv(n, BLOCK)\ncopy_kernel[(blocks,)](x, y, n, BLOCK)"),
            ["BLOCK = 1024"],
        ),
        (
            launcher(
                "BLOCK = 64\nblocks = (n - 1 + BLOCK) // BLOCK\n"
                "grid = lambda m: (1 * blocks,)\ncopy_kernel[grid](x, y, n, BLOCK)"
            ),
            ["BLOCK = 1024"],
        ),
        (
            launcher(
                "BLOCK = 256 if old() else 64\nif n > 9:\n    BLOCK = BLOCK // 4\nelse:\n    BLOCK = 32\n"
                "copy_kernel[(triton.cdiv(n, BLOCK),)](x, y, n, BLOCK)"
            ),
            ["BLOCK = 1024", "    BLOCK = 1024", "    BLOCK = 1024"],
        ),
        (
            launcher(
                "if n > 9:\n    copy_kernel[(triton.cdiv(n, 64),)](x, y, n, BLOCK=64)\n"
                "else:\n    copy_kernel[(triton.cdiv(n, 64),)](x, y, n, 64)"
            ),
            [
                "copy_kernel[(triton.cdiv(n, 1024),)](x, y, n, BLOCK=1024)",
                "copy_kernel[(triton.cdiv(n, 1024),)](x, y, n, 1024)",
            ],
        ),
        (
            launcher("copy_kernel[(triton.cdiv(n, 64),)](x, y, n, 64)\n")
            + "\n\ndef other(x):\n    copy_kernel[(triton.cdiv(9, 64),)](x, x, 9, 64)\n",
            ["copy_kernel[(triton.cdiv(n, 1024),)](x, y, n, 1024)"],
        ),
        (
            launcher("copy_kernel[(triton.cdiv(n, 64),)](x, y, n, 64)").replace(
                "copy_kernel[", "wrap_triton(copy_kernel)["
            ),
            ["wrap_triton(copy_kernel)[(triton.cdiv(n, 1024),)](x, y, n, 1024)"],
        ),
    ],
)
def test_the_constant_is_changed_where_it_is_set(text: str, expected: list[str]) -> None:
    best = rewritten(STRATEGY, text)[0]
    changed = [line for line in best.splitlines() if line not in text.splitlines()]
    assert all(any(part in line for line in changed) for part in expected)
    assert len(changed) <= len(expected)


def test_equal_block_sizes_are_told_by_the_axis_of_the_grid_that_each_serves() -> None:
    found = rewritten(STRATEGY, TILES)
    sizes = [re.search(r"columns, (\d+)\), triton.cdiv\(rows, (\d+)\)", text) for text in found]
    passed = [re.search(r"HIGH=(\d+), WIDE=(\d+)", text) for text in found]
    assert [(one[2], one[1]) for one in sizes if one] == [(one[1], one[2]) for one in passed if one]
    assert len({one[0] for one in passed if one}) > 3
    for unclear in ("* WIDE", "* WIDE\n    row = row + 0"), ("program_id(0)", "program_id(1)"):
        assert "own copy of HIGH" in refusal(STRATEGY, TILES.replace(*unclear)).reason


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (
            launcher("copy_kernel[((n + 127) // 128,)](x, y, n, BLOCK=128)"),
            "own copy",
        ),
        (KERNEL, "launches"),
        (
            launcher("copy_kernel[(triton.cdiv(n, 128),)](x, y, n, BLOCK=128)").replace(
                "copy(randn(1000))", "copy_kernel[(8,)](randn(1000), out(1000), 1000, BLOCK=128)"
            ),
            "launches the kernel itself",
        ),
        (
            launcher(
                "BLOCK, warps = chosen(n)\ncopy_kernel[(triton.cdiv(n, BLOCK),)](x, y, n, BLOCK, **options(warps))"
            ),
            "BLOCK is computed together with warps (line 16); num_warps may be in **options(warps) (line 17)",
        ),
        (
            launcher("copy_kernel[(triton.cdiv(n, BLOCK),)](x, y, n, BLOCK, **options())"),
            "BLOCK is set outside of the launcher (line 16); num_warps may be in **options()",
        ),
        (
            launcher("BLOCK = 64\nblocks = n // BLOCK\ncopy_kernel[(blocks,)](x, y, n, BLOCK, **options())"),
            "neither the grid nor a loop follows BLOCK; num_warps may be in **options()",
        ),
        (
            launcher("BLOCK = 64\nb = triton.cdiv(n, BLOCK)\nb += 1\ncopy_kernel[(b,)](x, y, n, BLOCK, **options())"),
            "neither the grid nor a loop follows BLOCK; num_warps may be in **options()",
        ),
        (
            launcher(
                "BLOCK = 64\nif BLOCK < n:\n    BLOCK = 128\n"
                "copy_kernel[(triton.cdiv(n, BLOCK),)](x, y, n, BLOCK, **options())"
            ),
            "BLOCK is computed in several steps (line 16); num_warps may be in **options()",
        ),
        (
            launcher(
                "BLOCK = 64\nfor BLOCK in sizes():\n    pass\n"
                "copy_kernel[(triton.cdiv(n, BLOCK),)](x, y, n, BLOCK, **options())"
            ),
            "BLOCK is computed in several steps (line 16); num_warps may be in **options()",
        ),
        (
            launcher("copy_kernel[(triton.cdiv(n, 64),)](*(x, y, n, 64), num_warps=config['warps'])"),
            "BLOCK may be behind * (line 16); num_warps is read from config['warps'] (line 16)",
        ),
        *(
            (text, "BLOCK may be behind * (line 1")
            for text in (
                launcher("copy_kernel[(triton.cdiv(n, 64),)](*(x, y, n), 64, num_warps=config['warps'])").replace(
                    *change
                )
                for change in (
                    ("BLOCK: tl.constexpr", "BLOCK: tl.constexpr, EVEN: tl.constexpr = False"),
                    ("@triton.jit", "@triton.heuristics(chosen)\n@triton.jit"),
                )
            )
        ),
        (
            launcher(
                "meta = dict(BLOCK=64)\nmeta.update(more)\n"
                "copy_kernel[lambda m: (triton.cdiv(n, m['BLOCK']),)](x, y, n, **meta)"
            ),
            "BLOCK may be in **meta (line 18)",
        ),
        (
            launcher(
                "BLOCK = 64 if n > 9 else 32\ncopy_kernel[(triton.cdiv(n, BLOCK),)](x, y, n, BLOCK, num_warps=warps)",
                "def copy(x, warps):",
            ).replace("tl.store(y_ptr + i, tl.load(x_ptr + i, mask=i < n), mask=i < n)", "tl.store(y_ptr + i, 0.0)"),
            "line 9 reaches its lanes without a mask; num_warps is a parameter of the launcher, which callers may set",
        ),
        (
            launcher("copy_kernel[lambda m: (triton.cdiv(n, m['BLOCK']),)](x, y, n)").replace(
                "@triton.jit", "@triton.autotune([triton.Config({'BLOCK': 64})], key=['n'])\n@triton.jit"
            ),
            "already autotuned",
        ),
    ],
)
def test_refusals_say_why(text: str, words: str) -> None:
    assert words in refusal(STRATEGY, text).reason


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("num_warps = min(max(BLOCK // 256, 1), 8)\n", ""),
        ("num_warps = 4\nif BLOCK > 2048:\n    num_warps = 8\n", ""),
        ("BLOCK, num_warps = chosen(n)\n", "BLOCK, _ = chosen(n)\n"),
        ("num_warps = 4 if n > 9 else 8\nprint(num_warps)\n", "num_warps = 4 if n > 9 else 8\nprint(num_warps)\n"),
    ],
)
def test_a_number_takes_the_place_of_an_expression_and_what_only_served_it_goes(before: str, after: str) -> None:
    head = "BLOCK = triton.next_power_of_2(n)\n"
    launch = "copy_kernel[(1,)](x, y, n, BLOCK, num_warps={})"
    found = rewritten(STRATEGY, launcher(head + before + launch.format("num_warps")))
    assert found[0] == launcher(head + after + launch.format("8"))


SETTINGS = """

def settings(n):
    BLOCK = triton.next_power_of_2(n)
    blocks = triton.cdiv(n, BLOCK)
    return BLOCK, 8 if BLOCK > 2048 else 4{more}


def as_dictionary(n):
    return {{"BLOCK": 64, "num_warps": 8}}
"""
GRID = "copy_kernel[(triton.cdiv(n, BLOCK),)]"
LAUNCH = GRID + "(x, y, n, BLOCK=BLOCK, num_warps={})\n"
BY_KEY = (
    "copy_kernel[lambda meta: (triton.cdiv(n, meta['BLOCK']),)](\n"
    "    x, y, n, BLOCK=config['BLOCK'], num_warps=config.get('num_warps', 4)\n)"
)
UNPACKED = "copy_kernel[(triton.cdiv(n, config['BLOCK']),)](x, y, n, **config)"


@pytest.mark.parametrize(
    ("before", "after", "more"),
    [
        (
            "BLOCK = 32\n" + GRID + "(*(x, y), n, BLOCK, num_warps=2)\n",
            "BLOCK = 1024\n" + GRID + "(*(x, y), n, BLOCK, num_warps=4)\n",
            "",
        ),
        ("BLOCK, warps = settings(n)\n" + LAUNCH.format("warps"), "BLOCK = 1024\n" + LAUNCH.format(4), ""),
        (
            "BLOCK, warps, n = settings(n)  # by hand\n" + LAUNCH.format("warps"),
            "_, _, n = settings(n)  # by hand\nBLOCK = 1024\n" + LAUNCH.format(4),
            ", n",
        ),
        (
            "if n > 64:\n    BLOCK, warps = settings(n)\nelse:\n    BLOCK, warps = 32, 2\n" + LAUNCH.format("warps"),
            "if n > 64:\n    BLOCK = 1024\nelse:\n    BLOCK, _ = 1024, 2\n" + LAUNCH.format(4),
            "",
        ),
        (
            "m, BLOCK = x.numel(), 2 * triton.next_power_of_2(n)\n" + LAUNCH.format(4),
            "m, BLOCK = x.numel(), 1024\n" + LAUNCH.format(4),
            "",
        ),
        (
            "BLOCK = triton.next_power_of_2(n)\nBLOCK = min(BLOCK, 512)\n" + LAUNCH.format(4),
            "BLOCK = 1024\n" + LAUNCH.format(4),
            "",
        ),
        (
            "BLOCK = 16\n\nif n > 64:\n    BLOCK = size(n) if n < 0 else 64\n" + LAUNCH.format(4),
            "BLOCK = 1024\n\n" + LAUNCH.format(4),
            "",
        ),
        (
            "if n > 64:\n    BLOCK = 64\n    BLOCK *= 2\n    n += 0\nelif n > 32:\n    BLOCK = 64\nelse:\n    BLOCK = 32\n"
            + LAUNCH.format(4),
            "if n > 64:\n    BLOCK = 1024\n    n += 0\nelif n > 32:\n    BLOCK = 1024\nelse:\n    BLOCK = 1024\n"
            + LAUNCH.format(4),
            "",
        ),
        (
            "config = as_dictionary(n)\n" + BY_KEY,
            'config = {**as_dictionary(n), "BLOCK": 1024, "num_warps": 4}\n' + BY_KEY,
            "",
        ),
        (
            "config = as_dictionary(n)\n" + UNPACKED,
            'config = {**as_dictionary(n), "BLOCK": 1024, "num_warps": 4}\n' + UNPACKED,
            "",
        ),
    ],
)
def test_a_number_takes_the_place_of_what_a_helper_or_several_steps_compute(before: str, after: str, more: str) -> None:
    text, expected = (launcher(code) + SETTINGS.format(more=more) for code in (before, after))
    found = rewritten(STRATEGY, text)
    assert found[0] == expected
    calls = ["copy(randn(1000))", "copy(randn(33))", "copy(randn(1))"]
    assert differing([(str(i), text, one, calls) for i, one in enumerate((found[0], found[-1]))]) == {}


@pytest.mark.parametrize(
    ("before", "more", "words"),
    [
        (
            "BLOCK, warps, blocks = settings(n)\nprint(blocks)\n" + GRID + "(x, y, n, BLOCK, **options())",
            ", 2 * blocks",
            "BLOCK is computed together with blocks (line 16)",
        ),
        (
            "BLOCK, blocks = chosen(n)\nprint(blocks)\n" + GRID + "(x, y, n, BLOCK, **options())",
            "",
            "BLOCK is computed together with blocks (line 16)",
        ),
        (
            "config = as_dictionary(n)\nprint(config)\n" + UNPACKED,
            "",
            "BLOCK may be in **config (line 18)",
        ),
        (
            "config = as_dictionary(n)\nconfig['BLOCK'] = 8\n" + UNPACKED,
            "",
            "BLOCK may be in **config (line 18)",
        ),
        (
            "config = self.config(n)\nconfig = as_dictionary(n)\n" + BY_KEY,
            "",
            "BLOCK is read from config['BLOCK'] (line 19)",
        ),
    ],
)
def test_what_else_may_follow_a_computed_block_size_keeps_it(before: str, more: str, words: str) -> None:
    assert words in refusal(STRATEGY, launcher(before) + SETTINGS.format(more=more)).reason


def test_launches_that_differ_leave_only_what_they_share() -> None:
    launch = "copy_kernel[(triton.cdiv(n, {0}),)](x, y, n, {0})\n"
    found = rewritten(STRATEGY, launcher(launch.format(64) + launch.format(128)))
    assert found[0] == launcher(
        (launch.format(64) + launch.format(128))
        .replace("4)\n", "4, num_warps=8)\n", 1)
        .replace("128)\n", "128, num_warps=8)\n")
    )


def test_a_launch_in_another_method_stays_as_it_is() -> None:
    launch = "        copy_kernel[(triton.cdiv(9, 64),)](x, y, 9, 64)\n"
    text = KERNEL.replace("copy(", "Copy(") + (
        f"class Copy(torch.autograd.Function):\n    @staticmethod\n    def forward(ctx, x, y):\n{launch}\n"
        f"    @staticmethod\n    def backward(ctx, x, y):\n{launch}"
    )
    assert rewritten(STRATEGY, text)[0] == text.replace("64", "1024", 2)


def test_of_two_passes_that_an_entry_only_applies_the_first_is_changed() -> None:
    launch = "        copy_kernel[(triton.cdiv(n, 64),)](x, y, n, 64)\n"
    passes = (
        "class Copy(torch.autograd.Function):\n    @staticmethod\n    def forward(ctx, x):\n        y = torch.empty_like(x)\n"
        f"        n = x.numel()\n{launch}        return y\n\n    @staticmethod\n    def backward(ctx, x):\n"
        f"        y = torch.empty_like(x)\n        n = x.numel()\n{launch}        return y\n"
    )
    text = KERNEL + "def copy(x):\n    return Copy.apply(x)\n\n\n" + passes
    found = rewritten(STRATEGY, text)
    assert found[0] == text.replace("64", "1024", 2)
    calls = ["copy(randn(1000))", "copy(randn(33))"]
    assert differing([("two passes", text, found[0], calls)]) == {}
    again = text + "\n\ndef other():\n    def copy_kernel(n):\n        return n\n"
    assert "Several functions of the file are called copy_kernel" in refusal(STRATEGY, again).reason


def test_one_number_that_serves_two_block_sizes_stays_one() -> None:
    kernel = KERNEL.replace("BLOCK: tl.constexpr", "BLOCK: tl.constexpr, STEP: tl.constexpr").replace(
        "    i = tl.program_id(0)",
        "    for j in range(0, n, STEP):\n        tl.arange(0, STEP)\n    i = tl.program_id(0)",
    )
    text = kernel + launcher("B = 64\ncopy_kernel[(triton.cdiv(n, B),)](x, y, n, B, STEP=B)")[len(KERNEL) :]
    found = rewritten(STRATEGY, text)
    assert {re.search(r"B = (\d+)", one)[1] for one in found} == {"32", "64"}


def test_beside_a_given_side_a_block_size_is_a_few_rows() -> None:
    kernel = KERNEL.replace("y_ptr + i, tl.load", "y_ptr + i[:, None] * 64 + tl.arange(0, 64)[None, :], tl.load")
    text = kernel + launcher("copy_kernel[(triton.cdiv(n, 16),)](x, y, n, 16)")[len(KERNEL) :]
    assert {int(re.search(r"n, (\d+)[,)]", one)[1]) for one in rewritten(STRATEGY, text)} <= {4, 8, 16, 32, 64, 128}


def test_a_block_size_that_no_mask_bounds_does_not_grow() -> None:
    text = (
        launcher("copy_kernel[(n // 512,)](x, y, n, 512)")
        .replace(", mask=i < n", "")
        .replace("n // 512", "triton.cdiv(n, 512)")
    )
    assert {int(re.search(r"n, (\d+)[,)]", one)[1]) for one in rewritten(STRATEGY, text)} == {256, 512}


def test_without_a_gpu_there_is_nothing_to_measure() -> None:
    assert "needs a GPU to measure" in refusal(STRATEGY, STRATEGY.example.before, CPU).reason


@pytest.mark.parametrize(("capability", "kilobytes"), [(80, 163), (86, 99), (90, 227)])
def test_matmul_tiles_fit_shared_memory_and_registers(capability: int, kilobytes: int) -> None:
    device = dataclasses.replace(H200, compute_capability=capability)
    found = rewritten(STRATEGY, (EXAMPLES / "triton_matmul.py").read_text(), device)
    assert 8 <= len(found) <= 32
    for text in found:
        m, n, k = map(int, re.search(r"BLOCK_K = (\d+), (\d+), (\d+)", text).groups())
        warps, stages = (
            int(found[1]) if (found := re.search(rf"{o}=(\d+)", text)) else d
            for o, d in (("num_warps", 4), ("num_stages", 3))
        )
        assert (m + n) * k * 2 * stages <= kilobytes * 1024
        assert m * n <= 128 * 32 * warps


def test_variants_of_the_examples_are_distinct_and_differ_from_the_text() -> None:
    for name in ("triton_matmul.py", "triton_softmax.py"):
        text = (EXAMPLES / name).read_text()
        found = rewritten(STRATEGY, text)
        assert len({*found, text}) == len(found) + 1


LOOPS = (
    HEAD
    + """\
@triton.jit
def sum_kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    lanes = tl.arange(0, BLOCK)
    start = tl.program_id(0) * n
    blocks = {blocks}
    total = tl.zeros([BLOCK], tl.float32)
    for i in range(0, blocks, 1):
        total += tl.load(x_ptr + start + i * BLOCK + lanes, mask=i * BLOCK + lanes < n, other=0.0)
    tl.store(y_ptr + tl.program_id(0), tl.sum(total))


# workload: sums(randn(7, 300))
def sums(x):
    y = torch.empty(x.shape[0])
    if x.shape[1] > 99:
        BLOCK = 128
    else:
        BLOCK = 32 if x.shape[1] > 9 else 16
    sum_kernel[(x.shape[0],)](x, y, x.shape[1], BLOCK=BLOCK)
    return y
"""
)
COUNTS = ("tl.cdiv(n, BLOCK)", "(n + BLOCK - 1) // BLOCK", "tl.where(n < 1, 0, BLOCK + n - 1) // BLOCK")
BY_OTHERS = ("n // BLOCK", "(n + BLOCK) // BLOCK", "tl.load(y_ptr)", "(n + 1 - BLOCK) // BLOCK")


def test_a_loop_follows_a_block_size_that_its_number_of_blocks_is_rounded_up_by() -> None:
    calls = ["sums(randn(3, 300))", "sums(randn(2, 17))", "sums(randn(1, 1))"]
    rows = []
    for blocks in COUNTS:
        text = LOOPS.format(blocks=blocks)
        found = rewritten(STRATEGY, text)[::6]
        assert all(one.count("BLOCK = 32") < 1 and len(set(re.findall(r"  BLOCK = (\w+)", one))) == 1 for one in found)
        rows += [(f"{blocks}: {i}", text, one, calls) for i, one in enumerate(found)]
    assert len(rows) >= 9
    assert differing(rows) == {}


def test_a_loop_follows_no_block_size_that_something_else_is_divided_by() -> None:
    for blocks in BY_OTHERS:
        text = LOOPS.format(blocks=blocks)
        found = rewritten(STRATEGY, text)
        assert {re.sub(r", num_(warps|stages)=\d+", "", one) for one in found} == {text}


def test_variants_still_compute_the_same(tmp_path: Path) -> None:
    matmul = (EXAMPLES / "triton_matmul.py").read_text()
    pick = {f"matmul_{i}": text for i, text in enumerate(rewritten(STRATEGY, matmul)[::8])}
    check = """
import importlib, torch
torch.manual_seed(0)
for name in NAMES:
    for m, k, n in ((129, 67, 190), (3, 5, 2)):
        a, b = torch.randn(m, k), torch.randn(k, n)
        got = importlib.import_module(name).matmul(a, b)
        assert torch.allclose(got, a @ b, atol=1e-3), name
"""
    run_interpreted(tmp_path, pick, check.replace("NAMES", repr(list(pick))))
