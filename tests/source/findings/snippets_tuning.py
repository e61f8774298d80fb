"""Right and wrong Triton code around launches: autotuning, copies before them, the width of offsets."""

from source.findings.snippets_triton import of

WRONG: dict[str, list[str]] = {}
RIGHT: dict[str, list[str]] = {}

CONFIGS = 'configs=[triton.Config({"BLOCK": 256}), triton.Config({"BLOCK": 1024})]'


def drop(key: str) -> str:
    return f"""
@triton.autotune({CONFIGS}, key={key})
@triton.jit
def drop(x_ptr, y_ptr, n, p, seed, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offs, mask=offs < n)
    y = tl.where(tl.rand(seed, offs) > p, x / (1 - p), 0.0)
    tl.store(y_ptr + offs, y, mask=offs < n)
"""


def attend(passed: str, name: str = "seqlen_q", before: str = "") -> str:
    return f"""
@triton.autotune({CONFIGS}, key=["{name}"])
@triton.jit
def scores(q_ptr, o_ptr, n, {name}, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    q = tl.load(q_ptr + offs, mask=offs < {name}, other=0.0)
    tl.store(o_ptr + offs, q, mask=offs < n)

def run(q, o):
{before}    grid = lambda meta: (triton.cdiv(q.shape[0], meta["BLOCK"]),)
    scores[grid](q, o, q.shape[0], {passed})
"""


WRONG["triton.autotune-retunes"] = of(
    drop('["n", "p"]'),
    drop('["n", "seed"]'),
    attend("q.shape[0]"),
    attend("length", "max_seq_len", "    length = q.size(0)\n"),
    attend("q.shape[0]", "N_CTX"),
)

RIGHT["triton.autotune-retunes"] = of(
    drop('["n"]'),
    drop('("n",)'),
    attend("triton.next_power_of_2(q.shape[0])"),
    attend("q.shape[0] // 32", "CACHE_KEY_SEQLEN_Q"),
    attend("bucket", "max_seq_len", "    bucket = 1 << (q.shape[0] - 1).bit_length()\n"),
    # a diagonal that ends a loop, and a number that sizes the grid
    f"""
@triton.autotune({CONFIGS}, key=["n", "last"])
@triton.jit
def total(x_ptr, y_ptr, n, last, BLOCK: tl.constexpr):
    acc = tl.zeros((BLOCK,), dtype=tl.float32)
    for start in range(0, last, BLOCK):
        offs = start + tl.arange(0, BLOCK)
        acc += tl.load(x_ptr + offs, mask=offs < n, other=0.0)
    tl.store(y_ptr, tl.sum(acc, axis=0))
""",
    f"""
@triton.autotune({CONFIGS}, key=["n", "rows"])
@triton.jit
def mean(x_ptr, y_ptr, n, rows, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offs, mask=offs < n, other=0.0)
    tl.store(y_ptr + offs, x / rows, mask=offs < n)

def run(x, y, n, rows):
    mean[lambda meta: (triton.cdiv(rows, meta["BLOCK"]),)](x, y, n, rows)
""",
)


def product(configs: str, loop: str = "range(0, K, B)", after: str = "") -> str:
    return f"""
@triton.autotune(configs={configs}, key=["K"])
@triton.jit
def product(a_ptr, b_ptr, c_ptr, K, B: tl.constexpr):
    i = tl.arange(0, B)
    acc = tl.zeros((B, B), dtype=tl.float32)
    for k in {loop}:
        a = tl.load(a_ptr + i[:, None] * K + k + i[None, :], mask=k + i[None, :] < K, other=0.0)
        b = tl.load(b_ptr + (k + i[:, None]) * B + i[None, :], mask=k + i[:, None] < K, other=0.0)
        acc += tl.dot(a, b)
    tl.store(c_ptr + i[:, None] * B + i[None, :], acc)
{after}"""


