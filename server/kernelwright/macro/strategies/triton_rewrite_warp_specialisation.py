"""Have some warps of a Triton kernel load while the others multiply."""

import ast

from kernelwright.macro.rewrites import Chance, triton_rewrite
from kernelwright.macro.strategy import Absent, Example, Family, Observation
from kernelwright.micro.rewrite.triton_sight import Sight
from kernelwright.source.bindings import Loop
from kernelwright.values import Refusal

_HOPPER, _BLACKWELL, _BEYOND = 90, 100, 110
_FIRST_TRITON = (3, 4)  # which specialises loops by itself


def _look(observation: Observation, sight: Sight) -> Chance | Refusal:
    loops = [loop for loop in sight.reading.loops if _multiplies(sight, loop)]
    if not loops:
        return Absent("No loop of the kernel feeds a tl.dot, so there is nothing that warps could divide among them.")
    if any(_is_specialised(loop) for loop in loops):
        return Absent("The loop is warp-specialised already.")
    device, loop = observation.device, min(loops, key=lambda one: (one.node.end_lineno or 0) - one.node.lineno)
    capability = device.compute_capability or 0
    if not device.is_gpu or not _HOPPER <= capability < _BEYOND:
        return Refusal(f"{device.name} cannot divide roles among warps: Hopper and Blackwell (9.0 to 10.x) can.")
    if device.triton is not None and _version(device.triton) < _FIRST_TRITON:
        return Refusal(f"Triton {device.triton} does not specialise warps; version 3.4 does.")
    if capability < _BLACKWELL and not _loads_by_descriptor(sight, loop):
        line = loop.node.lineno
        return Refusal(
            f"On Hopper the loop on line {line} would have to load through tensor descriptors.", line=line - 1
        )
    return Chance(
        f"loop on line {loop.node.lineno}",
        0.08,
        "Loads and products of the loop are issued by the same warps, which wait for one while they could start the other.",
    )


def _multiplies(sight: Sight, loop: Loop) -> bool:
    return sight.calls_in(loop, "dot") and bool(sight.loads_in(loop))


def _is_specialised(loop: Loop) -> bool:
    call = loop.node.iter
    return isinstance(call, ast.Call) and any(keyword.arg == "warp_specialize" for keyword in call.keywords)


def _loads_by_descriptor(sight: Sight, loop: Loop) -> bool:
    """Whether every load of the loop is one of a descriptor."""
    loads = sight.loads_in(loop)
    return all(access.of_object for access in sight.reading.accesses if access.call in loads)


def _version(text: str) -> tuple[int, int]:
    """The first two numbers of a version; (0, 0) where it has none."""
    first, _, rest = text.partition(".")
    second = rest.partition(".")[0]
    return (int(first), int(second)) if first.isdigit() and second.isdigit() else (0, 0)


_BEFORE = """\
import torch
import torch.nn.functional as F
import triton
import triton.language as tl


@triton.jit
def linear_kernel(x_ptr, w_ptr, bias_ptr, out_ptr, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    x_desc = tl.make_tensor_descriptor(x_ptr, [M, K], [K, 1], [BM, BK])
    w_desc = tl.make_tensor_descriptor(w_ptr, [N, K], [K, 1], [BN, BK])
    first_row, first_col = tl.program_id(0) * BM, tl.program_id(1) * BN
    total = tl.zeros((BM, BN), tl.float32)
    for k in range(0, K, BK):
        x = x_desc.load([first_row, k])
        w = w_desc.load([first_col, k])
        total = tl.dot(x, w.T, total)
    rows = first_row.to(tl.int64) + tl.arange(0, BM)
    cols = first_col.to(tl.int64) + tl.arange(0, BN)
    total += tl.load(bias_ptr + cols, mask=cols < N, other=0.0).to(tl.float32)[None, :]
    mask = (rows[:, None] < M) & (cols[None, :] < N)
    tl.store(out_ptr + rows[:, None] * N + cols[None, :], total, mask=mask)


# workload: linear(randn(8192, 4096, dtype=float16), randn(4096, 4096, dtype=float16), randn(4096, dtype=float16))
# workload: linear(randn(70, 45, dtype=float16), randn(50, 45, dtype=float16), randn(50, dtype=float16))
def linear(x, weight, bias):
    M, N = x.shape[0], weight.shape[0]
    rest = -x.shape[1] % 8  # rows of a descriptor are multiples of 16 bytes long
    x, weight = F.pad(x, (0, rest)).contiguous(), F.pad(weight, (0, rest)).contiguous()
    out = torch.empty((M, N), device=x.device, dtype=x.dtype)
    triton.set_allocator(lambda size, alignment, stream: torch.empty(size, device=out.device, dtype=torch.int8))
    grid = (triton.cdiv(M, 128), triton.cdiv(N, 128))
    bias, K = bias.contiguous(), x.shape[1]
    linear_kernel[grid](x, weight, bias, out, M, N, K, BM=128, BN=128, BK=64, num_warps=8)
    return out
"""

