"""Autotuning a launch: the worked example, what is protected from repeated runs, and what is refused."""

from pathlib import Path

import pytest

from kernelwright.macro.strategies.triton_autotune import STRATEGY
from macro.triton_files import HEAD, differing, refusal, rewritten, run_python

KERNEL = """\
@triton.jit
def kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + i, mask=i < n)
    {store}


# workload: f(randn(1000))
def f(x):
    n = x.numel()
    {launch}
    return x
"""
PLAIN = "tl.store(y_ptr + i, x, mask=i < n)"
LAUNCH = "y = torch.empty_like(x)\n    BLOCK = 256\n    kernel[(triton.cdiv(n, BLOCK),)](x, y, n, BLOCK=BLOCK)"

HELPED = LAUNCH.replace("BLOCK = 256", "BLOCK, warps = chosen(n)").replace("=BLOCK)", "=BLOCK, num_warps=warps)")


def text(store: str = PLAIN, launch: str = LAUNCH) -> str:
    return HEAD + KERNEL.format(store=store, launch=launch)


def test_the_worked_example() -> None:
    assert rewritten(STRATEGY, STRATEGY.example.before) == (STRATEGY.example.after,)


@pytest.mark.parametrize(
    ("source", "expected", "absent"),
    [
        (
            text(),
            ['key=["n"]', 'grid = lambda meta: (triton.cdiv(n, meta["BLOCK"]),)', "kernel[grid](x, y, n)"],
            ["restore", "256,"],
        ),
        (
            text("tl.static_assert(BLOCK >= 256 and BLOCK * 2 < 4096)\n    " + PLAIN),
            ['{"BLOCK": 256}, num_warps=4', '{"BLOCK": 1024}', '{"BLOCK": 512}'],
            ["128", "2048", "4096}"],
        ),
        (
            text()
            .replace("n, BLOCK: tl", "n, m, BLOCK: tl")
            .replace("    i =", "    size = n * m\n    i =")
            .replace("i < n", "i < size")
            .replace("(x, y, n,", "(x, y, n, 1,"),
            ['key=["n", "m"]'],
            [],
        ),
        (
            text("p = i + y_ptr\n    for _ in range(1):\n        tl.store(p, x, mask=i < n)\n        p += BLOCK"),
            ['key=["n"]', '{"BLOCK": 1024}'],
            ["restore"],
        ),
        (text("tl.store(x_ptr + i, 2 * x, mask=i < n)"), ['restore_value=["x_ptr"]'], ["reset_to_zero"]),
        (text(launch=LAUNCH.replace("(x, y, n", "(x, x, n")), ['restore_value=["y_ptr"]'], []),
        (
            text("tl.atomic_add(y_ptr + i, x, mask=i < n)", LAUNCH.replace("empty_like", "zeros_like")),
            ['reset_to_zero=["y_ptr"]'],
            ["restore_value"],
        ),
        (text("tl.atomic_max(y_ptr + i, x, mask=i < n)", LAUNCH), ['restore_value=["y_ptr"]'], []),
        (text(launch=LAUNCH.replace("_like(x)", "_like(x) if n > 4 else None")), ['key=["n"]'], ["restore"]),
        (text().replace("def f(x)", "def f(x, y=None)"), ['restore_value=["y_ptr"]'], []),
        (text(launch=LAUNCH.replace("(x, y,", "(x, y if n else None,")), ['key=["n"]'], ["restore"]),
        (
            text(launch="y = torch.empty_like(x)\n    kernel[(triton.cdiv(n, 64),)](x, y, n, 64, num_warps=2)"),
            ["kernel[grid](x, y, n)", "num_warps=2)"],
            [],
        ),
        (
            text(launch=LAUNCH.replace("BLOCK=BLOCK)", "BLOCK=BLOCK, num_warps=4 if n > 9 else 8)")),
            ["kernel[grid](x, y, n)", 'configs=[\n        triton.Config({"BLOCK": 1024}, num_warps=4)'],
            [],
        ),
        (
            text(launch=HELPED),
            ["    kernel[grid](x, y, n)\n", 'triton.Config({"BLOCK": 1024}, num_warps=4)'],
            ["chosen"],
        ),
        (
            text(launch=HELPED.replace("BLOCK, warps", "BLOCK, warps, m") + "\n    print(m)").replace(
                "# workload", "def chosen(n):\n    return 64, 4, n\n\n\n# workload"
            ),
            ["    _, _, m = chosen(n)\n", "    kernel[grid](x, y, n)\n", 'triton.Config({"BLOCK": 1024}, num_warps=4)'],
            [],
        ),
        (
            text(launch=HELPED + "\n    print(BLOCK)"),
            [
                "BLOCK, _ = chosen(n)",
                "kernel[(triton.cdiv(n, BLOCK),)](x, y, n, BLOCK=BLOCK)",
                "triton.Config({}, num_warps=8)",
            ],
            ["warps)"],
        ),
        (
            text(
                launch=LAUNCH.replace("BLOCK = 256", "BLOCK = 256\n    warps = 2").replace(
                    "=BLOCK)", "=BLOCK, num_warps=warps)\n    other[(1,)](y, num_warps=warps)"
                )
            ),
            ["    warps = 2\n", "kernel[grid](x, y, n)\n", "other[(1,)](y, num_warps=warps)"],
            ["BLOCK = 256"],
        ),
        (
            text(launch=LAUNCH.replace("(x, y, n, BLOCK=BLOCK)", "(*pointers(x, y), n=n, BLOCK=BLOCK)")),
            ["kernel[grid](*pointers(x, y), n=n)"],
            [],
        ),
        (
            text(launch=LAUNCH.replace("(x, y, n, BLOCK=BLOCK)", "(*pointers(x, y), n, BLOCK)")),
            ["kernel[grid](*pointers(x, y), n)\n", 'grid = lambda meta: (triton.cdiv(n, meta["BLOCK"]),)'],
            ["n, BLOCK)"],
        ),
        (text().replace("@triton.jit", "@libentry()\n@triton.jit"), ["@libentry()\n@triton.autotune("], []),
    ],
)
def test_decorator_grid_and_protection(source: str, expected: list[str], absent: list[str]) -> None:
    (result,) = rewritten(STRATEGY, source)
    compile(result, "kernel.py", "exec")
    assert [part for part in expected if part not in result] == []
    assert [part for part in absent if part in result] == []


