// The entries of a file, and the structures that they take, as templates tell of them. Their sentences are put together in
// registry.cpp: what each text had to instantiate and compile for itself took a third of its compilation.
#pragma once
#include <cstddef>
#include <initializer_list>

#ifdef __NVCC__
#define KW_ONCE inline
#else
#include "core.h"
#define KW_ONCE
#endif

namespace kw {

#ifdef __NVCC__
// A type in words: `const*` or `*` before an element, `float32`, or `int` with a number of bits, or `struct` of bytes; `x4`.
struct Kind { const char *how, *word; size_t number; const char* lanes; };
#endif
struct Typed { Kind kind; size_t times; };  // 0: no array
struct Field { const char* path; size_t offset; Typed type; };
struct Place { dim3 grid, block; size_t shared; cudaStream_t stream; };
using Caller = void (*)(const void* function, void** given, void* result, const Place& place, const char* name);
struct Function { int number; const char* name; bool kernel; const void* function; Caller call; };

KW_ONCE void know(const Function& function, const Kind& result, std::initializer_list<Kind> parameters);
KW_ONCE void know_structure(int entry, int parameter, const unsigned char* made, size_t bytes,
                            std::initializer_list<Field> fields);

}  // namespace kw

#ifdef __NVCC__
#include "registry.cpp"
#endif
