"""Merge passes over the same row of a CUDA kernel by an online algorithm."""

from kernelwright.macro.rewrites import Chance, cuda_rewrite
from kernelwright.macro.strategy import Absent, Example, Family, Observation
from kernelwright.micro.rewrite.cuda_sight import CudaSight
from kernelwright.source.cuda.expressions import Loop
from kernelwright.source.cuda.text import field, of_type
from kernelwright.values import Refusal


def _look(observation: Observation, sight: CudaSight) -> Chance | Refusal:
    reading = {loop: _read(sight, loop) for loop in sight.names.loops}
    folds = [loop for loop, tensors in reading.items() if tensors and _folded(sight, loop)]
    for number, later in enumerate(folds):
        for earlier in folds[:number]:
            again = reading[earlier] & reading[later]
            waited = _folded(sight, earlier) & _names(sight, later)
            if again and waited and not _is_inside(later, earlier):
                passes = sum(bool(again & tensors) for tensors in reading.values())
                tensor = sorted(again)[0]
                return Chance(
                    f"{passes} passes over {tensor}",
                    round(1 / max(passes - 1, 1) * 0.8, 2),
                    f"{tensor} is read {passes} times, and a later reduction only waits for {sorted(waited)[0]}.",
                )
    if len(folds) < 2:
        return Absent("The kernel has no two loops that both reduce what they load.")
    return Absent("No reducing loop waits for what an earlier one has found of the same tensor.")


def _read(sight: CudaSight, loop: Loop) -> frozenset[str]:
    """The tensors that a loop loads from."""
    return frozenset(one.base for one in sight.accesses if one.space == "global" and one.reads and loop in one.loops)


def _folded(sight: CudaSight, loop: Loop) -> frozenset[str]:
    """The variables from outside of a loop that it adds to, or takes a maximum into."""
    targets = (field(one, "left") for one in of_type(loop.body, "assignment_expression"))
    names = {sight.content(one) for one in targets if one is not None and one.type == "identifier"}
    inside = {
        sight.content(one) for node in of_type(loop.body, "init_declarator") if (one := field(node, "declarator"))
    }
    return frozenset(names - inside - {loop.variable})


def _names(sight: CudaSight, loop: Loop) -> frozenset[str]:
    """What the loop reads, and what that was made of."""
    return sight.names.behind(loop.body)


def _is_inside(loop: Loop, outer: Loop) -> bool:
    return outer.node.start_byte <= loop.node.start_byte and loop.node.end_byte <= outer.node.end_byte


_BEFORE = """\
#include <cuda_runtime.h>
#include <math_constants.h>

__global__ void softmax_kernel(const float* x, float* y, int rows, int cols) {
  int row = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= rows) return;
  x += (size_t)row * cols;
  y += (size_t)row * cols;
  float largest = -CUDART_INF_F;
  for (int col = 0; col < cols; col++) largest = fmaxf(largest, x[col]);
  float sum = 0.0f;
  for (int col = 0; col < cols; col++) sum += expf(x[col] - largest);
  for (int col = 0; col < cols; col++) y[col] = expf(x[col] - largest) / sum;
}

// workload: softmax(x=randn(rows, cols), y=out(rows, cols), rows=16384, cols=2048)
// workload: softmax(x=randn(rows, cols), y=out(rows, cols), rows=37, cols=101)
extern "C" void softmax(const float* x, float* y, int rows, int cols) {
  softmax_kernel<<<(rows + 127) / 128, 128>>>(x, y, rows, cols);
}
"""

_AFTER = """\
#include <cuda_runtime.h>
#include <math_constants.h>

__global__ void softmax_kernel(const float* x, float* y, int rows, int cols) {
  int row = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= rows) return;
  x += (size_t)row * cols;
  y += (size_t)row * cols;
  float largest = -CUDART_INF_F, sum = 0.0f;
  for (int col = 0; col < cols; col++) {
    float value = x[col], before = largest;
    if (value == -CUDART_INF_F) continue;  // adds nothing, and -inf - (-inf) would be NaN
    largest = fmaxf(largest, value);
    sum = sum * expf(before - largest) + expf(value - largest);
  }
  for (int col = 0; col < cols; col++) y[col] = expf(x[col] - largest) / sum;
}

// workload: softmax(x=randn(rows, cols), y=out(rows, cols), rows=16384, cols=2048)
// workload: softmax(x=randn(rows, cols), y=out(rows, cols), rows=37, cols=101)
extern "C" void softmax(const float* x, float* y, int rows, int cols) {
  softmax_kernel<<<(rows + 127) / 128, 128>>>(x, y, rows, cols);
}
"""

STRATEGY = cuda_rewrite(
    "online-algorithm",
    "Merge passes by an online algorithm",
    _look,
    family=Family.REORDERING,
    why="Each pass over a row reads it from memory again where it does not stay in a cache.",
    doc="""\
Merges reductions that wait for one another into one pass: maximum and sum of a softmax with rescaling (Milakov and
Gimelshein, 2018), mean and variance by Welford's formula (1962), attention with running maximum and sum (Dao and others,
2022).

It pays where rows are too long for registers and shared memory, so that each pass goes to memory. It does not where a row is
kept on chip between the passes.

**Refused:** kernels in which no reducing loop waits for what an earlier one has found of the same tensor.
""",
    instruction="""\
Merge the passes over the same row into one, by an online algorithm, so that each element is loaded once for the reductions.
1. Carry the state of all reductions through one loop: (maximum, sum of exponentials) for a softmax, where the sum is
   multiplied by exp(old maximum - new maximum) when the maximum grows; (count, mean, M2) for mean and variance by
   Welford's formula.
2. Where several threads share a row, merge their states as pairs: by the larger maximum with both sums rescaled; by Chan's
   formula for (count, mean, M2). Shuffles carry both numbers.
3. What is left is the pass that writes: it loads the row again, or takes it from registers where the row is short enough.
4. For attention carry the output row too, and rescale it when the maximum grows.
Pitfalls: -inf - (-inf) is NaN: guard the first element and rows that are masked as a whole, so that they give what the
baseline gives. Start the maximum at -inf, not at 0 or at a large negative number. Keep the state in fp32 for half inputs.
An empty row must give what the baseline gives.
It pays where rows come from memory in each pass; it does not where they stay in registers or shared memory.
Do not change the launcher's signature, what it writes, or the sizes that it accepts.""",
    example=Example(_BEFORE, _AFTER),
)
