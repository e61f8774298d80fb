"""Rotary position embedding: the two halves of each head turned by an angle that grows with the position."""

import torch


# workload: rotary(randn(4, 8, 256, 64))
# workload: rotary(randn(2, 3, 17, 10), base=500.0)
def rotary(x: torch.Tensor, base: float = 10000.0) -> torch.Tensor:
    length, size = x.shape[-2], x.shape[-1]
    half = size // 2
    powers = torch.arange(half, device=x.device, dtype=torch.float32) * 2.0 / size
    angles = torch.arange(length, device=x.device, dtype=torch.float32)[:, None] / base ** powers[None, :]
    cos, sin = torch.cos(angles).to(x.dtype), torch.sin(angles).to(x.dtype)
    first, second = x[..., :half], x[..., half:]
    return torch.cat((first * cos - second * sin, second * cos + first * sin), dim=-1)
