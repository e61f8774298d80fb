"""What a GPU and Triton allow one program, whatever it computes."""

MOST_IN_A_BLOCK = 2**20
"""Elements of one tensor in a kernel (TRITON_MAX_TENSOR_NUMEL)."""

MOST_WARPS = 32
"""Warps of a block of threads (CUDA programming guide, 1024 threads)."""

WARP = 32
"""Threads of a warp."""

MOST_REGISTERS = 255
"""32-bit registers of a thread (CUDA programming guide)."""

LEAST_OF_A_DOT = 16
"""Rows, columns and depth that `tl.dot` takes at least."""

# KiB of shared memory that one block may use, by compute capability (CUDA programming guide, table of capabilities).
_SHARED = {70: 96, 75: 64, 80: 163, 86: 99, 87: 163, 89: 99, 90: 227, 100: 227, 103: 227, 120: 99, 121: 99}


def shared_limit(compute_capability: int | None) -> int:
    """Bytes of shared memory a block may use; the smallest known limit for a GPU that is not in the table."""
    return 1024 * _SHARED.get(compute_capability or 90, min(_SHARED.values()))
