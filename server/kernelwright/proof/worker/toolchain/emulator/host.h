// The part of CUDA's runtime that launchers call: memory, streams that are always done, facts of an H100.
#pragma once
#include <cstdio>

enum cudaError {
  cudaSuccess = 0, cudaErrorInvalidValue = 1, cudaErrorMemoryAllocation = 2, cudaErrorInvalidConfiguration = 9,
  cudaErrorInvalidDevicePointer = 17, cudaErrorNotReady = 600, cudaErrorIllegalAddress = 700, cudaErrorLaunchFailure = 719,
  cudaErrorUnknown = 999
};
using cudaError_t = cudaError;
enum cudaMemcpyKind {
  cudaMemcpyHostToHost, cudaMemcpyHostToDevice, cudaMemcpyDeviceToHost, cudaMemcpyDeviceToDevice, cudaMemcpyDefault
};
enum cudaFuncAttribute { cudaFuncAttributeMaxDynamicSharedMemorySize = 8, cudaFuncAttributePreferredSharedMemoryCarveout = 9 };
enum cudaFuncCache { cudaFuncCachePreferNone, cudaFuncCachePreferShared, cudaFuncCachePreferL1, cudaFuncCachePreferEqual };
enum cudaDeviceAttr {
  cudaDevAttrMaxThreadsPerBlock = 1, cudaDevAttrMaxSharedMemoryPerBlock = 8, cudaDevAttrWarpSize = 10,
  cudaDevAttrMultiProcessorCount = 16, cudaDevAttrMaxThreadsPerMultiProcessor = 39, cudaDevAttrComputeCapabilityMajor = 75,
  cudaDevAttrComputeCapabilityMinor = 76, cudaDevAttrMaxSharedMemoryPerMultiprocessor = 81,
  cudaDevAttrMaxSharedMemoryPerBlockOptin = 97
};
struct cudaDeviceProp {
  char name[256] = "NVIDIA H100";
  size_t totalGlobalMem = size_t(80) << 30, sharedMemPerBlock = 49152, sharedMemPerBlockOptin = 232448;
  size_t sharedMemPerMultiprocessor = 233472, totalConstMem = 65536;
  int regsPerBlock = 65536, regsPerMultiprocessor = 65536, warpSize_ = 32, maxThreadsPerBlock = 1024;
  int maxThreadsDim[3] = {1024, 1024, 64}, maxGridSize[3] = {2147483647, 65535, 65535};
  int multiProcessorCount = 132, maxThreadsPerMultiProcessor = 2048, major = 9, minor = 0, l2CacheSize = 52428800;
  int maxBlocksPerMultiProcessor = 32, clockRate = 1980000, memoryClockRate = 2619000, memoryBusWidth = 5120;
  int cooperativeLaunch = 1, concurrentKernels = 1;
};
enum CUresult { CUDA_SUCCESS = 0, CUDA_ERROR_NOT_SUPPORTED = 801 };
using cudaTextureObject_t = unsigned long long;  // names that a text may have beside what runs; nothing reads a texture
using cudaSurfaceObject_t = unsigned long long;
typedef struct cudaArray* cudaArray_t;
using CUdevice = int;
using CUdeviceptr = unsigned long long;
typedef struct kw_driver *CUcontext, *CUmodule, *CUfunction, *CUlibrary, *CUkernel;
using CUstream = cudaStream_t;
inline CUresult cuGetErrorString(CUresult, const char** words) { *words = "no error"; return CUDA_SUCCESS; }
struct kw_event;
using cudaEvent_t = kw_event*;
enum { cudaStreamDefault = 0, cudaStreamNonBlocking = 1, cudaEventDefault = 0, cudaEventDisableTiming = 2 };
enum { cudaHostAllocDefault = 0, cudaMemAttachGlobal = 1, cudaHostAllocMapped = 2 };
#define cudaStreamLegacy ((cudaStream_t)0)
#define cudaStreamPerThread ((cudaStream_t)0)

