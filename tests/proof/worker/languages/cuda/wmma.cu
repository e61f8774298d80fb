#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <mma.h>

using namespace nvcuda;

template <int M, int N, int K, class T, class R, class LA, class LB>
__device__ void multiply(const T* A, const T* B, R* C, int lda, int ldb, int ldc, bool columns) {
  wmma::fragment<wmma::matrix_a, M, N, K, T, LA> a;
  wmma::fragment<wmma::matrix_b, M, N, K, T, LB> b;
  wmma::fragment<wmma::accumulator, M, N, K, R> c;
  wmma::layout_t layout = columns ? wmma::mem_col_major : wmma::mem_row_major;
  wmma::load_matrix_sync(a, A, lda);
  wmma::load_matrix_sync(b, B, ldb);
  wmma::load_matrix_sync(c, C, ldc, layout);
  wmma::mma_sync(c, a, b, c);
  for (int i = 0; i < c.num_elements; ++i) c.x[i] = c.x[i] + c.x[i];
  wmma::store_matrix_sync(C, c, ldc, layout);
}

__global__ void square(const __half* A, const __half* B, float* C, int lda, int ldb, int ldc, int columns) {
  multiply<16, 16, 16, __half, float, wmma::row_major, wmma::row_major>(A, B, C, lda, ldb, ldc, columns);
}
__global__ void turned(const __half* A, const __half* B, float* C, int lda, int ldb, int ldc, int columns) {
  multiply<16, 16, 16, __half, float, wmma::col_major, wmma::col_major>(A, B, C, lda, ldb, ldc, columns);
}
__global__ void tall(const __half* A, const __half* B, float* C, int lda, int ldb, int ldc, int columns) {
  multiply<32, 8, 16, __half, float, wmma::row_major, wmma::col_major>(A, B, C, lda, ldb, ldc, columns);
}
__global__ void wide(const __half* A, const __half* B, float* C, int lda, int ldb, int ldc, int columns) {
  multiply<8, 32, 16, __half, float, wmma::col_major, wmma::row_major>(A, B, C, lda, ldb, ldc, columns);
}
__global__ void halves(const __half* A, const __half* B, __half* C, int lda, int ldb, int ldc, int columns) {
  multiply<16, 16, 16, __half, __half, wmma::row_major, wmma::row_major>(A, B, C, lda, ldb, ldc, columns);
}
__global__ void brain(const __nv_bfloat16* A, const __nv_bfloat16* B, float* C, int lda, int ldb, int ldc, int columns) {
  multiply<16, 16, 16, __nv_bfloat16, float, wmma::row_major, wmma::row_major>(A, B, C, lda, ldb, ldc, columns);
}
__global__ void tall_brain(const __nv_bfloat16* A, const __nv_bfloat16* B, float* C, int lda, int ldb, int ldc, int columns) {
  multiply<32, 8, 16, __nv_bfloat16, float, wmma::row_major, wmma::row_major>(A, B, C, lda, ldb, ldc, columns);
}
__global__ void whole(const signed char* A, const signed char* B, int* C, int lda, int ldb, int ldc, int columns) {
  multiply<16, 16, 16, signed char, int, wmma::row_major, wmma::row_major>(A, B, C, lda, ldb, ldc, columns);
}
__global__ void real(const double* A, const double* B, double* C, int lda, int ldb, int ldc, int columns) {
  multiply<8, 8, 4, double, double, wmma::row_major, wmma::row_major>(A, B, C, lda, ldb, ldc, columns);
}

__global__ void counts(int* sizes) {
  wmma::fragment<wmma::matrix_a, 16, 16, 16, half, wmma::row_major> a;
  wmma::fragment<wmma::matrix_b, 32, 8, 16, __nv_bfloat16, wmma::row_major> b;
  wmma::fragment<wmma::accumulator, 16, 16, 16, float> c;
  sizes[0] = a.num_elements, sizes[1] = b.num_elements, sizes[2] = c.num_elements;
}

__global__ void tf32(const float* A, const float* B, float* C) {
  wmma::fragment<wmma::matrix_a, 16, 16, 8, wmma::precision::tf32, wmma::row_major> a;
  wmma::fragment<wmma::matrix_b, 16, 16, 8, wmma::precision::tf32, wmma::row_major> b;
  wmma::fragment<wmma::accumulator, 16, 16, 8, float> c;
  wmma::fill_fragment(c, 0.0f);
  wmma::load_matrix_sync(a, A, 8);
  wmma::load_matrix_sync(b, B, 16);
  for (int i = 0; i < a.num_elements; ++i) a.x[i] = wmma::__float_to_tf32(a.x[i]);
  for (int i = 0; i < b.num_elements; ++i) b.x[i] = wmma::__float_to_tf32(b.x[i]);
  wmma::mma_sync(c, a, b, c);
  wmma::store_matrix_sync(C, c, 16, wmma::mem_row_major);
}

