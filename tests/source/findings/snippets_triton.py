"""Right and wrong Triton code, per rule. Wrong code is wrong in this one way only."""

HEAD = """
import triton
import triton.language as tl
import torch

"""


def of(*bodies: str) -> list[str]:
    return [HEAD + body.strip("\n") + "\n" for body in bodies]


WRONG: dict[str, list[str]] = {}
RIGHT: dict[str, list[str]] = {}

WRONG["triton.unmasked-access"] = of(
    """
@triton.jit
def double(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    pid = tl.program_id(axis=0)
    offs = pid * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offs)
    tl.store(y_ptr + offs, 2 * x, mask=offs < n)
""",
    """
@triton.jit
def double(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    start = tl.program_id(0) * BLOCK
    offs = start + tl.arange(0, BLOCK)
    mask = offs < n
    x = tl.load(x_ptr + offs, mask=mask)
    tl.store(y_ptr + offs, 2 * x)

def run(x):
    y = torch.empty_like(x)
    double[(triton.cdiv(x.numel(), 1024),)](x, y, x.numel(), BLOCK=1024)
    return y
""",
    """
@triton.jit
def copy2d(x_ptr, y_ptr, M, N, BM: tl.constexpr, BN: tl.constexpr):
    rows = tl.program_id(0) * BM + tl.arange(0, BM)
    cols = tl.program_id(1) * BN + tl.arange(0, BN)
    at = rows[:, None] * N + cols[None, :]
    x = tl.load(x_ptr + at)
    tl.store(y_ptr + at, x, mask=(rows[:, None] < M) & (cols[None, :] < N))
""",
    """
@triton.jit
def total(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    acc = tl.zeros((BLOCK,), dtype=tl.float32)
    for start in range(0, n, BLOCK):
        offs = start + tl.arange(0, BLOCK)
        acc += tl.load(x_ptr + offs)
    tl.store(y_ptr, tl.sum(acc, axis=0))
""",
    """
@triton.jit
def rows(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    cols = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row * n + cols)
    tl.store(y_ptr + row * n + cols, x, mask=cols < n)

def run(x):
    n = x.shape[1]
    y = torch.empty_like(x)
    rows[(x.shape[0],)](x, y, n, BLOCK=triton.next_power_of_2(n))
    return y
""",
    """
@triton.jit
def double(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offs)
    tl.store(y_ptr + offs, 2 * x, mask=offs < n)

def run(x, y, heads):
    double[(triton.cdiv(x.numel(), 128) * heads,)](x, y, x.numel(), BLOCK=128)
""",
)

