"""Triton's interpreter says the same with its shortcuts as without, of what is right and of what is wrong. In another process,
because Triton decides between its compiler and its interpreter when it is imported."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

KERNELS = """\
import torch, triton
import triton.language as tl

@triton.jit
def twice(x):
    return x + x

@triton.jit
def later(a, b):
    return tl.where(b > a, b, twice(a))

@triton.jit
def blocks(x, y, M: tl.constexpr, N: tl.constexpr):
    rows, columns = tl.arange(0, M), tl.arange(0, N)
    at = rows[:, None] * N + columns
    value = twice(tl.load(x + at, mask=rows[:, None] < M - 1, other=1.5)) * 3 - columns
    value = tl.dot(value, tl.trans(value)).to(tl.float16)
    most = tl.max(value, axis=0)[:, None] + tl.full([M, 1], 2, tl.float64)
    parts = tl.sum(tl.reshape(value + most, [M, 2, M // 2]), 1)
    tl.store(y + rows, tl.sum(parts, 1) + tl.reduce(most, 0, later))

@triton.jit
def larger(a, b):
    if b > a:
        return b
    return a

@triton.jit
def moments(a, b, c, d):
    return a + c, tl.exp(b - 1) + d

@triton.jit
def folds(x, y, combine: tl.constexpr, axis: tl.constexpr):
    at = tl.arange(0, 8)[:, None] * 16 + tl.arange(0, 16)
    values = tl.load(x + at) + tl.program_id(0)
    tl.store(y + tl.arange(0, 128 // (8 if axis == 0 else 16)), tl.reduce(values, axis, combine))
    tl.store(y + 16 + at, tl.associative_scan(values, axis, combine, reverse=axis == 0))

@triton.jit
def pairs(x, y):
    at = tl.arange(0, 4)[:, None, None] * 32 + tl.arange(0, 8)[:, None] * 4 + tl.arange(0, 4)
    first, second = tl.reduce((tl.load(x + at).to(tl.float16), tl.load(x + at)), 1, moments, keep_dims=True)
    tl.store(y + tl.arange(0, 4)[:, None, None] * 4 + tl.arange(0, 4), first + second)

@triton.jit
def short(x, y):
    tl.store(y, tl.reduce(tl.load(x + tl.arange(0, 64)), 0, larger))

@triton.jit
def kinds(x, y, K: tl.constexpr):
    at = tl.arange(0, 16)
    a, b = (tl.load(x + at) * 5 + 20).to(K), (tl.load(x + at + 16) * 5 + 10).to(K)
    parts = (a + b).to(tl.float32) + (a / b).to(tl.float32) + (a - b).to(K).to(tl.float32) + tl.maximum(a, b).to(tl.float32)
    tl.store(y + at, parts + (a > b) * 2.5 + (a * 2).to(tl.float32) + (40 - b).to(tl.float32) + (a == b).to(K))

@triton.jit
def numbers(x, y, K: tl.constexpr):
    at = tl.arange(0, 16)
    value, row = tl.load(x + at), tl.program_id(0) + 2
    tl.store(y + at, 1.0 / (value * -0.0))
    wide, flags = value.to(tl.float64) * 0.1 + 3, (at < 9) & (2 < at) & (value != 0)
    rest = wide.to(tl.float32) + tl.where(flags, row * 3 - 1, 7 - at.to(tl.int64) * 4_000_000_000)
    tl.store(y + 16 + row // 9 + at, (rest + (row - 0.5) + row % 2).to(tl.float32))
    first = tl.load(x + (row - 2)) * 3 + 2.5 + tl.min(tl.where(value > 1, value * 1e300, float("inf")) == float("inf"), 0)
    tl.store(y + 32, first + tl.sum(value.to(tl.float16) + K, 0) + (row > 2) * 1.5)

@triton.jit
def large(x, y, N: tl.constexpr):
    tl.store(y + tl.arange(0, N), tl.arange(0, N) + 5_000_000_000)

@triton.jit
def unsigned(x, y, N: tl.constexpr):
    tl.store(y, tl.load(x + tl.arange(0, N)).to(tl.uint32) * -1)

@triton.jit
def addresses(x, y, N: tl.constexpr):
    tl.store(y, x + y)

@triton.jit
def wraps(x, y, N: tl.constexpr):
    at = tl.arange(0, N)
    big = tl.load(x + at)
    tl.store(y + at, big * 3 + big)

@triton.jit
def narrow(x, y, N: tl.constexpr):
    tl.store(y, tl.load(x + tl.arange(0, N) + tl.arange(0, 2 * N)))

@triton.jit
def uneven(x, y, N: tl.constexpr):
    tl.store(y + tl.arange(0, N), tl.zeros([N + 1], tl.float32))

@triton.jit
def none(x, y, N: tl.constexpr):
    tl.store(y + tl.arange(0, N), tl.reshape(tl.load(x + tl.arange(0, N)), [N / 2, 2]))

def call(kernel, x, y, **sizes):
    try:
        kernel[(2,)](x, y, **sizes)
    except Exception as error:
        return str(error)
    return y.tolist()

def answers():
    x, whole = torch.linspace(-2, 2, 128), torch.arange(16, dtype=torch.int32) * 100_000_000
    return {
        "blocks": call(blocks, x, torch.zeros(8), M=8, N=16),
        **{
            f"{combine.__name__} {axis}": call(folds, x.sin(), torch.zeros(144), combine=combine, axis=axis)
            for combine in (later, larger) for axis in (0, 1)
        },
        **{
            f"kinds {kind}": call(kinds, x.abs(), torch.zeros(16), K=kind)
            for kind in (tl.int8, tl.int16, tl.int32, tl.int64, tl.uint8, tl.uint32, tl.float16, tl.float32, tl.float64)
        },
        "numbers": call(numbers, x + 2.5, torch.zeros(33), K=2.5),
        "large": call(large, x, torch.zeros(16), N=16),
        "unsigned": call(unsigned, x, torch.zeros(16), N=16),
        "addresses": call(addresses, x, torch.zeros(16), N=16),
        "pairs": call(pairs, x, torch.zeros(16)),
        "short": call(short, x.sin(), torch.zeros(1)),
        "overflow": call(wraps, whole, torch.zeros(16, dtype=torch.int32), N=16),
        "shapes": call(narrow, x, torch.zeros(16), N=16),
        "no power": call(uneven, x, torch.zeros(16), N=16),
        "no whole number": call(none, x, torch.zeros(16), N=16),
    }
"""
PROGRAM = """\
import json, sys
import kernels
from kernelwright.proof.worker.interpreter import shortcuts
from triton.runtime import interpreter

found = []
builder, options = interpreter.interpreter_builder, interpreter.interpreter_builder.options
patching, patched = interpreter._patch_builtin, []
interpreter._patch_builtin = lambda *given: patched.append(1) or patching(*given)
for taken in (False, True):
    if taken:
        shortcuts.install()
        shortcuts.install()
    builder.options = shortcuts.for_launch(options, debug=False) if taken else options
    found.append({"plain": kernels.answers(), "patched": len(patched)})
    patched.clear()
    builder.options = shortcuts.for_launch(options, debug=True)
    found[-1]["debug"] = kernels.answers()
    patched.clear()
print(json.dumps(found))
"""


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> list[dict]:
    """What the kernels come to without and with the shortcuts."""
    folder: Path = tmp_path_factory.mktemp("shortcuts")
    (folder / "kernels.py").write_text(KERNELS)
    ran = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", PROGRAM],
        capture_output=True,
        text=True,
        cwd=folder,
        env={**os.environ, "TRITON_INTERPRET": "1"},
        timeout=120,
    )
    assert ran.returncode == 0, ran.stderr
    return json.loads(ran.stdout)


@pytest.mark.parametrize("options", ["plain", "debug"])
def test_answers_and_faults_are_the_same(found: list[dict], options: str) -> None:
    without, taken = (one[options] for one in found)
    assert taken == without
    wrong = {"shapes", "addresses", "unsigned", "large", "no power", "no whole number"}
    wrong |= {"overflow"} if options == "debug" else set()
    assert {name for name, answer in without.items() if isinstance(answer, str)} == wrong


def test_overflows_are_found_where_a_launch_is_debugged(found: list[dict]) -> None:
    for one in found:
        assert isinstance(one["plain"]["overflow"], list)
        assert "overflow detected for operation" in one["debug"]["overflow"]


def test_device_functions_patch_nothing_again(found: list[dict]) -> None:
    without, taken = (one["patched"] for one in found)
    assert 0 < taken < without / 2
