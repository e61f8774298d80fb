"""Right and wrong kernels in the hardened interpreter. All run in one other process, because Triton decides between its
compiler and its interpreter when it is imported."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

PRELUDE = """\
import torch, triton
import triton.language as tl
from triton.language.extra import libdevice
from kernelwright.proof.worker.interpreter import rounds
rounds.number, rounds.backwards = 0, False
torch.manual_seed(0)
"""

# name: (kernel and launch, which leaves `right` or raises; the words of the fault, empty for none)
CASES: dict[str, tuple[str, str]] = {
    "load past the end": (
        """
@triton.jit
def kernel(x, o, B: tl.constexpr):
    at = tl.program_id(0) * B + tl.arange(0, B)
    tl.store(o + at, tl.load(x + at))
kernel[(2,)](torch.rand(100), torch.empty(128), B=64)
""",
        "Out of bounds: load from x at byte offset 400 (element 100) of 400 bytes (100 elements), 28 of 64 active lanes, "
        "in program (1, 0, 0)",
    ),
    "store before the beginning": (
        """
@triton.jit
def kernel(o, B: tl.constexpr):
    tl.store(o - 4 + tl.arange(0, B), 1.0)
kernel[(1,)](torch.rand(100, dtype=torch.float64), B=16)
""",
        "Out of bounds: store to o at byte offset -32 (element -4)",
    ),
    "more programs than there is patience for": (
        """
from kernelwright.proof.worker.patience import patience
@triton.jit
def kernel(o):
    tl.store(o + tl.program_id(0), 1.0)
with patience(0.05):
    kernel[(1 << 20,)](torch.empty(1 << 20))
""",
        "unexpected InterpreterError: TooLong",
    ),
    "a range with keywords": (
        """
@triton.jit
def kernel(x, o, n, B: tl.constexpr):
    total = tl.zeros((B,), tl.float32)
    for at in range(0, n, step=B):
        total += tl.load(x + at + tl.arange(0, B))
    for _ in range(3, num_stages=2):
        total += 1.0
    tl.store(o + tl.arange(0, B), total)
x, o = torch.rand(64), torch.empty(16)
kernel[(1,)](x, o, 64, B=16)
right = torch.allclose(o, x.view(4, 16).sum(0) + 3)
""",
        "",
    ),
    "a wrapper that keeps what a launch returns": (
        """
class Entry(triton.KernelInterface):
    def __init__(self, fn):
        self.fn, self.kept = fn, None
        while not isinstance(fn, triton.runtime.JITFunction):
            fn = fn.fn
        self.params = [p.name for p in fn.params if not p.is_constexpr]
        assert [p.num for p in fn.params if p.do_not_specialize] == [2], fn.params
        assert list(fn.signature.parameters) == ["x", "o", "n", "B", "C"]
        assert "tl.arange(0, B)" in fn.src and len(fn.cache_key) == 64

    def run(self, *args, grid, warmup, **kwargs):
        if self.kept is None:
            self.kept = self.fn.run(*args, grid=grid, warmup=warmup, **kwargs)
        else:
            self.kept[grid](*args[:len(self.params)])

@Entry
@triton.heuristics({"C": lambda args: 2.0})
@triton.jit(do_not_specialize=["n"])
def kernel(x, o, n, B: tl.constexpr, C: tl.constexpr):
    at = tl.arange(0, B)
    tl.store(o + at, C * tl.load(x + at, mask=at < n), mask=at < n)
x = torch.rand(16); first = torch.zeros(16); second = torch.zeros(16)
kernel[(1,)](x, first, 16, 16)
kernel[(1,)](x, second, 12, 16)
right = torch.equal(first, 2 * x) and torch.equal(second[:12], 2 * x[:12]) and not second[12:].any()
""",
        "",
    ),
    "an assertion that does not hold": (
        """
@triton.jit
def kernel(x, o, B: tl.constexpr):
    at = tl.arange(0, B)
    value = tl.load(x + at)
    tl.device_assert(value < 3.0, "three or more")
    tl.store(o + at, value)
