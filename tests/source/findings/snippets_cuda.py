"""Right and wrong CUDA code, per rule. Wrong code is wrong in this one way only."""

WRONG: dict[str, list[str]] = {}
RIGHT: dict[str, list[str]] = {}


def kernel(signature: str, body: str, head: str = "") -> str:
    return f"{head}__global__ void kernel({signature}) {{\n{body}\n}}\n"


def launched(signature: str, body: str, launch: str, outer: str = "", workload: str = "", head: str = "") -> str:
    """A kernel with a function that launches it; `outer` are the parameters of that, where they are others."""
    line = f"// workload: {workload}\n" if workload else ""
    run = f'extern "C" cudaError_t run({outer or signature}) {{\n{launch}\nreturn cudaGetLastError();\n}}\n'
    return kernel(signature, body, head) + line + run


INDEX = "int i = blockIdx.x * blockDim.x + threadIdx.x;"
XY = "const float* x, float* y, int n"
MATRIX = "const float* x, float* y, int rows, int cols"

WRONG["cuda.uncoalesced-access"] = [
    kernel(
        MATRIX,
        f"{INDEX} if (i >= rows) return; float m = 0.0f; for (int k = 0; k < cols; k++) m += x[i * cols + k]; "
        "y[i] = m;",
    ),
    kernel(
        MATRIX,
        f"{INDEX} if (i < rows) {{ const float* row = x + i * cols; float m = row[0]; for (int k = 1; "
        f"k < cols; k++) m = fmaxf(m, row[k]); y[i] = m; }}",
    ),
    kernel(
        "const float* in, float* out, int width, int height",
        """int col = blockIdx.x * blockDim.x + threadIdx.x, row = blockIdx.y * blockDim.y + threadIdx.y;
        if (col < width && row < height) out[col * height + row] = in[row * width + col];""",
    ),
    kernel(XY, f"{INDEX} if (16 * i < n) y[i] = x[16 * i];"),
    launched(
        "const float* x, float* y, int rows, int cols, int stride",
        f"{INDEX} if (i < rows) y[i] = x[i * stride];",
        "kernel<<<(rows + 255) / 256, 256>>>(x, y, rows, cols, stride);",
        workload="run(x=randn(rows * cols), y=out(rows), rows=1024, cols=64, stride=64)",
    ),
    kernel(
        "const float* x, float* y, int n",
        "int t = threadIdx.x; const float* p = &x[blockIdx.x * n + t * 64]; float s = 0.0f; for (int j = 0; "
        "j < 64; j++) s += p[j]; y[blockIdx.x * 256 + t] = s;",
    ),
    kernel(MATRIX, "if (threadIdx.x < 16) y[threadIdx.x] = x[threadIdx.x * cols];"),
    launched(
        MATRIX,
        "int row = blockIdx.x * blockDim.y + threadIdx.y; if (row < rows) y[row] = x[row * cols];",
        "kernel<<<(rows + 63) / 64, dim3(1, 64)>>>(x, y, rows, cols);",
    ),
]
RIGHT["cuda.uncoalesced-access"] = [
    kernel(
        "const float* x, float* y, int n, int d",
        "int i = blockIdx.x; int offset = (i / d) * d * n + i % d; float s = 0.0f; "
        "for (int j = threadIdx.x; j < n; j += blockDim.x) s += x[offset + j * d]; y[i * 256 + threadIdx.x] = s;",
    ),
    kernel("const float* x, float* y, int n, int mul", f"{INDEX} if (i < n) y[i] = x[i * mul];"),
    kernel(XY, f"{INDEX} if (8 * i < n) for (int j = 0; j < 8; j++) y[8 * i + j] = 2.0f * x[8 * i + j];"),
    kernel(
        XY, f"{INDEX} if (9 * i < n) {{ float m = x[9 * i]; for (int j = 1; j < 9; j++) m += x[9 * i + j]; y[i] = m; }}"
    ),
    kernel(
        "const half2* x, half2* y, int n",
        "int i = (blockIdx.x * blockDim.x + threadIdx.x) * PER; "
        "for (int j = 0; j < PER; j++) if (i + j < n) y[i + j] = x[i + j];",
        head="template <int PER>\n",
    ),
    kernel(
        "const float* x, float* y, int rows, int cols, bool flat",
        f"{INDEX} float s = 0.0f; for (int k = 0; k < cols; k++) s += x[i * (flat ? 1 : cols) + k]; if (i < rows) y[i] = s;",
    ),
    kernel(
        "const float* x, float* y, int s0, int s1, int lp0, int n",
        f"{INDEX} if (i < n) y[blockIdx.y * n + i] = x[(i - lp0) * s0 + blockIdx.y * s1];",
    ),
    kernel(
        XY,
        f"{INDEX} int column; split(i, n, column); y[i * n + column] = x[i * n + column];",
        "__device__ void split(int& i, int by, int& rest) { rest = i % by; i /= by; }\n",
    ),
    kernel(XY, f"{INDEX} if (i < n) y[i] = 2.0f * x[i];"),
    kernel(XY, f"{INDEX} for (; i < n; i += gridDim.x * blockDim.x) y[i] = 2.0f * x[i];"),
    kernel(
        MATRIX,
        f"{INDEX} if (i < cols) {{ float s = 0.0f; for (int r = 0; r < rows; r++) s += x[r * cols + i]; y[i] = s; }}",
    ),
    kernel(
        MATRIX,
        "float s = 0.0f; for (int k = threadIdx.x; k < cols; k += blockDim.x) s += x[blockIdx.x * cols + k]; "
        "y[blockIdx.x * blockDim.x + threadIdx.x] = s;",
    ),
    kernel(
        "const unsigned char* rgb, unsigned char* grey, int n",
        f"{INDEX} if (i < n) grey[i] = (rgb[3 * i] + rgb[3 * i + 1] + rgb[3 * i + 2]) / 3;",
    ),
    kernel("const float* x, const int* at, float* y, int n", f"{INDEX} if (i < n) y[i] = x[at[i]];"),
    kernel("const float* x, float* y, int n, int incx", f"{INDEX} if (i < n) y[i] = x[i * incx];"),
    kernel(MATRIX, "int row = blockIdx.x; if (threadIdx.x == 0) y[row * cols] = x[row * cols];"),
    kernel(
        "const float* A, const float* B, float* C, int N, int K",
        """int row = blockIdx.y * blockDim.y + threadIdx.y, col = blockIdx.x * blockDim.x + threadIdx.x;
        if (row >= N || col >= N) return;
        float sum = 0.0f;
        for (int k = 0; k < K; ++k) sum += A[row * K + k] * B[k * N + col];
        C[row * N + col] = sum;""",
    ),
    kernel(
        XY,
        f"{INDEX} int lane = threadIdx.x % 32, warp = i / 32; float v = x[i]; for (int o = 16; o > 0; "
        "o /= 2) v += __shfl_down_sync(~0u, v, o); if (lane == 0) y[warp] = v;",
    ),
]

