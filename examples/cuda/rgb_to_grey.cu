// Interleaved RGB bytes to grey levels with the weights of BT.601.

#include <cuda_runtime.h>

typedef unsigned char byte;

__global__ void rgbToGrey(const byte *rgb, byte *grey, int width, int height)
{
    int x = threadIdx.x + blockIdx.x * blockDim.x;
    int y = threadIdx.y + blockIdx.y * blockDim.y;
    if (x < width && y < height) {
        int pixel = y * width + x;
        byte r = rgb[3 * pixel];
        byte g = rgb[3 * pixel + 1];
        byte b = rgb[3 * pixel + 2];
        grey[pixel] = (299 * r + 587 * g + 114 * b + 500) / 1000;
    }
}

// workload: rgb_to_grey(rgb=randint(0, 256, height, width, 3, dtype=uint8), grey=out(height, width, dtype=uint8), width=12288, height=8192)
// workload: rgb_to_grey(rgb=randint(0, 256, height, width, 3, dtype=uint8), grey=out(height, width, dtype=uint8), width=101, height=37)
extern "C" void rgb_to_grey(const unsigned char *rgb, unsigned char *grey, int width, int height)
{
    dim3 blockSize(32, 32);
    dim3 gridSize(width / 32 + (width % 32 != 0), height / 32 + (height % 32 != 0));
    rgbToGrey<<<gridSize, blockSize>>>(rgb, grey, width, height);
}