x = torch.full((16,), 4.0); o = torch.empty(16)
kernel[(1,)](x, o, B=16, debug=True)
right = torch.equal(x, o)
""",
        "unexpected InterpreterError: AssertionError('three or more')",
    ),
    "an assertion that is not compiled": (
        """
@triton.jit
def kernel(x, o, B: tl.constexpr):
    at = tl.arange(0, B)
    value = tl.load(x + at)
    tl.device_assert(value < 3.0, "three or more")
    tl.store(o + at, value)
x = torch.full((16,), 4.0); o = torch.empty(16)
kernel[(1,)](x, o, B=16)
right = torch.equal(x, o)
""",
        "",
    ),
    "a mask that holds": (
        """
@triton.jit
def kernel(x, o, n, B: tl.constexpr):
    at = tl.program_id(0) * B + tl.arange(0, B)
    tl.store(o + at, tl.load(x + at, mask=at < n, other=0.0), mask=at < n)
x = torch.rand(100); o = torch.empty(100)
kernel[(2,)](x, o, 100, B=64)
right = torch.equal(x, o)
""",
        "",
    ),
    "atomic out of bounds in a device function": (
        """
@triton.jit
def add(o, at):
    tl.atomic_add(o + at, 1.0)
@triton.jit
def kernel(o, B: tl.constexpr):
    add(o, tl.arange(0, B))
kernel[(1,)](torch.zeros(30), B=32)
""",
        "Out of bounds: atomic access to o",
    ),
    "two programs write one element": (
        """
@triton.jit
def kernel(o, B: tl.constexpr):
    at = tl.program_id(0) * (B - 1) + tl.arange(0, B)
    tl.store(o + at, at * 0 + tl.program_id(0))
kernel[(2,)](torch.zeros(31, dtype=torch.int32), B=16)
""",
        "Race between programs: program (1, 0, 0) writes what program (0, 0, 0) writes, with another value in the same "
        "launch: o, element 15",
    ),
    "two programs write the same value": (
        """
@triton.jit
def kernel(o, B: tl.constexpr):
    tl.store(o + tl.arange(0, B), 7.0)
o = torch.zeros(16); kernel[(3,)](o, B=16)
right = bool((o == 7).all())
""",
        "",
    ),
    "in place over a neighbour's input": (
        """
@triton.jit
def kernel(o, n, B: tl.constexpr):
    at = tl.program_id(0) * B + tl.arange(0, B)
    tl.store(o + at, tl.load(o + at + 1, mask=at + 1 < n, other=0.0), mask=at < n)
kernel[(2,)](torch.randn(100), 100, B=64)
""",
        "Race between programs: program (1, 0, 0) writes what program (0, 0, 0) reads in the same launch: o, element 64",
    ),
    "in place on its own elements, twice": (
        """
@triton.jit
def kernel(o, B: tl.constexpr):
    at = tl.program_id(0) * B + tl.arange(0, B)
    tl.store(o + at, tl.load(o + at) * 2)
    tl.store(o + at, tl.load(o + at) + 1)
x = torch.randn(128); o = x.clone(); kernel[(2,)](o, B=64)
right = torch.equal(o, x * 2 + 1)
""",
        "",
    ),
    "a lock orders the programs": (
        """
@triton.jit
def kernel(lock, o):
    while tl.atomic_cas(lock, 0, 1) == 1:
        pass
    tl.store(o, tl.load(o) + tl.program_id(0))
    tl.atomic_xchg(lock, 0)
o = torch.zeros(1); kernel[(4,)](torch.zeros(1, dtype=torch.int32), o)
right = o.item() == 6
""",
        "",
    ),
    "a counter orders nothing after it": (
        """
@triton.jit
def kernel(count, o):
    tl.atomic_add(count, 1)
    tl.store(o, tl.load(o) + 1)
kernel[(4,)](torch.zeros(1, dtype=torch.int32), torch.zeros(1))
""",
        "Race between programs: program (1, 0, 0) reads what program (0, 0, 0) writes in the same launch: o, element 0",
    ),
    "set to zero by one program, added to by all": (
        """
@triton.jit
def kernel(o):
    if tl.program_id(0) == 0:
        tl.store(o, 0.0)
    tl.atomic_add(o, 1.0)
