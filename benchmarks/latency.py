"""Hover and code-action latency of the running server, as an editor sees it, in a small file and in one of 5,000 lines.

In the small file, with kernels of both kinds, it is asked again on the same text, and each time after a kernel was
changed and a person's pause. In the long one, where every kernel has a workload line, a key is typed inside the kernel
that the question is about, and mostly breaks the syntax: it is asked after a person's pause, and with the key, when the
clock starts with it. Each figure is the median of several rounds; beside the time on the clock stands the server's time
on the processor, which other programs change less.
Ends with 1 beyond a limit.
"""

import argparse
import asyncio
import itertools
import json
import random
import re
import statistics
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

import psutil
from lsprotocol import types as lsp

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE.parent), str(HERE.parent / "tests"), str(HERE.parent / "server")]

from benchmarks import summary  # noqa: E402
from benchmarks.incremental import KEYS, machine, text_of, today, versions  # noqa: E402
from benchmarks.server_start import WITH_A_MODEL  # noqa: E402

from kernelwright.lsp.positions import lines  # noqa: E402
from kernelwright.source.document import parse  # noqa: E402
from kernelwright.source.kernels import find_kernels  # noqa: E402
from lsp.editor import Editor, start, stop  # noqa: E402
from lsp.examples import LINEAR_SUM, PLAIN, SOFTMAX  # noqa: E402

NOTED = SOFTMAX.replace("row = tl.program_id(0)\n", "row = tl.program_id(0)  # note 0\n")
FILE = "\n\n".join((NOTED, LINEAR_SUM, PLAIN))
KERNELS = ("softmax_kernel(", "Model(", "scaled(")
WORKLOADS = (
    (r"^def (launch_softmax_\d+)", r"# workload: \1(randn(4096, 1000))\n\g<0>"),
    (r"^def (launch_matmul_\d+)", r"# workload: \1(randn(512, 512), randn(512, 512))\n\g<0>"),
    (r"^class (Block_\d+)", r"# workload: \1(64)(randn(8, 16, 64))\n\g<0>"),
)
LIMIT = 10.0  # ms
WITH_A_KEY = "right after a key in 5,000 lines"
PERSONS_PAUSE = 0.15  # seconds before a person looks at something
PAUSE = 0.25  # seconds, in which what the server does unasked after a change to the long file comes to an end

Ask = Callable[[], Awaitable[object]]
Samples = list[tuple[float, float]]  # milliseconds on the clock, and of the server on the processor


async def timed(ask: Ask) -> tuple[float, float]:
    server = psutil.Process().children()[0]
    worked, began = processor(server), time.perf_counter()
    await ask()
    return (time.perf_counter() - began) * 1e3, (processor(server) - worked) * 1e3


def processor(process: psutil.Process) -> float:
    """Seconds that a process has run, as finely as the system says."""
    try:
        threads = Path(f"/proc/{process.pid}/task").iterdir()
        return sum(int((thread / "schedstat").read_text().split()[0]) for thread in threads) / 1e9
    except OSError:
        return process.cpu_times().user + process.cpu_times().system


async def measure_small(editor: Editor, uri: str, runs: int) -> dict[str, Samples]:
    notes, later = itertools.count(), itertools.count(1)

    async def nothing() -> None:
        return

    async def typing() -> None:
        """A small change inside a kernel, and the pause that a person leaves before looking at something."""
        old, new = f"# note {next(notes)}\n", f"# note {next(later)}\n"
        editor.type(uri, old, new)
        await asyncio.sleep(PERSONS_PAUSE)

    found: dict[str, Samples] = {}
    for name, before in (("same text", nothing), ("after typing", typing)):
        for what, ask in (("hover", editor.hover), ("code action", editor.actions)):
            times = found.setdefault(f"{what}, {name}", [])
            for kernel in KERNELS * runs:
                await before()
                times.append(await timed(lambda a=ask, k=kernel: a(uri, k)))
    editor.type(uri, f"# note {next(notes)}\n", "# note 0\n")
    return found