TILE = "int tx = threadIdx.x, ty = threadIdx.y;"
WRONG["cuda.bank-conflicts"] = [
    kernel(
        "const float* x, float* y, int n",
        """__shared__ float tile[32][32]; int tx = threadIdx.x, ty = threadIdx.y;
        tile[ty][tx] = x[ty * n + tx];
        __syncthreads();
        y[ty * n + tx] = tile[tx][ty];""",
    ),
    launched(
        "const float* x, float* y, int n",
        """__shared__ float tile[TILE][TILE]; int tx = threadIdx.x, ty = threadIdx.y;
        int col = blockIdx.x * TILE + tx, row = blockIdx.y * TILE + ty;
        if (col < n && row < n) tile[ty][tx] = x[row * n + col];
        __syncthreads();
        if (col < n && row < n) y[row * n + col] = tile[tx][ty];""",
        "kernel<16><<<dim3((n + 15) / 16, (n + 15) / 16), dim3(16, 16)>>>(x, y, n);",
        head="template <int TILE> ",
    ),
    kernel(
        "const float* x, float* y",
        """__shared__ float s[512]; int t = threadIdx.x;
        s[t] = x[blockIdx.x * 512 + t]; s[t + 256] = x[blockIdx.x * 512 + t + 256];
        __syncthreads();
        y[blockIdx.x * 256 + t] = s[2 * t] + s[2 * t + 1];""",
    ),
    kernel(
        "const float* x, float* y, int n",
        """__shared__ float s[256]; int t = threadIdx.x; int i = blockIdx.x * 256 + t;
        s[t] = i < n ? x[i] : 0.0f;
        __syncthreads();
        for (int stride = 1; stride < 256; stride *= 2) {
            int at = 2 * stride * t;
            if (at < 256) s[at] += s[at + stride];
            __syncthreads();
        }
        if (t == 0) y[blockIdx.x] = s[0];""",
    ),
    kernel(
        "const double* x, double* y",
        """__shared__ double s[32 * 16]; int t = threadIdx.x;
        for (int k = 0; k < 16; ++k) s[k * 32 + t] = x[k * 32 + t];
        __syncthreads();
        double sum = 0; for (int k = 0; k < 16; ++k) sum += s[t * 16 + k];
        y[t] = sum;""",
    ),
]
RIGHT["cuda.bank-conflicts"] = [
    kernel(
        "const float* x, float* y, int n",
        """__shared__ float tile[32][33]; int tx = threadIdx.x, ty = threadIdx.y;
        tile[ty][tx] = x[ty * n + tx];
        __syncthreads();
        y[ty * n + tx] = tile[tx][ty];""",
    ),
    kernel(
        "const float* a, const float* b, float* c, int n",
        """__shared__ float A[32][32], B[32][32]; int tx = threadIdx.x, ty = threadIdx.y; float acc = 0.0f;
        for (int t = 0; t < n; t += 32) {
            A[ty][tx] = a[ty * n + t + tx]; B[ty][tx] = b[(t + ty) * n + tx];
            __syncthreads();
            for (int k = 0; k < 32; ++k) acc += A[ty][k] * B[k][tx];
            __syncthreads();
        }
        c[ty * n + tx] = acc;""",
    ),
    kernel(
        "const double* x, double* y",
        "__shared__ double s[256]; int t = threadIdx.x; s[t] = x[t]; __syncthreads(); y[t] = s[255 - t];",
    ),
    kernel(
        "const float4* x, float4* y",
        "__shared__ float4 s[256]; int t = threadIdx.x; s[t] = x[t]; __syncthreads(); y[t] = s[255 - t];",
    ),
    kernel(
        "const float* x, float* y, int n",
        """__shared__ float s[256]; int t = threadIdx.x; int i = blockIdx.x * 256 + t;
        s[t] = i < n ? x[i] : 0.0f;
        __syncthreads();
        for (int stride = 128; stride > 0; stride /= 2) {
            if (t < stride) s[t] += s[t + stride];
            __syncthreads();
        }
        if (t == 0) y[blockIdx.x] = s[0];""",
    ),
    launched(
        "const float* x, float* y, int n",
        """__shared__ float tile[8][8]; int tx = threadIdx.x, ty = threadIdx.y; int at = ty * 8 + tx;
        tile[ty][tx] = x[at];
        __syncthreads();
        float sum = 0.0f; for (int k = 0; k < 8; ++k) sum += tile[ty][k];
        y[at] = sum;""",
        "kernel<<<1, dim3(8, 8)>>>(x, y, n);",
    ),
]

