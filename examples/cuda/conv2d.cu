// 2D convolution (as in deep learning: no flip) of one image with one small filter; outside the image there are zeros.

#include <cuda_runtime.h>

__global__ void conv2d_kernel(const float* image, const float* filter, float* result, int H, int W, int R) {
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x < W && y < H) {
        int size = 2 * R + 1;
        float acc = 0.0f;
        for (int dy = -R; dy <= R; dy++) {
            for (int dx = -R; dx <= R; dx++) {
                int yy = y + dy;
                int xx = x + dx;
                if (yy >= 0 && yy < H && xx >= 0 && xx < W) {
                    acc += image[yy * W + xx] * filter[(dy + R) * size + (dx + R)];
                }
            }
        }
        result[y * W + x] = acc;
    }
}

// workload: conv2d(image=randn(H, W), filter=randn(2 * R + 1, 2 * R + 1), result=out(H, W), H=4096, W=8192, R=3)
// workload: conv2d(image=randn(H, W), filter=randn(2 * R + 1, 2 * R + 1), result=out(H, W), H=33, W=47, R=2)
extern "C" void conv2d(const float* image, const float* filter, float* result, int H, int W, int R) {
    conv2d_kernel<<<dim3((W + 15) / 16, (H + 15) / 16), dim3(16, 16)>>>(image, filter, result, H, W, R);
}
