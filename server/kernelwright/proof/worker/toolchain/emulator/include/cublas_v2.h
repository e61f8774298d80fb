// The types of cuBLAS, for headers that name them. What calls the library ends in a failure that names the call, or does
// nothing in a program whose launches are recorded.
#pragma once
typedef struct kw_cublas* cublasHandle_t;
typedef struct kw_cublas_lt* cublasLtHandle_t;
typedef struct kw_cublas_opaque *cublasLtMatmulDesc_t, *cublasLtMatrixLayout_t, *cublasLtMatmulPreference_t;
enum cublasStatus_t { CUBLAS_STATUS_SUCCESS = 0, CUBLAS_STATUS_NOT_SUPPORTED = 15 };
enum cublasOperation_t { CUBLAS_OP_N = 0, CUBLAS_OP_T = 1, CUBLAS_OP_C = 2 };
enum cublasMath_t { CUBLAS_DEFAULT_MATH = 0, CUBLAS_TENSOR_OP_MATH = 1, CUBLAS_PEDANTIC_MATH = 2, CUBLAS_TF32_TENSOR_OP_MATH = 3 };
enum cublasComputeType_t {
  CUBLAS_COMPUTE_16F = 64, CUBLAS_COMPUTE_32F = 68, CUBLAS_COMPUTE_32F_FAST_16F = 74, CUBLAS_COMPUTE_32F_FAST_TF32 = 77
};
enum cublasGemmAlgo_t { CUBLAS_GEMM_DEFAULT = -1, CUBLAS_GEMM_DEFAULT_TENSOR_OP = 99 };
enum cudaDataType { CUDA_R_32F = 0, CUDA_R_64F = 1, CUDA_R_16F = 2, CUDA_R_8I = 3, CUDA_R_32I = 10, CUDA_R_16BF = 14 };
using cudaDataType_t = cudaDataType;
#ifdef KW_RECORD
#define KW_ABSENT(name) template <class... A> inline cublasStatus_t name(A&&...) { return CUBLAS_STATUS_SUCCESS; }
#else
#define KW_ABSENT(name) \
  template <class... A> inline cublasStatus_t name(A&&...) { \
    kw::fail(#name " is called, which the emulator does not have"); \
    return CUBLAS_STATUS_NOT_SUPPORTED; \
  }
#endif
KW_ABSENT(cublasCreate) KW_ABSENT(cublasDestroy) KW_ABSENT(cublasSetStream) KW_ABSENT(cublasSetMathMode)
KW_ABSENT(cublasSgemm) KW_ABSENT(cublasDgemm) KW_ABSENT(cublasHgemm) KW_ABSENT(cublasGemmEx) KW_ABSENT(cublasSgemv)
KW_ABSENT(cublasSgemmBatched) KW_ABSENT(cublasSgemmStridedBatched) KW_ABSENT(cublasGemmStridedBatchedEx)
KW_ABSENT(cublasGemmBatchedEx) KW_ABSENT(cublasLtCreate) KW_ABSENT(cublasLtDestroy) KW_ABSENT(cublasLtMatmul)
inline const char* cublasGetStatusString(cublasStatus_t) { return "cuBLAS is not emulated"; }
