// What the lanes of a warp have to agree on where they work on a tile as one, and the product that they then have.
#include "runtime.h"

namespace kw {

namespace {

constexpr unsigned LANES = 32;

std::string named(const Fiber& fiber) { return thread_name(fiber.now.linear, running.block); }

}  // namespace

bool agree_on_tile(const Fiber* lanes, unsigned there) {
  const Fiber& first = lanes[__builtin_ctz(there)];
  if (there != ~0u) {
    fail_at("thread %s works on a tile at line %d, and only %d lanes of its warp come there: all 32 must", named(first).c_str(),
            first.line, __builtin_popcount(there));
    return false;
  }
  for (unsigned i = 1; i < LANES; i++) {
    if (lanes[i].line != first.line) {
      fail_at("thread %s works on the tile of line %d and thread %s on that of line %d: all lanes of a warp must come to the same one",
              named(first).c_str(), first.line, named(lanes[i]).c_str(), lanes[i].line);
      return false;
    }
    if (first.op == Op::TILE && lanes[i].value != first.value) {
      fail_at("threads %s and %s pass different addresses or strides of a tile at line %d", named(first).c_str(),
              named(lanes[i]).c_str(), first.line);
      return false;
    }
  }
  return true;
}

void multiply_tiles(const Fiber* lanes) {
  static double a[512], b[512];
  Product* parts[LANES];
  for (unsigned i = 0; i < LANES; i++) parts[i] = reinterpret_cast<Product*>(lanes[i].value);
  const int m = parts[0]->m, n = parts[0]->n, k = parts[0]->k;
  for (int i = 0; i < m * k; i++) a[i] = parts[lane_of_place(i)]->a[i / LANES];
  for (int i = 0; i < k * n; i++) b[i] = parts[lane_of_place(i)]->b[i / LANES];
  for (int i = 0; i < m * n; i++) {
    double& sum = parts[lane_of_place(i)]->c[i / LANES];
    for (int j = 0; j < k; j++) sum += a[i / n * k + j] * b[j * n + i % n];
  }
}

}  // namespace kw
