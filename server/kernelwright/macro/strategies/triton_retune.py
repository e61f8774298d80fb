"""Mend the list and the key of an autotuner for the device at hand."""

from kernelwright.macro.intent import Intent, Text
from kernelwright.macro.strategy import Example, Family, Observation, Strategy
from kernelwright.micro.edits import difference
from kernelwright.micro.rewrite.triton_retune import Mended, mended, retuned
from kernelwright.micro.rewrite.triton_source import kernel_fragment
from kernelwright.micro.rewrite.triton_tuner import Tuner, tuner_of
from kernelwright.values import Action, Language, Refusal, Region, digest

_ID = "triton.retune"


def find(observation: Observation) -> tuple[Action, ...] | Refusal:
    found = _found(observation)
    if isinstance(found, Refusal):
        return found
    tuner, change = found
    line = tuner.call.lineno - 1
    region = Region(line, tuner.call.end_lineno or line + 1, digest(observation.text), _summary(change))
    return (Action(_ID, region, {"expected_gain": 0.05 if change.added else 0.0}),)


def intent(observation: Observation, action: Action) -> Intent | Refusal:
    found = _found(observation)
    if isinstance(found, Refusal):
        return found
    return Text((difference(observation.text, retuned(*found), _summary(found[1])),))


def _found(observation: Observation) -> tuple[Tuner, Mended] | Refusal:
    kernel = kernel_fragment(observation.text, observation.kernel)
    if isinstance(kernel, Refusal):
        return kernel
    tuner = tuner_of(kernel)
    if isinstance(tuner, Refusal):
        return tuner
    change = mended(tuner, observation.text, observation.kernel, observation.workload, observation.device)
    if not change.is_nothing:
        return tuner, change
    if change.why_nothing:
        words = f"No configuration can be added to the autotuner: {change.why_nothing}."
    elif observation.device.is_gpu:
        words = "The autotuner lacks no configuration for this device, and nothing is wrong with its key."
    else:
        words = (
            "Which configurations the autotuner lacks needs a GPU to measure, and there is none here; its key is sound."
        )
    return Refusal(words, line=tuner.call.lineno - 1)


def _summary(change: Mended) -> str:
    parts = [f"{len(change.added)} more configurations"] if change.added else []
    parts += [f"one fewer ({why})" for _, why in change.dropped]
    parts += [f"key [{', '.join(change.key)}]"] if change.key is not None else []
    return "; ".join(parts)


_HEAD = """\
import torch
import triton
import triton.language as tl


@triton.autotune(
    configs=[
        triton.Config({"BLOCK": 128}, num_warps=4),
        triton.Config({"BLOCK": 256}, num_warps=4),
"""

_TAIL = """\
)
@triton.jit
def dropout_kernel(x_ptr, out_ptr, n, p, seed, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    x = tl.load(x_ptr + offsets, mask=mask)
    keep = tl.rand(seed, offsets) > p
    tl.store(out_ptr + offsets, tl.where(keep, x / (1 - p), 0.0), mask=mask)


# workload: dropout(randn(1 << 24), 0.5, 7)
# workload: dropout(randn(1003), 0.1, 3)
def dropout(x, p, seed):
    out = torch.empty_like(x)
    n = x.numel()
    grid = lambda meta: (triton.cdiv(n, meta["BLOCK"]),)
    dropout_kernel[grid](x, out, n, p, seed)
    return out
"""

STRATEGY = Strategy(
    id=_ID,
    title="Mend the autotuner",
    family=Family.LAUNCH,
    languages=frozenset({Language.TRITON}),
    why="A list of configurations serves the GPU that it was made on, and a key with too much in it measures in every call.",
    doc="""\
Adds to the list of an autotuner those of the seven best guesses of `triton.autotune` for this device that it lacks. The
present ones stay in front, and all other arguments stay as they are; what the present ones have in common beside block
sizes, warps and stages (`GROUP_M`, `pre_hook`) the new ones get, too. A block size varies where the grid or a loop of
the kernel follows it, or where the present configurations differ in what each program takes, and it grows only where all its
lanes are masked. One that must cover a whole row, or that a `tl.static_assert` speaks of, keeps to the value of the first
configuration.

The list may stand in the decorator, in a list of the file that a name or a function stands for, or within a function that
chooses among its elements. Comprehensions, loops that append, and functions that make one configuration of numbers are
followed over literals, ranges and products of them. Of a list of another file, under a name or from a call with
constant arguments, the block sizes are taken to be what the launch leaves to it.

Takes away from a list in the decorator what stands there twice and what cannot run: no powers of two, or, for a matmul, more
shared memory than a block of this device has. Takes names out of the key that change no address, loop or branch, such as a
dropout probability; names the size that a loop runs over in steps of a tuned block size; and names all sizes in a key
that has none.

It does not apply when the configurations cannot be read, when they set different arguments, or when nothing is lacking. Without
a GPU nothing is added.
""",
    instruction="""\
Add up to seven configurations for this device that the autotuner's list lacks, after the present ones. Take out duplicates
and what cannot run. Take names out of the key that do not decide how the kernel runs, and name the sizes that do. Leave all
else.""",
    example=Example(
        before=_HEAD
        + """\
        triton.Config({"BLOCK": 128}, num_warps=4),
    ],
    key=["n", "p"],
"""
        + _TAIL,
        after=_HEAD
        + """\
        triton.Config({"BLOCK": 1024}, num_warps=4),
        triton.Config({"BLOCK": 2048}, num_warps=8),
        triton.Config({"BLOCK": 512}, num_warps=2),
        triton.Config({"BLOCK": 4096}, num_warps=16),
        triton.Config({"BLOCK": 256}, num_warps=2),
        triton.Config({"BLOCK": 8192}, num_warps=16),
        triton.Config({"BLOCK": 1024}, num_warps=8),
    ],
    key=["n"],
"""
        + _TAIL,
    ),
    find=find,
    intent=intent,
    promises_kernel=True,
    needs_gpu=True,
)
