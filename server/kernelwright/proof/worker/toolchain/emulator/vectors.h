// CUDA's vector types, and how they are made.
#pragma once

#define KW_VEC(name, type, a1, a2, a4) \
  struct alignas(a1) name##1 { type x; }; \
  struct alignas(a2) name##2 { type x, y; }; \
  struct name##3 { type x, y, z; }; \
  struct alignas(a4) name##4 { type x, y, z, w; }; \
  inline name##1 make_##name##1(type x) { return {x}; } \
  inline name##2 make_##name##2(type x, type y) { return {x, y}; } \
  inline name##3 make_##name##3(type x, type y, type z) { return {x, y, z}; } \
  inline name##4 make_##name##4(type x, type y, type z, type w) { return {x, y, z, w}; }
#define uint3 kw_uint3
#define make_uint3 kw_make_uint3
KW_VEC(uint, unsigned, 4, 8, 16)
#undef uint3
#undef make_uint3
inline uint3 make_uint3(unsigned x, unsigned y, unsigned z) { return {x, y, z}; }
KW_VEC(char, signed char, 1, 2, 4)
KW_VEC(uchar, unsigned char, 1, 2, 4)
KW_VEC(short, short, 2, 4, 8)
KW_VEC(ushort, unsigned short, 2, 4, 8)
KW_VEC(int, int, 4, 8, 16)
KW_VEC(long, long, 8, 16, 16)
KW_VEC(ulong, unsigned long, 8, 16, 16)
KW_VEC(longlong, long long, 8, 16, 16)
KW_VEC(ulonglong, unsigned long long, 8, 16, 16)
KW_VEC(float, float, 4, 8, 16)
KW_VEC(double, double, 8, 16, 16)
