"""Exact algebra on the captured op graph: sums of linear maps, scales into weights, nothing computed twice or in vain."""

from collections.abc import Callable

from kernelwright.macro.strategy import Example, Family, Observation, Strategy
from kernelwright.micro.rewrite.algebra import Match, View
from kernelwright.micro.rewrite.algebra_averaged import averaged_convolution, averaged_features
from kernelwright.micro.rewrite.algebra_fold import folded_into_weights
from kernelwright.micro.rewrite.algebra_identity import nothing_done, single_element
from kernelwright.micro.rewrite.algebra_linear import reduced_features, reduced_matmul, reduced_rows
from kernelwright.micro.rewrite.algebra_matrix import diagonal_factor, ordered_chain, scaled_operand, undone_transposes
from kernelwright.micro.rewrite.algebra_near import blocked_reduction
from kernelwright.micro.rewrite.algebra_pointwise import (
    merged_clamps,
    merged_leaky_relu,
    merged_numbers,
    needless_clamp,
    undone,
)
from kernelwright.micro.rewrite.algebra_pooled import pooled_convolution
from kernelwright.micro.rewrite.algebra_pools import pooled_pool
from kernelwright.micro.rewrite.algebra_source import replace
from kernelwright.values import Action, Edits, Graph, Language, Node, Refusal, Region

ID = "torch.reassociate"

Rule = Callable[[View, Node], Match | Refusal | None]

# Each rule looks at one node as the last of its pattern, and answers with a Refusal where it nearly fits.
RULES: dict[str, Rule] = {
    "reduce-features": reduced_features,
    "reduce-rows": reduced_rows,
    "reduce-matmul": reduced_matmul,
    "pooled-convolution": pooled_convolution,
    "average-convolution": averaged_convolution,
    "average-features": averaged_features,
    "fold-into-weights": folded_into_weights,
    "order-chain": ordered_chain,
    "diagonal-factor": diagonal_factor,
    "scale-operand": scaled_operand,
    "undo-transposes": undone_transposes,
    "merge-pools": pooled_pool,
    "merge-numbers": merged_numbers,
    "merge-clamps": merged_clamps,
    "merge-leaky-relu": merged_leaky_relu,
    "needless-clamp": needless_clamp,
    "undo-function": undone,
    "single-element": single_element,
    "nothing-done": nothing_done,
    "blocked": blocked_reduction,
}


def applies(observation: Observation) -> tuple[Action, ...] | Refusal:
    """One Action for each rule at each place, the largest saving first."""
    graph = observation.graph
    if graph is None:
        return Refusal("The ops and shapes are not captured yet.", pending=True)
    actions: list[Action] = []
    refusals: list[Refusal] = []
    for name, found in matches(graph):
        edits = found if isinstance(found, Refusal) else _edits(observation.text, graph, found)
        if isinstance(edits, Refusal):
            refusals.append(edits)
        elif isinstance(found, Match):
            actions.append(_action(graph, name, found))
    if actions:
        return tuple(sorted(actions, key=_worth, reverse=True))
    if refusals:
        return refusals[0]
    return Refusal(
        "No algebraic rule fits: no sum or mean of a linear map, no scale to fold, nothing done twice or in vain."
    )


def rewrite(observation: Observation, action: Action) -> tuple[Edits, ...] | Refusal:
    graph = observation.graph
    if graph is None:
        return Refusal("The ops and shapes are not captured yet.", pending=True)
    for name, found in matches(graph):
        if isinstance(found, Match) and (name, found.output) == (action.params["rule"], action.params["value"]):
            edits = _edits(observation.text, graph, found)
            return edits if isinstance(edits, Refusal) else (edits,)
    return Refusal("The rule no longer fits at that place.", action.region.start_line)


def matches(graph: Graph) -> list[tuple[str, Match | Refusal]]:
    """What each rule says of each node, where it says anything."""
    view = View(graph)
    found = ((name, rule(view, node)) for name, rule in RULES.items() for node in graph.nodes)
    return [(name, said) for name, said in found if said is not None]


def _edits(text: str, graph: Graph, match: Match) -> Edits | Refusal:
    return replace(text, graph, match.nodes, match.output, match.write, match.label, aliases=match.aliases)


def _action(graph: Graph, rule: str, match: Match) -> Action:
    spans = [n.where for n in graph.nodes if n.id in match.nodes and n.where is not None]
    start, end = min(s.start_line for s in spans), max(s.end_line for s in spans) + 1
    params = {
        "rule": rule,
        "value": match.output,
        "saved_flops": match.saved_flops,
        "saved_bytes": match.saved_bytes,
    }
    return Action(ID, Region(start, end, graph.text_hash, match.label), params)


