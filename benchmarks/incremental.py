"""How long fresh findings take after one typed character in a 5,000-line file of many kernels, in Python or CUDA C++."""

import argparse
import importlib.metadata
import itertools
import os
import platform
import random
import statistics
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path

from kernelwright.languages.cuda import SUPPORT as CUDA
from kernelwright.source.cuda.outline import outline
from kernelwright.source.document import parse
from kernelwright.source.findings import find_findings
from kernelwright.source.kernels import find_kernels

ROOT = Path(__file__).parents[1]
sys.path[:0] = [str(ROOT)]

from benchmarks import long_cuda, summary  # noqa: E402

HEAD = """import torch
import triton
import triton.language as tl
from torch import nn

BLOCK_SIZE = 1024

"""

KEYS = "abcxyz_019 .,()[]=+-*:'\"\n#"  # a good part of them breaks the syntax where it falls

# One of each kind a file may hold; {i} makes the names unique.
PARTS = (
    '''
@triton.jit
def softmax_{i}(y_ptr, x_ptr, n_cols, BLOCK: tl.constexpr):
    """Softmax of each row."""
    row = tl.program_id(0)
    cols = tl.arange(0, BLOCK)
    mask = cols < n_cols
    x = tl.load(x_ptr + row * n_cols + cols, mask=mask, other=-float("inf"))
    numerator = tl.exp(x - tl.max(x, axis=0))
    tl.store(y_ptr + row * n_cols + cols, numerator / tl.sum(numerator, axis=0), mask=mask)


def launch_softmax_{i}(x: torch.Tensor) -> torch.Tensor:
    n_rows, n_cols = x.shape
    y = torch.empty_like(x)
    softmax_{i}[(n_rows,)](y, x, n_cols, BLOCK=triton.next_power_of_2(n_cols), num_warps=4)
    return y

''',
    """
@triton.jit
def matmul_{i}(a_ptr, b_ptr, c_ptr, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    rows = tl.program_id(0) * BM + tl.arange(0, BM)
    cols = tl.program_id(1) * BN + tl.arange(0, BN)
    inner = tl.arange(0, BK)
    a_ptrs = a_ptr + rows[:, None] * K + inner[None, :]
    b_ptrs = b_ptr + inner[:, None] * N + cols[None, :]
    total = tl.zeros((BM, BN), dtype=tl.float32)
    for k in range(0, K, BK):
        a = tl.load(a_ptrs, mask=(rows[:, None] < M) & (inner[None, :] < K - k), other=0.0)
        b = tl.load(b_ptrs, mask=(inner[:, None] < K - k) & (cols[None, :] < N), other=0.0)
        total = tl.dot(a, b, total)
        a_ptrs += BK
        b_ptrs += BK * N
    mask = (rows[:, None] < M) & (cols[None, :] < N)
    tl.store(c_ptr + rows[:, None] * N + cols[None, :], total, mask=mask)


def launch_matmul_{i}(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    M, K = a.shape
    N = b.shape[1]
    c = torch.empty((M, N), device=a.device, dtype=a.dtype)
    grid = lambda meta: (triton.cdiv(M, meta["BM"]), triton.cdiv(N, meta["BN"]))
    matmul_{i}[grid](a, b, c, M, N, K, BM=64, BN=64, BK=32)
    return c

""",
    '''
class Block_{i}(nn.Module):
    """A residual block with hand-written attention."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.query = nn.Linear(width, width)
        self.key = nn.Linear(width, width)
        self.value = nn.Linear(width, width)
        self.norm = nn.LayerNorm(width)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = self.norm(x)
        scores = self.query(y) @ self.key(y).transpose(-2, -1) / x.shape[-1] ** 0.5
        weights = torch.softmax(scores, dim=-1)
        return x + torch.matmul(weights, self.value(y))

''',
)


@dataclass(frozen=True)
class Quantiles:
    """Milliseconds."""

    p50: float
    p95: float
    most: float


def text_of(lines: int, head: str = HEAD, parts: Sequence[str] = PARTS) -> str:
    text, number = head, 0
    while text.count("\n") < lines:
        text += parts[number % len(parts)].replace("{i}", str(number))
        number += 1
    return "\n".join(text.split("\n")[:lines])


