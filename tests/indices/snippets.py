"""Right and wrong kernels with the launches of their workload lines: what z3 says of them, each with its witness."""


def launched(body: str, launch: str, signature: str = "const float* x, float* y, int n", head: str = "") -> str:
    """A kernel and the line that launches it."""
    return f"{head}\n// workload: {launch}\n__global__ void kernel({signature}) {{\n{body}\n}}\n"


AT = "int i = blockIdx.x * blockDim.x + threadIdx.x;"
LINE = "kernel<<<(n + 255) / 256, 256>>>(x=randn(n), y=out(n), n=1000)"
BLOCK = "kernel<<<4, 256>>>(x=randn(1024), y=out(1024), n=1024)"
SQUARE = "kernel<<<dim3(3, 2), dim3(16, 16)>>>(x=randn(h, w), y=out(h, w), h=29, w=37)"
MATRIX = "const float* x, float* y, int h, int w"
XY = "int i = blockIdx.x * blockDim.x + threadIdx.x, j = blockIdx.y * blockDim.y + threadIdx.y;"

# Out of bounds: the text, and a witness that the message has to name.
OUTSIDE: dict[str, tuple[str, str]] = {
    "a guard that lets one in": (launched(f"{AT} if (i <= n) y[i] = 0.0f;", LINE), "thread 232 writes y[1000] of 1000"),
    "a neighbour": (launched(f"{AT} if (i < n) y[i] = x[i + 1];", LINE), "block 3, thread 231 reads x[1000]"),
    "a neighbour before": (launched(f"{AT} if (i < n) y[i] = x[i - 1];", LINE), "block 0, thread 0 reads x[-1]"),
    "unsigned below 0": (
        launched("unsigned i = threadIdx.x; y[i] = x[i - 1];", "kernel<<<1, 64>>>(x=randn(64), y=out(64), n=64)"),
        "thread 0 reads x[4294967295] of 64",
    ),
    "swapped sizes": (launched(f"{XY} if (i < w && j < h) y[i * h + j] = x[i * w + j];", SQUARE, MATRIX), "reads x["),
    "a guard in one direction": (launched(f"{XY} if (i < w) y[j * w + i] = 1.0f;", SQUARE, MATRIX), "writes y["),
    "the last turn of a loop": (
        launched(f"{AT} if (i >= n) return; float s = 0; for (int k = 0; k <= 4; ++k) s += x[i * 4 + k]; y[i] = s;",
                 "kernel<<<4, 256>>>(x=randn(4 * n), y=out(n), n=1000)"),
        "block 3, thread 231 reads x[4000]",
    ),
    "a stride that ends late": (
        launched("for (int i = threadIdx.x; i < n + 1; i += blockDim.x) y[i] = 0;",
                 "kernel<<<1, 96>>>(x=randn(n), y=out(n), n=1000)"),
        "writes y[1000] of 1000",
    ),
    "a pointer that moves": (
        launched("const float* p = x + blockIdx.x * 256; for (int k = 0; k < 3; ++k) { y[threadIdx.x] += *p; p += 512; }",
                 "kernel<<<4, 1>>>(x=randn(1024), y=out(1024), n=1024)"),
        "reads x[1024] of 1024",
    ),
    "four at once": (
        launched(f"{AT} if (4 * i < n) reinterpret_cast<float4*>(y)[i] = make_float4(0, 0, 0, 0);",
                 "kernel<<<1, 256>>>(x=randn(n), y=out(n), n=1002)"),
        "writes y[1000] to y[1003] of 1002",
    ),
    "a shared array": (
        launched("__shared__ float s[256]; int t = threadIdx.x; s[t] = x[t]; __syncthreads(); y[t] = s[t + 1];", BLOCK),
        "thread 255 reads s[256] of 256",
    ),
    "dynamic shared memory": (
        launched("extern __shared__ float s[]; s[threadIdx.x] = x[threadIdx.x];",
                 "kernel<<<1, 128, 256>>>(x=randn(128), y=out(128), n=128)"),
        "thread 64 writes s[64] of 64",
    ),
    "rows of a shared array": (
        launched("__shared__ float s[16][17]; s[threadIdx.y + 1][threadIdx.x] = 0;", SQUARE, MATRIX),
        "writes s[272] of 272",
    ),
    "halves of a block": (
        launched("__shared__ float s[256]; int t = threadIdx.x; s[t] = x[t]; for (int d = blockDim.x / 2; d > 0; d >>= 1) { "
                 "__syncthreads(); if (t <= d) s[t] += s[t + d]; } if (t == 0) y[blockIdx.x] = s[0];", BLOCK),
        "thread 128 reads s[256] of 256",
    ),
    "a helper": (
        launched(f"{AT} put(y, i);", LINE, head="__device__ void put(float* to, int at) { to[at] = 1.0f; }"),
        "writes y[1000] of 1000",
    ),
    "a macro": (launched(f"{XY} if (i < w && j < h) y[AT(j + 1, i)] = 0;", SQUARE, MATRIX, "#define AT(r, c) ((r) * w + (c))"),
                "writes y[1073"),
    "an index that overflows": (
        launched(f"{XY} if (i < w && j < h) y[j * w + i] = 1.0f;",
                 "kernel<<<dim3(200, 50000), 256>>>(x=randn(1), y=out(h, w), h=50000, w=50000)", MATRIX),
        "writes y[-",
    ),
    "the wrong branch": (launched(f"{AT} if (i < n) y[i] = 1; else y[i] = 0;", LINE), "writes y[1000]"),
    "a remainder": (launched(f"{AT} if (i < n) y[i] = x[i % 1001];", "kernel<<<5, 256>>>(x=randn(1000), y=out(1280), n=1280)"),
                    "reads x[1000]"),
}  # fmt: skip

