"""Merge the passes of a row softmax, log-softmax or variance, so that the row is read fewer times."""

from collections.abc import Iterator

from kernelwright.macro.intent import Intent, Text
from kernelwright.macro.strategy import Example, Family, Observation, Strategy
from kernelwright.micro.edits import difference
from kernelwright.micro.rewrite.online_parts import Online
from kernelwright.micro.rewrite.triton_launch import launch_site
from kernelwright.micro.rewrite.triton_one_block import LONGEST, WARPS, with_one_block
from kernelwright.micro.rewrite.triton_online import online
from kernelwright.micro.rewrite.triton_online_text import with_online_pass
from kernelwright.micro.rewrite.triton_passes import Run, find_run
from kernelwright.micro.rewrite.triton_source import Fragment, kernel_fragment
from kernelwright.values import Action, Language, Refusal, Region, digest


def find(observation: Observation) -> tuple[Action, ...] | Refusal:
    found = _found(observation)
    if isinstance(found, Refusal):
        return found
    fragment, run, merged = found
    answers: list[Refusal] = []
    for answer in _variants(observation, fragment, run, merged):
        if not isinstance(answer, Refusal):
            break
        answers.append(answer)
    else:
        return answers[0]
    passes = len(run.passes)
    last = run.passes[-1].loop
    what = merged.what if isinstance(merged, Online) else "row reduction"
    region = Region(
        run.passes[0].line, last.end_lineno or last.lineno, digest(observation.text), f"{what} in {passes} passes"
    )
    moved = passes + 1  # each pass reads the row, the last one also writes it
    return (Action("triton.online-reduction", region, {"saved_share": round(1.0 / moved, 3)}),)


def intent(observation: Observation, action: Action) -> Intent | Refusal:
    found = _found(observation)
    if isinstance(found, Refusal):
        return found
    answers = tuple(_variants(observation, *found))
    texts = [answer for answer in answers if not isinstance(answer, Refusal)]
    if not texts:
        return next(answer for answer in answers if isinstance(answer, Refusal))
    return Text(tuple(difference(observation.text, text, summary) for summary, text in texts))


def _found(observation: Observation) -> tuple[Fragment, Run, Online | Refusal] | Refusal:
    fragment = kernel_fragment(observation.text, observation.kernel)
    if isinstance(fragment, Refusal):
        return fragment
    run = find_run(fragment)
    if isinstance(run, Refusal):
        return run
    refusals: list[Refusal] = []
    for first in range(len(run.passes) - 1):
        rest = Run(run.block, run.passes[first:])
        merged = online(fragment, rest)
        if isinstance(merged, Online):
            return fragment, rest, merged
        refusals.append(merged)
    return fragment, run, refusals[0]


def _variants(
    observation: Observation, fragment: Fragment, run: Run, merged: Online | Refusal
) -> Iterator[tuple[str, str] | Refusal]:
    """(summary, text) of each way, or why it is none: the merged loop, and the row in one block where it can be that."""
    if isinstance(merged, Online):
        text = with_online_pass(fragment, run, merged)
        yield text if isinstance(text, Refusal) else (f"{merged.what} in {len(run.passes) - 1} passes", text)
    else:
        yield merged
    if not any(one.updates for one in run.passes):
        return
    site = launch_site(observation.text, observation.kernel)
    if isinstance(site, Refusal):
        yield site
        return
    known: set[str] = set()
    for warps, words in zip(WARPS, ("", ", with more warps"), strict=True):
        whole = with_one_block(site, run, warps)
        if isinstance(whole, Refusal):
            yield whole
        elif whole not in known:
            known.add(whole)
            yield f"the row in one block of at most {LONGEST} elements, read once{words}", whole


_HEAD = """\
import torch
import triton
import triton.language as tl


@triton.jit
def softmax_kernel(x_ptr, out_ptr, row_stride, n_cols, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    x_ptr += row * row_stride
    out_ptr += row * n_cols

"""

