"""Fuse operations across statements where the deterministic fusions leave them apart."""

import math

from kernelwright.macro.rewrites import Chance, backward_of, nodes_within, torch_rewrite
from kernelwright.macro.strategy import Absent, Example, Family, Observation
from kernelwright.micro.rewrite.candidates import pointwise_regions, row_regions
from kernelwright.micro.rewrite.eager_speed import node_seconds
from kernelwright.micro.rewrite.nested import gather_regions, pool_regions, reduction_regions, scan_regions
from kernelwright.ops import Kind, row
from kernelwright.place.source_map import SourceMap
from kernelwright.source.estimate import itemsize
from kernelwright.values import Graph, Node, Refusal

_BOUND_BY_MEMORY = frozenset(
    {Kind.POINTWISE, Kind.REDUCTION, Kind.NORMALISATION, Kind.SCAN, Kind.POOLING, Kind.LOSS, Kind.GATHER}
)
_FUSIONS = (pointwise_regions, row_regions, reduction_regions, scan_regions, pool_regions, gather_regions)
_USUAL_BANDWIDTH = 3e12  # bytes/s, where the device is not known
_LEAST = 0.05  # of the time of all operations that what goes through memory in vain should take


def _look(observation: Observation, source: SourceMap) -> Chance | Refusal:
    graph, nodes = source.graph, nodes_within(observation, source)
    if backward_of(nodes) is not None:
        return Absent("The call runs a backward pass, which a kernel without a backward of its own would end.")
    light = {node.id: node for node in nodes if row(node.op).kind in _BOUND_BY_MEMORY}
    pairs = [
        (n, user) for n in light.values() for v in n.outputs for user in source.users.get(v, ()) if user.id in light
    ]
    if not pairs:
        return Absent("No operation that is bound by memory works on the result of another one.")
    if _share(observation, graph, pairs) < _LEAST:
        return Absent("What goes through memory between such operations takes hardly any time.")
    together = _fused_without_a_model(source)
    apart = [(one, user) for one, user in pairs if not any({one.id, user.id} <= ids for ids in together)]
    share = _share(observation, graph, apart)
    if share < _LEAST:
        return Absent("What could be fused here the fusions fuse that need no model.")
    first, user = max(apart, key=lambda pair: _bytes(graph, pair[0]))
    return Chance(
        f"{first.op} and {user.op}",
        round(0.5 * share / (1 - share), 3),
        f"The result of {first.op} goes through memory to {user.op}, and no other fusion joins the two.",
    )


def _share(observation: Observation, graph: Graph, pairs: list[tuple[Node, Node]]) -> float:
    """How much of the time of all operations it takes to read what goes from one node of a pair to the other."""
    total = sum(node_seconds(node, observation.device) for node in graph.nodes)
    moved = sum(_bytes(graph, one) for one in {one.id: one for one, _ in pairs}.values())
    return min(moved / (observation.device.bandwidth or _USUAL_BANDWIDTH) / total, 0.9) if total else 0.0


def _fused_without_a_model(source: SourceMap) -> list[frozenset[int]]:
    """The nodes of each region that the other fusions join."""
    found = [regions_of(source) for regions_of in _FUSIONS]
    return [frozenset(one.all_nodes) for regions in found if not isinstance(regions, Refusal) for one in regions]


def _bytes(graph: Graph, node: Node) -> int:
    """What it takes to read the results of a node once."""
    types = (graph.value(v).type for v in node.outputs)
    return sum(itemsize(type.dtype) * math.prod(type.shape) for type in types)


_BEFORE = """\
import torch


# workload: add_rms_norm(randn(16384, 4096), randn(16384, 4096), randn(4096), 1e-6)
# workload: add_rms_norm(randn(35, 301), randn(35, 301), randn(301), 1e-6)
def add_rms_norm(x, residual, weight, eps):
    total = x + residual
    scale = torch.rsqrt(total.pow(2).mean(-1, keepdim=True) + eps)
    return total * scale * weight, total
"""

