// The basics of cooperative groups: a block, tiles of a warp, the lanes that came to one place.
#pragma once

namespace cooperative_groups {

struct thread_group {
  unsigned mask = 0, count = 0, rank = 0;
  bool block = false;
  void sync() const { block ? kw::barrier() : kw::warp_sync(mask); }
  unsigned size() const { return count; }
  unsigned num_threads() const { return count; }
  unsigned thread_rank() const { return rank; }
};

struct thread_block : thread_group {
  static void sync() { kw::barrier(); }
  static dim3 group_index() { return kw::block_index(); }
  static dim3 thread_index() { return kw::thread_index(); }
  static dim3 group_dim() { return kw::block_size(); }
  static dim3 dim_threads() { return kw::block_size(); }
};

inline thread_block this_thread_block() {
  thread_block made;
  made.block = true;
  made.count = kw::block_size().x * kw::block_size().y * kw::block_size().z;
  made.rank = kw::linear();
  return made;
}

struct lanes : thread_group {
  int width = 32;
  template <class T> T shfl(T v, int source) const {
    static_assert(sizeof(T) <= 32, "shuffles of a group move 32 bytes at most");
    return kw::shuffled(mask, v, lane_of(unsigned(source)));
  }
  template <class T> T shfl_down(T v, unsigned delta) const { return shfl(v, int(rank + delta < count ? rank + delta : rank)); }
  template <class T> T shfl_up(T v, unsigned delta) const { return shfl(v, int(rank < delta ? rank : rank - delta)); }
  template <class T> T shfl_xor(T v, unsigned other) const { return shfl(v, int((rank ^ other) < count ? rank ^ other : rank)); }
  int any(int p) const { return __any_sync(mask, p); }
  int all(int p) const { return __all_sync(mask, p); }
  unsigned ballot(int p) const {
    unsigned votes = kw::warp_ballot(mask, p != 0), made = 0;
    for (unsigned i = 0; i < count; i++) made |= (votes >> lane_of(i) & 1) << i;
    return made;
  }
  int lane_of(unsigned which) const {
    for (int lane = 0; lane < 32; lane++)
      if (mask >> lane & 1 && !which--) return lane;
    return int(kw::lane());
  }
  unsigned meta_group_rank() const { return kw::linear() / 32 * (32 / unsigned(width)) + kw::lane() / unsigned(width); }
  unsigned meta_group_size() const {
    dim3 t = kw::block_size();
    return (t.x * t.y * t.z + unsigned(width) - 1) / unsigned(width);
  }
};
template <unsigned N, class Parent = void> struct thread_block_tile : lanes {
  thread_block_tile() = default;
  template <class Other> thread_block_tile(const thread_block_tile<N, Other>& other) : lanes(other) {}
};
using coalesced_group = lanes;

template <unsigned N, class P> inline thread_block_tile<N, P> tiled_partition(const P&) {
  static_assert(N && N <= 32 && !(N & (N - 1)), "a tile has 1, 2, 4, 8, 16 or 32 threads");
  thread_block_tile<N, P> made;
  unsigned first = kw::lane() / N * N;
  made.mask = (N == 32 ? 0xffffffffu : ((1u << N) - 1)) << first;
  made.count = N, made.rank = kw::lane() - first, made.width = int(N);
  return made;
}
inline coalesced_group coalesced_threads() {
  coalesced_group made;
  made.mask = kw::warp_active();
  made.count = unsigned(__popc(made.mask));
  made.rank = unsigned(__popc(made.mask & ((1u << kw::lane()) - 1)));
  return made;
}
template <class G> inline void sync(const G& group) { group.sync(); }

template <class T> struct plus { T operator()(T a, T b) const { return a + b; } };
template <class T> struct less { T operator()(T a, T b) const { return b < a ? b : a; } };
template <class T> struct greater { T operator()(T a, T b) const { return a < b ? b : a; } };
template <class T> struct bit_and { T operator()(T a, T b) const { return a & b; } };
template <class T> struct bit_or { T operator()(T a, T b) const { return a | b; } };
template <class T> struct bit_xor { T operator()(T a, T b) const { return a ^ b; } };
template <class G, class T, class F> inline T reduce(const G& group, T v, F join) {
  return kw::reduced(group.mask, v, [&](T a, T b) { return join(a, b); });
}
template <class G, class T, class F> inline T inclusive_scan(const G& group, T v, F join) {
  T made = v;
  for (unsigned i = 0; i < group.count; i++) {
    T one = group.shfl(v, int(i));
    if (i < group.rank) made = i ? join(made, one) : one;
  }
  return group.rank ? join(made, v) : v;
}
template <class G, class F> inline void invoke_one(const G& group, F work) {
  if (!group.thread_rank()) work();
}

}  // namespace cooperative_groups
