"""Handle several short rows in one program of a Triton kernel, so that each has enough work and memory requests in flight."""

import itertools
from collections.abc import Iterator

from kernelwright.macro.intent import Intent, Text
from kernelwright.macro.strategy import Example, Family, Observation, Strategy
from kernelwright.micro.edits import difference
from kernelwright.micro.rewrite.triton_launch import Site, launch_site
from kernelwright.micro.rewrite.triton_rows import Rows, rows_of
from kernelwright.micro.rewrite.triton_rows_text import with_several_rows
from kernelwright.micro.rewrite.triton_sight import Sight
from kernelwright.values import Action, Language, Refusal, Region, digest

_ID = "triton.several-rows"
_LONGEST = 1024
"""Columns from which a row is work enough for a program."""

_ELEMENTS = (2048, 4096, 1024, 8192)
"""Elements of a program's block that are raced: with four warps, 8 to 64 a thread."""

_WARPS = 4

_WAVES = 8
"""Programs a multiprocessor that run at once, at least: fewer rows than these are better kept apart."""


def find(observation: Observation) -> tuple[Action, ...] | Refusal:
    found = _found(observation)
    if isinstance(found, Refusal):
        return found
    site, rows, length = found
    first = next(_variants(site, rows, length))  # what stands in the way of one stands in the way of all
    if isinstance(first, Refusal):
        return first
    kernel = observation.kernel
    region = Region(kernel.start_line, kernel.end_line, digest(observation.text), f"rows of {kernel.name}")
    return (Action(_ID, region, {"expected_gain": _expected(observation, length)}),)


def intent(observation: Observation, action: Action) -> Intent | Refusal:
    found = _found(observation)
    if isinstance(found, Refusal):
        return found
    texts = [answer for answer in _variants(*found) if not isinstance(answer, Refusal)]
    return Text(tuple(difference(observation.text, text, summary) for summary, text in texts))


def _found(observation: Observation) -> tuple[Site, Rows, int | None] | Refusal:
    site = launch_site(observation.text, observation.kernel)
    if isinstance(site, Refusal):
        return site
    sight = observation.sight
    number = sight.number if isinstance(sight, Sight) else lambda _: None
    rows = rows_of(site.kernel, number)
    if isinstance(rows, Refusal):
        return rows
    length = number(rows.block)
    if length is not None and length > _LONGEST:
        words = (
            f"A row has {length} columns, which is work enough for a program: rows of at most {_LONGEST} go together."
        )
        return Refusal(words, line=site.call.lineno - 1)
    return site, rows, length


def _variants(site: Site, rows: Rows, length: int | None) -> Iterator[tuple[str, str] | Refusal]:
    """(summary, text) for each size of a block that holds more than one row, with warps for it where there are others."""
    option = next((one for one in site.options if one.name == "num_warps"), None)
    choices = (None,) if option is None or option.value == _WARPS else (_WARPS, None)
    for warps, elements in itertools.product(choices, _ELEMENTS):
        if length is None or elements // length > 1:
            text = with_several_rows(site, rows, elements, warps)
            words = "" if warps is None else f", {warps} warps"
            yield text if isinstance(text, Refusal) else (f"rows of up to {elements} elements a program{words}", text)


def _expected(observation: Observation, length: int | None) -> float:
    """Little where the rows are long or could not be told, nothing where the GPU has a multiprocessor for each few of them."""
    sight = observation.sight
    programs = sight.programs if isinstance(sight, Sight) else None
    if programs is not None and programs < _WAVES * (observation.device.multiprocessors or 1):
        return 0.0
    return 0.15 if length is None else 1.0 if length <= _LONGEST // 4 else 0.3


_HEAD = """\
import torch
import triton
import triton.language as tl


@triton.jit
"""

_TAIL = """\


# workload: rms_norm(randn(131072, 128), randn(128))
# workload: rms_norm(randn(37, 100), randn(100))
def rms_norm(x, weight):
    n_rows, n_cols = x.shape
    out = torch.empty_like(x)
    BLOCK = triton.next_power_of_2(n_cols)
"""

