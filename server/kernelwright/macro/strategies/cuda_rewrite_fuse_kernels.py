"""Fuse launches of CUDA kernels that hand a tensor on through global memory."""

import itertools

from kernelwright.macro.rewrites import Chance, cuda_rewrite
from kernelwright.macro.strategy import Absent, Example, Family, Observation
from kernelwright.micro.rewrite.cuda_sight import CudaSight
from kernelwright.source.cuda import Launch
from kernelwright.source.cuda.accesses import accesses
from kernelwright.source.cuda.expressions import Names
from kernelwright.values import Refusal


def _look(observation: Observation, sight: CudaSight) -> Chance | Refusal:
    if isinstance(sight.launch, Refusal):
        return sight.launch
    launches = [one for one in sight.file.launches if one.function is sight.launch.function]
    if len(launches) < 2:
        return Absent("The launcher launches only this kernel.")
    for first, second in itertools.pairwise(launches):
        handed = _touched(sight, first, writes=True) & _touched(sight, second, writes=False)
        if handed and sight.launch in (first, second):
            return Chance(
                f"{first.kernel} and {second.kernel}",
                0.3,
                f"{first.kernel} writes {sorted(handed)[0]} to memory, and {second.kernel} reads it back.",
            )
    return Absent("No kernel that is launched next to this one reads what it writes, or the reverse.")


def _touched(sight: CudaSight, launch: Launch, *, writes: bool) -> frozenset[str]:
    """The launcher's names of what a kernel writes, or reads."""
    kernel = sight.file.kernel(launch.kernel)
    if kernel is None:
        return frozenset()
    found = accesses(Names(sight.file, kernel))
    touched = {one.base for one in found if one.space == "global" and (one.writes if writes else one.reads)}
    pairs = zip(kernel.parameters, launch.arguments, strict=False)
    return frozenset(sight.content(argument) for one, argument in pairs if one.name in touched)


_BEFORE = """\
#include <cuda_runtime.h>

__global__ void means_kernel(const float* x, float* means, int cols) {
  __shared__ float parts[128];
  const float* row = x + (size_t)blockIdx.x * cols;
  float sum = 0.0f;
  for (int col = threadIdx.x; col < cols; col += 128) sum += row[col];
  parts[threadIdx.x] = sum;
  __syncthreads();
  for (int half = 64; half > 0; half >>= 1) {
    if (threadIdx.x < half) parts[threadIdx.x] += parts[threadIdx.x + half];
    __syncthreads();
  }
  if (threadIdx.x == 0) means[blockIdx.x] = parts[0] / cols;
}

__global__ void subtract_kernel(const float* x, const float* means, float* y, int cols) {
  size_t row = blockIdx.x;
  for (int col = threadIdx.x; col < cols; col += 128) y[row * cols + col] = x[row * cols + col] - means[row];
}

// workload: centre(x=randn(rows, cols), means=out(rows), y=out(rows, cols), rows=16384, cols=4096)
// workload: centre(x=randn(rows, cols), means=out(rows), y=out(rows, cols), rows=5, cols=300)
extern "C" void centre(const float* x, float* means, float* y, int rows, int cols) {
  means_kernel<<<rows, 128>>>(x, means, cols);
  subtract_kernel<<<rows, 128>>>(x, means, y, cols);
}
"""

_AFTER = """\
#include <cuda_runtime.h>

__global__ void means_kernel(const float* x, float* means, float* y, int cols) {
  __shared__ float parts[128];
  const float* row = x + (size_t)blockIdx.x * cols;
  float sum = 0.0f;
  for (int col = threadIdx.x; col < cols; col += 128) sum += row[col];
  parts[threadIdx.x] = sum;
  __syncthreads();
  for (int half = 64; half > 0; half >>= 1) {
    if (threadIdx.x < half) parts[threadIdx.x] += parts[threadIdx.x + half];
    __syncthreads();
  }
  float mean = parts[0] / cols;
  if (threadIdx.x == 0) means[blockIdx.x] = mean;
  // The row was read just now: most of it is still in a cache.
  for (int col = threadIdx.x; col < cols; col += 128) y[(size_t)blockIdx.x * cols + col] = row[col] - mean;
}

// workload: centre(x=randn(rows, cols), means=out(rows), y=out(rows, cols), rows=16384, cols=4096)
// workload: centre(x=randn(rows, cols), means=out(rows), y=out(rows, cols), rows=5, cols=300)
extern "C" void centre(const float* x, float* means, float* y, int rows, int cols) {
  means_kernel<<<rows, 128>>>(x, means, y, cols);
}
"""

STRATEGY = cuda_rewrite(
    "fuse-kernels",
    "Fuse kernels that hand a tensor on",
    _look,
    family=Family.FUSION,
    why="What one kernel writes to memory and the next one reads back costs two trips.",
    doc="""\
Puts two kernels that are launched one after the other into one where a block of the second needs only what the same block
of the first has made: a reduction and what uses it, a product and its epilogue.

It pays where the tensor between them is large, or where the second reads again what the first has just read. It does not
where a block would need results of other blocks: that takes a barrier over the whole grid.

**Refused:** launchers of one kernel; launches of which the second reads nothing that the first writes.
""",
    instruction="""\
Put the two kernels into one, so that what the first one makes stays in registers or shared memory.
1. Give the fused kernel the geometry of the first: each block must make all that its part of the second kernel needs.
   Where the second needs results of other blocks, leave it and say so.
2. Replace the store and the load between them by a register, or by shared memory with __syncthreads() between the last
   write and the first read by another thread.
3. Still write the tensor between them where the caller gets it: an argument of the launcher is a result.
4. Drop the second kernel's launch and its definition, and keep the name of the kernel that is being optimised.
Pitfalls: loops over elements of the second kernel must cover the same elements with the first's block size. A thread that
returns early in the first kernel is missing at later barriers. Shared arrays that are reused need a barrier in front of
the reuse. What was rounded on its way through memory (half) must be rounded still.
It pays where the tensor between them is large or read again; it does not where blocks depend on one another.
Do not change the launcher's signature, what it writes, or the sizes that it accepts.""",
    example=Example(_BEFORE, _AFTER),
)
