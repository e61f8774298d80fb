"""Split a long reduction of a CUDA kernel over several blocks."""

from kernelwright.macro.rewrites import Chance, cuda_rewrite, multiprocessors
from kernelwright.macro.strategy import Absent, Example, Family, Observation
from kernelwright.micro.rewrite.cuda_sight import CudaSight
from kernelwright.source.cuda.expressions import Loop
from kernelwright.source.cuda.text import field, of_type
from kernelwright.values import Refusal

_LONG = 16384  # turns of a loop that are worth dividing


def _look(observation: Observation, sight: CudaSight) -> Chance | Refusal:
    loops = [loop for loop in sight.names.loops if _adds_up(sight, loop)]
    if not loops:
        return Absent("No loop of the kernel reduces what it loads.")
    if any(access.kind == "atomic" for access in sight.accesses):
        return Absent("The kernel joins the results of several threads by atomics already.")
    turns = max((size for loop in loops if (size := _turns(sight, loop)) is not None), default=None)
    blocks = _blocks(sight)
    if turns is None or blocks is None:
        return Absent("How long the reduction is, and how many blocks share it, the launch does not tell.")
    if turns < _LONG:
        return Absent(f"The reduction has {turns} elements, too few to divide.")
    room = multiprocessors(observation.device)
    if blocks >= room:
        return Absent(f"There are {blocks} blocks, enough to keep {room} multiprocessors busy.")
    return Chance(
        f"reduction of {turns} elements by {blocks} blocks",
        round(min(0.5 * (room / blocks - 1), 2.0), 2),
        f"{blocks} blocks reduce {turns} elements each, while {room} multiprocessors could share them.",
    )


def _adds_up(sight: CudaSight, loop: Loop) -> bool:
    """Whether the loop folds what it loads into a variable from outside of it."""
    loads = any(access.space == "global" and access.reads and loop in access.loops for access in sight.accesses)
    targets = (field(one, "left") for one in of_type(loop.body, "assignment_expression"))
    return loads and any(one is not None and one.type == "identifier" for one in targets)


def _turns(sight: CudaSight, loop: Loop) -> int | None:
    """How far the loop counts, in the workload's numbers."""
    stop = field(loop.condition, "right")
    if stop is None:
        return None
    found = sight.value(sight.content(stop))
    return found if isinstance(found, int) else sight.names.number(stop)


def _blocks(sight: CudaSight) -> int | None:
    """The blocks of the one launch in the workload's numbers."""
    if isinstance(sight.launch, Refusal) or sight.launch.grid is None:
        return None
    known = {name: value for name, value in sight.given.items() if isinstance(value, int)}
    product = 1
    for size in sight.sizes(sight.launch.grid):
        number = sight.names_at_launch.polynomial(size).at(known).number
        if number is None:
            return None
        product *= number
    return product


_BEFORE = """\
#include <cuda_runtime.h>

__global__ void norm_kernel(const float* x, float* out, int cols) {
  __shared__ float parts[256];
  const float* row = x + (size_t)blockIdx.x * cols;
  float sum = 0.0f;
  for (int col = threadIdx.x; col < cols; col += 256) sum += row[col] * row[col];
  parts[threadIdx.x] = sum;
  __syncthreads();
  for (int half = 128; half > 0; half >>= 1) {
    if (threadIdx.x < half) parts[threadIdx.x] += parts[threadIdx.x + half];
    __syncthreads();
  }
  if (threadIdx.x == 0) out[blockIdx.x] = sqrtf(parts[0]);
}

// workload: row_norms(x=randn(rows, cols), out=out(rows), rows=8, cols=4194304)
// workload: row_norms(x=randn(rows, cols), out=out(rows), rows=3, cols=5003)
extern "C" void row_norms(const float* x, float* out, int rows, int cols) {
  norm_kernel<<<rows, 256>>>(x, out, cols);
}
"""

