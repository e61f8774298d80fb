// Products of tiles by a warp as one (nvcuda::wmma). A fragment's elements are spread over the lanes, as many to each as on a
// GPU but in an order of its own, which CUDA leaves open too. Products are summed in double, and rounded once to the result.
#pragma once
#include <type_traits>

namespace nvcuda {
namespace wmma {

struct matrix_a;
struct matrix_b;
struct accumulator;
struct row_major;
struct col_major;
enum layout_t { mem_row_major, mem_col_major };
namespace precision { struct tf32; }
namespace experimental {}

}  // namespace wmma
}  // namespace nvcuda

namespace kw {

namespace wm = nvcuda::wmma;
template <class T> struct Stored { using type = T; };
template <> struct Stored<wm::precision::tf32> { using type = float; };

inline float to_tf32(float v) { return bits<float>(bits<uint32_t>(v) & 0xffffe000u); }  // the tensor core sees no lower bits

template <class T> constexpr bool is_any() { return false; }
template <class T, class One, class... More> constexpr bool is_any() { return std::is_same_v<T, One> || is_any<T, More...>(); }

// A double has every shape: the fp64 twin of a text needs them.
template <class Use, int M, int N, int K, class T> constexpr bool has_shape() {
  constexpr bool whole = (M == 16 && N == 16 && K == 16) || (M == 32 && N == 8 && K == 16) || (M == 8 && N == 32 && K == 16);
  if (is_any<T, double>()) return whole || (M == 16 && N == 16 && K == 8) || (M == 8 && N == 8 && K == 4);
  if (is_any<Use, wm::accumulator>())
    return (whole && is_any<T, float, __half, int>()) || (M == 16 && N == 16 && K == 8 && is_any<T, float>());
  if (is_any<T, wm::precision::tf32>()) return M == 16 && N == 16 && K == 8;
  return whole && is_any<T, __half, __nv_bfloat16, signed char, unsigned char>();
}

template <class F> inline int place_in_tile(int element) { return place_of_element(element, int(lane())) % (F::kw_rows * F::kw_columns); }

// Waits for all lanes, which have to pass the same; a tile's address and rows are aligned.
template <class T> inline void come_to_tile(const T* place, unsigned stride) {
  if (reinterpret_cast<uintptr_t>(place) % 32) fail("passes a tile that is not aligned to 32 bytes");
  if (stride * sizeof(T) % 16) fail("passes a tile whose rows are not a multiple of 16 bytes apart");
  warp_tile(place, stride);
}

template <class F, class T> inline void load_tile(F& f, const T* p, unsigned stride, bool by_rows) {
  come_to_tile(p, stride);
  for (int e = 0; e < F::num_elements; e++) {
    unsigned row = unsigned(place_in_tile<F>(e) / F::kw_columns), column = unsigned(place_in_tile<F>(e) % F::kw_columns);
    f.x[e] = p[by_rows ? size_t(row) * stride + column : size_t(column) * stride + row];
  }
}

template <class T> inline double as_factor(const T& v) { return double(v); }
template <> inline double as_factor(const __half& v) { return double(float(v)); }
template <> inline double as_factor(const __nv_bfloat16& v) { return double(float(v)); }
template <class T> inline T as_sum(double v, bool saturates) {
  if constexpr (std::is_same_v<T, int>) {
    if (saturates) return v > 2147483647.0 ? 2147483647 : v < -2147483648.0 ? -2147483647 - 1 : int(v);
    return int(uint32_t(int64_t(v)));
  }
  return T(v);
}

}  // namespace kw

