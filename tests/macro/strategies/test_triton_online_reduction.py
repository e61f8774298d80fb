"""Online reduction: the worked example, the two variants against torch, and what is refused."""

from pathlib import Path

import pytest
import torch

from kernelwright.coders.carrying_out import carried_out
from kernelwright.macro.strategies.triton_online_reduction import STRATEGY
from macro.triton_files import HEAD, observe, refusal, rewritten, run_interpreted, run_python
from micro.rewrite.run_fused import load

LOG_SOFTMAX = (
    HEAD
    + """\
@triton.jit
def log_softmax_kernel(x_ptr, y_ptr, stride, n, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    m = tl.full([BLOCK], float("-inf"), dtype=tl.float32)
    for i in range(0, n, BLOCK):
        idx = i + tl.arange(0, BLOCK)
        v = tl.load(x_ptr + row * stride + idx, mask=idx < n, other=float("-inf"))
        m = tl.maximum(m, v)
    top = tl.max(m, axis=0)
    s = tl.zeros([BLOCK], dtype=tl.float32)
    for j in range(0, n, BLOCK):
        jdx = j + tl.arange(0, BLOCK)
        keep = jdx < n
        w = tl.load(x_ptr + row * stride + jdx, mask=jdx < n, other=0.0)
        s += tl.where(keep, tl.exp(w - top), 0.0)
    total = tl.sum(s, axis=0)
    log_total = tl.log(total)
    for i in range(0, n, BLOCK):
        idx = i + tl.arange(0, BLOCK)
        v = tl.load(x_ptr + row * stride + idx, mask=idx < n)
        tl.store(y_ptr + row * n + idx, v - top - log_total, mask=idx < n)


# workload: log_softmax(randn(64, 1000))
def log_softmax(x):
    y = torch.empty_like(x)
    BLOCK = 64
    log_softmax_kernel[(x.shape[0],)](x, y, x.stride(0), x.shape[1], BLOCK)
    return y
"""
)

LAYER_NORM = (
    HEAD
    + """\
@triton.jit
def layer_norm_kernel(X, Y, W, B, stride, N, eps, BLOCK_SIZE: tl.constexpr):
    row = tl.program_id(0)
    Y += row * stride
    X += row * stride
    # Compute mean
    mean = 0
    _mean = tl.zeros([BLOCK_SIZE], dtype=tl.float32)
    for off in range(0, N, BLOCK_SIZE):
        cols = off + tl.arange(0, BLOCK_SIZE)
        a = tl.load(X + cols, mask=cols < N, other=0.).to(tl.float32)
        _mean += a
    mean = tl.sum(_mean, axis=0) / N
    # Compute variance
    _var = tl.zeros([BLOCK_SIZE], dtype=tl.float32)
    for off in range(0, N, BLOCK_SIZE):
        cols = off + tl.arange(0, BLOCK_SIZE)
        x = tl.load(X + cols, mask=cols < N, other=0.).to(tl.float32)
        x = tl.where(cols < N, x - mean, 0.)
        _var += x * x
    var = tl.sum(_var, axis=0) / N
    rstd = 1 / tl.sqrt(var + eps)
    for off in range(0, N, BLOCK_SIZE):
        cols = off + tl.arange(0, BLOCK_SIZE)
        mask = cols < N
        w = tl.load(W + cols, mask=mask)
        b = tl.load(B + cols, mask=mask)
        x = tl.load(X + cols, mask=mask, other=0.).to(tl.float32)
        tl.store(Y + cols, (x - mean) * rstd * w + b, mask=mask)


# workload: layer_norm(randn(64, 1000), rand(1000), rand(1000))
def layer_norm(x, weight, bias, eps=1e-5):
    y = torch.empty_like(x)
    M, N = x.shape
    layer_norm_kernel[(M,)](x, y, weight, bias, x.stride(0), N, eps, BLOCK_SIZE=64, num_warps=4)
    return y
"""
)

