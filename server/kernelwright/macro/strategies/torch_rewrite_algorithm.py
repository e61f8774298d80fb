"""Replace the algorithm of PyTorch code by one that makes less, or waits less for itself."""

import math
from collections import defaultdict

from kernelwright.macro.rewrites import Chance, nodes_within, torch_rewrite
from kernelwright.macro.strategy import Absent, Example, Family, Observation
from kernelwright.micro.rewrite.eager_speed import node_seconds
from kernelwright.ops import row
from kernelwright.place.source_map import SourceMap, references
from kernelwright.source.estimate import itemsize
from kernelwright.values import CodeSpan, Device, Graph, Node, Refusal, TensorType

_LARGER = 4  # times as large as all that goes in and out: an intermediate result that another algorithm would not make
_OFTEN = 8  # steps that wait for each other
_GIVEN = frozenset({"input", "parameter", "buffer", "constant"})


def _look(observation: Observation, source: SourceMap) -> Chance | Refusal:
    graph, nodes = source.graph, nodes_within(observation, source)
    outside = sum(_bytes(v.type) for v in graph.values if v.origin in _GIVEN or v.id in graph.outputs)
    made = [(one, v) for one in nodes for v in one.outputs if v not in graph.outputs and not row(one.op).view]
    node, value = max(made, key=lambda pair: _bytes(graph.value(pair[1]).type), default=(None, -1))
    if node is not None and _bytes(graph.value(value).type) >= _LARGER * outside > 0:
        return _of_large(graph, node, value, outside, observation.device)
    steps = _recurrence(source, nodes)
    if steps is not None:
        line = steps[0].where.start_line + 1 if steps[0].where else 0
        return Chance(
            f"{len(steps)} steps of {steps[0].op}",
            0.5,
            f"Line {line} runs {len(steps)} times, each time on its own result, and each step launches kernels of its own.",
        )
    return Absent(
        "Nothing is made that is much larger than what goes in and out, and no step is repeated on its result."
    )


def _of_large(graph: Graph, node: Node, value: int, outside: int, device: Device) -> Chance:
    concerned = [one for one in graph.nodes if value in one.outputs or value in references(one)]
    total = sum(node_seconds(one, device) for one in graph.nodes)
    share = min(sum(node_seconds(one, device) for one in concerned) / total, 0.8) if total else 0.0
    times = _bytes(graph.value(value).type) // outside
    return Chance(
        f"result of {node.op}",
        round(0.5 * share / (1 - share), 3),
        f"The result of {node.op} is {times} times as large as all that goes in and out, and goes through memory.",
    )


def _recurrence(source: SourceMap, nodes: tuple[Node, ...]) -> list[Node] | None:
    """The runs of one expression that each work on what the run before has led to, with the same parameters."""
    runs: dict[tuple[CodeSpan | None, str], list[Node]] = defaultdict(list)
    for node in nodes:
        if not row(node.op).view:
            runs[node.where, node.op].append(node)
    often = [steps for steps in runs.values() if len(steps) >= _OFTEN and _same_parameters(source.graph, steps)]
    return next((steps for steps in often if _leads_to(source, steps[0], steps[1])), None)


def _same_parameters(graph: Graph, steps: list[Node]) -> bool:
    """Whether the steps are not the layers of a network."""
    return (
        len({tuple(v for v in references(n) if graph.value(v).origin in ("parameter", "buffer")) for n in steps}) == 1
    )


def _leads_to(source: SourceMap, first: Node, second: Node) -> bool:
    """Whether `second` is computed from the result of `first`."""
    waiting, seen = [*references(second)], set(first.outputs)
    while waiting:
        value = waiting.pop()
        if value in first.outputs:
            return True
        maker = source.producers.get(value)
        if value not in seen and maker is not None and maker.id > first.id:
            waiting += references(maker)
        seen.add(value)
    return False


def _bytes(type: TensorType) -> int:
    return math.prod(type.shape) * itemsize(type.dtype)


