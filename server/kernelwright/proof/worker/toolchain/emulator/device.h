// What kernels call: barriers, warps, atomics, mathematics, reads by way of caches.
#pragma once
#include <cmath>
#include <cstdio>
#include <cstdlib>

#define __global__
#define __device__
#define __host__
#define __constant__
#define __managed__
#define __grid_constant__
#define __shared__ static
#define __forceinline__ inline
#define __noinline__
#define __launch_bounds__(...)
#define __maxnreg__(...)
#define __align__(n) __attribute__((aligned(n)))
#ifndef __restrict__
#define __restrict__ __restrict
#endif
#define __builtin_align__(n) __attribute__((aligned(n)))

#define threadIdx (kw::thread_index())
#define blockIdx (kw::block_index())
#define blockDim (kw::block_size())
#define gridDim (kw::grid_size())
#define warpSize 32

inline void __syncthreads() { kw::barrier(); }
inline int __syncthreads_count(int p) { return int(kw::barrier_votes(p != 0)); }
inline int __syncthreads_or(int p) { return kw::barrier_votes(p != 0) != 0; }
inline int __syncthreads_and(int p) { return kw::barrier_votes(p == 0) == 0; }
inline void __syncwarp(unsigned mask = 0xffffffffu) { kw::warp_sync(mask); }
inline void __threadfence() {}
inline void __threadfence_block() {}
inline void __threadfence_system() {}
inline void __nanosleep(unsigned) {}
inline void __trap() { kw::fail("executes __trap()"); }
inline void __brkpt() {}
inline void cudaGridDependencySynchronize() {}
inline void cudaTriggerProgrammaticLaunchCompletion() {}
inline long long clock64() { return (long long)kw::clock(); }
inline clock_t clock() { return clock_t(kw::clock()); }

namespace kw {
template <class T> inline T shuffled(unsigned mask, T value, int source) {
  constexpr size_t word = sizeof(uint64_t);
  uint64_t raw[(sizeof(T) + word - 1) / word] = {};
  __builtin_memcpy(raw, &value, sizeof value);
  for (uint64_t& one : raw) one = warp_shuffle(mask, one, source);
  __builtin_memcpy(&value, raw, sizeof value);
  return value;
}
template <class T> inline T shuffled_word(unsigned mask, T value, int source) {
  static_assert(sizeof(T) <= 8, "shuffles move 8 bytes at most");
  return shuffled(mask, value, source);
}
inline int base_of(int width) { return int(lane()) & ~(width - 1); }
}  // namespace kw

template <class T> inline T __shfl_sync(unsigned mask, T value, int source, int width = 32) {
  return kw::shuffled_word(mask, value, kw::base_of(width) + (source & (width - 1)));
}
template <class T> inline T __shfl_up_sync(unsigned mask, T value, unsigned delta, int width = 32) {
  int from = int(kw::lane()) - int(delta);
  return kw::shuffled_word(mask, value, from < kw::base_of(width) ? int(kw::lane()) : from);
}
template <class T> inline T __shfl_down_sync(unsigned mask, T value, unsigned delta, int width = 32) {
  int from = int(kw::lane()) + int(delta);
  return kw::shuffled_word(mask, value, from >= kw::base_of(width) + width ? int(kw::lane()) : from);
}
template <class T> inline T __shfl_xor_sync(unsigned mask, T value, int lanes, int width = 32) {
  int from = int(kw::lane()) ^ lanes;
  return kw::shuffled_word(mask, value, from >= kw::base_of(width) + width ? int(kw::lane()) : from);
}
inline unsigned __ballot_sync(unsigned mask, int p) { return kw::warp_ballot(mask, p != 0); }
inline int __any_sync(unsigned mask, int p) { return kw::warp_ballot(mask, p != 0) != 0; }
inline int __all_sync(unsigned mask, int p) { return kw::warp_ballot(mask, p == 0) == 0; }
inline unsigned __activemask() { return kw::warp_active(); }
template <class T> inline unsigned __match_any_sync(unsigned mask, T value) {
  uint64_t raw = 0;
  __builtin_memcpy(&raw, &value, sizeof value);
  return kw::warp_match(mask, raw);
}
template <class T> inline unsigned __match_all_sync(unsigned mask, T value, int* all) {
  unsigned same = __match_any_sync(mask, value), there = kw::warp_ballot(mask, true);
  bool every = kw::warp_ballot(mask, same != there) == 0;
  *all = every;
  return every ? mask : 0;
}
namespace kw {
template <class T, class F> inline T reduced(unsigned mask, T value, F join) {
  T all = value;
  bool first = true;
  for (unsigned lane = 0, there = warp_ballot(mask, true); lane < 32; lane++) {
    if (!(there >> lane & 1)) continue;
    T one = shuffled(mask, value, int(lane));
    all = first ? one : join(all, one);
    first = false;
  }
  return all;
}
}  // namespace kw
template <class T> inline T __reduce_add_sync(unsigned m, T v) { return kw::reduced(m, v, [](T a, T b) { return T(a + b); }); }
template <class T> inline T __reduce_min_sync(unsigned m, T v) { return kw::reduced(m, v, [](T a, T b) { return b < a ? b : a; }); }
template <class T> inline T __reduce_max_sync(unsigned m, T v) { return kw::reduced(m, v, [](T a, T b) { return a < b ? b : a; }); }
template <class T> inline T __reduce_and_sync(unsigned m, T v) { return kw::reduced(m, v, [](T a, T b) { return T(a & b); }); }
template <class T> inline T __reduce_or_sync(unsigned m, T v) { return kw::reduced(m, v, [](T a, T b) { return T(a | b); }); }
template <class T> inline T __reduce_xor_sync(unsigned m, T v) { return kw::reduced(m, v, [](T a, T b) { return T(a ^ b); }); }

