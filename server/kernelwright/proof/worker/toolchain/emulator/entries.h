// What the file's entries take, told by the compiler, and how they are called with an array of addresses of arguments.
#pragma once
#include <cstdint>
#include <initializer_list>
#include <new>
#include <type_traits>
#include <utility>

#include "registry.h"

namespace kw {

template <class T> struct Element { static constexpr Kind kind() { return {"", "struct", sizeof(T), ""}; } };
#define KW_ELEMENT(type, word) \
  template <> struct Element<type> { static constexpr Kind kind() { return {"", word, 0, ""}; } };
KW_ELEMENT(void, "void") KW_ELEMENT(float, "float32") KW_ELEMENT(double, "float64") KW_ELEMENT(bool, "bool")
#if defined(KW_HALVES) || !defined(__NVCC__)
KW_ELEMENT(__half, "float16") KW_ELEMENT(__nv_bfloat16, "bfloat16")
KW_ELEMENT(__half2, "float16x2") KW_ELEMENT(__nv_bfloat162, "bfloat16x2")
#endif
constexpr Kind signed_integer(size_t bytes) { return {"", "int", 8 * bytes, ""}; }
template <class T> constexpr Kind scalar() {
  if constexpr (std::is_integral_v<T> && !std::is_same_v<T, bool>)
    return std::is_signed_v<T> ? signed_integer(sizeof(T)) : Kind{"", "uint", 8 * sizeof(T), ""};
  else return Element<T>::kind();
}
#define KW_VECTOR(vector, element, count) \
  template <> struct Element<vector> { \
    static constexpr Kind kind() { return {"", scalar<element>().word, scalar<element>().number, "x" #count}; } \
  };
#define KW_VECTORS(name, element) \
  KW_VECTOR(name##1, element, 1) KW_VECTOR(name##2, element, 2) KW_VECTOR(name##3, element, 3) KW_VECTOR(name##4, element, 4)

template <class T> constexpr Kind described() {
  using V = std::remove_cv_t<std::remove_reference_t<T>>;
  if constexpr (std::is_same_v<V, cudaStream_t>) {
    return {"", "stream", 0, ""};
  } else if constexpr (std::is_lvalue_reference_v<T> && !std::is_const_v<std::remove_reference_t<T>>) {
    return {"", "reference", 0, ""};
  } else if constexpr (std::is_pointer_v<V>) {
    using P = std::remove_pointer_t<V>;
    using Q = std::remove_cv_t<P>;
    if constexpr (std::is_function_v<P> || std::is_pointer_v<Q>) return {"", "pointer", 0, ""};
    else {
      constexpr const char* how = std::is_const_v<P> ? "const*" : "*";
      constexpr Kind kind = described<Q>();
      return {how, kind.word, kind.number, kind.lanes};
    }
  } else if constexpr (std::is_enum_v<V>) {
    return signed_integer(sizeof(V));
  } else {
    return scalar<V>();
  }
}

KW_VECTORS(float, float) KW_VECTORS(double, double) KW_VECTORS(int, int) KW_VECTORS(uint, unsigned)
KW_VECTORS(char, signed char) KW_VECTORS(uchar, unsigned char) KW_VECTORS(short, short) KW_VECTORS(ushort, unsigned short)
KW_VECTORS(longlong, long long) KW_VECTORS(ulonglong, unsigned long long)
KW_VECTOR(dim3, unsigned, 3)

// A structure that is passed by value: where its fields lie, and what one holds that nobody has written to.
template <class T> struct Unrestricted { using type = T; };
template <class T> struct Unrestricted<T* __restrict__> { using type = T*; };
template <class T> constexpr Typed field() {
  if constexpr (std::is_array_v<T>) {
    using Each = std::remove_all_extents_t<T>;
    return {described<Each>(), sizeof(T) / sizeof(Each)};
  } else return {described<typename Unrestricted<T>::type>(), 0};
}
template <class T> struct Structure {
  Structure(int entry, int parameter, std::initializer_list<Field> fields) {
    alignas(T) unsigned char made[sizeof(T)] = {};
    if constexpr (std::is_default_constructible_v<T> && std::is_trivially_copyable_v<T>) ::new (made) T{};
    know_structure(entry, parameter, made, sizeof made, fields);
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
    Caller call = nullptr;
    if constexpr (Entrance<R, A...>::plain) call = kernel ? Entrance<R, A...>::kernel : Entrance<R, A...>::host;
    know({number, name, kernel, reinterpret_cast<const void*>(function), call}, described<R>(), {described<A>()...});
  }
};

}  // namespace kw
