// The running sum of each row (Hillis and Steele): a block walks along its row and carries what came before.

#include <cuda_runtime.h>

constexpr int kThreads = 512;

__global__ void inclusive_scan_rows(const float* __restrict__ values, float* __restrict__ out, int cols) {
    __shared__ float buffer[2][kThreads];
    const int t = threadIdx.x;
    const float* row_values = values + blockIdx.x * cols;
    float* row_out = out + blockIdx.x * cols;
    float carry = 0.0f;

    for (int start = 0; start < cols; start += kThreads) {
        int now = 0;
        buffer[now][t] = start + t < cols ? row_values[start + t] : 0.0f;
        __syncthreads();
        for (int offset = 1; offset < kThreads; offset <<= 1) {
            float value = buffer[now][t];
            if (t >= offset) value += buffer[now][t - offset];
            buffer[1 - now][t] = value;
            now = 1 - now;
            __syncthreads();
        }
        if (start + t < cols) row_out[start + t] = carry + buffer[now][t];
        carry += buffer[now][kThreads - 1];
        __syncthreads();
    }
}

// workload: scan_rows(values=rand(rows, cols), out=out(rows, cols), rows=16384, cols=4096)
// workload: scan_rows(values=randn(rows, cols), out=out(rows, cols), rows=3, cols=1231)
extern "C" void scan_rows(const float* values, float* out, int rows, int cols) {
    inclusive_scan_rows<<<rows, kThreads>>>(values, out, cols);
}
