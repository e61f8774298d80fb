"""Eight unsigned 4-bit numbers in each 32-bit word, spread out, moved by a zero point and scaled by row."""

import torch
import triton
import triton.language as tl


@triton.jit
def dequantise_kernel(words_ptr, scales_ptr, y_ptr, n_words, zero, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    cols = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    mask = cols < n_words * 8
    word = tl.load(words_ptr + row * n_words + cols // 8, mask=mask, other=0)
    number = (word >> (cols % 8) * 4) & 15
    scale = tl.load(scales_ptr + row)
    tl.store(y_ptr + row * n_words * 8 + cols, (number - zero) * scale, mask=mask)


# workload: dequantise(randint(0, 1 << 31, 1024, 128, dtype=int32), rand(1024))
# workload: dequantise(randint(0, 1 << 31, 40, 33, dtype=int32), rand(40), zero=7)
def dequantise(words: torch.Tensor, scales: torch.Tensor, zero: int = 8) -> torch.Tensor:
    rows, n_words = words.shape
    y = torch.empty((rows, n_words * 8), device=words.device, dtype=scales.dtype)
    grid = (rows, triton.cdiv(n_words * 8, 256))
    dequantise_kernel[grid](words, scales, y, n_words, zero, BLOCK=256)
    return y