_BEFORE = '''\
import torch


# workload: causal_linear_attention(randn(32, 8192, 64), randn(32, 8192, 64), randn(32, 8192, 64))
# workload: causal_linear_attention(randn(2, 333, 5), randn(2, 333, 5), randn(2, 333, 6))
def causal_linear_attention(q, k, v):
    """Attention without a softmax: each position reads those up to its own."""
    scores = torch.tril(q @ k.transpose(1, 2))
    return scores @ v
'''

_AFTER = '''\
import torch

CHUNK = 256


# workload: causal_linear_attention(randn(32, 8192, 64), randn(32, 8192, 64), randn(32, 8192, 64))
# workload: causal_linear_attention(randn(2, 333, 5), randn(2, 333, 5), randn(2, 333, 6))
def causal_linear_attention(q, k, v):
    """Attention without a softmax: each position reads those up to its own.

    What lies before a chunk is summed up in a state of dim x dim, so no matrix of length x length is made.
    """
    state = k[:, :0].transpose(1, 2) @ v[:, :0]  # zeros
    chunks = []
    for start in range(0, max(q.shape[1], 1), CHUNK):
        rows = slice(start, start + CHUNK)
        within = torch.tril(q[:, rows] @ k[:, rows].transpose(1, 2)) @ v[:, rows]
        chunks.append(q[:, rows] @ state + within)
        state = state + k[:, rows].transpose(1, 2) @ v[:, rows]
    return torch.cat(chunks, dim=1)
'''

STRATEGY = torch_rewrite(
    "algorithm",
    "Change the algorithm",
    _look,
    family=Family.REORDERING,
    why="An intermediate result larger than all inputs, or a chain of small steps, is a sign of the wrong algorithm.",
    doc="""\
Looks for two signs: an intermediate result several times as large as all inputs and results together (scores of an
attention, differences of all pairs, a triangular matrix that stands for a sum), and an expression that a loop runs many
times, each time on its own result. What takes their place is an algorithm with the same results: an online softmax in
blocks, a prefix form in chunks, a scan, a transform of small convolutions.

It pays the more the larger the sizes are, since it changes how work grows with them. It does not pay for sizes at which the
intermediate result fits the L2 cache, or where a library call already does it.

**Refused:** code without either sign; layers of a network, which are repeated with parameters of their own.
""",
    instruction="""\
Replace the algorithm by one that gives the same results with less memory traffic or fewer dependent steps.
1. Say what the code computes as a formula, with the size of each axis. Then choose:
   - softmax(q k^T) v: walk over blocks of keys with a running maximum, sum and output (online softmax), or call
     `F.scaled_dot_product_attention` where scale, mask and dropout agree exactly;
   - a causal or triangular sum: prefix form; `cumsum`, or chunks with a carried state of small size;
   - a linear recurrence in a loop: a scan in chunks, products of decays in log space or in blocks, no division by vanishing
     numbers;
   - differences of all pairs that are summed up: blocks of pairs; |x|^2 + |y|^2 - 2xy only where cancellation does no harm;
   - small convolutions with many channels: Winograd or im2col with a product, if accuracy allows;
   - sorting for a few extremes: `topk`; masks that select: index once.
2. Write it in torch operations on whole chunks, or as a Triton kernel with a launcher where blocks must stay on the chip.
3. Choose the chunk from the sizes (64 to 512), with the last one shorter, by slices, not by padding that is summed up.
4. Keep gradients: operations that autograd knows, or an autograd.Function with its backward, or the old code where one is
   asked for.
Pitfalls: sums in another order change last digits, so carry fp32 states for fp16 inputs; the maximum starts at -inf, and
exp(-inf - -inf) is NaN; sizes of 0 and 1; masks that leave a row empty give what they gave before; NaN and infinities
spread as before. Cumulative products must not overflow on the way. Indices are int64. No loop over single elements in
Python.
It pays for long sequences and many pairs; it does not for small ones, where launches count.
Do not change the signature, results, dtypes, strides of results, `state_dict`, or which shapes are accepted.""",
    example=Example(_BEFORE, _AFTER),
)
