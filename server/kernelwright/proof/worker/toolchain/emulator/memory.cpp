// Looks at every access of a kernel: whether it lies in memory that is known, and whether other threads are in its way.
// The compiler puts the calls there (-fsanitize=thread); its own runtime is not used.
#include <dlfcn.h>
#include <link.h>
#include <sys/mman.h>

#include <algorithm>
#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <memory>

#include "runtime.h"

extern "C" void kw_forget();

namespace kw {

std::string remarks;

namespace {

constexpr size_t GAP = 64 << 10, MOST_CELLS = 1 << 22, SHARED_ROOM = 512 << 10, FAR = 1 << 24;

enum class How : uint8_t { READ, WRITE, ATOMIC };

struct Access {
  uint32_t launch, thread, epoch, warp_epoch, sequence;
  uint32_t line;
  uint64_t block;
  const void* pc;
  uint8_t bytes;
  bool atomic;
};

// What was last done to four bytes; of readers, the last one and one before it from elsewhere.
struct Cell {
  Access write, read, other;
  uint32_t owner;  // the block, of shared memory that has been written
  uint8_t written;
};

struct Free { void operator()(Cell* cells) const { std::free(cells); } };

struct Range {
  char *start, *end;
  size_t element;
  std::string name;
  enum Kind : uint8_t { TENSOR, ALLOCATION, SHARED, ARGUMENTS, FREED } kind;
  std::unique_ptr<Cell, Free> cells;
  bool looked_at = true;
};

std::vector<Range> ranges;  // in the order of their addresses
Range* recent[16] = {};  // by page, those that were found last
struct Room {
  char* start = nullptr;
  ~Room() {
    if (start) munmap(start, SHARED_ROOM);
  }
} shared_room;
char* shared_next = nullptr;
size_t static_bytes = 0;
struct Slot { const void* slot; char* place; };
std::vector<Slot> slots;
char* dynamic_place = nullptr;
uint32_t launch_number = 0, atomics = 0, block_number = 0;
std::vector<uint32_t> block_atomic;  // by block, the number of its last atomic
uint32_t block_known = 0;
struct Met { const void* place; uint32_t number; };
std::vector<Met> meetings;  // a table by address: the number of the last atomic there
std::vector<unsigned char> hits;
std::vector<int> turns;
const int* lines = nullptr;
size_t line_count = 0;
std::vector<std::pair<char*, char*>> segments;

struct Pending { char* place; unsigned char before[16]; size_t bytes; std::string words; };
Pending pending;
bool is_pending = false;
std::string beyond;  // of an index beyond its array; unless shared memory is accessed there, whose rows lie in one piece

const char* place_of(const Range& range) { return range.kind == Range::SHARED ? "shared " : ""; }

std::string where(const void* pc, uint32_t line) {
  char words[64];
  std::snprintf(words, sizeof words, "line @[%zx,%u]", size_t(static_cast<const char*>(pc) - 1 - segments.front().first), line);
  return words;
}

size_t mapped(size_t bytes) { return (bytes + 4095) & ~size_t(4095); }

char* map(size_t bytes) {
  void* made = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  return made == MAP_FAILED ? nullptr : static_cast<char*>(made);
}

void forget_found() { std::fill(std::begin(recent), std::end(recent), nullptr); }

void add(Range&& range) {
  forget_found();
  auto at = std::upper_bound(ranges.begin(), ranges.end(), range.start, [](char* a, const Range& b) { return a < b.start; });
  ranges.insert(at, std::move(range));
}

Range* find(const char* place) {
  Range*& found = recent[reinterpret_cast<uintptr_t>(place) >> 12 & 15];
  if (found && place >= found->start && place < found->end) return found;
  auto at = std::upper_bound(ranges.begin(), ranges.end(), place, [](const char* a, const Range& b) { return a < b.start; });
  while (at != ranges.begin()) {
    --at;
    if (place < at->end) return found = &*at;
    if (at->end > at->start) break;
  }
  return nullptr;
}

bool in_module(const char* place) {
  for (auto& [low, high] : segments)
    if (place >= low && place < high) return true;
  return false;
}

std::string me() { return thread_name(running.fiber->now.linear, running.block); }

void out_of_bounds(const char* place, How how, const void* pc) {
  const char* does = how == How::READ ? "reads" : "writes";
  const Range* nearest = nullptr;
  size_t best = FAR;
  for (const Range& one : ranges) {
    if (one.kind == Range::ARGUMENTS) continue;
    size_t off = place < one.start ? size_t(one.start - place) : place >= one.end ? size_t(place - one.end) : 0;
    if (off < best) best = off, nearest = &one;
  }
  std::string at = where(pc, uint32_t(running.fiber->line));
  if (!nearest) {
    const char* what = place < reinterpret_cast<char*>(4096) ? "a null pointer" : "memory of the host, or none at all,";
    return fail_at("thread %s %s %s at %s", me().c_str(), does, what, at.c_str());
  }
  if (nearest->kind == Range::FREED)
    return fail_at("thread %s %s %s, which was freed, at %s", me().c_str(), does, nearest->name.c_str(), at.c_str());
  long index = long((place - nearest->start) / long(nearest->element));
  if (place < nearest->start && (nearest->start - place) % long(nearest->element)) index--;
  fail_at("thread %s %s %s%s[%ld] of %zu elements at %s", me().c_str(), does, place_of(*nearest), nearest->name.c_str(), index,
          size_t(nearest->end - nearest->start) / nearest->element, at.c_str());
}

// Whether the running thread cannot know that it comes after this access.
bool unordered(const Access& before, bool shared) {
  if (before.launch != launch_number || (shared && before.block != running.block)) return false;
  const Fiber& me = *running.fiber;
  if (before.block == running.block) {
    if (before.thread == me.now.linear || before.epoch < running.epoch) return false;
    if (before.thread / 32 == me.now.linear / 32 && before.warp_epoch < me.warp_epoch) return false;
    return me.known <= before.sequence;
  }
  return !(block_atomic[before.block] > before.sequence && block_known > before.sequence);
}

std::string race(const Range& range, const char* place, const Access& before, const char* did, const char* does, const void* pc) {
  char element[160];
  std::snprintf(element, sizeof element, "%s%s[%zu]", place_of(range), range.name.c_str(),
                size_t(place - range.start) / range.element);
  return "race: thread " + me() + " " + does + " " + element + " at " + where(pc, uint32_t(running.fiber->line)) +
         ", which thread " + thread_name(before.thread, before.block) + " " + did + " at " + where(before.pc, before.line) +
         ", and nothing orders the two";
}

bool has_changed() { return std::memcmp(pending.place, pending.before, pending.bytes); }

void look(char* place, size_t bytes, How how, bool atomic, const void* pc, bool aligned) {
  // Of a copy the compiler tells the write ahead of the read, and neither has been made then.
  if (is_pending && (how != How::READ || has_changed())) settle_write();
  if (place >= running.stack_low && place < running.stack_high) return;
  Range* range = find(place);
  if (!range || range->kind == Range::FREED) {
    if (!range && in_module(place)) return;
    return out_of_bounds(place, how, pc);
  }
  if (place + bytes > range->end) return out_of_bounds(range->end, how, pc);
  if (range->kind == Range::ARGUMENTS) return;
  if (aligned && bytes > 1 && reinterpret_cast<uintptr_t>(place) % bytes)
    return fail_at("thread %s %s %zu bytes of %s%s at an address that is no multiple of %zu, at %s", me().c_str(),
                   how == How::READ ? "reads" : "writes", bytes, place_of(*range), range->name.c_str(), bytes,
                   where(pc, uint32_t(running.fiber->line)).c_str());
  size_t count = size_t(range->end - range->start + 7) / 4;
  if (!range->cells && range->looked_at) {
    range->looked_at = count <= MOST_CELLS;
    if (range->looked_at) range->cells.reset(static_cast<Cell*>(std::calloc(count + 1, sizeof(Cell))));
  }
  if (!range->cells) return;
  const Fiber& fiber = *running.fiber;
  const bool shared = range->kind == Range::SHARED;
  if (shared) beyond.clear();
  uintptr_t base = reinterpret_cast<uintptr_t>(range->start) & ~uintptr_t(3);
  for (char* part = place; part < place + bytes;) {
    uintptr_t word = reinterpret_cast<uintptr_t>(part) & ~uintptr_t(3);
    char* end = std::min(place + bytes, reinterpret_cast<char*>(word + 4));
    uint8_t mask = uint8_t(((1u << (end - part)) - 1) << (reinterpret_cast<uintptr_t>(part) - word));
    Cell& cell = range->cells.get()[(word - base) / 4];
    Access mine{launch_number, fiber.now.linear, running.epoch, fiber.warp_epoch, atomics, uint32_t(fiber.line), running.block,
                pc, mask, atomic};
    if (how == How::READ) {
      if (shared && (cell.owner != block_number || (mask & ~cell.written)) && remarks.empty())
        remarks = "thread " + me() + " reads shared " + range->name + "[" +
                  std::to_string(size_t(part - range->start) / range->element) + "] at " + where(pc, uint32_t(fiber.line)) +
                  " before any thread of the block has written it";
      if (!atomic && cell.write.bytes & mask && !cell.write.atomic && unordered(cell.write, shared))
        return fail_at("%s", race(*range, part, cell.write, "writes", "reads", pc).c_str());
      if (cell.read.launch == launch_number && (cell.read.block != running.block || cell.read.thread != fiber.now.linear))
        if (cell.read.block != running.block || cell.other.launch != launch_number || cell.other.block == running.block)
          cell.other = cell.read;
      cell.read = mine;
    } else {
      const Access* before = nullptr;
      const char* did = "writes";
      if (cell.write.bytes & mask && !(atomic && cell.write.atomic) && unordered(cell.write, shared)) before = &cell.write;
      for (const Access* one : {&cell.read, &cell.other})
        if (!before && !atomic && one->bytes & mask && !one->atomic && unordered(*one, shared)) before = one, did = "reads";
      if (before && atomic) return fail_at("%s", race(*range, part, *before, did, "changes", pc).c_str());
      if (before && !is_pending) {
        pending.place = place, pending.bytes = std::min(bytes, sizeof pending.before);
        std::memcpy(pending.before, place, pending.bytes);
        pending.words = race(*range, part, *before, did, "writes", pc);
        is_pending = true;
      }
      cell.write = mine;
      if (shared) {
        cell.written = uint8_t((cell.owner == block_number ? cell.written : 0) | mask);
        cell.owner = block_number;
      }
    }
    part = end;
  }
}

// An atomic access learns what was known at its place, and leaves what it knows.
void meet(const void* place) {
  Fiber& fiber = *running.fiber;
  atomics++;
  if (meetings.empty()) meetings.resize(1 << 12);
  Met& met = meetings[(reinterpret_cast<uintptr_t>(place) >> 2) % meetings.size()];
  fiber.known = std::max(fiber.known, met.number);
  block_known = std::max(block_known, met.number);
  met = {place, atomics};
  fiber.last_atomic = atomics;
  block_atomic[running.block] = atomics;
}

void note(char* place, size_t bytes, How how, const void* pc, bool aligned = true) {
  if (on_device) look(place, bytes, how, false, pc, aligned);
}

void note_atomic(const volatile void* given, size_t bytes, How how, const void* pc, bool aligned = true) {
  if (!on_device) return;
  char* place = static_cast<char*>(const_cast<void*>(given));
  look(place, bytes, how, true, pc, aligned);
  meet(place);
}

// Where this library lies: its first place is the one from which the places of its code are counted.
void find_segments() {
  Dl_info own;
  if (!segments.empty() || !dladdr(reinterpret_cast<void*>(&kw_forget), &own)) return;
  dl_iterate_phdr(
      [](dl_phdr_info* info, size_t, void* base) {
        if (reinterpret_cast<void*>(info->dlpi_addr) != base) return 0;
        char* start = reinterpret_cast<char*>(info->dlpi_addr);
        segments.push_back({start, start});
        for (int i = 0; i < info->dlpi_phnum; i++) {
          const auto& part = info->dlpi_phdr[i];
          if (part.p_type == PT_LOAD) segments.push_back({start + part.p_vaddr, start + part.p_vaddr + part.p_memsz});
        }
        return 1;
      },
      own.dli_fbase);
}

}  // namespace

// Whether the write that another thread's access was in the way of has changed anything.
void settle_write() {
  if (!is_pending) return;
  is_pending = false;
  if (has_changed()) fail_at("%s", pending.words.c_str());
}

// Whether an index of the statement before was beyond its array.
void settle_index() {
  if (!beyond.empty()) fail_at("%s", beyond.c_str());
}

void begin_launch(void* data, size_t bytes) {
  find_segments();
  launch_number++;
  atomics++;
  block_atomic.assign(size_t(running.grid.x) * running.grid.y * running.grid.z, 0);
  add({static_cast<char*>(data), static_cast<char*>(data) + bytes, 1, "arguments", Range::ARGUMENTS, nullptr});
}

void end_launch() {
  is_pending = false;
  beyond.clear();
  forget_found();
  ranges.erase(std::remove_if(ranges.begin(), ranges.end(),
                              [](const Range& one) { return one.kind == Range::ARGUMENTS || one.kind == Range::SHARED; }),
               ranges.end());
  slots.clear();
  dynamic_place = nullptr;
}

void begin_block() {
  if (!shared_room.start) shared_room.start = map(SHARED_ROOM);
  block_number++;
  block_known = 0;
  static_bytes = 0;
  dynamic_place = nullptr;
  slots.clear();
  shared_next = shared_room.start + 4096;
  for (Range& one : ranges)
    if (one.kind == Range::SHARED) std::memset(one.start, 0xff, size_t(one.end - one.start));
}

namespace {

char* shared_range(const char* name, size_t bytes, size_t element) {
  char* place = shared_next;
  shared_next += ((bytes + 127) & ~size_t(127)) + 4096;
  if (shared_next > shared_room.start + SHARED_ROOM) fail("needs more shared memory than a block has");
  for (Range& one : ranges)  // the one of the block before
    if (one.kind == Range::SHARED && one.start == place && one.end == place + bytes) {
      one.name = name, one.element = element;
      return place;
    }
  forget_found();
  ranges.erase(std::remove_if(ranges.begin(), ranges.end(),
                              [&](const Range& one) {
                                return one.kind == Range::SHARED && one.start < place + bytes && one.end > place;
                              }),
               ranges.end());
  std::memset(place, 0xff, bytes);
  if (bytes) add({place, place + bytes, element ? element : 1, name, Range::SHARED, nullptr});
  return place;
}

}  // namespace

void* shared(const void* slot, size_t bytes, const char* name, size_t element, int) {
  for (const Slot& one : slots)
    if (one.slot == slot) return one.place;
  static_bytes += bytes;
  check_static(static_bytes);
  char* place = shared_range(name, bytes, element);
  slots.push_back({slot, place});
  return place;
}

void* dynamic_shared(const char* name, size_t element) {
  if (!dynamic_place) dynamic_place = shared_range(name, running.shared, element);
  return dynamic_place;
}

size_t dynamic_bytes() { return running.shared; }

void atomic_access(const volatile void* place, size_t bytes) {
  if (!on_device) return;
  note_atomic(place, bytes, How::WRITE, __builtin_return_address(0));
  spin();
}

void at(int number) {
  settle_index();
  if (size_t(number) < hits.size()) hits[size_t(number)] = 1;
  if (on_device && size_t(number) < line_count) running.fiber->line = lines[number];
}

Turns::Turns(int loop) : loop(loop), turns(0) {}
void Turns::turn() { turns++; }
Turns::~Turns() {
  if (size_t(loop) < kw::turns.size()) kw::turns[size_t(loop)] = std::max(kw::turns[size_t(loop)], turns);
}

void* allocate(size_t bytes, const char* name) {
  char* room = map(mapped(bytes) + 2 * GAP);
  if (!room) return nullptr;
  char* place = room + GAP;
  std::memset(place, 0xff, bytes);
  for (size_t i = ranges.size(); i-- > 0;)
    if (ranges[i].kind == Range::FREED && ranges[i].start < place + bytes + GAP && ranges[i].end > room)
      ranges.erase(ranges.begin() + long(i));
  forget_found();
  add({place, place + bytes, 1, name, Range::ALLOCATION, nullptr});
  return place;
}

bool release(void* place) {
  if (!place) return true;
  for (Range& one : ranges) {
    if (one.start != place || one.kind != Range::ALLOCATION) continue;
    munmap(one.start - GAP, mapped(size_t(one.end - one.start)) + 2 * GAP);
    one.kind = Range::FREED;
    one.cells.reset();
    return true;
  }
  return false;
}

size_t known_bytes(const void* place) {
  const Range* range = find(static_cast<const char*>(place));
  return range ? size_t(range->end - static_cast<const char*>(place)) : 0;
}

}  // namespace kw

