"""cuda.parallel-scan: running sums that a block makes, and those that follow from turn to turn."""

import pytest
import torch

from kernelwright.macro.strategies.cuda_parallel_scan import STRATEGY
from kernelwright.proof.worker.languages.cuda import LANGUAGE
from macro.cuda_files import refusal, rewritten

KERNEL = """\
__global__ void offsets(const int* __restrict__ x, const float* f, int* __restrict__ y, float* z, int* all, int n) {{
    {body}
}}

extern "C" void solve(const int* x, const float* f, int* y, float* z, int* all, int n) {{
    offsets<<<{launch}>>>(x, f, y, z, all, n);
}}
"""
SUM = "int s = 0;\n    for (int i = 0; i < n; ++i) { y[i] = s; s += x[i]; }\n    *all = s;"
ROWS = """\
int r = blockIdx.x * blockDim.x + threadIdx.x;
    if (r >= 99) return;
    float s = f[r];
    for (int i = 0; i < n; ++i) { s = fmaxf(s, f[r * n + i]); z[r * n + i] = s; }"""


def kernel(body: str = SUM, launch: str = "1, 1") -> str:
    return KERNEL.format(body=body, launch=launch)


def new_lines(text: str) -> list[str]:
    after = next(one for one in rewritten(STRATEGY, text) if "[k]" not in one)
    return [line.strip() for line in after.splitlines() if line not in text.splitlines()]


def test_one_thread_becomes_a_block() -> None:
    lines = new_lines(kernel())
    assert lines[:6] == [
        "__shared__ int warp_ss[32];",
        "const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;",
        "for (int start = 0; start < n; start += 1024) {",
        "const int i = start + threadIdx.x;",
        "const int own = i < n ? x[i] : 0;",
        "int upto = own;",
    ]
    assert lines[-8:] == [
        "upto += base;",
        "int before = __shfl_up_sync(0xffffffff, upto, 1);",
        "if (lane == 0) before = base;",
        "if (i < n) y[i] = before;",
        "__syncthreads();",
        "}",
        "if (threadIdx.x == 0) *all = s;",
        "offsets<<<1, 1024>>>(x, f, y, z, all, n);",
    ]


def test_a_thread_takes_several_elements() -> None:
    after = rewritten(STRATEGY, kernel())[0]
    lines = [line.strip() for line in after.splitlines()]
    assert lines[lines.index("int upto[8];") - 1] == "for (int start = 0; start < n; start += 8192) {"
    assert {"__shared__ int warp_ss[8][32];", "upto[k] = own;", "if (lane == 31) warp_ss[k][warp] = upto[k];"} <= {
        *lines
    }
    assert lines.count("__syncthreads();") == 3
    assert "for (int k = warp; k < 8; k += 32) {" in lines
    at = lines.index("int base = s;")
    assert lines[at : at + 9] == [
        "int base = s;",
        "if (warp > 0) base += warp_ss[k][warp - 1];",
        "upto[k] += base;",
        "int before = __shfl_up_sync(0xffffffff, upto[k], 1);",
        "if (lane == 0) before = base;",
        "if (i < n) y[i] = before;",
        "s += warp_ss[k][31];",
        "}",
        "__syncthreads();",
    ]


BOTH = "int s = 3;\n    for (int i = 0; i < n; ++i) { int v = y[i] + x[i]; y[i] = s; s += v; z[i] = v - s; }\n    *all = s;"


