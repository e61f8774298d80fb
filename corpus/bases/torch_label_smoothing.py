"""Cross-entropy with smoothed labels; padding does not count."""

import torch


# workload: smoothed_loss(randn(512, 1000), randint(0, 1000, 512))
# workload: smoothed_loss(randn(64, 20), randint(-1, 20, 64), smoothing=0.2, padding=-1)
def smoothed_loss(
    logits: torch.Tensor, target: torch.Tensor, smoothing: float = 0.1, padding: int = -100
) -> torch.Tensor:
    kept = target != padding
    logs = torch.log_softmax(logits, dim=1)
    own = -logs.gather(1, target.clamp(min=0).unsqueeze(1)).squeeze(1)
    uniform = -logs.mean(dim=1)
    loss = (1.0 - smoothing) * own + smoothing * uniform
    return loss.masked_fill(~kept, 0.0).sum() / kept.sum()
