// The transpose of a matrix, element by element.

#include <cuda_runtime.h>

__global__ void transpose(const float* input, float* output, int rows, int cols)
{
    const int col = blockIdx.x * blockDim.x + threadIdx.x;
    const int row = blockIdx.y * blockDim.y + threadIdx.y;

    if (row < rows && col < cols)
        output[col * rows + row] = input[row * cols + col];
}

// workload: solve(input=randn(rows, cols), output=out(cols, rows), rows=8192, cols=4096)
// workload: solve(input=randn(rows, cols), output=out(cols, rows), rows=67, cols=129)
extern "C" void solve(const float* input, float* output, int rows, int cols)
{
    dim3 block(16, 16);
    dim3 grid((cols + block.x - 1) / block.x, (rows + block.y - 1) / block.y);
    transpose<<<grid, block>>>(input, output, rows, cols);
}
