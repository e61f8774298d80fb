"""What is read of a Triton kernel's body."""

import ast

import pytest

from kernelwright.source.imports import Aliases
from kernelwright.source.triton.reader import Reading, is_launch

ALIASES = Aliases({"tl": "triton.language", "triton": "triton", "load": "triton.language.load"})
KERNEL = """\
@triton.autotune(configs=[], key=["n"])
@triton.jit
def kernel(x_ptr, y_ptr, n, M: tl.constexpr, K: tl.constexpr):
    row = tl.program_id(0)
    at = row * M + tl.arange(0, M)
    block = tl.make_block_ptr(y_ptr, (n,), (1,), (0,), (M,), (0,))
    for k in range(0, tl.cdiv(n, K)):
        x = load(x_ptr + at, at < n, other=0.0)
        block.store(x)
    for k in tl.range(0, n, STEP):
        tl.atomic_add(pointer=y_ptr + at, val=x, mask=at < n)
    tl.store(y_ptr, tl.sum(tl.load(x_ptr)))
    torch.load(x_ptr)
"""


def reading(text: str = KERNEL) -> Reading:
    (function,) = ast.parse(text).body
    assert isinstance(function, ast.FunctionDef)
    return Reading(function, ALIASES)


def written(node: ast.expr | None) -> str | None:
    return None if node is None else ast.unparse(node)


def test_accesses_with_their_masks() -> None:
    found = [(a.kind, written(a.pointer), written(a.mask), written(a.other)) for a in reading().accesses]
    assert found == [
        ("load", "x_ptr + at", "at < n", "0.0"),
        ("store", "block", None, None),
        ("atomic_add", "y_ptr + at", "at < n", None),
        ("store", "y_ptr", None, None),
        ("load", "x_ptr", None, None),
        ("load", "torch", None, None),  # a method of something, as far as the aliases tell
    ]
    assert [a.call.lineno for a in reading().loads_and_stores] == [8, 12, 12]


def test_calls_and_ranges() -> None:
    names = "program_id arange make_block_ptr cdiv load range atomic_add store sum load"
    assert [name for name, _ in reading().calls] == names.split()
    assert [(written(lanes.start), written(lanes.end)) for lanes in reading().lanes] == [("0", "M")]
    assert reading().block_sizes == {"M"}


def test_what_loops_advance_by() -> None:
    assert [written(loop.node.iter) for loop in reading().loops] == ["range(0, tl.cdiv(n, K))", "tl.range(0, n, STEP)"]
    assert reading().steps == {"K", "STEP"}


def test_what_each_program_takes() -> None:
    assert reading().shares == {"M"}
    swizzled = "def kernel(n, M, N):\n    a = n * N\n    p = ext.program_id(0)\n    q = p // 2\n    i = q % 3 * M\n"
    assert reading(swizzled).shares == {"M"}
    lanes = "def kernel(x, n, M):\n    p = tl.program_id(0) + tl.arange(0, M)\n    y = p * n\n    z = load(x) * M\n"
    assert reading(lanes).shares == frozenset()


@pytest.mark.parametrize(
    ("decorators", "expected"),
    [
        ("@triton.autotune(configs=c, key=[])\n@triton.jit\n", True),
        ("@triton.jit\n", False),
        ("@autotune()\n", False),
        ("@tuned(configs=c, key=[])\n", True),
    ],
)
def test_autotuning(decorators: str, expected: bool) -> None:
    assert reading(f"{decorators}def kernel(x):\n    pass\n").is_autotuned is expected


@pytest.mark.parametrize(
    ("call", "expected"),
    [
        ("kernel[(1,)](x)", True),
        ("kernels.kernel[grid](x)", True),
        ("wrap_triton(kernel)[g](x)", True),
        ("wrap_triton(k)[g](x)", False),
        ("chosen(kernel, traced)[g](x)", True),
        ("other[(1,)](x)", False),
        ("kernel(x)", False),
    ],
)
def test_launches(call: str, expected: bool) -> None:
    assert is_launch(ast.parse(call, mode="eval").body, "kernel") is expected


def test_how_a_file_writes_a_module() -> None:
    assert (ALIASES.spelled("triton.language"), ALIASES.spelled("torch")) == ("tl", None)
