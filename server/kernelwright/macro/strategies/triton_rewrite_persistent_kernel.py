"""Have programs of a Triton kernel stay and take one share of the work after another."""

from kernelwright.macro.rewrites import Chance, multiprocessors, triton_rewrite
from kernelwright.macro.strategy import Absent, Example, Family, Observation
from kernelwright.micro.rewrite.triton_sight import Sight
from kernelwright.micro.rewrite.triton_source import names_read
from kernelwright.source.triton.reader import Access
from kernelwright.values import Refusal

_WAVES = 16  # programs for each multiprocessor from which on their starts count


def _look(observation: Observation, sight: Sight) -> Chance | Refusal:
    if any(name == "num_programs" for name, _ in sight.reading.calls):
        return Absent("The kernel's programs walk over the work already: it asks for tl.num_programs.")
    shared = [one for one in sight.reading.loads_and_stores if one.kind == "load" and _is_of_all(sight, one)]
    is_product = bool(observation.kernel.facts.dots)
    if not shared and not is_product:
        return Absent("The programs have no load in common that one which stays could keep.")
    programs = sight.programs
    if programs is None:
        return Absent("How many programs there are the launch does not tell.")
    least = _WAVES * multiprocessors(observation.device)
    if programs < least:
        return Absent(f"There are {programs} programs; only from about {least} on does starting them cost much.")
    if not shared:
        return Chance(
            f"{programs} programs", 0.05, "The end of one tile and the start of the next could overlap in one program."
        )
    return Chance(
        f"{programs} programs",
        0.1,
        f"Each of the {programs} programs loads again what is the same for all (line {shared[0].call.lineno}).",
    )


def _is_of_all(sight: Sight, access: Access) -> bool:
    """Whether every program loads the same elements there, a block of them."""
    read = names_read(access.call)
    return bool(sight.of_programs) and not read & sight.of_programs and bool(read & sight.of_lanes)


_HEAD = """\
import torch
import triton
import triton.language as tl


@triton.jit
"""

_BEFORE = (
    _HEAD
    + """\
def layer_norm_kernel(x_ptr, scale_ptr, shift_ptr, out_ptr, n_cols, eps, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    cols = tl.arange(0, BLOCK)
    mask = cols < n_cols
    scale = tl.load(scale_ptr + cols, mask=mask, other=0.0).to(tl.float32)
    shift = tl.load(shift_ptr + cols, mask=mask, other=0.0).to(tl.float32)
    x = tl.load(x_ptr + row * n_cols + cols, mask=mask, other=0.0).to(tl.float32)
    mean = tl.sum(x, axis=0) / n_cols
    centred = tl.where(mask, x - mean, 0.0)
    variance = tl.sum(centred * centred, axis=0) / n_cols
    out = centred * tl.rsqrt(variance + eps) * scale + shift
    tl.store(out_ptr + row * n_cols + cols, out, mask=mask)


# workload: layer_norm(randn(131072, 512), randn(512), randn(512), 1e-5)
# workload: layer_norm(randn(7, 45), randn(45), randn(45), 1e-5)
def layer_norm(x, scale, shift, eps):
    x, scale, shift = x.contiguous(), scale.contiguous(), shift.contiguous()
    n_rows, n_cols = x.shape
    out = torch.empty_like(x)
    block = triton.next_power_of_2(n_cols)
    layer_norm_kernel[(n_rows,)](x, scale, shift, out, n_cols, eps, BLOCK=block)
    return out
"""
)

_AFTER = (
    _HEAD
    + """\
def layer_norm_kernel(x_ptr, scale_ptr, shift_ptr, out_ptr, n_rows, n_cols, eps, BLOCK: tl.constexpr):
    cols = tl.arange(0, BLOCK)
    mask = cols < n_cols
    scale = tl.load(scale_ptr + cols, mask=mask, other=0.0).to(tl.float32)
    shift = tl.load(shift_ptr + cols, mask=mask, other=0.0).to(tl.float32)
    for row in tl.range(tl.program_id(0).to(tl.int64), n_rows, tl.num_programs(0), num_stages=2):
        x = tl.load(x_ptr + row * n_cols + cols, mask=mask, other=0.0).to(tl.float32)
        mean = tl.sum(x, axis=0) / n_cols
        centred = tl.where(mask, x - mean, 0.0)
        variance = tl.sum(centred * centred, axis=0) / n_cols
        out = centred * tl.rsqrt(variance + eps) * scale + shift
        tl.store(out_ptr + row * n_cols + cols, out, mask=mask)


# workload: layer_norm(randn(131072, 512), randn(512), randn(512), 1e-5)
# workload: layer_norm(randn(7, 45), randn(45), randn(45), 1e-5)
def layer_norm(x, scale, shift, eps):
    x, scale, shift = x.contiguous(), scale.contiguous(), shift.contiguous()
    n_rows, n_cols = x.shape
    out = torch.empty_like(x)
    block = triton.next_power_of_2(n_cols)
    multiprocessors = torch.cuda.get_device_properties(x.device).multi_processor_count
    programs = min(n_rows, 8 * multiprocessors)
    layer_norm_kernel[(programs,)](x, scale, shift, out, n_rows, n_cols, eps, BLOCK=block)
    return out
"""
)

STRATEGY = triton_rewrite(
    "persistent-kernel",
    "Make the kernel persistent",
    _look,
    family=Family.LAUNCH,
    why="Thousands of short programs each start anew and load what is the same for all of them.",
    doc="""\
Launches about as many programs as the device runs at once, and has each of them walk over rows or tiles. What is the same
for all is loaded once for each program, and the loads of the next row can begin while the present one is stored.

It pays where programs are many and short, and where they share an operand. It does not pay where each program takes long,
where the work of programs differs much (the hardware balances programs, a loop does not), or where the loop needs more
registers than the body.

**Refused:** programs that walk over the work already; fewer than about sixteen programs for each multiprocessor; programs
that share no load and make no product; a launch that does not tell the number of programs.
""",
    instruction="""\
Make the kernel persistent: launch as many programs as fit on the device at once, and let each loop over its shares of the
work.
1. Count the shares (rows or tiles) in the launcher, and pass that number to the kernel.
2. Launch `min(shares, k * multi_processor_count)` programs: k = 1 or 2 for a matrix product, 4 to 8 for row kernels. Take
   `multi_processor_count` from `torch.cuda.get_device_properties(x.device)`.
3. In the kernel loop `for share in tl.range(tl.program_id(0), n_shares, tl.num_programs(0))`, and compute from `share` what
   `tl.program_id` gave before. A grid of several axes becomes one, taken apart by // and %, in the order that keeps
   neighbouring shares close in memory.
4. Move what is the same for all shares (weights, column offsets, masks of columns) before the loop.
5. Set accumulators to their start within the loop, for each share anew. Consider `num_stages=2` so that the next loads
   begin early.
Pitfalls: start the loop at an int64 (`tl.program_id(0).to(tl.int64)`), since its variable is multiplied by a stride. Where
there are no shares at all, launch nothing or let the loop not run; a grid of 0 is an error. Do not `return` early from the
loop's body: mask instead. The kernel must stay right for any number of programs, also one. Random numbers are drawn by
share, not by program.
No share depends on another one, so results and their digits stay the same.
It pays for many short programs with common operands; it does not where shares differ much in length.
Do not change the launcher's signature, its results, or the shapes, dtypes and strides that it accepts.""",
    example=Example(_BEFORE, _AFTER),
)
