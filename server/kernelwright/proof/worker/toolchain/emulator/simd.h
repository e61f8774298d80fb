// Arithmetic on the two halves, or the four bytes, of a word: __vadd4 and its like.
#pragma once
#include <cstdint>

namespace kw {

template <class Lane, class F> inline unsigned lanewise(unsigned a, unsigned b, F f) {
  constexpr int bits = 8 * int(sizeof(Lane));
  unsigned made = 0;
  for (int at = 0; at < 32; at += bits) {
    int result = f(int(Lane(a >> at)), int(Lane(b >> at)));
    made |= (unsigned(result) & ((1u << bits) - 1)) << at;
  }
  return made;
}
template <class Lane> inline int saturated(int value) {
  constexpr int bits = 8 * int(sizeof(Lane));
  constexpr bool is_signed = Lane(-1) < Lane(0);
  constexpr int most = is_signed ? (1 << (bits - 1)) - 1 : (1 << bits) - 1, least = is_signed ? -most - 1 : 0;
  return value < least ? least : value > most ? most : value;
}
template <class Lane> inline unsigned summed(unsigned a, unsigned b) {
  unsigned made = 0;
  for (int at = 0; at < 32; at += 8 * int(sizeof(Lane))) {
    int difference = int(Lane(a >> at)) - int(Lane(b >> at));
    made += unsigned(difference < 0 ? -difference : difference);
  }
  return made;
}

}  // namespace kw

#define KW_LANES(name, lane, made) \
  inline unsigned name(unsigned a, unsigned b) { return kw::lanewise<lane>(a, b, [](int x, int y) { return made; }); }
#define KW_LANE(name, lane, made) \
  inline unsigned name(unsigned a) { return kw::lanewise<lane>(a, 0, [](int x, int) { return made; }); }
#define KW_COMPARED(word, count, lane, sign) \
  KW_LANES(__vcmp##word##count, lane, x sign y ? -1 : 0) KW_LANES(__vset##word##count, lane, x sign y ? 1 : 0)
#define KW_SIMD(count, s, u) \
  KW_LANES(__vadd##count, s, x + y) KW_LANES(__vsub##count, s, x - y) \
  KW_LANES(__vaddss##count, s, kw::saturated<s>(x + y)) KW_LANES(__vaddus##count, u, kw::saturated<u>(x + y)) \
  KW_LANES(__vsubss##count, s, kw::saturated<s>(x - y)) KW_LANES(__vsubus##count, u, kw::saturated<u>(x - y)) \
  KW_LANES(__vmins##count, s, x < y ? x : y) KW_LANES(__vminu##count, u, x < y ? x : y) \
  KW_LANES(__vmaxs##count, s, x > y ? x : y) KW_LANES(__vmaxu##count, u, x > y ? x : y) \
  KW_LANES(__vabsdiffs##count, s, x < y ? y - x : x - y) KW_LANES(__vabsdiffu##count, u, x < y ? y - x : x - y) \
  KW_LANES(__vavgu##count, u, (x + y + 1) >> 1) KW_LANES(__vhaddu##count, u, (x + y) >> 1) \
  KW_LANE(__vabs##count, s, x < 0 ? -x : x) KW_LANE(__vabsss##count, s, kw::saturated<s>(x < 0 ? -x : x)) \
  KW_LANE(__vneg##count, s, -x) KW_LANE(__vnegss##count, s, kw::saturated<s>(-x)) \
  KW_COMPARED(eq, count, u, ==) KW_COMPARED(ne, count, u, !=) \
  KW_COMPARED(lts, count, s, <) KW_COMPARED(ltu, count, u, <) KW_COMPARED(les, count, s, <=) KW_COMPARED(leu, count, u, <=) \
  KW_COMPARED(gts, count, s, >) KW_COMPARED(gtu, count, u, >) KW_COMPARED(ges, count, s, >=) KW_COMPARED(geu, count, u, >=) \
  inline unsigned __vsads##count(unsigned a, unsigned b) { return kw::summed<s>(a, b); } \
  inline unsigned __vsadu##count(unsigned a, unsigned b) { return kw::summed<u>(a, b); }
KW_SIMD(4, int8_t, uint8_t)
KW_SIMD(2, int16_t, uint16_t)