namespace kw {
// Fibers take turns only where they wait, so that a change is whole; the runtime is told of it.
template <class T, class F> KW_UNSEEN T changed(T* place, F change) {
  atomic_access(place, sizeof(T));
  T before;
  __builtin_memcpy(&before, place, sizeof before);
  T after = change(before);
  __builtin_memcpy(place, &after, sizeof after);
  return before;
}
template <class T> struct Same { using type = T; };
}  // namespace kw
#define KW_ATOMIC(name, expression) \
  template <class T> inline T name(T* place, typename kw::Same<T>::type v) { \
    return kw::changed(place, [v](T old) KW_UNSEEN -> T { return expression; }); \
  } \
  template <class T> inline T name##_block(T* place, typename kw::Same<T>::type v) { return name(place, v); } \
  template <class T> inline T name##_system(T* place, typename kw::Same<T>::type v) { return name(place, v); }
KW_ATOMIC(atomicAdd, old + v)
KW_ATOMIC(atomicSub, old - v)
KW_ATOMIC(atomicMax, old < v ? v : old)
KW_ATOMIC(atomicMin, v < old ? v : old)
KW_ATOMIC(atomicExch, v)
KW_ATOMIC(atomicAnd, old & v)
KW_ATOMIC(atomicOr, old | v)
KW_ATOMIC(atomicXor, old ^ v)
KW_ATOMIC(atomicInc, old >= v ? T(0) : T(old + 1))
KW_ATOMIC(atomicDec, old == 0 || old > v ? v : T(old - 1))
template <class T> inline T atomicCAS(T* place, typename kw::Same<T>::type compare, typename kw::Same<T>::type v) {
  return kw::changed(place, [compare, v](T old) KW_UNSEEN -> T { return old == compare ? v : old; });
}
inline float2 atomicAdd(float2* place, float2 v) { return {atomicAdd(&place->x, v.x), atomicAdd(&place->y, v.y)}; }
inline float4 atomicAdd(float4* place, float4 v) {
  return {atomicAdd(&place->x, v.x), atomicAdd(&place->y, v.y), atomicAdd(&place->z, v.z), atomicAdd(&place->w, v.w)};
}

#define KW_CACHED(name) template <class T> inline T name(const T* place) { return *place; }
KW_CACHED(__ldg)
KW_CACHED(__ldcg)
KW_CACHED(__ldca)
KW_CACHED(__ldcs)
KW_CACHED(__ldlu)
KW_CACHED(__ldcv)
#define KW_STORED(name) template <class T> inline void name(T* place, typename kw::Same<T>::type v) { *place = v; }
KW_STORED(__stwb)
KW_STORED(__stcg)
KW_STORED(__stcs)
KW_STORED(__stwt)