RIGHT["triton.unmasked-access"] = of(
    """
@triton.jit
def double(x_ptr, y_ptr, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y_ptr + offs, 2 * tl.load(x_ptr + offs))

def run(x):
    n = x.numel()
    assert n % 1024 == 0, "pad the input"
    y = torch.empty_like(x)
    double[(n // 1024,)](x, y, BLOCK=1024)
    return y
""",
    """
@triton.jit
def matmul(a_ptr, b_ptr, c_ptr, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    offs_m = (tl.program_id(0) * BM + tl.arange(0, BM)) % M
    offs_n = (tl.program_id(1) * BN + tl.arange(0, BN)) % N
    offs_k = tl.arange(0, BK)
    a_ptrs = a_ptr + offs_m[:, None] * K + offs_k[None, :]
    b_ptrs = b_ptr + offs_k[:, None] * N + offs_n[None, :]
    acc = tl.zeros((BM, BN), dtype=tl.float32)
    for k in range(0, tl.cdiv(K, BK)):
        a = tl.load(a_ptrs, mask=offs_k[None, :] < K - k * BK, other=0.0)
        b = tl.load(b_ptrs, mask=offs_k[:, None] < K - k * BK, other=0.0)
        acc = tl.dot(a, b, acc)
        a_ptrs += BK
        b_ptrs += BK * N
    rows = tl.program_id(0) * BM + tl.arange(0, BM)
    cols = tl.program_id(1) * BN + tl.arange(0, BN)
    tl.store(c_ptr + rows[:, None] * N + cols[None, :], acc, mask=(rows[:, None] < M) & (cols[None, :] < N))
""",
    """
@triton.jit
def copy(x_ptr, y_ptr, M, N, BM: tl.constexpr, BN: tl.constexpr):
    x_block = tl.make_block_ptr(x_ptr, (M, N), (N, 1), (tl.program_id(0) * BM, 0), (BM, BN), (1, 0))
    y_block = tl.make_block_ptr(y_ptr, (M, N), (N, 1), (tl.program_id(0) * BM, 0), (BM, BN), (1, 0))
    for _ in range(0, tl.cdiv(N, BN)):
        tl.store(y_block, tl.load(x_block, boundary_check=(0, 1)), boundary_check=(0, 1))
        x_block = tl.advance(x_block, (0, BN))
        y_block = tl.advance(y_block, (0, BN))
""",
    """
@triton.jit
def copy(x_ptr, y_ptr, M, N, BM: tl.constexpr, BN: tl.constexpr):
    x = tl.make_tensor_descriptor(x_ptr, shape=[M, N], strides=[N, 1], block_shape=[BM, BN])
    y = tl.make_tensor_descriptor(y_ptr, shape=[M, N], strides=[N, 1], block_shape=[BM, BN])
    y.store([tl.program_id(0) * BM, 0], x.load([tl.program_id(0) * BM, 0]))
""",
    """
@triton.jit
def double(x_ptr, y_ptr, n, EVEN: tl.constexpr, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    if EVEN:
        tl.store(y_ptr + offs, 2 * tl.load(x_ptr + offs))
    else:
        tl.store(y_ptr + offs, 2 * tl.load(x_ptr + offs, mask=offs < n), mask=offs < n)
""",
    """
@triton.jit
def bias(x_ptr, b_ptr, D: tl.constexpr):
    cols = tl.arange(0, D)
    row = tl.program_id(0)
    tl.store(x_ptr + row * D + cols, tl.load(x_ptr + row * D + cols) + tl.load(b_ptr + cols))

def run(x, b):
    bias[(x.shape[0],)](x, b, D=x.shape[1])
""",
    """
@triton.jit
def gather(x_ptr, index_ptr, y_ptr, n, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    at = tl.load(index_ptr + tl.minimum(offs, n - 1))
    tl.store(y_ptr + offs, tl.load(x_ptr + at), mask=offs < n)
""",
    """
@triton.jit
def _loaded(x_ptr, offs):
    return tl.load(x_ptr + offs)

@triton.jit
def scalar(x_ptr, y_ptr, n):
    pid = tl.program_id(0)
    i = 0
    s = 0.0
    while i < n:
        s += _loaded(x_ptr, pid * n + i)
        i += 1
    tl.store(y_ptr + pid, s)
""",
    """
@triton.jit
def double(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    tl.device_assert(n % BLOCK == 0)
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y_ptr + offs, 2 * tl.load(x_ptr + offs))
""",
    """
@triton.jit
def double(x_ptr, y_ptr, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y_ptr + offs, 2 * tl.load(x_ptr + offs))

def run(x):
    size = triton.cdiv(x.numel(), 256) * 256
    padded = torch.zeros(size, device=x.device)
    padded[: x.numel()] = x
    double[(triton.cdiv(size, 256),)](padded, padded, BLOCK=256)
    return padded[: x.numel()]
""",
    """
@triton.jit
def rounded(x_ptr, y_ptr, lse_ptr, n, n_rounded, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offs, mask=offs < n, other=0.0)
    tl.store(lse_ptr + tl.program_id(1) * n_rounded + offs, x)

def run(x, y):
    import math

    n_rounded = math.ceil(x.numel() / 128) * 128
    lse = torch.empty((1, n_rounded), device=x.device)
    rounded[(triton.cdiv(x.numel(), 128), 1)](x, y, lse, x.numel(), n_rounded, BLOCK=128)
""",
    """
@triton.jit
def peeled(x_ptr, y_ptr, n, TILE: tl.constexpr):
    acc = tl.zeros((TILE,), dtype=tl.float32)
    steps = tl.cdiv(n, TILE)
    for step in range(0, steps - 1):
        start = step * TILE
        offs = start + tl.arange(0, TILE)
        acc += tl.load(x_ptr + offs)
    for step in range(steps - 1, steps):
        start = step * TILE
        offs = start + tl.arange(0, TILE)
        acc += tl.load(x_ptr + offs, mask=offs < n, other=0.0)
    tl.store(y_ptr, tl.sum(acc, axis=0))
""",
    """
@triton.jit
def full_part(n, TILE):
    return n // TILE * TILE

@triton.jit
def total(x_ptr, y_ptr, n, TILE: tl.constexpr):
    acc = tl.zeros((TILE,), dtype=tl.float32)
    full = full_part(n, TILE)
    for start in range(0, full, TILE):
        offs = start + tl.arange(0, TILE)
        acc += tl.load(x_ptr + offs)
    offs = full + tl.arange(0, TILE)
    acc += tl.load(x_ptr + offs, mask=offs < n, other=0.0)
    tl.store(y_ptr, tl.sum(acc, axis=0))
""",
    """
@triton.jit
def advanced(x_ptr, y_ptr, n, blocks, per_row, TILE: tl.constexpr):
    first = tl.program_id(0) * per_row
    offs = first * TILE + tl.arange(0, TILE)
    acc = tl.zeros((TILE,), dtype=tl.float32)
    last = min(blocks - 1, first + per_row - 1)
    for block in range(first, last):
        acc += tl.load(x_ptr + offs)
        offs += TILE
    acc += tl.load(x_ptr + offs, mask=offs < n, other=0.0)
    tl.store(y_ptr + tl.program_id(0), tl.sum(acc, axis=0))
""",
    """
@triton.jit
def each(x_ptr, y_ptr, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y_ptr + offs, tl.load(x_ptr + offs))

def run(x, y):
    each[(x.numel(),)](x, y, BLOCK=1)
""",
    """
@triton.jit
def heads(x_ptr, y_ptr, D: tl.constexpr):
    cols = tl.arange(0, D)
    tl.store(y_ptr + tl.program_id(0) * D + cols, tl.load(x_ptr + tl.program_id(0) * D + cols))

def run(x, y):
    width = x.shape[-1]
    assert width in {16, 32, 64, 128}
    heads[(x.shape[0],)](x, y, D=triton.next_power_of_2(width))
""",
    """
@triton.jit
def rows(x_ptr, y_ptr, D: tl.constexpr):
    cols = tl.arange(0, D)
    tl.store(y_ptr + tl.program_id(0) * D + cols, tl.load(x_ptr + tl.program_id(0) * D + cols))

def run(x, y):
    width = x.shape[-1]
    assert width & (width - 1) == 0
    rows[(x.shape[0],)](x, y, triton.next_power_of_2(width))
""",
    """
@triton.jit
def samples(x_ptr, y_ptr, D: tl.constexpr):
    offs = tl.program_id(0) * D + tl.arange(0, D)
    tl.store(y_ptr + offs, tl.load(x_ptr + offs))

def run(x, y, count, width):
    samples[(count,)](x, y, width)
""",
    # whoever launches a kernel that a function returns may promise what the kernel needs
    """
def made():
    @triton.jit
    def double(x_ptr, y_ptr, BLOCK: tl.constexpr):
        offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
        tl.store(y_ptr + offs, 2 * tl.load(x_ptr + offs))

    return double

def run(x, y):
    assert x.numel() % 128 == 0
    made()[(x.numel() // 128,)](x, y, BLOCK=128)
""",
    # a number of whole tiles
    """
@triton.jit
def tiles(x_ptr, y_ptr, COUNT: tl.constexpr, TILE: tl.constexpr):
    offs = tl.arange(0, TILE)
    for tile in range(COUNT):
        x = tl.load(x_ptr + tile * TILE + offs)
        tl.store(y_ptr + tile * TILE + offs, x + x)

def run(x, y):
    tiles[(1,)](x, y, COUNT=7, TILE=64)
""",
    # a launch through a function of the file's own
    """
@triton.jit
def double(x_ptr, y_ptr, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y_ptr + offs, 2 * tl.load(x_ptr + offs))

def run(x, y, traced):
    assert x.numel() % 128 == 0
    chosen(double, traced)[(x.numel() // 128,)](x, y, BLOCK=128)
""",
)

