// Keeps the positive elements in their order: blocks count theirs, one thread adds the counts up, blocks write.

#include <cuda_runtime.h>
#include <cstdio>

const int BLOCK = 256;

__global__ void count_positive(const float* x, int* counts, int n) {
    __shared__ int found;
    if (threadIdx.x == 0) found = 0;
    __syncthreads();
    int i = blockIdx.x * BLOCK + threadIdx.x;
    if (i < n && x[i] > 0.0f) atomicAdd(&found, 1);
    __syncthreads();
    if (threadIdx.x == 0) counts[blockIdx.x] = found;
}

__global__ void add_up(int* counts, int blocks, int* kept) {
    int sum = 0;
    for (int b = 0; b < blocks; ++b) {
        int count = counts[b];
        counts[b] = sum;
        sum += count;
    }
    *kept = sum;
}

__global__ void write_positive(const float* x, const int* starts, float* result, int n) {
    __shared__ int flags[BLOCK];
    int i = blockIdx.x * BLOCK + threadIdx.x;
    bool keep = i < n && x[i] > 0.0f;
    flags[threadIdx.x] = keep;
    __syncthreads();
    if (keep) {
        int place = starts[blockIdx.x];
        for (int t = 0; t < threadIdx.x; ++t) place += flags[t];
        result[place] = x[i];
    }
}

// workload: compact(x=randn(n), result=inout(zeros(n)), kept=out(1, dtype=int32), n=1 << 25)
// workload: compact(x=randn(n), result=inout(zeros(n)), kept=out(1, dtype=int32), n=1999)
extern "C" void compact(const float* x, float* result, int* kept, int n) {
    int blocks = (n + BLOCK - 1) / BLOCK;
    int* counts = nullptr;
    if (cudaMalloc(&counts, blocks * sizeof(int)) != cudaSuccess) {
        printf("no memory for %d counts\n", blocks);
        return;
    }
    count_positive<<<blocks, BLOCK>>>(x, counts, n);
    add_up<<<1, 1>>>(counts, blocks, kept);
    write_positive<<<blocks, BLOCK>>>(x, counts, result, n);
    cudaFree(counts);
}
