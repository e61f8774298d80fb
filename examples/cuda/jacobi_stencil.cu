// Sweeps of the Jacobi iteration on a grid of points, from one buffer to the other and back; the border stays.

#include <cuda_runtime.h>

#define IDX(i, j) ((i) * width + (j))

__global__ void jacobi_step(const float *src, float *dst, int height, int width) {
    int j = threadIdx.x + blockIdx.x * blockDim.x;
    int i = threadIdx.y + blockIdx.y * blockDim.y;
    if (i >= height || j >= width) {
        return;
    }
    if (i == 0 || j == 0 || i == height - 1 || j == width - 1) {
        dst[IDX(i, j)] = src[IDX(i, j)];
    } else {
        dst[IDX(i, j)] = 0.25f * (src[IDX(i - 1, j)] + src[IDX(i + 1, j)] + src[IDX(i, j - 1)] + src[IDX(i, j + 1)]);
    }
}

// workload: jacobi(u=inout(randn(height, width)), v=out(height, width), height=8192, width=8192, sweeps=2)
// workload: jacobi(u=inout(randn(height, width)), v=out(height, width), height=35, width=70, sweeps=3)
extern "C" void jacobi(float *u, float *v, int height, int width, int sweeps) {
    dim3 threads(32, 8, 1);
    dim3 blocks((width + threads.x - 1) / threads.x, (height + threads.y - 1) / threads.y, 1);
    for (int sweep = 0; sweep < sweeps; sweep++) {
        if (sweep % 2 == 0) {
            jacobi_step<<<blocks, threads>>>(u, v, height, width);
        } else {
            jacobi_step<<<blocks, threads>>>(v, u, height, width);
        }
    }
}
