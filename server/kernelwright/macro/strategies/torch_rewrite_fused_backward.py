"""Give operations a backward pass of their own that uses what the forward pass has at hand."""

from kernelwright.macro.rewrites import Chance, backward_of, nodes_within, torch_rewrite
from kernelwright.macro.strategy import Absent, Example, Family, Observation
from kernelwright.ops import Kind, row
from kernelwright.place.source_map import SourceMap
from kernelwright.values import Refusal

_HEAVY = frozenset({Kind.PRODUCT, Kind.CONVOLUTION, Kind.ATTENTION, Kind.RECURRENT})
_LIGHT = frozenset({Kind.POINTWISE, Kind.REDUCTION, Kind.NORMALISATION, Kind.LOSS})


def _look(observation: Observation, source: SourceMap) -> Chance | Refusal:
    nodes = nodes_within(observation, source)
    backward = backward_of(nodes)
    if backward is None:
        return Absent("The call runs no backward pass (torch.autograd.grad), so nothing of one would be timed.")
    line = backward.where.start_line if backward.where else None
    if backward.kwargs.get("create_graph") is True:
        return Refusal("The gradient is differentiated again, so a backward pass of its own needs one, too.", line=line)
    forward = [node for node in nodes if node.id < backward.id]
    heavy = [node for node in forward if row(node.op).kind in _HEAVY]
    light = [node for node in forward if row(node.op).kind in _LIGHT]
    if heavy:
        return Refusal(f"Most of the backward pass is that of {heavy[0].op}, which is a product of its own.", line=line)
    if len(light) < 2:
        return Absent("The backward pass is that of a single operation, so there is nothing to fuse.")
    return Chance(
        f"backward of {len(light)} operations",
        0.5,
        f"Autograd goes back through {len(light)} operations one by one, and keeps a tensor for most of them.",
    )


_BEFORE = '''\
import torch


# workload: energy_and_force(randn(65536, 1024), 0.3)
# workload: energy_and_force(randn(35, 301), 0.3)
def energy_and_force(x, stiffness):
    """The energy of each row in a soft well, and the force on each element."""
    with torch.enable_grad():
        x = x.detach().requires_grad_()
        energy = torch.log(1.0 + stiffness * x.square()).sum(dim=1)
        (slope,) = torch.autograd.grad(energy.sum(), x)
    return energy.detach(), -slope
'''

_AFTER = '''\
import torch
import triton
import triton.language as tl


@triton.jit
def energy_kernel(x_ptr, energy_ptr, slope_ptr, n_cols, stiffness, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    energy = 0.0
    for start in range(0, n_cols, BLOCK):
        cols = start + tl.arange(0, BLOCK)
        mask = cols < n_cols
        x = tl.load(x_ptr + row * n_cols + cols, mask=mask, other=0.0)
        inner = 1.0 + stiffness * x * x  # 1 where nothing is loaded, and its logarithm 0
        energy += tl.sum(tl.log(inner), axis=0)
        tl.store(slope_ptr + row * n_cols + cols, 2.0 * stiffness * x / inner, mask=mask)
    tl.store(energy_ptr + row, energy)


class _Energy(torch.autograd.Function):
    """Keeps the slope, which the forward pass has at hand: the backward pass only scales it."""

    @staticmethod
    def forward(ctx, x, stiffness):
        n_rows, n_cols = x.shape
        slope = torch.empty((n_rows, n_cols), device=x.device, dtype=x.dtype)
        energy = torch.empty(n_rows, device=x.device, dtype=x.dtype)
        if n_rows:
            energy_kernel[(n_rows,)](x.contiguous(), energy, slope, n_cols, stiffness, BLOCK=1024)
        ctx.save_for_backward(slope)
        return energy

    @staticmethod
    def backward(ctx, gradient):
        (slope,) = ctx.saved_tensors
        return gradient.unsqueeze(1) * slope, None


# workload: energy_and_force(randn(65536, 1024), 0.3)
# workload: energy_and_force(randn(35, 301), 0.3)
def energy_and_force(x, stiffness):
    """The energy of each row in a soft well, and the force on each element."""
    with torch.enable_grad():
        x = x.detach().requires_grad_()
        if x.dtype == torch.float32 and x.dim() == 2:
            energy = _Energy.apply(x, stiffness)
        else:
            energy = torch.log(1.0 + stiffness * x.square()).sum(dim=1)
        (slope,) = torch.autograd.grad(energy.sum(), x)
    return energy.detach(), -slope
'''

STRATEGY = torch_rewrite(
    "fused-backward",
    "Fuse the backward pass",
    _look,
    family=Family.FUSION,
    why="Autograd goes back through operations one by one; what the forward pass has at hand often gives the gradient.",
    doc="""\
Writes an `autograd.Function` whose forward pass keeps what the backward pass needs, at best the derivative itself, and
whose backward pass is one kernel, or one multiplication.

A step is timed by what a call does. So it applies to calls that run a backward pass themselves: forces from an energy, a
gradient penalty, a training step in one function. It pays where many cheap operations are differentiated. It does not pay
where products take the time, or where keeping a derivative needs more memory than computing it again.

**Refused:** calls without a backward pass; gradients that are differentiated again (`create_graph=True`); forward passes
with products or convolutions; single operations.
""",
    instruction="""\
Give the differentiated operations one `torch.autograd.Function`, with a forward and a backward pass that are fused by hand.
1. Write the derivative of the result with regard to each tensor that requires a gradient, and simplify it as a formula.
2. Decide what the forward pass keeps: the derivative, where it has the shape of the input and comes almost for free; a few
   numbers for each row (maximum, sum, mean, rstd), where the rest is recomputed cheaply; else the inputs.
3. Write the forward pass as one kernel that stores the result and what is kept, and the backward pass as one kernel that
   reads what was kept and the incoming gradient once. Sums over a batch (gradients of weights, bias) are partial sums that
   a second step joins, in fixed order.
4. Keep tensors with `ctx.save_for_backward`, numbers as attributes of `ctx`. Return one gradient for each argument of the
   forward pass, None for those that are no tensors or are not in `ctx.needs_input_grad`.
5. Call it by `.apply`, and keep the old operations for dtypes and shapes that it does not serve.
Pitfalls: the incoming gradient may be expanded (stride 0) or not contiguous; it may be for one of several results only.
Gradients have the shape of their inputs, so sum over broadcast dims. Do not write to saved tensors. Use the same
tie-breaking as torch where a maximum or `abs` has no derivative. Compute in fp32; int64 offsets; masks in both kernels;
sizes of 0. Second derivatives no longer work: say so by `@once_differentiable`, only if nothing asks for them.
It pays for chains of cheap operations; it does not around large products.
Do not change signatures, results, gradients, `state_dict`, or what dtypes, shapes and strides are accepted.""",
    example=Example(_BEFORE, _AFTER),
    makes_kernel=True,
)
