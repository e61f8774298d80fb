// How often each byte occurs: every thread counts its elements with atomics in global memory.

#include <cstdio>
#include <cuda_runtime.h>

#define NUM_BINS 256

static void check(cudaError_t error, const char *what) {
    if (error != cudaSuccess) {
        fprintf(stderr, "%s: %s\n", what, cudaGetErrorString(error));
    }
}

__global__ void histogram_kernel(const unsigned char *data, int *bins, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int stride = blockDim.x * gridDim.x;
    while (i < n) {
        atomicAdd(&bins[data[i]], 1);
        i += stride;
    }
}

// workload: histogram(data=randint(0, 256, n, dtype=uint8), bins=out(256, dtype=int32), n=1 << 28)
// workload: histogram(data=randint(17, 90, n, dtype=uint8), bins=out(256, dtype=int32), n=12345)
extern "C" void histogram(const unsigned char *data, int *bins, int n) {
    check(cudaMemset(bins, 0, NUM_BINS * sizeof(int)), "cudaMemset");
    histogram_kernel<<<2048, 256>>>(data, bins, n);
    check(cudaGetLastError(), "histogram_kernel");
}