_AFTER = _BEFORE.replace(
    """\
    for k in range(0, K, BK):
""",
    """\
    for k in tl.range(0, K, BK, num_stages=3, warp_specialize=True):
""",
).replace("num_warps=8", "num_warps=4")

STRATEGY = triton_rewrite(
    "warp-specialisation",
    "Specialise warps",
    _look,
    family=Family.PIPELINING,
    why="Warps that only load keep the memory busy while others keep the tensor cores busy.",
    doc="""\
Divides the roles in a loop with `tl.dot`: some warps copy tiles into shared memory, others multiply them. Triton does so
where the loop is `tl.range(..., warp_specialize=True)`.

It pays in long loops of products on Hopper and Blackwell, and most where work between the products (a softmax, a scale)
keeps the multiplying warps from loading. It does not pay in short loops, in kernels bound by memory, or where the extra
warps' registers leave room for fewer programs.

**Refused:** kernels without a loop around a `tl.dot`; devices other than those of compute capability 9.0 to 10.x; Triton
before 3.4; on Hopper, loops that load through pointers, which Triton 3.7 does not specialise.
""",
    instruction="""\
Have the compiler divide the loop's work between warps that load and warps that multiply.
1. Take the innermost loop with the `tl.dot`, and write it as `tl.range(start, stop, step, num_stages=n,
   warp_specialize=True)` with 2 to 4 stages.
2. Make the loop plain: straight-line body, no `if` on values that differ, no `break`, no store, no atomics; every place
   computed from the loop variable; the accumulator and few other values carried.
3. Launch with num_warps=4 on Hopper: Triton 3.7 adds eight warps to them. With 8 it leaves the loop as it was, without a
   word. On Blackwell 4 and 8 both work. Keep tiles at about 128 x 128 x 64; each stage holds a copy of both operands in
   shared memory.
4. Operands come through tensor descriptors that the kernel makes (`tl.make_tensor_descriptor`, with `triton.set_allocator`
   in the launcher); loops over descriptors that the launcher makes fail to compile on Hopper. They need a last stride of 1,
   and other strides and an address that are multiples of 16 bytes: keep what the launcher does to make that so, such as
   padding.
5. In a persistent kernel flatten the loops over tiles and over K (`flatten=True`), so that loading runs on across tiles.
Pitfalls: this changes who does the work, never the result: same fp32 accumulator, same order over K, same masks at the
store. A descriptor fills places beyond its shape with 0, so do not count them where 0 is not the identity. Pointers in such
a loop fail to compile on Hopper with num_warps=4. Keep int64 offsets where pointers remain. Do not specialise loops that
are shorter than the number of stages.
It pays for long loops of products; it does not for memory-bound kernels, where more programs in flight hide the waiting.
Do not change the launcher's signature, its results, or the shapes, dtypes and strides that it accepts.""",
    example=Example(_BEFORE, _AFTER),
)
