"""Mending an autotuner: what its list gains and loses, what its key becomes, and what is left alone."""

import ast
import dataclasses
import re
from pathlib import Path

import pytest

from kernelwright.macro.strategies.triton_autotune import STRATEGY as AUTOTUNE
from kernelwright.macro.strategies.triton_retune import STRATEGY
from kernelwright.micro.rewrite import triton_retune
from kernelwright.values import Refusal
from macro.triton_files import CPU, H200, HEAD, differing, observe, refusal, rewritten, run_python

KERNEL = """\
@triton.jit
def kernel(x_ptr, y_ptr, n, p, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + i, mask=i < n)
    tl.store(y_ptr + i, x * p, mask=i < n)


# workload: f(randn(1000), 0.5)
def f(x, p):
    y = torch.empty_like(x)
    n = x.numel()
    kernel[lambda meta: (triton.cdiv(n, meta["BLOCK"]),)](x, y, n, p)
    return y
"""
UNMASKED = KERNEL.replace(", mask=i < n", "")
STRIDED = KERNEL.replace("y_ptr, n, p", "y_ptr, s, n, p").replace("(x, y, n, p)", "(x, y, *STAR, n=n, p=p)")
PLAIN = '[triton.Config({"BLOCK": 128}, num_warps=4), triton.Config({"BLOCK": 256}, num_warps=4)]'


def text(configs: str = PLAIN, key: str = '["n"]', kernel: str = KERNEL, before: str = "", more: str = "") -> str:
    return HEAD + before + f"@triton.autotune(configs={configs}, key={key}{more})\n" + kernel


def configs_of(result: str) -> str:
    """The `configs` argument of the decorator, as it is written."""
    function = next(n for n in ast.walk(ast.parse(result)) if isinstance(n, ast.FunctionDef) and n.name == "kernel")
    call = function.decorator_list[0]
    assert isinstance(call, ast.Call)
    return ast.unparse(call.keywords[0].value)


def blocks(result: str) -> list[int]:
    return [int(number) for number in re.findall(r"'BLOCK': (\d+)", configs_of(result))]


@pytest.mark.parametrize(
    ("source", "begins"),
    [
        (
            text(),
            "[triton.Config({'BLOCK': 128}, num_warps=4), triton.Config({'BLOCK': 256}, num_warps=4), triton.Config(",
        ),
        (
            text("CONFIGS", before=f"CONFIGS = {PLAIN}\n\n\n"),
            "[*CONFIGS, triton.Config({'BLOCK': 1024}, num_warps=4), triton.Config(",
        ),
        (
            text("configs()", before=f"def configs():\n    return {PLAIN}\n\n\n"),
            "[*configs(), triton.Config({'BLOCK': 1024}, num_warps=4), triton.Config(",
        ),
        (
            text(
                "[triton.Config({'BLOCK': b}, num_warps=w) for b in (128, 1024) for w in SOME]",
                before="SOME = [2, 4]\n\n\n",
            ),
            "[*[triton.Config({'BLOCK': b}, num_warps=w) for b in (128, 1024) for w in SOME], "
            "triton.Config({'BLOCK': 2048}, num_warps=8), triton.Config(",
        ),
        (
            text(
                "CONFIGS",
                before="SIZES = [(128, 4), (256, 8)]\nif wide:\n    CONFIGS: list = [\n        "
                "triton.Config({'BLOCK': b}, num_warps=w) for b, w in SIZES\n    ]\nelse:\n"
                "    CONFIGS = [triton.Config({'BLOCK': 1024}, num_warps=4)]\n\n\n",
            ),
            "[*CONFIGS, triton.Config({'BLOCK': 2048}, num_warps=8), triton.Config(",
        ),
        (text("CONFIGS"), "[*CONFIGS, triton.Config({'BLOCK': 1024}, num_warps=4), triton.Config("),
        (text(f"chosen({PLAIN})"), "chosen([triton.Config({'BLOCK': 128}, num_warps=4), triton.Config("),
        (text("tuned('f')"), "[*tuned('f'), triton.Config({'BLOCK': 1024}, num_warps=4), triton.Config("),
        (
            text("tuned('f')", kernel=STRIDED.replace("STAR", "x.stride()")),
            "[*tuned('f'), triton.Config({'BLOCK': 1024}, num_warps=4), triton.Config(",
        ),
        (
            text("tuned('f')", kernel=STRIDED.replace("STAR", "(x.stride() if p else (1,))")),
            "[*tuned('f'), triton.Config({'BLOCK': 1024}, num_warps=4), triton.Config(",
        ),
    ],
)
def test_configurations_are_added_behind_the_present_ones(source: str, begins: str) -> None:
    (result,) = rewritten(STRATEGY, source)
    assert configs_of(result).startswith(begins)
    added = re.findall(r"Config\((\{.*?\}), num_warps=(\d+)", configs_of(result))
    assert len(added) == len({*added}) > 4


