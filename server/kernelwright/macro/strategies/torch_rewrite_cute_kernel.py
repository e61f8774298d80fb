"""Write operations that are bound by memory as one kernel in NVIDIA's CuTe DSL."""

from kernelwright.macro.cute import cute_rewrite
from kernelwright.macro.rewrites import Chance, backward_of, nodes_within
from kernelwright.macro.strategy import Absent, Example, Family, Observation
from kernelwright.micro.rewrite.eager_speed import node_seconds
from kernelwright.ops import Kind, row
from kernelwright.source.roofline import bound, work_of_graph
from kernelwright.values import Refusal

_KINDS = frozenset({Kind.POINTWISE, Kind.REDUCTION, Kind.NORMALISATION, Kind.LOSS, Kind.GATHER})
_LEAST = 1.3  # times the least time that the bytes of inputs and results take
_TAKEN = 0.3  # of the time above that, which a simple kernel is expected to save


def _look(observation: Observation) -> Chance | Refusal:
    source = observation.source
    if isinstance(source, Refusal):
        return source
    nodes = [node for node in nodes_within(observation, source) if not row(node.op).view]
    if backward_of(tuple(nodes)) is not None:
        return Absent("The call runs a backward pass, which a kernel without a backward of its own would end.")
    other = next((node for node in nodes if row(node.op).kind not in _KINDS), None)
    if other is not None or not nodes:
        what = (
            "Nothing is computed here" if other is None else f"{other.op} is no pointwise operation, norm or reduction"
        )
        return Absent(f"{what}: as a first kernel CuTe DSL pays for operations that are bound by memory.")
    floor = bound(work_of_graph(source.graph), observation.device).memory_ms / 1e3
    seconds = sum(node_seconds(node, observation.device) for node in nodes)
    if not floor or seconds < _LEAST * floor:
        return Absent("The operations move little more than their inputs and results.")
    share = 1 - floor / seconds
    return Chance(
        f"{len(nodes)} operations",
        round(_TAKEN * share / (1 - _TAKEN * share), 3),
        f"The operations take {seconds / floor:.1f} times as long as moving their inputs and results once.",
    )


HEAD = """\
import cutlass
import cutlass.cute as cute
import torch
from cutlass.cute.runtime import from_dlpack
from cutlass.torch import current_stream

WARPS = 8  # of a block, each with a row of its own
_compiled = {}
"""

WORKLOADS = """\
# workload: rms_norm(randn(16384, 4096), randn(4096), 1e-6)
# workload: rms_norm(randn(33, 301), randn(301), 1e-6)
# workload: rms_norm(randn(7, 5, 64), randn(64), 1e-6)
"""

_FORMULA = """\
    return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + eps) * weight
"""

EAGER = f"""\
def _rms_norm(x, weight, eps):
{_FORMULA}"""

GUARD = """\
    tensors = (x, weight)
    if (
        any(not tensor.is_cuda or tensor.dtype != torch.float32 for tensor in tensors)
        or (torch.is_grad_enabled() and any(tensor.requires_grad for tensor in tensors))
        or weight.shape != x.shape[-1:]
        or x.numel() == 0
    ):
        return _rms_norm(x, weight, eps)
"""

_BEFORE = f"""\
import torch


{WORKLOADS}\
def rms_norm(x, weight, eps):
{_FORMULA}"""

