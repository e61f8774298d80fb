"""What a long CUDA file is made of, for `benchmarks/incremental.py`."""

HEAD = """#include <cfloat>
#include <cstdio>
#include <cuda_runtime.h>

#define CEIL_DIV(a, b) (((a) + (b) - 1) / (b))
#define CHECK(call)                                                                    \\
  do {                                                                                 \\
    cudaError_t error = (call);                                                        \\
    if (error != cudaSuccess) fprintf(stderr, "%s\\n", cudaGetErrorString(error));     \\
  } while (0)

constexpr int WARP = 32;

__device__ __forceinline__ float warp_sum(float x) {
  for (int offset = WARP / 2; offset > 0; offset >>= 1) x += __shfl_down_sync(0xffffffff, x, offset);
  return x;
}

"""

# One of each kind a file may hold; {i} makes the names unique.
PARTS = (
    """
// Softmax of each row: a block walks along a row three times.
__global__ void softmax_{i}(const float* x, float* y, int cols) {
  __shared__ float partial[256];
  const float* row = x + blockIdx.x * cols;
  float largest = -FLT_MAX;
  for (int c = threadIdx.x; c < cols; c += blockDim.x) largest = fmaxf(largest, row[c]);
  partial[threadIdx.x] = largest;
  __syncthreads();
  for (int step = blockDim.x / 2; step > 0; step /= 2) {
    if (threadIdx.x < step) partial[threadIdx.x] = fmaxf(partial[threadIdx.x], partial[threadIdx.x + step]);
    __syncthreads();
  }
  largest = partial[0];
  __syncthreads();
  float sum = 0.0f;
  for (int c = threadIdx.x; c < cols; c += blockDim.x) sum += expf(row[c] - largest);
  partial[threadIdx.x] = sum;
  __syncthreads();
  for (int step = blockDim.x / 2; step > 0; step /= 2) {
    if (threadIdx.x < step) partial[threadIdx.x] += partial[threadIdx.x + step];
    __syncthreads();
  }
  for (int c = threadIdx.x; c < cols; c += blockDim.x) y[blockIdx.x * cols + c] = expf(row[c] - largest) / partial[0];
}

// workload: launch_softmax_{i}(x=randn(rows, cols), y=out(rows, cols), rows=4096, cols=1000)
void launch_softmax_{i}(const float* x, float* y, int rows, int cols) {
  softmax_{i}<<<rows, 256>>>(x, y, cols);
  CHECK(cudaGetLastError());
}
""",
    """
#define TILE_{i} 16

template <typename T>
__global__ void matmul_{i}(const T* a, const T* b, T* c, int m, int n, int k) {
  __shared__ T as[TILE_{i}][TILE_{i}], bs[TILE_{i}][TILE_{i}];
  int row = blockIdx.y * TILE_{i} + threadIdx.y, col = blockIdx.x * TILE_{i} + threadIdx.x;
  float total = 0.0f;
  for (int t = 0; t < CEIL_DIV(k, TILE_{i}); ++t) {
    int inner = t * TILE_{i} + threadIdx.x;
    as[threadIdx.y][threadIdx.x] = row < m && inner < k ? a[row * k + inner] : T(0);
    inner = t * TILE_{i} + threadIdx.y;
    bs[threadIdx.y][threadIdx.x] = inner < k && col < n ? b[inner * n + col] : T(0);
    __syncthreads();
    for (int i = 0; i < TILE_{i}; ++i) total += as[threadIdx.y][i] * bs[i][threadIdx.x];
    __syncthreads();
  }
  if (row < m && col < n) c[row * n + col] = total;
}

extern "C" void launch_matmul_{i}(const float* a, const float* b, float* c, int m, int n, int k) {
  dim3 block(TILE_{i}, TILE_{i});
  dim3 grid(CEIL_DIV(n, TILE_{i}), CEIL_DIV(m, TILE_{i}));
  matmul_{i}<float><<<grid, block>>>(a, b, c, m, n, k);
}
""",
    """
namespace part_{i} {

struct Scale_{i} {
  float factor, shift;
  __device__ float operator()(float x) const { return factor * x + shift; }
};

static __device__ float gelu_{i}(float x) {
  return 0.5f * x * (1.0f + tanhf(0.7978845608f * (x + 0.044715f * x * x * x)));
}

__global__ void __launch_bounds__(256) activate_{i}(float* x, Scale_{i} scale, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
#ifdef EXACT_{i}
  if (i < n) x[i] = scale(x[i] * normcdff(x[i]));
#else
  if (i < n) x[i] = scale(gelu_{i}(x[i]));
#endif
}

__global__ void dot_{i}(const float* a, const float* b, float* out, int n) {
  float sum = 0.0f;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) sum += a[i] * b[i];
  sum = warp_sum(sum);
  if (threadIdx.x % WARP == 0) atomicAdd(out, sum);
}

}  // namespace part_{i}
""",
    """
/* What runs the kernels above one after another, for one size. */
static int run_{i}(const float* a, const float* b, float* c, int n) {
  float *x = nullptr, *sums = nullptr;
  CHECK(cudaMalloc(&x, n * sizeof(float)));
  CHECK(cudaMalloc(&sums, sizeof(float)));
  for (int turn = 0; turn < 10; ++turn) {
    CHECK(cudaMemset(sums, 0, sizeof(float)));
    switch (turn % 3) {
      case 0: CHECK(cudaMemcpy(x, a, n * sizeof(float), cudaMemcpyDeviceToDevice)); break;
      case 1: CHECK(cudaMemcpy(x, b, n * sizeof(float), cudaMemcpyDeviceToDevice)); break;
      default: CHECK(cudaMemset(x, 0, n * sizeof(float)));
    }
    if (turn > 5) {
      printf("turn %d of {%d}\\n", turn, 10);
    } else if (turn == 5) {
      CHECK(cudaMemcpy(c, x, n * sizeof(float), cudaMemcpyDeviceToHost));
    }
  }
  CHECK(cudaFree(sums));
  return cudaFree(x) == cudaSuccess ? 0 : 1;
}
""",
)