kernel[(4,)](torch.empty(1))
""",
        "Race between programs: program (1, 0, 0) changes by an atomic what program (0, 0, 0) writes in the same launch",
    ),
    "the program that comes last reads what all have stored": (
        """
@triton.jit
def kernel(count, part, o, B: tl.constexpr):
    tl.store(part + tl.program_id(0), tl.program_id(0) + 1)
    if tl.atomic_add(count, 1) == tl.num_programs(0) - 1:
        tl.store(o, tl.sum(tl.load(part + tl.arange(0, B)), axis=0))
        tl.store(part + tl.arange(0, B), tl.zeros((B,), tl.int32))
for times in range(4):
    rounds.next_round(other_order=times % 2)
    o = torch.zeros(1, dtype=torch.int32)
    kernel[(512,)](torch.zeros_like(o), torch.zeros(512, dtype=torch.int32), o, B=512)
    assert o.item() == 512 * 513 // 2
right = True
""",
        "",
    ),
    "each program waits for the one before it": (
        """
@triton.jit
def kernel(ticket, flags, sums, o):
    me = tl.atomic_add(ticket, 1)
    before = 0
    if me > 0:
        while tl.load(flags + me - 1, volatile=True) == 0:
            pass
        before = tl.load(sums + me - 1)
    tl.store(sums + me, before + me)
    tl.debug_barrier()
    tl.store(flags + me, 1)
    tl.store(o + me, before + me)
@triton.jit
def in_order(flags, sums):
    me = tl.program_id(0)
    before = 0
    if me > 0:
        while tl.atomic_add(flags + me - 1, 0) == 0:
            pass
        before = tl.load(sums + me - 1)
    tl.store(sums + me, before + me)
    tl.atomic_xchg(flags + me, 1)
for times in range(4):
    rounds.next_round(other_order=times % 2)
    t, f, s, o = torch.zeros(4, 6, dtype=torch.int32)
    kernel[(6,)](t, f, s, o)
    assert o.tolist() == [0, 1, 3, 6, 10, 15]
    f, s = torch.zeros(2, 6, dtype=torch.int32)
    in_order[(6,)](f, s)
    assert s.tolist() == o.tolist(), s
right = True
""",
        "",
    ),
    "programs that rely on their order": (
        """
@triton.jit
def kernel(running, o):
    tl.store(o + tl.program_id(0), tl.atomic_add(running, 1))
found = set()
for times in range(2):
    rounds.next_round(other_order=times)
    o = torch.zeros(4, dtype=torch.int32); kernel[(4,)](torch.zeros_like(o), o)
    found.add(tuple(o.tolist()))
right = found == {(0, 1, 2, 3), (3, 2, 1, 0)}
""",
        "",
    ),
    "a slice of a packed buffer": (
        """
@triton.jit
def kernel(k, o, B: tl.constexpr):
    at = tl.arange(0, B)
    tl.store(o + at, tl.load(k - B + at))
packed = torch.randn(3, 16); o = torch.empty(16); kernel[(1,)](packed[1], o, B=16)
right = torch.equal(o, packed[0])
""",
        "",
    ),
    "pointers in memory": (
        """
@triton.jit
def kernel(p, o, B: tl.constexpr):
    a = tl.load(p).to(tl.pointer_type(tl.float32))
    tl.store(o + tl.arange(0, B), tl.load(a + tl.arange(0, B)))
x = torch.randn(16); o = torch.empty(16); kernel[(1,)](torch.tensor([x.data_ptr()]), o, B=16)
right = torch.equal(o, x)
""",
        "",
    ),
    "bfloat16 arithmetic": (
        """
@triton.jit
def kernel(a, b, o, B: tl.constexpr):
    at = tl.arange(0, B)
    x = tl.load(a + at)
    y = tl.load(b + at)
    big = (x > y) & (x > 0)
    tl.store(o + at, tl.where(big, x * y + 1.5, -x) / 2)
x, y = torch.randn(2, 64).bfloat16(); o = torch.empty_like(x); kernel[(1,)](x, y, o, B=64)
right = torch.equal(o, torch.where((x > y) & (x > 0), x * y + 1.5, -x) / 2)
""",
        "",
    ),
    "bfloat16 dot": (
        """
