"""A running mean, a cache and a counter, updated by other operators."""

from cheats.texts import STATEFUL

BASELINE = STATEFUL
CANDIDATE = STATEFUL.replace(
    "torch.where(first, mean, 0.9 * self.mean + 0.1 * mean)",
    "torch.where(first, mean, (mean * 0.1).add(self.mean, alpha=0.9))",
)
CANDIDATE = CANDIDATE.replace(
    "self.past.index_copy_(0, self.steps.view(1) % 8, mean.view(1, -1))", "self.past[self.steps % 8] = mean"
)
