"""Which block sizes of a kernel have lanes that are reached without a mask."""

import ast

import pytest

from kernelwright.source.imports import aliases_in
from kernelwright.source.triton.masks import unmasked
from kernelwright.source.triton.reader import Reading

IMPORTS = "import triton.language as tl\n"
HELPERS = """\
import triton

@triton.jit
def plain(a, LOW: tl.constexpr):
    b = tl.math.exp(a.to(tl.float32))
    if LOW:
        b += -b
    return b if a.dtype == tl.float16 else twice(b)


@triton.jit
def twice(a): return 2 * a


@triton.jit
def other(a):
    return tl.sum(a)


@triton.jit
def reads(a):
    return plain(tl.load(a), True)


@triton.jit
def asks(a):
    if a > 1:
        return a
    return -a


@triton.jit
def turned(a):
    return a.T


@triton.jit
def again(a):
    return again(a)


def host(a):
    return a
"""
POINTER = "p = tl.make_block_ptr(x, (m, n), (n, 1), (0, 0), (M, N), (1, 0))\n"


def open_lanes(body: str) -> dict[str, int]:
    text = "def kernel(x, y, m, n, M, N, EVEN):\n" + "".join(f"    {line}\n" for line in body.splitlines())
    function = ast.parse(text).body[0]
    assert isinstance(function, ast.FunctionDef)
    return dict(unmasked(Reading(function, aliases_in((IMPORTS + HELPERS).encode()), text=HELPERS)))


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("i = tl.arange(0, M)\ntl.load(x + i, mask=i < m)", {}),
        ("i = tl.program_id(0) * M + tl.arange(0, M)\ntl.load(x + i)", {"M": 3}),
        ("i, j = tl.arange(0, M), tl.arange(0, N)\ntl.store(x + i[:, None] * n + j, 0, mask=j < n)", {"M": 3}),
        ("i, j = tl.arange(0, M), tl.arange(0, N)\nk = (i < m)[:, None] & (j < n)\ntl.load(x + i * n + j, mask=k)", {}),
        ("i = tl.arange(0, M) % m\ntl.load(x + i)", {}),
        ("i = tl.where(tl.arange(0, M) < m, tl.arange(0, M), 0)\ntl.load(x + i)", {}),
        ("x += tl.arange(0, M)\nfor k in range(0, m, M):\n    tl.load(x)\n    x += M", {"M": 4}),
        ("i = tl.arange(0, M)\nj = tl.load(y + i, mask=i < m)\ntl.load(x + j)", {"M": 4}),
        ("i = tl.arange(0, M)\nif EVEN:\n    tl.load(x + i)\nelse:\n    tl.load(x + i, mask=i < m)", {}),
        ("i = tl.arange(0, M)\nif EVEN:\n    tl.load(x + i)", {"M": 4}),
        ("i = tl.arange(0, M)\nhelper(x, i)", {"M": 3}),
        ("i = tl.arange(0, M)\nplain(i, True)", {}),
        *(
            (f"i = tl.arange(0, M)\n{name}(i)", {"M": 3})
            for name in ("other", "reads", "asks", "turned", "again", "host")
        ),
        ("i = tl.arange(0, M)\nj = plain(i, True)\ntl.load(x + j)", {"M": 4}),
        ("j = tl.arange(0, M)\ni = helper(M)\ntl.load(x + i)", {"M": 4}),
        (POINTER + "tl.load(p)", {"M": 3, "N": 3}),
        (POINTER + "tl.load(p, boundary_check=(0, 1))", {}),
        (POINTER + "tl.store(p, 0, boundary_check=(1,))", {"M": 3}),
        (POINTER + "q = tl.advance(p, (0, N))\ntl.load(q, boundary_check=(0, 1))", {}),
        ("d = tl.make_tensor_descriptor(x, [m, n], [n, 1], [M, N])\nd.load([0, 0])", {}),
    ],
)
def test_lanes_without_a_mask(body: str, expected: dict[str, int]) -> None:
    assert open_lanes(body) == expected
