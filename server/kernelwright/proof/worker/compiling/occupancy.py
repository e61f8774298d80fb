"""How many warps of a kernel fit on a multiprocessor at once. Standard library only, a pure function of the limits."""

import math
from dataclasses import dataclass


@dataclass(frozen=True)
class Multiprocessor:
    """Limits of one multiprocessor; CUDA C++ programming guide, table "Technical specifications per compute capability".

    Shared memory in bytes: `shared` per multiprocessor, `shared_block` the most for one block, `reserved` what the
    system takes from every block.
    """

    threads: int
    blocks: int
    shared: int
    shared_block: int
    registers: int = 65536
    register_unit: int = 256  # registers are handed out to a warp in multiples of this
    reserved: int = 1024


_K = 1024
_LIMITS: dict[int, Multiprocessor] = {  # of capabilities that differ from the one before
    70: Multiprocessor(2048, 32, 96 * _K, 96 * _K, reserved=0),
    75: Multiprocessor(1024, 16, 64 * _K, 64 * _K, reserved=0),
    80: Multiprocessor(2048, 32, 164 * _K, 163 * _K),
    86: Multiprocessor(1536, 16, 100 * _K, 99 * _K),
    87: Multiprocessor(1536, 16, 164 * _K, 163 * _K),
    89: Multiprocessor(1536, 24, 100 * _K, 99 * _K),
    90: Multiprocessor(2048, 32, 228 * _K, 227 * _K),
    100: Multiprocessor(2048, 32, 228 * _K, 227 * _K),
    110: Multiprocessor(1536, 24, 228 * _K, 227 * _K),
    120: Multiprocessor(1536, 24, 100 * _K, 99 * _K),
}
_WARP = 32


@dataclass(frozen=True)
class Occupancy:
    """`share` of the warps that fit at most, 0 to 1; `blocks` per multiprocessor; the resource that `limited_by` names."""

    share: float
    blocks: int
    limited_by: str  # "registers", "shared memory", "threads", "blocks"


def limits_of(compute_capability: int) -> Multiprocessor:
    """The limits of this capability, or of the nearest older one that is known."""
    known = [capability for capability in _LIMITS if capability <= compute_capability]
    return _LIMITS[max(known, default=min(_LIMITS))]


def occupancy(compute_capability: int, *, num_warps: int, registers: int, shared_bytes: int) -> Occupancy:
    """Resident warps over the most that fit, for blocks of `num_warps` warps with `registers` per thread.

    Method: the CUDA occupancy calculator's: the least of four quotients. A block that needs more shared memory than one
    block may have does not run at all: 0.
    """
    limits = limits_of(compute_capability)
    warp_registers = math.ceil(max(registers, 1) * _WARP / limits.register_unit) * limits.register_unit
    fit = {
        "threads": limits.threads // (num_warps * _WARP),
        "blocks": limits.blocks,
        "registers": limits.registers // warp_registers // num_warps,
        "shared memory": limits.shared // (shared_bytes + limits.reserved) if shared_bytes else limits.blocks,
    }
    if shared_bytes > limits.shared_block:
        fit["shared memory"] = 0
    limited_by = min(fit, key=lambda name: fit[name])
    blocks = fit[limited_by]
    return Occupancy(blocks * num_warps * _WARP / limits.threads, blocks, limited_by)