WRONG["cuda.divergent-barrier"] = [
    kernel(
        XY,
        f"__shared__ float s[256]; {INDEX} if (i < n) {{ s[threadIdx.x] = x[i]; __syncthreads(); "
        f"y[i] = s[255 - threadIdx.x]; }}",
    ),
    kernel(
        XY,
        f"__shared__ float s[256]; {INDEX} if (i >= n) return; s[threadIdx.x] = x[i]; __syncthreads(); "
        "y[i] = s[255 - threadIdx.x];",
    ),
    kernel(
        XY,
        """__shared__ float s[256]; int t = threadIdx.x;
        for (int i = t; i < n; i += blockDim.x) { s[t] = x[i]; __syncthreads(); y[i] = s[0]; __syncthreads(); }""",
    ),
    kernel(
        XY,
        """__shared__ float s[256]; int t = threadIdx.x; s[t] = x[t]; __syncthreads();
        for (int k = 128; k > 0; k /= 2) { if (t < k) { s[t] += s[t + k]; __syncthreads(); } }
        y[t] = s[t];""",
    ),
    kernel(
        XY,
        """__shared__ float s[256]; int i = threadIdx.x; s[i] = x[i];
        while (i < n) { __syncthreads(); y[i] = s[255 - threadIdx.x]; i += blockDim.x; }""",
    ),
    kernel(
        XY, f"__shared__ int any; {INDEX} if (threadIdx.x == 0) {{ any = 0; __syncthreads(); }} if (i < n) y[i] = x[i];"
    ),
]
RIGHT["cuda.divergent-barrier"] = [
    kernel(
        XY,
        """__shared__ float s[256];
        if (threadIdx.x < 32) { s[threadIdx.x] = x[threadIdx.x]; __syncthreads(); return; }
        __syncthreads();
        y[threadIdx.x] = s[threadIdx.x % 32];""",
    ),
    kernel(
        "const float* x, float* y, int* taken, int n",
        """__shared__ int queue[2]; int& next = queue[0];
        if (threadIdx.x == 0) next = atomicAdd(taken, 1);
        __syncthreads();
        while (next < n) {
            y[next * 256 + threadIdx.x] = x[next * 256 + threadIdx.x];
            __syncthreads();
            if (threadIdx.x == 0) next = atomicAdd(taken, 1);
            __syncthreads();
        }""",
    ),
    kernel(
        "const float* x, float* y, int rows, int cols",
        """__shared__ float s[256]; int t = threadIdx.y * 32 + threadIdx.x; int col = blockIdx.x * 32 + threadIdx.x;
        if (col >= cols) return;
        s[t] = x[threadIdx.y * cols + col];
        __syncthreads();
        if (threadIdx.y == 0) y[col] = s[t] + s[t + 32];""",
    ),
    kernel(
        "Counters* all, const float* x, float* y",
        """__shared__ float s[256]; Counters* counters = all + blockIdx.x; int end = counters->end;
        if (end > 5) { s[threadIdx.x] = x[threadIdx.x]; __syncthreads(); y[threadIdx.x] = s[255 - threadIdx.x]; }
        if (threadIdx.x == 0) counters->end = 0;""",
    ),
    kernel(
        XY,
        """__shared__ float s[256]; int i = threadIdx.x;
        auto end = ((n + static_cast<int>(blockDim.x) - 1) / static_cast<int>(blockDim.x)) * static_cast<int>(blockDim.x);
        while (i < end) { s[threadIdx.x] = i < n ? x[i] : 0.0f; __syncthreads(); i += blockDim.x; }""",
    ),
    launched(
        "const float* x, float* y, int rows, int cols",
        """__shared__ float s[256]; int row = blockIdx.y * blockDim.y + threadIdx.y;
        if (row < rows) {
            s[threadIdx.x] = x[row * cols + threadIdx.x];
            __syncthreads();
            y[row * cols + threadIdx.x] = s[255 - threadIdx.x];
        }""",
        "kernel<<<dim3(1, rows), 256>>>(x, y, rows, cols);",
    ),
    kernel(
        "const float* x, float* y, int rows",
        """__shared__ float s[8][32]; int row = blockIdx.x * blockDim.y + threadIdx.y;
        if (row >= rows) return;
        s[threadIdx.y][threadIdx.x] = x[row * 32 + threadIdx.x];
        __syncthreads();
        y[row * 32 + threadIdx.x] = s[threadIdx.y][31 - threadIdx.x];""",
    ),
    kernel(
        "const float* x, float* y",
        """__shared__ float s[256]; constexpr int step = Traits::ROWS * 32;
        for (int i = blockIdx.x * 32 + threadIdx.x % 32; i < Traits::COLS; i += step) {
            s[threadIdx.x] = x[i];
            __syncthreads();
        }""",
        head="template <typename Traits>\n",
    ),
    kernel(
        XY,
        """__shared__ float s[256]; int end = 256 * ((n + 255) / 256);
        for (int i = threadIdx.x; i < end; i += 256) { s[threadIdx.x] = i < n ? x[i] : 0.0f; __syncthreads(); }""",
    ),
    kernel(
        XY,
        """__shared__ float s[256]; int end = roundDown(n, 256);
        for (int i = threadIdx.x; i < end; i += 256) { s[threadIdx.x] = x[i]; __syncthreads(); }""",
    ),
    kernel(
        XY,
        """__shared__ float all; float sum = 0.0f;
        if (threadIdx.x == 0) { sum += x[blockIdx.x]; all = sum; }
        __syncthreads();
        sum = all;
        if (sum > 0.5f) { __syncthreads(); y[threadIdx.x] = sum; }""",
    ),
    kernel(
        XY,
        """__shared__ float s[256]; int t = threadIdx.x;
        for (int i = blockIdx.x * n + t; i < (blockIdx.x + 1) * n + t; i += 256) { __syncthreads(); s[t] = x[i]; }""",
    ),
    kernel(
        XY,
        """__shared__ float s[256]; int t = threadIdx.x; int end = (n + 256 - 1) / 256 * 256;
        for (int i = t; i < end; i += blockDim.x) {
            s[t] = i < n ? x[i] : 0.0f;
            __syncthreads();
            y[i] = s[255 - t];
            __syncthreads();
        }""",
    ),
    kernel(
        XY,
        f"__shared__ float s[256]; {INDEX} s[threadIdx.x] = i < n ? x[i] : 0.0f; __syncthreads(); "
        "if (i < n) y[i] = s[255 - threadIdx.x];",
    ),
    kernel(
        XY,
        "__shared__ float s[256]; int t = threadIdx.x; if (blockIdx.x * 256 >= n) return; s[t] = x[t]; "
        "__syncthreads(); y[t] = s[255 - t];",
    ),
    kernel(
        XY,
        """__shared__ float s[256]; int t = threadIdx.x; s[t] = x[t]; __syncthreads();
        for (int k = blockDim.x / 2; k > 0; k >>= 1) { if (t < k) s[t] += s[t + k]; __syncthreads(); }
        y[t] = s[t];""",
    ),
    kernel(
        XY,
        """__shared__ float s[256]; int t = threadIdx.x;
        for (int start = 0; start < n; start += 256) {
            int i = start + t;
            if (i < n) s[t] = x[i];
            __syncthreads();
            if (i < n) y[i] = s[0];
            __syncthreads();
        }""",
    ),
    kernel(
        XY,
        """__shared__ float s[256]; int t = threadIdx.x;
        for (int i = t; i < n; i += 256) y[i] = 0.0f;
        for (int i = 0; i < n; i += 256) { s[t] = x[i]; __syncthreads(); y[i + t] = s[255 - t]; __syncthreads(); }""",
    ),
    kernel(
        XY,
        """__shared__ float s[256]; int t = threadIdx.x;
        for (int i = t; i < 1024; i += 256) { s[t] = x[i]; __syncthreads(); y[i] = s[255 - t]; __syncthreads(); }""",
    ),
    kernel(
        XY,
        """__shared__ int done; int t = threadIdx.x;
        if (t == 0) done = n > 3;
        __syncthreads();
        if (done) { __syncthreads(); y[t] = x[t]; }""",
    ),
]