async def measure_long(editor: Editor, uri: str, runs: int, random_: random.Random) -> dict[str, Samples]:
    text = editor.texts[uri]
    index, kernels = lines(text), find_kernels(parse(text))
    versions_ = itertools.count(editor.versions[uri] + 1)
    document = lsp.TextDocumentIdentifier(uri)

    def change(where: lsp.Range, new: str) -> None:
        identifier = lsp.VersionedTextDocumentIdentifier(uri=uri, version=next(versions_))
        changes = [lsp.TextDocumentContentChangePartial(range=where, text=new)]
        editor.client.text_document_did_change(lsp.DidChangeTextDocumentParams(identifier, changes))

    async def after(key: str, place: lsp.Position, ask: Ask, pause: float) -> tuple[float, float]:
        """From the key to the answer, or with a pause from the question; the key is taken back afterwards."""

        async def both() -> None:
            change(lsp.Range(place, place), key)
            await ask()

        if pause:
            change(lsp.Range(place, place), key)
            await asyncio.sleep(pause)
        took = await timed(ask if pause else both)
        end = lsp.Position(place.line + 1, 0) if key == "\n" else lsp.Position(place.line, place.character + 1)
        change(lsp.Range(place, end), "")
        await asyncio.sleep(PAUSE)
        return took

    found: dict[str, Samples] = {}
    whens = (("after typing in 5,000 lines", PERSONS_PAUSE), (WITH_A_KEY, 0.0))
    for what, (when, pause) in itertools.product(("hover", "code action"), whens):
        for _ in range(runs):
            kernel, key = random_.choice(kernels), random_.choice(KEYS)
            end = index.starts[kernel.end_line] if kernel.end_line < len(index.starts) else len(text)
            offset = random_.randrange(index.starts[kernel.start_line], end - 1)
            place = index.position(offset, editor.encoding)
            name = lsp.Position(kernel.name_line + (key == "\n" and place.line < kernel.name_line), kernel.name_column)
            hover = lsp.HoverParams(document, name)
            shown = [d for d in editor.client.diagnostics.get(uri, ()) if d.range.start <= place <= d.range.end]
            action = lsp.CodeActionParams(document, lsp.Range(place, place), lsp.CodeActionContext(shown))
            ask: Ask = (
                (lambda p=hover: editor.client.text_document_hover_async(p))
                if what == "hover"
                else (lambda p=action: editor.client.text_document_code_action_async(p))
            )
            times = found.setdefault(f"{what}, {when}", [])
            times.append(await after(key, place, ask, pause))
    editor.versions[uri] = next(versions_)
    return found


def long_text() -> str:
    text = text_of(5000)
    for pattern, line in WORKLOADS:
        text = re.sub(pattern, line, text, flags=re.MULTILINE)
    return text


async def run(runs: int, rounds: int, seed: int, settings: dict[str, object]) -> list[dict[str, Samples]]:
    random_ = random.Random(seed)
    with tempfile.TemporaryDirectory() as folder:
        editor = await start(Path(folder), **settings)
        small, long = editor.open("kernels.py", FILE), editor.open("long.py", long_text())
        await editor.diagnostics(small)
        await editor.diagnostics(long)
        await measure_long(editor, long, 5, random_)  # loads the strategies
        try:
            return [
                {
                    **await measure_small(editor, small, runs),
                    **await measure_long(editor, long, len(KERNELS) * runs, random_),
                }
                for _ in range(rounds)
            ]
        finally:
            await stop(editor)


def figure(rounds: list[Samples]) -> dict[str, float]:
    """The medians of the rounds' medians and 95th percentiles, and between which the latter lay."""
    clock, server = ([[sample[i] for sample in samples] for samples in rounds] for i in (0, 1))
    p95s = [p95(times) for times in clock]
    return {
        "median_ms": round(statistics.median(map(statistics.median, clock)), 2),
        "p95_ms": round(statistics.median(p95s), 2),
        "p95_from_ms": round(min(p95s), 2),
        "p95_to_ms": round(max(p95s), 2),
        "processor_median_ms": round(statistics.median(map(statistics.median, server)), 2),
        "processor_p95_ms": round(statistics.median(map(p95, server)), 2),
    }


def p95(times: list[float]) -> float:
    return statistics.quantiles(times, n=20)[18]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=20, help="questions to each kernel in a round")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--model", action="store_true", help="with a language model configured")
    parser.add_argument("--out", type=Path, help=f"where the result goes; {summary.KEPT}")
    options = parser.parse_args()
    settings = WITH_A_MODEL if options.model else {}
    rounds = asyncio.run(run(options.runs, options.rounds, options.seed, settings))
    figures = {name: figure([times[name] for times in rounds]) for name in rounds[0]}
    text = long_text()
    result = {
        "date": today(),
        "runs": options.runs,
        "rounds": options.rounds,
        "seed": options.seed,
        "limit_ms": LIMIT,
        "model": settings,
        "long_file": {"lines": text.count("\n"), "kernels": len(find_kernels(parse(text)))},
        **figures,
        "machine": machine(),
        "versions": versions("kernelwright", "pygls", "lsprotocol", "tree-sitter", "tree-sitter-python"),
    }
    name = "latency-model.json" if options.model else "latency.json"
    summary.write("latency", result, options.out or summary.RAW / name)
    print(json.dumps(result, indent=2))
    return int(any(figure["p95_ms"] > LIMIT for figure in figures.values()))


if __name__ == "__main__":
    sys.exit(main())
