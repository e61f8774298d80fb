"""A gated unit in half precision: one half of the features, through SiLU and a limit, times the other half."""

import torch


# workload: gated_unit(randn(512, 2048, dtype=float16))
# workload: gated_unit(randn(5, 9, 62, dtype=float16), limit=1.5)
def gated_unit(x: torch.Tensor, limit: float = 7.0) -> torch.Tensor:
    half = x.shape[-1] // 2
    gate, value = x[..., :half].float(), x[..., half:].float()
    gate = gate.clamp(max=limit)
    value = value.clamp(-limit, limit)
    activated = gate * torch.sigmoid(gate * 1.702)
    return (activated * (value + 1.0)).to(x.dtype)
