"""A kernel rewritten for blocks as its workload line has them, with the baseline beside it for any others."""

import dataclasses
import textwrap
from collections.abc import Callable
from typing import TypeVar

from kernelwright.micro.rewrite.cuda_patch import Patch, indent_of
from kernelwright.micro.rewrite.cuda_sight import CudaSight
from kernelwright.values import Refusal

_AXES = ("x", "y", "z")
Found = TypeVar("Found")


def for_line_block(
    sight: CudaSight, rewrite: Callable[[CudaSight], tuple[Patch, Found] | Refusal]
) -> tuple[Patch, Found] | Refusal:
    """What `rewrite` makes of a kernel that relies on the size of its blocks."""
    found = rewrite(with_line_block(sight))
    return found if isinstance(found, Refusal) else (beside_baseline(sight, found[0]), found[1])


def with_line_block(sight: CudaSight) -> CudaSight:
    """The kernel as if its workload line's blocks were all that it is launched with; one that the text launches as it is."""
    return dataclasses.replace(sight, assumes_line_block=True) if sight.is_entry and sight.line_block else sight


def beside_baseline(sight: CudaSight, patch: Patch) -> Patch:
    """What was made of a kernel with the blocks of its line, for these alone: others launch it with what blocks they like."""
    if not sight.is_entry or not sight.line_block:
        return patch
    after = sight.rewritten(patch.text)
    inner = next((one for one in sight.kernel.body.named_children), None)
    step = (indent_of(sight.file.source, inner) if inner is not None else "") or "    "
    sizes = (*sight.line_block, 1, 1)[:3]
    asked = " && ".join(f"blockDim.{axis} == {size}" for axis, size in zip(_AXES, sizes, strict=True))
    bodies = [_inside(one, step) for one in (after, sight)]
    whole, (start, end) = sight.patch(), (sight.kernel.body.start_byte, sight.kernel.body.end_byte)
    return whole.between(start, end, f"{{\n{step}if ({asked}) {{\n{bodies[0]}{step}}} else {{\n{bodies[1]}{step}}}\n}}")


def _inside(sight: CudaSight, step: str) -> str:
    """The statements of a kernel, one step further in."""
    body = sight.content(sight.kernel.body)[1:-1].strip("\n").rstrip()
    return textwrap.indent(body, step, lambda line: bool(line.strip()) and not line.startswith("#")) + "\n"
