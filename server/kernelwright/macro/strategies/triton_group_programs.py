"""Run the programs of a Triton product in groups of tiles, so that they find each other's operands in the L2 cache."""

from kernelwright.macro.intent import Intent, Text
from kernelwright.macro.strategy import Example, Family, Observation, Strategy
from kernelwright.micro.edits import difference
from kernelwright.micro.rewrite.triton_group import Tiles, tiles_of, with_groups
from kernelwright.micro.rewrite.triton_launch import Site, launch_site
from kernelwright.micro.rewrite.triton_sight import Sight
from kernelwright.values import Action, Language, Refusal, Region, digest

_ID = "triton.group-programs"
_SIZES = (8, 4, 16)
_WAVES = 2
"""Programs for each multiprocessor up to which nearly all run at once, so that their order changes little."""


def find(observation: Observation) -> tuple[Action, ...] | Refusal:
    found = _found(observation)
    if isinstance(found, Refusal):
        return found
    _, tiles = found
    line = tiles.last.lineno - 1
    region = Region(
        line, tiles.last.end_lineno or line + 1, digest(observation.text), f"order of {tiles.first}, {tiles.second}"
    )
    sight = observation.sight
    programs = sight.programs if isinstance(sight, Sight) else None
    few = programs is not None and programs <= _WAVES * (observation.device.multiprocessors or 1)
    return (Action(_ID, region, {"expected_gain": 0.0 if few else 0.03}),)


def intent(observation: Observation, action: Action) -> Intent | Refusal:
    found = _found(observation)
    if isinstance(found, Refusal):
        return found
    texts = [(size, with_groups(*found, size)) for size in _SIZES]
    return Text(tuple(difference(observation.text, text, f"tiles in groups of {size}") for size, text in texts))


def _found(observation: Observation) -> tuple[Site, Tiles] | Refusal:
    site = launch_site(observation.text, observation.kernel)
    if isinstance(site, Refusal):
        return site
    tiles = tiles_of(site)
    return tiles if isinstance(tiles, Refusal) else (site, tiles)


_HEAD = """\
import torch
import triton
import triton.language as tl


@triton.jit
"""

_KERNEL = """\
    m = pid_m * BM + tl.arange(0, BM)
    n = pid_n * BN + tl.arange(0, BN)
    k = tl.arange(0, BK)
    acc = tl.zeros((BM, BN), tl.float32)
    for start in range(0, K, BK):
        a_mask = (m[:, None] < M) & (k[None, :] + start < K)
        b_mask = (k[:, None] + start < K) & (n[None, :] < N)
        a = tl.load(a_ptr + m[:, None] * K + k[None, :] + start, mask=a_mask, other=0.0)
        b = tl.load(b_ptr + (k[:, None] + start) * N + n[None, :], mask=b_mask, other=0.0)
        acc = tl.dot(a, b, acc)
    c_mask = (m[:, None] < M) & (n[None, :] < N)
    tl.store(c_ptr + m[:, None] * N + n[None, :], acc, mask=c_mask)


# workload: matmul(randn(8192, 4096, dtype=float16), randn(4096, 8192, dtype=float16))
# workload: matmul(randn(163, 67, dtype=float16), randn(67, 100, dtype=float16))
def matmul(a, b):
    M, K = a.shape
    N = b.shape[1]
    c = torch.empty((M, N), device=a.device, dtype=a.dtype)
    grid = lambda meta: (triton.cdiv(M, meta["BM"]), triton.cdiv(N, meta["BN"]))
    matmul_kernel[grid](a, b, c, M, N, K, BM=128, BN=128, BK=64, num_warps=8)
    return c
"""

_SIGNATURE = "def matmul_kernel(a_ptr, b_ptr, c_ptr, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr"
_IDS = "    pid_m = tl.program_id(0)\n    pid_n = tl.program_id(1)\n"

STRATEGY = Strategy(
    id=_ID,
    title="Group programs of a product",
    family=Family.CACHE,
    languages=frozenset({Language.TRITON}),
    why="Programs that run together read fewer different tiles of the operands when they lie in a square than in a line.",
    doc="""\
Changes the order in which the programs of a kernel with `tl.dot` take its tiles: `GROUP` tiles of the first coordinate go
together with each tile of the second one, as `tl.swizzle2d` counts them, before the next group begins. Programs that run at
the same time then find more of their operands in the L2 cache. Only the way from program ids to the coordinates changes:
the grid has as many programs as before, and each tile is computed as before. Groups of 4, 8 and 16 are raced. On an H200
the gain on two products of 8192 rows was too small to be confirmed.

It applies where the coordinates are `tl.program_id(0)` and `tl.program_id(1)`, or the quotient and remainder of
`tl.program_id(0)` by the tiles of a row, whose number the grid is a product with. A third side of the grid stays as it is.

It does not apply when the coordinates are computed in another way, as where programs are grouped already, when a coordinate is
used for anything but to be multiplied by a block size, or when the kernel asks for the number of its programs.
""",
    instruction="""\
Reorder the programs of this product so that GROUP rows of tiles run together, column by column, with the usual grouped
ordering of program ids and a smaller last group. Keep the grid and all else.""",
    example=Example(
        before=_HEAD + _SIGNATURE + "):\n" + _IDS + _KERNEL,
        after=_HEAD
        + _SIGNATURE
        + ", GROUP: tl.constexpr = 8):\n"
        + _IDS
        + """\
    tile = pid_n * tl.num_programs(0) + pid_m
    pid_m, pid_n = tl.swizzle2d(
        tile // tl.num_programs(1), tile % tl.num_programs(1), tl.num_programs(0), tl.num_programs(1), GROUP
    )
"""
        + _KERNEL,
    ),
    find=find,
    intent=intent,
    promises_kernel=True,
    needs_gpu=True,
)