WRONG["cuda.missing-barrier"] = [
    kernel("const float* x, float* y", "__shared__ float s[256]; int t = threadIdx.x; s[t] = x[t]; y[t] = s[255 - t];"),
    kernel(
        "const float* x, float* y",
        """__shared__ float s[256]; int t = threadIdx.x; s[t] = x[t]; __syncthreads();
        for (int k = 128; k > 0; k /= 2) { if (t < k) s[t] += s[t + k]; }
        if (t == 0) y[blockIdx.x] = s[0];""",
    ),
    kernel(
        "const float* a, const float* b, float* c, int n",
        """__shared__ float A[32][32]; int tx = threadIdx.x, ty = threadIdx.y; float acc = 0.0f;
        for (int t = 0; t < n; t += 32) {
            A[ty][tx] = a[ty * n + t + tx];
            __syncthreads();
            for (int k = 0; k < 32; ++k) acc += A[ty][k] * b[(t + k) * n + tx];
        }
        c[ty * n + tx] = acc;""",
    ),
    kernel(
        "const float* a, const float* b, float* c, int n",
        """__shared__ float A[32][32]; int tx = threadIdx.x, ty = threadIdx.y; float acc = 0.0f;
        for (int t = 0; t < n; t += 32) {
            A[ty][tx] = a[ty * n + t + tx];
            for (int k = 0; k < 32; ++k) acc += A[ty][k] * b[(t + k) * n + tx];
            __syncthreads();
        }
        c[ty * n + tx] = acc;""",
    ),
    kernel(
        "const float* x, float* y",
        "__shared__ float mean; int t = threadIdx.x; if (t == 0) mean = x[0]; y[t] = x[t] - mean;",
    ),
    kernel(
        "const int* data, int* bins, int n",
        """__shared__ int local[256]; int t = threadIdx.x; local[t] = 0;
        for (int i = blockIdx.x * 256 + t; i < n; i += gridDim.x * 256) atomicAdd(&local[data[i]], 1);
        __syncthreads();
        atomicAdd(&bins[t], local[t]);""",
    ),
    kernel(
        "const float* x, float* y",
        """__shared__ float sums[8]; int t = threadIdx.x; float v = x[t];
        for (int o = 16; o > 0; o /= 2) v += __shfl_down_sync(~0u, v, o);
        if (t % 32 == 0) sums[t / 32] = v;
        float total = 0.0f; for (int w = 0; w < 8; ++w) total += sums[w];
        y[t] = total;""",
    ),
]
RIGHT["cuda.missing-barrier"] = [
    kernel(
        "float* y, int n",
        """__shared__ float s[256]; int t = threadIdx.x; int a = t * 2; int b = a + 1; a += a / 32; b += b / 32;
        s[t] = y[t]; __syncthreads();
        if (t < n) { float old = s[a]; s[a] = s[b]; s[b] += old; }""",
    ),
    kernel(
        XY,
        """__shared__ float all[256]; int t = threadIdx.x;
        for (int k = 0; k < n; ++k) {
            float sum = BlockScan(x).Sum(x[k * 256 + t]);
            all[t] = sum;
            __syncthreads();
            y[k * 256 + t] = all[255 - t];
        }""",
    ),
    kernel(
        XY,
        """__shared__ float all[64]; int t = threadIdx.x; volatile float* part = all; part[t] = x[t];
        if (t < 16) { part[t] += part[t + 16]; part[t] += part[t + 8]; y[t] = part[t]; }""",
    ),
    kernel(
        XY,
        "__shared__ int hits; __syncthreads(); while (hits < n) { int at = atomicAdd(&hits, 1); y[at] = x[at]; }",
    ),
    kernel(
        "const float* x, float* y",
        "__shared__ float s[256]; int t = threadIdx.x; s[t] = x[t]; __syncthreads(); y[t] = s[255 - t];",
    ),
    kernel(
        "const float* x, float* y",
        "__shared__ float s[256]; int t = threadIdx.x; s[t] = x[t]; s[t] *= 2.0f; y[t] = s[t];",
    ),
    kernel(
        "const float* x, float* y, int n",
        """__shared__ float s[2][256]; int t = threadIdx.x, now = 0; s[now][t] = x[t];
        for (int i = 1; i < n; ++i) {
            __syncthreads();
            s[1 - now][t] = x[i * 256 + t];
            y[(i - 1) * 256 + t] = s[now][255 - t];
            now = 1 - now;
        }""",
    ),
    kernel(
        "const float* x, float* y",
        """__shared__ float s[512]; int t = threadIdx.x;
        s[2 * t] = x[2 * t]; s[2 * t + 1] = x[2 * t + 1];
        float a = s[2 * t] + s[2 * t + 1];
        y[t] = a;""",
    )
    .replace("s[2 * t", "s[t * 33")
    .replace("512", "256 * 34"),
    kernel(
        "const float* x, float* y",
        """__shared__ float sums[8]; __shared__ float total; int t = threadIdx.x; float v = x[t];
        for (int o = 16; o > 0; o /= 2) v += __shfl_down_sync(~0u, v, o);
        if (t % 32 == 0) sums[t / 32] = v;
        __syncthreads();
        if (t == 0) { total = 0.0f; for (int w = 0; w < 8; ++w) total += sums[w]; }
        __syncthreads();
        y[t] = v / total;""",
    ),
    kernel(
        "const float* x, float* y",
        "volatile __shared__ float s[32]; int t = threadIdx.x; s[t] = x[t]; y[t] = s[31 - t];",
    ),
    kernel(
        "const float* x, float* y, int rows",
        """__shared__ float s[256]; int t = threadIdx.x;
        for (int r = 0; r < rows; ++r) {
            s[threadIdx.y * 32 + t] = x[r * 256 + t];
            __syncwarp();
            float sum = 0.0f;
            for (int k = 0; k < 32; ++k) sum += s[threadIdx.y * 32 + k];
            y[r * 8 + threadIdx.y] = sum;
        }""",
    ),
    launched(
        "const float* x, float* y",
        "__shared__ float s[32]; int t = threadIdx.x; s[t] = x[t]; __syncwarp(); y[t] = s[31 - t];",
        "kernel<<<1, 32>>>(x, y);",
    ),
    kernel(
        "const float* x, float* y",
        "__shared__ float s[256]; int t = threadIdx.x; s[t] = x[t]; wait_for_all(); y[t] = s[255 - t];",
        head="__device__ void wait_for_all() { __syncthreads(); }\n",
    ),
    kernel(
        "const float* x, float* y, int rows",
        """__shared__ float s[256]; int t = threadIdx.x;
        for (int r = 0; r < rows; ++r) {
            s[t] = x[r * 256 + t];
            __syncthreads();
            y[r * 256 + t] = s[255 - t];
            __syncthreads();
        }""",
    ),
]

TWICE = f"{INDEX} if (i < n) y[i] = 2.0f * x[i];"
WRONG["cuda.block-size"] = [
    launched(XY, TWICE, "kernel<<<(n + 99) / 100, 100>>>(x, y, n);"),
    launched(XY, TWICE, "int threads = 250; kernel<<<(n + threads - 1) / threads, threads>>>(x, y, n);"),
    launched(XY, TWICE, "dim3 block(10, 10); kernel<<<dim3(n), block>>>(x, y, n);"),
    launched(XY, TWICE, "kernel<<<(n + THREADS - 1) / THREADS, THREADS>>>(x, y, n);", head="#define THREADS 48\n"),
]
RIGHT["cuda.block-size"] = [
    launched(XY, TWICE, "kernel<<<(n + 127) / 128, 128>>>(x, y, n);"),
    launched(XY, TWICE, "kernel<<<n, dim3(8, 4)>>>(x, y, n);"),
    launched(XY, TWICE, "int block; if (n < 99) block = 33; kernel<<<n, block>>>(x, y, n);"),
    launched(XY, TWICE, "kernel<<<(n + block - 1) / block, block>>>(x, y, n);", outer=f"{XY}, int block"),
    launched("float* y", "y[0] = 1.0f;", "kernel<<<1, 1>>>(y);"),
]

