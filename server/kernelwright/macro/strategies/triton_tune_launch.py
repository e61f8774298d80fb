"""Choose block sizes, warps and pipeline stages of a Triton launch by measuring a short list of good ones."""

from kernelwright.macro.intent import Intent, Text
from kernelwright.macro.strategy import Example, Family, Observation, Strategy
from kernelwright.micro.edits import difference
from kernelwright.micro.rewrite.triton_constants import with_values
from kernelwright.micro.rewrite.triton_launch import Site, launch_site
from kernelwright.micro.rewrite.triton_space import choices, described, has_choice, has_dot
from kernelwright.values import Action, Language, Refusal, Region, digest


def find(observation: Observation) -> tuple[Action, ...] | Refusal:
    site = _site(observation)
    if isinstance(site, Refusal):
        return site
    if not observation.device.is_gpu:
        return Refusal("Choosing launch constants needs a GPU to measure, and there is none here.")
    names = ", ".join(constant.name for constant in (*site.tiles, *site.options))
    line = site.call.lineno - 1
    region = Region(line, site.call.end_lineno or line + 1, digest(observation.text), f"launch constants {names}")
    return (Action("triton.tune-launch", region, {"expected_gain": 0.3 if has_dot(site) else 0.1}),)


def intent(observation: Observation, action: Action) -> Intent | Refusal:
    site = _site(observation)
    if isinstance(site, Refusal):
        return site
    variants = choices(site, observation.workload, observation.device.compute_capability)
    return Text(tuple(difference(observation.text, with_values(site, one), described(one)) for one in variants))


def _site(observation: Observation) -> Site | Refusal:
    site = launch_site(observation.text, observation.kernel)
    if isinstance(site, Refusal):
        return site
    if site.kernel.reading.is_autotuned:
        return Refusal(
            "The kernel is already autotuned: its configs choose the constants.", line=site.definition.lineno - 1
        )
    reasons = [why for name, why in site.fixed.items() if "own copy" in why]
    if reasons and not site.tiles:
        return Refusal(f"The block size cannot be changed: {reasons[0]}.", line=site.call.lineno - 1)
    if not has_choice(site, observation.workload, observation.device.compute_capability):
        why = "; ".join(site.fixed.values()) or "it has no block size, num_warps or num_stages"
        return Refusal(f"No constant of this launch is free: {why}.", line=site.call.lineno - 1)
    return site


_KERNEL = """\
import torch
import triton
import triton.language as tl


@triton.jit
def add_kernel(x_ptr, y_ptr, out_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    x = tl.load(x_ptr + offsets, mask=mask)
    y = tl.load(y_ptr + offsets, mask=mask)
    tl.store(out_ptr + offsets, x + y, mask=mask)


# workload: add(randn(1 << 24), randn(1 << 24))
# workload: add(randn(1003), randn(1003))
def add(x, y):
    out = torch.empty_like(x)
    n = x.numel()
"""

STRATEGY = Strategy(
    id="triton.tune-launch",
    title="Tune launch constants",
    family=Family.LAUNCH,
    languages=frozenset({Language.TRITON}),
    why="Block sizes, warps and stages decide how well a kernel fills this GPU, and only a measurement can tell which do.",
    doc="""\
Searches the constants that choose *how* a kernel runs and not *what* it computes: block sizes, `num_warps` and
`num_stages`. A constexpr counts as a block size when a `tl.arange` or the block of a pointer has its length and either the
grid or a loop of the kernel follows it, also by a number of blocks that has a name. The value may stand at the launch, in a
dictionary that is passed by `**`, in a local variable, in a default, or in a module constant that only this launcher uses;
a literal copy in `triton.cdiv` of the grid is changed along.

A number takes the place of an expression, too: of what computes `num_warps` or `num_stages`, and of what computes a block
size whose lanes are all masked, in one step, in several, or in branches. Of a block size that a helper returns together
with others only the others are unpacked, and the number stands below. In settings that a call makes, and that the launcher
only reads, it becomes an entry: `{**settings(n), "BLOCK": 1024}`. Lines that only served the expression go. A block size
whose lanes are reached without a mask never grows. Launches in the same function are changed together; others of the kernel
stay as they are.

At most 24 variants are tried. For a kernel with `tl.dot` they come from a table per GPU generation, checked against the
shared memory of a block and the registers of the accumulator. Streaming kernels get 16 to 64 bytes a thread (128 in a
loop). Where the block must cover a whole row, only warps and stages are tried. Every variant is compiled first; those that
spill registers or do not fit are dropped, the rest are raced, and the fastest is written into the file.

It does not apply when the kernel is autotuned already, when callers or a table of settings choose every constant, or when
there is no GPU to measure on.
""",
    instruction="""\
Choose better values for the block sizes, num_warps and num_stages of this launch. Change nothing but these numbers, keep
block sizes powers of two, and change every copy of a block size in the grid along with it.""",
    example=Example(
        before=_KERNEL
        + """\
    add_kernel[(triton.cdiv(n, 128),)](x, y, out, n, BLOCK=128)
    return out
""",
        after=_KERNEL
        + """\
    add_kernel[(triton.cdiv(n, 1024),)](x, y, out, n, BLOCK=1024)
    return out
""",
    ),
    find=find,
    intent=intent,
    promises_kernel=True,
    needs_gpu=True,
)
