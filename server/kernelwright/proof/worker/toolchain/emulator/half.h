// The types of 16 bits: each operation is made in float and rounded to nearest even, which is what the hardware gives.
#pragma once
#include <cmath>
#include <cstdint>
#include <cstring>
#include <type_traits>

namespace kw {

template <class To, class From> inline To bits(From from) {
  static_assert(sizeof(To) == sizeof(From), "as many bits");
  To to;
  __builtin_memcpy(&to, &from, sizeof to);
  return to;
}

inline float from_half(uint16_t h) {
  uint32_t sign = uint32_t(h & 0x8000) << 16, exponent = h >> 10 & 31, fraction = h & 1023;
  if (exponent == 31) return bits<float>(sign | 0x7f800000 | fraction << 13);
  if (exponent) return bits<float>(sign | (exponent + 112) << 23 | fraction << 13);
  float small = float(fraction) * 0x1p-24f;
  return sign ? -small : small;
}

// How a number is rounded: to nearest even, towards zero, down, up.
enum class Rounding { NEAREST, ZERO, DOWN, UP };

inline uint16_t to_half(double value, Rounding how = Rounding::NEAREST) {
  uint64_t whole = bits<uint64_t>(value);
  uint16_t sign = uint16_t(whole >> 48 & 0x8000);
  if (value != value) return 0x7fff;
  double size = std::fabs(value);
  if (std::isinf(size)) return sign | 0x7c00;
  if (size == 0) return sign;
  int exponent = std::ilogb(size);
  if (exponent < -14) exponent = -14;
  double scaled = std::ldexp(size, 10 - exponent), low = std::floor(scaled), rest = scaled - low;
  bool up = how == Rounding::NEAREST ? rest > 0.5 || (rest == 0.5 && std::fmod(low, 2) != 0)
            : how == Rounding::DOWN  ? sign && rest > 0
            : how == Rounding::UP    ? !sign && rest > 0
                                     : false;
  double rounded = std::ldexp(low + up, exponent - 10);
  if (rounded > 65504) {
    bool stays = how == Rounding::ZERO || (how == Rounding::DOWN && !sign) || (how == Rounding::UP && sign);
    return sign | (stays ? 0x7bff : 0x7c00);
  }
  uint32_t single = bits<uint32_t>(float(rounded));
  int e = int(single >> 23 & 255) - 127;
  if (rounded == 0) return sign;
  if (e < -14) return sign | uint16_t(rounded * 0x1p24);
  return uint16_t(sign | (e + 15) << 10 | (single >> 13 & 1023));
}

inline float from_brain(uint16_t b) { return bits<float>(uint32_t(b) << 16); }

inline uint16_t to_brain(double value, Rounding how = Rounding::NEAREST) {
  if (value != value) return 0x7fff;
  float near = float(value);
  // To an odd last bit first, so that the second rounding sees whether anything was cut off.
  if (double(near) != value && !std::isinf(near)) {
    uint32_t raw = bits<uint32_t>(near);
    if (std::fabs(double(near)) > std::fabs(value)) raw--;
    near = bits<float>(raw | 1);
  }
  uint32_t raw = bits<uint32_t>(near), rest = raw & 0xffff, high = raw >> 16;
  if (std::isinf(near)) return uint16_t(high);
  bool negative = raw >> 31;
  bool up = how == Rounding::NEAREST ? rest > 0x8000 || (rest == 0x8000 && high & 1)
            : how == Rounding::DOWN  ? negative && rest
            : how == Rounding::UP    ? !negative && rest
                                     : false;
  return uint16_t(high + up);
}

}  // namespace kw

