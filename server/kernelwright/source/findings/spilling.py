"""Tells of a kernel that the compiler spilled registers for; it takes a compilation, where rules take the text."""

from kernelwright.source.findings.rule import Finding, Severity
from kernelwright.values import Kernel, Resources, line_starts

CODE = "triton.spills"
TITLE = "Registers that spill to memory"
DOC = """A thread has at most 255 registers. What does not fit is written to local memory and read back, often in the
innermost loop. Take a smaller tile, more warps for the same tile, or fewer values that live across the loop. Said at the
name of a kernel once it has been compiled for the device at hand, or for the one assumed where there is none; the setting
`inlayHints` has that done."""


def spilling(text: str, kernel: Kernel, resources: tuple[Resources, ...]) -> Finding | None:
    """Say what the compiler spilled for the launches of a kernel; None where it spilled nothing."""
    found = [r for r in resources if r.kernel == kernel.name and r.spill_bytes]
    if not found:
        return None
    worst = max(found, key=lambda r: r.spill_bytes)
    line, column = kernel.name_line, kernel.name_column
    start = line_starts(text)[line] + column
    end = column + len(kernel.name)
    message = (
        f"{kernel.name} spills {worst.spill_bytes} bytes of registers a thread on sm_{worst.compute_capability} with "
        f"num_warps={worst.num_warps}: take a smaller tile, or more warps for this one."
    )
    return Finding(
        CODE, Severity.WARNING, message, start, start + len(kernel.name), line, column, line, end, kernel=kernel.name
    )
