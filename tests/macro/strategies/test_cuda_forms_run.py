"""Kernels in other forms than the examples', before and after strategies that rebuild them, in the emulator at odd sizes."""

import itertools
from collections.abc import Iterator

import pytest
import torch

from kernelwright.macro.strategies import registry
from kernelwright.proof.worker.languages.cuda import LANGUAGE
from macro.cuda_files import rewritten

PRODUCT = """\
#include <cuda_runtime.h>

__global__ void product(const float* a, const float* b, float* c, int m, int n, int k_size) {{
    const int row = blockIdx.{y} * 16 + threadIdx.{y};
    const int col = blockIdx.{x} * 16 + threadIdx.{x};
    if (row >= m || col >= n) return;
    float sum = 0.0f;
    for (int k = 0; k < k_size; ++k) {loop}
    {store}
}}

extern "C" void solve(const float* a, const float* b, float* c, int m, int n, int k_size) {{
    dim3 block(16, 16), grid(({wide} + 15) / 16, ({high} + 15) / 16);
    product<<<grid, block>>>(a, b, c, m, n, k_size);
}}
"""
FORM = {"x": "x", "y": "y", "wide": "n", "high": "m", "store": "c[row * n + col] = sum;"}
TURNED = {"x": "y", "y": "x", "wide": "m", "high": "n", "store": "c[row * n + col] = 0.5f * sum + c[row * n + col];"}
TRANSPOSED = PRODUCT.format(**TURNED, loop="sum += a[k * m + row] * b[col * k_size + k];")
SCATTERED = PRODUCT.format(**TURNED, loop="sum += a[row * k_size + k] * b[k * n + col];")
DISTANCES = PRODUCT.format(**FORM, loop="{ float d = a[row * k_size + k] - b[k * n + col]; sum += d * d; }")

