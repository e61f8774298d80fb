"""A wrong rewrite for each Triton strategy, and the right one beside it: the gate must tell them apart."""

from interpreted import judged
from kernelwright.proof.jobs import Limits, Trial
from kernelwright.values import Case, VerdictStatus, Workload, WorkloadSource

ADD = """
import torch
import triton
import triton.language as tl


@triton.jit
def kernel(x, y, z, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = i < n
    tl.store(z + i, tl.load(x + i, mask=inside) + tl.load(y + i, mask=inside), mask=inside)


def add(x, y):
    z = torch.empty_like(x)
    kernel[(triton.cdiv(x.numel(), 256),)](x, y, z, x.numel(), BLOCK=256)
    return z
"""

SOFTMAX = """
import torch
import triton
import triton.language as tl


@triton.jit
def kernel(x, y, n, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    m = -float("inf")
    for start in range(0, n, BLOCK):
        i = start + tl.arange(0, BLOCK)
        m = tl.maximum(m, tl.max(tl.load(x + row * n + i, mask=i < n, other=-float("inf")), axis=0))
    total = 0.0
    for start in range(0, n, BLOCK):
        i = start + tl.arange(0, BLOCK)
        total += tl.sum(tl.exp(tl.load(x + row * n + i, mask=i < n, other=-float("inf")) - m), axis=0)
    for start in range(0, n, BLOCK):
        i = start + tl.arange(0, BLOCK)
        value = tl.exp(tl.load(x + row * n + i, mask=i < n, other=-float("inf")) - m) / total
        tl.store(y + row * n + i, value, mask=i < n)


def softmax(x):
    y = torch.empty_like(x)
    kernel[(x.shape[0],)](x, y, x.shape[1], BLOCK=64)
    return y
"""

_LAST_LOOP = "    for start in range(0, n, BLOCK):\n        i = start + tl.arange(0, BLOCK)\n        value"
TWO_LOOPS = SOFTMAX[SOFTMAX.index('    m = -float("inf")') : SOFTMAX.index(_LAST_LOOP)]
ONLINE = """    m = -float("inf")
    total = 0.0
    for start in range(0, n, BLOCK):
        i = start + tl.arange(0, BLOCK)
        v = tl.load(x + row * n + i, mask=i < n, other=-float("inf"))
        new = tl.maximum(m, tl.max(v, axis=0))
        total = total * tl.exp(m - new) + tl.sum(tl.exp(v - new), axis=0)
        m = new
"""
AUTOTUNE = """@triton.autotune(configs=[triton.Config({"BLOCK": 128}), triton.Config({"BLOCK": 512})], key=["n"])
@triton.jit"""

ADD_CASE, SOFTMAX_CASE = "add(randn(1 << 20), randn(1 << 20))", "softmax(randn(4096, 300))"

UNWRITTEN = "nan-parity or values"  # what unwritten memory holds is up to the allocator

# (baseline, workload, candidate, the check that must end it)
CASES: dict[str, tuple[str, str, str, str]] = {
    "tune-launch": (ADD, ADD_CASE, ADD.replace("256", "512"), "passed"),
    "tune-launch, the grid forgotten": (ADD, ADD_CASE, ADD.replace("BLOCK=256", "BLOCK=128"), UNWRITTEN),
    "tune-launch, the mask dropped": (ADD, ADD_CASE, ADD.replace(", mask=inside)\n", ")\n"), "out-of-bounds"),
    "autotune": (
        ADD,
        ADD_CASE,
        ADD.replace("@triton.jit", AUTOTUNE)
        .replace("(triton.cdiv(x.numel(), 256),)", "lambda meta: (triton.cdiv(x.numel(), meta['BLOCK']),)")
        .replace(", BLOCK=256)", ")"),
        "passed",
    ),
    "autotune, the grid for one configuration": (
        ADD,
        ADD_CASE,
        ADD.replace("@triton.jit", AUTOTUNE).replace(", BLOCK=256)", ")"),
        f"{UNWRITTEN} or nan-poison",  # the call in whose turn the other configuration is
    ),
    "online-reduction": (SOFTMAX, SOFTMAX_CASE, SOFTMAX.replace(TWO_LOOPS, ONLINE), "passed"),
    "online-reduction, the sum not rescaled": (
        SOFTMAX,
        SOFTMAX_CASE,
        SOFTMAX.replace(TWO_LOOPS, ONLINE.replace("total * tl.exp(m - new)", "total")),
        "values",
    ),
    "online-reduction, without the maximum": (
        SOFTMAX,
        SOFTMAX_CASE,
        SOFTMAX.replace(TWO_LOOPS, ONLINE.replace("tl.maximum(m, tl.max(v, axis=0))", "m").replace('-float("inf")\n', "0.0\n")),
        "nan-parity",
    ),
    "online-reduction, the last block left out": (
        SOFTMAX,
        SOFTMAX_CASE,
        SOFTMAX.replace(TWO_LOOPS, ONLINE.replace("range(0, n, BLOCK)", "range(0, n - BLOCK, BLOCK)")),
        "values",
    ),
    "every program writes the first row": (
        SOFTMAX,
        SOFTMAX_CASE,
        SOFTMAX.replace("tl.store(y + row * n + i, value", "tl.store(y + i, value"),
        "race",
    ),
}  # fmt: skip


def test_right_rewrites_pass_and_wrong_ones_are_named() -> None:
    trials = [
        Trial(
            "/nowhere/kernel.py",
            baseline,
            baseline,
            candidate,
            Workload(WorkloadSource.LINES, case.partition("(")[0], (Case(0, 0, case),)),
            limits=Limits(threads=1, seeds=2),
        )
        for baseline, case, candidate, _ in CASES.values()
    ]
    assert all(t.candidate != t.baseline for t in trials)
    results = judged(trials)
    ends = {
        name: result.verdict.failed_checks[0].name if result.verdict.failed_checks else str(result.verdict.status)
        for name, result in zip(CASES, results, strict=True)
    }
    assert {name: end for name, end in ends.items() if end not in CASES[name][3].split(" or ")} == {}
    for result in results:
        assert result.measurement is None
        if result.verdict.status is VerdictStatus.PASSED:
            assert result.unmeasured == "Speed not measured: no GPU here."
            assert result.verdict.how.startswith("in Triton's interpreter on the CPU, sizes reduced to ")