inline cudaError_t cudaGetLastError() { return cudaError_t(kw::last_error(true)); }
inline cudaError_t cudaPeekAtLastError() { return cudaError_t(kw::last_error(false)); }
inline const char* cudaGetErrorString(cudaError_t e) { return e == cudaSuccess ? "no error" : kw::last_words(); }
inline const char* cudaGetErrorName(cudaError_t e) { return e == cudaSuccess ? "cudaSuccess" : "cudaErrorLaunchFailure"; }
inline cudaError_t cudaDeviceSynchronize() { return cudaPeekAtLastError(); }
inline cudaError_t cudaStreamSynchronize(cudaStream_t) { return cudaPeekAtLastError(); }
inline cudaError_t cudaStreamCreate(cudaStream_t* s) { *s = nullptr; return cudaSuccess; }
inline cudaError_t cudaStreamCreateWithFlags(cudaStream_t* s, unsigned) { *s = nullptr; return cudaSuccess; }
inline cudaError_t cudaStreamDestroy(cudaStream_t) { return cudaSuccess; }
inline cudaError_t cudaStreamQuery(cudaStream_t) { return cudaSuccess; }
inline cudaError_t cudaStreamWaitEvent(cudaStream_t, cudaEvent_t, unsigned = 0) { return cudaSuccess; }
inline cudaError_t cudaEventCreate(cudaEvent_t* e) { *e = nullptr; return cudaSuccess; }
inline cudaError_t cudaEventCreateWithFlags(cudaEvent_t* e, unsigned) { *e = nullptr; return cudaSuccess; }
inline cudaError_t cudaEventRecord(cudaEvent_t, cudaStream_t = nullptr) { return cudaSuccess; }
inline cudaError_t cudaEventSynchronize(cudaEvent_t) { return cudaSuccess; }
inline cudaError_t cudaEventQuery(cudaEvent_t) { return cudaSuccess; }
inline cudaError_t cudaEventDestroy(cudaEvent_t) { return cudaSuccess; }
inline cudaError_t cudaEventElapsedTime(float* ms, cudaEvent_t, cudaEvent_t) { *ms = 1; return cudaSuccess; }
inline cudaError_t cudaSetDevice(int) { return cudaSuccess; }
inline cudaError_t cudaGetDevice(int* d) { *d = 0; return cudaSuccess; }
inline cudaError_t cudaGetDeviceCount(int* n) { *n = 1; return cudaSuccess; }
inline cudaError_t cudaGetDeviceProperties(cudaDeviceProp* p, int) { *p = cudaDeviceProp(); return cudaSuccess; }
inline cudaError_t cudaDeviceSetCacheConfig(cudaFuncCache) { return cudaSuccess; }
inline cudaError_t cudaDeviceReset() { return cudaSuccess; }
inline cudaError_t cudaDeviceGetAttribute(int* v, cudaDeviceAttr which, int) {
  cudaDeviceProp p;
  switch (which) {
    case cudaDevAttrMaxThreadsPerBlock: *v = p.maxThreadsPerBlock; break;
    case cudaDevAttrMaxSharedMemoryPerBlock: *v = int(p.sharedMemPerBlock); break;
    case cudaDevAttrWarpSize: *v = 32; break;
    case cudaDevAttrMultiProcessorCount: *v = p.multiProcessorCount; break;
    case cudaDevAttrMaxThreadsPerMultiProcessor: *v = p.maxThreadsPerMultiProcessor; break;
    case cudaDevAttrComputeCapabilityMajor: *v = p.major; break;
    case cudaDevAttrComputeCapabilityMinor: *v = p.minor; break;
    case cudaDevAttrMaxSharedMemoryPerMultiprocessor: *v = int(p.sharedMemPerMultiprocessor); break;
    case cudaDevAttrMaxSharedMemoryPerBlockOptin: *v = int(p.sharedMemPerBlockOptin); break;
    default: return cudaErrorInvalidValue;
  }
  return cudaSuccess;
}
template <class T> inline cudaError_t cudaMalloc(T** place, size_t bytes) {
  *place = static_cast<T*>(kw::allocate(bytes, "memory of cudaMalloc"));
  return *place ? cudaSuccess : cudaErrorMemoryAllocation;
}
template <class T> inline cudaError_t cudaMallocAsync(T** place, size_t bytes, cudaStream_t) { return cudaMalloc(place, bytes); }
template <class T> inline cudaError_t cudaMallocManaged(T** place, size_t bytes, unsigned = 1) { return cudaMalloc(place, bytes); }
template <class T> inline cudaError_t cudaMallocHost(T** place, size_t bytes, unsigned = 0) { return cudaMalloc(place, bytes); }
template <class T> inline cudaError_t cudaHostAlloc(T** place, size_t bytes, unsigned) { return cudaMalloc(place, bytes); }
inline cudaError_t cudaFree(void* place) { return kw::release(place) ? cudaSuccess : cudaErrorInvalidDevicePointer; }
inline cudaError_t cudaFreeAsync(void* place, cudaStream_t) { return cudaFree(place); }
inline cudaError_t cudaFreeHost(void* place) { return cudaFree(place); }