using kw::How;

extern "C" {

// Memory for a tensor of the caller, at an address of the same remainder; its neighbours are far away.
void* kw_tensor(const void* like, size_t bytes, size_t element, const char* name) {
  size_t lead = reinterpret_cast<uintptr_t>(like) % 4096;
  char* room = kw::map(kw::mapped(bytes + lead) + 2 * kw::GAP);
  if (!room) return nullptr;
  char* place = room + kw::GAP + lead;
  std::memcpy(place, like, bytes);
  for (size_t i = kw::ranges.size(); i-- > 0;)
    if (kw::ranges[i].kind == kw::Range::FREED && kw::ranges[i].start < place + bytes && kw::ranges[i].end > room)
      kw::ranges.erase(kw::ranges.begin() + long(i));
  kw::add({place, place + bytes, element, name, kw::Range::TENSOR, nullptr});
  return place;
}

void kw_end_tensor(void* place, void* like) {
  for (size_t i = 0; i < kw::ranges.size(); i++) {
    kw::Range& one = kw::ranges[i];
    if (one.start != place || one.kind != kw::Range::TENSOR) continue;
    size_t bytes = size_t(one.end - one.start), lead = reinterpret_cast<uintptr_t>(place) % 4096;
    std::memcpy(like, place, bytes);
    munmap(one.start - lead - kw::GAP, kw::mapped(bytes + lead) + 2 * kw::GAP);
    kw::forget_found();
    kw::ranges.erase(kw::ranges.begin() + long(i));
    return;
  }
}

void kw_watch(const int* lines, int count) {
  kw::lines = lines;
  kw::line_count = size_t(count);
  kw::hits.assign(size_t(count), 0);
  kw::turns.assign(size_t(count), -1);
}

const unsigned char* kw_hits() { return kw::hits.data(); }
const int* kw_turns() { return kw::turns.data(); }
void kw_forget() {
  std::fill(kw::hits.begin(), kw::hits.end(), 0);
  std::fill(kw::turns.begin(), kw::turns.end(), -1);
}
const char* kw_remarks() { return kw::remarks.c_str(); }

#define KW_PLAIN(bytes) \
  void __tsan_read##bytes(void* p) { kw::note(static_cast<char*>(p), bytes, How::READ, __builtin_return_address(0)); } \
  void __tsan_write##bytes(void* p) { kw::note(static_cast<char*>(p), bytes, How::WRITE, __builtin_return_address(0)); } \
  void __tsan_unaligned_read##bytes(void* p) { kw::note(static_cast<char*>(p), bytes, How::READ, __builtin_return_address(0), false); } \
  void __tsan_unaligned_write##bytes(void* p) { kw::note(static_cast<char*>(p), bytes, How::WRITE, __builtin_return_address(0), false); } \
  void __tsan_volatile_read##bytes(void* p) { \
    if (!kw::on_device) return; \
    kw::note_atomic(p, bytes, How::READ, __builtin_return_address(0)); \
    if (!(p >= kw::running.stack_low && p < kw::running.stack_high)) kw::spin(); \
  } \
  void __tsan_volatile_write##bytes(void* p) { kw::note_atomic(p, bytes, How::WRITE, __builtin_return_address(0)); } \
  void __tsan_unaligned_volatile_read##bytes(void* p) { kw::note_atomic(p, bytes, How::READ, __builtin_return_address(0), false); } \
  void __tsan_unaligned_volatile_write##bytes(void* p) { kw::note_atomic(p, bytes, How::WRITE, __builtin_return_address(0), false); } \
  void __tsan_read_write##bytes(void* p) { kw::note(static_cast<char*>(p), bytes, How::WRITE, __builtin_return_address(0)); } \
  void __tsan_unaligned_read_write##bytes(void* p) { kw::note(static_cast<char*>(p), bytes, How::WRITE, __builtin_return_address(0), false); }