@pytest.mark.parametrize(
    ("source", "words"),
    [
        (text("tl.atomic_max(y_ptr + i, x)", LAUNCH.replace("_like(x)", "_like(x) if n else None")), "passes None"),
        (text("tl.atomic_max(y_ptr + i, x)", LAUNCH.replace("(x, y,", "(x, y if n else None,")), "passes None"),
        (text().replace("def f(x)", "def f(x, y=None)").replace("y = torch.empty_like(x)", "pass"), "passes None"),
        (text("tl.atomic_add(y_ptr + i, x)", LAUNCH.replace("y = torch", "y = None\n    y = torch")), "passes None"),
        (text("tl.store(tl.where(i < n, y_ptr + i, x_ptr + i), x)"), "cannot be told"),
        (text().replace("mask=i < n", "mask=None"), "no size to choose a config by"),
        (text(launch=LAUNCH.replace("(x, y, n,", "(x, y, n, n, n,")), "passes 5 arguments, and the kernel takes 4"),
        (text(launch=LAUNCH.replace("(x, y, n,", "(x, y, n, n,")), "passes BLOCK by position and by name"),
        (STRATEGY.example.after, "already autotuned"),
        (text().replace("@triton.jit", '@tuned(configs=chosen(), key=["n"])\n@triton.jit'), "already autotuned"),
        (
            text(launch=LAUNCH.replace("BLOCK=BLOCK)", "BLOCK=BLOCK, num_warps=config['warps'])")),
            "num_warps is read from config['warps'] (line 18), so configs cannot choose it",
        ),
        (
            text(launch=LAUNCH.replace("BLOCK=BLOCK)", "BLOCK=BLOCK, **options)")),
            "num_warps may be in **options (line 18), so configs cannot choose it",
        ),
        (
            text() + "\n\ndef g(x):\n    kernel[(1,)](x, x, 1, 64, num_warps=8)\n",
            "the launches on lines 18, 23 differ in num_warps",
        ),
        (
            text(launch=LAUNCH + "\n    kernel[(1,)](x, y, n, BLOCK=BLOCK, num_stages=stages(n))"),
            "the launches on lines 18, 19 differ in num_stages, so configs cannot choose it",
        ),
        (
            text("tl.store(x_ptr + i, x, mask=i < n)") + "\n\ndef g(x, y=None):\n    kernel[(1,)](y, x, 1, 64)\n",
            "would restore x_ptr in between, for which the launcher passes None",
        ),
        (text() + "\n\nkernel[(1,)](X, X, 1, 64)\n", "launched outside of any function"),
        (
            text() + "\n\ndef g(x):\n    def kernel(n):\n        return n\n    kernel[(1,)](x, x, 1, 64)\n",
            "Several functions of the file are called kernel.",
        ),
        (
            text(
                launch=LAUNCH.replace("    kernel", "    for num_warps in (4, 8):\n        pass\n    kernel").replace(
                    "BLOCK=BLOCK)", "BLOCK=BLOCK, num_warps=num_warps)"
                )
            ),
            "num_warps is set along with other things (line 18) and read by nothing else",
        ),
        (
            text(
                launch=LAUNCH.replace("triton.cdiv(n, BLOCK)", "(n + 255) // 256").replace("BLOCK=BLOCK", "BLOCK=256")
            ),
            "own copy",
        ),
    ],
)
def test_refusals_say_why(source: str, words: str) -> None:
    assert words in refusal(STRATEGY, source).reason