# Two threads write one element: the text, and what the message has to say.
RACING: dict[str, tuple[str, str]] = {
    "halved": (launched(f"{AT} if (i < n) y[i / 2] = x[i];", LINE), "both write y["),
    "all of a block": (launched("y[blockIdx.x] = x[blockIdx.x * 256 + threadIdx.x];", BLOCK), "both write y["),
    "the same in each block": (launched("y[threadIdx.x] = x[blockIdx.x * 256 + threadIdx.x];", BLOCK), "block 1"),
    "a sum without atomics": (launched(f"{AT} if (i < n) y[0] += x[i];", LINE), "updates get lost"),
    "blocks that overlap": (
        launched("int i = blockIdx.x * 255 + threadIdx.x; y[i] = x[threadIdx.x];", BLOCK), "both write y[255]"),
    "a column": (launched(f"{XY} if (i < w && j < h) y[i] = x[j * w + i];", SQUARE, MATRIX), "both write y["),
    "shared": (
        launched("__shared__ float s[64]; s[threadIdx.x % 64] = x[threadIdx.x]; __syncthreads(); y[threadIdx.x] = s[0];",
                 "kernel<<<1, 256>>>(x=randn(256), y=out(256), n=256)"),
        "both write s[",
    ),
    "strides that meet": (
        launched(f"{AT} for (; i < n; i += blockDim.x) y[i] = x[i] + (float)blockIdx.x;", BLOCK), "both write y["),
    "neighbours": (launched(f"{AT} if (i < n) {{ y[i] = x[i]; y[i + 32] = x[i]; }}", 
                            "kernel<<<1, 256>>>(x=randn(256), y=out(288), n=256)"), "both write y["),
}  # fmt: skip

