"""Carry a tensor through PyTorch code in the layout that it arrives in, instead of copying it between layouts."""

import math

from kernelwright.macro.rewrites import Chance, nodes_within, torch_rewrite
from kernelwright.macro.strategy import Absent, Example, Family, Observation
from kernelwright.micro.rewrite.eager_speed import node_seconds
from kernelwright.ops import Kind, row
from kernelwright.place.source_map import SourceMap
from kernelwright.values import Graph, Node, Refusal, TensorRef

_LEAST = 0.1  # of the time of all operations that the copies should take


def _look(observation: Observation, source: SourceMap) -> Chance | Refusal:
    graph, device = source.graph, observation.device
    copies = [node for node in nodes_within(observation, source) if _reorders(graph, node)]
    if not copies:
        return Absent("No tensor is copied from one layout into another.")
    total = sum(node_seconds(node, device) for node in graph.nodes)
    share = min(sum(node_seconds(node, device) for node in copies) / total, 0.8)
    if share < _LEAST:
        return Refusal(
            f"Copies between layouts take only about {100 * share:.0f} % of the time that the roofline allows."
        )
    lines = sorted({node.where.start_line + 1 for node in copies if node.where})
    return Chance(
        f"{len(copies)} copies between layouts",
        round(0.5 * share / (1 - share), 3),
        f"Copies on line{'s' if len(lines) > 1 else ''} {', '.join(map(str, lines))} only put the same elements into "
        f"another order, about {100 * share:.0f} % of the time that the roofline allows.",
    )


def _reorders(graph: Graph, node: Node) -> bool:
    """Whether a node copies its operand's elements into another order, and does nothing else."""
    first = node.args[0] if node.args else None
    if row(node.op).kind is not Kind.LAYOUT or not node.estimated_bytes or not isinstance(first, TensorRef):
        return False
    before, after = graph.value(first.id).type, graph.value(node.outputs[0]).type
    return math.prod(before.shape) == math.prod(after.shape) and not _is_contiguous(before.shape, before.stride)


def _is_contiguous(shape: tuple[int, ...], strides: tuple[int, ...]) -> bool:
    expected = 1
    for size, stride in zip(reversed(shape), reversed(strides), strict=True):
        if size != 1 and stride != expected:
            return False
        expected *= size
    return True


_BEFORE = '''\
import torch
from torch import nn


class Mixer(nn.Module):
    """Two layers over the channels of each position; the convolutions want channels first."""

    def __init__(self, width, hidden):
        super().__init__()
        self.expand = nn.Conv1d(width, hidden, 1)
        self.shrink = nn.Conv1d(hidden, width, 1)

    def forward(self, x):
        y = x.transpose(1, 2).contiguous()
        y = self.shrink(torch.relu(self.expand(y)))
        return y.transpose(1, 2).contiguous()


# workload: Mixer(256, 256)(randn(64, 4096, 256))
# workload: Mixer(10, 7)(randn(3, 33, 10))
'''

_AFTER = '''\
import torch
import torch.nn.functional as F
from torch import nn


class Mixer(nn.Module):
    """Two layers over the channels of each position, which stay last."""

    def __init__(self, width, hidden):
        super().__init__()
        self.expand = nn.Conv1d(width, hidden, 1)
        self.shrink = nn.Conv1d(hidden, width, 1)

    def forward(self, x):
        # A convolution of width 1 is a product with its weight, and takes the channels where they lie.
        y = torch.relu(F.linear(x, self.expand.weight.squeeze(-1), self.expand.bias))
        return F.linear(y, self.shrink.weight.squeeze(-1), self.shrink.bias)


# workload: Mixer(256, 256)(randn(64, 4096, 256))
# workload: Mixer(10, 7)(randn(3, 33, 10))
'''

STRATEGY = torch_rewrite(
    "layout",
    "Change the data layout",
    _look,
    family=Family.LAYOUT,
    why="A copy that only puts elements into another order is traffic that a layout chosen once would spare.",
    doc="""\
Follows a tensor through the code and lets every operation take it in one layout, so that copies between layouts go away:
products along the dim where the channels lie, reductions over another dim, `einsum`, channels-last convolutions.

It pays where copies take a good part of the time and the operations between them have a form for the other layout that is
as fast. It does not pay where the one copy makes many reads contiguous: then keep it.

**Refused:** code without a copy between layouts; copies that take less than a tenth of the time.
""",
    instruction="""\
Remove the copies between layouts by carrying the tensor through in one layout.
1. List the operations between the copies, and for each the dim that it works on and the layout that its fastest form wants.
2. Choose the one layout for which the fewest operations mind; usually that in which the input arrives and the result is
   wanted.
3. Rewrite each operation for it: `Conv1d`/`Conv2d` of width 1 is `F.linear` with `weight.flatten(1)` over channels that lie
   last; a product over another dim is `einsum` or `matmul` on a transposed view; norms over channels become `layer_norm` or
   a reduction over the other dim; wider convolutions keep channels first as a logical order with `channels_last` memory.
4. Remove `contiguous()`, `permute` and `reshape` pairs that cancel out. Keep a view where the next operation takes strides.
5. Give back results in the strides that the code gave before: callers may rely on `.view` and on channels-last.
Pitfalls: do not hide the copy in another place: `reshape` of a transposed tensor copies, and so do some `matmul` operands.
Read weights through views in every call, so that training and loading go on; do not rename or reshape parameters,
`state_dict` stays. A batch norm in training mode counts over the same elements. Dims that are negative, inputs of another
rank (unbatched) and inputs that are not contiguous stay accepted. Groups, dilation, padding and stride of a convolution are
part of it: only the width-1, stride-1, ungrouped one is a product. Dtypes and autocast behave as before.
It pays where several copies are around cheap operations; it does not where one copy serves many reads.
Do not change signatures, results, their shapes and strides, or parameter names.""",
    example=Example(_BEFORE, _AFTER),
)