@pytest.mark.parametrize("rows", [False, True])
def test_sums_go_on_from_turn_to_turn(rows: bool) -> None:
    row = "int r = blockIdx.x * blockDim.x + threadIdx.x;\n    if (r >= 2) return;\n    "
    body = BOTH.replace("[i]", "[r * n + i]").replace("*all", "all[r]")
    text = kernel(row + body, "(2 + 95) / 96, 96") if rows else kernel(BOTH)
    found = rewritten(STRATEGY, text)
    assert len(found) == (3 if rows else 4)
    modules = [LANGUAGE.load("/nowhere/scan.cu", one, "test") for one in (text, *found)]
    for n in (1, 95, 100, 767, 1700) if rows else (1, 1025, 8193, 17000):
        x, y = torch.randint(-9, 9, (2, 2 * n), dtype=torch.int32)
        first, *others = [(y.clone(), torch.zeros(2 * n), torch.zeros(2, dtype=torch.int32)) for _ in modules]
        for module, given in zip(modules, (first, *others), strict=True):
            module.solve(x, None, *given, n)
        assert first[2][0] == 3 + (x + y)[:n].sum()
        assert all(torch.equal(a, b) for other in others for a, b in zip(first, other, strict=True))
    for module in modules:
        LANGUAGE.unload(module)


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        (kernel(SUM.replace("s += x[i]; }", "int v = x[i]; s = v + s; z[i] = s; }").replace("y[i] = s", "int at = i")),
         ["int v = i < n ? x[i] : 0;", "int at = i;", "z[i] = upto;"]),
        (kernel(SUM.replace("+= x[i]", "+= x[i] > 3 ? 1 : 0").replace("int s", "all[1] = 9;\n    int s")),
         ["if (threadIdx.x == 0) all[1] = 9;", "const int own = i < n ? (x[i] > 3 ? 1 : 0) : 0;"]),
        (kernel(ROWS, "(99 + 63) / 64, 64"),
         ["__shared__ float warp_ss[2];", "int r = blockIdx.x;", "const float own = i < n ? f[r * n + i] : s;",
          "if (lane >= offset) upto = fmaxf(upto, other);", "s = fmaxf(s, warp_ss[w]);", "if (i < n) z[r * n + i] = upto;",
          "offsets<<<99, 64>>>(x, f, y, z, all, n);"]),
        (kernel(SUM.replace("i = 0; i < n", "i = 1; i <= n")),
         ["for (int start = 1; start <= n; start += 1024) {", "if (i <= n) y[i] = before;"]),
    ],
    ids=["with its own element", "counts", "maxima of rows", "other limits"],
)  # fmt: skip
def test_other_sums(text: str, lines: list[str]) -> None:
    found = new_lines(text)
    assert [line for line in lines if line not in found] == []


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (kernel(SUM.replace("s += x[i]", "s = 2 * s + x[i]")), "no sum, product, maximum or minimum"),
        (kernel(SUM.replace("x[i]", "x[s]")), "no sum, product, maximum or minimum"),
        (kernel(SUM.replace("y[i] = s; ", "")), "cuda.parallel-rows"),
        (kernel(SUM.replace("y[i] = s; ", "y[0] = s; ")), "may be one element in two turns"),
        (kernel(SUM.replace("x[i]", "y[i + 1]")), "may be what another turn stores"),
        (kernel(SUM.replace("x[i]", "all[i]")), "is read behind the store of `y[i]`"),
        (kernel(SUM.replace("x[i]", "f[i]")), "may be no whole number"),
        (kernel(SUM.replace("++i", "i += 2")), "steps of 1"),
        (kernel(SUM.replace("i < n", "i < x[0]")), "steps of 1"),
        (kernel(SUM.replace("s += x[i];", "if (x[i] > 0) s += x[i];")), "does not add to one local"),
        (kernel(SUM.replace("s += x[i];", "if (x[i] < 0) break; s += x[i];")), "end early"),
        (kernel(SUM.replace("y[i] = s;", "*(y + i) = s;")), "may read and write memory"),
        (kernel(SUM.replace("y[i] = s;", "y[i] = s; all += 1;")), "does not add to one local"),
        (kernel(SUM.replace("y[i] = s;", "y[i] = s; all->n = s;")), "may read and write memory"),
        (kernel("int h[2];\n    " + SUM), "array of its own"),
        (kernel(SUM.replace("*all", "y[threadIdx.x]")), "though there is one thread"),
        (kernel(SUM, "1, 32"), "counts the threads of a grid"),
        (kernel(ROWS, "(99 + 47) / 48, 48"), "no whole warps"),
        (kernel(ROWS.replace("z[r * n + i]", "z[i]"), "(99 + 63) / 64, 64"), "one element in two rows"),
    ],
)
def test_what_follows_from_turn_to_turn_is_refused(text: str, reason: str) -> None:
    assert reason in refusal(STRATEGY, text)


