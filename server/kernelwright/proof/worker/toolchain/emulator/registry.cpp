// What is known of a file's entries, in words and for calls. nvcc reads it as a header.
#include "registry.h"

#include <csetjmp>
#include <string>
#include <vector>

namespace kw {

#ifndef __NVCC__
extern std::jmp_buf way_back;
#endif
struct Known { Function of; std::string types; };
KW_ONCE std::vector<Known>& entries() { static std::vector<Known> all; return all; }
KW_ONCE std::string& structures() { static std::string all; return all; }

KW_ONCE std::string spelled(const Kind& kind) {
  return std::string(kind.how) + kind.word + (kind.number ? std::to_string(kind.number) : "") + kind.lanes;
}
KW_ONCE std::string spelled(std::initializer_list<Kind> kinds) {
  std::string all;
  for (const Kind& one : kinds) all += spelled(one) + ",";
  return all;
}

KW_ONCE void know(const Function& function, const Kind& result, std::initializer_list<Kind> parameters) {
  entries().push_back({function, spelled(result) + "(" + spelled(parameters)});
}

KW_ONCE void know_structure(int entry, int parameter, const unsigned char* made, size_t bytes,
                            std::initializer_list<Field> fields) {
  std::string said = std::to_string(entry) + " " + std::to_string(parameter) + " ";
  for (size_t i = 0; i < bytes; ++i) said += "0123456789abcdef"[made[i] >> 4], said += "0123456789abcdef"[made[i] & 15];
  for (const Field& one : fields) {
    said += " " + std::string(one.path) + "@" + std::to_string(one.offset) + "=" + spelled(one.type.kind);
    if (one.type.times) said += "x" + std::to_string(one.type.times);
  }
  structures() += said + "\n";
}

}  // namespace kw

#define KW_EXPORT extern "C" __attribute__((visibility("default"), used))
KW_EXPORT KW_ONCE int kw_entries() { return static_cast<int>(kw::entries().size()); }
KW_EXPORT KW_ONCE int kw_entry_number(int at) { return kw::entries()[at].of.number; }
KW_EXPORT KW_ONCE const char* kw_entry_types(int at) { return kw::entries()[at].types.c_str(); }
KW_EXPORT KW_ONCE const char* kw_structures() { return kw::structures().c_str(); }
KW_EXPORT KW_ONCE int kw_call(int at, void** given, void* result, const unsigned* place, size_t shared, void* stream) {
  const kw::Function& one = kw::entries()[at].of;
  if (!one.call) return 0;
  kw::Place where{dim3(place[0], place[1], place[2]), dim3(place[3], place[4], place[5]), shared,
                  static_cast<cudaStream_t>(stream)};
#ifndef __NVCC__
  if (setjmp(kw::way_back)) return 1;
#endif
  one.call(one.function, given, result, where, one.name);
  return 1;
}