WRONG["triton.masked-load-reduced"] = of(
    """
@triton.jit
def row_max(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    cols = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + tl.program_id(0) * n + cols, mask=cols < n)
    tl.store(y_ptr + tl.program_id(0), tl.max(x, axis=0))
""",
    """
@triton.jit
def softmax(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    cols = tl.arange(0, BLOCK)
    mask = cols < n
    x = tl.load(x_ptr + tl.program_id(0) * n + cols, mask=mask)
    e = tl.exp(x - tl.max(x, axis=0))
    tl.store(y_ptr + tl.program_id(0) * n + cols, e / tl.sum(e, axis=0), mask=mask)
""",
    """
@triton.jit
def total(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    acc = tl.zeros((BLOCK,), dtype=tl.float32)
    for start in range(0, n, BLOCK):
        offs = start + tl.arange(0, BLOCK)
        acc += tl.load(x_ptr + offs, mask=offs < n)
    tl.store(y_ptr, tl.sum(acc))
""",
    """
@triton.jit
def matmul(a_ptr, b_ptr, c_ptr, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    m = tl.arange(0, BM)
    n = tl.arange(0, BN)
    k = tl.arange(0, BK)
    a = tl.load(a_ptr + m[:, None] * K + k[None, :], mask=k[None, :] < K)
    b = tl.load(b_ptr + k[:, None] * BN + n[None, :], mask=k[:, None] < K)
    tl.store(c_ptr + m[:, None] * BN + n[None, :], tl.dot(a, b))
""",
    """
@triton.jit
def norms(x_ptr, y_ptr, M, N, BM: tl.constexpr, BN: tl.constexpr):
    m = tl.program_id(0) * BM + tl.arange(0, BM)
    n = tl.arange(0, BN)
    mask = (m[:, None] < M) & (n[None, :] < N)
    x = tl.load(x_ptr + m[:, None] * N + n[None, :], mask=mask).to(tl.float32)
    tl.store(y_ptr + m, tl.sqrt(tl.sum(x * x, axis=1)), mask=m < M)
""",
    """
@triton.jit
def running(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    offs = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offs, mask=offs < n)
    tl.store(y_ptr + offs, tl.cumsum(x, axis=0, reverse=True), mask=offs < n)
""",
    """
@triton.jit
def running_from(x_ptr, y_ptr, first, BLOCK: tl.constexpr):
    offs = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offs, mask=first <= offs)
    tl.store(y_ptr + offs, tl.cumsum(x, axis=0), mask=first <= offs)
""",
    """
@triton.jit
def unlike(dy_ptr, w_ptr, y_ptr, n, BLOCK: tl.constexpr):
    cols = tl.arange(0, BLOCK)
    dy = tl.load(dy_ptr + cols, mask=cols < n - 1, other=1.0)
    w = tl.load(w_ptr + cols, mask=cols < n)
    tl.store(y_ptr, tl.sum(w * dy, axis=0))
""",
    """
@triton.jit
def row_amax(x_ptr, y_ptr, M, N, BLOCK: tl.constexpr, COLS: tl.constexpr):
    rows = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    cols = tl.arange(0, COLS)
    x = tl.load(x_ptr + rows[:, None] * N + cols[None, :], mask=(rows[:, None] < M) & (cols[None, :] < N))
    tl.store(y_ptr + rows, tl.max(x, axis=1), mask=rows < M)

def run(x, y, block=128):
    M, N = x.shape
    assert M % block == 0
    row_amax[(M // block,)](x, y, M, N, BLOCK=block, COLS=triton.next_power_of_2(N))
""",
)

