"""Hover and code-action latency of the running server, as an editor sees it, over a file with kernels of both kinds.

Two ways of asking: again on the same text, and each time after a kernel was changed. Writes `results/latency.json`.
"""

import argparse
import asyncio
import itertools
import json
import platform
import statistics
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

import psutil

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE.parent / "tests"), str(HERE.parent / "server")]

from lsp.editor import Editor, start, stop  # noqa: E402
from lsp.examples import LINEAR_SUM, PLAIN, SOFTMAX  # noqa: E402

NOTED = SOFTMAX.replace("row = tl.program_id(0)\n", "row = tl.program_id(0)  # note 0\n")
FILE = "\n\n".join((NOTED, LINEAR_SUM, PLAIN))
KERNELS = ("softmax_kernel(", "Model(", "scaled(")
LIMIT = 10.0  # ms


async def sample(
    ask: Callable[[], Awaitable[object]], before: Callable[[], Awaitable[object]], runs: int
) -> list[float]:
    """Milliseconds a request takes; `before` prepares each, untimed."""
    times = []
    for _ in range(runs):
        await before()
        began = time.perf_counter()
        await ask()
        times.append((time.perf_counter() - began) * 1e3)
    return times


async def measure(editor: Editor, uri: str, runs: int) -> dict[str, dict[str, float]]:
    notes, later = itertools.count(), itertools.count(1)

    async def nothing() -> None:
        return

    async def typing() -> None:
        """A small change inside a kernel, and the pause that a person leaves before looking at something."""
        old, new = f"# note {next(notes)}\n", f"# note {next(later)}\n"
        editor.type(uri, old, new)
        await asyncio.sleep(0.15)

    figures = {}
    for name, before in (("same text", nothing), ("after typing", typing)):
        for what, ask in (("hover", editor.hover), ("code action", editor.actions)):
            times = [t for kernel in KERNELS for t in await sample(lambda a=ask, k=kernel: a(uri, k), before, runs)]
            p95 = statistics.quantiles(times, n=20)[18]
            figures[f"{what}, {name}"] = {"median_ms": round(statistics.median(times), 2), "p95_ms": round(p95, 2)}
    return figures


async def run(runs: int) -> dict[str, dict[str, float]]:
    with tempfile.TemporaryDirectory() as folder:
        editor = await start(Path(folder))
        uri = editor.open("kernels.py", FILE)
        await editor.diagnostics(uri)
        try:
            return await measure(editor, uri, runs)
        finally:
            await stop(editor)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=100)
    parser.add_argument("--out", type=Path, default=HERE / "results" / "latency.json")
    options = parser.parse_args()
    figures = asyncio.run(run(options.runs))
    result = {
        "python": platform.python_version(),
        "cpus": psutil.cpu_count(),
        "runs": options.runs,
        "limit_ms": LIMIT,
        **figures,
    }
    options.out.parent.mkdir(exist_ok=True)
    options.out.write_text(json.dumps(result, indent=2) + "\n")
    print(json.dumps(result, indent=2))
    return int(any(figure["p95_ms"] > LIMIT for figure in figures.values()))


if __name__ == "__main__":
    sys.exit(main())
