"""cuda.coarsen-rows: which kernels get several rows a thread, what their launches become, and what keeps others as they are."""

import pytest

from kernelwright.macro.strategies.cuda_coarsen_rows import STRATEGY
from macro.cuda_files import refusal, rewritten

KERNEL = """\
#define AT(v, u) ((v) * w + (u))
#define LINE (y * w)
#define LEAVE if (x < 1) return
__global__ void window(const float* a, const float* b, float* c, int h, int w, int radius) {{
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    {row}
    if (x < w && y < h) {{
        {body}
    }}
}}

// workload: solve(a=randn(h * w), b=randn(100), c=out(h * w), h=512, w=256, radius=2)
extern "C" void solve(const float* a, const float* b, float* c, int h, int w, int radius) {{
    dim3 block({block});
    dim3 grid({grid});
    {launch}
}}
"""
ROW = "int y = blockIdx.y * blockDim.y + threadIdx.y;"
LAUNCH = "window<<<grid, block>>>(a, b, c, h, w, radius);"
LOOP = """\
float s = 0.0f;
        for (int i = -radius; i <= radius; i++) {
            int p = y + i;
            if (p >= 0 && p < h) s += a[p * w + x] * b[i + radius];
        }
        c[y * w + x] = s;"""
POINTS = "c[AT(y, x)] = y > 0 && y < h - 1 ? a[AT(y - 1, x)] + a[AT(y + 1, x)] : 0.0f;"


def kernel(body: str = LOOP, **changed: str) -> str:
    form = {"row": ROW, "block": "32, 8", "grid": "(w + 31) / 32, (h + 7) / 8", "launch": LAUNCH}
    return KERNEL.format(**{**form, "body": body, **changed})


def first(text: str) -> str:
    return rewritten(STRATEGY, text)[0]


def test_rows_share_a_loop() -> None:
    text = first(kernel())
    assert "if (x < w && y0 + 3 < h && y0 >= radius && h >= radius + y0 + 4) {" in text
    assert (
        "for (int i = -radius; i <= radius; i++) {\n#pragma unroll\n            for (int r = 0; r < 4; ++r) {" in text
    )
    assert "s[r] += a[p * w + x] * b[i + radius];" in text
    assert "for (int i = max(-radius, -y); i <= min(radius, h - 1 - y); i++) {" in text
    assert "dim3 grid((w + 31) / 32, (h + 31) / 32);" in text


def test_rows_of_points_are_unrolled() -> None:
    text = rewritten(STRATEGY, kernel(POINTS))[3]
    assert "window(const float* __restrict__ a," in text
    assert "#pragma unroll\n    for (int y = y0; y < y0 + 4; ++y) {\n        if (x < w && y < h) {" in text


BORDER = """\
int at = AT(y, x);
        if (y == 0 || y - radius < 1 || x == 0 || h - 1 == y || w <= x + 1) {
            c[at] = a[at];
            return;
        }
        float s = a[AT(y - 1, x)];
        if (y != 5 && b[0] < 9.0f) s += a[AT(y + 1, x)];
        if (radius > 1) {
            int at = AT(y, x + 1);
            s += a[at];
        } else {
            s -= a[at - 1];
        }
        c[at] = s;"""
INSIDE = """\
    if (x < w && y0 + 3 < h && y0 > 0 && y0 - radius >= 1 && x != 0 && (y0 + 3 < h - 1 || y0 > h - 1) && w > x + 1) {
        #pragma unroll
        for (int y = y0; y < y0 + 4; ++y) {
            int at = AT(y, x);
            float s = a[AT(y - 1, x)];
            if (y != 5 && b[0] < 9.0f) s += a[AT(y + 1, x)];
            if (radius > 1) {
                int at = AT(y, x + 1);
                s += a[at];
            } else {
                s -= a[at - 1];
            }
            c[at] = s;
        }
        return;
    }
    for (int y = y0; y < y0 + 4; ++y) {
        if (x < w && y < h) {
"""


def test_conditions_that_all_rows_pass_are_asked_once() -> None:
    wide, tall, own = rewritten(STRATEGY, kernel(BORDER))[:3]
    assert INSIDE in own
    assert "dim3 block(32, 8)" in own
    assert "dim3 block(128, 4);\n    dim3 grid((w + 127) / 128, (h + 15) / 16);" in wide
    assert "y0 + 7 < h" in tall


def test_conditions_with_memory_are_asked_for_each_row() -> None:
    asked = "if (b[y] > 0.0f) c[AT(y, x)] = a[AT(y - 1, x)] + a[AT(y + 1, x)];"
    text = first(kernel(asked))
    assert "if (x < w && y0 + 3 < h) {" in text
    assert text.count("if (b[y] > 0.0f)") == 2


def test_blocks_change_for_several_launches() -> None:
    found = rewritten(STRATEGY, kernel(POINTS, grid="(w + block.x - 1) / block.x, (h + block.y - 1) / block.y",
                                       launch=f"{LAUNCH}\n    {LAUNCH}"))  # fmt: skip
    assert "dim3 block(128, 4);" in found[0]
    other = LAUNCH.replace("block>>>", "dim3(32, 8)>>>")
    assert not any("(128, 4)" in text for text in rewritten(STRATEGY, kernel(POINTS, launch=f"{LAUNCH}\n    {other}")))


