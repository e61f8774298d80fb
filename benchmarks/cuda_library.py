"""Times what torch, and the libraries behind it, take for the examples of examples/cuda: JSON of milliseconds by name.

On the sizes of their performance cases, with a cold L2, the median of Triton's do_bench.
"""

import json
from collections.abc import Callable

import torch
import torch.nn.functional as F


def cases() -> dict[str, Callable[[], object]]:
    """By example, a call that computes the same, as far as a library has it."""
    made = lambda *shape, dtype=torch.float32: torch.randn(*shape, device="cuda", dtype=dtype)
    x, y = made(1 << 26), made(1 << 26)
    a, b = made(2048, 2048), made(2048, 2048)
    c, d = made(4096, 4096), made(4096, 4096)
    e, f, g = (made(1024, 1024, dtype=torch.float16) for _ in range(3))
    wide, row = made(16384, 8192), made(8192)
    source, rows, norms = made(8192, 4096), made(32768, 1024), made(16384, 4096)
    weight, bias = made(4096), made(4096)
    hidden, offset = made(8192, 11008, dtype=torch.float16), made(11008, dtype=torch.float16)
    table, ids = made(32000, 4096), torch.randint(0, 32000, (16384,), device="cuda")
    logits, data = made(4096, 32000), torch.randint(0, 256, (1 << 28,), device="cuda", dtype=torch.uint8)
    image, filters = made(1, 1, 4096, 8192), made(1, 1, 7, 7)
    query, keys, values = made(256, 1, 128), made(256, 2048, 128), made(256, 2048, 128)
    return {
        "saxpy": lambda: y.add_(x, alpha=2.5),
        "transpose": lambda: source.t().contiguous(),
        "sum_reduction": lambda: x.sum(),
        "matmul_naive": lambda: a @ b,
        "matmul_half": lambda: torch.addmm(g, e, f, alpha=0.5, beta=2.0),
        "matmul_tiled": lambda: c @ d,
        "matvec": lambda: wide @ row,
        "softmax": lambda: rows.softmax(-1),
        "layer_norm": lambda: F.layer_norm(norms, (4096,), weight, bias),
        "bias_gelu": lambda: F.gelu(hidden + offset, approximate="tanh"),
        "embedding_gather": lambda: table[ids],
        "row_scan": lambda: norms.cumsum(-1),
        "top_k": lambda: logits.topk(8),
        "histogram": lambda: torch.bincount(data, minlength=256),
        "conv2d": lambda: F.conv2d(image, filters, padding=3),
        "decode_attention": lambda: F.scaled_dot_product_attention(query, keys, values),
    }


def main() -> None:
    from triton.testing import do_bench

    torch.backends.cudnn.allow_tf32 = False
    print(json.dumps({name: do_bench(call, return_mode="median") for name, call in cases().items()}))


if __name__ == "__main__":
    main()