_AFTER = """\
#include <cuda_runtime.h>

__device__ float block_sum(float sum) {
  __shared__ float parts[256];
  parts[threadIdx.x] = sum;
  __syncthreads();
  for (int half = 128; half > 0; half >>= 1) {
    if (threadIdx.x < half) parts[threadIdx.x] += parts[threadIdx.x + half];
    __syncthreads();
  }
  return parts[0];
}

__global__ void squares_kernel(const float* x, float* parts, int cols, int share) {
  const float* row = x + (size_t)blockIdx.x * cols;
  int begin = blockIdx.y * share, end = min(begin + share, cols);
  float sum = 0.0f;
  for (int col = begin + threadIdx.x; col < end; col += 256) sum += row[col] * row[col];
  sum = block_sum(sum);
  if (threadIdx.x == 0) parts[blockIdx.x * gridDim.y + blockIdx.y] = sum;
}

__global__ void norm_kernel(const float* parts, float* out, int splits) {
  float sum = 0.0f;
  for (int split = threadIdx.x; split < splits; split += 256) sum += parts[(size_t)blockIdx.x * splits + split];
  sum = block_sum(sum);
  if (threadIdx.x == 0) out[blockIdx.x] = sqrtf(sum);
}

// workload: row_norms(x=randn(rows, cols), out=out(rows), rows=8, cols=4194304)
// workload: row_norms(x=randn(rows, cols), out=out(rows), rows=3, cols=5003)
extern "C" void row_norms(const float* x, float* out, int rows, int cols) {
  int blocks = (cols + 4095) / 4096;  // of a row: 16 elements a thread
  int splits = max(min(blocks, 512 / max(rows, 1)), 1);
  int share = (cols + splits - 1) / splits;
  float* parts;
  cudaMallocAsync(&parts, sizeof(float) * rows * splits, 0);
  squares_kernel<<<dim3(rows, splits), 256>>>(x, parts, cols, share);
  norm_kernel<<<rows, 256>>>(parts, out, splits);
  cudaFreeAsync(parts, 0);
}
"""

STRATEGY = cuda_rewrite(
    "split-reduction",
    "Split the reduction over blocks",
    _look,
    family=Family.SPLIT_REDUCTION,
    why="A few blocks that reduce very long rows leave most multiprocessors idle.",
    doc="""\
Has several blocks reduce parts of one row, or of the inner side of one matrix product, and joins their results in a second
kernel. Atomics would save that kernel, but give other last digits in each run.

It pays where there are fewer blocks than multiprocessors and each of them runs through a long loop. It does not pay where the
rows alone keep the device busy, or where the second launch costs more than the parts save.

**Refused:** kernels without a reducing loop; as many blocks as multiprocessors; short reductions; kernels that use atomics; a
launch that does not tell the length and the number of blocks.
""",
    instruction="""\
Split the long reduction over several blocks, and join their partial results in a second kernel.
1. Add a grid axis for the parts. Choose their number from the sizes: rows x parts about two to four times the number of
   multiprocessors, and each part at least a few thousand elements long.
2. In the first kernel let the loop run from the part's start to min(its end, the row's end), and store the partial result in
   fp32 to a buffer `parts[row][part]`, which the launcher gets by cudaMallocAsync and gives back by cudaFreeAsync on the
   stream of the launch.
3. In the second kernel one block a row combines the parts and does what came after the reduction (square root, division,
   cast, bias, store).
4. A state of several numbers is stored and merged as such: (maximum, sum of exponentials) with rescaling; (count, mean, M2)
   by the formula of Chan.
Pitfalls: a part that begins beyond the row must store the identity (0, -inf), and merging two -inf maxima must not give NaN.
No column may be counted twice or left out. Offsets in size_t. Do not use atomicAdd for floating point unless the baseline
does: results must be the same in every run. Every thread of a block must reach each __syncthreads(). Keep one part when the
row is short, so that small sizes stay right and fast.
It pays for few long rows and for deep, narrow products; it does not where blocks outnumber the multiprocessors.
Do not change the launcher's signature, what it writes, or the sizes that it accepts.""",
    example=Example(_BEFORE, _AFTER),
)