UNCHECKED = kernel(XY, TWICE)
WRONG["cuda.unchecked-launch"] = [
    "#include <grid.h>\n" + UNCHECKED + f"void run({XY}) {{ kernel<<<divide_up(n, 128), 128>>>(x, y, n); }}\n",
    '#include "project.h"\n' + UNCHECKED + "int main() { float* x; kernel<<<1, 128>>>(x, x, 128); }\n",
    UNCHECKED + f"void run({XY}) {{ kernel<<<(n + 127) / 128, 128>>>(x, y, n); }}\n",
    UNCHECKED + f"void run({XY}) {{ kernel<<<(n + 127) / 128, 128>>>(x, y, n); cudaDeviceSynchronize(); }}\n",
    UNCHECKED
    + f'extern "C" void run({XY}) {{ for (int k = 0; k < 3; ++k) kernel<<<(n + 127) / 128, 128>>>(x, y, n); }}\n',
    "namespace ops {\n" + UNCHECKED + f"void run({XY}) {{ kernel<<<(n + 127) / 128, 128>>>(x, y, n); }}\n}}\n",
]
RIGHT["cuda.unchecked-launch"] = [
    "#include <project/kernels.hpp>\n"
    + UNCHECKED
    + f"void run({XY}) {{ kernel<<<(n + 127) / 128, 128>>>(x, y, n); }}\n",
    "#include <raft.hpp>\n"
    + UNCHECKED
    + f"void run({XY}) {{ kernel<<<1, 128>>>(x, y, n); if (cudaDeviceSynchronize() != cudaSuccess) throw 1; }}\n",
    "#include <raft.hpp>\n"
    + UNCHECKED
    + f"void run({XY}) {{ kernel<<<(n + 127) / 128, 128>>>(x, y, n); RAFT_CUDA_TRY(cudaStreamSynchronize(0)); }}\n",
    UNCHECKED + f"void run({XY}) {{ kernel<<<divide_up(n, 128), 128>>>(x, y, n); }}\n",
    "#include <cooperative_groups.h>\n"
    + UNCHECKED
    + f"void run({XY}) {{ kernel<<<divide_up(n, 128), 128>>>(x, y, n); }}\n",
    "#ifndef _TWICE_KERNEL_H_\n#define _TWICE_KERNEL_H_\n#include <cuda_runtime.h>\n"
    + UNCHECKED
    + f"void run({XY}) {{ kernel<<<(n + 127) / 128, 128>>>(x, y, n); }}\n#endif\n",
    "#pragma once\n" + UNCHECKED + f"void run({XY}) {{ kernel<<<(n + 127) / 128, 128>>>(x, y, n); }}\n",
    '#include "project.h"\n' + UNCHECKED + f"void run({XY}) {{ kernel<<<(n + 127) / 128, 128>>>(x, y, n); }}\n",
    UNCHECKED,
    UNCHECKED + f"cudaError_t run({XY}) {{ kernel<<<(n + 127) / 128, 128>>>(x, y, n); return cudaGetLastError(); }}\n",
    UNCHECKED
    + f"void run({XY}) {{ kernel<<<(n + 127) / 128, 128>>>(x, y, n); CUDA_CHECK(cudaDeviceSynchronize()); }}\n",
    UNCHECKED + f"void run({XY}) {{ kernel<<<(n + 127) / 128, 128>>>(x, y, n); C10_CUDA_KERNEL_LAUNCH_CHECK(); }}\n",
]

LAUNCH = "kernel<<<(n + 255) / 256, 256>>>(x, y, n);"
SIZED = "run(x=randn(n), y=out(n), n=1000)"
WRONG["cuda.out-of-bounds"] = [
    launched(XY, f"{INDEX} y[i] = 2.0f * x[i];", LAUNCH),
    launched(XY, f"{INDEX} y[i] = 2.0f * x[i];", LAUNCH, workload=SIZED),
    launched(XY, f"{INDEX} if (i <= n) y[i] = 2.0f * x[i];", LAUNCH, workload=SIZED),
    launched(XY, f"{INDEX} if (i < n) y[i] = x[i + 1] - x[i];", LAUNCH, workload=SIZED),
    launched(XY, f"{INDEX} if (i < n) y[i] = x[i] - x[i - 1];", LAUNCH, workload="run(x=randn(n), y=out(n), n=1024)"),
    launched(
        XY,
        f"{INDEX} float v = x[i]; if (i < n) y[i] = v;",
        "int blocks = (n - 1) / 128 + 1; kernel<<<blocks, 128>>>(x, y, n);",
    ),
    launched(
        MATRIX,
        """int col = blockIdx.x * 16 + threadIdx.x, row = blockIdx.y * 16 + threadIdx.y;
        if (col < cols) y[row * cols + col] = x[row * cols + col];""",
        "dim3 block(16, 16); dim3 grid((cols + 15) / 16, (rows + 15) / 16); kernel<<<grid, block>>>(x, y, rows, cols);",
        workload="run(x=randn(rows, cols), y=out(rows, cols), rows=100, cols=64)",
    ),
    launched(
        MATRIX,
        f"{INDEX} if (i < cols) {{ float s = 0.0f; for (int r = 0; r <= rows; ++r) s += x[r * cols + i]; y[i] = s; }}",
        "kernel<<<(cols + 127) / 128, 128>>>(x, y, rows, cols);",
        workload="run(x=randn(rows, cols), y=out(cols), rows=64, cols=256)",
    ),
]
RIGHT["cuda.out-of-bounds"] = [
    launched(XY, TWICE, LAUNCH, workload=SIZED),
    launched(XY, f"{INDEX} if (i >= n) return; y[i] = 2.0f * x[i];", LAUNCH, workload=SIZED),
    launched(XY, f"{INDEX} for (; i < n; i += blockDim.x * gridDim.x) y[i] = 2.0f * (i + n);", LAUNCH, workload=SIZED),
    launched(XY, f"{INDEX} y[i] = 2.0f * x[i];", "kernel<<<n / 256, 256>>>(x, y, n);"),
    launched(XY, f"{INDEX} y[i] = 2.0f * x[i];", f"if (n % 256 != 0) return cudaErrorInvalidValue; {LAUNCH}"),
    launched(XY, f"{INDEX} if (i > 0 && i < n - 1) y[i] = x[i - 1] + x[i + 1];", LAUNCH, workload=SIZED),
    launched(XY, f"{INDEX} y[min(i, n - 1)] = x[min(i, n - 1)];", LAUNCH, workload=SIZED),
    launched(
        XY,
        f"{INDEX} float s = 0.0f; for (int k = 0; k < 8; ++k) if (i + k < n) s += x[i + k]; if (i < n) y[i] = s;",
        LAUNCH,
        workload=SIZED,
    ),
    launched(XY, f"{INDEX} float v = i + 1 < n ? x[i + 1] : 0.0f; if (i < n) y[i] = v;", LAUNCH, workload=SIZED),
    launched(
        MATRIX,
        "int col = blockIdx.x * 32 + threadIdx.x; "
        "if (col < cols) y[blockIdx.y * cols + col] = x[blockIdx.y * cols + col];",
        "kernel<<<dim3((cols + 31) / 32, rows), 32>>>(x, y, rows, cols);",
        workload="run(x=randn(rows, cols), y=out(rows, cols), rows=7, cols=65)",
    ),
]