@triton.jit
def kernel(a, b, o, B: tl.constexpr):
    i = tl.arange(0, B)
    at = i[:, None] * B + i[None, :]
    tl.store(o + at, tl.dot(tl.load(a + at), tl.load(b + at)))
a, b = torch.randn(2, 32, 32).bfloat16(); o = torch.empty(32, 32); kernel[(1,)](a, b, o, B=32)
right = torch.allclose(o, a.float() @ b.float(), atol=1e-5)
""",
        "",
    ),
    "a product of float32 is one of TF32": (
        """
@triton.jit
def kernel(a, b, o, p, B: tl.constexpr):
    i = tl.arange(0, B)
    at = i[:, None] * B + i[None, :]
    tl.store(o + at, tl.dot(tl.load(a + at), tl.load(b + at)))
    tl.store(p + at, tl.dot(tl.load(a + at), tl.load(b + at), input_precision="ieee"))
a, b = torch.randn(2, 32, 32); a[3, 4] = float("inf"); a[5, 6] = float("nan"); b[4] = 1.0
o, p = torch.empty(2, 32, 32); kernel[(1,)](a, b, o, p, B=32)
def cut(x):
    return torch.where(x.isfinite(), ((x.view(torch.int32) + 0x1000) & -0x2000).view(torch.float32), x)
right = torch.allclose(o, cut(a) @ cut(b), atol=1e-5, equal_nan=True) and torch.allclose(p, a @ b, atol=1e-5, equal_nan=True)
right = right and not torch.allclose(o, p, atol=1e-4, equal_nan=True)
""",
        "",
    ),
    "a product of float32 in six products of bfloat16 parts is as good as one of float32": (
        """
@triton.jit
def kernel(a, b, o, B: tl.constexpr):
    i = tl.arange(0, B)
    at = i[:, None] * B + i[None, :]
    tl.store(o + at, tl.dot(tl.load(a + at), tl.load(b + at), input_precision="bf16x6"))
a, b = torch.randn(2, 32, 32); o = torch.empty(32, 32); kernel[(1,)](a, b, o, B=32)
right = torch.allclose(o, a @ b, atol=1e-5)
""",
        "",
    ),
    "bfloat16 casts round to nearest even": (
        """
@triton.jit
def kernel(a, o, p, q, B: tl.constexpr):
    at = tl.arange(0, B)
    tl.store(o + at, tl.load(a + at).to(tl.bfloat16))
    tl.store(p + at, at.to(tl.bfloat16))
    tl.store(q + at, tl.load(o + at).to(tl.int32))
a = torch.randn(1024) * 100; a[3] = float("nan"); a[4] = float("inf"); a[5] = 3.4e38
o = torch.empty(1024, dtype=torch.bfloat16); p = torch.empty_like(o); q = torch.empty(1024, dtype=torch.int32)
kernel[(1,)](a, o, p, q, B=1024)
right = torch.equal(o.nan_to_num(0), a.bfloat16().nan_to_num(0)) and o[3].isnan().item()
right = right and torch.equal(p, torch.arange(1024).bfloat16()) and torch.equal(q[6:], o[6:].int())
""",
        "",
    ),
    "bfloat16 reductions and atomics": (
        """
@triton.jit
def kernel(a, o, B: tl.constexpr):
    x = tl.load(a + tl.arange(0, B))
    tl.store(o, tl.sum(x, axis=0))
    tl.store(o + 1, tl.max(x, axis=0))
    tl.atomic_add(o + 2 + tl.arange(0, B) * 0, x)
a = torch.randint(-4, 4, (32,)).bfloat16(); o = torch.zeros(3, dtype=torch.bfloat16)
kernel[(1,)](a, o, B=32)
right = o.tolist() == [a.sum().item(), a.max().item(), a.sum().item()]
""",
        "",
    ),
    "maximum drops NaN, as the hardware does": (
        """
