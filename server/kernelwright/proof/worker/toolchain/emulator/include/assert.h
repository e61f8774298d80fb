// An assertion of a kernel ends its launch.
#undef assert
#define assert(x) ((x) ? void(0) : kw::fail("fails the assertion " #x))
