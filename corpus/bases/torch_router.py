"""Which experts see a token: the best few by score, with weights that sum to one, and how many tokens each expert has."""

import torch


# workload: route(randn(2048, 64), randn(64, 32), 4)
# workload: route(randn(77, 20), randn(20, 8), 2)
def route(
    tokens: torch.Tensor, gate: torch.Tensor, best: int
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:  # fmt: skip
    scores = torch.softmax(tokens @ gate, dim=-1)
    weights, experts = torch.topk(scores, best, dim=-1)
    weights = weights / weights.sum(dim=-1, keepdim=True)
    load = torch.bincount(experts.reshape(-1), minlength=gate.shape[1])
    return weights, experts, load
