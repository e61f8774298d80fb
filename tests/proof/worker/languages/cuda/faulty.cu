#include <cuda_runtime.h>
__global__ void beyond(const float* A, float* C, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i <= n) C[i] = A[i];
}
__global__ void before(const float* A, float* C) {
  C[threadIdx.x] = A[(int)threadIdx.x - 1];
}
__global__ void wild(float* C) {
  float* p = nullptr;
  C[0] = *p;
}
__global__ void unaligned(const float* A, float4* C) {
  C[threadIdx.x] = *(const float4*)(A + 1 + 4 * threadIdx.x);
}
__global__ void outside_of_shared(float* C) {
  __shared__ float near[32];
  __shared__ float far[32];
  far[threadIdx.x] = 0;
  near[threadIdx.x + 1] = 1;
  __syncthreads();
  C[threadIdx.x] = near[threadIdx.x] + far[threadIdx.x];
}
__global__ void outside_of_dynamic(float* C) {
  extern __shared__ float part[];
  part[threadIdx.x] = 1;
  C[threadIdx.x] = part[threadIdx.x];
}
__global__ void no_barrier(const float* A, float* C) {
  __shared__ float tile[64];
  tile[threadIdx.x] = A[threadIdx.x];
  C[threadIdx.x] = tile[63 - threadIdx.x];
}
__global__ void no_warp_barrier(const float* A, float* C) {
  __shared__ float tile[32];
  tile[threadIdx.x] = A[threadIdx.x];  // warp alone
  C[threadIdx.x] = tile[31 - threadIdx.x];
}
__global__ void copied_over(const float4* A, float4* C) {
  __shared__ float4 tile[64];
  tile[threadIdx.x] = A[0];
  __syncthreads();
  if (threadIdx.x >= 32)
    C[threadIdx.x % 16] = tile[31];  // of another warp
  else
    tile[threadIdx.x] = A[1];  // over it
}
__global__ void warp_barrier(const float* A, float* C) {
  __shared__ float tile[32];
  tile[threadIdx.x] = A[threadIdx.x];
  __syncwarp();
  C[threadIdx.x] = tile[31 - threadIdx.x];
}
__global__ void blocks_collide(const float* A, float* C) {
  C[threadIdx.x] += A[blockIdx.x];
}
__global__ void same_value(float* C) {
  __shared__ int any;
  any = 1;
  __syncthreads();
  C[0] = any;
}
__global__ void volatile_flag(float* C) {
  __shared__ volatile int flag;
  __shared__ float value;
  if (threadIdx.x == 0) flag = 0;
  __syncthreads();
  if (threadIdx.x == 0) { value = 3; __threadfence_block(); flag = 1; }
  if (threadIdx.x == 40) { while (!flag) {} C[0] = value; }
}
__global__ void divergent(float* C) {
  if (threadIdx.x < 32) {
    __syncthreads();  // meet one
  } else {
    C[threadIdx.x] = 1;
    __syncthreads();  // meet two
  }
}
__global__ void lanes_missing(float* C) {
  if (threadIdx.x < 16) C[threadIdx.x] = __shfl_sync(0xffffffff, 1.0f, 0);
  else __syncthreads();
}
__global__ void asserted(float* C) { assert(C[0] > 1e9f); }
__global__ void nothing(float* C) {}
__global__ void static_memory(float* C) {
  __shared__ float big[16384];
  big[threadIdx.x] = 0;
}
__global__ void unwritten(float* C) {
  __shared__ float tile[32];
  if (threadIdx.x < 16) tile[threadIdx.x] = 1;
  __syncthreads();
  C[threadIdx.x] = tile[threadIdx.x];
}
void after_free(float* C) {
  float* t;
  cudaMalloc(&t, 64);
  cudaFree(t);
  nothing<<<1, 1>>>(C);
  unaligned<<<1, 1>>>(t, (float4*)C);
}
void host_memory(float* C) {
  static float own[4];
  float* heap = new float[4];
  beyond<<<1, 4>>>(heap, C, 4);
  delete[] heap;
}
void empty_grid(float* C, int n) { nothing<<<n / 256, 256>>>(C); }
void large_block(float* C) { nothing<<<1, dim3(64, 32)>>>(C); }
void much_shared(float* C) { nothing<<<1, 32, 100000>>>(C); }
void copies_too_much(float* C, const float* A) { cudaMemcpy(C, A, 1000, cudaMemcpyDeviceToDevice); }
void clears_nothing(float* C) { cudaMemset(nullptr, 0, 4); }

__global__ void past_own(const float* A, float* C, int n) {
  float own[4] = {A[0], A[1], A[2], A[3]}, sum = 0.0f;
  for (int j = 0; j < n; ++j) sum += own[j];
  C[0] = sum;
}

__global__ void ahead_of_own(const float* A, float* C, int n) {
  float own[4] = {A[0]};
  C[0] = own[-n];
}

__global__ void rows_in_one_piece(const float* A, float* C) {
  __shared__ float tile[2][4];
  tile[0][threadIdx.x] = A[0];
  __syncthreads();
  if (threadIdx.x < 7) C[threadIdx.x] = tile[0][threadIdx.x];
}