STEPS = """\
#define N 256
__global__ void scan(const float* x, float* y, int n) {{
    __shared__ float s[{buffers}N];
    int t = threadIdx.x;
    {store}
    __syncthreads();
    #pragma unroll
    for (int d = 1; d < {end}; d *= 2) {{
        {steps}
        __syncthreads();
    }}
    y[blockIdx.x * N + t] = {read};
}}

extern "C" void solve(const float* x, float* y, int n) {{
    scan<<<n / N, N>>>(x, y, n);
}}
"""
OWN = "s[t] = x[blockIdx.x * N + t];"
ONE = "float v = s[t];\n        if (t >= d) v += s[t - d];\n        __syncthreads();\n        s[t] = v;"
TWO = "float v = s[a][t];\n        if (t >= d) v = v + s[a][t - d];\n        s[1 - a][t] = v;\n        a ^= 1;"


def steps(steps: str = ONE, store: str = OWN, end: str = "N", buffers: str = "", read: str = "s[t]") -> str:
    return STEPS.format(steps=steps, store=store, end=end, buffers=buffers, read=read)


SHUFFLED = [
    "__shared__ float warp_sums[8];",
    "float v = x[blockIdx.x * N + t];",
    "for (int d = 1; d < 32; d <<= 1) {",
    "const float other = __shfl_up_sync(0xffffffff, v, d);",
    "if (t % 32 >= d) v += other;",
    "if (t % 32 == 31) warp_sums[t / 32] = v;",
    "for (int w = 0; w < t / 32; ++w) v += warp_sums[w];",
    "s[t] = v;",
]


@pytest.mark.parametrize(
    "text",
    [
        steps(),
        steps(
            "float v = 0.0f;\n        if (t >= d) v = s[t - d];\n        __syncthreads();\n        s[t] += v;",
            end="blockDim.x",
        ),
        steps("float v = t >= d ? s[t - d] : 0.0f;\n        __syncthreads();\n        s[t] += v;"),
        steps(
            "float v;\n        if (t >= d) { v = s[t - d]; }\n        __syncthreads();\n        if (t >= d) s[t] += v;"
        ),
        steps(TWO, f"int a = 0;\n    {OWN.replace('[t]', '[a][t]')}", "256", "2][", "s[a][t]"),
    ],
    ids=["one buffer", "an addend", "a choice", "an addend below", "two buffers"],
)
def test_steps_become_shuffles(text: str) -> None:
    (after,) = rewritten(STRATEGY, text)
    lines = [line.strip() for line in after.splitlines()]
    assert [line for line in SHUFFLED if line not in lines] == []
    assert "#pragma" not in after


def test_maxima_of_what_others_store() -> None:
    (after,) = rewritten(STRATEGY, steps(ONE.replace("v += s[t - d]", "v = fmaxf(v, s[t - d])"), "s[255 - t] = x[t];"))
    assert "s[255 - t] = x[t];\n    __syncthreads();\n    float v = s[t];" in after
    assert "if (t % 32 >= d) v = fmaxf(v, other);" in after


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (steps(end="N / 2"), "do not go as far as the block"),
        (steps(ONE.replace("t - d", "t - 1")), "no scan of one array"),
        (steps(ONE.replace("t >= d", "t > d")), "no scan of one array"),
        (steps(ONE.replace("v += s", "v = v + 2 * s")), "no scan of one array"),
        (steps(ONE.replace("float v", "double v")), "or `v` others"),
        (steps(ONE.replace("s[t] = v", "s[t] = v + 1")), "no scan of one array"),
        (steps(ONE.replace("        __syncthreads();\n", "")), "no scan of one array"),
        (steps(TWO, "int a = 0;\n    s[a][t] = x[t];", "N", "2][", "s[1][t]"), "says more than which buffer"),
        (steps().replace("<<<n / N, N>>>", "<<<n / N, n>>>"), "no size that is a number of whole warps"),
    ],
)
def test_other_steps_are_refused(text: str, reason: str) -> None:
    assert reason in refusal(STRATEGY, text)


BELOW = """\
__global__ void place(const float* x, float* y, int n) {{
    __shared__ {type} flags[128];
    const int t = threadIdx.x;
    flags[t] = blockIdx.x * 128 + t < n;
    {between}
    if (t < n) {{
        {local} = 0;
        {loop}
        y[at] = x[t];
    }}
}}

extern "C" void solve(const float* x, float* y, int n) {{
    place<<<n / 128, {block}>>>(x, y, n);
}}
"""
LOOP = "for (int i = 0; i < t; ++i) at += flags[i];"


