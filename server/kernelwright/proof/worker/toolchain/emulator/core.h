// What translated kernels call: the threads of a block are fibers, and the runtime looks at each of their accesses.
#pragma once
#include <cstddef>
#include <cstdint>
#include <cstring>
#ifdef KW_RECORD
#include <initializer_list>
#include <string>
#include <vector>
#endif
#include <tuple>
#include <type_traits>
#include <utility>

struct uint3 { unsigned x, y, z; };
struct dim3 {
  unsigned x, y, z;
  constexpr dim3(unsigned x = 1, unsigned y = 1, unsigned z = 1) : x(x), y(y), z(z) {}
  constexpr dim3(uint3 v) : x(v.x), y(v.y), z(v.z) {}
  constexpr operator uint3() const { return {x, y, z}; }
};
struct kw_stream;
using cudaStream_t = kw_stream*;

#define KW_UNSEEN __attribute__((no_sanitize("thread")))

namespace kw {

// The same all the time for one thread, so that the compiler may keep them.
__attribute__((const)) uint3 thread_index();
__attribute__((const)) uint3 block_index();
__attribute__((const)) dim3 block_size();
__attribute__((const)) dim3 grid_size();
__attribute__((const)) unsigned lane();
__attribute__((const)) unsigned linear();

enum class Op : int { NONE, SYNC, SHUFFLE, BALLOT, ACTIVE, MATCH, TILE, PRODUCT };

void at(int number);
void barrier();
unsigned barrier_votes(bool vote);  // how many threads of the block vote yes
void warp_sync(unsigned mask);
uint64_t warp_shuffle(unsigned mask, uint64_t value, int source);
unsigned warp_ballot(unsigned mask, bool vote);
unsigned warp_match(unsigned mask, uint64_t value);
unsigned warp_active();
// Which element of a tile a lane holds, and who holds one: in no order that code would also go through a tile in.
constexpr int place_of_element(int element, int lane) { return element * 32 + (lane * 13 + element * 7 + 5) % 32; }
constexpr int lane_of_place(int place) { return int((unsigned(place) - unsigned(place) / 32 * 7 - 5) * 5 % 32); }
// A lane's elements of two tiles and of a third, to which a warp adds the product of the two.
struct Product {
  int m, n, k;
  double a[16], b[16], c[8];
};
void warp_tile(const void* place, unsigned stride);  // waits until all lanes come with the same tile
void warp_product(Product& mine);
void* shared(const void* slot, size_t bytes, const char* name, size_t element, int line);
void* dynamic_shared(const char* name, size_t element);
size_t dynamic_bytes();
void fail(const char* words);
void atomic_access(const volatile void* place, size_t bytes);
void* allocate(size_t bytes, const char* name);
bool release(void* place);
int last_error(bool clear);
const char* last_words();
[[noreturn]] void leave(int code);  // what exit() does: it ends the call, not the process
size_t known_bytes(const void* place);  // up to the end of the allocation or tensor that it lies in; 0 for none
void set_dynamic_limit(int bytes);
unsigned long long clock();

struct Turns {
  explicit Turns(int loop) KW_UNSEEN;
  ~Turns() KW_UNSEEN;
  void turn() KW_UNSEEN;
  int loop, turns;
};

template <class T> struct Dynamic {
  operator T*() const { return static_cast<T*>(dynamic_shared("shared memory", sizeof(T))); }
};

using Body = void (*)(void*);
void launch(const char* name, int line, dim3 grid, dim3 block, size_t shared, Body body, void* data, size_t bytes);

// A type in words: `const*` or `*` before an element, `float32`, or `int` with a number of bits, or `struct` of bytes; `x4`.
struct Kind { const char *how, *word; size_t number; const char* lanes; };

#ifdef KW_RECORD
template <class T> constexpr Kind described();
std::string spelled(std::initializer_list<Kind> kinds);
// Shows a launch to whoever records them; whether it is to be run.
bool noted(const char* name, const char* types, void** given, dim3 grid, dim3 block, size_t shared);
#endif

struct Launch {
  const char* name;
  int line;
  dim3 grid, block;
  size_t shared;
  Launch(const char* name, int line, dim3 grid, dim3 block, size_t shared = 0, cudaStream_t = nullptr)
      : name(name), line(line), grid(grid), block(block), shared(shared) {}
  template <class F, class... A> void run(F kernel, A&&... given) {
    auto data = std::make_pair(kernel, std::tuple<std::decay_t<A>...>(std::forward<A>(given)...));
    using Data = decltype(data);
#ifdef KW_RECORD
    std::string types = spelled({described<std::decay_t<A>>()...});
    auto listed = std::apply([](auto&... each) { return std::vector<void*>{(void*)&each...}; }, data.second);
    if (!noted(name, types.c_str(), listed.data(), grid, block, shared)) return;
#endif
    auto body = [](void* place) {
      auto& held = *static_cast<Data*>(place);
      std::apply([&](auto&... each) { held.first(each...); }, held.second);
    };
    launch(name, line, grid, block, shared, body, &data, sizeof data);
  }
};

}  // namespace kw

// So that what a text does not use of a library need not be there for it to be opened.
namespace nvcuda { namespace experimental {} }
namespace thrust {}
namespace cub {}
namespace cuda {}

[[noreturn]] inline void kw_exit(int code) { kw::leave(code); }
[[noreturn]] inline void kw_abort() { kw::leave(134); }
namespace std {
using ::kw_abort;
using ::kw_exit;
}  // namespace std