RIGHT["triton.masked-load-reduced"] = of(
    """
@triton.jit
def mean(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    cols = tl.arange(0, BLOCK)
    mask = cols < n
    x = tl.load(x_ptr + tl.program_id(0) * n + cols, mask=mask)
    x = tl.where(mask, x, 0.0)
    tl.store(y_ptr + tl.program_id(0), tl.sum(x, axis=0) / n)
""",
    """
@triton.jit
def rows(x_ptr, y_ptr, M, BM: tl.constexpr, D: tl.constexpr):
    m = tl.program_id(0) * BM + tl.arange(0, BM)
    d = tl.arange(0, D)
    x = tl.load(x_ptr + m[:, None] * D + d[None, :], mask=m[:, None] < M)
    tl.store(y_ptr + m, tl.sum(x, axis=1), mask=m < M)
""",
    """
@triton.jit
def add(x_ptr, y_ptr, z_ptr, n, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offs < n
    tl.store(z_ptr + offs, tl.load(x_ptr + offs, mask=mask) + tl.load(y_ptr + offs, mask=mask), mask=mask)
""",
    """
@triton.jit
def softmax(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    cols = tl.arange(0, BLOCK)
    mask = cols < n
    x = tl.load(x_ptr + tl.program_id(0) * n + cols, mask, -float("inf"))
    e = tl.exp(x - tl.max(x, axis=0))
    tl.store(y_ptr + tl.program_id(0) * n + cols, e / tl.sum(e, axis=0), mask)
""",
    """
@triton.jit
def matmul(a_ptr, b_ptr, c_ptr, M, N, K: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr):
    m = tl.program_id(0) * BM + tl.arange(0, BM)
    n = tl.program_id(1) * BN + tl.arange(0, BN)
    k = tl.arange(0, K)
    a = tl.load(a_ptr + m[:, None] * K + k[None, :], mask=m[:, None] < M)
    b = tl.load(b_ptr + k[:, None] * N + n[None, :], mask=n[None, :] < N)
    mask = (m[:, None] < M) & (n[None, :] < N)
    tl.store(c_ptr + m[:, None] * N + n[None, :], tl.dot(a, b), mask=mask)
""",
    """
@triton.jit
def norm(x_ptr, w_ptr, y_ptr, n, BLOCK: tl.constexpr):
    cols = tl.arange(0, BLOCK)
    mask = cols < n
    x = tl.load(x_ptr + tl.program_id(0) * n + cols, mask=mask, other=0.0)
    scale = tl.rsqrt(tl.sum(x * x, axis=0) / n)
    w = tl.load(w_ptr + cols, mask=mask)
    tl.store(y_ptr + tl.program_id(0) * n + cols, x * scale * w, mask=mask)
""",
    # a factor that is 0 in the masked lanes
    """
@triton.jit
def norm_backward(dy_ptr, x_ptr, w_ptr, c_ptr, n, BLOCK: tl.constexpr):
    cols = tl.arange(0, BLOCK)
    mask = cols < n
    dy = tl.load(dy_ptr + cols, mask=mask, other=0.0).to(tl.float32)
    x = tl.load(x_ptr + cols, mask=mask, other=0.0)
    w = tl.load(w_ptr + cols, mask=mask)
    w += 1.0
    wdy = w * dy
    tl.store(c_ptr, tl.sum(x * wdy, axis=0) / n)
""",
    """
@triton.jit
def product(a_ptr, b_ptr, c_ptr, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    m = tl.arange(0, BM)
    n = tl.arange(0, BN)
    k = tl.arange(0, BK)
    a = tl.load(a_ptr + m[:, None] * K + k[None, :], mask=(k < K)[None, :], other=0.0)
    b = tl.load(b_ptr + k[:, None] * BN + n[None, :], mask=k[:, None] < K)
    tl.store(c_ptr + m[:, None] * BN + n[None, :], tl.dot(a, b))
""",
    """
@triton.jit
def attend(q_ptr, k_ptr, v_ptr, o_ptr, n, D: tl.constexpr, BLOCK: tl.constexpr):
    m = tl.arange(0, BLOCK)
    d = tl.arange(0, D)
    q = tl.load(q_ptr + m[:, None] * D + d[None, :])
    k = tl.load(k_ptr + m[None, :] * D + d[:, None], mask=m[None, :] < n, other=0.0)
    s = tl.dot(q, k)
    s = tl.where(m[None, :] < n, s, -float("inf"))
    p = tl.exp(s - tl.max(s, axis=1)[:, None])
    v = tl.load(v_ptr + m[:, None] * D + d[None, :], mask=m[:, None] < n)
    tl.store(o_ptr + m[:, None] * D + d[None, :], tl.dot(p.to(v.dtype), v))
""",
    # what a running sum says of the lanes before the undefined ones is right
    """
@triton.jit
def selected(x_ptr, m_ptr, y_ptr, n, BLOCK: tl.constexpr):
    offs = tl.arange(0, BLOCK)
    mask = offs < n
    keep = tl.load(m_ptr + offs, mask=mask).to(tl.int1)
    at = tl.cumsum(keep.to(tl.int32), axis=0) - 1
    tl.store(y_ptr + at, tl.load(x_ptr + offs, mask=mask), mask=mask & keep)
""",
    # a block that is the whole row: the mask holds everywhere
    """
@triton.jit
def whole(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    cols = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + tl.program_id(0) * n + cols, mask=cols < n)
    tl.store(y_ptr + tl.program_id(0), tl.sum(x, axis=0))

def run(x, y):
    width = x.shape[1]
    whole[(x.shape[0],)](x, y, width, BLOCK=width)
""",
    # a mask along the reduced axis that the launcher's assert makes true everywhere
    """
@triton.jit
def amax(x_ptr, y_ptr, M, N, BLOCK: tl.constexpr, COLS: tl.constexpr):
    rows = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    cols = tl.program_id(1) * COLS + tl.arange(0, COLS)
    x = tl.load(x_ptr + rows[:, None] * N + cols[None, :], mask=(rows[:, None] < M) & (cols[None, :] < N))
    tl.store(y_ptr + tl.program_id(0) * N + cols, tl.max(x, axis=0), mask=cols < N)

def run(x, y, block=128):
    assert x.size(0) % block == 0
    M, N = x.shape
    amax[(M // block, triton.cdiv(N, 32))](x, y, M, N, BLOCK=block, COLS=32)
""",
)

TILED = """
@triton.jit
def zero(y_ptr, n, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y_ptr + offs, 0.0, mask=offs < n)
"""

WRONG["triton.block-size"] = of(
    TILED
    + """
def clear(y):
    zero[lambda meta: (triton.cdiv(y.numel(), meta["BLOCK"]),)](y, y.numel(), BLOCK=1000)
""",
    """
@triton.jit
def three(y_ptr):
    tl.store(y_ptr + tl.arange(0, 3), 0.0)
""",
    """
@triton.jit
def zero(y_ptr, n):
    cols = tl.arange(0, n)
    tl.store(y_ptr + cols, 0.0, mask=cols < n)

def clear(y):
    zero[(1,)](y, 64)
""",
    """
@triton.autotune(configs=[triton.Config({"BLOCK": 256}), triton.Config({"BLOCK": 768})], key=["n"])
"""
    + TILED.lstrip("\n"),
    "SIZE = 96\n"
    + TILED
    + """
def clear(y):
    grid = (triton.cdiv(y.numel(), SIZE),)
    zero[grid](y, y.numel(), SIZE)
""",
)

