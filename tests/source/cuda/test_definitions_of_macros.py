"""Definitions of macros, and places where a name is spelled, found without a walk through the whole tree."""

import re

from kernelwright.source.cuda import read
from kernelwright.source.cuda.text import field, spelled

TEXT = """\
// #define NOT_ME 1
#define TILE 16
#  define UP(a, b) (((a) + (b) - 1) / (b))
const char* said = "#define NOR_ME 2";
__global__ void k(float* x) {
#define INSIDE(i) x[i]
    INSIDE(0) = TILE; // k again
}
void run(float* x) { k<<<UP(9, 4), 32>>>(x); }
"""


def test_all_macros_are_found_and_nothing_that_only_looks_like_one() -> None:
    file = read(TEXT)
    named = [field(one, "name") for one in file.macro_nodes]
    assert [one.text for one in named if one is not None] == [b"TILE", b"UP", b"INSIDE"]
    assert [file.source.content(one).split("(")[0] for one in file.function_macros] == [
        "#  define UP",
        "#define INSIDE",
    ]


def test_a_name_in_a_comment_or_a_longer_one_is_not_spelled() -> None:
    file = read(TEXT)
    found = list(spelled(file.source, re.compile(rb"\bk\b"), "identifier"))
    assert [one.start_point.row for one in found] == [4, 8]
