"""Which rewrites are measured of which function, on which sizes: the rows of `benchmarks.accuracy`."""

import operator

import torch
import torch.nn.functional as F
from benchmarks import rewrites as r
from benchmarks import row_rewrites as rows
from benchmarks.rewrites import Family

_ROWS = (((64, 256),), ((64, 2048),), ((16, 16384),))
_FLAT = (((64, 64),), ((512, 512),))
_MATRICES = tuple(((96, k), (k, 128)) for k in (64, 512, 4096))
_HEADS = (((128, 64), (256, 64), (256, 64)), ((128, 64), (2048, 64), (2048, 64)))


def _row(shapes: tuple[tuple[int, ...], ...]) -> int:
    return shapes[0][-1]


def _one(shapes: tuple[tuple[int, ...], ...]) -> int:
    return 1


_IN_BLOCKS_16 = r.by_blocks_of_k(16, torch.float16)

FAMILIES = (
    Family(
        "exp(-|x|)",
        r.decayed,
        _FLAT,
        _one,
        {"exp2(x log2 e)": lambda x: r.exp2(-x.abs())},
        {
            "polynomial of degree 5": lambda x: r.exp_of_degree_5(-x.abs()),
            "line in the bits": lambda x: r.exp_by_bits(-x.abs()),
            "bf16 inside": r.through(torch.bfloat16, r.decayed),
        },
        {"fp32 inside": r.wide(lambda x: r.exp2(-x.abs()))},
    ),
    Family(
        "exp(x)",
        torch.exp,
        _FLAT,
        _one,
        {"exp2(x log2 e)": r.exp2},
        {"polynomial of degree 5": r.exp_of_degree_5},
        {"fp32 inside": r.wide(r.exp2)},
    ),
    Family(
        "silu(0.7 x + y) tanh(y) + x",
        r.gated,
        (((64, 64), (64, 64)), ((512, 512), (512, 512))),
        _one,
        {"fused, sigmoid by exp2": r.gated_by_exp2},
        {"bf16 intermediates": r.gated_in_bfloat16, "fp16 inside": r.through(torch.float16, r.gated)},
        {"fused, fp32 inside": r.wide(r.gated_by_exp2)},
    ),
    Family(
        "gelu",
        F.gelu,
        _FLAT,
        _one,
        {"by erf": lambda x: 0.5 * x * (1 + torch.erf(x * 0.7071067811865476))},
        {
            "tanh for erf": lambda x: F.gelu(x, approximate="tanh"),
            "x sigmoid(1.702 x)": lambda x: x * (1.702 * x).sigmoid(),
        },
        {"fp32 inside": r.wide(lambda x: 0.5 * x * (1 + torch.erf(x * 0.7071067811865476)))},
    ),
    Family(
        "softmax",
        lambda x: torch.softmax(x, 1),
        _ROWS,
        _row,
        {
            "online, in blocks": rows.online_softmax,
            "by exp": rows.softmax_by(torch.exp),
            "by exp2": rows.softmax_by(r.exp2),
        },
        {
            "polynomial of degree 5": rows.softmax_by(r.exp_of_degree_5),
            "bf16 inside": r.through(torch.bfloat16, lambda x: torch.softmax(x, 1)),
            "fp16 inside": r.through(torch.float16, lambda x: torch.softmax(x, 1)),
        },
        {"online, fp32 inside": r.wide(rows.online_softmax)},
    ),
    Family(
        "layer_norm",
        rows.layer_norm,
        _ROWS,
        _row,
        {
            "two passes": rows.two_pass,
            "Welford, in blocks": rows.welford,
            "E[x^2] - E[x]^2, centred data": rows.variance_of_squares,
        },
        {
            "bf16 intermediates": lambda x: r.bfloat16(
                r.bfloat16(x - x.mean(1, keepdim=True)) * x.std(1, keepdim=True) ** -1
            )
        },
        {"Welford, fp32 inside": r.wide(rows.welford)},
    ),
    Family(
        "layer_norm of x + 30",
        lambda x: rows.layer_norm(x + 30),
        _ROWS,
        _row,
        {"Welford, in blocks": lambda x: rows.welford(x + 30)},
        {"E[x^2] - E[x]^2": lambda x: rows.variance_of_squares(x + 30)},
    ),
    Family(
        "sum",
        lambda x: x.sum(1),
        (((64, 256),), ((64, 2048),), ((64, 8192),)),
        _row,
        {"one accumulator": rows.one_accumulator(), "Kahan": rows.kahan, "in blocks": rows.in_blocks},
        {
            "fp16 accumulator": rows.one_accumulator(torch.float16),
            "bf16 accumulator": rows.one_accumulator(torch.bfloat16),
        },
        {"fp32 inside, in blocks": rows.in_blocks, "fp32 inside, one accumulator": rows.one_accumulator()},
        {"16-bit accumulator": lambda x: rows.one_accumulator(x.dtype)(x)},
    ),
    Family(
        "matrix product",
        operator.matmul,
        _MATRICES,
        _row,
        {
            "split-K": r.split_k,
            "blocks of 32 along K": r.by_blocks_of_k(32),
            "three bf16 parts": r.in_parts(r.bfloat16, 3),
            "two TF32 parts, error corrected": r.in_parts(r.tf32, 2),
        },
        {
            "TF32": r.tf32_flag,
            "TF32, operands cut": r.operands(r.tf32_cut, operator.matmul),
            "fp16 operands": r.operands(r.float16, operator.matmul),
            "fp16 throughout": r.through(torch.float16, operator.matmul),
            "fp16, fp16 accumulator": lambda a, b: _IN_BLOCKS_16(a.half(), b.half()).float(),
            "bf16 operands": r.operands(r.bfloat16, operator.matmul),
            "bf16 throughout": r.through(torch.bfloat16, operator.matmul),
            "two bf16 parts": r.in_parts(r.bfloat16, 2),
            "weights in eight bits": r.eight_bits,
        },
        {"split-K, fp32 sums": r.split_k, "blocks of 32 along K": r.by_blocks_of_k(32)},
        {"16-bit accumulator, blocks of 16": lambda a, b: r.by_blocks_of_k(16, a.dtype)(a, b)},
    ),
    Family(
        "attention",
        r.attention,
        _HEADS,
        lambda shapes: shapes[1][0],
        {"flash, in blocks": r.flash_attention},
        {"TF32 products": r.attention_rounding(r.tf32), "bf16 products": r.attention_rounding(r.bfloat16)},
        {"flash, fp32 inside": r.wide(r.flash_attention)},
    ),
)