namespace nvcuda {
namespace wmma {

template <class Use, int M, int N, int K, class T, class Layout = void> class fragment {
 public:
  static_assert(kw::has_shape<Use, M, N, K, T>(), "wmma has no fragment of this shape and type");
  static_assert(std::is_same_v<Use, accumulator> == std::is_same_v<Layout, void>, "a fragment has a layout if it is of an operand");
  using element_type = T;
  using storage_element_type = typename kw::Stored<T>::type;
  static constexpr int kw_rows = std::is_same_v<Use, matrix_b> ? K : M, kw_columns = std::is_same_v<Use, matrix_a> ? K : N;
  // Of half, two or four lanes hold the same element of an operand.
  static constexpr int num_elements =
      std::is_same_v<T, __half> && !std::is_same_v<Use, accumulator> ? 16 : kw_rows * kw_columns / 32;
  static constexpr int num_storage_elements = num_elements;
  storage_element_type x[num_elements];
  fragment() { __builtin_memset(x, 0xff, sizeof x); }  // NaN, which shows where nothing was loaded
};

template <class Use, int M, int N, int K, class T, class Layout>
inline void fill_fragment(fragment<Use, M, N, K, T, Layout>& f, const typename kw::Stored<T>::type& value) {
  for (auto& one : f.x) one = value;
}

template <class Use, int M, int N, int K, class T, class Layout, class From>
inline void load_matrix_sync(fragment<Use, M, N, K, T, Layout>& f, const From* p, unsigned stride) {
  static_assert(std::is_same_v<From, typename kw::Stored<T>::type> || std::is_same_v<From, double>, "the tile has another type");
  static_assert(!std::is_same_v<Use, accumulator>, "an accumulator is loaded with a layout");
  kw::load_tile(f, p, stride, std::is_same_v<Layout, row_major>);
}

template <int M, int N, int K, class T>
inline void load_matrix_sync(fragment<accumulator, M, N, K, T>& f, const T* p, unsigned stride, layout_t layout) {
  kw::load_tile(f, p, stride, layout == mem_row_major);
}

template <int M, int N, int K, class T>
inline void store_matrix_sync(T* p, const fragment<accumulator, M, N, K, T>& f, unsigned stride, layout_t layout) {
  using F = fragment<accumulator, M, N, K, T>;
  kw::come_to_tile(p, stride);
  for (int e = 0; e < F::num_elements; e++) {
    unsigned row = unsigned(kw::place_in_tile<F>(e) / N), column = unsigned(kw::place_in_tile<F>(e) % N);
    p[layout == mem_row_major ? size_t(row) * stride + column : size_t(column) * stride + row] = f.x[e];
  }
}

template <int M, int N, int K, class D, class A, class B, class C, class LayoutA, class LayoutB>
inline void mma_sync(fragment<accumulator, M, N, K, D>& d, const fragment<matrix_a, M, N, K, A, LayoutA>& a,
                     const fragment<matrix_b, M, N, K, B, LayoutB>& b, const fragment<accumulator, M, N, K, C>& c,
                     bool saturates = false) {
  static_assert(std::is_same_v<A, B> || kw::is_any<double, A, B>(), "both operands have one type");
  kw::Product mine{M, N, K, {}, {}, {}};
  auto factor = [](auto v) { return kw::as_factor(std::is_same_v<A, precision::tf32> ? decltype(v)(kw::to_tf32(float(v))) : v); };
  for (int e = 0; e < a.num_elements; e++) mine.a[e] = factor(a.x[e]);
  for (int e = 0; e < b.num_elements; e++) mine.b[e] = factor(b.x[e]);
  for (int e = 0; e < c.num_elements; e++) mine.c[e] = kw::as_factor(c.x[e]);
  kw::warp_product(mine);
  for (int e = 0; e < d.num_elements; e++) d.x[e] = kw::as_sum<D>(mine.c[e], saturates);
}

template <class T> inline T __float_to_tf32(T v) {
  uint32_t raw = kw::bits<uint32_t>(float(v));
  return v != v || std::isinf(v) ? v : T(kw::bits<float>((raw + 0x1000u) & 0xffffe000u));  // to nearest, ties away from zero
}

}  // namespace wmma
}  // namespace nvcuda
