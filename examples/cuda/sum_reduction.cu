// The sum of all elements: each block sums up a part in shared memory, and one more block sums up the parts.

#include <cuda_runtime.h>

#define THREADS 256
#define MAX_BLOCKS 1024

__device__ float block_sums[MAX_BLOCKS];

__device__ float block_sum(float value) {
    __shared__ float cache[THREADS];
    int tid = threadIdx.x;
    cache[tid] = value;
    __syncthreads();
    for (int s = THREADS / 2; s > 0; s /= 2) {
        if (tid < s) {
            cache[tid] += cache[tid + s];
        }
        __syncthreads();
    }
    return cache[0];
}

__global__ void sum_parts(const float* x, int n) {
    float sum = 0.0f;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += blockDim.x * gridDim.x) {
        sum += x[i];
    }
    sum = block_sum(sum);
    if (threadIdx.x == 0) {
        block_sums[blockIdx.x] = sum;
    }
}

__global__ void sum_blocks(float* result, int blocks) {
    float sum = 0.0f;
    for (int i = threadIdx.x; i < blocks; i += blockDim.x) {
        sum += block_sums[i];
    }
    sum = block_sum(sum);
    if (threadIdx.x == 0) {
        *result = sum;
    }
}

// workload: reduce_sum(x=rand(n), result=out(1), n=1 << 26)
// workload: reduce_sum(x=randn(n), result=out(1), n=5001)
extern "C" void reduce_sum(const float* x, float* result, int n) {
    int blocks = (n + THREADS - 1) / THREADS;
    if (blocks > MAX_BLOCKS) {
        blocks = MAX_BLOCKS;
    }
    sum_parts<<<blocks, THREADS>>>(x, n);
    sum_blocks<<<1, THREADS>>>(result, blocks);
}
