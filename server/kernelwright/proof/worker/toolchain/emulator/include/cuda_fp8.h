// Eight-bit floats for headers that name them: nothing here computes with one.
#pragma once
namespace kw { inline float absent_fp8() { return fail("uses an eight-bit float, which the emulator does not have"), 0.0f; } }
using __nv_fp8_storage_t = unsigned char;
#define KW_FP8(name) \
  struct name { \
    __nv_fp8_storage_t __x; \
    name() = default; \
    template <class T> explicit name(T) : __x(0) { kw::absent_fp8(); } \
    explicit operator float() const { return kw::absent_fp8(); } \
  };
KW_FP8(__nv_fp8_e4m3)
KW_FP8(__nv_fp8_e5m2)
KW_FP8(__nv_fp8_e8m0)
inline __nv_bfloat16_raw __nv_cvt_e8m0_to_bf16raw(__nv_fp8_storage_t) { return kw::absent_fp8(), __nv_bfloat16_raw{0}; }