RIGHT["triton.block-size"] = of(
    TILED
    + """
def clear(y):
    n = y.numel()
    block = triton.next_power_of_2(min(n, 1000))
    zero[(triton.cdiv(n, block),)](y, n, BLOCK=block)
""",
    "SIZE = 1 << 10\n"
    + TILED
    + """
def clear(y):
    zero[(triton.cdiv(y.numel(), SIZE),)](y, y.numel(), BLOCK=SIZE)
""",
    """
@triton.jit
def halves(y_ptr, n, BLOCK: tl.constexpr):
    half: tl.constexpr = BLOCK // 2
    cols = tl.arange(0, half)
    tl.store(y_ptr + cols, 0.0, mask=cols < n)

def clear(y):
    halves[(1,)](y, y.numel(), BLOCK=64)
""",
    """
@triton.jit
def _zeroed(y_ptr, n, size):
    cols = tl.arange(0, size)
    tl.store(y_ptr + cols, 0.0, mask=cols < n)

@triton.jit
def zero(y_ptr, n, BLOCK: tl.constexpr):
    _zeroed(y_ptr, n, BLOCK)

def clear(y):
    zero[(1,)](y, y.numel(), BLOCK=64)
""",
    """
@triton.jit
def upper(y_ptr):
    tl.store(y_ptr + tl.arange(64, 128), 0.0)
""",
    """
@triton.jit
def repeat(y_ptr, n, TIMES: tl.constexpr, BLOCK: tl.constexpr):
    cols = tl.arange(0, BLOCK)
    for i in tl.static_range(TIMES):
        tl.store(y_ptr + i * n + cols, 0.0, mask=cols < n)

def clear(y):
    repeat[(1,)](y, y.shape[1], TIMES=3, BLOCK=128)
""",
)

SQUARE = """
@triton.jit
def product(a_ptr, b_ptr, c_ptr, B: tl.constexpr, K: tl.constexpr):
    i = tl.arange(0, B)
    k = tl.arange(0, K)
    a = tl.load(a_ptr + i[:, None] * K + k[None, :])
    b = tl.load(b_ptr + k[:, None] * B + i[None, :])
    c = DOT
    tl.store(c_ptr + i[:, None] * B + i[None, :], c)

def run(a, b, c):
    product[(1,)](a, b, c, B=32, K=SIZE)
"""


def square(dot: str, size: str = "32") -> str:
    return SQUARE.replace("DOT", dot).replace("SIZE", size)


ACCUMULATED = """
@triton.jit
def product(a_ptr, b_ptr, c_ptr, K, BK: tl.constexpr):
    i = tl.arange(0, 32)
    acc = tl.zeros((32, 32), dtype=TYPE)
    for start in range(0, K, BK):
        k = start + tl.arange(0, BK)
        a = tl.load(a_ptr + i[:, None] * K + k[None, :], mask=k[None, :] < K, other=0.0)
        b = tl.load(b_ptr + k[:, None] * 32 + i[None, :], mask=k[:, None] < K, other=0.0)
        ADD
    tl.store(c_ptr + i[:, None] * 32 + i[None, :], acc)
"""


def accumulated(kind: str, add: str) -> str:
    return ACCUMULATED.replace("TYPE", kind).replace("ADD", add)


WRONG["triton.dot"] = of(
    square("tl.dot(a, b)", "8"),
    square("tl.dot(a, b, out_dtype=tl.float16)"),
    accumulated("tl.float16", "acc += tl.dot(a, b)"),
    accumulated("tl.bfloat16", "acc = tl.dot(a, b, acc)"),
    square("tl.dot(a, tl.trans(tl.trans(b)))", "4"),
)

RIGHT["triton.dot"] = of(
    square("tl.dot(a, b)"),
    square("tl.dot(a, b, out_dtype=tl.float32).to(tl.float16)", "16"),
    accumulated("tl.float32", "acc += tl.dot(a, b)"),
    accumulated("tl.float32", "acc = tl.dot(a, b, acc)"),
    square("tl.dot(a.to(tl.float16), b.to(tl.float16))", "a.shape[1]"),
    square("tl.sum(a[:, :, None] * b[None, :, :], axis=1)", "8"),
    # a sum that the tensor cores make
    """
@triton.jit
def sums(x_ptr, y_ptr, ROWS: tl.constexpr):
    i = tl.arange(0, ROWS)
    x = tl.load(x_ptr + i[:, None] * 64 + tl.arange(0, 64)[None, :])
    tl.store(y_ptr + i[:, None], tl.dot(x, tl.full([64, 1], 1.0, dtype=tl.float32)))
""",
)

ROW = """
@triton.jit
def row(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    cols = tl.arange(0, BLOCK)
    at = tl.program_id(0) * n + cols
    x = tl.load(x_ptr + at, mask=cols < n, other=-float("inf"))
    BODY
    tl.store(y_ptr + at, y, mask=cols < n)
"""


def row(body: str) -> str:
    return ROW.replace("BODY", body.replace("; ", "\n    "))


WRONG["triton.unsafe-softmax"] = of(
    row("e = tl.exp(x); y = e / tl.sum(e, axis=0)"),
    row("y = tl.exp(x) / tl.sum(tl.exp(x), axis=0)"),
    row("e = tl.exp2(x * 1.44269504); s = tl.sum(e, 0); y = e / s"),
    row("e = tl.math.exp(x.to(tl.float32)); e /= tl.sum(e, axis=0); y = e"),
    """
@triton.jit
def softmax(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    total = 0.0
    for start in range(0, n, BLOCK):
        cols = start + tl.arange(0, BLOCK)
        total += tl.sum(tl.exp(tl.load(x_ptr + cols, mask=cols < n, other=-float("inf"))), axis=0)
    for start in range(0, n, BLOCK):
        cols = start + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + cols, mask=cols < n, other=0.0)
        tl.store(y_ptr + cols, tl.exp(x) / total, mask=cols < n)
""",
)