@triton.jit
def kernel(a, o, p, B: tl.constexpr):
    x = tl.load(a + tl.arange(0, B))
    tl.store(o + tl.arange(0, B), tl.maximum(x, 0.0))
    tl.store(p + tl.arange(0, B), tl.maximum(x, 0.0, propagate_nan=tl.PropagateNan.ALL))
a = torch.tensor([float("nan"), -1.0]); o = torch.empty(2); p = torch.empty(2); kernel[(1,)](a, o, p, B=2)
right = o.tolist() == [0, 0] and p.isnan().tolist() == [True, False]
""",
        "",
    ),
    "libdevice": (
        """
@triton.jit
def kernel(a, o, B: tl.constexpr):
    x = tl.load(a + tl.arange(0, B))
    tl.store(o + tl.arange(0, B), libdevice.tanh(x) + libdevice.pow(x, 2.0) + libdevice.rsqrt(tl.sum(x, axis=0)))
a = torch.rand(32); o = torch.empty(32); kernel[(1,)](a, o, B=32)
right = torch.allclose(o, a.tanh() + a**2 + a.sum().rsqrt(), atol=1e-6)
""",
        "",
    ),
    "autotune takes a config without a GPU": (
        """
@triton.autotune([triton.Config({"B": 64}), triton.Config({"B": 256})], key=["n"])
@triton.jit
def kernel(o, n, B: tl.constexpr):
    at = tl.program_id(0) * B + tl.arange(0, B)
    tl.store(o + at, tl.load(o + at, mask=at < n) + 1, mask=at < n)
o = torch.zeros(300); kernel[lambda meta: (triton.cdiv(300, meta["B"]),)](o, 300)
right = bool((o == 1).all())
""",
        "",
    ),
    "autotune takes one config after another": (
        """
@triton.autotune([triton.Config({"B": b}) for b in (16, 32, 64)], key=["n"])
@triton.jit
def kernel(o, p, n, B: tl.constexpr):
    at = tl.arange(0, B)
    tl.store(p + at, tl.load(o + at) + B)
found = []
for times in range(6):
    rounds.next_round()
    p = torch.zeros(64)
    kernel[(1,)](torch.zeros(64), p, 64)
    kernel[(1,)](torch.zeros(64), p, 64)
    found.append(int(p[0]))
right = found == [16, 16, 32, 64, 64, 16]
""",
        "",
    ),
    "autotune leaves out what a static assertion refuses": (
        """
@triton.autotune([triton.Config({"B": b}) for b in (16, 32, 64)], key=["n"])
@triton.jit
def kernel(o, n: tl.constexpr, B: tl.constexpr):
    tl.static_assert(B <= n)
    tl.store(o + tl.arange(0, B), B + 0.0)
found = {32: set(), 64: set()}
for times in range(6):
    for n in found:
        o = torch.zeros(64); kernel[(1,)](o, n); found[n].add(int(o[0]))
    rounds.next_round()
right = found == {32: {16, 32}, 64: {16, 32, 64}}
""",
        "",
    ),
    "autotune has no configuration that compiles": (
        """
@triton.autotune([triton.Config({"B": b}) for b in (16, 32)], key=["n"])
@triton.jit
def kernel(o, n, B: tl.constexpr):
    tl.static_assert(B > 32, "B is too small")
    tl.store(o + tl.arange(0, B), B + 0.0)
kernel[(1,)](torch.zeros(64), 64)
""",
        "unexpected InterpreterError: AssertionError('B is too small')",
    ),
    "what the tuner's own launches leave": (
        """
def made(**named):
    @triton.autotune([triton.Config({"B": b}) for b in (16, 32)], key=["n"], **named)
    @triton.jit
    def kernel(o, n, B: tl.constexpr):
        tl.atomic_add(o, 1.0)
    return kernel
rounds.next_round()
found = []
for kernel in (made(), made(reset_to_zero=["o"]), made(restore_value=["o"])):
    o = torch.zeros(1)
    for times in range(2):
        kernel[(1,)](o.zero_(), 64)
        found.append(int(o))
right = found == [3, 1, 1, 1, 1, 1]
""",
        "",
    ),
    "a hint that is not true": (
        """
