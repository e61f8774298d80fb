// Put in front of a text that nvcc compiles: its entries are registered, and what it launches goes to the caller's stream.
#pragma once
#include <cuda_runtime.h>
#ifdef KW_HALVES
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#endif

#include "entries.h"

#define KW_AS_IS extern "C" __attribute__((visibility("default"), used))
inline cudaStream_t& kw_current() { static cudaStream_t stream = nullptr; return stream; }
inline std::vector<const void*>& kw_launched() { static std::vector<const void*> all; return all; }
extern "C" cudaError_t __real_cudaLaunchKernel(const void*, dim3, dim3, void**, size_t, cudaStream_t);
KW_AS_IS inline cudaError_t __wrap_cudaLaunchKernel(const void* function, dim3 grid, dim3 block, void** given, size_t shared,
                                                    cudaStream_t stream) {
  kw_launched().push_back(function);
  return __real_cudaLaunchKernel(function, grid, block, given, shared, stream ? stream : kw_current());
}
#if CUDART_VERSION >= 13000
// What `<<<…>>>` comes to since CUDA 13, with a handle in place of the function.
extern "C" cudaError_t __real___cudaLaunchKernel(cudaKernel_t, dim3, dim3, void**, size_t, cudaStream_t);
KW_AS_IS inline cudaError_t __wrap___cudaLaunchKernel(cudaKernel_t kernel, dim3 grid, dim3 block, void** given, size_t shared,
                                                      cudaStream_t stream) {
  kw_launched().push_back(kernel);
  return __real___cudaLaunchKernel(kernel, grid, block, given, shared, stream ? stream : kw_current());
}
inline const void* kw_handle(const void* function) {
  cudaKernel_t kernel = nullptr;
  return cudaGetKernel(&kernel, function) == cudaSuccess ? kernel : nullptr;
}
#else
inline const void* kw_handle(const void* function) { return function; }
#endif
KW_AS_IS inline void kw_begin(void* stream) {
  kw_current() = static_cast<cudaStream_t>(stream);
  kw_launched().clear();
}
KW_AS_IS inline const char* kw_failure() {
  cudaError_t error = cudaGetLastError();
  return error == cudaSuccess ? "" : cudaGetErrorString(error);
}
KW_AS_IS inline int kw_launches() { return static_cast<int>(kw_launched().size()); }
KW_AS_IS inline const char* kw_launch_name(int at) {
  for (auto& one : kw::entries())
    if (one.of.kernel && (one.of.function == kw_launched()[at] || kw_handle(one.of.function) == kw_launched()[at]))
      return one.of.name;
  return "";
}