WRONG["cuda.write-race"] = [
    kernel("const float* x, float* sum, int n", f"{INDEX} if (i < n) *sum += x[i];"),
    kernel("const float* x, float* sum, int n", f"{INDEX} if (i < n) sum[0] = sum[0] + x[i];"),
    kernel("const float* x, float* sums, int n", f"{INDEX} if (i < n) sums[blockIdx.x] += x[i];"),
    kernel("const float* x, float* last, int n", f"{INDEX} float v = x[i] * i; if (i < n) last[n - 1] = v;"),
    launched(
        "const float* x, float* y, int n",
        "int t = threadIdx.x; y[t] = x[blockIdx.x * 256 + t];",
        "kernel<<<64, 256>>>(x, y, n);",
    ),
    launched(
        "const float* x, float* sum, int n",
        f"__shared__ float s[256]; {INDEX} s[threadIdx.x] = i < n ? x[i] : 0.0f; __syncthreads(); "
        f"if (threadIdx.x == 0) {{ float v = 0.0f; for (int k = 0; k < 256; ++k) v += s[k]; *sum += v; }}",
        "kernel<<<(n + 255) / 256, 256>>>(x, sum, n);",
    ),
]
RIGHT["cuda.write-race"] = [
    kernel(
        "const int* keys, const int* values, int* found, int wanted",
        "int t = threadIdx.x; if (keys[t] <= wanted && keys[t + 1] > wanted) found[blockIdx.x] = values[t];",
    ),
    kernel("const int* keys, int* found", "if (is_lowest(keys, threadIdx.x)) *found = threadIdx.x;"),
    kernel("float* result, int count", "*result /= count;"),
    kernel(
        "const int* x, int* y",
        "__shared__ Item items[256]; const Item item = items[threadIdx.x]; const int at = item.at(); y[at] = threadIdx.x;",
        "struct Item { int x; __device__ int at() const { return x; } };\n",
    ),
    kernel(XY, TWICE),
    kernel("const float* x, int* found, int n", f"{INDEX} if (i < n && x[i] < 0.0f) *found = 1;"),
    kernel(
        "const float* x, float* sums, int n",
        f"{INDEX} float v = i < n ? x[i] : 0.0f; for (int o = 16; o > 0; "
        "o /= 2) v += __shfl_down_sync(~0u, v, o); if (threadIdx.x % 32 == 0) atomicAdd(sums, v);",
    ),
    kernel(
        "const float* x, float* y, int n",
        "float s = 0.0f; for (int k = 0; k < n; ++k) s += x[k]; if (threadIdx.x == 0) y[blockIdx.x] = s;",
    ),
    launched("float* y, int n", "for (int k = 0; k < n; ++k) y[0] += 1.0f;", "kernel<<<1, 1>>>(y, n);"),
    launched("const float* x, float* y, int n", "int t = threadIdx.x; y[t] = x[t];", "kernel<<<1, 256>>>(x, y, n);"),
    kernel("const float* x, const int* to, float* y, int n", f"{INDEX} if (i < n) y[to[i]] = x[i];"),
    kernel("const int* keys, int* at, int key, int n", f"{INDEX} if (i < n && keys[i] == key) *at = i;"),
]

BIG = "run(x=inout(randn(rows * cols)), rows=50000, cols=60000)"
ROWS = "float* x, int rows, int cols"
BY_ROW = "kernel<<<dim3((cols + 255) / 256, rows), 256>>>(x, rows, cols);"
WRONG["cuda.int32-index"] = [
    launched(
        ROWS,
        "int col = blockIdx.x * 256 + threadIdx.x, row = blockIdx.y; if (col < cols) x[row * cols + col] *= 2.0f;",
        BY_ROW,
        workload=BIG,
    ),
    launched(
        ROWS,
        "int col = blockIdx.x * 256 + threadIdx.x, row = blockIdx.y; int at = row * cols + col; "
        "if (col < cols) x[at] = 2.0f;",
        BY_ROW,
        workload=BIG,
    ),
    launched(
        ROWS,
        "int row = blockIdx.y; float* line = x + row * cols; int col = blockIdx.x * 256 + threadIdx.x; "
        "if (col < cols) line[col] = 2.0f;",
        BY_ROW,
        workload=BIG,
    ),
    launched(
        "float* x, int n",
        f"{INDEX} if (i < n) x[2 * i] = x[2 * i + 1];",
        "kernel<<<(n + 255) / 256, 256>>>(x, n);",
        workload="run(x=inout(randn(2 * n)), n=1 << 31 - 1)",
    ).replace("1 << 31 - 1", "2147000000"),
]
RIGHT["cuda.int32-index"] = [
    launched(
        ROWS,
        "int col = blockIdx.x * 256 + threadIdx.x, row = blockIdx.y; "
        "if (col < cols) x[(size_t)row * cols + col] *= 2.0f;",
        BY_ROW,
        workload=BIG,
    ),
    launched(
        ROWS,
        "int col = blockIdx.x * 256 + threadIdx.x; size_t row = blockIdx.y; "
        "if (col < cols) x[row * cols + col] *= 2.0f;",
        BY_ROW,
        workload=BIG,
    ),
    launched(
        ROWS,
        "int col = blockIdx.x * 256 + threadIdx.x, row = blockIdx.y; if (col < cols) x[row * cols + col] *= 2.0f;",
        BY_ROW,
        workload=BIG.replace("50000", "5000"),
    ),
    launched(
        ROWS,
        "int col = blockIdx.x * 256 + threadIdx.x, row = blockIdx.y; if (col < cols) x[row * cols + col] *= 2.0f;",
        BY_ROW,
    ),
    launched(
        ROWS,
        "int col = blockIdx.x * 256 + threadIdx.x; long long at = (long long)blockIdx.y * cols + col; "
        "if (col < cols) x[at] *= 2.0f;",
        BY_ROW,
        workload=BIG,
    ),
]

