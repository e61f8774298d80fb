"""Each row plus its own mirror image, through a row of scratch memory that is read after a barrier."""

import torch
import triton
import triton.language as tl


@triton.jit
def reverse_add_kernel(x_ptr, scratch_ptr, y_ptr, stride, n, scale, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    cols = tl.arange(0, BLOCK)
    mask = cols < n
    x = tl.load(x_ptr + row * stride + cols, mask=mask)
    tl.store(scratch_ptr + row * n + cols, x * scale, mask=mask)
    tl.debug_barrier()
    mirrored = tl.load(scratch_ptr + row * n + (n - 1 - cols), mask=mask)
    tl.store(y_ptr + row * n + cols, x + mirrored, mask=mask)


# workload: reverse_add(randn(2048, 1000), 0.5)
# workload: reverse_add(randn(33, 256), 2.0)
def reverse_add(x: torch.Tensor, scale: float) -> torch.Tensor:
    rows, n = x.shape
    scratch = torch.empty((rows, n), device=x.device, dtype=x.dtype)
    y = torch.empty((rows, n), device=x.device, dtype=x.dtype)
    reverse_add_kernel[(rows,)](x, scratch, y, x.stride(0), n, scale, BLOCK=triton.next_power_of_2(n))
    return y