CONFIG = "triton.Config({'BLOCK': b}, num_warps=w)"
LOOPS = """\
def configs():
    found = []
    for b, w in itertools.product(range(128, 257, 128), [4]):
        one = triton.Config({"BLOCK": b}, num_warps=w)
        if b * w > 64:
            found.append(one)
    return found


"""
COUNTED = """\
    found = []
    turns = 0
    for i in range(400):
        for j in range(400):
            for k in range(400):
                turns += 1
"""
LOCAL = "def configs():\n    sizes = [128, 256]\n    {}\n\n\n"
ONE = "def one(block, warps=4):\n    return triton.Config({'BLOCK': block * 2}, num_warps=warps)\n\n\n"


@pytest.mark.parametrize(
    "source",
    [
        text(f"[{CONFIG} for (b, w) in itertools.product((128, 256), [4])]"),
        text(f"[{CONFIG} for b, w in product(SIZES, [2**2])]", before="SIZES = (128, 256)\n"),
        text("[triton.Config({'BLOCK': 64 * 2**n}, num_warps=w) for n in range(1, 3) for w in [4]]"),
        text(f"[{CONFIG.replace('w)', 'w, maxnreg=r)')} for b in (128, 256) for w in (4,) for r in [None, 64]]"),
        text(f"[{CONFIG} for b in SIZES for w in [4]]", before="SIZES = [2**i for i in range(7, 9)]\n"),
        text("configs()", before=LOOPS),
        text("configs()", before=LOOPS.replace("            found.append(one)", "            found += [one]")),
        text("configs()", before=LOOPS.replace("    found = []\n", COUNTED)),
        text("configs()", before=LOOPS.replace("one = triton", "w = 4 if b <= 256 else 8; one = triton").replace("[4]", "[2]")),
        text("configs()", before=LOCAL.format(f"found = [{CONFIG} for b in sizes for w in [4]]\n    return found")),
        text("configs()", before=LOCAL.format(f"return [{CONFIG} for b in sizes for w in [4]]")),
        text("CONFIGS", before=LOOPS + "EVERY = configs()\nCONFIGS = prune(EVERY)\n"),
        text("list(filter(keep, [c for c in CONFIGS if c.num_warps < 8]))", before=f"CONFIGS = {PLAIN}\n"),
        text("CONFIGS", before=f"CONFIGS = [(128, 4), (256, 4)]\nCONFIGS = [{CONFIG} for b, w in CONFIGS]\n"),
        text("[one(64), one(block=128, warps=4)]", before=ONE),
    ],
)  # fmt: skip
def test_what_loops_and_functions_make_is_read(source: str) -> None:
    """Each makes the blocks 128 and 256 with four warps: neither is added, and a third is where it would have been."""
    (result,) = rewritten(STRATEGY, source)
    added = [
        (int(b), int(w)) for b, w in re.findall(r"""Config\(\{['"]BLOCK['"]: (\d+)\}, num_warps=(\d+)\)""", result)
    ]
    assert (1024, 4) in added
    assert len(set(added)) > 5
    start = result.index("@triton.autotune")
    written = re.findall(r"BLOCK['\"]: (\d+)\}, num_warps=4", result[start:] if "[one(" not in source else result)
    assert written.count("128") == written.count("256") == 0
    ast.parse(result)


