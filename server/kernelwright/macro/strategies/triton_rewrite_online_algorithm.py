"""Replace several dependent passes of a Triton kernel by an algorithm that needs one."""

import ast
import itertools

from kernelwright.macro.rewrites import Chance, triton_rewrite
from kernelwright.macro.strategy import Absent, Example, Family, Observation
from kernelwright.micro.rewrite.triton_sight import Sight
from kernelwright.source.bindings import Loop
from kernelwright.values import Refusal

_REDUCING = 2  # passes that could become one


def _look(observation: Observation, sight: Sight) -> Chance | Refusal:
    passes = _alike([loop for loop in sight.reading.loops if sight.loads_in(loop)])
    reducing = [loop for loop in passes if _carried(sight, loop)]
    if len(reducing) < _REDUCING:
        return Absent("The kernel has no two loops over the same range that both reduce what they load.")
    pairs = itertools.pairwise(reducing)
    later = next((two for one, two in pairs if _carried(sight, one) & _read_in(sight, two)), None)
    if later is None:
        return Absent("No reducing loop waits for what an earlier one over the same range has found.")
    count = len(passes)
    return Chance(
        f"{count} passes over one range",
        round(0.5 * (count / (count - 1) - 1), 2),
        f"The loop on line {later.node.lineno} reads the data again because it waits for the result of the one before.",
    )


def _alike(loops: list[Loop]) -> list[Loop]:
    """The most loops that run over the same range, in order of the text."""
    kinds: dict[str, list[Loop]] = {}
    for loop in loops:
        kinds.setdefault(ast.dump(loop.node.iter), []).append(loop)
    return max(kinds.values(), key=len, default=[])


def _carried(sight: Sight, loop: Loop) -> frozenset[str]:
    """The names whose new value in a turn depends on their old one."""
    return frozenset(one.name for one in sight.sets_in(loop) if one.name in one.reads)


def _read_in(sight: Sight, loop: Loop) -> frozenset[str]:
    return frozenset(name for one in sight.sets_in(loop) for name in one.reads)


_HEAD = """\
import torch
import triton
import triton.language as tl


@triton.jit
def attend_kernel(q_ptr, k_ptr, v_ptr, out_ptr, n_keys, dim, scale, BLOCK: tl.constexpr, BLOCK_D: tl.constexpr):
    head = tl.program_id(0).to(tl.int64)
    cols = tl.arange(0, BLOCK_D)
    in_row = cols < dim
    q = tl.load(q_ptr + head * dim + cols, mask=in_row, other=0.0).to(tl.float32) * scale
    k_ptr += head * n_keys * dim
    v_ptr += head * n_keys * dim
"""

_SCORES = """\
        keys = start + tl.arange(0, BLOCK)
        mask = (keys[:, None] < n_keys) & in_row[None, :]
        offsets = keys[:, None] * dim + cols[None, :]
        k = tl.load(k_ptr + offsets, mask=mask, other=0.0).to(tl.float32)
        score = tl.where(keys < n_keys, tl.sum(q[None, :] * k, axis=1), -float("inf"))
"""

_TAIL = """\
    tl.store(out_ptr + head * dim + cols, out / total, mask=in_row)


# workload: attend(randn(512, 128), randn(512, 4096, 128), randn(512, 4096, 128))
# workload: attend(randn(3, 20), randn(3, 45, 20), randn(3, 45, 20))
def attend(q, k, v):
    q, k, v = q.contiguous(), k.contiguous(), v.contiguous()
    n_heads, n_keys, dim = k.shape
    out = torch.empty_like(q)
    block_d = triton.next_power_of_2(dim)
    attend_kernel[(n_heads,)](q, k, v, out, n_keys, dim, dim**-0.5, BLOCK=32, BLOCK_D=block_d)
    return out
"""

STRATEGY = triton_rewrite(
    "online-algorithm",
    "Use a one-pass algorithm",
    _look,
    family=Family.REORDERING,
    why="Passes that wait for one another read the data again each time; an online algorithm keeps a state instead.",
    doc="""\
Replaces passes that depend on each other's results by one that carries a state and corrects it as it goes: a maximum with
sums that are rescaled when it grows, Welford's mean and variance, a weighted average under a softmax (the idea of
FlashAttention, Dao et al., 2022), top-k by merging.

Where the passes are a plain softmax, log-softmax or variance of a row, `triton.online-reduction` does this without a model.
It pays where the data are too large for the L2 cache, or where each pass computes its elements anew. It does not pay where
a row fits into registers: then keep it there.

**Refused:** kernels without two reducing loops over the same range of which the second needs the first one's result.
""",
    instruction="""\
Replace the dependent passes by one pass that carries a state, and updates it with each block.
1. Write down what the last pass needs: each quantity is a state (maximum, sum, weighted sum, count, mean, M2, best k).
2. Find for each how an old state and a new block combine. Softmax: m' = max(m, max(s)); old sums are multiplied by exp(m -
   m'); new terms are exp(s - m'). A weighted sum under a softmax (attention's output) is rescaled in the same way, all of
   its columns. Variance: merge (n, mean, M2) by Chan's formula; never as E[x^2] - E[x]^2.
3. Write one loop: load the block once, compute its elements once, update all states in the same turn; divide behind the
   loop.
4. Where the result has one element for each input (a softmax itself), one pass to gather and one to write remain.
5. Where states from several programs or vector lanes meet, merge them with the same formula.
Pitfalls: start the maximum at -inf, and take care that exp(-inf - -inf) is NaN: use 0 as the shift while no finite value
has come. Lanes beyond the end are -inf for a maximum, and add 0 to every sum. The states are fp32, whatever the inputs are.
Compute m' before rescaling, and rescale every sum, not only the first. A block in which all is masked must leave the state
as it was. Sizes that the block does not divide, a single element, and offsets beyond 2^31 stay right. Order of blocks stays
fixed.
It pays for long rows and expensive elements; it does not where the row fits into registers of one program.
Do not change the launcher's signature, its results, or the shapes, dtypes and strides that it accepts.""",
    example=Example(
        before=_HEAD
        + """\
    best = -float("inf")
    for start in range(0, n_keys, BLOCK):
"""
        + _SCORES
        + """\
        best = tl.maximum(best, tl.max(score, axis=0))
    total = 0.0
    for start in range(0, n_keys, BLOCK):
"""
        + _SCORES
        + """\
        total += tl.sum(tl.exp(score - best), axis=0)
    out = tl.zeros((BLOCK_D,), tl.float32)
    for start in range(0, n_keys, BLOCK):
"""
        + _SCORES
        + """\
        v = tl.load(v_ptr + offsets, mask=mask, other=0.0).to(tl.float32)
        out += tl.sum(tl.exp(score - best)[:, None] * v, axis=0)
"""
        + _TAIL,
        after=_HEAD
        + """\
    best = -float("inf")
    total = 0.0
    out = tl.zeros((BLOCK_D,), tl.float32)
    for start in range(0, n_keys, BLOCK):
"""
        + _SCORES
        + """\
        new_best = tl.maximum(best, tl.max(score, axis=0))
        # Before the first finite score both maxima are -inf, and their difference would be NaN.
        shift = tl.where(new_best == -float("inf"), 0.0, new_best)
        kept = tl.exp(best - shift)
        weight = tl.exp(score - shift)
        v = tl.load(v_ptr + offsets, mask=mask, other=0.0).to(tl.float32)
        total = total * kept + tl.sum(weight, axis=0)
        out = out * kept + tl.sum(weight[:, None] * v, axis=0)
        best = new_best
"""
        + _TAIL,
    ),
    needs_gpu=False,
)