AFTER = f"""\
{HEAD}

@cute.kernel
def rms_norm_kernel(x: cute.Tensor, weight: cute.Tensor, out: cute.Tensor, eps: cutlass.Float32):
    row = cute.arch.block_idx()[0] * WARPS + cute.arch.warp_idx()
    rows, columns = x.shape
    if row < rows:
        total = cutlass.Float32(0.0)
        for column in range(cute.arch.lane_idx(), columns, 32):
            total += x[row, column] * x[row, column]
        scale = cute.math.rsqrt(cute.arch.warp_reduction_sum(total) / columns + eps)
        for column in range(cute.arch.lane_idx(), columns, 32):
            out[row, column] = x[row, column] * scale * weight[column]


@cute.jit
def launch_rms_norm(x: cute.Tensor, weight: cute.Tensor, out: cute.Tensor, eps: cutlass.Float32, stream):
    blocks = cute.ceil_div(x.shape[0], WARPS)
    rms_norm_kernel(x, weight, out, eps).launch(grid=(blocks, 1, 1), block=(WARPS * 32, 1, 1), stream=stream)


def _as_cute(tensor):
    return from_dlpack(tensor.detach()).mark_layout_dynamic(leading_dim=tensor.ndim - 1)


{WORKLOADS}\
def rms_norm(x, weight, eps):
{GUARD}\
    rows = x.contiguous().view(-1, x.shape[-1])
    out = torch.empty_like(rows)
    given = (_as_cute(rows), _as_cute(weight.contiguous()), _as_cute(out), eps, current_stream())
    if x.device not in _compiled:
        _compiled[x.device] = cute.compile(launch_rms_norm, *given)
    _compiled[x.device](*given)
    return out.view(x.shape)


{EAGER}"""

STRATEGY = cute_rewrite(
    "cute-kernel",
    "Write a kernel in CuTe DSL",
    _look,
    family=Family.FUSION,
    why="A kernel in CuTe DSL says where each thread reads and what it keeps, and can be developed one step at a time.",
    doc="""\
Begins a kernel in NVIDIA's CuTe DSL (`nvidia-cutlass-dsl`) in place of operations that are bound by memory: the simplest form
that is right, compiled once and launched on the caller's stream. `torch.rewrite.cute-refinement` then develops it, one step
at a time, and each step is verified and measured against the same baseline.

It pays where several operations pass large tensors through memory. It does not pay for small tensors, where the launch from
Python (about 60 us) takes longer than the kernel: then capture the module in a CUDA graph as well.

**Refused:** machines without a GPU or without CuTe DSL; code with products, convolutions or scans; a backward pass; code
that moves little more than its inputs and results.
""",
    instruction="""\
Write the operations as one kernel in CuTe DSL, in the simplest form that is right; later steps make it faster.
1. Write a function with `@cute.kernel` that takes `cute.Tensor`s and numbers (`cutlass.Float32`, `cutlass.Int32`), and one with
   `@cute.jit` that launches it: `kernel(...).launch(grid=(..., 1, 1), block=(..., 1, 1), stream=stream)`.
2. Give each row to a warp or a block: `cute.arch.block_idx()[0]`, `cute.arch.warp_idx()`, `cute.arch.lane_idx()`. Lanes take
   neighbouring columns. Guard rows and columns by `if` on the shape, since sizes are any.
3. Sum up in `cutlass.Float32`, and join lanes by `cute.arch.warp_reduction_sum` or `_max`. Across warps of a block use shared
   memory and `cute.arch.sync_threads()`.
4. In the launcher make tensors contiguous and pass `from_dlpack(t.detach()).mark_layout_dynamic(leading_dim=...)`, so that one
   compiled function serves all shapes; strides are 64-bit numbers then.
5. Compile once by `cute.compile(launch, *given)`, keep it in a dict by device (and by what else it is compiled for), and call
   it with the same arguments. Take the stream from `cutlass.torch.current_stream()`.
6. Keep the old code as a function, and call it for what the kernel does not do: other dtypes, CPU tensors, empty tensors, other
   shapes, and where autograd needs a backward.
Pitfalls: a variable that a loop changes keeps its type, so begin sums with cutlass.Float32(0.0); a Python number without
an annotation is compiled in; `from_dlpack` refuses tensors that require grad; offsets of large tensors need 64 bits. NaN and
infinities spread as before. No print, no synchronisation.
It pays for memory-bound chains on large tensors; it does not for small ones, whose launch from Python takes longer.
Do not change the signature, results, dtypes, strides of results, or which shapes are accepted.""",
    example=Example(_BEFORE, AFTER),
    needs_graph=True,
)