def _worth(action: Action) -> float:
    """Saved work in bytes, at about ten floating-point operations for the time of one byte."""
    return action.params["saved_bytes"] + action.params["saved_flops"] / 10


_BEFORE = '''\
import torch
from torch import nn


class Score(nn.Module):
    """The scaled sum of the features of a linear layer: one number for each row of x."""

    def __init__(self, inputs, features, scale):
        super().__init__()
        self.linear = nn.Linear(inputs, features)
        self.scale = scale

    def forward(self, x):
        features = self.linear(x)
        scaled = features * self.scale
        return torch.sum(scaled, dim=1)


# workload: Score(512, 1024, 0.5)(randn(256, 512))
'''

_AFTER = _BEFORE.replace(
    """\
        features = self.linear(x)
        scaled = features * self.scale
        return torch.sum(scaled, dim=1)
""",
    """\
        # The sum over the features of a linear layer is one product with the sum of its weights.
        row = self.linear.weight.sum(0)
        return (x @ row + self.linear.bias.sum()) * self.scale
""",
)

_DOC = """\
Replaces work by less work that gives the same result in exact arithmetic. Each action is one rule at one place:

| rule | from | to |
|---|---|---|
| reduce-features | the sum or mean over the features of a linear layer | one product with the summed weights |
| reduce-rows | the mean over the rows that a linear layer made | the linear layer of the mean |
| reduce-matmul | the sum over rows or columns of a matrix product | the product of the summed factors |
| pooled-convolution | the sum or mean over positions of a convolution | a product or a smaller convolution of sums of x |
| average-convolution | a mean pool over the tiles of a convolution | a convolution with averaged weights and a stride |
| average-features | a mean pool over the features of a linear layer | a linear layer with averaged weights |
| fold-into-weights | scales and shifts after a convolution or linear layer | a scaled weight and bias |
| order-chain | (A B) v | A (B v), where that is cheaper |
| diagonal-factor | diag(v) @ M | v[:, None] * M |
| scale-operand | (Q K) * s | (Q * s) K, where Q or K is smaller than the product |
| undo-transposes | transposes that undo each other | nothing |
| merge-pools | a pool over the tiles of a pool | one pool over larger tiles |
| merge-numbers | x * a / b, x + a - b, -(-x) | one operation, or none |
| merge-clamps | a clamp or relu inside another one | one clamp |
| merge-leaky-relu | leaky_relu of leaky_relu | one, with the product of the slopes |
| needless-clamp | a clamp of what already lies between its bounds | nothing |
| undo-function | exp(log(x)), sqrt(x) ** 2 for x that cannot be negative | x |
| single-element | sum, mean, max, min, logsumexp of one element | that element |
| nothing-done | a factor of one, dropout that drops nothing, a cast to the same type | nothing |

Weights are read anew in every call, so training and loading a checkpoint keep working.

**What is exact.** Floating-point addition is not associative, so the last digits may change; the gate judges them
against a reference in fp64. For finite inputs whose intermediate results do not overflow the rules are exact in real
arithmetic. A rule that would turn a NaN into a number on such inputs is not applied: `relu`, `softmax`, `max` and other
functions that are not affine end a chain.

**Refused:** results that are used twice or returned, calls in loops, tensors changed in place, a chain with a function
that is not affine, weights larger than the outputs they would relieve.
"""

_INSTRUCTION = """\
Use algebra to do less work, with the same result in exact arithmetic. Look for: a sum or mean directly after a linear
layer, matmul or convolution (sum the weights, or the inputs, first); scalar or per-channel scales and shifts after one
(fold them into its weight and bias); reductions over a dimension that has one element; operations that undo each other
or do nothing. Compute what depends on weights inside forward. Name intermediates, and say in a comment why it is equal.
Do not move anything across a function that is not affine."""

STRATEGY = Strategy(
    id=ID,
    title="Reassociate",
    family=Family.ALGEBRA,
    languages=frozenset({Language.TORCH}),
    why="Exact algebra replaces a large product or a pass over memory by a smaller one.",
    doc=_DOC,
    instruction=_INSTRUCTION,
    example=Example(_BEFORE, _AFTER),
    applies=applies,
    rewrite=rewrite,
    needs_graph=True,
)