def below(
    loop: str = LOOP, type: str = "int", local: str = "int at", between: str = "__syncthreads();", block: str = "128"
) -> str:
    return BELOW.format(loop=loop, type=type, local=local, between=between, block=block)


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        (below(), ["int upto = flags[t];", "if (t % 32 == 31) warp_sums[t / 32] = upto;", "if (t % 32 == 0) below = 0;",
                   "for (int w = 0; w < t / 32; ++w) below += warp_sums[w];", "at += below;"]),
        (below(LOOP.replace("<", "<=").replace("at +=", "at = at +"), "bool"),
         ["for (int w = 0; w < t / 32; ++w) upto += warp_sums[w];", "at += upto;"]),
    ],
    ids=["below", "and its own"],
)  # fmt: skip
def test_sums_of_threads_below(text: str, lines: list[str]) -> None:
    found = new_lines(text)
    assert [line for line in lines if line not in found] == []


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (below(LOOP.replace("< t", "< n")), "twice as far each time"),
        (below(LOOP.replace("flags[i]", "flags[i + 1]")), "no array in shared memory, element by element"),
        (below(type="float"), "of the kind that `flags` holds"),
        (below(between="__syncthreads();\n    if (t > 99) return;"), "may return ahead of the sum"),
        (below(between=""), "No barrier stands ahead"),
        (below(f"for (int j = 0; j < 9; ++j) {{ {LOOP} }}"), "made more than once"),
        (below(f"flags[t] = 3; {LOOP}"), "`flags` changes"),
        (below(block="256"), "larger than `flags`"),
    ],
)
def test_other_sums_of_threads_are_refused(text: str, reason: str) -> None:
    assert reason in refusal(STRATEGY, text)


WALK = """\
__shared__ int s[64];
    int carry = 0;
    for (int first = 0; first < n; first += 64) {
        const int i = first + threadIdx.x;
        s[threadIdx.x] = i < n ? x[i] : 0;
        __syncthreads();
        for (int step = 1; step < 64; step *= 2) {
            int sum = s[threadIdx.x];
            if (threadIdx.x >= step) sum += s[threadIdx.x - step];
            __syncthreads();
            s[threadIdx.x] = sum;
            __syncthreads();
        }
        if (i < n) y[i] = carry + s[threadIdx.x];
        carry += s[63];
        __syncthreads();
    }"""


def test_chunks_share_barriers() -> None:
    text = kernel(WALK, "1, 64")
    variants = rewritten(STRATEGY, text)
    assert [one.count("__syncthreads") for one in variants] == [3, 2, 2, 2]
    assert ["chunk += 4 * 64" in one for one in variants] == [False, True, False, False]


@pytest.mark.parametrize(
    ("was", "becomes"),
    [
        ("first += 64", "first += 32"),
        ("? x[i] : 0", "? x[i] + carry : 0"),
        ("? x[i] : 0", "? y[i + 1] : 0"),
        ("+= s[63]", "+= s[62]"),
        ("carry += s[63];", "carry += s[63]; n -= 1;"),
        ("carry += s[63];", "carry += s[63] + y[0];"),
        ("carry += s[63];", "carry += s[63] + last; if (i == 9) last = 3;"),
        ("+ s[threadIdx.x];", "+ s[threadIdx.x ^ 1];"),
        ("        carry +=", "        __syncthreads();\n        carry +="),
        ("        carry +=", "        if (carry > n) break;\n        carry +="),
    ],
)
def test_chunks_that_follow_each_other(was: str, becomes: str) -> None:
    text = WALK.replace(was, becomes).replace("int s[64]", "int s[64], last" if "last" in becomes else "int s[64]")
    assert len(rewritten(STRATEGY, kernel(text, "1, 64"))) == 1


def test_a_sum_that_is_used_behind_the_loop() -> None:
    assert len(rewritten(STRATEGY, kernel(f"{WALK}\n    y[n] = s[0];", "1, 64"))) == 1