def test_triton_accepts_the_decorator(tmp_path: Path) -> None:
    """Its constructor checks configs, key and the names of protected parameters."""
    (tmp_path / "file.py").write_text(rewritten(STRATEGY, text("tl.store(x_ptr + i, 2 * x, mask=i < n)"))[0])
    check = """
import triton.runtime.autotuner as autotuner
from file import kernel
assert isinstance(kernel, autotuner.Autotuner)
assert kernel.keys == ["n"] and kernel.restore_value == ["x_ptr"]
assert 4 <= len(kernel.configs) <= 8
"""
    run_python(tmp_path, check)


STEPS = text().replace("BLOCK: tl.constexpr", "BLOCK: tl.constexpr, STEP: tl.constexpr")
STEPS = STEPS.replace("    i =", "    for j in range(0, n, STEP):\n        tl.arange(0, STEP)\n    i =")
STAYS = {
    "a size that a tensor takes too": (
        text(
            launch=LAUNCH.replace(
                "y = torch.empty_like(x)\n    BLOCK = 256", "BLOCK = 256\n    y = x.new_empty(BLOCK)"
            )
        ),
        "kernel[(triton.cdiv(n, BLOCK),)](x, y, n, BLOCK=BLOCK)",
    ),
    "a parameter of the launcher": (
        text().replace("def f(x)", "def f(x, BLOCK=256)").replace("    BLOCK = 256\n", ""),
        "kernel[(triton.cdiv(n, BLOCK),)](x, y, n, BLOCK=BLOCK)",
    ),
    "a dictionary": (
        text(launch="y, meta = x, {'BLOCK': 64}\n    kernel[lambda m: (triton.cdiv(n, m['BLOCK']),)](x, y, n, **meta)"),
        "kernel[lambda m: (triton.cdiv(n, m['BLOCK']),)](x, y, n, **meta)",
    ),
    "a flag that follows it": (
        text(launch=LAUNCH.replace("BLOCK=BLOCK", "BLOCK=BLOCK, EVEN=n % BLOCK == 0")).replace(
            "BLOCK: tl.constexpr", "BLOCK: tl.constexpr, EVEN: tl.constexpr"
        ),
        "kernel[(triton.cdiv(n, BLOCK),)](x, y, n, BLOCK=BLOCK, EVEN=n % BLOCK == 0)",
    ),
    "an argument before others": (
        text(launch=LAUNCH.replace("n, BLOCK=BLOCK", "n, BLOCK, 3")).replace("BLOCK: tl.constexpr", "BLOCK: tl.constexpr, m"),
        "kernel[(triton.cdiv(n, BLOCK),)](x, y, n, BLOCK, 3)",
    ),
    "a number of blocks that a tensor takes too": (
        text(
            launch="BLOCK = 256\n    blocks = triton.cdiv(n, BLOCK)\n    y = x.new_empty(blocks)\n"
            "    kernel[(blocks,)](x, y, n, BLOCK=BLOCK)"
        ),
        "    blocks = triton.cdiv(n, BLOCK)\n    y = x.new_empty(blocks)\n    kernel[(blocks,)](x, y, n, BLOCK=BLOCK)",
    ),
    "a number of blocks of a size that changes": (
        text(
            launch="y, BLOCK, m = x, 256, n\n    blocks = triton.cdiv(m, BLOCK)\n    m = 0\n"
            "    kernel[(blocks,)](x, y, n, BLOCK=BLOCK)"
        ),
        "    kernel[(blocks,)](x, y, n, BLOCK=BLOCK)",
    ),
    "a grid for two launches": (
        text(
            launch="y = torch.empty_like(x)\n    BLOCK = 256\n    grid = (triton.cdiv(n, BLOCK),)\n    other[grid](x)\n"
            "    kernel[grid](x, y, n, BLOCK=BLOCK)"
        ),
        "    kernel[grid](x, y, n, BLOCK=BLOCK)",
    ),
}  # fmt: skip