KW_PLAIN(1)
KW_PLAIN(2)
KW_PLAIN(4)
KW_PLAIN(8)
KW_PLAIN(16)
void __tsan_read_range(void* p, size_t n) { kw::note(static_cast<char*>(p), n, How::READ, __builtin_return_address(0), false); }
void __tsan_write_range(void* p, size_t n) { kw::note(static_cast<char*>(p), n, How::WRITE, __builtin_return_address(0), false); }
void* __tsan_memcpy(void* to, const void* from, size_t n) {
  __tsan_read_range(const_cast<void*>(from), n);
  __tsan_write_range(to, n);
  return std::memcpy(to, from, n);
}
void* __tsan_memmove(void* to, const void* from, size_t n) {
  __tsan_read_range(const_cast<void*>(from), n);
  __tsan_write_range(to, n);
  return std::memmove(to, from, n);
}
void* __tsan_memset(void* to, int value, size_t n) {
  __tsan_write_range(to, n);
  return std::memset(to, value, n);
}
// The compiler puts the call where an index is beyond an array whose size it knows (-fsanitize=bounds).
struct KwBeyond {
  const char* file;
  uint32_t line, column;
  const struct Type { uint16_t kind, info; char name[1]; } *array, *index;
};
void __ubsan_handle_out_of_bounds(const KwBeyond* what, uintptr_t index) {
  if (!kw::on_device || !kw::beyond.empty()) return;
  const bool negative = what->index->info == 11 && int32_t(index) < 0;  // an int: 2^5 bits, with a sign
  kw::beyond = "thread " + kw::me() + " reads or writes element " +
               std::to_string(negative ? int32_t(index) : intptr_t(index)) + " of a " + what->array->name + " at line " +
               std::to_string(kw::running.fiber->line);
}
void __tsan_func_entry(void*) {}
void __tsan_func_exit() {}
void __tsan_vptr_update(void**, void*) {}
void __tsan_vptr_read(void**) {}
}