def test_a_list_that_loops_make_still_runs_with_more_behind_it() -> None:
    sources = {
        "product": text(f"[{CONFIG} for (b, w) in itertools.product((128, 256), [4])]", before="import itertools\n"),
        "appended": text("configs()", before="import itertools\n" + LOOPS),
        "one by one": text("[one(64), one(block=128, warps=4)]", before=ONE),
    }
    calls = ["f(randn(1000), 0.5)", "f(randn(7), 2.0)"]
    rows = [(name, source, rewritten(STRATEGY, source)[0], calls) for name, source in sources.items()]
    assert differing(rows) == {}


@pytest.mark.parametrize(
    ("configs", "before"),
    [
        (f"[{CONFIG} for b in sizes() for w in [4]]", ""),
        (f"[{CONFIG} for b, w in zip((128, 256), (4, 4))]", ""),
        ("[triton.Config({'BLOCK': b}, pre_hook=lambda _: zero(b)) for b in (128, 256)]", ""),
        ("configs()", LOOPS.replace("append(one)", "insert(one)")),
        ("configs()", LOOPS.replace("append(one)", "insert(one)").replace("= []", f"= {PLAIN}")),
        ("configs()", LOOPS.replace("range(128, 257, 128)", "range(sizes)")),
        ("[one(64), one(size())]", ONE.replace("'BLOCK'", "'OTHER': block(block), 'BLOCK'")),
        (f"[{CONFIG} for b in SIZES for w in [4]]", "SIZES = [2 * i for i in SIZES]\n"),
        (f"[{CONFIG} for b in SIZES for w in [4]]", "SIZES = [size(i) for i in range(3)]\n"),
        ("CONFIGS", "CONFIGS = some(CONFIGS)\n"),
        ("configs()", "def configs():\n    triton.Config({})\n    return configs()\n\n\n"),
        ("[b for c in CONFIGS]", f"CONFIGS = {PLAIN}\n"),
    ],
)
def test_what_cannot_be_followed_is_told(configs: str, before: str) -> None:
    assert (
        "The autotuner's configurations could not be read from "
        in refusal(STRATEGY, text(configs, before=before)).reason
    )


BLOCKS = {"A": 128, "B": 256, "C": 512, "NEW": 1024}


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        ("[\n    A,\n    B,  # wide\n    # C,\n]", "[\n    A,\n    B,  # wide\n    NEW,\n    # C,\n]"),
        ("[\n    A,\n    B\n]", "[\n    A,\n    B,\n    NEW,\n]"),
        ("[\n    A,\n    B  # wide\n]", "[\n    A,\n    B,  # wide\n    NEW,\n]"),
        ("[A,\n         B]", "[A,\n         B,\n         NEW]"),
        ("[A,\n         B,]", "[A,\n         B,\n         NEW]"),
        ("[\n    C for w in [4]\n]", "[\n    *[\n        C for w in [4]\n    ],\n    NEW,\n]"),
        ("[A, B]", "[\n    A,\n    B,\n    NEW,\n]"),
    ],
)
def test_more_is_written_as_the_list_is(monkeypatch: pytest.MonkeyPatch, written: str, expected: str) -> None:
    monkeypatch.setattr(triton_retune, "MOST_ADDED", 1)
    own = {name: f'triton.Config({{"BLOCK": {block}}}, num_warps=4)' for name, block in BLOCKS.items()}
    before, after = (re.sub(r"\b(A|B|C|NEW)\b", lambda m: own[m[0]], words) for words in (written, expected))
    assert rewritten(STRATEGY, text(before)) == (text(after),)


def test_what_the_configurations_share_the_new_ones_get_and_all_else_stays() -> None:
    one = "triton.Config({'BLOCK': %d, 'GROUP': 8}, pre_hook=zero, num_warps=4)"
    shared = f"[{one}, {one}]"
    more = ", prune_configs_by={'early_config_prune': prune}, reset_to_zero=['y_ptr']"
    kernel = KERNEL.replace("BLOCK: tl", "GROUP: tl.constexpr, BLOCK: tl")
    (result,) = rewritten(STRATEGY, text(shared % (128, 256), kernel=kernel, more=more))
    assert "triton.Config({'BLOCK': 1024, 'GROUP': 8}, num_warps=4, pre_hook=zero)" in result
    assert more + ")\n@triton.jit" in result