// C's own names are found as well; those of one kind of number are here for both.
using std::isfinite;
using std::isinf;
using std::isnan;
using std::signbit;
template <class A, class B> inline std::common_type_t<A, B> kw_max(A a, B b) {
  using C = std::common_type_t<A, B>;
  if constexpr (std::is_same_v<C, float>) return fmaxf(a, b);
  else if constexpr (std::is_same_v<C, double>) return fmax(a, b);
  else return C(a) < C(b) ? C(b) : C(a);
}
template <class A, class B> inline std::common_type_t<A, B> kw_min(A a, B b) {
  using C = std::common_type_t<A, B>;
  if constexpr (std::is_same_v<C, float>) return fminf(a, b);
  else if constexpr (std::is_same_v<C, double>) return fmin(a, b);
  else return C(b) < C(a) ? C(b) : C(a);
}
template <class A, class B, class = std::enable_if_t<std::is_arithmetic_v<A> && std::is_arithmetic_v<B>>>
inline std::common_type_t<A, B> max(A a, B b) { return kw_max(a, b); }
template <class A, class B, class = std::enable_if_t<std::is_arithmetic_v<A> && std::is_arithmetic_v<B>>>
inline std::common_type_t<A, B> min(A a, B b) { return kw_min(a, b); }

inline float __expf(float x) { return expf(x); }
inline float __exp10f(float x) { return float(pow(10.0, double(x))); }
inline float exp10f(float x) { return float(pow(10.0, double(x))); }
inline double exp10(double x) { return pow(10.0, x); }
inline float __logf(float x) { return logf(x); }
inline float __log2f(float x) { return log2f(x); }
inline float __log10f(float x) { return log10f(x); }
inline float __sinf(float x) { return sinf(x); }
inline float __cosf(float x) { return cosf(x); }
inline float __tanf(float x) { return tanf(x); }
inline float __tanhf(float x) { return tanhf(x); }
inline void __sincosf(float x, float* s, float* c) { *s = sinf(x), *c = cosf(x); }
inline float __powf(float x, float y) { return powf(x, y); }
inline float __fdividef(float x, float y) { return x / y; }
inline float __saturatef(float x) { return x != x || x < 0 ? 0.0f : x > 1 ? 1.0f : x; }
inline float rsqrtf(float x) { return float(1.0 / sqrt(double(x))); }
inline double rsqrt(double x) { return 1.0 / sqrt(x); }
inline float rcbrtf(float x) { return float(1.0 / cbrt(double(x))); }
inline float normcdff(float x) { return float(0.5 * erfc(-double(x) * 0.70710678118654752440)); }
inline double normcdf(double x) { return 0.5 * erfc(-x * 0.70710678118654752440); }
inline float sinpif(float x) { return float(sin(3.14159265358979323846 * double(x))); }
inline float cospif(float x) { return float(cos(3.14159265358979323846 * double(x))); }
inline float erfcxf(float x) { return float(exp(double(x) * x) * erfc(double(x))); }
inline float norm3df(float a, float b, float c) { return float(sqrt(double(a) * a + double(b) * b + double(c) * c)); }
inline float rhypotf(float a, float b) { return float(1.0 / hypot(double(a), double(b))); }
inline float fdividef(float x, float y) { return x / y; }
#define KW_ROUNDED(suffix) \
  inline float __fadd_##suffix(float a, float b) { return a + b; } \
  inline float __fsub_##suffix(float a, float b) { return a - b; } \
  inline float __fmul_##suffix(float a, float b) { return a * b; } \
  inline float __fdiv_##suffix(float a, float b) { return a / b; } \
  inline float __fmaf_##suffix(float a, float b, float c) { return fmaf(a, b, c); } \
  inline float __frcp_##suffix(float a) { return 1.0f / a; } \
  inline float __fsqrt_##suffix(float a) { return sqrtf(a); } \
  inline double __dadd_##suffix(double a, double b) { return a + b; } \
  inline double __dsub_##suffix(double a, double b) { return a - b; } \
  inline double __dmul_##suffix(double a, double b) { return a * b; } \
  inline double __ddiv_##suffix(double a, double b) { return a / b; } \
  inline double __fma_##suffix(double a, double b, double c) { return fma(a, b, c); } \
  inline double __drcp_##suffix(double a) { return 1.0 / a; } \
  inline double __dsqrt_##suffix(double a) { return sqrt(a); }
KW_ROUNDED(rn)
inline float __frsqrt_rn(float a) { return rsqrtf(a); }

namespace kw {
// Conversions stop at the ends of the range, and make 0 of NaN.
template <class To, class From> inline To clamped(From v) {
  if (v != v) return 0;
  const double low = double(std::is_signed_v<To> ? To(To(1) << (8 * sizeof(To) - 1)) : To(0));
  const double high = double(To(~(std::is_signed_v<To> ? To(To(1) << (8 * sizeof(To) - 1)) : To(0))));
  if (double(v) <= low) return To(low);
  return double(v) >= high ? To(~(std::is_signed_v<To> ? To(To(1) << (8 * sizeof(To) - 1)) : To(0))) : To(v);
}
}  // namespace kw
#define KW_TO_INTEGER(from, type, name, to) \
  inline to __##from##2##name##_rn(type x) { return kw::clamped<to>(nearbyint(double(x))); } \
  inline to __##from##2##name##_rz(type x) { return kw::clamped<to>(trunc(double(x))); } \
  inline to __##from##2##name##_rd(type x) { return kw::clamped<to>(floor(double(x))); } \
  inline to __##from##2##name##_ru(type x) { return kw::clamped<to>(ceil(double(x))); }