#define KW_NARROW(type, raw_type, from, to) \
  struct raw_type { unsigned short x; }; \
  struct alignas(2) type { \
    unsigned short kw_bits; \
    type() = default; \
    type(float v) : kw_bits(kw::to(double(v))) {} \
    type(double v) : kw_bits(kw::to(v)) {} \
    type(int v) : kw_bits(kw::to(v)) {} \
    type(unsigned v) : kw_bits(kw::to(v)) {} \
    type(short v) : kw_bits(kw::to(v)) {} \
    type(unsigned short v) : kw_bits(kw::to(v)) {} \
    type(long v) : kw_bits(kw::to(double(v))) {} \
    type(unsigned long v) : kw_bits(kw::to(double(v))) {} \
    type(long long v) : kw_bits(kw::to(double(v))) {} \
    type(unsigned long long v) : kw_bits(kw::to(double(v))) {} \
    type(const raw_type& raw) : kw_bits(raw.x) {} \
    operator raw_type() const { return {kw_bits}; } \
    operator float() const { return kw::from(kw_bits); } \
    type& operator+=(const type& o) { return *this = type(float(*this) + float(o)); } \
    type& operator-=(const type& o) { return *this = type(float(*this) - float(o)); } \
    type& operator*=(const type& o) { return *this = type(float(*this) * float(o)); } \
    type& operator/=(const type& o) { return *this = type(float(*this) / float(o)); } \
    type& operator++() { return *this = type(float(*this) + 1); } \
    type& operator--() { return *this = type(float(*this) - 1); } \
  }; \
  inline type kw_made(type*, unsigned short raw) { return type(raw_type{raw}); } \
  inline type operator+(const type& a, const type& b) { return type(float(a) + float(b)); } \
  inline type operator-(const type& a, const type& b) { return type(float(a) - float(b)); } \
  inline type operator*(const type& a, const type& b) { return type(float(a) * float(b)); } \
  inline type operator/(const type& a, const type& b) { return type(float(a) / float(b)); } \
  inline type operator-(const type& a) { return kw_made((type*)0, a.kw_bits ^ 0x8000); } \
  inline type operator+(const type& a) { return a; } \
  inline bool operator==(const type& a, const type& b) { return float(a) == float(b); } \
  inline bool operator!=(const type& a, const type& b) { return float(a) != float(b); } \
  inline bool operator<(const type& a, const type& b) { return float(a) < float(b); } \
  inline bool operator>(const type& a, const type& b) { return float(a) > float(b); } \
  inline bool operator<=(const type& a, const type& b) { return float(a) <= float(b); } \
  inline bool operator>=(const type& a, const type& b) { return float(a) >= float(b); }

KW_NARROW(__half, __half_raw, from_half, to_half)
KW_NARROW(__nv_bfloat16, __nv_bfloat16_raw, from_brain, to_brain)
using half = __half;
using nv_bfloat16 = __nv_bfloat16;

#define KW_PAIR(pair, type) \
  struct alignas(4) pair { \
    type x, y; \
    pair() = default; \
    pair(const type& a, const type& b) : x(a), y(b) {} \
    pair& operator+=(const pair& o) { x += o.x, y += o.y; return *this; } \
    pair& operator-=(const pair& o) { x -= o.x, y -= o.y; return *this; } \
    pair& operator*=(const pair& o) { x *= o.x, y *= o.y; return *this; } \
    pair& operator/=(const pair& o) { x /= o.x, y /= o.y; return *this; } \
  }; \
  inline pair operator+(const pair& a, const pair& b) { return {a.x + b.x, a.y + b.y}; } \
  inline pair operator-(const pair& a, const pair& b) { return {a.x - b.x, a.y - b.y}; } \
  inline pair operator*(const pair& a, const pair& b) { return {a.x * b.x, a.y * b.y}; } \
  inline pair operator/(const pair& a, const pair& b) { return {a.x / b.x, a.y / b.y}; } \
  inline pair operator-(const pair& a) { return {-a.x, -a.y}; } \
  inline bool operator==(const pair& a, const pair& b) { return a.x == b.x && a.y == b.y; } \
  inline bool operator!=(const pair& a, const pair& b) { return a.x != b.x && a.y != b.y; }
KW_PAIR(__half2, __half)
KW_PAIR(__nv_bfloat162, __nv_bfloat16)
using half2 = __half2;
using nv_bfloat162 = __nv_bfloat162;
inline __half2 make_half2(__half a, __half b) { return {a, b}; }
inline __nv_bfloat162 make_bfloat162(__nv_bfloat16 a, __nv_bfloat16 b) { return {a, b}; }

namespace kw {
inline float saturated(float v) { return v != v || v < 0 ? 0.0f : v > 1 ? 1.0f : v; }
template <class T> inline T larger(const T& a, const T& b, bool nan) {
  if (float(a) != float(a)) return nan ? a : b;
  if (float(b) != float(b)) return nan ? b : a;
  return float(a) > float(b) || (float(a) == float(b) && !std::signbit(float(a))) ? a : b;
}
template <class T> inline T smaller(const T& a, const T& b, bool nan) { return -larger(T(-a), T(-b), nan); }
}  // namespace kw