TWO = '[triton.Config({"B": 64}, num_warps=4), triton.Config({"B": 128}, num_warps=8)]'
WRONG["triton.stages"] = of(
    product(TWO),
    product('[triton.Config({"B": b}, num_warps=w) for b in (32, 64) for w in (4, 8)]'),
    product('[triton.Config({"B": 64}), triton.Config({"B": 128})]', "tl.range(0, K, B)"),
    product(TWO, after="\ndef run(a, b, c):\n    product[(1,)](a, b, c, a.shape[1])\n"),
)

RIGHT["triton.stages"] = of(
    product('[triton.Config({"B": 64}, num_stages=4), triton.Config({"B": 128}, num_stages=2)]'),
    product('[triton.Config({"B": 64}, 4, 3), triton.Config({"B": 128}, 8, 2)]'),
    product('[triton.Config({"B": 64}, num_warps=4)]'),
    product('[triton.Config({"B": b}, num_stages=s) for b in (32, 64) for s in (2, 4)]'),
    product('[triton.Config({"B": 64}, **OPTIONS), triton.Config({"B": 128}, **OPTIONS)]'),
    product('[*MORE, triton.Config({"B": 64}), triton.Config({"B": 128})]'),
    product('MORE + [triton.Config({"B": 64}), triton.Config({"B": 128})]'),
    product(TWO, "tl.range(0, K, B, num_stages=4)"),
    product(TWO, after="\ndef run(a, b, c):\n    product[(1,)](a, b, c, a.shape[1], num_stages=2)\n"),
    f"""
@triton.autotune({CONFIGS}, key=["n"])
@triton.jit
def total(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    acc = tl.zeros((BLOCK,), dtype=tl.float32)
    for start in range(0, n, BLOCK):
        offs = start + tl.arange(0, BLOCK)
        acc += tl.load(x_ptr + offs, mask=offs < n, other=0.0)
    tl.store(y_ptr, tl.sum(acc, axis=0))
""",
)


def doubled(launcher: str, index: str = "row * sx_m + cols * sx_n") -> str:
    return f"""
@triton.jit
def double(x_ptr, y_ptr, n, sx_m, sx_n, sy_m, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    cols = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + {index}, mask=cols < n)
    tl.store(y_ptr + row * sy_m + cols, 2 * x, mask=cols < n)

def run(x, y):
    rows, n = x.shape
{launcher}"""


STRIDES = "BLOCK=triton.next_power_of_2(n)"
WRONG["triton.needless-contiguous"] = of(
    doubled(
        f"    x = x.contiguous()\n    double[(rows,)](x, y, n, x.stride(0), x.stride(1), y.stride(0), {STRIDES})\n"
    ),
    doubled(
        "    dense = x.contiguous()\n"
        f"    double[(rows,)](dense, y, n, dense.stride(0), dense.stride(1), y.stride(0), {STRIDES})\n"
    ),
    doubled(
        "    x = x.contiguous()\n    sm, sn = x.stride()\n"
        f"    double[(rows,)](x, y, n, sm, sn, y.stride(0), {STRIDES})\n"
    ),
    """
@triton.jit
def product(a_ptr, b_ptr, c_ptr, K, am, ak, bk, bn, B: tl.constexpr):
    i = tl.arange(0, B)
    a_ptrs = a_ptr + i[:, None] * am + i[None, :] * ak
    b_ptrs = b_ptr + (i[:, None] * bk + i[None, :] * bn)
    acc = tl.zeros((B, B), dtype=tl.float32)
    for k in range(0, K, B):
        a = tl.load(a_ptrs, mask=k + i[None, :] < K, other=0.0)
        b = tl.load(b_ptrs, mask=k + i[:, None] < K, other=0.0)
        acc += tl.dot(a, b)
        a_ptrs += B * ak
        b_ptrs += B * bk
    tl.store(c_ptr + i[:, None] * B + i[None, :], acc)

def run(a, b, c):
    a = a.contiguous()
    product[(1,)](a, b, c, a.shape[1], a.stride(0), a.stride(1), b.stride(0), b.stride(1), B=64)
""",
)