KW_TO_INTEGER(float, float, int, int)
KW_TO_INTEGER(float, float, uint, unsigned)
KW_TO_INTEGER(float, float, ll, long long)
KW_TO_INTEGER(float, float, ull, unsigned long long)
KW_TO_INTEGER(double, double, int, int)
KW_TO_INTEGER(double, double, uint, unsigned)
KW_TO_INTEGER(double, double, ll, long long)
inline float __int2float_rn(int x) { return float(x); }
inline float __uint2float_rn(unsigned x) { return float(x); }
inline float __ll2float_rn(long long x) { return float(x); }
inline float __double2float_rn(double x) { return float(x); }
inline double __int2double_rn(int x) { return x; }
inline int __float_as_int(float x) { return kw::bits<int>(x); }
inline unsigned __float_as_uint(float x) { return kw::bits<unsigned>(x); }
inline float __int_as_float(int x) { return kw::bits<float>(x); }
inline float __uint_as_float(unsigned x) { return kw::bits<float>(x); }
inline long long __double_as_longlong(double x) { return kw::bits<long long>(x); }
inline double __longlong_as_double(long long x) { return kw::bits<double>(x); }
inline int __popc(unsigned x) { return __builtin_popcount(x); }
inline int __popcll(unsigned long long x) { return __builtin_popcountll(x); }
inline int __clz(int x) { return x ? __builtin_clz(unsigned(x)) : 32; }
inline int __clzll(long long x) { return x ? __builtin_clzll((unsigned long long)x) : 64; }
inline int __ffs(int x) { return __builtin_ffs(x); }
inline int __ffsll(long long x) { return __builtin_ffsll(x); }
inline unsigned __brev(unsigned x) {
  unsigned made = 0;
  for (int i = 0; i < 32; i++) made |= (x >> i & 1) << (31 - i);
  return made;
}
inline unsigned long long __brevll(unsigned long long x) {
  return (unsigned long long)__brev(unsigned(x)) << 32 | __brev(unsigned(x >> 32));
}
inline int __mulhi(int a, int b) { return int((long long)a * b >> 32); }
inline unsigned __umulhi(unsigned a, unsigned b) { return unsigned((unsigned long long)a * b >> 32); }
inline unsigned long long __umul64hi(unsigned long long a, unsigned long long b) {
  return (unsigned long long)((unsigned __int128)a * b >> 64);
}
inline long long __mul64hi(long long a, long long b) { return (long long)((__int128)a * b >> 64); }
inline int __mul24(int a, int b) { return a * b; }
inline unsigned __umul24(unsigned a, unsigned b) { return a * b; }
inline unsigned __sad(int a, int b, unsigned c) { return c + unsigned(a < b ? b - a : a - b); }
inline unsigned __byte_perm(unsigned a, unsigned b, unsigned s) {
  unsigned long long both = (unsigned long long)b << 32 | a;
  unsigned made = 0;
  for (int i = 0; i < 4; i++) {
    unsigned pick = s >> (4 * i), byte = unsigned(both >> (8 * (pick & 7))) & 255;
    made |= (pick & 8 ? (byte & 128 ? 255u : 0u) : byte) << (8 * i);
  }
  return made;
}
inline unsigned __funnelshift_l(unsigned low, unsigned high, unsigned n) {
  return unsigned(((unsigned long long)high << 32 | low) << (n & 31) >> 32);
}
inline unsigned __funnelshift_r(unsigned low, unsigned high, unsigned n) {
  return unsigned(((unsigned long long)high << 32 | low) >> (n & 31));
}
inline int __dp4a(int a, int b, int c) {
  for (int i = 0; i < 4; i++) c += int((signed char)(a >> (8 * i))) * int((signed char)(b >> (8 * i)));
  return c;
}
inline unsigned __dp4a(unsigned a, unsigned b, unsigned c) {
  for (int i = 0; i < 4; i++) c += (a >> (8 * i) & 255) * (b >> (8 * i) & 255);
  return c;
}
inline size_t __cvta_generic_to_shared(const void* p) { return reinterpret_cast<size_t>(p); }