TILE_SOFTMAX = (
    HEAD
    + """\
@triton.jit
def tile_kernel(x_ptr, y_ptr, rows, n, ROWS: tl.constexpr, BLOCK: tl.constexpr):
    r = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    peak = tl.full([ROWS], -float("inf"), tl.float32)
    for k in range(0, n, BLOCK):
        c = k + tl.arange(0, BLOCK)
        inside = (r[:, None] < rows) & (c[None, :] < n)
        x = tl.load(x_ptr + r[:, None] * n + c[None, :], mask=inside, other=-float("inf"))
        peak = tl.maximum(peak, tl.max(x, axis=1))
    z = tl.zeros([ROWS], tl.float32)
    for k in range(0, n, BLOCK):
        c = k + tl.arange(0, BLOCK)
        inside = (r[:, None] < rows) & (c[None, :] < n)
        x = tl.load(x_ptr + r[:, None] * n + c[None, :], mask=inside, other=-float("inf"))
        z = z + tl.sum(tl.exp2((x - peak[:, None]) * 1.4426950408889634), axis=1)
    for k in range(0, n, BLOCK):
        c = k + tl.arange(0, BLOCK)
        inside = (r[:, None] < rows) & (c[None, :] < n)
        x = tl.load(x_ptr + r[:, None] * n + c[None, :], mask=inside, other=-float("inf"))
        tl.store(y_ptr + r[:, None] * n + c[None, :], tl.exp(x - peak[:, None]) / z[:, None], mask=inside)


# workload: tile_softmax(randn(64, 1000))
def tile_softmax(x):
    y = torch.empty_like(x)
    rows, n = x.shape
    tile_kernel[(triton.cdiv(rows, 4),)](x, y, rows, n, ROWS=4, BLOCK=64)
    return y
"""
)

CHECK = """
import importlib, sys, torch
torch.manual_seed(0)
rows = [torch.randn(s) * 3 for s in ((3, 1), (4, 7), (5, 64), (3, 65), (2, 1000))]
odd = torch.randn(5, 700)
odd[0, :300] = -float("inf")
odd[1] = -float("inf")
odd[2, 5] = float("inf")
odd[3, 69] = float("nan")
odd[4, 200:] = -float("inf")
def close(name, got, want):
    assert torch.allclose(got, want, atol=2e-5, rtol=1e-4, equal_nan=True), (name, want.shape, (got - want).abs().max())
for name in NAMES:
    module = importlib.import_module(name)
    for x in (*rows, odd):
        if name.startswith("layer_norm"):
            x = x + 1000
            if not torch.isfinite(x).all():
                continue
            w, b = torch.rand(x.shape[1]), torch.rand(x.shape[1])
            want = torch.nn.functional.layer_norm(x.double(), x.shape[1:], w.double(), b.double()).float()
            got = module.layer_norm(x, w, b)
            assert torch.allclose(got, want, atol=2e-3), (name, x.shape, (got - want).abs().max())
        elif name.startswith("log_softmax"):
            close(name, module.log_softmax(x), torch.log_softmax(x, -1))
        elif name.startswith("tile"):
            close(name, module.tile_softmax(x), torch.softmax(x, -1))
        else:
            close(name, module.softmax(x), torch.softmax(x, -1))
"""

COMPILE = """
import importlib, triton
from triton.compiler import ASTSource
from triton.backends.compiler import GPUTarget
for name in NAMES:
    module = importlib.import_module(name)
    kernel = next(v for v in vars(module).values() if isinstance(v, triton.JITFunction))
    types = {p: "constexpr" if p in ("BLOCK", "BLOCK_SIZE", "ROWS") else "fp32" if p == "eps"
             else "*fp32" if p.endswith("_ptr") or p in "XYWB" else "i32" for p in kernel.arg_names}
    constants = {p: 4 if p == "ROWS" else 1024 for p, kind in types.items() if kind == "constexpr"}
    built = triton.compile(ASTSource(kernel, types, constants), target=GPUTarget("cuda", 90, 32), options={"num_warps": 4})
    assert built.asm["cubin"]
"""