@triton.jit
def kernel(o, n, B: tl.constexpr):
    start = tl.multiple_of(tl.program_id(0) * n, 16)
    tl.store(o + start + tl.arange(0, B), 1.0)
kernel[(2,)](torch.zeros(100), 17, B=16)
""",
        "unexpected FalsePromise: tl.multiple_of promises a multiple of 16, and the value is 17",
    ),
    "hints that are true": (
        """
@triton.jit
def kernel(o, n, B: tl.constexpr):
    o = tl.multiple_of(o, 16)
    at = tl.multiple_of(tl.program_id(0) * B, B) + tl.arange(0, B)
    at = tl.max_contiguous(tl.multiple_of(at % n, B), B)
    tl.store(o + at, 1.0)
o = torch.zeros(32); kernel[(2,)](o, 17, B=16)
right = bool((o[:17] == 1).all())
""",
        "",
    ),
    "a grid that CUDA refuses": (
        """
@triton.jit
def kernel(o):
    tl.store(o, 1.0)
kernel[(1, 65536)](torch.zeros(1))
""",
        "unexpected LaunchError: a grid of (1, 65536, 1): CUDA takes at most 65535 programs along y",
    ),
    "warps that CUDA refuses": (
        """
@triton.jit
def kernel(o):
    tl.store(o, 1.0)
kernel[(1,)](torch.zeros(1), num_warps=4)
kernel[(1,)](torch.zeros(1), num_warps=3)
""",
        "unexpected LaunchError: num_warps=3",
    ),
    "an accumulator that the compiler refuses": (
        """
@triton.jit
def kernel(x, o, n, B: tl.constexpr):
    total = tl.zeros((B,), dtype=tl.float16)
    for start in range(0, n, B):
        at = start + tl.arange(0, B)
        total += tl.load(x + at, mask=at < n, other=0.0)
    tl.store(o, tl.sum(total, axis=0))
kernel[(1,)](torch.rand(100), torch.empty(1), 100, B=32)
""",
        "unexpected CompilationError: total is fp16 before the loop at line 3 of the kernel and fp32 after a step of it",
    ),
    "accumulators that keep their types": (
        """
@triton.jit
def kernel(x, o, n, B: tl.constexpr):
    total = tl.zeros((B,), dtype=tl.float32)
    last = tl.zeros((B,), dtype=tl.float16)
    count, largest = 0, -float("inf")
    for start in range(0, n, B):
        at = start + tl.arange(0, B)
        last = tl.load(x + at, mask=at < n, other=0.0)
        for i in tl.range(0, 2):
            total += last
            count += 1
        largest = tl.maximum(largest, tl.max(last.to(tl.float32), axis=0))
    wide = last
    for i in tl.static_range(0, 1):
        wide = wide.to(tl.float32)
    tl.store(o, tl.sum(total + wide * 0, axis=0))
x = torch.rand(100).half(); o = torch.empty(1); kernel[(1,)](x, o, 100, B=32)
o64 = torch.empty(1, dtype=torch.float64); kernel[(1,)](x.half(), o64, 100, B=32)
right = torch.allclose(o, 2 * x.float().sum().reshape(1)) and torch.allclose(o64.float(), o)
""",
        "",
    ),
    "a name of a later loop with another type": (
        """
@triton.jit
def kernel(x, o, p, n, B: tl.constexpr):
    at = tl.arange(0, B)
    part = tl.zeros((B,), dtype=tl.float32)
    for start in range(0, n, B):
        value = tl.load(x + start + at)
        part += value
    tl.store(o, tl.sum(part, axis=0))
    part = tl.zeros((B,), dtype=tl.int32)
    for start in range(0, n, B):
        value = tl.load(p + start + at)
        part += value
    tl.store(o + 1, tl.sum(part, axis=0).to(tl.float32))
x = torch.rand(64); p = torch.arange(64, dtype=torch.int32); o = torch.empty(2); kernel[(1,)](x, o, p, 64, B=16)
right = torch.allclose(o, torch.stack([x.sum(), p.sum().float()]))
""",
        "",
    ),
    "a pointer to blocks": (
        """