def typed(text: str, random_: random.Random) -> str:
    at = random_.randrange(len(text))
    return text[:at] + random_.choice(KEYS) + text[at:]


def _python(text: str) -> Iterator[int]:
    document = parse(text)
    yield len(document.pieces)
    kernels = find_kernels(document)
    yield len(kernels)
    yield len(find_findings(document, kernels))


def _cuda(text: str) -> Iterator[int]:
    yield len(outline(text).placed)
    kernels = CUDA.kernels(text)
    yield len(kernels)
    yield len(CUDA.findings(text, kernels))


@dataclass(frozen=True)
class Language:
    """`stages` looks at a text, and stops after splitting it, after finding kernels, and after finding findings."""

    head: str
    parts: Sequence[str]
    stages: Callable[[str], Iterator[int]]
    grammar: str


LANGUAGES = {
    "python": Language(HEAD, PARTS, _python, "tree-sitter-python"),
    "cuda": Language(long_cuda.HEAD, long_cuda.PARTS, _cuda, "tree-sitter-cuda"),
}


def look(text: str, language: str = "python") -> tuple[int, tuple[float, float, float, float]]:
    """How many kernels; the milliseconds for splitting, kernels and findings, then those of the processor in all."""
    processor, times, found = time.process_time(), [time.perf_counter()], list[int]()
    for count in LANGUAGES[language].stages(text):
        times.append(time.perf_counter())
        found.append(count)
    split, kernels, findings = ((end - start) * 1e3 for start, end in itertools.pairwise(times))
    return found[1], (split, kernels, findings, (time.process_time() - processor) * 1e3)


def quantiles(values: list[float]) -> Quantiles:
    cuts = statistics.quantiles(values, n=20, method="inclusive")
    return Quantiles(round(statistics.median(values), 2), round(cuts[-1], 2), round(max(values), 2))


def measure(lines: int, keys: int, seed: int, language: str = "python") -> dict[str, object]:
    """Each key is typed into the whole text, as after an undo: half of them break the syntax where they fall."""
    random_ = random.Random(seed)
    about = LANGUAGES[language]
    text = text_of(lines, about.head, about.parts)
    kernels, cold = look(text, language)
    samples = [look(typed(text, random_), language)[1] for _ in range(keys)]
    parts = {
        name: [sample[i] for sample in samples] for i, name in enumerate(("split", "kernels", "findings", "processor"))
    }
    return {
        "date": today(),
        "lines": lines,
        "keys": keys,
        "seed": seed,
        "kernels": kernels,
        "open_ms": round(sum(cold[:3]), 2),
        "total_ms": asdict(quantiles([sum(sample[:3]) for sample in samples])),
        **{f"{name}_ms": asdict(quantiles(values)) for name, values in parts.items()},
        "machine": machine(),
        "versions": versions("kernelwright", "tree-sitter", about.grammar),
    }


def today() -> str:
    return datetime.now(UTC).date().isoformat()


def machine() -> dict[str, object]:
    return {
        "processor": _processor(),
        "system": platform.platform(),
        "python": platform.python_version(),
        **_load(),
    }


def versions(*names: str) -> dict[str, str]:
    return {name: importlib.metadata.version(name) for name in names}


def _load() -> dict[str, object]:
    """What else the machine did meanwhile: figures taken on a busy one say little."""
    try:
        return {"cores": os.cpu_count(), "load_1min": round(os.getloadavg()[0], 2)}
    except OSError:
        return {"cores": os.cpu_count()}


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor()
    return next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), platform.machine())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--lines", type=int, default=5000)
    parser.add_argument("--keys", type=int, default=400)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--language", choices=LANGUAGES, default="python")
    parser.add_argument("--out", type=Path, help=f"where the result goes; {summary.KEPT}")
    options = parser.parse_args()
    result = measure(options.lines, options.keys, options.seed, options.language)
    name = "incremental.json" if options.language == "python" else f"incremental-{options.language}.json"
    summary.write("incremental", result, options.out or summary.RAW / name)
    for name in ("total", "split", "kernels", "findings", "processor"):
        values = result[f"{name}_ms"]
        print(f"{name:9} p50 {values['p50']:7.2f} ms   p95 {values['p95']:7.2f} ms   most {values['most']:7.2f} ms")


if __name__ == "__main__":
    main()