def variants() -> dict[str, str]:
    sources = {
        "softmax": STRATEGY.example.before.replace("BLOCK=1024", "BLOCK=64"),
        "log_softmax": LOG_SOFTMAX,
        "layer_norm": LAYER_NORM,
        "tile": TILE_SOFTMAX,
    }
    return {
        f"{name}_{i}": text for name, source in sources.items() for i, text in enumerate(rewritten(STRATEGY, source))
    }


def test_the_worked_example() -> None:
    assert rewritten(STRATEGY, STRATEGY.example.before)[0] == STRATEGY.example.after


def test_every_variant_computes_what_torch_does(tmp_path: Path) -> None:
    files = variants()
    assert set(files) >= {
        "softmax_0",
        "softmax_1",
        "log_softmax_0",
        "log_softmax_1",
        "layer_norm_0",
        "layer_norm_1",
        "tile_0",
    }
    run_interpreted(tmp_path, files, CHECK.replace("NAMES", repr(list(files))))


def test_every_variant_compiles_for_sm_90(tmp_path: Path) -> None:
    files = variants()
    for name, text in files.items():
        (tmp_path / f"{name}.py").write_text(text, encoding="utf-8")
    run_python(tmp_path, COMPILE.replace("NAMES", repr(list(files))))


def test_the_row_in_one_block_is_read_once() -> None:
    whole = rewritten(STRATEGY, STRATEGY.example.before)[1]
    assert whole.count("tl.load(") == 1
    assert "for " not in whole.split("# workload")[0]
    assert "BLOCK = triton.next_power_of_2(n_cols)" in whole


def test_a_row_that_no_block_takes_is_refused_by_the_launcher(tmp_path: Path) -> None:
    observation = observe(STRATEGY.example.before)
    whole = rewritten(STRATEGY, STRATEGY.example.before)[1]
    with pytest.raises(ValueError, match=r"softmax takes rows of at most 2\*\*20 elements"):
        load(tmp_path, "whole", whole).softmax(torch.empty(1, 2**20 + 8))
    action, *_ = STRATEGY.find(observation)
    assert "at most 2**20 elements" in carried_out(STRATEGY, observation, action)[1].summary


def test_a_mean_without_variance_is_only_offered_in_one_block() -> None:
    text = LAYER_NORM.replace("_var += x * x", "_var += tl.abs(x)")
    for variant in rewritten(STRATEGY, text):
        assert "for off in" not in variant


ONE_BLOCK_AWAY = ("(n_rows,)", "(n_rows * triton.cdiv(n_cols, 1024) // triton.cdiv(n_cols, 1024),)")
BEFORE = STRATEGY.example.before


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (
            BEFORE.replace("tl.exp(x - row_max), axis=0)", "x, axis=0)").replace(*ONE_BLOCK_AWAY),
            "not one of exp(x - row_max)",
        ),
        (
            BEFORE.replace("tl.exp(x - row_max), axis=0)", "tl.exp(2 * x - row_max), axis=0)").replace(*ONE_BLOCK_AWAY),
            "something else",
        ),
        (
            BEFORE.replace(
                "        total +=", "        tl.store(out_ptr + cols, x, mask=mask)\n        total +="
            ).replace(*ONE_BLOCK_AWAY),
            "writes to memory",
        ),
        (
            LAYER_NORM.replace("x = tl.where(cols < N, x - mean, 0.)", "x = x - mean").replace(
                "BLOCK_SIZE=64", "BLOCK_SIZE=config.block"
            ),
            "Masked lanes",
        ),
        (
            BEFORE.replace("        x = tl.load", "        if row > 0:\n            pass\n        x = tl.load"),
            "more than an assignment",
        ),
        (HEAD + "@triton.jit\ndef k(x):\n    tl.store(x, 1)\n\ndef f(x):\n    k[(1,)](x)\n", "no loop"),
    ],
)
def test_refusals_say_why_and_where(text: str, words: str) -> None:
    answer = refusal(STRATEGY, text)
    assert words in answer.reason
    assert answer.line is not None