WRONG["triton.needless-contiguous"] += of(
    """
@triton.jit
def total(x_ptr, y_ptr, n, sx, BLOCK: tl.constexpr):
    cols = tl.arange(0, BLOCK)
    acc = tl.zeros((BLOCK,), dtype=tl.float32)
    for start in range(0, n, BLOCK):
        acc += tl.load(x_ptr + cols * sx, mask=start + cols < n, other=0.0)
        x_ptr += BLOCK * sx
    tl.store(y_ptr, tl.sum(acc, axis=0))

def run(x, y):
    x = x.contiguous()
    total[(1,)](x, y, x.shape[0], x.stride(0), BLOCK=1024)
""",
)

RIGHT["triton.needless-contiguous"] = of(
    # written to: without the copy the kernel would change what the caller passed
    """
@triton.jit
def double(x_ptr, n, sx, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offs * sx, mask=offs < n)
    tl.store(x_ptr + offs * sx, 2 * x, mask=offs < n)

def run(x):
    copy = x.contiguous()
    double[(triton.cdiv(x.shape[0], 1024),)](copy, x.shape[0], copy.stride(0), BLOCK=1024)
""",
    doubled(f"    double[(rows,)](x, y, n, x.stride(0), x.stride(1), y.stride(0), {STRIDES})\n"),
    # turned first: the copy lays it out anew, so that neighbours are read together
    doubled(
        f"    x = x.t().contiguous()\n    double[(rows,)](x, y, n, x.stride(0), x.stride(1), y.stride(0), {STRIDES})\n"
    ),
    # an index without a stride counts on the layout
    doubled(
        f"    x = x.contiguous()\n    double[(rows,)](x, y, n, x.stride(0), 1, y.stride(0), {STRIDES})\n",
        "row * sx_m + cols",
    ),
    doubled(
        f"    x = x.contiguous()\n    double[(rows,)](x, y, n, x.stride(0), x.stride(1), y.stride(0), {STRIDES})\n",
        "row * n + cols",
    ),
    # a layout that is asked for, and a copy that is used for more
    doubled(
        "    if x.stride(-1) != 1:\n        x = x.contiguous()\n"
        f"    double[(rows,)](x, y, n, x.stride(0), x.stride(1), y.stride(0), {STRIDES})\n"
    ),
    doubled(
        "    x = x.contiguous()\n"
        f"    double[(rows,)](x, y, n, x.stride(0), x.stride(1), y.stride(0), {STRIDES})\n"
        "    return x.view(-1)\n"
    ),
    doubled(
        "    x = x.contiguous(memory_format=torch.channels_last)\n"
        f"    double[(rows,)](x, y, n, x.stride(0), x.stride(1), y.stride(0), {STRIDES})\n"
    ),
)


def zero(offsets: str, line: str, launcher: str = "") -> str:
    return f"""
@triton.jit
def zero(y_ptr, n, BLOCK: tl.constexpr):
    offs = {offsets}
    tl.store(y_ptr + offs, 0.0, mask=offs < n)

def clear(y):
{launcher}    zero[(triton.cdiv(y.numel(), 1024),)](y, y.numel(), BLOCK=1024)

{line}
"""


SMALL = "# workload: clear(zeros(4096, 4096))"
LANES = "tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)"
WRONG["triton.wide-offset"] = of(
    zero(f"({LANES}).to(tl.int64)", SMALL),
    zero("tl.program_id(0) * BLOCK + tl.arange(0, BLOCK).to(tl.int64)", SMALL),
    zero(f"({LANES}).to(tl.uint64)", SMALL),
    zero(f"({LANES}).to(tl.int64)", SMALL, "    y = y.contiguous()\n"),
)

RIGHT["triton.wide-offset"] = of(
    zero(LANES, SMALL),
    zero("tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)", SMALL),
    zero(
        "tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK).to(tl.int64)",
        "# workload: clear(zeros(65536, 65536))",
    ),
    zero(f"({LANES}).to(tl.int64)", ""),
    zero(f"({LANES}).to(tl.int64)", SMALL, "    y = torch.cat([y] * 1000)\n"),
)