@triton.jit
def kernel(x, o, m, n, B: tl.constexpr):
    rows = tl.make_block_ptr(x, (m, n), (n, 1), (tl.program_id(0) * B, 0), (B, B), (1, 0))
    out = tl.make_block_ptr(o, (m, n), (n, 1), (tl.program_id(0) * B, 0), (B, B), (1, 0))
    for _ in range(0, tl.cdiv(n, B)):
        value = tl.load(rows, boundary_check=(0, 1), padding_option="zero")
        tl.store(out, value * 2, boundary_check=(0, 1))
        rows = tl.advance(rows, (0, B))
        out = tl.advance(out, (0, B))
x = torch.randn(21, 37); o = torch.empty_like(x); kernel[(2,)](x, o, 21, 37, B=16)
right = torch.equal(o, 2 * x)
""",
        "",
    ),
    "a pointer to blocks without a check of the boundary": (
        """
@triton.jit
def kernel(x, o, m, n, B: tl.constexpr):
    rows = tl.make_block_ptr(x, (m, n), (n, 1), (tl.program_id(0) * B, 0), (B, B), (1, 0))
    tl.store(o + tl.arange(0, B), tl.sum(tl.load(rows), axis=0))
kernel[(2,)](torch.randn(21, 16), torch.empty(16), 21, 16, B=16)
""",
        "Out of bounds: load from x",
    ),
    "a descriptor of a tensor": (
        """
@triton.jit
def kernel(x, o, m, n, B: tl.constexpr):
    given = tl.make_tensor_descriptor(x, shape=[m, n], strides=[n, 1], block_shape=[B, B])
    out = tl.make_tensor_descriptor(o, shape=[m, n], strides=[n, 1], block_shape=[B, B])
    row, column = tl.program_id(0) * B, tl.program_id(1) * B
    out.store([row, column], given.load([row, column]) * 2)
x = torch.randn(21, 36); o = torch.empty_like(x); kernel[(2, 3)](x, o, 21, 36, B=16)
right = torch.equal(o, 2 * x)
""",
        "",
    ),
    "a loop to a loaded bound": (
        """
@triton.jit
def kernel(n, o):
    total = 0
    for i in range(tl.load(n)):
        total += i
    for i in tl.range(0, tl.cdiv(tl.load(n), 2)):
        total += i
    tl.store(o, total)
o = torch.zeros(1, dtype=torch.int32); kernel[(1,)](torch.tensor([5]), o)
right = o.item() == 13
""",
        "",
    ),
    "a float is a scalar of float32": (
        """
@triton.jit
def kernel(x, o, factor, B: tl.constexpr):
    at = tl.arange(0, B)
    value = tl.load(x + at) * factor
    tl.static_assert(value.dtype == tl.float32)
    tl.store(o + at, value + factor.to(tl.float16))
x = torch.rand(16).half(); o = torch.empty(16); kernel[(1,)](x, o, 0.1, B=16)
right = torch.equal(o, x.float() * torch.tensor(0.1) + torch.tensor(0.1).half())
""",
        "",
    ),
    "a constant times a tensor is a tensor": (
        """
ALPHA = tl.constexpr(0.5)
@triton.jit
def halved(x):
    return tl.exp(ALPHA * x)
@triton.jit
def kernel(x, o, B: tl.constexpr):
    at = tl.arange(0, B)
    tl.store(o + at, tl.where(ALPHA < tl.load(x + at), halved(tl.load(x + at)), 0.0))
x = torch.rand(16); o = torch.empty(16); kernel[(1,)](x, o, B=16)
right = torch.allclose(o, torch.where(x > 0.5, (x / 2).exp(), 0.0))
""",
        "",
    ),
    "`and`, `or` and `not` hold for each element": (
        """
@triton.jit
def widest(dtype):
    value: tl.constexpr = 1.0 if dtype.value.is_floating() else 2.0
    return value
@triton.jit
def kernel(x, o, n, B: tl.constexpr, EVEN: tl.constexpr):
    at = tl.arange(0, B)
    mask = at[:, None] < n and at[None, :] < n
    far = not (at[:, None] < 2 or (EVEN and at[None, :] < 3))
    at = at[:, None] * n + at[None, :]
    value = tl.load(x + at, mask=mask and (EVEN or far)) * widest(x.type.element_ty)
    tl.store(o + at, value, mask=mask and (EVEN or far))