// The same intrinsics for both types.
#define KW_OF_BOTH(type, pair) \
  inline type __hadd(type a, type b) { return a + b; } \
  inline type __hadd_rn(type a, type b) { return a + b; } \
  inline type __hsub(type a, type b) { return a - b; } \
  inline type __hmul(type a, type b) { return a * b; } \
  inline type __hmul_rn(type a, type b) { return a * b; } \
  inline type __hdiv(type a, type b) { return a / b; } \
  inline type __hneg(type a) { return -a; } \
  inline type __habs(type a) { return kw_made((type*)0, a.kw_bits & 0x7fff); } \
  inline type __hfma(type a, type b, type c) { return type(double(float(a)) * double(float(b)) + double(float(c))); } \
  inline type __hfma_relu(type a, type b, type c) { return kw::larger(__hfma(a, b, c), type(0.0f), true); } \
  inline type __hadd_sat(type a, type b) { return type(kw::saturated(float(a + b))); } \
  inline type __hsub_sat(type a, type b) { return type(kw::saturated(float(a - b))); } \
  inline type __hmul_sat(type a, type b) { return type(kw::saturated(float(a * b))); } \
  inline type __hfma_sat(type a, type b, type c) { return type(kw::saturated(float(__hfma(a, b, c)))); } \
  inline type __hmax(type a, type b) { return kw::larger(a, b, false); } \
  inline type __hmin(type a, type b) { return kw::smaller(a, b, false); } \
  inline type __hmax_nan(type a, type b) { return kw::larger(a, b, true); } \
  inline type __hmin_nan(type a, type b) { return kw::smaller(a, b, true); } \
  inline bool __heq(type a, type b) { return a == b; } \
  inline bool __hne(type a, type b) { return a != b; } \
  inline bool __hlt(type a, type b) { return a < b; } \
  inline bool __hle(type a, type b) { return a <= b; } \
  inline bool __hgt(type a, type b) { return a > b; } \
  inline bool __hge(type a, type b) { return a >= b; } \
  inline bool __hisnan(type a) { return float(a) != float(a); } \
  inline int __hisinf(type a) { return std::isinf(float(a)) ? (float(a) > 0 ? 1 : -1) : 0; } \
  inline type hexp(type a) { return type(std::exp(double(float(a)))); } \
  inline type hexp2(type a) { return type(std::exp2(double(float(a)))); } \
  inline type hexp10(type a) { return type(std::pow(10.0, double(float(a)))); } \
  inline type hlog(type a) { return type(std::log(double(float(a)))); } \
  inline type hlog2(type a) { return type(std::log2(double(float(a)))); } \
  inline type hlog10(type a) { return type(std::log10(double(float(a)))); } \
  inline type hsqrt(type a) { return type(std::sqrt(float(a))); } \
  inline type hrsqrt(type a) { return type(1.0 / std::sqrt(double(float(a)))); } \
  inline type hrcp(type a) { return type(1.0 / double(float(a))); } \
  inline type hsin(type a) { return type(std::sin(double(float(a)))); } \
  inline type hcos(type a) { return type(std::cos(double(float(a)))); } \
  inline type htanh(type a) { return type(std::tanh(double(float(a)))); } \
  inline type hfloor(type a) { return type(std::floor(float(a))); } \
  inline type hceil(type a) { return type(std::ceil(float(a))); } \
  inline type htrunc(type a) { return type(std::trunc(float(a))); } \
  inline type hrint(type a) { return type(std::nearbyint(float(a))); } \
  inline pair __hadd2(pair a, pair b) { return a + b; } \
  inline pair __hadd2_rn(pair a, pair b) { return a + b; } \
  inline pair __hsub2(pair a, pair b) { return a - b; } \
  inline pair __hmul2(pair a, pair b) { return a * b; } \
  inline pair __h2div(pair a, pair b) { return a / b; } \
  inline pair __hneg2(pair a) { return -a; } \
  inline pair __habs2(pair a) { return {__habs(a.x), __habs(a.y)}; } \
  inline pair __hfma2(pair a, pair b, pair c) { return {__hfma(a.x, b.x, c.x), __hfma(a.y, b.y, c.y)}; } \
  inline pair __hfma2_relu(pair a, pair b, pair c) { return {__hfma_relu(a.x, b.x, c.x), __hfma_relu(a.y, b.y, c.y)}; } \
  inline pair __hmax2(pair a, pair b) { return {__hmax(a.x, b.x), __hmax(a.y, b.y)}; } \
  inline pair __hmin2(pair a, pair b) { return {__hmin(a.x, b.x), __hmin(a.y, b.y)}; } \
  inline pair h2exp(pair a) { return {hexp(a.x), hexp(a.y)}; } \
  inline pair h2exp2(pair a) { return {hexp2(a.x), hexp2(a.y)}; } \
  inline pair h2log(pair a) { return {hlog(a.x), hlog(a.y)}; } \
  inline pair h2sqrt(pair a) { return {hsqrt(a.x), hsqrt(a.y)}; } \
  inline pair h2rsqrt(pair a) { return {hrsqrt(a.x), hrsqrt(a.y)}; } \
  inline pair h2rcp(pair a) { return {hrcp(a.x), hrcp(a.y)}; } \
  inline pair h2tanh(pair a) { return {htanh(a.x), htanh(a.y)}; }
KW_OF_BOTH(__half, __half2)
KW_OF_BOTH(__nv_bfloat16, __nv_bfloat162)

