// Rows of an embedding table by token id; a negative id stands for padding and gives zeros.

#include <cuda_runtime.h>

namespace {

template <typename T>
__global__ void gather_rows(const T *table, const int *ids, T *result, int count, int dim) {
    int index = blockIdx.x * blockDim.x + threadIdx.x;
    if (index >= count * dim) return;
    int token = index / dim;
    int column = index % dim;
    int id = ids[token];
    result[index] = id >= 0 ? table[id * dim + column] : T(0);
}

}  // namespace

// workload: embedding(table=randn(vocabulary, dim), ids=randint(-1, vocabulary, count, dtype=int32), result=out(count, dim), vocabulary=32000, count=16384, dim=4096)
// workload: embedding(table=randn(vocabulary, dim), ids=randint(-1, vocabulary, count, dtype=int32), result=out(count, dim), vocabulary=50, count=37, dim=65)
extern "C" void embedding(const float *table, const int *ids, float *result, int vocabulary, int count, int dim) {
    if (vocabulary <= 0 || count <= 0) return;
    int work = count * dim;
    gather_rows<float><<<(work + 511) / 512, 512>>>(table, ids, result, count, dim);
}
