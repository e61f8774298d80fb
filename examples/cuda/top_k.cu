// The k largest elements of each row with their places, largest first; of equal ones the first.

#include <cuda_runtime.h>
#include <limits.h>
#include <math.h>

#define THREADS 256

// The block looks for the largest element that comes after the last one found, k times.
__global__ void top_k_kernel(const float* x, float* top, int* places, int cols, int k) {
    __shared__ float best_value[THREADS];
    __shared__ int best_place[THREADS];
    const float* row = x + blockIdx.x * cols;
    float last_value = INFINITY;
    int last_place = -1;

    for (int round = 0; round < k; ++round) {
        float value = -INFINITY;
        int place = INT_MAX;
        for (int i = threadIdx.x; i < cols; i += THREADS) {
            bool after = row[i] < last_value || (row[i] == last_value && i > last_place);
            if (after && (row[i] > value || place == INT_MAX)) {
                value = row[i];
                place = i;
            }
        }
        best_value[threadIdx.x] = value;
        best_place[threadIdx.x] = place;
        __syncthreads();
        for (int s = THREADS / 2; s > 0; s >>= 1) {
            if (threadIdx.x < s) {
                float other = best_value[threadIdx.x + s];
                int other_place = best_place[threadIdx.x + s];
                bool better = other > best_value[threadIdx.x] ||
                              (other == best_value[threadIdx.x] && other_place < best_place[threadIdx.x]);
                if (better) {
                    best_value[threadIdx.x] = other;
                    best_place[threadIdx.x] = other_place;
                }
            }
            __syncthreads();
        }
        last_value = best_value[0];
        last_place = best_place[0];
        if (threadIdx.x == 0) {
            top[blockIdx.x * k + round] = last_value;
            places[blockIdx.x * k + round] = last_place;
        }
        __syncthreads();
    }
}

// workload: top_k(x=randn(rows, cols), top=out(rows, k), places=out(rows, k, dtype=int32), rows=4096, cols=32000, k=8)
// workload: top_k(x=randn(rows, cols), top=out(rows, k), places=out(rows, k, dtype=int32), rows=5, cols=411, k=6)
extern "C" void top_k(const float* x, float* top, int* places, int rows, int cols, int k) {
    top_k_kernel<<<rows, THREADS>>>(x, top, places, cols, k);
}