STRATEGY = Strategy(
    id=_ID,
    title="Handle several rows in a program",
    family=Family.TILING,
    languages=frozenset({Language.TRITON}),
    why="A program for each short row has little to do and few loads in flight; several rows in a block share its costs.",
    doc="""\
Has each program of a kernel that handles one row handle several. The program id becomes a column of row numbers, the lanes
become columns, and everything computed from them follows by broadcasting: reductions run along axis 1 and keep it. Loads and
stores at addresses that differ by row get a mask for the rows that there are; what all rows share, such as a weight, is
loaded once. The launch starts `cdiv(rows, ROWS)` programs. `ROWS` is computed from the block size, so that longer rows go
by themselves as before. Blocks of 1024 to 8192 elements are raced, with four warps and with as many as before. On an H200 an
int8 quantisation of groups of 128 became 5.58 times as fast, an RMS norm of rows of 128 4.43 times, a softmax of rows of 200
1.42 times.

It applies to kernels whose lanes are the columns of one row. It does not apply when rows have more than 1024 columns, when
a loop walks along them, turns as often as a row says, or carries what begins as neither a number nor one for each row, when
the kernel has a branch that differs by row, an atomic, an explicit shape (but that of zeros or another number for each
column) or axis, or a function whose meaning for several
rows cannot be told, when programs share rows, when the kernel is launched from several places, or when the number of rows
or the block size cannot be read from the launch.
""",
    instruction="""\
Have each program handle ROWS rows: row numbers along axis 0, columns along axis 1, reductions along axis 1 with
keep_dims=True, a mask for rows past the end in every load and store that depends on the row, and a grid of
cdiv(rows, ROWS) programs. ROWS is a power of two.""",
    example=Example(
        before=_HEAD
        + """\
def rms_norm_kernel(x_ptr, weight_ptr, out_ptr, stride, n_cols, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    cols = tl.arange(0, BLOCK)
    mask = cols < n_cols
    x = tl.load(x_ptr + row * stride + cols, mask=mask, other=0.0).to(tl.float32)
    scale = tl.rsqrt(tl.sum(x * x, axis=0) / n_cols + 1e-6)
    weight = tl.load(weight_ptr + cols, mask=mask)
    tl.store(out_ptr + row * n_cols + cols, x * scale * weight, mask=mask)
"""
        + _TAIL
        + """\
    rms_norm_kernel[(n_rows,)](x, weight, out, x.stride(0), n_cols, BLOCK=BLOCK)
    return out
""",
        after=_HEAD
        + """\
def rms_norm_kernel(x_ptr, weight_ptr, out_ptr, stride, n_cols, BLOCK: tl.constexpr, n_rows, ROWS: tl.constexpr):
    row = tl.program_id(0) * ROWS + tl.arange(0, ROWS)[:, None]
    rows_inside = row < n_rows
    cols = tl.arange(0, BLOCK)[None, :]
    mask = cols < n_cols
    x = tl.load(x_ptr + row * stride + cols, mask=mask & rows_inside, other=0.0).to(tl.float32)
    scale = tl.rsqrt(tl.sum(x * x, axis=1, keep_dims=True) / n_cols + 1e-6)
    weight = tl.load(weight_ptr + cols, mask=mask)
    tl.store(out_ptr + row * n_cols + cols, x * scale * weight, mask=mask & rows_inside)
"""
        + _TAIL
        + """\
    ROWS = max(2048 // BLOCK, 1)
    rms_norm_kernel[(triton.cdiv(n_rows, ROWS),)](x, weight, out, x.stride(0), n_cols, BLOCK=BLOCK, n_rows=n_rows, ROWS=ROWS)
    return out
""",
    ),
    find=find,
    intent=intent,
    promises_kernel=True,
    needs_gpu=True,
)