_AFTER = """\
import torch
import triton
import triton.language as tl


@triton.jit
def add_rms_norm_kernel(x_ptr, residual_ptr, weight_ptr, out_ptr, total_ptr, n_cols, eps, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    cols = tl.arange(0, BLOCK)
    mask = cols < n_cols
    x = tl.load(x_ptr + row * n_cols + cols, mask=mask, other=0.0)
    residual = tl.load(residual_ptr + row * n_cols + cols, mask=mask, other=0.0)
    total = x + residual
    tl.store(total_ptr + row * n_cols + cols, total, mask=mask)
    scale = tl.rsqrt(tl.sum(total * total, axis=0) / n_cols + eps)
    weight = tl.load(weight_ptr + cols, mask=mask, other=0.0)
    tl.store(out_ptr + row * n_cols + cols, total * scale * weight, mask=mask)


def _add_rms_norm(x, residual, weight, eps):
    total = x + residual
    scale = torch.rsqrt(total.pow(2).mean(-1, keepdim=True) + eps)
    return total * scale * weight, total


# workload: add_rms_norm(randn(16384, 4096), randn(16384, 4096), randn(4096), 1e-6)
# workload: add_rms_norm(randn(35, 301), randn(35, 301), randn(301), 1e-6)
def add_rms_norm(x, residual, weight, eps):
    tensors = (x, residual, weight)
    n_cols = x.shape[-1]
    if (
        any(tensor.dtype != torch.float32 for tensor in tensors)
        or (torch.is_grad_enabled() and any(tensor.requires_grad for tensor in tensors))
        or residual.shape != x.shape
        or weight.shape != x.shape[-1:]
        or not 0 < n_cols <= 65536
        or x.numel() == 0
    ):
        return _add_rms_norm(x, residual, weight, eps)
    x, residual, weight = x.contiguous(), residual.contiguous(), weight.contiguous()
    out, total = torch.empty_like(x), torch.empty_like(x)
    block = triton.next_power_of_2(n_cols)
    grid = (x.numel() // n_cols,)
    warps = min(max(block // 512, 4), 16)
    add_rms_norm_kernel[grid](x, residual, weight, out, total, n_cols, eps, BLOCK=block, num_warps=warps)
    return out, total
"""

STRATEGY = torch_rewrite(
    "fuse-statements",
    "Fuse across statements",
    _look,
    family=Family.FUSION,
    why="Operations with several results or steps between them stay apart in other fusions, and meet in memory.",
    doc="""\
Makes one Triton kernel of operations that the deterministic fusions leave apart: with more than one result, with a result
that is used twice, across statements of a loop, or with operators that they do not print.

It pays where large tensors go through memory between cheap operations. It does not pay around large matrix products, which
are bound by arithmetic, or for tensors that are so small that nothing but launches counts: a CUDA graph serves those.

**Refused:** code in which no two operations that are bound by memory follow each other; pairs that another fusion joins;
results between them that take hardly any time; calls that run a backward pass.
""",
    instruction="""\
Write one Triton kernel for the operations named in the reason, with a launcher, and call it in their place.
1. Draw the data flow: inputs, what is computed from what, and which results are needed outside. A result that is used twice
   is computed once and kept in registers; one that is returned is stored as well.
2. Choose the program's share by the widest reduction: one row (or several short ones) where rows are reduced, a block of a
   flat range where nothing is. What lies in one row stays in one program.
3. Load each input once, in its dtype, compute in fp32, round where torch rounds (at each stored result), store once.
4. Let the launcher allocate with the strides that eager mode gives each result, take any strides through `.contiguous()` or
   by passing them, and handle broadcast operands by index, not by expanding them.
5. Keep the code as it was in a function of its own, and call it where the kernel cannot serve: other dtypes, shapes or
   devices, and where a gradient is asked for (`torch.is_grad_enabled()` and an input requires it), unless you write the
   backward, too.
Pitfalls: sizes that no block divides (mask every load and store); masked lanes take the identity of the reduction; rows of
length 0 and tensors without elements (a grid of 0 is an error); int64 offsets; dims that are negative; a mean divides by
the row's length, not by the block's; NaN must spread as in torch (`propagate_nan` of tl.maximum). In-place operations and
aliases stay visible. Parameters are read anew in every call.
It pays for large tensors and cheap operations; it does not where products or convolutions take the time.
Do not change signatures, `state_dict`, results, their dtypes and strides, or what is accepted.""",
    example=Example(_BEFORE, _AFTER),
    makes_kernel=True,
)
