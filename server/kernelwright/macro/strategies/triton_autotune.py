"""Let Triton choose the launch constants per problem size, from a short list of good configurations."""

from kernelwright.macro.intent import Intent, Text
from kernelwright.macro.strategy import Example, Family, Observation, Strategy
from kernelwright.micro.edits import difference
from kernelwright.micro.rewrite.triton_autotune import Terms, autotuned, terms_of
from kernelwright.micro.rewrite.triton_everywhere import everywhere
from kernelwright.micro.rewrite.triton_launch import Site
from kernelwright.micro.rewrite.triton_space import choices, current, diverse, has_choice
from kernelwright.micro.rewrite.triton_tuned import tunable
from kernelwright.values import Action, Language, Refusal, Region, digest

MOST_CONFIGS = 8


def find(observation: Observation) -> tuple[Action, ...] | Refusal:
    asked = _asked(observation)
    if isinstance(asked, Refusal):
        return asked
    kernel = observation.kernel
    region = Region(kernel.start_line, kernel.end_line, digest(observation.text), f"launch constants of {kernel.name}")
    return (Action("triton.autotune", region, {"expected_gain": 0.08}),)


def intent(observation: Observation, action: Action) -> Intent | Refusal:
    asked = _asked(observation)
    if isinstance(asked, Refusal):
        return asked
    site, terms = asked
    others = choices(site, observation.workload, observation.device.compute_capability)
    known = all(constant.value is not None for constant in (*site.tiles, *site.options))
    configs = (*((current(site),) if known else ()), *diverse(site, others, MOST_CONFIGS - known))
    text = autotuned(site, configs, terms)
    return Text((difference(observation.text, text, f"autotuned over {len(configs)} configurations"),))


def _asked(observation: Observation) -> tuple[Site, Terms] | Refusal:
    """The launch, and what the decorator needs to say: enough to know that it can be written, for less than that costs."""
    site = everywhere(observation.text, observation.kernel)
    if isinstance(site, Refusal):
        return site
    if site.kernel.reading.is_autotuned:
        return Refusal("The kernel is already autotuned.", line=site.definition.lineno - 1)
    site = tunable(site)
    if not has_choice(site, observation.workload, observation.device.compute_capability):
        why = "; ".join(site.fixed.values()) or "it has no block size, num_warps or num_stages"
        return Refusal(f"No constant of this launch is free: {why}.", line=site.call.lineno - 1)
    terms = terms_of(site)
    return terms if isinstance(terms, Refusal) else (site, terms)


_HEAD = """\
import torch
import triton
import triton.language as tl


"""

_KERNEL = """\
@triton.jit
def scale_kernel(x_ptr, out_ptr, n, factor, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    x = tl.load(x_ptr + offsets, mask=mask)
    tl.store(out_ptr + offsets, factor * x, mask=mask)


# workload: scale(randn(1 << 24), 2.5)
# workload: scale(randn(1003), -0.5)
def scale(x, factor):
    out = torch.empty_like(x)
    n = x.numel()
"""

STRATEGY = Strategy(
    id="triton.autotune",
    title="Autotune launch constants",
    family=Family.LAUNCH,
    languages=frozenset({Language.TRITON}),
    why="One set of constants cannot be best for every size; @triton.autotune measures a few and remembers per size.",
    doc="""\
Moves hand-set block sizes, `num_warps` and `num_stages` from the launch into `@triton.autotune` with at most eight
configurations, the present one first where it is no expression, and turns the grid into a function of them. What computed
`num_warps` or `num_stages` for the launch goes with it, and so does a number of blocks that only the grid reads. The key is
made of the parameters that bound masks, loops or program counts.

A block size that the launcher goes on needing stays as it is, and only the other constants are chosen: one that is used
elsewhere in it, that callers may set, that is passed by `**` or by position before other arguments, whose grid serves
another launch, too, or that shares its name with another one where the grid cannot tell which of them it means.

Autotuning runs the kernel many times on the caller's tensors. A tensor that is filled by `atomic_add` and made by
`torch.zeros` in the launcher is listed in `reset_to_zero`; one that the kernel also reads, or that the caller passed in and
the kernel writes, in `restore_value`.

Where a kernel is launched from several places, in one function or in several, all of them are changed: what each of them
sets to the same value is chosen, and what has to be protected for one of them is protected for all.

It does not apply when the kernel is autotuned already, when `num_warps` or `num_stages` is a parameter of a launcher, passed
by `**` or not the same in all launches, when a written tensor cannot be told or would be restored and may be None, or when
there is no size to choose by.

The first call with each new key takes longer, and results of the first call depend on the kernel being safe to repeat.
""",
    instruction="""\
Replace the hand-set constants of this launch by @triton.autotune with four to eight configurations. Take the key from
the sizes that bound masks and loops, make the grid a lambda over meta, and add reset_to_zero or restore_value for
tensors that a repeated run would spoil.""",
    example=Example(
        before=_HEAD
        + _KERNEL
        + """\
    BLOCK = 128
    grid = (triton.cdiv(n, BLOCK),)
    scale_kernel[grid](x, out, n, factor, BLOCK=BLOCK, num_warps=4)
    return out
""",
        after=_HEAD
        + """\
@triton.autotune(
    configs=[
        triton.Config({"BLOCK": 128}, num_warps=4),
        triton.Config({"BLOCK": 1024}, num_warps=4),
        triton.Config({"BLOCK": 2048}, num_warps=8),
        triton.Config({"BLOCK": 512}, num_warps=2),
        triton.Config({"BLOCK": 4096}, num_warps=16),
        triton.Config({"BLOCK": 256}, num_warps=2),
        triton.Config({"BLOCK": 8192}, num_warps=16),
        triton.Config({"BLOCK": 1024}, num_warps=8),
    ],
    key=["n"],
)
"""
        + _KERNEL
        + """\
    grid = lambda meta: (triton.cdiv(n, meta["BLOCK"]),)
    scale_kernel[grid](x, out, n, factor)
    return out
""",
    ),
    find=find,
    intent=intent,
    promises_kernel=True,
    needs_gpu=True,
)
