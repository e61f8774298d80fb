// Attention of one new token: for each head the query meets all keys, and the softmax of the scores weighs the values.

#include <cuda_runtime.h>
#include <math.h>

// One block for each head. q: [heads, dim], k and v: [heads, length, dim]. scores: [length] in shared memory.
__global__ void attention_row(const float* q, const float* k, const float* v, float* out, int length, int dim) {
    extern __shared__ float scores[];
    __shared__ float maximum, total;
    int head = blockIdx.x;
    const float* query = q + head * dim;
    const float* keys = k + head * length * dim;
    const float* values = v + head * length * dim;

    for (int t = threadIdx.x; t < length; t += blockDim.x) {
        float dot = 0.0f;
        for (int d = 0; d < dim; ++d) {
            dot += query[d] * keys[t * dim + d];
        }
        scores[t] = dot / sqrtf((float)dim);
    }
    __syncthreads();

    if (threadIdx.x == 0) {
        float m = -INFINITY, s = 0.0f;
        for (int t = 0; t < length; ++t) m = fmaxf(m, scores[t]);
        for (int t = 0; t < length; ++t) s += expf(scores[t] - m);
        maximum = m;
        total = s;
    }
    __syncthreads();

    for (int d = threadIdx.x; d < dim; d += blockDim.x) {
        float acc = 0.0f;
        for (int t = 0; t < length; ++t) {
            acc += expf(scores[t] - maximum) * values[t * dim + d];
        }
        out[head * dim + d] = acc / total;
    }
}

// workload: attention(q=randn(heads, dim), k=randn(heads, length, dim), v=randn(heads, length, dim), out=out(heads, dim), heads=256, length=2048, dim=128)
// workload: attention(q=randn(heads, dim), k=randn(heads, length, dim), v=randn(heads, length, dim), out=out(heads, dim), heads=3, length=91, dim=40)
extern "C" void attention(const float* q, const float* k, const float* v, float* out, int heads, int length, int dim) {
    attention_row<<<heads, 128, length * sizeof(float)>>>(q, k, v, out, length, dim);
}
