"""A program of CUDA C++ for tests: four of its kernels can be recorded, not so that of a template's launch or of a symbol."""

PROGRAM = """\
#include <cstdlib>
#include <vector>

__global__ void scale(float* out, const float* x, float by, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = by * x[i];
}

template <int EACH> __global__ void fill(int* counts, int n) {
  for (int k = 0; k < EACH; k++)
    if (int i = threadIdx.x * EACH + k; i < n) counts[i] = i * 3 % 7;
}

template <int EACH> void filled(int* counts, int n) { fill<EACH><<<1, 8>>>(counts, n); }

__constant__ float offset[1];
__global__ void shift(float* out) { out[threadIdx.x] += offset[0]; }

struct Rows { int rows, length; };
struct Params { Rows all; float by; const float* x; float* out; };
__global__ void rowwise(Params p) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < p.all.rows * p.all.length) p.out[i] = p.by * p.x[i] + i / p.all.length;
}

__global__ void unused(float* out) { out[0] = 1; }

int main(int count, char** given) {
  int n = count > 1 ? atoi(given[1]) : 100;
  std::vector<float> x(n, 2.0f);
  float *in, *out;
  int* counts;
  cudaMalloc(&in, n * sizeof(float));
  cudaMalloc(&out, n * sizeof(float));
  cudaMalloc(&counts, 32 * sizeof(int));
  cudaMemcpy(in, x.data(), n * sizeof(float), cudaMemcpyHostToDevice);
  scale<<<(n + 31) / 32, 32>>>(out, in, 1.5f, n);
  scale<<<(n + 31) / 32, 32>>>(in, out, 0.1f, n);
  Params params{{2, n / 2}, 0.5f, in, out};
  rowwise<<<(n + 31) / 32, 32>>>(params);
  fill<4><<<1, 8>>>(counts, 32);
  filled<2>(counts, 16);
  cudaMemcpyToSymbol(offset, x.data(), sizeof(float));
  shift<<<1, 8>>>(out);
  exit(3);
}
"""
