"""Grouped programs: each form is written, every tile is computed once, the gate passes it, and what is refused."""

import ast

import pytest

from kernelwright.macro.strategies.triton_group_programs import STRATEGY
from macro.triton_files import HEAD, differing, gated, observe, refusal, rewritten, run_interpreted

TWO = "m = tl.program_id(0)\nn = tl.program_id(1)\n"
TURNED = "n = tl.program_id(axis=0)\nm = tl.program_id(axis=1)\n"
BATCHED = TWO + "z = tl.program_id(2)\na += z * 0\n"
ONE = "pid = tl.program_id(0)\nwide = tl.cdiv(N, BN)\nm = pid // wide\nn = pid % wide\n"
INLINE = "pid = tl.program_id(axis=0)\nm = pid // tl.cdiv(N, BN)\nn = pid % tl.cdiv(N, BN)\n"
BARE = "wide = tl.cdiv(N, BN)\nm = tl.program_id(axis=0) // wide\nn = tl.program_id(axis=0) % wide\n"
GROUPED = (
    "pid = tl.program_id(0)\nhigh = tl.cdiv(M, BM)\nwide = tl.cdiv(N, BN)\ngroup = pid // (4 * wide)\n"
    "size = min(high - group * 4, 4)\nm = group * 4 + (pid % (4 * wide)) % size\nn = (pid % (4 * wide)) // size\n"
)
REST = """\
i = m * BM + tl.arange(0, BM)
j = BN * n + tl.arange(0, BN)
k = tl.arange(0, BK)
acc = tl.zeros((BM, BN), tl.float32)
for start in range(0, K, BK):
    x = tl.load(a + i[:, None] * K + (k + start)[None, :], mask=(i[:, None] < M) & (k[None, :] < K - start), other=0.0)
    y = tl.load(b + (k + start)[:, None] * N + j[None, :], mask=(k[:, None] < K - start) & (j[None, :] < N), other=0.0)
    acc += tl.dot(x, y, input_precision="ieee")
tl.store(c + i[:, None] * N + j[None, :], acc, mask=(i[:, None] < M) & (j[None, :] < N))
"""
PLANE = "(triton.cdiv(M, BM), triton.cdiv(N, BN))"
TURNED_PLANE = "(triton.cdiv(N, BN), triton.cdiv(M, BM))"
DEEP = "(triton.cdiv(M, BM), triton.cdiv(N, BN), 1)"
LINE = "(triton.cdiv(M, BM) * triton.cdiv(N, BN),)"
ASKED = 'lambda meta: (triton.cdiv(M, meta["BM"]) * triton.cdiv(N, meta["BN"]),)'


def kernel(ids: str, grid: str = PLANE, rest: str = REST, more: str = "") -> str:
    lines = "".join(f"    {line}\n" for line in (ids + rest).splitlines())
    return (
        f"{HEAD}@triton.jit\ndef first_kernel(a, b, c, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr{more}):\n"
        f"{lines}\n\n"
        "# workload: product(randn(8192, 64), randn(64, 8192))\n# workload: product(randn(163, 20), randn(20, 100))\n"
        "def product(a, b):\n    M, K = a.shape\n    N = b.shape[1]\n"
        "    c = torch.empty(M, N, device=a.device)\n    BM, BN, BK = 16, 16, 16\n"
        f"    first_kernel[{grid}](a, b, c, M, N, K, BM=BM, BN=BN, BK=BK)\n    return c\n"
    )


FORMS = {
    "two ids": kernel(TWO),
    "two ids the other way round": kernel(TURNED, TURNED_PLANE),
    "a third side": kernel(BATCHED, DEEP),
    "one id": kernel(ONE, LINE),
    "one id that is asked for twice": kernel(BARE, LINE),
    "one id in one expression, a grid that asks": kernel(INLINE, ASKED),
}


@pytest.mark.parametrize("name", FORMS)
def test_only_the_coordinates_are_computed_anew(name: str) -> None:
    text = FORMS[name]
    variants = rewritten(STRATEGY, text)
    assert [
        after.count(f"GROUP: tl.constexpr = {size})") for after, size in zip(variants, (8, 4, 16), strict=True)
    ] == [1, 1, 1]
    for after in variants:
        tree = ast.parse(after)
        function = next(node for node in tree.body if isinstance(node, ast.FunctionDef))
        added = [
            node for node in function.body if ast.unparse(node).startswith("tile =") or "swizzle2d" in ast.unparse(node)
        ]
        assert len(added) == (1 if "pid" in text else 2)
        function.body = [node for node in function.body if node not in added]
        function.args.args.pop()
        function.args.defaults.pop()
        assert ast.unparse(tree) == ast.unparse(ast.parse(text))