ROWS = """\
#include <cuda_runtime.h>
#include <math.h>

__global__ void work(const float* a, const float* b, float* c, int m, int n) {{
    {body}
}}

extern "C" void solve(const float* a, const float* b, float* c, int m, int n, int k_size) {{
    work<<<{grid}, 128>>>(a, b, c, m, n);
}}
"""
SOFTMAX = ROWS.format(
    grid="(m + 127) / 128",
    body="""\
int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= m) return;
    float* out = c + i * n;
    float top = a[i * n];
    for (int j = 1; j < n; ++j) top = fmaxf(top, a[i * n + j]);
    float sum = 0.0f;
    for (int j = 0; j < n; ++j) {
        out[j] = expf(a[i * n + j] - top);
        sum += out[j];
    }
    for (int j = 0; j < n; ++j) out[j] /= sum;""",
)
MOMENTS = ROWS.format(
    grid="m",
    body="""\
__shared__ float s[128], q[128];
    const int t = threadIdx.x;
    s[t] = 0.0f;
    q[t] = 0.0f;
    for (int j = t; j < n; j += 128) {
        s[t] += a[blockIdx.x * n + j];
        q[t] += a[blockIdx.x * n + j] * a[blockIdx.x * n + j];
    }
    __syncthreads();
    for (unsigned int step = 1; step < blockDim.x; step *= 2) {
        if (t % (2 * step) == 0) {
            s[t] += s[t + step];
            q[t] += q[t + step];
        }
        __syncthreads();
    }
    for (int j = t; j < n; j += 128) c[blockIdx.x * n + j] = s[0] / n + q[0] * b[j];""",
)
DOT = ROWS.format(
    grid="(m * n + 127) / 128",
    body="""\
int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= m * n) return;
    float v = a[i] * c[i];
    atomicAdd(&c[m * n], v);""",
)
WINDOW = ROWS.format(
    grid="(m * n + 127) / 128",
    body="""\
int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= m * n) return;
    float s = 0.0f;
    for (int j = 0; j < m + 3; ++j) {
        if (i - j < 0) continue;
        for (int k = -2; k <= n; ++k) {
            if (k + j >= 0 && m * n > k + j && a[j] > -1.0f) s += a[i - j] * b[k + j];
        }
    }
    c[i] = s;""",
)
OFFSETS = ROWS.format(
    grid="1",
    body="""\
float s = b[0];
    for (int j = 0; j < m * n; ++j) {
        float v = c[j];
        c[j] = s - v;
        s += v * v;
    }
    c[m * n] = s;""",
).replace("128", "1")
MAXIMA = ROWS.format(
    grid="(m + 127) / 128",
    body="""\
int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < m) {
        float* out = c + i * n;
        float s = b[i];
        for (int j = 0; j < n; ++j) {
            s = fmaxf(a[i * n + j] - 1.0f, s);
            if (s > 0.0f) out[j] = s;
        }
    }""",
)
STEPS = ROWS.format(
    grid="m",
    body="""\
__shared__ float s[2][128];
    const int t = threadIdx.x;
    float carry = b[0];
    for (int first = 0; first < n; first += 128) {
        int in = 0;
        s[in][t] = first + t < n ? a[blockIdx.x * n + first + t] : 0.0f;
        __syncthreads();
        for (int step = 1; step < 128; step += step) {
            float sum = s[in][t];
            if (t >= step) sum += s[in][t - step];
            s[1 - in][t] = sum;
            __syncthreads();
            in = 1 - in;
        }
        if (first + t < n) c[blockIdx.x * n + first + t] = carry + (t > 0 ? s[in][t - 1] : 0.0f);
        carry += s[in][127];
        __syncthreads();
    }""",
)
CHUNKS = ROWS.format(
    grid="m",
    body="""\
__shared__ float s[128];
    float carry = b[0];
    for (int first = 0; first < n; first += blockDim.x) {
        const int i = blockIdx.x * n + first + threadIdx.x;
        s[threadIdx.x] = first + threadIdx.x < n ? a[i] - 1.0f : -9.0f;
        __syncthreads();
        for (int step = 1; step < blockDim.x; step *= 2) {
            float most = s[threadIdx.x];
            if (threadIdx.x >= step) most = fmaxf(most, s[threadIdx.x - step]);
            __syncthreads();
            s[threadIdx.x] = most;
            __syncthreads();
        }
        if (first + threadIdx.x < n) c[i] = fmaxf(carry, s[threadIdx.x]);
        carry = fmaxf(carry, s[blockDim.x - 1]) - 0.25f;
        __syncthreads();
    }""",
).replace("128", "64")
BELOW = ROWS.format(
    grid="m",
    body="""\
__shared__ float s[128];
    const int t = threadIdx.x;
    s[t] = t < n ? a[blockIdx.x * n + t] : 0.0f;
    __syncthreads();
    if (t < n) {
        float sum = b[t];
        for (int k = 0; k < t; k++) sum += s[k];
        c[blockIdx.x * n + t] = sum;
    }""",
)
ATTENTION = ROWS.format(
    grid="3",
    body="""\
__shared__ float s[1024], top;
    for (int i = threadIdx.x; i < m; i += 128) {
        float dot = 1.0f, least = a[i * n];
        for (int j = 0; j < n; ++j) dot *= 1.0f + 0.01f * a[i * n + j] * b[j];
        for (int j = 1; j < n; ++j) least = fminf(least, a[i * n + j]);
        s[i] = dot - least;
    }
    __syncthreads();
    if (threadIdx.x == 0) {
        float sum = 0.0f;
        for (int i = 0; i < m; ++i) sum += s[i];
        top = sum;
    }
    __syncthreads();
    for (int i = threadIdx.x; i < m; i += blockDim.x) if (blockIdx.x == 2) c[i] = s[i] + top;""",
)
COLUMNS = ATTENTION.replace("<<<3", "<<<1").replace(
    "for (int i = threadIdx.x; i < m; i += blockDim.x) if (blockIdx.x == 2) c[i] = s[i] + top;",
    """\
for (int j = threadIdx.x; j < n; j += blockDim.x) {
        float least = 2.0f, sum = 0.0f;
        for (int i = 0; i < m; ++i) {
            float v = s[i] * a[i * n + j];
            least = fminf(v, least);
            sum += v;
        }
        sum += least;
        c[j] = sum + top;
    }""",
)
BINS = ROWS.format(
    grid="(m * n + 127) / 128",
    body="""\
int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= m * n) return;
    int bin = (int)(fabsf(a[i]) * 9.0f) % (n + 1);
    atomicAdd(c + bin, b[i]);""",
).replace("extern", "// workload: solve(a=randn(9), b=randn(9), c=inout(randn(24)), m=3, n=3, k_size=1)\nextern", 1)
COPY = """\
#include <cuda_runtime.h>

__global__ void turn(const float* a, float* c, int m, int n) {{
    const int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x < n && y < m) {copy}
}}

extern "C" void solve(const float* a, const float* b, float* c, int m, int n, int k_size) {{
    turn<<<dim3((n + 15) / 16, (m + 15) / 16), dim3(16, 16)>>>(a, c, m, n);
}}
"""
APART = COPY.replace("threadIdx.x, y =", "threadIdx.x;\n    const int y =")
PAIRS = (
    COPY.format(copy="c[y * n + x] = a[2 * (y * n + x)] - a[2 * (y * n + x) + 1];")
    .replace("k_size) {", "k_size) {\n    if (n > 1) n /= 2;")
    .replace("const int x =", "int x =")
)
STRIDES = ROWS.format(
    grid="1",
    body="""\
float sum = 0.0f, most = -2.0f;
    for (unsigned int j = threadIdx.x % 8; j < n; j += 8) sum += a[(m > 4) * j] * b[j];
    for (int j = threadIdx.x / 8; j < n - 2; j += blockDim.x / 8) {
        if (j > 3) most = fmaxf(most, a[j + 1] + b[j]);
        most += a[j];
    }
    if (threadIdx.x < 4) {
        #pragma unroll 2
        for (int j = threadIdx.x; j < n; j += 4) {
            c[j] = a[j] - b[j];
        }
    } else if (threadIdx.x == 125) {
        for (int j = 0; j < n; ++j) sum += a[j] + b[n - j];
        c[n] = most + sum;
    }""",
)
STENCIL = COPY.format(
    copy="""{
        float s = 0.0f;
        for (int i = -2; i < 2; ++i)
            for (int j = 0; j < 3; ++j) {
                int at = (y + i) * n + x - j;
                if (at >= 0 && at < m * n) s += a[(y + i) * n + x - j];
            }
        c[y * n + x] = s - a[y * n + x];
    }"""
).replace("extern", "// workload: solve(a=randn(m * n), b=randn(9), c=out(m * n), m=8, n=9, k_size=1)\nextern", 1)
PATCHES = """\
#include <cuda_runtime.h>

__global__ void patches(const float* a, const float* b, float* c, int m, int n, int k_size) {
    const int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    float most = -1e9f, sum = b[0] + y;
    if (x < n && y < m) {
        const float* line = a + y * n;
        const float centre = line[x];
        int turns = 1;
        for (int i = -1; i <= 1; ++i) {
            const int row = y + i;
            const float weight = b[0] * i;
#pragma unroll
            for (int j = 0; j < k_size; ++j) {
                if (row < 0 || row >= m || x + j >= n) continue;
                const float d = a[row * n + x + j] - centre;
                if (d > 0.0f) most = fmaxf(most, d * weight);
                sum += d;
                turns++;
            }
        }
        most += sum / turns;
        c[y * n + x] = most;
    }
}

extern "C" void solve(const float* a, const float* b, float* c, int m, int n, int k_size) {
    dim3 block(16, 4), grid((n + 15) / 16, (m + block.y - 1) / block.y);
    patches<<<grid, block>>>(a, b, c, m, n, k_size);
}
"""
SHORT = PATCHES.replace("extern", "// workload: solve(a=randn(9), b=randn(9), c=out(9), m=3, n=3, k_size=20)\nextern")
POINTS = """\
#include <cuda_runtime.h>

#define AT(row, column) ((row) * n + (column))
__global__ void sweep(const float* a, float* c, int m, int n) {
    int i = threadIdx.y + blockIdx.y * blockDim.y;
    int j = threadIdx.x + blockIdx.x * blockDim.x;
    if (i >= m || j >= n) return;
    float middle = a[AT(i, j)];
    if (i == 0 || i == m - 1) {
        c[AT(i, j)] = middle;
        return;
    }
    middle += a[AT(i - 1, j)] + a[AT(i + 1, j)];
    c[AT(i, j)] = middle;
}

extern "C" void solve(const float* a, const float* b, float* c, int m, int n, int k_size) {
    dim3 block(32, 4), grid((n + 31) / 32, (m + 3) / 4);
    sweep<<<grid, block>>>(a, c, m, n);
    sweep<<<grid, block>>>(b, c, m, n);
}
"""
ALL_PAIRS = ROWS.format(
    grid="(m + 127) / 128",
    body="""\
int i = blockIdx.x * blockDim.x + threadIdx.x, most = 0;
    if (i < m) {
        float at = a[i];
        for (int j = 0; j < n; j++) {
            if (j == i) continue;
            float d = b[j] - at, e = a[j / 2] * b[j];
            if (d > 0.0f) most = j;
            at += 0.001f * d * e * a[i];
        }
        c[i] = at;
        c[i] += most;
    }""",
).replace("threadIdx.x, most = 0;", "threadIdx.x;\n    int most = 0;")
DIVIDED = ROWS.format(
    grid="(m * n + 127) / 128",
    body="""\
int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= m * n) return;
    int at = i % n;
    c[i] = a[i] * (i / n) + b[at];""",
)
CASES = {
    "tiles of transposed operands": ("cuda.shared-tile", TRANSPOSED, 0),
    "tiles of distances": ("cuda.shared-tile", DISTANCES, 0),
    "registers of transposed operands": ("cuda.register-block", TRANSPOSED, 0),
    "axes of a product": ("cuda.coalesce-mapping", SCATTERED, 0),
    "a warp a row": ("cuda.parallel-rows", SOFTMAX, 0),
    "a block a row": ("cuda.parallel-rows", SOFTMAX, 1),
    "a tree of two arrays": ("cuda.warp-reduce", MOMENTS, 0),
    "an atomic of each thread": ("cuda.warp-reduce", DOT, 0),
    "a table of floats in a loop": ("cuda.privatise-atomics", BINS, 0),
    "a table of floats, one element a thread": ("cuda.privatise-atomics", BINS, 1),
    "a window with a mask": ("cuda.clip-window", WINDOW, 0),
    "sums of one thread in place": ("cuda.parallel-scan", OFFSETS, 0),
    "sums of one thread in place, element by element": ("cuda.parallel-scan", OFFSETS, 3),
    "maxima so far of rows": ("cuda.parallel-scan", MAXIMA, 0),
    "several maxima so far of rows": ("cuda.parallel-scan", MAXIMA, 1),
    "steps through two buffers": ("cuda.parallel-scan", STEPS, 0),
    "two chunks of steps at once": ("cuda.parallel-scan", CHUNKS, 2),
    "sums of the threads below": ("cuda.parallel-scan", BELOW, 0),
    "a window that goes on in the next row": ("cuda.stencil-tile", STENCIL, 0),
    "rows of a block by warps": ("cuda.warp-rows", ATTENTION, 0),
    "rows of patches": ("cuda.coarsen-rows", PATCHES, 0),
    "rows of patches in other blocks": ("cuda.coarsen-rows", PATCHES, 1),
    "rows of patches of a known width": ("cuda.coarsen-rows", SHORT, 1),
    "rows of a product": ("cuda.coarsen-rows", DISTANCES, 1),
    "rows of a product that are columns": ("cuda.coarsen-rows", TRANSPOSED, 0),
    "rows of points": ("cuda.coarsen-rows", POINTS, 3),
    "rows of points in wide blocks, conditions asked once": ("cuda.coarsen-rows", POINTS, 0),
    "many rows of points, conditions asked once": ("cuda.coarsen-rows", POINTS, 1),
    "a loop over what all threads read": ("cuda.stage-loop", ALL_PAIRS, 0),
    "rows of a block by warps, and what thread 0 does by the block": ("cuda.warp-rows", ATTENTION, 1),
    "rows of a larger block": ("cuda.warp-rows", ATTENTION, 3),
    "columns by warps": ("cuda.warp-rows", COLUMNS, 5),
    "columns by more warps": ("cuda.warp-rows", COLUMNS, 7),
    "a transpose that reads rows": ("cuda.shared-tile", COPY.format(copy="c[x * m + y] = 2.0f * a[y * n + x];"), 0),
    "a transpose that writes rows": ("cuda.shared-tile", COPY.format(copy="c[y * n + x] = a[x * m + y];"), 0),
    "rows of a tile that reads rows": ("cuda.shared-tile", APART.format(copy="c[x * m + y] = 2.0f * a[y * n + x];"), 0),
    "rows of a tile that writes rows": ("cuda.shared-tile", APART.format(copy="c[y * n + x] = a[x * m + y];"), 1),
    "vectors in two dimensions": ("cuda.vectorise-access", APART.format(copy="c[y * n + x] = a[y * n + x] * y;"), 0),
    "vectors of pairs": ("cuda.vectorise-access", PAIRS, 0),
    "vectors of rows": ("cuda.vectorise-access", DIVIDED, 0),
    "loads of several turns": ("cuda.load-ahead", STRIDES, 0),
}
SIZES = ((1, 1, 1), (31, 33, 17), (33, 64, 20), (5, 131, 0))


def tensors(m: int, n: int, k: int, shift: int) -> Iterator[torch.Tensor]:
    """Three operands with room for every form, `shift` elements behind an aligned address."""
    generator = torch.Generator().manual_seed(m + n + k)
    size = max(m * n, m * k, n * k) + 1
    return (torch.randn(size + shift, generator=generator)[shift:] for _ in range(3))


@pytest.mark.parametrize(("name", "text", "variant"), CASES.values(), ids=CASES)
def test_the_rewrite_computes_the_same(name: str, text: str, variant: int) -> None:
    texts = (text, rewritten(registry()[name], text)[variant])
    modules = [LANGUAGE.load("/nowhere/kernel.cu", one, "test") for one in texts]
    for sizes, shift in itertools.product(SIZES, (0, 1)):
        results = []
        for module in modules:
            a, b, c = tensors(*sizes, shift)
            module.solve(a, b, c, *sizes)
            results.append(c)
        assert torch.allclose(*results, rtol=1e-4, atol=1e-3), (sizes, shift)
    for module in modules:
        LANGUAGE.unload(module)