namespace kw {
inline bool has_room(const void* place, size_t bytes, const char* call) {
  size_t known = place ? known_bytes(place) : 0;
  if (!bytes || (place && !known) || known >= bytes) return true;
  char words[160];
  if (!place) std::snprintf(words, sizeof words, "%s is given a null pointer", call);
  else std::snprintf(words, sizeof words, "%s touches %zu bytes where %zu are left of the memory", call, bytes, known);
  fail(words);
  return false;
}
}  // namespace kw
inline cudaError_t cudaMemcpy(void* to, const void* from, size_t bytes, cudaMemcpyKind) {
  if (!kw::has_room(to, bytes, "cudaMemcpy") || !kw::has_room(from, bytes, "cudaMemcpy")) return cudaErrorInvalidValue;
  memmove(to, from, bytes);
  return cudaSuccess;
}
inline cudaError_t cudaMemcpyAsync(void* to, const void* from, size_t bytes, cudaMemcpyKind kind, cudaStream_t = nullptr) {
  return cudaMemcpy(to, from, bytes, kind);
}
inline cudaError_t cudaMemcpy2D(void* to, size_t to_pitch, const void* from, size_t from_pitch, size_t width, size_t height,
                                cudaMemcpyKind kind) {
  for (size_t i = 0; i < height; i++)
    cudaMemcpy(static_cast<char*>(to) + i * to_pitch, static_cast<const char*>(from) + i * from_pitch, width, kind);
  return cudaSuccess;
}
inline cudaError_t cudaMemset(void* to, int value, size_t bytes) {
  if (!kw::has_room(to, bytes, "cudaMemset")) return cudaErrorInvalidValue;
  memset(to, value, bytes);
  return cudaSuccess;
}
inline cudaError_t cudaMemsetAsync(void* to, int value, size_t bytes, cudaStream_t = nullptr) { return cudaMemset(to, value, bytes); }
template <class T>
inline cudaError_t cudaMemcpyToSymbol(T& symbol, const void* from, size_t bytes, size_t offset = 0,
                                      cudaMemcpyKind = cudaMemcpyHostToDevice) {
  if (offset + bytes > sizeof(T)) return kw::fail("cudaMemcpyToSymbol writes beyond the symbol"), cudaErrorInvalidValue;
  memcpy(reinterpret_cast<char*>(&const_cast<std::remove_const_t<T>&>(symbol)) + offset, from, bytes);
  return cudaSuccess;
}
template <class T>
inline cudaError_t cudaMemcpyToSymbolAsync(T& symbol, const void* from, size_t bytes, size_t offset, cudaMemcpyKind kind,
                                           cudaStream_t = nullptr) {
  return cudaMemcpyToSymbol(symbol, from, bytes, offset, kind);
}
template <class T>
inline cudaError_t cudaMemcpyFromSymbol(void* to, const T& symbol, size_t bytes, size_t offset = 0,
                                        cudaMemcpyKind = cudaMemcpyDeviceToHost) {
  memcpy(to, reinterpret_cast<const char*>(&symbol) + offset, bytes);
  return cudaSuccess;
}
template <class T> inline cudaError_t cudaGetSymbolAddress(void** place, const T& symbol) {
  *place = const_cast<void*>(static_cast<const void*>(&symbol));
  return cudaSuccess;
}
template <class F> inline cudaError_t cudaFuncSetAttribute(F, cudaFuncAttribute which, int value) {
  if (which == cudaFuncAttributeMaxDynamicSharedMemorySize) {
    if (value > 232448) return cudaErrorInvalidValue;
    kw::set_dynamic_limit(value);
  }
  return cudaSuccess;
}
template <class F> inline cudaError_t cudaFuncSetCacheConfig(F, cudaFuncCache) { return cudaSuccess; }
template <class F>
inline cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, F, int threads, size_t) {
  *blocks = threads > 0 ? 2048 / threads : 0;
  return cudaSuccess;
}
template <class F>
inline cudaError_t cudaOccupancyMaxPotentialBlockSize(int* grid, int* block, F, size_t = 0, int limit = 0) {
  *block = limit > 0 && limit < 1024 ? limit : 1024, *grid = 2 * 132;
  return cudaSuccess;
}
template <class... A>
inline cudaError_t cudaLaunchKernel(void (*kernel)(A...), dim3 grid, dim3 block, void** given, size_t shared = 0,
                                    cudaStream_t = nullptr) {
  size_t at = sizeof...(A);
  kw::Launch("the kernel", 0, grid, block, shared)
      .run([=](auto&... each) { kernel(each...); }, *static_cast<std::remove_reference_t<A>*>(given[--at, sizeof...(A) - 1 - at])...);
  return cudaPeekAtLastError();
}
struct cudaFuncAttributes {
  size_t sharedSizeBytes, constSizeBytes, localSizeBytes;
  int maxThreadsPerBlock, numRegs, ptxVersion, binaryVersion, maxDynamicSharedSizeBytes;
};
template <class F> inline cudaError_t cudaFuncGetAttributes(cudaFuncAttributes* to, F) {
  *to = {0, 0, 0, 1024, 32, 90, 90, 49152};
  return cudaSuccess;
}
enum cudaLaunchAttributeID {
  cudaLaunchAttributeCooperative = 2, cudaLaunchAttributeClusterDimension = 4, cudaLaunchAttributeProgrammaticStreamSerialization = 6
};
union cudaLaunchAttributeValue {
  int cooperative, programmaticStreamSerializationAllowed;
  struct { unsigned x, y, z; } clusterDim;
};
struct cudaLaunchAttribute { cudaLaunchAttributeID id; cudaLaunchAttributeValue val; };
struct cudaLaunchConfig_t {
  dim3 kw_gridDim, kw_blockDim;
  size_t dynamicSmemBytes = 0;
  cudaStream_t stream = nullptr;
  cudaLaunchAttribute* attrs = nullptr;
  unsigned numAttrs = 0;
};
template <class... Taken, class... Given>
inline cudaError_t cudaLaunchKernelEx(const cudaLaunchConfig_t* how, void (*kernel)(Taken...), Given&&... given) {
  kw::Launch("the kernel", 0, how->kw_gridDim, how->kw_blockDim, how->dynamicSmemBytes)
      .run([=](auto&... each) { kernel(each...); }, std::decay_t<Taken>(given)...);
  return cudaPeekAtLastError();
}
#define CUDART_INF_F __builtin_inff()
#define CUDART_INF __builtin_inf()
#define CUDART_NAN_F __builtin_nanf("")
#define CUDART_NAN __builtin_nan("")
#define CUDART_MAX_NORMAL_F 3.402823466e+38f
#define CUDART_PI_F 3.141592654f
#define CUDART_PI 3.1415926535897931e+0