def test_forms() -> None:
    summaries = [("y0 + 3 <", "dim3(32, 8)"), ("y0 + 3 <", "dim3(16, 16)"), ("y0 + 7 <", "dim3(32, 4)")]
    inline = "window<<<dim3((w + 15) / 16, (h + 15) / 16), dim3(16, 16)>>>(a, b, c, h, w, radius);"
    found = rewritten(STRATEGY, kernel(block="1", grid="1", launch=inline))
    assert [all(one in text for one in parts) for text, parts in zip(found, summaries, strict=False)] == [True] * 3
    assert "<<<dim3((w + 31) / 32, (h + 31) / 32), dim3(32, 4)>>>" in found[2]


def test_short_loops_are_unrolled_for_the_workload_and_for_others() -> None:
    text = next(text for text in rewritten(STRATEGY, kernel()) if "together" in text)
    assert "auto together = [&](int radius) {" in text
    assert "if (radius == 2) together(2);\n        else together(radius);\n        return;" in text
    long = kernel().replace("radius=2", "radius=40")
    assert not any("together" in text for text in rewritten(STRATEGY, long))


@pytest.mark.parametrize(
    ("grid", "launch", "lines"),
    [
        ("(w + 31) / 32, (h - 1) / 8 + 1", LAUNCH, ["dim3 grid((w + 31) / 32, ((h - 1) / 8 + 1 + 3) / 4);"]),
        ("8, 64", LAUNCH + " " + LAUNCH, ["dim3 grid(8, (64 + 3) / 4);"]),
        ("1", "auto high = (h + 7) / 8;\n    window<<<dim3((w + 31) / 32, high), block>>>(a, b, c, h, w, radius);",
         ["window<<<dim3((w + 31) / 32, (high + 3) / 4), block>>>"]),
        ("1", "window<<<dim3(8, h < 9 ? 1 : (h + 7) / 8), block>>>(a, b, c, h, w, radius);",
         ["dim3(8, ((h < 9 ? 1 : (h + 7) / 8) + 3) / 4)"]),
    ],
)  # fmt: skip
def test_the_grid_is_divided(grid: str, launch: str, lines: list[str]) -> None:
    found = rewritten(STRATEGY, kernel(grid=grid, launch=launch))
    assert all(any(line in text for text in found) for line in lines)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (kernel("c[y * w + x] = a[y * w + x];"), "read nothing that is the same"),
        (kernel("c[y * w + x] = a[y * w + x] + b[x];"), "read nothing that is the same"),
        (kernel(LOOP.replace("a[p * w + x] * b[i + radius]", "a[y * w + i]")), "read nothing that is the same"),
        (kernel(LOOP.replace("a[p * w + x]", "a[LINE + x]")), "The macro LINE speaks of the kernel's own names"),
        (kernel(LOOP.replace("s += ", "if (s > 9.0f) break; else s += ")), "done before its loops are"),
        (kernel(LOOP.replace("s += ", "s += c[i] = ")), "writes to memory"),
        (kernel(LOOP + " return;"), "done before its loops are"),
        (kernel(LOOP.replace("i <= radius", "i <= y")), "longer or shorter from thread to thread"),
        (kernel(LOOP.replace("i <= radius", "i <= s")), "longer or shorter from row to row"),
        (kernel(LOOP.replace("p >= 0", "radius * y + i >= 0")), "does not rise or fall"),
        (kernel(LOOP.replace("int p = y + i;", "s *= 0.5f; int p = y + i; for (int j = 0; j < 3; ++j)")), "does more than run"),
        (kernel(LOOP.replace("float s = 0.0f;", "float s = 0.0f, t[2] = {};")), "cannot be an array"),
        (kernel(LOOP.replace("s += ", "s += blockDim.y * ")), "used for more than its row"),
        (kernel(LOOP.replace("s += ", "s += x++ * ")), "The guard asks for what changes"),
        (kernel(LOOP.replace("s += ", "s += radius-- * ")), "`radius` changes from row to row"),
        (kernel(row=ROW.replace("int y", "unsigned y")), "as an int"),
        (kernel(row="int y = 2 * blockIdx.y + threadIdx.y;"), "No local counts"),
        (kernel(row=ROW + " __syncthreads();"), "work together"),
        (kernel(POINTS, row=ROW + " LEAVE;"), "A macro may leave the kernel"),
        (kernel(POINTS, launch=LAUNCH + " use(window);"), "passed on in another place"),
        (kernel(row=ROW.replace(";", ", z = y + 1;")), "declares what is made of it"),
        (kernel(grid="(w + 31) / 32", launch=LAUNCH), "how many blocks there are along y"),
        (kernel(launch=LAUNCH + " use(grid);"), "used for more than launches"),
    ],
)  # fmt: skip
def test_other_kernels_are_refused(text: str, reason: str) -> None:
    assert reason in refusal(STRATEGY, text)