def test_a_block_size_grows_only_where_masks_bound_it() -> None:
    assert max(blocks(rewritten(STRATEGY, text())[0])) == 8192
    assert max(blocks(rewritten(STRATEGY, text(PLAIN.replace("128", "1024"), kernel=UNMASKED))[0])) == 1024


def test_a_block_size_that_covers_a_whole_row_stays_that_of_the_first() -> None:
    row = KERNEL.replace("tl.program_id(0) * BLOCK + ", "tl.program_id(0) * n + ").replace(
        '[lambda meta: (triton.cdiv(n, meta["BLOCK"]),)]', "[(1,)]"
    )
    (result,) = rewritten(STRATEGY, text(kernel=row))
    assert {*blocks(result)[2:]} == {128}


def test_configurations_may_differ_in_what_each_program_takes() -> None:
    (result,) = rewritten(STRATEGY, text(kernel=KERNEL.split("# workload")[0]))
    assert blocks(result)[2] == 1024


def test_a_block_size_of_an_assertion_keeps_to_its_values() -> None:
    kernel = KERNEL.replace("    i = tl", "    tl.static_assert(BLOCK % 128 == 0)\n    i = tl", 1)
    (result,) = rewritten(STRATEGY, text(kernel=kernel))
    assert blocks(result)[:2] == [128, 256]
    assert {*blocks(result)[2:]} == {128}  # that of the first, with other warps


MATMUL = (Path(__file__).parents[3] / "examples" / "triton_matmul.py").read_text()


@pytest.mark.parametrize(
    ("configs", "reason"),
    [
        (PLAIN.replace("]", ", triton.Config({'BLOCK': 128}, num_warps=4)]"), "stands there twice"),
        (PLAIN.replace("]", ", triton.Config({'BLOCK': 96})]"), "BLOCK=96 is no power of two"),
        (
            PLAIN.replace("]", ", triton.Config({'BLOCK': 1 << 21})]").replace("1 << 21", "2097152"),
            "more than Triton takes",
        ),
        (PLAIN.replace("]", ", triton.Config({'BLOCK': 64}, num_warps=6)]"), "num_warps=6 is no power of two"),
    ],
)
def test_what_stands_there_twice_or_cannot_run_goes(configs: str, reason: str) -> None:
    (result,) = rewritten(STRATEGY, text(configs), CPU)
    assert configs_of(result) == configs_of(text())
    actions = STRATEGY.find(observe(text(configs), CPU))
    assert not isinstance(actions, Refusal)
    assert reason in actions[0].region.label


@pytest.mark.parametrize(
    ("key", "expected"),
    [
        ('["n", "p"]', '["n"]'),
        ('["p"]', '["n"]'),
        ("[]", '["n"]'),
        ('["BLOCK_OF_ANOTHER"]', '["BLOCK_OF_ANOTHER", "n"]'),
    ],
)
def test_the_key_names_what_decides(key: str, expected: str) -> None:
    (result,) = rewritten(STRATEGY, text(key=key), CPU)
    assert result == text(key=expected)


LOOP = KERNEL.replace("    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)\n", "").replace(
    "    x = tl.load", "    for j in range(0, {bound}, BLOCK):\n        i = j + tl.arange(0, BLOCK)\n    x = tl.load"
)


@pytest.mark.parametrize(("bound", "added"), [("k", True), ("seq_len", False), ("num_tokens", False), ("M", False)])
def test_a_size_that_a_loop_runs_over_is_named_unless_every_call_changes_it(bound: str, added: bool) -> None:
    kernel = LOOP.replace("{bound}", bound).replace("n, p, BLOCK", f"n, p, {bound}, BLOCK")
    source = text(kernel=kernel)
    if added:
        assert rewritten(STRATEGY, source, CPU)[0] == text(key=f'["n", "{bound}"]', kernel=kernel)
    else:
        assert "its key is sound" in refusal(STRATEGY, source, CPU).reason