inline float __half2float(__half a) { return float(a); }
inline __half __float2half(float a) { return __half(a); }
inline __half __double2half(double a) { return __half(a); }
inline __half __float2half_rn(float a) { return __half(a); }
inline __half __float2half_rz(float a) { return kw_made((__half*)0, kw::to_half(a, kw::Rounding::ZERO)); }
inline __half __float2half_rd(float a) { return kw_made((__half*)0, kw::to_half(a, kw::Rounding::DOWN)); }
inline __half __float2half_ru(float a) { return kw_made((__half*)0, kw::to_half(a, kw::Rounding::UP)); }
inline float __bfloat162float(__nv_bfloat16 a) { return float(a); }
inline __nv_bfloat16 __float2bfloat16(float a) { return __nv_bfloat16(a); }
inline __nv_bfloat16 __double2bfloat16(double a) { return __nv_bfloat16(a); }
inline __nv_bfloat16 __float2bfloat16_rn(float a) { return __nv_bfloat16(a); }
inline __nv_bfloat16 __float2bfloat16_rz(float a) { return kw_made((__nv_bfloat16*)0, kw::to_brain(a, kw::Rounding::ZERO)); }
inline __nv_bfloat16 __float2bfloat16_rd(float a) { return kw_made((__nv_bfloat16*)0, kw::to_brain(a, kw::Rounding::DOWN)); }
inline __nv_bfloat16 __float2bfloat16_ru(float a) { return kw_made((__nv_bfloat16*)0, kw::to_brain(a, kw::Rounding::UP)); }
inline __half2 __float2half2_rn(float a) { return {__half(a), __half(a)}; }
inline __half2 __floats2half2_rn(float a, float b) { return {__half(a), __half(b)}; }
inline __half2 __float22half2_rn(float2 a) { return {__half(a.x), __half(a.y)}; }
inline float2 __half22float2(__half2 a) { return {float(a.x), float(a.y)}; }
inline __half2 __half2half2(__half a) { return {a, a}; }
inline __half2 __halves2half2(__half a, __half b) { return {a, b}; }
inline __half __low2half(__half2 a) { return a.x; }
inline __half __high2half(__half2 a) { return a.y; }
inline float __low2float(__half2 a) { return float(a.x); }
inline float __high2float(__half2 a) { return float(a.y); }
inline __half2 __low2half2(__half2 a) { return {a.x, a.x}; }
inline __half2 __high2half2(__half2 a) { return {a.y, a.y}; }
inline __half2 __lowhigh2highlow(__half2 a) { return {a.y, a.x}; }
inline __half2 __lows2half2(__half2 a, __half2 b) { return {a.x, b.x}; }
inline __half2 __highs2half2(__half2 a, __half2 b) { return {a.y, b.y}; }
inline __nv_bfloat162 __float2bfloat162_rn(float a) { return {__nv_bfloat16(a), __nv_bfloat16(a)}; }
inline __nv_bfloat162 __floats2bfloat162_rn(float a, float b) { return {__nv_bfloat16(a), __nv_bfloat16(b)}; }
inline __nv_bfloat162 __float22bfloat162_rn(float2 a) { return {__nv_bfloat16(a.x), __nv_bfloat16(a.y)}; }
inline float2 __bfloat1622float2(__nv_bfloat162 a) { return {float(a.x), float(a.y)}; }
inline __nv_bfloat162 __bfloat162bfloat162(__nv_bfloat16 a) { return {a, a}; }
inline __nv_bfloat162 __halves2bfloat162(__nv_bfloat16 a, __nv_bfloat16 b) { return {a, b}; }
inline __nv_bfloat16 __low2bfloat16(__nv_bfloat162 a) { return a.x; }
inline __nv_bfloat16 __high2bfloat16(__nv_bfloat162 a) { return a.y; }
inline float __low2float(__nv_bfloat162 a) { return float(a.x); }
inline float __high2float(__nv_bfloat162 a) { return float(a.y); }
inline short __half_as_short(__half a) { return short(a.kw_bits); }
inline unsigned short __half_as_ushort(__half a) { return a.kw_bits; }
inline __half __short_as_half(short a) { return kw_made((__half*)0, (unsigned short)a); }
inline __half __ushort_as_half(unsigned short a) { return kw_made((__half*)0, a); }
inline unsigned short __bfloat16_as_ushort(__nv_bfloat16 a) { return a.kw_bits; }
inline __nv_bfloat16 __ushort_as_bfloat16(unsigned short a) { return kw_made((__nv_bfloat16*)0, a); }
inline int __half2int_rn(__half a) { return int(std::nearbyint(float(a))); }
inline int __half2int_rz(__half a) { return int(float(a)); }
inline __half __int2half_rn(int a) { return __half(a); }
inline __half __uint2half_rn(unsigned a) { return __half(a); }
inline __nv_bfloat16 __int2bfloat16_rn(int a) { return __nv_bfloat16(a); }
