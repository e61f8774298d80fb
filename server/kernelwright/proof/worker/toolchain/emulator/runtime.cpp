// Runs the threads of a block as fibers, in an order that a seed permutes, and lets them wait for one another.
#include "runtime.h"

#include <sys/mman.h>
#include <sys/time.h>

#include <algorithm>
#include <csetjmp>
#include <csignal>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <string>

namespace kw {

int order = 0;
Running running;
std::string failure;
bool on_device = false;
std::jmp_buf way_back;

namespace {

constexpr size_t STACK = 256 << 10, GUARD = 4096;
constexpr unsigned WARP = 32;
constexpr size_t STATIC_LIMIT = 48 << 10, DYNAMIC_LIMIT = 227 << 10;

std::vector<Fiber> fibers;
std::vector<unsigned> sequence;
struct Stacks : std::vector<char*> {
  ~Stacks() {  // when the library is closed: a process has 65530 mappings, and each stack is two
    for (char* one : *this) munmap(one, STACK);
  }
} idle_stacks;
void* main_stack = nullptr;
Body body;
void* data;
size_t alive, waiting;
int dynamic_limit = 48 << 10;
std::vector<Logged> log_of_launches;
uint64_t ticks = 0;
int left_with = 0;  // the status of exit()
using Watcher = int (*)(const char*, const char*, void**, const unsigned*, size_t);
Watcher watcher = nullptr;
int allowed = 0;  // milliseconds of a launch, where somebody watches
volatile std::sig_atomic_t is_over = 0;  // the time of a launch
int cut_short = 0;  // launches

extern "C" void kw_switch(void** from, void* to);
#if defined(__x86_64__)
asm(R"(
.text
.hidden kw_switch
.globl kw_switch
.type kw_switch,@function
kw_switch:
  pushq %rbp
  pushq %rbx
  pushq %r12
  pushq %r13
  pushq %r14
  pushq %r15
  movq %rsp, (%rdi)
  movq %rsi, %rsp
  popq %r15
  popq %r14
  popq %r13
  popq %r12
  popq %rbx
  popq %rbp
  ret
)");
void* prepared(char* top, void (*begin)()) {
  void** place = reinterpret_cast<void**>(reinterpret_cast<uintptr_t>(top) & ~uintptr_t(15));
  *--place = nullptr;
  *--place = reinterpret_cast<void*>(begin);
  for (int i = 0; i < 6; i++) *--place = nullptr;
  return place;
}
#elif defined(__aarch64__)
asm(R"(
.text
.hidden kw_switch
.globl kw_switch
.type kw_switch,%function
kw_switch:
  sub sp, sp, #160
  stp x19, x20, [sp, #0]
  stp x21, x22, [sp, #16]
  stp x23, x24, [sp, #32]
  stp x25, x26, [sp, #48]
  stp x27, x28, [sp, #64]
  stp x29, x30, [sp, #80]
  stp d8, d9, [sp, #96]
  stp d10, d11, [sp, #112]
  stp d12, d13, [sp, #128]
  stp d14, d15, [sp, #144]
  mov x9, sp
  str x9, [x0]
  mov sp, x1
  ldp x19, x20, [sp, #0]
  ldp x21, x22, [sp, #16]
  ldp x23, x24, [sp, #32]
  ldp x25, x26, [sp, #48]
  ldp x27, x28, [sp, #64]
  ldp x29, x30, [sp, #80]
  ldp d8, d9, [sp, #96]
  ldp d10, d11, [sp, #112]
  ldp d12, d13, [sp, #128]
  ldp d14, d15, [sp, #144]
  add sp, sp, #160
  ret
)");
void* prepared(char* top, void (*begin)()) {
  char* place = reinterpret_cast<char*>(reinterpret_cast<uintptr_t>(top) & ~uintptr_t(15)) - 160;
  std::memset(place, 0, 160);
  reinterpret_cast<void**>(place)[11] = reinterpret_cast<void*>(begin);
  return place;
}
#else
#error "Kernels are emulated on x86-64 and aarch64 only."
#endif

void to_scheduler() {
  settle_write();
  kw_switch(&running.fiber->stack_pointer, main_stack);
}

void begin() {
  body(data);
  settle_index();
  settle_write();
  running.fiber->state = State::DONE;
  kw_switch(&running.fiber->stack_pointer, main_stack);
  std::abort();
}

char* new_stack() {
  if (!idle_stacks.empty()) {
    char* one = idle_stacks.back();
    idle_stacks.pop_back();
    return one;
  }
  void* made = mmap(nullptr, STACK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (made == MAP_FAILED) std::abort();
  mprotect(made, GUARD, PROT_NONE);
  return static_cast<char*>(made);
}

std::string named(const Fiber& fiber) { return thread_name(fiber.now.linear, running.block); }

// Frees the lanes that wait for one another, where all of a mask are there.
bool complete(unsigned warp, unsigned mask, Op op) {
  size_t first = size_t(warp) * WARP, last = std::min(fibers.size(), first + WARP);
  unsigned there = 0, votes = 0, live = 0;
  for (size_t i = first; i < last; i++) {
    Fiber& one = fibers[i];
    if (one.state != State::DONE) live |= 1u << one.now.lane;
    if (one.state == State::WARP && one.op == op && one.mask == mask) {
      there |= 1u << one.now.lane;
      votes |= unsigned(one.value != 0) << one.now.lane;
    }
  }
  if (!there || (mask & live & ~there)) return false;
  if (op == Op::TILE || op == Op::PRODUCT) {
    if (!agree_on_tile(&fibers[first], there)) return false;
    if (op == Op::PRODUCT) multiply_tiles(&fibers[first]);
  }
  uint64_t answers[WARP] = {};
  for (size_t i = first; i < last; i++) {
    Fiber& one = fibers[i];
    if (!(there >> one.now.lane & 1)) continue;
    uint64_t& answer = answers[i - first];
    if (op == Op::BALLOT) answer = votes;
    if (op == Op::SHUFFLE) answer = there >> one.source & 1 ? fibers[first + one.source].value : ~uint64_t(0);
    if (op == Op::MATCH)
      for (size_t j = first; j < last; j++)
        if (there >> (j - first) & 1 && fibers[j].value == one.value) answer |= 1u << (j - first);
  }
  const bool orders = op != Op::TILE && op != Op::PRODUCT;  // the accesses before it and those after it
  unsigned epoch = running.warp_epochs[warp] += orders;
  for (size_t i = first; i < last; i++) {
    Fiber& one = fibers[i];
    if (!(there >> one.now.lane & 1)) continue;
    one.answer = answers[i - first];
    one.state = State::READY;
    if (orders) one.warp_epoch = epoch;
  }
  return true;
}

bool release_barrier() {
  if (!alive || waiting < alive) return false;
  const Fiber* first = nullptr;
  unsigned votes = 0;
  for (Fiber& one : fibers) {
    if (one.state != State::BARRIER) continue;
    if (first && first->line != one.line) {
      fail_at("thread %s waits at the __syncthreads() of line %d and thread %s at that of line %d: all threads of a block "
              "must come to the same one", named(*first).c_str(), first->line, named(one).c_str(), one.line);
      return false;
    }
    first = &one;
    votes += one.value != 0;
  }
  running.epoch++;
  waiting = 0;
  for (Fiber& one : fibers) {
    if (one.state != State::BARRIER) continue;
    one.state = State::READY;
    one.answer = votes;
  }
  return true;
}

void ended(Fiber& fiber) {
  alive--;
  idle_stacks.push_back(fiber.stack);
  fiber.stack = nullptr;
  unsigned warp = fiber.now.linear / WARP;
  size_t first = size_t(warp) * WARP, last = std::min(fibers.size(), first + WARP);
  for (size_t i = first; i < last; i++)
    if (fibers[i].state == State::WARP && fibers[i].op != Op::ACTIVE && complete(warp, fibers[i].mask, fibers[i].op)) break;
  release_barrier();
}

void run(Fiber& fiber) {
  if (fiber.state == State::NEW) {
    fiber.stack = new_stack();
    fiber.stack_pointer = prepared(fiber.stack + STACK, begin);
  }
  fiber.state = State::READY;
  running.fiber = &fiber;
  running.stack_low = fiber.stack;
  running.stack_high = fiber.stack + STACK;
  on_device = true;
  kw_switch(&main_stack, fiber.stack_pointer);
  on_device = false;
  if (fiber.state == State::DONE) ended(fiber);
}

// Where every other lane of a warp waits, those that ask who is active are.
bool resolve_active() {
  bool any = false;
  for (size_t first = 0; first < fibers.size(); first += WARP) {
    size_t last = std::min(fibers.size(), first + WARP);
    for (size_t i = first; i < last; i++) {
      if (fibers[i].state != State::WARP || fibers[i].op != Op::ACTIVE) continue;
      unsigned mask = 0;
      int line = fibers[i].line;
      for (size_t j = i; j < last; j++)
        if (fibers[j].state == State::WARP && fibers[j].op == Op::ACTIVE && fibers[j].line == line)
          mask |= 1u << fibers[j].now.lane;
      for (size_t j = i; j < last; j++) {
        if (!(mask >> fibers[j].now.lane & 1)) continue;
        fibers[j].answer = mask;
        fibers[j].state = State::READY;
      }
      any = true;
      break;
    }
  }
  return any;
}

void deadlock() {
  const Fiber *at_barrier = nullptr, *in_warp = nullptr;
  for (const Fiber& one : fibers) {
    if (one.state == State::BARRIER && !at_barrier) at_barrier = &one;
    if (one.state == State::WARP && !in_warp) in_warp = &one;
  }
  if (at_barrier && in_warp)
    fail_at("thread %s waits at the __syncthreads() of line %d for thread %s, which waits for other threads of its warp at line "
            "%d: neither goes on", named(*at_barrier).c_str(), at_barrier->line, named(*in_warp).c_str(), in_warp->line);
  else if (in_warp)
    fail_at("thread %s waits at line %d for threads of its warp (mask 0x%08x) that do not come there with the same mask",
            named(*in_warp).c_str(), in_warp->line, in_warp->mask);
  else
    fail_at("the threads of block %s wait for one another, and none goes on", block_name(running.block).c_str());
}

void shuffle_order(size_t count) {
  sequence.resize(count);
  for (size_t i = 0; i < count; i++) sequence[i] = unsigned(i);
  if (order == 1) std::reverse(sequence.begin(), sequence.end());
  if (order < 2) return;
  uint64_t state = 0x9e3779b97f4a7c15ull * uint64_t(order) + running.block;
  for (size_t i = count; i > 1; i--) {
    state ^= state << 13, state ^= state >> 7, state ^= state << 17;
    std::swap(sequence[i - 1], sequence[state % i]);
  }
}

void run_block(uint64_t block) {
  const dim3 &g = running.grid, &b = running.threads;
  running.block = block;
  begin_block();
  uint3 at{unsigned(block % g.x), unsigned(block / g.x % g.y), unsigned(block / g.x / g.y)};
  size_t count = size_t(b.x) * b.y * b.z;
  fibers.resize(count);
  running.warp_epochs.assign((count + WARP - 1) / WARP, 0);
  running.epoch = 0;
  alive = count, waiting = 0;
  for (size_t i = 0; i < count; i++) {
    Fiber made{};
    made.now = {{unsigned(i % b.x), unsigned(i / b.x % b.y), unsigned(i / b.x / b.y)}, at, unsigned(i), unsigned(i % WARP)};
    fibers[i] = made;
  }
  shuffle_order(count);
  while (alive && failure.empty() && !is_over) {
    bool moved = false;
    for (unsigned index : sequence) {
      Fiber& one = fibers[index];
      if (one.state != State::NEW && one.state != State::READY) continue;
      run(one);
      moved = true;
      if (!failure.empty() || is_over) break;
    }
    if (!moved && failure.empty() && !resolve_active()) deadlock();
  }
  for (Fiber& one : fibers)
    if (one.stack) idle_stacks.push_back(one.stack), one.stack = nullptr;
}

uint64_t wait_in_warp(Op op, unsigned mask, uint64_t value, int source) {
  Fiber& fiber = *running.fiber;
  if (op != Op::ACTIVE && !(mask >> fiber.now.lane & 1)) {
    fail_at("thread %s is not in the mask 0x%08x that it gives at line %d", named(fiber).c_str(), mask, fiber.line);
    return 0;
  }
  fiber.op = op, fiber.mask = mask, fiber.value = value, fiber.source = source & 31;
  fiber.state = State::WARP;
  settle_write();
  if (op != Op::ACTIVE && complete(fiber.now.linear / WARP, mask, op)) return fiber.answer;
  to_scheduler();
  return fiber.answer;
}

}  // namespace

std::string block_name(uint64_t block) {
  const dim3& g = running.grid;
  char words[80];
  std::snprintf(words, sizeof words, "(%u, %u, %u)", unsigned(block % g.x), unsigned(block / g.x % g.y), unsigned(block / g.x / g.y));
  return words;
}

std::string thread_name(unsigned linear, uint64_t block) {
  const dim3& b = running.threads;
  char words[160];
  std::snprintf(words, sizeof words, "(%u, %u, %u) of block %s", linear % b.x, linear / b.x % b.y, linear / b.x / b.y,
                block_name(block).c_str());
  return words;
}

void fail_at(const char* format, ...) {
  if (failure.empty()) {
    char words[1024];
    va_list given;
    va_start(given, format);
    std::vsnprintf(words, sizeof words, format, given);
    va_end(given);
    failure = words;
  }
  // The fiber is left where it is: the launch has failed.
  if (on_device) kw_switch(&running.fiber->stack_pointer, main_stack);
}

void fail(const char* words) {
  if (on_device) fail_at("thread %s %s at line %d", named(*running.fiber).c_str(), words, running.fiber->line);
  else fail_at("%s", words);
}

uint3 thread_index() { return running.fiber->now.thread; }
uint3 block_index() { return running.fiber->now.block; }
dim3 block_size() { return running.threads; }
dim3 grid_size() { return running.grid; }
unsigned lane() { return running.fiber->now.lane; }
unsigned linear() { return running.fiber->now.linear; }

void spin() {
  if (++running.fiber->spins % 64) return;
  running.fiber->state = State::READY;
  to_scheduler();
}

void barrier() { barrier_votes(false); }

unsigned barrier_votes(bool vote) {
  Fiber& fiber = *running.fiber;
  fiber.state = State::BARRIER;
  fiber.value = vote;
  settle_write();
  waiting++;
  if (!release_barrier()) to_scheduler();
  return unsigned(fiber.answer);
}

void warp_sync(unsigned mask) { wait_in_warp(Op::SYNC, mask, 0, 0); }
uint64_t warp_shuffle(unsigned mask, uint64_t value, int source) { return wait_in_warp(Op::SHUFFLE, mask, value, source); }
unsigned warp_ballot(unsigned mask, bool vote) { return unsigned(wait_in_warp(Op::BALLOT, mask, vote, 0)); }
unsigned warp_match(unsigned mask, uint64_t value) { return unsigned(wait_in_warp(Op::MATCH, mask, value, 0)); }
void warp_tile(const void* place, unsigned stride) {
  wait_in_warp(Op::TILE, ~0u, reinterpret_cast<uintptr_t>(place) ^ uint64_t(stride) << 47, 0);
}
void warp_product(Product& mine) { wait_in_warp(Op::PRODUCT, ~0u, reinterpret_cast<uintptr_t>(&mine), 0); }
unsigned warp_active() { return unsigned(wait_in_warp(Op::ACTIVE, 0, 0, 0)); }

void set_dynamic_limit(int bytes) { dynamic_limit = std::max(dynamic_limit, bytes); }
unsigned long long clock() { return ticks += 100; }

const char* last_words() { return failure.c_str(); }

void leave(int code) {
  left_with = code;
  if (on_device) fail("ends the process");
  if (failure.empty()) fail_at("the code ends its process with exit(%d)", code);
  std::longjmp(way_back, 1);
}

bool noted(const char* name, const char* types, void** given, dim3 grid, dim3 block, size_t shared) {
  unsigned place[] = {grid.x, grid.y, grid.z, block.x, block.y, block.z};
  return !watcher || (allowed = watcher(name, types, given, place, shared));
}

// Ends a launch: a fiber is left where it is, the scheduler goes on and sees it.
void end_in_time(int) {
  is_over = 1;
  char* here = reinterpret_cast<char*>(&here);
  if (on_device && here >= running.fiber->stack && here < running.fiber->stack + STACK)
    kw_switch(&running.fiber->stack_pointer, main_stack);
}

void set_timer(int milliseconds) {
  is_over = 0;
  struct sigaction what {};
  what.sa_handler = end_in_time;
  what.sa_flags = SA_NODEFER;  // it does not return
  sigaction(SIGALRM, &what, nullptr);
  itimerval time{{0, 0}, {milliseconds / 1000, milliseconds % 1000 * 1000}};
  setitimer(ITIMER_REAL, &time, nullptr);
}

int last_error(bool) { return failure.empty() ? 0 : 700; }

void launch(const char* name, int line, dim3 grid, dim3 block, size_t shared, Body entered, void* held, size_t bytes) {
  if (!failure.empty()) return;
  std::string at = line ? " of line " + std::to_string(line) : "";
  size_t threads = size_t(block.x) * block.y * block.z;
  uint64_t blocks = uint64_t(grid.x) * grid.y * grid.z;
  if (on_device) return fail("launches a kernel, which only a GPU does,");
  if (!threads || !blocks)
    return fail_at("the launch of %s%s has an empty %s, (%u, %u, %u)", name, at.c_str(), threads ? "grid" : "block",
                   threads ? grid.x : block.x, threads ? grid.y : block.y, threads ? grid.z : block.z);
  if (threads > 1024 || block.z > 64)
    return fail_at("the launch of %s%s has %zu threads in a block, and 1024 are the most", name, at.c_str(), threads);
  if (grid.y > 65535 || grid.z > 65535)
    return fail_at("the launch of %s%s has the grid (%u, %u, %u), and 65535 are the most in y and z", name, at.c_str(), grid.x,
                   grid.y, grid.z);
  if (shared > DYNAMIC_LIMIT)
    return fail_at("the launch of %s%s asks for %zu bytes of shared memory, and %zu are the most", name, at.c_str(), shared,
                   DYNAMIC_LIMIT);
  if (shared > size_t(dynamic_limit))
    return fail_at("the launch of %s%s asks for %zu bytes of shared memory: more than 49152 need cudaFuncSetAttribute with "
                   "cudaFuncAttributeMaxDynamicSharedMemorySize", name, at.c_str(), shared);
  log_of_launches.push_back({name, blocks * threads});
  body = entered, data = held;
  running.grid = grid, running.threads = block, running.shared = shared, running.name = name;
  begin_launch(held, bytes);
  if (allowed) set_timer(allowed);
  for (uint64_t i = 0; i < blocks && failure.empty() && !is_over; i++) run_block(order ? blocks - 1 - i : i);
  cut_short += is_over;
  if (allowed) set_timer(0);
  end_launch();
}

void check_static(size_t bytes) {
  if (bytes > STATIC_LIMIT)
    fail_at("kernel %s has %zu bytes of static shared memory, and %zu are the most", running.name, bytes, STATIC_LIMIT);
  else if (bytes + running.shared > DYNAMIC_LIMIT)
    fail_at("kernel %s has %zu bytes of shared memory, and %zu are the most", running.name, bytes + running.shared, DYNAMIC_LIMIT);
}

}  // namespace kw

extern "C" {
void kw_watch_launches(kw::Watcher watcher) { kw::watcher = watcher; }
int kw_cut_short() { return kw::cut_short; }
size_t kw_known_bytes(const void* place) { return kw::known_bytes(place); }
// Runs a program's main; its status, also where it calls exit().
int kw_program(int (*main)(int, char**), int count, char** given) {
  kw::left_with = 0;
  if (setjmp(kw::way_back)) return kw::left_with;
  return main(count, given);
}
const char* kw_failure() { return kw::failure.c_str(); }
void kw_set_dynamic_limit(int bytes) { kw::set_dynamic_limit(bytes); }
void kw_begin(int order) {
  kw::failure.clear();
  kw::remarks.clear();
  kw::order = order;
  kw::log_of_launches.clear();
}
int kw_launches() { return int(kw::log_of_launches.size()); }
const char* kw_launch_name(int at) { return kw::log_of_launches[size_t(at)].name; }
unsigned long long kw_launch_threads(int at) { return kw::log_of_launches[size_t(at)].threads; }
}
