#include <cuda_runtime.h>
#include <cuda_fp16.h>
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
namespace cg = cooperative_groups;
#define TILE 16
__global__ void transpose(const float* in, float* out, int rows, int cols) {
  __shared__ float tile[32][33];
  int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 32 + threadIdx.y;
  for (int j = 0; j < 32; j += 8)
    if (y + j < rows && x < cols) tile[threadIdx.y + j][threadIdx.x] = in[(y + j) * cols + x];
  __syncthreads();
  x = blockIdx.y * 32 + threadIdx.x, y = blockIdx.x * 32 + threadIdx.y;
  for (int j = 0; j < 32; j += 8)
    if (y + j < cols && x < rows) out[(y + j) * rows + x] = tile[threadIdx.x][threadIdx.y + j];
}
template <typename T> __device__ __forceinline__ T warp_sum(T v) {
#pragma unroll
  for (int d = 16; d > 0; d >>= 1) v += __shfl_down_sync(0xffffffff, v, d);
  return v;
}
__global__ void __launch_bounds__(256) sum(const float* __restrict__ x, float* out, int n) {
  __shared__ float parts[8];
  float v = 0;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) v += x[i];
  v = warp_sum(v);
  if (threadIdx.x % 32 == 0) parts[threadIdx.x / 32] = v;
  __syncthreads();
  if (threadIdx.x < 32) {
    v = threadIdx.x < 8 ? parts[threadIdx.x] : 0.0f;
    v = warp_sum(v);
    if (threadIdx.x == 0) atomicAdd(out, v);
  }
}
__global__ void histogram(const int* x, int* bins, int n, int k) {
  extern __shared__ int local[];
  for (int i = threadIdx.x; i < k; i += blockDim.x) local[i] = 0;
  __syncthreads();
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) atomicAdd(&local[x[i]], 1);
  __syncthreads();
  for (int j = threadIdx.x; j < k; j += blockDim.x) if (local[j]) atomicAdd(&bins[j], local[j]);
}
__global__ void softmax(const float* x, float* y, int cols) {
  auto block = cg::this_thread_block();
  auto warp = cg::tiled_partition<32>(block);
  const float* row = x + (size_t)blockIdx.x * cols;
  float m = -INFINITY;
  for (int i = threadIdx.x; i < cols; i += 32) m = fmaxf(m, row[i]);
  m = cg::reduce(warp, m, cg::greater<float>());
  float s = 0;
  for (int i = threadIdx.x; i < cols; i += 32) s += __expf(row[i] - m);
  s = cg::reduce(warp, s, cg::plus<float>());
  for (int i = threadIdx.x; i < cols; i += 32) y[(size_t)blockIdx.x * cols + i] = __expf(row[i] - m) / s;
}
template <int T> __global__ void matmul(const float* A, const float* B, float* C, int M, int N, int K) {
  __shared__ float a[T][T], b[T][T];
  int row = blockIdx.y * T + threadIdx.y, col = blockIdx.x * T + threadIdx.x;
  float acc = 0;
  for (int k = 0; k < K; k += T) {
    a[threadIdx.y][threadIdx.x] = row < M && k + threadIdx.x < K ? A[row * K + k + threadIdx.x] : 0.0f;
    b[threadIdx.y][threadIdx.x] = col < N && k + threadIdx.y < K ? B[(k + threadIdx.y) * N + col] : 0.0f;
    __syncthreads();
    for (int i = 0; i < T; ++i) acc += a[threadIdx.y][i] * b[i][threadIdx.x];
    __syncthreads();
  }
  if (row < M && col < N) C[row * N + col] = acc;
}
__global__ void axpy2(const half2* x, half2* y, __half a, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = __hfma2(__half2half2(a), x[i], y[i]);
}
__global__ void scale4(float4* x, float s, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) { float4 v = x[i]; v.x *= s; v.y *= s; v.z *= s; v.w *= s; x[i] = v; }
}
__device__ unsigned count = 0;
__global__ void last_block(const float* x, float* parts, float* out, int n) {
  __shared__ bool last;
  __shared__ float s[64];
  float v = 0;
  for (int i = blockIdx.x * 64 + threadIdx.x; i < n; i += gridDim.x * 64) v += x[i];
  s[threadIdx.x] = v;
  __syncthreads();
  if (threadIdx.x == 0) {
    float t = 0;
    for (int i = 0; i < 64; i++) t += s[i];
    parts[blockIdx.x] = t;
    __threadfence();
    last = atomicAdd(&count, 1u) == gridDim.x - 1;
  }
  __syncthreads();
  if (last && threadIdx.x == 0) {
    float t = 0;
    for (int i = 0; i < gridDim.x; i++) t += parts[i];
    *out = t;
    count = 0;
  }
}
__global__ void fmaxed(const float* x, float* out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  int* p = (int*)out; int old = *p, assumed;
  do { assumed = old; old = atomicCAS(p, assumed, __float_as_int(fmaxf(x[i], __int_as_float(assumed)))); } while (assumed != old);
}
__constant__ float weights[3];
__global__ void conv(const float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) { float v = 0; for (int k = -1; k <= 1; k++) if (i + k >= 0 && i + k < n) v += weights[k + 1] * x[i + k]; y[i] = v; }
}
extern "C" void solve_matmul(const float* A, const float* B, float* C, int M, int N, int K) {
  dim3 block(TILE, TILE), grid((N + TILE - 1) / TILE, (M + TILE - 1) / TILE);
  matmul<TILE><<<grid, block>>>(A, B, C, M, N, K);
}
static cudaError_t two(const float* x, float* out, int n) {
  float* t; cudaMalloc(&t, n * sizeof(float)); cudaMemset(out, 0, 4);
  transpose<<<dim3((n + 31) / 32, 1), dim3(32, 8)>>>(x, t, 1, n);
  sum<<<4, 256>>>(t, out, n);
  cudaFree(t);
  return cudaGetLastError();
}
void smooth(const float* x, float* y, int n) {
  const float w[3] = {0.25f, 0.5f, 0.25f};
  cudaMemcpyToSymbol(weights, w, sizeof w);
  conv<<<(n + 127) / 128, 128>>>(x, y, n);
}
