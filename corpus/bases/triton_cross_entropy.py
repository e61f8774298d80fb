"""Cross-entropy of each row against a class number; rows whose class is `ignore_index` lose nothing."""

import torch
import triton
import triton.language as tl


@triton.jit
def cross_entropy_kernel(logits_ptr, target_ptr, loss_ptr, stride, n_classes, ignore_index, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    logits_ptr += row * stride
    target = tl.load(target_ptr + row)
    largest = -float("inf")
    total = 0.0
    for start in range(0, n_classes, BLOCK):
        cols = start + tl.arange(0, BLOCK)
        x = tl.load(logits_ptr + cols, mask=cols < n_classes, other=-float("inf")).to(tl.float32)
        new = tl.maximum(largest, tl.max(x, axis=0))
        total = total * tl.exp(largest - new) + tl.sum(tl.exp(x - new), axis=0)
        largest = new
    kept = target != ignore_index
    own = tl.load(logits_ptr + target, mask=kept, other=0.0).to(tl.float32)
    loss = largest + tl.log(total) - own
    tl.store(loss_ptr + row, tl.where(kept, loss, 0.0))


# workload: cross_entropy(randn(2048, 3000), randint(0, 3000, 2048))
# workload: cross_entropy(randn(64, 100), randint(-1, 100, 64), ignore_index=-1)
def cross_entropy(logits: torch.Tensor, target: torch.Tensor, ignore_index: int = -100) -> torch.Tensor:
    rows, n_classes = logits.shape
    loss = torch.empty(rows, device=logits.device, dtype=torch.float32)
    cross_entropy_kernel[(rows,)](logits, target, loss, logits.stride(0), n_classes, ignore_index, BLOCK=1024)
    return loss.sum() / (target != ignore_index).sum()