@pytest.mark.parametrize("form", STAYS)
def test_a_block_size_that_the_launcher_has_to_know_stays_and_the_rest_is_tuned(form: str) -> None:
    source, launch = STAYS[form]
    (found,) = rewritten(STRATEGY, source)
    compile(found, "kernel.py", "exec")
    assert launch in found
    assert "triton.Config({}, num_warps=8)," in found
    assert found.endswith(source[source.index("def f(x") :])


GOES = {
    "a size that steps go by too": (
        STEPS.replace("(x, y, n,", "(x, y, n, STEP=BLOCK,"),
        'def f(x):\n    n = x.numel()\n    y = torch.empty_like(x)\n    grid = lambda meta: (triton.cdiv(n, meta["BLOCK"]),)\n'
        "    kernel[grid](x, y, n)\n    return x\n",
    ),
    "a size that another one is set to": (
        STEPS.replace("    kernel[", "    WIDTH = BLOCK\n    kernel[").replace("(x, y, n,", "(x, y, n, STEP=WIDTH,"),
        'def f(x):\n    n = x.numel()\n    y = torch.empty_like(x)\n    grid = lambda meta: (triton.cdiv(n, meta["BLOCK"]),)\n'
        "    kernel[grid](x, y, n)\n    return x\n",
    ),
    "a number of blocks": (
        text(
            launch="y, blocks = x, 1\n    BLOCK = 256\n"
            "    blocks_ = triton.cdiv(n, BLOCK)\n    kernel[(blocks_, blocks)](x, y, n, BLOCK)"
        ),
        "def f(x):\n    n = x.numel()\n    y, blocks = x, 1\n"
        '    grid = lambda meta: (triton.cdiv(n, meta["BLOCK"]), blocks)\n    kernel[grid](x, y, n)\n    return x\n',
    ),
    "a number of blocks that is divided out": (
        text(
            launch="BLOCK = 64\n    blocks = (n + BLOCK - 1) // BLOCK\n"
            "    grid = (2 * blocks,)\n    kernel[grid](x, x, n, BLOCK)"
        ),
        "def f(x):\n    n = x.numel()\n"
        '    grid = lambda meta: (2 * ((n + meta["BLOCK"] - 1) // meta["BLOCK"]),)\n    kernel[grid](x, x, n)\n    return x\n',
    ),
    "a size that is chosen": (
        text(
            launch="if n > 9:\n        BLOCK = 64\n    else:\n        BLOCK = 128 if n else 32\n"
            "    kernel[(triton.cdiv(n, BLOCK),)](x, x, n, BLOCK=BLOCK)"
        ),
        'def f(x):\n    n = x.numel()\n    grid = lambda meta: (triton.cdiv(n, meta["BLOCK"]),)\n'
        "    kernel[grid](x, x, n)\n    return x\n",
    ),
}  # fmt: skip


