"""Typing in files of other projects, and a server that is shown many of them.

`python -m benchmarks.real_files PLACE… [--longest N] [--keys N] [--files N]`. A place is a folder or a file; Python files with
Triton kernels count. Single keys are typed at random places of the longest ones, each into the text as it was; told is the
processor's time to fresh findings of the whole file. Then the language server is shown one file after the other, each closed
before the next is opened, and its resident memory is told. Of the files nothing is kept but these figures.
"""

import argparse
import asyncio
import json
import random
import sys
import tempfile
import time
from pathlib import Path

import psutil

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE.parent), str(HERE.parent / "tests"), str(HERE.parent / "server")]

from benchmarks import summary  # noqa: E402
from benchmarks.incremental import look, machine, quantiles, today, typed, versions  # noqa: E402
from benchmarks.real_kernels import files_of  # noqa: E402

from lsp.editor import Editor, start, stop  # noqa: E402

LIMIT_MS, LIMIT_MB = 50.0, 150.0


def keys_in(text: str, keys: int, random_: random.Random) -> list[float]:
    """Milliseconds of the processor from each key to all findings of the file."""
    look(text)
    return [look(typed(text, random_))[1][3] for _ in range(keys)]


async def memory_over(files: list[Path]) -> list[float]:
    """Resident megabytes of the server after each file."""
    with tempfile.TemporaryDirectory() as folder:
        editor = await start(Path(folder))
        server = psutil.Process().children()[0]
        found = []
        try:
            for number, file in enumerate(files):
                found.append(await _shown(editor, server, f"file_{number}.py", file))
        finally:
            await stop(editor)
        return found


async def _shown(editor: Editor, server: psutil.Process, name: str, file: Path) -> float:
    uri = editor.open(name, file.read_text(encoding="utf-8", errors="replace"))
    await editor.diagnostics(uri)
    await editor.lenses(uri)
    used = server.memory_info().rss / 1e6
    editor.close(uri)
    return used


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("places", nargs="+", type=Path)
    parser.add_argument("--longest", type=int, default=6)
    parser.add_argument("--keys", type=int, default=60, help="in each of the longest files")
    parser.add_argument("--files", type=int, default=660, help="that the server is shown")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--out", type=Path, default=summary.RAW / "real_files.json", help=f"the result; {summary.KEPT}")
    options = parser.parse_args()
    texts = {file: file.read_text(encoding="utf-8", errors="replace") for file in files_of(options.places)}
    lengths = {file: text.count("\n") for file, text in texts.items() if "triton.jit" in text}
    random_ = random.Random(options.seed)
    files = list(lengths)
    longest = sorted(files, key=lambda file: lengths[file], reverse=True)[: options.longest]
    times = {file: keys_in(texts[file], options.keys, random_) for file in longest}
    shown = random_.sample(files, min(options.files, len(files)))
    began = time.perf_counter()
    used = asyncio.run(memory_over(shown))
    result = {
        "date": today(),
        "keys": options.keys,
        "longest_lines": [lengths[file] for file in longest],
        "key_processor_ms": quantiles([one for each in times.values() for one in each]).__dict__,
        "key_processor_p95_ms": [quantiles(each).p95 for each in times.values()],
        "files": len(shown),
        "lines": sum(lengths[file] for file in shown),
        "seconds": round(time.perf_counter() - began, 1),
        "mb_after": {str(at): round(used[at - 1], 1) for at in (1, 10, 50, 100, 200, 400, 660) if at <= len(used)},
        "mb_most": round(max(used), 1),
        "machine": machine(),
        "versions": versions("kernelwright", "tree-sitter", "tree-sitter-python"),
    }
    summary.write("real_files", result, options.out)
    print(json.dumps(result, indent=2))
    return int(result["key_processor_ms"]["p95"] > LIMIT_MS or result["mb_most"] > LIMIT_MB)


if __name__ == "__main__":
    sys.exit(main())
