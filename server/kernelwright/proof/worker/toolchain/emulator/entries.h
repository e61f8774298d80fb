// What the file's entries take, told by the compiler, and how they are called with an array of addresses of arguments.
#pragma once
#include <csetjmp>
#include <cstdint>
#include <initializer_list>
#include <new>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace kw {

#ifndef __NVCC__
extern std::jmp_buf way_back;
#endif
struct Place { dim3 grid, block; size_t shared; cudaStream_t stream; };
using Caller = void (*)(const void* function, void** given, void* result, const Place& place, const char* name);
struct Known { int number; const char* name; bool kernel; const void* function; Caller call; std::string types; };
inline std::vector<Known>& entries() { static std::vector<Known> all; return all; }

template <class T> struct Element { static std::string name() { return "struct" + std::to_string(sizeof(T)); } };
template <> struct Element<void> { static std::string name() { return "void"; } };
template <> struct Element<float> { static std::string name() { return "float32"; } };
template <> struct Element<double> { static std::string name() { return "float64"; } };
template <> struct Element<bool> { static std::string name() { return "bool"; } };
template <> struct Element<__half> { static std::string name() { return "float16"; } };
template <> struct Element<__nv_bfloat16> { static std::string name() { return "bfloat16"; } };
template <class T> std::string scalar() {
  if constexpr (std::is_integral_v<T> && !std::is_same_v<T, bool>)
    return (std::is_signed_v<T> ? "int" : "uint") + std::to_string(8 * sizeof(T));
  else return Element<T>::name();
}
#define KW_VECTOR(vector, element, count) \
  template <> struct Element<vector> { static std::string name() { return scalar<element>() + "x" #count; } };
#define KW_VECTORS(name, element) \
  KW_VECTOR(name##1, element, 1) KW_VECTOR(name##2, element, 2) KW_VECTOR(name##3, element, 3) KW_VECTOR(name##4, element, 4)
template <> struct Element<__half2> { static std::string name() { return "float16x2"; } };
template <> struct Element<__nv_bfloat162> { static std::string name() { return "bfloat16x2"; } };

template <class T> std::string described() {
  using V = std::remove_cv_t<std::remove_reference_t<T>>;
  if constexpr (std::is_same_v<V, cudaStream_t>) {
    return "stream";
  } else if constexpr (std::is_lvalue_reference_v<T> && !std::is_const_v<std::remove_reference_t<T>>) {
    return "reference";
  } else if constexpr (std::is_pointer_v<V>) {
    using P = std::remove_pointer_t<V>;
    using Q = std::remove_cv_t<P>;
    std::string how = std::is_const_v<P> ? "const*" : "*";
    if constexpr (std::is_function_v<P> || std::is_pointer_v<Q>) return "pointer";
    else if constexpr (std::is_enum_v<Q>) return how + "int" + std::to_string(8 * sizeof(Q));
    else return how + scalar<Q>();
  } else if constexpr (std::is_void_v<V>) {
    return "void";
  } else if constexpr (std::is_enum_v<V>) {
    return "int" + std::to_string(8 * sizeof(V));
  } else {
    return scalar<V>();
  }
}

KW_VECTORS(float, float) KW_VECTORS(double, double) KW_VECTORS(int, int) KW_VECTORS(uint, unsigned)
KW_VECTORS(char, signed char) KW_VECTORS(uchar, unsigned char) KW_VECTORS(short, short) KW_VECTORS(ushort, unsigned short)
KW_VECTORS(longlong, long long) KW_VECTORS(ulonglong, unsigned long long)

// A structure that is passed by value: where its fields lie, and what one holds that nobody has written to.
inline std::string& structures() { static std::string all; return all; }
struct Field { const char* path; size_t offset; std::string type; };
template <class T> struct Unrestricted { using type = T; };
template <class T> struct Unrestricted<T* __restrict__> { using type = T*; };
template <class T> std::string field() {
  if constexpr (std::is_array_v<T>)
    return described<std::remove_all_extents_t<T>>() + "x" + std::to_string(sizeof(T) / sizeof(std::remove_all_extents_t<T>));
  else return described<typename Unrestricted<T>::type>();
}
template <class T> struct Structure {
  Structure(int entry, int parameter, std::initializer_list<Field> fields) {
    std::string said = std::to_string(entry) + " " + std::to_string(parameter) + " ";
    if constexpr (std::is_default_constructible_v<T> && std::is_trivially_copyable_v<T>) {
      alignas(T) unsigned char made[sizeof(T)] = {};
      ::new (made) T{};
      for (unsigned char one : made) said += "0123456789abcdef"[one >> 4], said += "0123456789abcdef"[one & 15];
    } else said += std::string(2 * sizeof(T), '0');
    for (const Field& one : fields)
      said += " " + std::string(one.path) + "@" + std::to_string(one.offset) + "=" + one.type;
    structures() += said + "\n";
  }
};

template <class R, class... A, size_t... I>
void call_host(R (*function)(A...), void** given, void* result, std::index_sequence<I...>) {
  if constexpr (std::is_void_v<R>) function(*static_cast<std::remove_reference_t<A>*>(given[I])...);
  else if constexpr (std::is_trivially_copyable_v<R> && sizeof(R) <= 8) {
    R made = function(*static_cast<std::remove_reference_t<A>*>(given[I])...);
    __builtin_memcpy(result, &made, sizeof made);
  } else function(*static_cast<std::remove_reference_t<A>*>(given[I])...);
}

#ifdef __NVCC__
inline void start(const void* function, void** given, const Place& place) {
  if (place.shared > 48 * 1024)
    cudaFuncSetAttribute(function, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(place.shared));
  cudaLaunchKernel(function, place.grid, place.block, given, place.shared, place.stream);
}
#else
template <class... A, size_t... I>
void start(void (*kernel)(A...), void** given, const Place& place, const char* name, std::index_sequence<I...>) {
  Launch(name, 0, place.grid, place.block, place.shared)
      .run([=](auto&... each) { kernel(each...); }, *static_cast<std::remove_reference_t<A>*>(given[I])...);
}
#endif

template <class R, class... A> struct Entrance {
  static void host(const void* function, void** given, void* result, const Place&, const char*) {
    call_host(reinterpret_cast<R (*)(A...)>(reinterpret_cast<uintptr_t>(function)), given, result,
              std::index_sequence_for<A...>());
  }
  static void kernel(const void* function, void** given, void*, const Place& place, const char* name) {
#ifdef __NVCC__
    (void)name;
    start(function, given, place);
#else
    if constexpr (std::is_void_v<R>)
      start(reinterpret_cast<R (*)(A...)>(reinterpret_cast<uintptr_t>(function)), given, place, name,
            std::index_sequence_for<A...>());
#endif
  }
  static constexpr bool plain = ((std::is_trivially_copyable_v<std::remove_reference_t<A>>) && ... && true);
};

struct Entry {
  template <class R, class... A> Entry(int number, R (*function)(A...), const char* name, bool kernel) {
    Known made{number, name, kernel, reinterpret_cast<const void*>(function), nullptr, described<R>() + "("};
    ((made.types += described<A>() + ","), ...);
    if constexpr (Entrance<R, A...>::plain) made.call = kernel ? Entrance<R, A...>::kernel : Entrance<R, A...>::host;
    entries().push_back(made);
  }
};

}  // namespace kw

#define KW_EXPORT extern "C" __attribute__((visibility("default"), used))
KW_EXPORT inline int kw_entries() { return static_cast<int>(kw::entries().size()); }
KW_EXPORT inline int kw_entry_number(int at) { return kw::entries()[at].number; }
KW_EXPORT inline const char* kw_entry_types(int at) { return kw::entries()[at].types.c_str(); }
KW_EXPORT inline const char* kw_structures() { return kw::structures().c_str(); }
KW_EXPORT inline int kw_call(int at, void** given, void* result, const unsigned* place, size_t shared, void* stream) {
  kw::Known& one = kw::entries()[at];
  if (!one.call) return 0;
  kw::Place where{dim3(place[0], place[1], place[2]), dim3(place[3], place[4], place[5]), shared,
                  static_cast<cudaStream_t>(stream)};
#ifndef __NVCC__
  if (setjmp(kw::way_back)) return 1;
#endif
  one.call(one.function, given, result, where, one.name);
  return 1;
}