@pytest.mark.parametrize(
    ("source", "words"),
    [
        (HEAD + KERNEL, "The kernel is not autotuned."),
        (text("made(SOME, 3)"), "could not be read from made(SOME, 3) (line 6)"),
        (text("A if B else C"), "could not be read from A if B else C (line 6)"),
        (text(PLAIN.replace('{"BLOCK": 256}', "{}")), "the configurations do not set the same arguments"),
        (text(PLAIN.replace("}, num", "}, pre_hook=a, num", 1)), "the configurations do not set the same arguments"),
        (text("tuned('f')", kernel=UNMASKED), "stand in another file, and what BLOCK may be cannot be told"),
        (text("tuned('f')", kernel=KERNEL.split("# workload")[0]), "what the launch leaves to them cannot be told"),
        (
            text("tuned('f')", kernel=STRIDED.replace("STAR", "more(x)")),
            "what the launch leaves to them cannot be told",
        ),
        (
            text("tuned('f')", kernel=STRIDED.replace("s, n", "s: tl.constexpr, n").replace("STAR", "x.stride()")),
            "what s may be cannot be told",
        ),
        (
            text("tuned('f')", kernel=KERNEL.replace("(x, y, n, p)", "(x, y, n, p, **more)")),
            "what the launch leaves to them",
        ),
        (
            text("tuned('f')", kernel="@triton.heuristics(others('f'))\n" + KERNEL),
            "the configurations and heuristics stand in another file",
        ),
        (
            text("CONFIGS", before=f"CONFIGS = {PLAIN.replace('}, num', '}, pre_hook=a, num')}\n\n\n"),
            "the configurations take what they are made of from around line 9",
        ),
    ],
)
def test_refusals_say_why(source: str, words: str) -> None:
    assert words in refusal(STRATEGY, source).reason


def test_a_sound_autotuner_is_left_alone_once_it_is_mended() -> None:
    source = text(
        "[triton.Config({}, num_warps=w) for w in (1, 2, 4, 8, 16, 32)]",
        kernel=KERNEL.replace("BLOCK)\n    x", "64)\n    x"),
    )
    assert "lacks no configuration for this device" in refusal(STRATEGY, source).reason


def test_without_a_gpu_nothing_is_added() -> None:
    assert "needs a GPU to measure" in refusal(STRATEGY, text(), CPU).reason


def test_nothing_is_added_twice() -> None:
    for source in (AUTOTUNE.example.after, rewritten(STRATEGY, text())[0]):
        assert "lacks no configuration for this device" in refusal(STRATEGY, source).reason


def test_another_autotuner_keeps_its_key() -> None:
    source = text(key='["n", "p"]', more=', strategy=["log", "log"]').replace("triton.autotune", "tuned")
    (result,) = rewritten(STRATEGY, source)
    assert 'key=["n", "p"], strategy' in result


@pytest.mark.parametrize(("capability", "kept"), [(90, True), (86, False)])
def test_shared_memory_is_that_of_the_device(capability: int, kept: bool) -> None:
    launch = re.search(r"    BLOCK_M, BLOCK_N, BLOCK_K = .*\n", MATMUL)
    assert launch is not None
    names = ("BLOCK_M", "BLOCK_N", "BLOCK_K")
    config = "triton.Config({{'BLOCK_M': {}, 'BLOCK_N': {}, 'BLOCK_K': {}}}, num_stages=3)"
    listed = f"[{config.format(64, 64, 32)}, {config.format(256, 256, 256)}]"
    source = MATMUL.replace("@triton.jit", f"@triton.autotune({listed}, key=['M', 'N', 'K'])\n@triton.jit")
    (result,) = rewritten(STRATEGY, source, dataclasses.replace(H200, compute_capability=capability))
    assert (config.format(256, 256, 256) in result) is kept
    assert all(name in result for name in names)


def test_triton_accepts_what_is_written(tmp_path: Path) -> None:
    """Its constructor checks configurations, key and the names of protected parameters."""
    (tmp_path / "file.py").write_text(rewritten(STRATEGY, text(key='["p"]', more=', reset_to_zero=["y_ptr"]'))[0])
    check = """
import triton.runtime.autotuner as autotuner
from file import kernel
assert isinstance(kernel, autotuner.Autotuner)
assert kernel.keys == ["n"] and kernel.reset_to_zero == ["y_ptr"]
assert [config.kwargs["BLOCK"] for config in kernel.configs][:2] == [128, 256] and len(kernel.configs) == 9
"""
    run_python(tmp_path, check)