// Each of four warps has a quarter of a product of 32 x 32, over K in tiles that the block stages in shared memory.
__global__ void staged(const __half* A, const __half* B, float* C, int M, int N, int K) {
  __shared__ __align__(32) __half As[32][24], Bs[16][40];
  __shared__ __align__(32) float Cs[32][40];
  const int warp = threadIdx.x / 32, y = warp / 2 * 16, x = warp % 2 * 16;
  wmma::fragment<wmma::accumulator, 16, 16, 16, float> c;
  wmma::fill_fragment(c, 0.0f);
  for (int k0 = 0; k0 < K; k0 += 16) {
    for (int i = threadIdx.x; i < 32 * 16; i += 128) {
      const int row = blockIdx.y * 32 + i / 16, k = k0 + i % 16;
      As[i / 16][i % 16] = row < M && k < K ? A[row * K + k] : __float2half(0.0f);
    }
    for (int i = threadIdx.x; i < 16 * 32; i += 128) {
      const int k = k0 + i / 32, col = blockIdx.x * 32 + i % 32;
      Bs[i / 32][i % 32] = k < K && col < N ? B[k * N + col] : __float2half(0.0f);
    }
    __syncthreads();  // staged
    wmma::fragment<wmma::matrix_a, 16, 16, 16, half, wmma::row_major> a;
    wmma::fragment<wmma::matrix_b, 16, 16, 16, half, wmma::row_major> b;
    wmma::load_matrix_sync(a, &As[y][0], 24);
    wmma::load_matrix_sync(b, &Bs[0][x], 40);
    wmma::mma_sync(c, a, b, c);
    __syncthreads();
  }
  wmma::store_matrix_sync(&Cs[y][x], c, 40, wmma::mem_row_major);
  __syncthreads();
  for (int i = threadIdx.x; i < 32 * 32; i += 128) {
    const int row = blockIdx.y * 32 + i / 32, col = blockIdx.x * 32 + i % 32;
    if (row < M && col < N) C[row * N + col] = Cs[i / 32][i % 32];
  }
}

using Sum = wmma::fragment<wmma::accumulator, 16, 16, 16, float>;

__global__ void half_of_a_warp(float* C) {
  Sum c;
  wmma::fill_fragment(c, 1.0f);
  if (threadIdx.x < 16) wmma::store_matrix_sync(C, c, 16, wmma::mem_row_major);
}
__global__ void in_two_places(float* C) {
  Sum c;
  if (threadIdx.x < 16)
    wmma::load_matrix_sync(c, C, 16, wmma::mem_row_major);  // one
  else
    wmma::load_matrix_sync(c, C, 16, wmma::mem_row_major);  // other
}
__global__ void waits_elsewhere(float* C) {
  Sum c;
  if (threadIdx.x < 16) __syncwarp();
  else wmma::load_matrix_sync(c, C, 16, wmma::mem_row_major);  // alone
}
__global__ void own_tiles(float* C) {
  Sum c;
  wmma::load_matrix_sync(c, C + threadIdx.x / 16 * 256, 16, wmma::mem_row_major);  // own
}
__global__ void at_once(float* C) {
  Sum c;
  wmma::fill_fragment(c, float(threadIdx.x / 32));
  wmma::store_matrix_sync(C, c, 16, wmma::mem_row_major);  // both warps
}
__global__ void stored_and_read(float* C) {
  __shared__ __align__(32) float tile[256];
  Sum c;
  wmma::fill_fragment(c, 1.0f);
  wmma::store_matrix_sync(tile, c, 16, wmma::mem_row_major);  // store
  C[threadIdx.x] = tile[threadIdx.x];                   // without a barrier
}
__global__ void written_and_loaded(float* C) {
  __shared__ __align__(32) float tile[256];
  Sum c;
  for (int i = threadIdx.x; i < 256; i += 32) tile[i] = 1.0f;  // by lanes
  if (C[0] == 1.0f) __syncwarp();
  wmma::load_matrix_sync(c, tile, 16, wmma::mem_row_major);  // as one
  wmma::store_matrix_sync(C, c, 16, wmma::mem_row_major);
}
__global__ void beyond(float* C) {
  Sum c;
  wmma::load_matrix_sync(c, C, 20, wmma::mem_row_major);  // 16 rows of 20
  wmma::store_matrix_sync(C, c, 16, wmma::mem_row_major);
}
__global__ void shifted(float* C) {
  Sum c;
  wmma::load_matrix_sync(c, C + 4, 16, wmma::mem_row_major);  // by 16 bytes
}
__global__ void crooked(float* C) {
  Sum c;
  wmma::load_matrix_sync(c, C, 17, wmma::mem_row_major);  // rows of 68 bytes
}
__global__ void not_loaded(float* C) {
  Sum c;
  wmma::store_matrix_sync(C, c, 16, wmma::mem_row_major);  // of nothing
}
__global__ void past_the_end(float* C) {
  Sum c;
  wmma::fill_fragment(c, 1.0f);
  for (int i = 0; i <= c.num_elements; ++i) C[i] = c.x[i];
}
