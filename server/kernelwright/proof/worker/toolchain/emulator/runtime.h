// What the two halves of the runtime share: the running fiber, and what memory is known.
#pragma once
#include <csetjmp>
#include <string>
#include <vector>

#include "core.h"

namespace kw {

enum class State : int { NEW, READY, BARRIER, WARP, DONE };

// The running thread.
struct Now {
  uint3 thread, block;
  unsigned linear, lane;
};
struct Fiber {
  Now now;
  State state;
  Op op;
  unsigned mask, warp_epoch;
  uint64_t value, answer;
  int source, line;
  uint32_t last_atomic, known;  // the number of its last atomic, and up to which others' accesses are known to it
  unsigned spins;
  char* stack;
  void* stack_pointer;
};

struct Running {
  Fiber* fiber;
  char *stack_low, *stack_high;
  dim3 grid, threads;
  uint64_t block;
  unsigned epoch;
  size_t shared;
  const char* name;
  std::vector<unsigned> warp_epochs;
};

struct Logged {
  const char* name;
  uint64_t threads;
};

extern Running running;
extern int order;
extern std::string failure, remarks;
extern bool on_device;

std::string thread_name(unsigned linear, uint64_t block);
std::string block_name(uint64_t block);
[[gnu::format(printf, 1, 2)]] void fail_at(const char* format, ...);
void spin();
void begin_launch(void* data, size_t bytes);
void end_launch();
void begin_block();
void check_static(size_t bytes);
void settle_write();
void settle_index();
bool agree_on_tile(const Fiber* lanes, unsigned there);  // else the launch has failed
void multiply_tiles(const Fiber* lanes);

}  // namespace kw