RIGHT["triton.unsafe-softmax"] = of(
    row("e = tl.exp(x - tl.max(x, axis=0)); y = e / tl.sum(e, axis=0)"),
    row("x -= tl.max(x, axis=0); e = tl.exp(x); y = e / tl.sum(e, axis=0)"),
    row("y = 1.0 / (1.0 + tl.exp(-x))"),
    row("z = x - tl.max(x, axis=0); y = z - tl.log(tl.sum(tl.exp(z), axis=0))"),
    row("e = tl.exp(-x * x); y = e / tl.sum(e, axis=0)"),
    row("y = tl.exp(x) / 2.0"),
    row("e = tl.exp(tl.minimum(x, 20.0)); y = e / tl.sum(e, axis=0)"),
)

WRONG["triton.strided-access"] = of(
    """
@triton.jit
def column(x_ptr, y_ptr, n_rows, n_cols, BLOCK: tl.constexpr):
    rows = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + rows * n_cols + tl.program_id(0), mask=rows < n_rows, other=0.0)
    tl.store(y_ptr + tl.program_id(0), tl.sum(x, axis=0))

def run(x, y):
    column[(x.shape[1],)](x, y, x.shape[0], x.shape[1], BLOCK=triton.next_power_of_2(x.shape[0]))
""",
    """
@triton.jit
def every_eighth(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y_ptr + offs, tl.load(x_ptr + offs * 8, mask=offs < n), mask=offs < n)
""",
    """
@triton.jit
def column(x_ptr, y_ptr, n_rows, stride_m, stride_n, BLOCK: tl.constexpr):
    rows = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + rows * stride_m + tl.program_id(0) * stride_n, mask=rows < n_rows, other=0.0)
    tl.store(y_ptr + tl.program_id(0), tl.sum(x, axis=0))

def run(x, y):
    n = triton.next_power_of_2(x.shape[0])
    column[(x.shape[1],)](x, y, x.shape[0], x.stride(0), x.stride(1), BLOCK=n)
""",
    """
@triton.jit
def fill(y_ptr, n_rows, n_cols, BLOCK: tl.constexpr):
    rows = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    for col in range(n_cols):
        tl.store(y_ptr + rows * n_cols + col, 0.0, mask=rows < n_rows)

def run(y):
    n_rows, n_cols = y.shape
    fill[(triton.cdiv(n_rows, 128),)](y, n_rows, n_cols, BLOCK=128)
""",
)

RIGHT["triton.strided-access"] = of(
    """
@triton.jit
def rows(x_ptr, y_ptr, stride, n, BLOCK: tl.constexpr):
    cols = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + tl.program_id(0) * stride + cols, mask=cols < n)
    tl.store(y_ptr + tl.program_id(0) * stride + cols, x, mask=cols < n)

def run(x, y):
    rows[(x.shape[0],)](x, y, x.stride(0), x.shape[1], BLOCK=triton.next_power_of_2(x.shape[1]))
""",
    """
@triton.jit
def transpose(x_ptr, y_ptr, M, N, B: tl.constexpr):
    m = tl.program_id(0) * B + tl.arange(0, B)
    n = tl.program_id(1) * B + tl.arange(0, B)
    mask = (m[:, None] < M) & (n[None, :] < N)
    x = tl.load(x_ptr + m[:, None] * N + n[None, :], mask=mask)
    tl.store(y_ptr + n[None, :] * M + m[:, None], x, mask=mask)

def run(x, y):
    M, N = x.shape
    transpose[(triton.cdiv(M, 32), triton.cdiv(N, 32))](x, y, M, N, B=32)
""",
    """
@triton.jit
def pairs(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    even = tl.load(x_ptr + 2 * offs, mask=offs < n)
    odd = tl.load(x_ptr + 2 * offs + 1, mask=offs < n)
    tl.store(y_ptr + offs, even + odd, mask=offs < n)
""",
    """
@triton.jit
def gather(x_ptr, index_ptr, y_ptr, n, width, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    row = tl.load(index_ptr + offs, mask=offs < n, other=0)
    tl.store(y_ptr + offs, tl.load(x_ptr + row * width, mask=offs < n), mask=offs < n)

def run(x, index, y):
    n = index.numel()
    gather[(triton.cdiv(n, 128),)](x, index, y, n, x.shape[1], BLOCK=128)
""",
    """
@triton.jit
def scaled(x_ptr, y_ptr, n, stride, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offs * stride, mask=offs < n)
    tl.store(y_ptr + offs, x, mask=offs < n)

def run(x, y):
    scaled[(triton.cdiv(x.numel(), 128),)](x, y, x.numel(), x.stride(-1), BLOCK=128)
""",
    """
@triton.jit
def bias(x_ptr, b_ptr, n, channels, inner, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    b = tl.load(b_ptr + (offs // inner) % channels * 4, mask=offs < n)
    tl.store(x_ptr + offs, tl.load(x_ptr + offs, mask=offs < n) + b, mask=offs < n)
""",
    """
@triton.jit
def gates(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offs * 4, mask=offs < n)
    tl.store(y_ptr + offs, x, mask=offs < n)
""",
    """
@triton.jit
def corners(x_ptr, y_ptr, stride):
    at = tl.arange(0, 4)
    tl.store(y_ptr + at, tl.load(x_ptr + at * stride))

def run(x, y):
    corners[(1,)](x, y, x.shape[1])
""",
    # a number for each row of a tile
    """
@triton.jit
def scaled(x_ptr, s_ptr, y_ptr, M, N, BM: tl.constexpr, BN: tl.constexpr):
    rows = tl.program_id(0) * BM + tl.arange(0, BM)
    cols = tl.arange(0, BN)
    mask = (rows[:, None] < M) & (cols[None, :] < N)
    x = tl.load(x_ptr + rows[:, None] * N + cols[None, :], mask=mask, other=0.0)
    s = tl.load(s_ptr + rows * N, mask=rows < M)
    tl.store(y_ptr + rows[:, None] * N + cols[None, :], x * s[:, None], mask=mask)

def run(x, s, y):
    M, N = x.shape
    scaled[(triton.cdiv(M, 16),)](x, s, y, M, N, BM=16, BN=triton.next_power_of_2(N))
""",
    # the first stride of a tensor whose columns are contiguous
    """
@triton.jit
def last(x_ptr, y_ptr, n, stride, step, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y_ptr + offs, tl.load(x_ptr + offs * stride + step, mask=offs < n), mask=offs < n)

def run(x, y):
    assert is_column_major(x)
    last[(triton.cdiv(x.shape[0], 128),)](x, y, x.shape[0], x.stride(0), x.stride(1), BLOCK=128)

def run_turned(x, y):
    turned = x.new_empty(x.shape).as_strided(x.shape, (1, x.shape[0]))
    last[(triton.cdiv(x.shape[0], 128),)](turned, y, x.shape[0], turned.stride(0), turned.stride(1), BLOCK=128)
""",
)