# Right as it is: nothing is said, and nothing is left open but where it says so.
RIGHT: dict[str, str] = {
    "guarded": launched(f"{AT} if (i < n) y[i] = x[i];", LINE),
    "leaves early": launched(f"{AT} if (i >= n) return; y[i] = x[i];", LINE),
    "a border": launched(f"{AT} if (i > 0 && i < n - 1) y[i] = x[i - 1] + x[i + 1];", LINE),
    "clamped": launched(f"{AT} if (i < n) y[i] = x[max(i - 1, 0)] + x[min(i + 1, n - 1)];", LINE),
    "chosen": launched(f"{AT} if (i < n) y[i] = i > 0 ? x[i - 1] : 0.0f;", LINE),
    "wrapped around": launched(f"{AT} if (i < n) y[i] = x[(i + n - 1) % n];", LINE),
    "strides": launched(f"{AT} for (; i < n; i += gridDim.x * blockDim.x) y[i] = x[i];", LINE),
    "a while": launched(f"{AT} while (i < n) {{ y[i] = x[i]; i += gridDim.x * blockDim.x; }}", LINE),
    "downwards": launched("for (int i = n - 1 - threadIdx.x; i >= 0; i -= blockDim.x) y[i] = x[i];",
                          "kernel<<<1, 128>>>(x=randn(1000), y=out(1000), n=1000)"),
    "fours with a tail": launched(
        f"{AT} if (4 * i + 3 < n) reinterpret_cast<float4*>(y)[i] = reinterpret_cast<const float4*>(x)[i]; "
        "else for (int k = 4 * i; k < n; ++k) y[k] = x[k];", "kernel<<<1, 256>>>(x=randn(n), y=out(n), n=1002)"),
    "a transpose in tiles": launched(
        "__shared__ float s[16][17]; int i = blockIdx.x * 16 + threadIdx.x, j = blockIdx.y * 16 + threadIdx.y; "
        "if (i < w && j < h) s[threadIdx.y][threadIdx.x] = x[j * w + i]; __syncthreads(); "
        "i = blockIdx.y * 16 + threadIdx.x; j = blockIdx.x * 16 + threadIdx.y; "
        "if (i < h && j < w) y[j * h + i] = s[threadIdx.x][threadIdx.y];", SQUARE, MATRIX),
    "a tree": launched(
        "__shared__ float s[256]; int t = threadIdx.x; s[t] = x[blockIdx.x * 256 + t]; "
        "for (int d = blockDim.x / 2; d > 0; d >>= 1) { __syncthreads(); if (t < d) s[t] += s[t + d]; } "
        "if (t == 0) y[blockIdx.x] = s[0];", BLOCK),
    "a flag": launched(f"{AT} if (i < n) y[0] = 1.0f;", LINE),
    "the same value": launched(f"{AT} if (i < n) y[blockIdx.x] = x[blockIdx.x];", LINE),
    "a value of the block": launched(
        f"{AT} float v = __shfl_sync(0xffffffff, x[i], 0); y[blockIdx.x * 8 + threadIdx.x / 32] = v;", BLOCK),
    "an atomic": launched(f"{AT} if (i < n) atomicAdd(&y[i % 7], x[i]);", LINE),
    "rounds of a loop": launched(
        "__shared__ float s[256]; for (int k = 0; k < 4; ++k) { s[threadIdx.x] = x[k * 256 + threadIdx.x]; __syncthreads(); "
        "y[k * 256 + threadIdx.x] = s[255 - threadIdx.x]; __syncthreads(); }",
        "kernel<<<1, 256>>>(x=randn(1024), y=out(1024), n=1024)"),
    "two halves": launched(
        "__shared__ float s[512]; int t = threadIdx.x; s[t] = x[t]; s[t + 256] = x[t + 256]; __syncthreads(); y[t] = s[2 * t];",
        "kernel<<<1, 256>>>(x=randn(512), y=out(256), n=512)"),
    "a row for each warp": launched(
        "int lane = threadIdx.x & 31, warp = threadIdx.x >> 5; int row = blockIdx.x * 8 + warp; if (row >= 30) return; "
        "for (int k = lane; k < 50; k += 32) y[row * 50 + k] = x[row * 50 + k];",
        "kernel<<<4, 256>>>(x=randn(1500), y=out(1500), n=1500)"),
    "64 bits": launched(f"{XY} if (i < w && j < h) y[(size_t)j * w + i] = 1.0f;",
                        "kernel<<<dim3(200, 50000), 256>>>(x=randn(1), y=out(h, w), h=50000, w=50000)", MATRIX),
    "rows by a helper": launched(f"{AT} if (i < n) put(y + i, x[i]);", LINE,
                                 head="__device__ void put(float* to, float value) { *to = value; }"),
}  # fmt: skip

# Not modelled: never a finding, and never told as checked.
OPEN: dict[str, str] = {
    "an index from memory": launched("y[at[threadIdx.x]] = 1.0f;", "kernel<<<1, 8>>>(at=randint(0, 9, 8), y=out(9))",
                                     "const int* at, float* y"),
    "a condition from memory": launched(f"{AT} if (x[i % 9] > 0.0f) y[i] = 1.0f;", LINE),
    "a function of elsewhere": launched(f"{AT} y[shuffled(i)] = 1.0f;", LINE),
    "another's pointer": launched("copy_row(y, x);", LINE),
    "a product of unknown numbers": launched("int k = (int)x[0]; y[k * k] = 1.0f;", LINE),
    "a loop that breaks": launched("for (int i = 0; i < 5000; ++i) { if (x[i % 9] > 1.0f) break; y[i] = 0.0f; }", LINE),
    "a lock": launched(
        "while (atomicCAS((int*)x, 0, 1) != 0) {} y[0] += 1.0f; atomicExch((int*)x, 0);",
        "kernel<<<4, 256>>>(x=zeros(8), y=out(8), n=8)", "float* x, float* y, int n"),
    "inline assembly": launched("int t = threadIdx.x; asm(\"mov.u32 %0, %laneid;\" : \"=r\"(t)); y[t] = x[t];", LINE),
    "a sum written out": launched(f"{AT} if (i < n) y[0] = y[0] + 1.0f;", LINE),
    "a running sum": launched("float s = 0; for (int k = 0; k < 99; ++k) { s += x[k]; y[k] = s; }", LINE),
    "two statements in a warp": launched(
        "int t = threadIdx.x; if (t < 32) { y[t] = x[t]; y[31 - t] = x[t]; }",
        "kernel<<<1, 32>>>(x=randn(32), y=out(32), n=32)"),
    "a wait that is no barrier": launched(
        "int t = threadIdx.x; y[t] = x[t]; wait_for_copies(); y[255 - t] = x[t];",
        "kernel<<<1, 256>>>(x=randn(256), y=out(256), n=256)"),
    "a lambda": launched(f"{AT} auto put = [&](int at) {{ y[at] = 1.0f; }}; put(i);", LINE),
}  # fmt: skip
