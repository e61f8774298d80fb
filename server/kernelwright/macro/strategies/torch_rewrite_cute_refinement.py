"""Take a kernel in NVIDIA's CuTe DSL one step further."""

from kernelwright.macro.cute import cute_rewrite
from kernelwright.macro.rewrites import Chance
from kernelwright.macro.strategies.torch_rewrite_cute_kernel import AFTER, EAGER, GUARD, HEAD, WORKLOADS
from kernelwright.macro.strategy import Absent, Example, Family, Observation
from kernelwright.source.cute import cute_code
from kernelwright.values import Refusal

_GAIN = 0.1


def _look(observation: Observation) -> Chance | Refusal:
    kernels = cute_code(observation.text, observation.kernel.entry).kernels
    if not kernels:
        return Absent("It launches no kernel in CuTe DSL.")
    return Chance(
        f"CuTe kernel {kernels[0]}",
        _GAIN,
        f"The kernel {kernels[0]} is developed one step at a time, and each step is judged by the same baseline.",
    )


_AFTER = f"""\
{HEAD}

@cute.kernel
def rms_norm_kernel(
    x: cute.Tensor, weight: cute.Tensor, out: cute.Tensor, eps: cutlass.Float32, width: cutlass.Constexpr
):
    row = cute.arch.block_idx()[0] * WARPS + cute.arch.warp_idx()
    rows, columns = x.shape
    if row < rows:
        total = cutlass.Float32(0.0)
        for chunk in range(cute.arch.lane_idx(), columns // width, 32):
            values = cute.local_tile(x, (1, width), (row, chunk)).load()
            total += (values * values).reduce(cute.ReductionOp.ADD, 0.0, 0)
        scale = cute.math.rsqrt(cute.arch.warp_reduction_sum(total) / columns + eps)
        for chunk in range(cute.arch.lane_idx(), columns // width, 32):
            values = cute.local_tile(x, (1, width), (row, chunk)).load()
            factors = cute.local_tile(weight, (width,), (chunk,)).load().reshape((1, width))
            cute.local_tile(out, (1, width), (row, chunk)).store(values * scale * factors)


@cute.jit
def launch_rms_norm(
    x: cute.Tensor, weight: cute.Tensor, out: cute.Tensor, eps: cutlass.Float32, stream, width: cutlass.Constexpr
):
    blocks = cute.ceil_div(x.shape[0], WARPS)
    kernel = rms_norm_kernel(x, weight, out, eps, width)
    kernel.launch(grid=(blocks, 1, 1), block=(WARPS * 32, 1, 1), stream=stream)


def _as_cute(tensor, width):
    last, order = tensor.ndim - 1, tuple(range(tensor.ndim))
    found = from_dlpack(tensor.detach(), assumed_align=4 * width)
    for mode in order:
        found = found.mark_compact_shape_dynamic(mode, order, width if mode == last else 1)
    return found


{WORKLOADS}\
def rms_norm(x, weight, eps):
{GUARD}\
    rows, weight = x.contiguous().view(-1, x.shape[-1]), weight.contiguous()
    out = torch.empty_like(rows)
    aligned = x.shape[-1] % 4 == 0 and rows.data_ptr() % 16 == 0 and weight.data_ptr() % 16 == 0
    width = 4 if aligned else 1
    given = (_as_cute(rows, width), _as_cute(weight, width), _as_cute(out, width), eps, current_stream())
    if (x.device, width) not in _compiled:
        _compiled[x.device, width] = cute.compile(launch_rms_norm, *given, width)
    _compiled[x.device, width](*given)
    return out.view(x.shape)


{EAGER}"""

STRATEGY = cute_rewrite(
    "cute-refinement",
    "Refine the kernel in CuTe DSL",
    _look,
    family=Family.VECTORISE,
    why="A kernel in CuTe DSL that is right is developed further by one decision at a time, each verified and measured.",
    doc="""\
Takes a kernel in NVIDIA's CuTe DSL one step further: wider accesses, values kept in registers between two passes, rows
divided among more or fewer threads, tiles staged in shared memory by asynchronous copies, tensor cores. One decision a step;
a step that brings nothing is taken back, and the next one starts from the best version so far.

It pays until the kernel is near its roofline bound, where rounds end. It does not pay where the launch from Python takes longer
than the kernel.

**Refused:** functions that launch no kernel in CuTe DSL; machines without a GPU or without CuTe DSL.
""",
    instruction="""\
Take the kernel in CuTe DSL one step further: make one change, the one that promises most for what bounds it now.
1. Say what bounds it: bytes moved more than once, narrow accesses, too few loads in flight, idle threads, or arithmetic.
2. Choose one of these, in about this order, if the last steps have not tried it in vain:
   - accesses of 16 bytes: `cute.local_tile(x, (1, width), (row, chunk)).load()` and `.store()`, width a `cutlass.Constexpr`,
     on tensors with `assumed_align=16` and `mark_compact_shape_dynamic(mode, order, divisibility)`; width 1 for other shapes;
   - what is read in two passes is kept in registers (`cute.make_rmem_tensor`, a size known when compiled) or in shared memory;
   - another division of work: a row by a whole block if there are few rows, several rows a warp if they are short;
   - tiles in shared memory by `cute.copy` with cp.async or TMA atoms, two or more stages in flight;
   - products on tensor cores (`cute.nvgpu.warpgroup`, `cute.nvgpu.warp`) with fp32 accumulators;
   - blocks that stay and walk through the tiles, if there are many more tiles than multiprocessors.
3. Compile for what the change depends on (width, dtype), keep the compiled functions in the dict by it, and leave the rest of
   the kernel as it is, so that this one decision can be judged.
Pitfalls: an access of 16 bytes needs an address and row strides that are multiples of 16 bytes: ask data_ptr(); shared memory
read by other threads needs `cute.arch.sync_threads()` before and after; a size compiled in must be a key of the dict. Sums stay
in fp32. Sizes of 1, odd sizes and tails stay right.
It pays until the time is near the roofline bound; it does not where the launch takes longer than the kernel.
Do not change the signature, results, dtypes, strides of results, or which shapes are accepted.""",
    example=Example(AFTER, _AFTER),
)