_TAIL = """\
    for start in range(0, n_cols, BLOCK):
        cols = start + tl.arange(0, BLOCK)
        mask = cols < n_cols
        x = tl.load(x_ptr + cols, mask=mask).to(tl.float32)
        tl.store(out_ptr + cols, tl.exp(x - row_max) / total, mask=mask)


# workload: softmax(randn(8192, 8192))
# workload: softmax(randn(33, 781))
def softmax(x):
    n_rows, n_cols = x.shape
    out = torch.empty((n_rows, n_cols), device=x.device, dtype=x.dtype)
    softmax_kernel[(n_rows,)](x, out, x.stride(0), n_cols, BLOCK=1024)
    return out
"""

STRATEGY = Strategy(
    id="triton.online-reduction",
    title="Reduce rows online",
    family=Family.REORDERING,
    languages=frozenset({Language.TRITON}),
    why="Each pass over a row reads it from memory again; a maximum and a sum, or a mean and a variance, fit in one pass.",
    doc="""\
Recognises loops over the same `range(0, N, BLOCK)` by data flow. A maximum followed by a sum of `exp(x - maximum)` becomes
one loop that rescales the sum whenever the maximum grows (Milakov and Gimelshein, 2018). A mean followed by the squared
deviations from it becomes one loop that merges each chunk's mean and deviations into those of the row so far (Chan,
Golub and LeVeque, 1979), which keeps the accuracy of the two-pass form. Accumulators that were vectors become scalars.

A second variant, raced against the first on a GPU, makes the block as long as the row (`triton.next_power_of_2` in the
launcher) and keeps the row in registers, so that it is read once. It is offered when the grid does not follow the block
size and the launcher sets it plainly. Triton limits a block to 2**20 elements: the launcher checks that the row is no
longer, which the loop did not need. Beyond about 64 Ki columns registers run out.

It does not apply when a reducing loop writes to memory, when the second loop needs something else of the first one's
result, when masked lanes would count, or when the loops run over different ranges.
""",
    instruction="""\
Merge the reducing passes over a row into one online pass: a running maximum with a sum that is rescaled by
exp(old - new) whenever the maximum grows, or chunk means and squared deviations merged pairwise. Mind that the
difference of two -inf maxima is NaN. Keep the normalising pass.""",
    example=Example(
        before=_HEAD
        + """\
    # First pass: the maximum of the row.
    row_max = -float("inf")
    for start in range(0, n_cols, BLOCK):
        cols = start + tl.arange(0, BLOCK)
        mask = cols < n_cols
        x = tl.load(x_ptr + cols, mask=mask, other=-float("inf")).to(tl.float32)
        row_max = tl.maximum(row_max, tl.max(x, axis=0))

    # Second pass: the sum of the exponentials.
    total = 0.0
    for start in range(0, n_cols, BLOCK):
        cols = start + tl.arange(0, BLOCK)
        mask = cols < n_cols
        x = tl.load(x_ptr + cols, mask=mask, other=-float("inf")).to(tl.float32)
        total += tl.sum(tl.exp(x - row_max), axis=0)

    # Third pass: the result.
"""
        + _TAIL,
        after=_HEAD
        + """\
    # One pass: the running maximum, and the sum, rescaled whenever the maximum grows.
    row_max = -float("inf")
    total = 0.0
    for start in range(0, n_cols, BLOCK):
        cols = start + tl.arange(0, BLOCK)
        mask = cols < n_cols
        x = tl.load(x_ptr + cols, mask=mask, other=-float("inf")).to(tl.float32)
        new_row_max = tl.maximum(row_max, tl.max(x, axis=0))
        # Before the first finite value both maxima are -inf, and their difference would be NaN.
        shift = tl.where(new_row_max == -float("inf"), 0.0, new_row_max)
        total = total * tl.exp(row_max - shift) + tl.sum(tl.exp(x - shift), axis=0)
        row_max = new_row_max

    # Second pass: the result.
"""
        + _TAIL,
    ),
    find=find,
    intent=intent,
    promises_kernel=True,
)