CONFIGS = "configs=[triton.Config({'BLOCK': 256}), triton.Config({'BLOCK': 1024}, num_warps=8)]"


def tuned(arguments: str) -> str:
    return f"@triton.autotune({arguments})" + TILED


WRONG["triton.autotune-key"] = of(
    tuned(CONFIGS),
    tuned(f"{CONFIGS}, key=['N']"),
    tuned(f"{CONFIGS}, key=['y_ptr', 'numel']"),
    tuned(f"{CONFIGS}, key=[]"),
    tuned("configs=[triton.Config({'BLOCKS': 256})], key=['n']"),
)

RIGHT["triton.autotune-key"] = of(
    tuned(f"{CONFIGS}, key=['n']"),
    tuned("[triton.Config({'BLOCK': 256})], ['n']"),
    tuned("configs=make_configs(), key=KEYS"),
    tuned(f"{CONFIGS}, key=['n'], reset_to_zero=['y_ptr']"),
    tuned("**OPTIONS"),
    """
@triton.autotune(configs=[triton.Config({'BLOCK': 64})], key=[])
@triton.jit
def ones(y_ptr, BLOCK: tl.constexpr):
    tl.store(y_ptr + tl.arange(0, BLOCK), 1.0)
""",
    """
@triton.autotune(
    configs=[triton.Config({"TILE": 256}), triton.Config({"TILE": 1024})], key=["n"], prune_configs_by={"early": prune}
)
@triton.jit
def zero(y_ptr, n, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y_ptr + offs, 0.0, mask=offs < n)
""",
)


def cleared(body: str) -> str:
    return TILED + "\n\ndef clear(y):\n    n = y.numel()\n    " + body.replace("; ", "\n    ")


WRONG["triton.grid"] = of(
    cleared("zero[(triton.cdiv(n, 512),)](y, n, BLOCK=1024)"),
    cleared("zero[(n // 1024,)](y, n, BLOCK=1024)"),
    cleared("grid = lambda meta: (n // meta['BLOCK'],); zero[grid](y, n, BLOCK=1024)"),
    cleared("BLOCK = 256; grid = ((n + 128 - 1) // 128,); zero[grid](y, n, BLOCK=BLOCK)"),
    """
@triton.jit
def zero2d(y_ptr, M, N, BM: tl.constexpr, BN: tl.constexpr):
    m = tl.program_id(0) * BM + tl.arange(0, BM)
    n = tl.program_id(1) * BN + tl.arange(0, BN)
    tl.store(y_ptr + m[:, None] * N + n[None, :], 0.0, mask=(m[:, None] < M) & (n[None, :] < N))

def clear(y):
    M, N = y.shape
    grid = lambda meta: (triton.cdiv(M, meta["BN"]), triton.cdiv(N, meta["BN"]))
    zero2d[grid](y, M, N, BM=64, BN=32)
""",
    """
@triton.jit
def zero(y_ptr, n, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y_ptr + offs, 0.0, mask=offs < n)

def clear(y, z):
    grid = (triton.cdiv(y.numel(), 512),)
    zero[grid](y, y.numel(), BLOCK=1024)
    grid = (triton.cdiv(z.numel(), 1024),)
    zero[grid](z, z.numel(), BLOCK=1024)
""",
)

