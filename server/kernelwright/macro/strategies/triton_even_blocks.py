"""Load without masks in the loops of a Triton kernel where the range comes out even in blocks."""

import ast

from kernelwright.macro.intent import Intent, Text
from kernelwright.macro.strategy import Example, Family, Observation, Strategy
from kernelwright.micro.edits import difference
from kernelwright.micro.rewrite.triton_even import Lighter, lighter, with_even_blocks
from kernelwright.micro.rewrite.triton_launch import Site, launch_site
from kernelwright.micro.rewrite.triton_sight import Sight
from kernelwright.micro.rewrite.triton_space import has_dot
from kernelwright.values import Action, Language, Refusal, Region, digest

_ID = "triton.even-blocks"


def find(observation: Observation) -> tuple[Action, ...] | Refusal:
    found = _found(observation)
    if isinstance(found, Refusal):
        return found
    site, loads, _ = found
    first, last = loads[0].statement, loads[-1].statement
    sizes = ", ".join(dict.fromkeys(one.split.size for one in loads))
    region = Region(first.lineno - 1, last.end_lineno or last.lineno, digest(observation.text), f"masks over {sizes}")
    sight = observation.sight
    hope = 0.03 if has_dot(site) else 0.0  # without tl.dot it was slower on an H200
    gain = hope if isinstance(sight, Sight) and any(_may_be_even(sight, one) for one in loads) else 0.0
    return (Action(_ID, region, {"expected_gain": gain}),)


def intent(observation: Observation, action: Action) -> Intent | Refusal:
    found = _found(observation)
    if isinstance(found, Refusal):
        return found
    _, loads, text = found
    sizes = ", ".join(dict.fromkeys(one.split.size for one in loads))
    return Text((difference(observation.text, text, f"no masks over {sizes} in even blocks"),))


def _found(observation: Observation) -> tuple[Site, tuple[Lighter, ...], str] | Refusal:
    site = launch_site(observation.text, observation.kernel)
    if isinstance(site, Refusal):
        return site
    loads = lighter(site.kernel)
    if isinstance(loads, Refusal):
        return loads
    text = with_even_blocks(site, loads)
    return text if isinstance(text, Refusal) else (site, loads, text)


def _may_be_even(sight: Sight, one: Lighter) -> bool:
    """Whether the performance case can come out even: as far as its numbers are known, it does."""
    size, block = (sight.number(ast.Name(name, ast.Load())) for name in (one.split.size, one.split.block))
    return size is None or size % (block or 16) == 0


_HEAD = """\
import torch
import triton
import triton.language as tl


@triton.jit
"""

_SIGNATURE = "def matmul_kernel(a_ptr, b_ptr, c_ptr, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr"

_BEFORE = """\
):
    m = tl.program_id(0) * BM + tl.arange(0, BM)
    n = tl.program_id(1) * BN + tl.arange(0, BN)
    k = tl.arange(0, BK)
    a_ptrs = a_ptr + m[:, None] * K + k[None, :]
    b_ptrs = b_ptr + k[:, None] * N + n[None, :]
    acc = tl.zeros((BM, BN), tl.float32)
    for start in range(0, K, BK):
"""

_AFTER = """\
        acc = tl.dot(a, b, acc)
        a_ptrs += BK
        b_ptrs += BK * N
    c_mask = (m[:, None] < M) & (n[None, :] < N)
    tl.store(c_ptr + m[:, None] * N + n[None, :], acc, mask=c_mask)


# workload: matmul(randn(4096, 4096, dtype=float16), randn(4096, 4096, dtype=float16))
# workload: matmul(randn(33, 67, dtype=float16), randn(67, 40, dtype=float16))
# workload: matmul(randn(33, 64, dtype=float16), randn(64, 40, dtype=float16))
def matmul(a, b):
    M, K = a.shape
    N = b.shape[1]
    c = torch.empty((M, N), device=a.device, dtype=a.dtype)
    BM, BN, BK = 128, 128, 32
    grid = (triton.cdiv(M, BM), triton.cdiv(N, BN))
    matmul_kernel[grid](a, b, c, M, N, K, BM=BM, BN=BN, BK=BK"""

STRATEGY = Strategy(
    id=_ID,
    title="Load even blocks without masks",
    family=Family.VECTORISE,
    languages=frozenset({Language.TRITON}),
    why="Where a range comes out even in blocks, the masks of its loop hold everywhere and cost work on every turn.",
    doc="""\
Recognises masks in loops over `range(0, N, BLOCK)` or `range(tl.cdiv(N, BLOCK))` that keep out what lies behind the last
block, such as `lanes < N - k * BLOCK` or `start + lanes < N`, also through names, of lanes that each turn moves on, and as one
of several conditions joined by `&` or `and`. The kernel gets a `tl.constexpr` flag for `N % BLOCK == 0`. Where it is set,
loads and stores of the loop go without that condition; rows, columns and whatever else a mask asks for stay. Where it is not
set, the loop is as before, so that every size gives what it gave.

The launch computes the flag where it holds the block size in a variable. Where a configuration of `@triton.autotune`, a
literal or a dictionary chooses it, an entry of `@triton.heuristics` does. Where the size is a `tl.constexpr` itself, the kernel
computes the flag. Launches in other files go without it, as before.

On an H200 it brought nothing on three kernels: a matrix-vector product ran at 0.99 and a layer norm of long rows at 0.89 times
its speed, and on a product of 2048 x 4096 matrices the difference was too small to be told. So the autopilot tries it for
products alone; by name it is always there.

It does not apply when the kernel has such a flag already, when no mask of a loop is of this form, when the bound of a mask is
no parameter of the kernel, or when heuristics are needed and cannot be put above the kernel.
""",
    instruction="""\
Add a tl.constexpr flag that says whether the loop's range is a multiple of its block size, computed by the launcher or by
@triton.heuristics, and load without the loop's own mask where it is set. Keep row and column masks, and keep the masked
loop for other sizes.""",
    example=Example(
        before=_HEAD
        + _SIGNATURE
        + _BEFORE
        + """\
        a = tl.load(a_ptrs, mask=(m[:, None] < M) & (k[None, :] < K - start), other=0.0)
        b = tl.load(b_ptrs, mask=(k[:, None] < K - start) & (n[None, :] < N), other=0.0)
"""
        + _AFTER
        + ")\n    return c\n",
        after=_HEAD
        + _SIGNATURE
        + ", EVEN_K: tl.constexpr = False"
        + _BEFORE
        + """\
        if EVEN_K:
            a = tl.load(a_ptrs, mask=m[:, None] < M, other=0.0)
            b = tl.load(b_ptrs, mask=n[None, :] < N, other=0.0)
        else:
            a = tl.load(a_ptrs, mask=(m[:, None] < M) & (k[None, :] < K - start), other=0.0)
            b = tl.load(b_ptrs, mask=(k[:, None] < K - start) & (n[None, :] < N), other=0.0)
"""
        + _AFTER
        + ", EVEN_K=K % BK == 0)\n    return c\n",
    ),
    find=find,
    intent=intent,
    promises_kernel=True,
    needs_gpu=True,
)