@pytest.mark.parametrize("form", GOES)
def test_what_only_served_a_block_size_goes(form: str) -> None:
    source, launcher = GOES[form]
    (found,) = rewritten(STRATEGY, source)
    assert found.endswith(launcher)
    assert 'triton.Config({"BLOCK": ' in found


TOGETHER = {
    "the same number in two branches": (
        text(
            launch="y = torch.empty_like(x)\n    if n > 9:\n        kernel[(triton.cdiv(n, 64),)](x, y, n, BLOCK=64)\n"
            "    else:\n        kernel[(triton.cdiv(n, 64),)](x, y, n, 64)"
        ),
        ['grid = lambda meta: (triton.cdiv(n, meta["BLOCK"]),)\n        kernel[grid](x, y, n)\n', '{"BLOCK": 64}, num_warps=4'],
        2,
    ),
    "a name of each function": (
        text() + "\n\ndef g(x):\n    SIZE = 256\n    kernel[(triton.cdiv(x.numel(), SIZE),)](x, x, x.numel(), SIZE)\n",
        ["    kernel[grid](x, x, x.numel())\n", "    kernel[grid](x, y, n)\n", 'restore_value=["y_ptr"]'],
        2,
    ),
    "a name that both launches read": (
        text(launch=LAUNCH + "\n    kernel[(triton.cdiv(n, BLOCK),)](y, x, n, BLOCK=BLOCK)"),
        ["triton.Config({}, num_warps=8)", "    BLOCK = 256\n", "(y, x, n, BLOCK=BLOCK)\n", 'restore_value=["y_ptr"]'],
        0,
    ),
    "different numbers": (
        text(launch=LAUNCH.replace("=BLOCK)", "=BLOCK, num_warps=2)")).replace(
            "    return x\n", "    kernel[(triton.cdiv(n, 64),)](y, x, n, 64, num_warps=2)\n    return x\n"
        ),
        ["triton.Config({}, num_warps=2)", "(x, y, n, BLOCK=BLOCK)\n", "(y, x, n, 64)\n"],
        0,
    ),
}  # fmt: skip


@pytest.mark.parametrize("form", TOGETHER)
def test_all_launches_of_a_kernel_are_changed_together(form: str) -> None:
    source, expected, grids = TOGETHER[form]
    (result,) = rewritten(STRATEGY, source)
    compile(result, "kernel.py", "exec")
    assert [part for part in expected if part not in result] == []
    assert result.count("kernel[grid](") == grids
    check = "\n\ndef both(x):\n    y = f(x.clone())\n    g(y)\n    return x, y\n\n\ndef g(x):\n    pass\n"
    check = check[: check.index("\n\n\ndef g")] + "\n" if "def g(" in source else check
    before, after = (one.replace("return x\n", "return y\n", 1) + check for one in (source, result))
    assert differing([(form, before, after, ["both(randn(1000))", "both(randn(33))", "both(randn(1))"])]) == {}


def test_a_helper_that_only_served_the_launch_is_not_called_and_the_results_stay() -> None:
    rest = "\n\n\ndef chosen(n):\n    return 64 if n > 99 else 32, 4, 2 * n\n"
    launch = HELPED.replace("BLOCK, warps", "BLOCK, warps, m").replace("kernel[", "n = m // 2\n    kernel[")
    rows = []
    for name, source in (
        ("two", text(launch=HELPED) + rest.replace(", 2 * n", "")),
        ("three", text(launch=launch) + rest),
        (
            "steps",
            text(launch=LAUNCH.replace("BLOCK = 256", "BLOCK = 16\n    if n > 16:\n        BLOCK *= 2")) + rest,
        ),
    ):
        before = source.replace("return x\n", "return y\n")
        (after,) = rewritten(STRATEGY, before)
        assert "kernel[grid](x, y, n)" in after
        assert 'triton.Config({"BLOCK": 1024}' in after
        rows.append((name, before, after, ["f(randn(1000))", "f(randn(33))", "f(randn(1))"]))
    assert len(rows) == 3
    assert differing(rows) == {}