LOOPED = "for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)"
WRONG["cuda.restrict"] = [
    launched(XY, f"{LOOPED} y[i] = 2.0f * x[i];", "kernel<<<1024, 256>>>(x, y, n);"),
    launched(
        "float* y, float* x, int n", f"{LOOPED} {{ float v = x[i]; y[i] = v * v; }}", "kernel<<<1024, 256>>>(y, x, n);"
    ),
    launched(
        "const float* x, const float* bias, float* y, int n",
        "const float* row = x + blockIdx.x * n; for (int k = threadIdx.x; k < n; "
        "k += blockDim.x) y[blockIdx.x * n + k] = row[k] + bias[k];",
        "kernel<<<64, 256>>>(x, bias, y, n);",
    ),
    launched(
        "const int *ids, const float *x, float *y, int n",
        f"{LOOPED} y[i] = x[ids[i]];",
        "kernel<<<1024, 256>>>(ids, x, y, n);",
    ),
]
RIGHT["cuda.restrict"] = [
    launched(
        "const int* x, int* y, int* count, int n",
        "for (int i = threadIdx.x; i < n; i += blockDim.x) { int at = atomicAdd(count, 1); y[at] = x[i]; }",
        "kernel<<<64, 256>>>(x, y, count, n);",
    ),
    launched(
        XY,
        "for (int i = threadIdx.x; i < n; i += blockDim.x) if (x[i] > 0.5f) { y[blockIdx.x] = x[i]; return; }",
        "kernel<<<64, 256>>>(x, y, n);",
    ),
    launched(
        "const float* __restrict__ x, float* __restrict__ y, int n",
        f"{LOOPED} y[i] = 2.0f * x[i];",
        "kernel<<<1024, 256>>>(x, y, n);",
    ),
    launched(XY, f"{LOOPED} y[i] = 2.0f * x[i];", "kernel<<<1024, 256>>>(y, y, n);"),
    launched(XY, TWICE, LAUNCH),
    launched("float* x, int n", f"{LOOPED} x[i] *= 2.0f;", "kernel<<<1024, 256>>>(x, n);"),
    kernel(XY, f"{LOOPED} y[i] = 2.0f * x[i];"),
    launched(XY, f"{LOOPED} y[i] = 2.0f * x[i];", "kernel<<<1024, 256>>>(x, const_cast<float*>(x), n);"),
]

WRONG["cuda.double-precision"] = [
    kernel(XY, f"{INDEX} if (i < n) y[i] = 1.0 / (1.0 + expf(-x[i]));"),
    kernel(XY, f"{INDEX} if (i < n) y[i] = x[i] * 0.1;"),
    kernel(XY, f"{INDEX} if (i < n) y[i] = 0.5 * x[i] * x[i];"),
    kernel(XY, f"{INDEX} if (i < n) {{ float v = x[i]; v += 1e-5; y[i] = v; }}"),
    kernel(XY, f"{INDEX} if (i < n && x[i] > 0.3) y[i] = 1.0;"),
    kernel(XY, f"{INDEX} if (i < n) y[i] = pow(x[i], 2);"),
    kernel(XY, f"{INDEX} if (i < n) y[i] = x[i] / M_PI;"),
    "__device__ float gelu(float x) { return 0.5f * x * (1.0f + tanhf(0.79788456 * (x + 0.044715f * x * x * x))); }\n",
]
RIGHT["cuda.double-precision"] = [
    kernel(XY, f"{INDEX} if (i < n) y[i] = 1.0f / (1.0f + expf(-x[i]));"),
    kernel(XY, f"{INDEX} if (i < n) y[i] = 0.5 * x[i];"),
    kernel("const double* x, double* y, int n", f"{INDEX} if (i < n) y[i] = 0.1 * x[i] + 1.0;"),
    kernel(XY, f"{INDEX} double sum = 0.0; for (int k = 0; k < n; ++k) sum += 0.1 * x[k]; if (i < n) y[i] = sum;"),
    kernel(XY, f"{INDEX} float total = 0.0; const float k = 2.0 / 3.0; if (i < n) y[i] = total + k * x[i];"),
    kernel(XY, f"{INDEX} if (i < n) y[i] = x[i] > 0.0 ? exp(x[i]) : 0.0;"),
    kernel(XY, f"{INDEX} if (i < n) y[i] = fmaxf(x[i], 0.1);"),
    "template <typename T> __global__ void scale(const T* x, T* y, int n) { int i = threadIdx.x; "
    "if (i < n) y[i] = T(0.1) * x[i]; }\n",
]

WRONG["cuda.contended-atomic"] = [
    kernel("const float* x, float* sum, int n", f"{INDEX} if (i < n) atomicAdd(sum, x[i]);"),
    kernel("const int* x, int* largest, int n", f"{INDEX} if (i < n) atomicMax(&largest[0], x[i]);"),
    kernel("const float* x, float* sums, int n", f"{INDEX} if (i < n) atomicAdd(&sums[blockIdx.x], x[i]);"),
    kernel(
        "const float* x, int* counts, int n",
        f"__shared__ int found; {INDEX} if (threadIdx.x == 0) found = 0; __syncthreads(); "
        "if (i < n && x[i] > 0.0f) atomicAdd(&found, 1); __syncthreads(); "
        "if (threadIdx.x == 0) counts[blockIdx.x] = found;",
    ),
]
RIGHT["cuda.contended-atomic"] = [
    kernel(
        "const float* x, float* y",
        "const bool is_master = threadIdx.x == 0; if (is_master && y != nullptr) atomicAdd(y, x[blockIdx.x]);",
    ),
    kernel("const float* x, float* y", "if (y != nullptr && elect_one()) atomicAdd(y, x[blockIdx.x]);"),
    kernel("const float* x, float* y, int n", "KERNEL_LOOP(i, n) { int row = i / 4; atomicAdd(y + row, x[i]); }"),
    kernel("float* y, int n", "for (int i : strided(n)) atomicAdd(y + i / 4, 1.0f);"),
    kernel(
        "float* y, int n",
        "auto [row, col] = place(threadIdx.x, n); atomicAdd(y + row, 1.0f); atomicAdd(y + col, 1.0f);",
    ),
    kernel("float* y, int n", "int low; float weight; place(threadIdx.x, n, low, weight); atomicAdd(y + low, weight);"),
    kernel("float* y, int n", "int at = 0; Scan(n).ExclusiveSum(threadIdx.x, at); atomicAdd(y + at, 1.0f);"),
    kernel("float* y, int n", 'int lane; asm("mov.u32 %0, %laneid;" : "=r"(lane)); atomicAdd(y + lane, 1.0f);'),
    kernel("float* y", "each([&](int i) { atomicAdd(y + i, 1.0f); });"),
    kernel("unsigned* count", "atomicInc(count, 17); atomicDec(count, 137);"),
    kernel("const int* data, int* bins, int n", f"{INDEX} if (i < n) atomicAdd(&bins[data[i]], 1);"),
    kernel(
        "const float* x, float* y, int* count, int n",
        f"{INDEX} if (i < n && x[i] > 0.0f) {{ int at = atomicAdd(count, 1); y[at] = x[i]; }}",
    ),
    kernel(
        "const float* x, float* sum, int n",
        f"{INDEX} float v = i < n ? x[i] : 0.0f; for (int o = 16; o > 0; "
        "o /= 2) v += __shfl_xor_sync(~0u, v, o); if ((threadIdx.x & 31) == 0) atomicAdd(sum, v);",
    ),
    kernel(
        "int* bins",
        "__shared__ int local[256]; int t = threadIdx.x; local[t] = t; __syncthreads(); "
        "atomicAdd(&bins[t], local[255 - t]);",
    ),
    launched("float* y, int n", "for (int k = 0; k < n; ++k) atomicAdd(y, 1.0f);", "kernel<<<4, 1>>>(y, n);"),
]