// Atomics of the language itself, as std::atomic makes them.
#define KW_ATOMICS(bits, type) \
  extern "C" type __tsan_atomic##bits##_load(const volatile type* p, int) { kw::atomic_access(p, sizeof(type)); return __atomic_load_n(p, __ATOMIC_SEQ_CST); } \
  extern "C" void __tsan_atomic##bits##_store(volatile type* p, type v, int) { kw::atomic_access(p, sizeof(type)); __atomic_store_n(p, v, __ATOMIC_SEQ_CST); } \
  extern "C" type __tsan_atomic##bits##_exchange(volatile type* p, type v, int) { kw::atomic_access(p, sizeof(type)); return __atomic_exchange_n(p, v, __ATOMIC_SEQ_CST); } \
  extern "C" type __tsan_atomic##bits##_fetch_add(volatile type* p, type v, int) { kw::atomic_access(p, sizeof(type)); return __atomic_fetch_add(p, v, __ATOMIC_SEQ_CST); } \
  extern "C" type __tsan_atomic##bits##_fetch_sub(volatile type* p, type v, int) { kw::atomic_access(p, sizeof(type)); return __atomic_fetch_sub(p, v, __ATOMIC_SEQ_CST); } \
  extern "C" type __tsan_atomic##bits##_fetch_and(volatile type* p, type v, int) { kw::atomic_access(p, sizeof(type)); return __atomic_fetch_and(p, v, __ATOMIC_SEQ_CST); } \
  extern "C" type __tsan_atomic##bits##_fetch_or(volatile type* p, type v, int) { kw::atomic_access(p, sizeof(type)); return __atomic_fetch_or(p, v, __ATOMIC_SEQ_CST); } \
  extern "C" type __tsan_atomic##bits##_fetch_xor(volatile type* p, type v, int) { kw::atomic_access(p, sizeof(type)); return __atomic_fetch_xor(p, v, __ATOMIC_SEQ_CST); } \
  extern "C" int __tsan_atomic##bits##_compare_exchange_strong(volatile type* p, type* c, type v, int, int) { kw::atomic_access(p, sizeof(type)); return __atomic_compare_exchange_n(p, c, v, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST); } \
  extern "C" int __tsan_atomic##bits##_compare_exchange_weak(volatile type* p, type* c, type v, int, int) { kw::atomic_access(p, sizeof(type)); return __atomic_compare_exchange_n(p, c, v, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST); }
KW_ATOMICS(8, unsigned char)
KW_ATOMICS(16, unsigned short)
KW_ATOMICS(32, unsigned)
KW_ATOMICS(64, unsigned long)
extern "C" void __tsan_atomic_thread_fence(int) {}
extern "C" void __tsan_atomic_signal_fence(int) {}
extern "C" void __tsan_init() {}