x = torch.rand(5, 5); o = torch.zeros(5, 5); kernel[(1,)](x, o, 5, B=8, EVEN=False)
even = torch.zeros(5, 5); kernel[(1,)](x, even, 5, B=8, EVEN=True)
right = torch.equal(o[2:], x[2:]) and not o[:2].any() and torch.equal(even, x)
""",
        "",
    ),
    "a grid from the kernel's own arguments": (
        """
@triton.jit
def kernel(x, o, n, B: tl.constexpr):
    at = tl.program_id(0) * B + tl.arange(0, B)
    tl.store(o + at, tl.load(x + 0) + tl.load(x + at, mask=at < n), mask=at < n)
x = torch.rand(40); o = torch.empty(40)
kernel[lambda meta: (triton.cdiv(meta["n"], meta["B"]),)](x, o, 40, B=16)
right = torch.equal(o, x + x[0])
""",
        "",
    ),
    "a launch returns a handle": (
        """
@triton.jit
def kernel(x, o, n, B: tl.constexpr):
    at = tl.program_id(0) * B + tl.arange(0, B)
    tl.store(o + at, tl.load(x + at, mask=at < n), mask=at < n)
x = torch.rand(40); o, again = torch.empty(40), torch.empty(40)
warm = kernel.warmup(x, o, 40, B=16, num_warps=8, grid=(1,))
assert warm.metadata.num_warps == 8 and warm.n_regs > 0
handle = kernel[(3,)](x, o, 40, B=16)
handle[(3,)](x, again, 40)
right = torch.equal(o, x) and torch.equal(again, x)
""",
        "",
    ),
    "what no handle has": (
        """
@triton.jit
def kernel(o):
    tl.store(o, 1.0)
handle = kernel[(1,)](torch.empty(1))
handle.asm["ptx"]
""",
        "unexpected AttributeError: asm of a compiled kernel is not supported without a GPU: "
        "Triton's interpreter compiles none",
    ),
    "Gluon": (
        """
from triton.experimental import gluon
from triton.experimental.gluon import language as gl
@gluon.jit
def kernel(o):
    gl.store(o, 1.0)
kernel[(1,)](torch.empty(1))
""",
        "unexpected NotSupported: kernel is a Gluon kernel, which is not supported without a GPU",
    ),
}

PROGRAM = """\
import importlib.util, json, sys
from kernelwright.proof.worker.interpreter.hardened import InterpreterFault, install
install()
install()
outcomes = {}
for path in sys.argv[1:]:
    spec = importlib.util.spec_from_file_location("case", path)
    module = importlib.util.module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
        outcomes[path] = "" if getattr(module, "right", False) else "wrong result"
    except InterpreterFault as fault:
        outcomes[path] = str(fault)
    except Exception as error:
        outcomes[path] = f"unexpected {type(error).__name__}: {error}"
print(json.dumps(outcomes))
"""


@pytest.fixture(scope="module")
def outcomes(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """The fault, or the lack of one, for every case."""
    folder = tmp_path_factory.mktemp("cases")
    paths: dict[str, Path] = {name: folder / f"case_{number}.py" for number, name in enumerate(CASES)}
    for name, path in paths.items():
        path.write_text(PRELUDE + CASES[name][0])
    environment = {**os.environ, "TRITON_INTERPRET": "1"}
    ran = subprocess.run(
        [sys.executable, "-c", PROGRAM, *map(str, paths.values())],
        capture_output=True,
        text=True,
        env=environment,
        timeout=120,
    )
    assert ran.returncode == 0, ran.stderr
    found = json.loads(ran.stdout.splitlines()[-1])
    return {name: found[str(path)] for name, path in paths.items()}


@pytest.mark.parametrize("name", CASES)
def test_the_interpreter(name: str, outcomes: dict[str, str]) -> None:
    _, expected = CASES[name]
    assert outcomes[name].startswith(expected)
    assert expected or not outcomes[name]