WRONG["cuda.static-shared"] = [
    kernel("const float* x, float* y", "__shared__ float s[16384]; int t = threadIdx.x; s[t] = x[t]; y[t] = s[t];"),
    kernel(
        "const float* x, float* y",
        "__shared__ float a[64][128], b[64][128]; int t = threadIdx.x; a[0][t] = x[t]; b[0][t] = a[0][t]; "
        "y[t] = b[0][t];",
    ),
    kernel(
        "const double* x, double* y",
        "__shared__ double s[ROWS][COLS]; int t = threadIdx.x; s[0][t] = x[t]; y[t] = s[0][t];",
        head="#define ROWS 64\nconstexpr int COLS = ROWS * 2;\n",
    ),
    launched(
        "const float* x, float* y",
        "__shared__ float s[TILE][TILE]; int t = threadIdx.x; s[0][t] = x[t]; y[t] = s[0][t];",
        "kernel<128><<<1, 128>>>(x, y);",
        head="template <int TILE> ",
    ),
]
RIGHT["cuda.static-shared"] = [
    kernel("const float* x, float* y", "__shared__ float s[8192]; int t = threadIdx.x; s[t] = x[t]; y[t] = s[t];"),
    kernel("const float* x, float* y", "extern __shared__ float s[]; int t = threadIdx.x; s[t] = x[t]; y[t] = s[t];"),
    kernel(
        "const float* x, float* y",
        "__shared__ half s[96][256]; int t = threadIdx.x; s[0][t] = __float2half(x[t]); y[t] = __half2float(s[0][t]);",
    ),
    kernel(
        "const float* x, float* y",
        "__shared__ float s[TILE][TILE]; int t = threadIdx.x; s[0][t] = x[t]; y[t] = s[0][t];",
        head="template <int TILE> ",
    ),
]

WRONG["cuda.launch-limits"] = [
    launched(XY, TWICE, "kernel<<<(n + 2047) / 2048, 2048>>>(x, y, n);"),
    launched(XY, TWICE, "dim3 block(64, 64); kernel<<<n, block>>>(x, y, n);"),
    launched(XY, TWICE, "kernel<<<n, dim3(8, 1, 128)>>>(x, y, n);"),
    launched(
        MATRIX,
        "int row = blockIdx.y, col = blockIdx.x * 256 + threadIdx.x; "
        "if (col < cols) y[row * cols + col] = x[row * cols + col];",
        "kernel<<<dim3((cols + 255) / 256, rows), 256>>>(x, y, rows, cols);",
        workload="run(x=randn(rows, cols), y=out(rows, cols), rows=100000, cols=512)",
    ),
    launched(XY, TWICE, "kernel<<<n / 256, 256>>>(x, y, n);", workload="run(x=randn(n), y=out(n), n=200)"),
    launched(XY, TWICE, "kernel<<<(n + 255) / 256, 256, 64 * 1024>>>(x, y, n);"),
]
RIGHT["cuda.launch-limits"] = [
    kernel(XY, TWICE)
    + "void run(std::istream& in, float* x, float* y) { int n = 0; in >> n; kernel<<<(n + 127) / 128, 128>>>(x, y, n); "
    "cudaGetLastError(); }\n",
    launched(XY, TWICE, "kernel<<<(n + 1023) / 1024, 1024>>>(x, y, n);"),
    launched(XY, TWICE, "kernel<<<n, dim3(32, 32)>>>(x, y, n);"),
    launched(XY, TWICE, "kernel<<<(n + block - 1) / block, block>>>(x, y, n);", outer=f"{XY}, int block"),
    launched(
        XY,
        TWICE,
        "cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, 65536); "
        "kernel<<<(n + 255) / 256, 256, 65536>>>(x, y, n);",
    ),
    launched(XY, TWICE, LAUNCH, workload="run(x=randn(n), y=out(n), n=1 << 26)"),
]

STEPS = f"{XY}, int steps"
WRONG["cuda.copy-in-loop"] = [
    launched(
        XY,
        TWICE,
        "for (int s = 0; s < steps; ++s) { float* t; cudaMalloc(&t, 4 * n); "
        "kernel<<<(n + 255) / 256, 256>>>(x, t, n); }",
        outer=STEPS,
    ),
    launched(
        XY,
        TWICE,
        "for (int s = 0; s < steps; ++s) { kernel<<<(n + 255) / 256, 256>>>(x, y, n); "
        "cudaMemcpy(h, y, 4 * n, cudaMemcpyDeviceToHost); }",
        outer=f"{STEPS}, float* h",
    ),
    launched(
        XY,
        TWICE,
        "for (int s = 0; s < steps; ++s) { kernel<<<(n + 255) / 256, 256>>>(x, y, n); cudaDeviceSynchronize(); }",
        outer=STEPS,
    ),
    launched(
        XY,
        TWICE,
        "int s = 0; while (s++ < steps) { kernel<<<(n + 255) / 256, 256>>>(x, y, n); cudaDeviceSynchronize(); }",
        outer=STEPS,
    ),
]
RIGHT["cuda.copy-in-loop"] = [
    launched(
        XY,
        TWICE,
        "for (int s = 0; s < 9; ++s) { float* t; cudaMalloc(&t, 4 * n); for (int r = 0; r < steps; ++r) "
        "kernel<<<(n + 255) / 256, 256>>>(x, t, n); cudaFree(t); }",
        outer=STEPS,
    ),
    launched(
        XY,
        TWICE,
        "for (int s = 0; s < steps; ++s) { cudaSetDevice(s); float* t; cudaMalloc(&t, 4 * n); "
        "kernel<<<(n + 255) / 256, 256>>>(x, t, n); cudaFree(t); }",
        outer=STEPS,
    ),
    launched(
        XY,
        TWICE,
        "#pragma omp parallel for\nfor (int s = 0; s < steps; ++s) { float* t; cudaMalloc(&t, 4 * n); "
        "kernel<<<(n + 255) / 256, 256>>>(x, t, n); cudaFree(t); }",
        outer=STEPS,
    ),
    launched(XY, TWICE, "for (int s = 0; s < steps; ++s) { kernel<<<(n + 255) / 256, 256>>>(x, y, n); }", outer=STEPS),
    launched(
        XY,
        TWICE,
        "float* t; cudaMalloc(&t, 4 * n); for (int s = 0; s < steps; "
        "++s) kernel<<<(n + 255) / 256, 256>>>(x, t, n); cudaFree(t);",
        outer=STEPS,
    ),
    launched(
        XY,
        TWICE,
        "for (int s = 0; s < steps; ++s) { cudaMemcpyAsync(y, x, 4 * n, cudaMemcpyDeviceToDevice); "
        "kernel<<<(n + 255) / 256, 256>>>(x, y, n); }",
        outer=STEPS,
    ),
    launched(
        XY,
        TWICE,
        "for (int s = 0; s < steps; ++s) { kernel<<<(n + 255) / 256, 256>>>(x, y, n); "
        "if (s % 100 == 0) cudaDeviceSynchronize(); }",
        outer=STEPS,
    ),
    launched(
        XY,
        TWICE,
        "kernel<<<(n + 255) / 256, 256>>>(x, y, n); cudaMemcpy(h, y, 4 * n, cudaMemcpyDeviceToHost);",
        outer=f"{XY}, float* h",
    ),
]
