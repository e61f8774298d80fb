"""Compute again what a Triton kernel stores only to load it later."""

from kernelwright.macro.rewrites import Chance, triton_rewrite
from kernelwright.macro.strategy import Absent, Example, Family, Observation
from kernelwright.micro.rewrite.triton_memory import touches
from kernelwright.micro.rewrite.triton_sight import Sight
from kernelwright.values import Refusal


def _look(observation: Observation, sight: Sight) -> Chance | Refusal:
    found = touches(sight.reading)
    stored = {touch.parameter: touch.line for touch in reversed(found) if touch.kind == "store" and touch.parameter}
    again = [t for t in found if t.kind == "load" and t.parameter in stored and t.line > stored[t.parameter]]
    if not again:
        return Absent("The kernel loads nothing that it has stored before.")
    if not any(t.kind == "load" and t.parameter not in stored for t in found):
        return Refusal(
            f"All that the kernel loads is stored in {again[0].parameter}: nothing is left to recompute from."
        )
    name, line = again[0].parameter, again[0].line
    moved = len(found)
    return Chance(
        f"{name}, stored and loaded again",
        round(2 / moved * 0.75, 2),
        f"Line {line + 1} loads from {name} what the kernel has stored there and could compute again.",
    )


_HEAD = """\
import torch
import triton
import triton.language as tl


@triton.jit
def gates_kernel(x_ptr, out_ptr, n_cols, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    x_ptr += row * n_cols
    out_ptr += row * n_cols
    total = 0.0
    for start in range(0, n_cols, BLOCK):
        cols = start + tl.arange(0, BLOCK)
        mask = cols < n_cols
        gate = tl.sigmoid(tl.load(x_ptr + cols, mask=mask, other=-float("inf")).to(tl.float32))
"""

_SECOND = """\
        total += tl.sum(gate, axis=0)
    for start in range(0, n_cols, BLOCK):
        cols = start + tl.arange(0, BLOCK)
        mask = cols < n_cols
"""

_TAIL = """\
        tl.store(out_ptr + cols, gate / total, mask=mask)


# workload: normalised_gates(randn(8192, 16384))
# workload: normalised_gates(randn(3, 1501))
def normalised_gates(x):
    x = x.contiguous()
    n_rows, n_cols = x.shape
    out = torch.empty_like(x)
    gates_kernel[(n_rows,)](x, out, n_cols, BLOCK=1024)
    return out
"""

STRATEGY = triton_rewrite(
    "recompute",
    "Recompute instead of storing",
    _look,
    family=Family.CACHE,
    why="Computing a value again from what is in the cache costs less than storing it and loading it back.",
    doc="""\
Leaves out the store of an intermediate result and computes it again where it is needed, from the inputs. So a pass over
memory reads once more and writes once less.

It pays where the recomputation is a few operations for each element and its inputs are read anyway, or are no larger than
the intermediate result. It does not pay where an element costs hundreds of operations (a product, a sort), or where the
intermediate result is much smaller than what it is computed from.

**Refused:** kernels that load nothing that they have stored before; kernels that work in place, where the inputs are gone.
""",
    instruction="""\
Remove the round trip of an intermediate result through memory: compute it again where it is used.
1. Find the store whose elements the kernel loads back later, and the expression that was stored. List what that expression
   reads.
2. Check that its inputs still hold the same values at the later place: nothing in between may store to them, and the
   launcher may not pass the same tensor for the input and for the result. If it may (in-place use), do not recompute.
3. Drop the store. In the later loop load the inputs instead of the intermediate result, and repeat the expression; a device
   function (`@triton.jit`) for it keeps both places the same.
4. Drop the buffer from the launcher where nothing else needs it: but not if it is returned to the caller.
5. Values of a row (maximum, total, mean) are kept in registers, not recomputed.
Pitfalls: masked lanes need the same `other` as at the first place, or a value that the store's mask discards. The round
trip may have rounded to the tensor's dtype: without it results become more accurate, and may differ in the last digit of
fp16. A random number must be drawn from the same seed and offset again. Keep fp32 arithmetic, the order of sums and int64
offsets. A store followed by a load of other lanes' elements needs a barrier that recomputing does away with.
It pays for cheap elementwise expressions; it does not for products, long sums, or inputs larger than the intermediate
result.
Do not change the signature, the tensors that are returned or written for the caller, or what shapes and strides are
accepted.""",
    example=Example(
        before=_HEAD
        + """\
        tl.store(out_ptr + cols, gate, mask=mask)
"""
        + _SECOND
        + """\
        gate = tl.load(out_ptr + cols, mask=mask, other=0.0).to(tl.float32)
"""
        + _TAIL,
        after=_HEAD
        + _SECOND
        + """\
        # The row comes from the cache again, and its gates take no way through memory.
        gate = tl.sigmoid(tl.load(x_ptr + cols, mask=mask, other=-float("inf")).to(tl.float32))
"""
        + _TAIL,
    ),
)