RIGHT["triton.grid"] = of(
    cleared("grid = lambda meta: (triton.cdiv(n, meta['BLOCK']),); zero[grid](y, n, BLOCK=1024)"),
    cleared("BLOCK = 1024; zero[((n + BLOCK - 1) // BLOCK,)](y, n, BLOCK=BLOCK)"),
    cleared("assert n % 1024 == 0; zero[(n // 1024,)](y, n, BLOCK=1024)"),
    cleared("zero[(n // 1024 + 1,)](y, n, BLOCK=1024)"),
    cleared("block = triton.next_power_of_2(n) // 4; zero[(triton.cdiv(n, block),)](y, n, block)"),
    cleared("zero[(-(-n // 256),)](y, n, BLOCK=256)"),
    """
@triton.jit
def zero(y_ptr, n, BLOCK: tl.constexpr):
    for start in range(tl.program_id(0) * BLOCK, n, tl.num_programs(0) * BLOCK):
        offs = start + tl.arange(0, BLOCK)
        tl.store(y_ptr + offs, 0.0, mask=offs < n)

def clear(y):
    n = y.numel()
    zero[(min(132, triton.cdiv(n, 512)),)](y, n, BLOCK=1024)
""",
    """
@triton.jit
def rows(y_ptr, n, BLOCK: tl.constexpr):
    cols = tl.arange(0, BLOCK)
    tl.store(y_ptr + tl.program_id(0) * n + cols, 0.0, mask=cols < n)

def clear(y):
    n_rows, n = y.shape
    rows[(n_rows // 2 * 2,)](y, n, BLOCK=triton.next_power_of_2(n))
""",
    """
@triton.jit
def each(y_ptr, n, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y_ptr + offs, 0.0, mask=offs < n)

def clear(y):
    BLOCK = 1
    each[(y.numel() // BLOCK,)](y, y.numel(), BLOCK=BLOCK)
""",
    """
@triton.jit
def whole(y_ptr, n, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y_ptr + offs, 0.0, mask=offs < n)

def clear(y, width):
    size = width
    whole[(width // size,)](y, width, BLOCK=size)
""",
    """
@triton.jit
def zero(y_ptr, n, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y_ptr + offs, 0.0, mask=offs < n)

@triton.jit
def one(y_ptr, n, BLOCK: tl.constexpr, WIDTH: tl.constexpr):
    offs = tl.program_id(0) * WIDTH + tl.arange(0, WIDTH)
    tl.store(y_ptr + offs, 1.0, mask=offs < n)

def clear(y, z):
    grid = lambda meta: (triton.cdiv(y.numel(), meta["BLOCK"]),)
    zero[grid](y, y.numel(), BLOCK=1024)

    def grid(meta):
        return (triton.cdiv(z.numel(), meta["WIDTH"]),)

    one[grid](z, z.numel(), BLOCK=128, WIDTH=256)
""",
    """
@triton.jit
def split(y_ptr, groups, n, SPLIT: tl.constexpr, BLOCK: tl.constexpr):
    pid = tl.program_id(0)
    first = pid % tl.cdiv(groups, SPLIT)
    offs = first * BLOCK + tl.arange(0, BLOCK)
    tl.store(y_ptr + offs, 0.0, mask=offs < n)

def clear(y, groups):
    split[lambda meta: (triton.cdiv(groups, meta["SPLIT"]),)](y, groups, y.numel(), SPLIT=4, BLOCK=64)
""",
)


def rows(line: str, workload: str, cast: str = "") -> str:
    return f"""
@triton.jit
def zero_rows(y_ptr, n_cols, BLOCK: tl.constexpr):
    row = tl.program_id(0){cast}
    cols = tl.arange(0, BLOCK)
    tl.store({line}, 0.0, mask=cols < n_cols)

def clear(y):
    n_rows, n_cols = y.shape
    zero_rows[(n_rows,)](y, n_cols, BLOCK=triton.next_power_of_2(n_cols))

# workload: {workload}
"""


WRONG["triton.int32-offset"] = of(
    rows("y_ptr + row * n_cols + cols", "clear(zeros(262144, 16384))"),
    rows("y_ptr + n_cols * row + cols", "clear(zeros(1 << 20, 4096))"),
    rows("y_ptr + tl.program_id(0) * n_cols + cols", "clear(zeros(262144, 16384))"),
    """
@triton.jit
def zero(y_ptr, n, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y_ptr + offs, 0.0, mask=offs < n)

def clear(y):
    n = y.numel()
    zero[(triton.cdiv(n, 1024),)](y, n, BLOCK=1024)

# workload: clear(zeros(1 << 32))
""",
)

RIGHT["triton.int32-offset"] = of(
    rows("y_ptr + row * n_cols + cols", "clear(zeros(8192, 4096))"),
    rows("y_ptr + row * n_cols + cols", "clear(zeros(262144, 16384))", cast=".to(tl.int64)"),
    rows("y_ptr + row.to(tl.int64) * n_cols + cols", "clear(zeros(262144, 16384))"),
    rows("y_ptr + row * n_cols + cols", "clear(zeros(131072, 16384))"),
    rows("y_ptr + row * tl.cast(n_cols, tl.int64) + cols", "clear(zeros(262144, 16384))"),
)

WRONG["triton.num-warps"] = of(
    cleared("zero[(triton.cdiv(n, 64),)](y, n, BLOCK=64, num_warps=4)"),
    cleared("zero[(triton.cdiv(n, 256),)](y, n, BLOCK=256, num_warps=16)"),
    tuned("[triton.Config({'BLOCK': 32}, num_warps=4), triton.Config({'BLOCK': 1024}, num_warps=4)], key=['n']"),
    """
@triton.jit
def zero2d(y_ptr, M, N, BM: tl.constexpr, BN: tl.constexpr):
    m = tl.program_id(0) * BM + tl.arange(0, BM)
    n = tl.program_id(1) * BN + tl.arange(0, BN)
    tl.store(y_ptr + m[:, None] * N + n[None, :], 0.0, mask=(m[:, None] < M) & (n[None, :] < N))

def clear(y):
    M, N = y.shape
    zero2d[(triton.cdiv(M, 8), triton.cdiv(N, 8))](y, M, N, BM=8, BN=8, num_warps=8)
""",
)

RIGHT["triton.num-warps"] = of(
    cleared("zero[(triton.cdiv(n, 128),)](y, n, BLOCK=128, num_warps=4)"),
    cleared("zero[(triton.cdiv(n, 32),)](y, n, BLOCK=32)"),
    cleared("warps = 8 if n > 4096 else 1; zero[(triton.cdiv(n, 64),)](y, n, BLOCK=64, num_warps=warps)"),
    tuned("[triton.Config({'BLOCK': 256}, num_warps=w) for w in (2, 4, 8)], key=['n']"),
    cleared("b = triton.next_power_of_2(n); zero[(1,)](y, n, BLOCK=b, num_warps=16)"),
    """
@triton.jit
def zero2d(y_ptr, M, N, BM: tl.constexpr, BN: tl.constexpr):
    m = tl.program_id(0) * BM + tl.arange(0, BM)
    n = tl.program_id(1) * BN + tl.arange(0, BN)
    tl.store(y_ptr + m[:, None] * N + n[None, :], 0.0, mask=(m[:, None] < M) & (n[None, :] < N))

def clear(y):
    M, N = y.shape
    zero2d[(triton.cdiv(M, 16), triton.cdiv(N, 16))](y, M, N, BM=16, BN=16, num_warps=8)
""",
)