def test_program_ids_of_a_library_are_read_too() -> None:
    text = kernel(TWO.replace("tl.program_id", "more.program_id"))
    assert "tile // tl.num_programs(1), tile % tl.num_programs(1), tl.num_programs(0)" in rewritten(STRATEGY, text)[0]


def test_the_gate_passes_planes_that_do_not_come_out_even() -> None:
    calls = ["product(randn(85, 5), randn(5, 35))"]  # 6 by 3 tiles in groups of 4
    names = (
        "two ids",
        "two ids the other way round",
        "one id that is asked for twice",
        "one id in one expression, a grid that asks",
    )
    made = {name: rewritten(STRATEGY, FORMS[name])[1] for name in names}
    assert differing([(name, FORMS[name], after, calls) for name, after in made.items()]) == {}
    wrong = made["two ids"].replace("n * tl.num_programs(0) + m", "n * tl.num_programs(1) + m")
    assert wrong != made["two ids"]
    passed, other = gated([(FORMS["two ids"], one, calls) for one in (made["two ids"], wrong)])
    assert passed == "passed"
    assert other != "passed"


COUNT = """
import torch, triton, triton.language as tl

@triton.jit
def count(seen, GROUP: tl.constexpr):
    m = tl.program_id(0)
    n = tl.program_id(1)
    tile = n * tl.num_programs(0) + m
    m, n = tl.swizzle2d(
        tile // tl.num_programs(1), tile % tl.num_programs(1), tl.num_programs(0), tl.num_programs(1), GROUP
    )
    tl.atomic_add(seen + m * tl.num_programs(1) + n, 1)

for rows, columns in ((1, 1), (1, 7), (7, 1), (8, 5), (13, 6), (17, 3)):
    for group in (4, 8, 16):
        seen = torch.zeros(rows, columns, dtype=torch.int32)
        count[(rows, columns)](seen, group)
        assert (seen == 1).all(), (rows, columns, group, seen)
"""


def test_each_tile_is_taken_once(tmp_path) -> None:
    start = STRATEGY.example.after.index("    tile = ")
    (written,) = (STRATEGY.example.after[start:].partition("    m = ")[0],)
    assert written.replace("pid_", "") in COUNT, "what is counted is what is written"
    run_interpreted(tmp_path, {"counted": COUNT}, "import counted\n")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (kernel(TWO, rest=REST.replace("tl.dot(x, y, input_precision=\"ieee\")", "tl.sum(x)")), "no tl.dot"),
        (kernel(TWO + "m = m + 0\n"), "do not follow"),
        (kernel(TWO + "tl.store(c + m, 0.0)\n"), "m is used for more than the place of a tile (line 10)"),
        (kernel(TWO.replace("n = ", "q = m // 2\nn = ")), "m is used for more"),
        (kernel(TWO + "x = tl.program_id(0)\n"), "do not follow"),
        (kernel(TWO + "x = tl.num_programs(0)\n"), "asks for the number of its programs"),
        (kernel(TWO.replace("program_id(1)", "program_id(2)")), "do not follow"),
        (kernel("m = tl.program_id(0)\nn = 0\n"), "do not follow"),
        (kernel(ONE, "(triton.cdiv(M, BM) * 4,)"), "do not follow"),
        (kernel(ONE, "(triton.cdiv(M, BM) * triton.cdiv(K, BN),)"), "do not follow"),
        (kernel(ONE, ASKED.replace('"BN"', '"BK"')), "do not follow"),
        (kernel(ONE + "x = pid + 1\n", LINE), "do not follow"),
        (kernel(ONE.replace("n = pid % wide", "n = pid % 4"), LINE), "do not follow"),
        (kernel(BARE + "x = tl.program_id(0)\n", LINE), "do not follow"),
        (kernel(BARE + "x = tl.program_id(0) % wide\n", LINE), "do not follow"),
        (kernel(GROUPED, LINE), "go through its tiles in groups already"),
        (kernel(TWO, more=", *rest"), "by a star"),
        (STRATEGY.example.after, "asks for the number"),
    ],
)  # fmt: skip
def test_other_orders_are_refused(text: str, words: str) -> None:
    assert words in refusal(STRATEGY, text).reason


def test_few_programs_promise_nothing() -> None:
    gains = []
    for text in (kernel(TWO), kernel(TWO).replace("# workload: product(randn(8192, 64), randn(64, 8192))\n", "")):
        actions = STRATEGY.find(observe(text))
        assert isinstance(actions, tuple)
        gains.append(actions[0].params["expected_gain"])
    assert gains == [0.03, 0.0]
