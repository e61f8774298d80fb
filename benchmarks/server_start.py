"""Time from start to the initialize reply, beside a bare pygls and tree-sitter server; resident memory; what is loaded.

The two are started in turn, so that a slow moment of the machine falls on both. Writes `results/server_start.json`.
"""

import argparse
import json
import platform
import statistics
import subprocess
import sys
import time
from pathlib import Path

import psutil

HERE = Path(__file__).parent

BARE = """
import tree_sitter, tree_sitter_python
from lsprotocol import types
from pygls.lsp.server import LanguageServer
parser = tree_sitter.Parser(tree_sitter.Language(tree_sitter_python.language()))
server = LanguageServer("bare", "1")
@server.feature(types.TEXT_DOCUMENT_HOVER)
def hover(params): return None
server.start_io()
"""
COMMANDS = {
    "bare pygls and tree-sitter": [sys.executable, "-c", BARE],
    "kernelwright": [sys.executable, "-m", "kernelwright.lsp"],
}
KERNEL = """\
import torch

def softmax(x):
    e = torch.exp(x - x.max(dim=-1, keepdim=True).values)
    return e / e.sum(dim=-1, keepdim=True)

# workload: softmax(randn(64, 64))
"""
HEAVY = ("torch", "triton", "numpy", "litellm")
IMPORTED = "import sys, kernelwright.lsp.server as s; s.build(); print(*sys.modules)"


def message(method: str, params: object, number: int | None = None) -> bytes:
    content = {"jsonrpc": "2.0", "method": method, "params": params, **({} if number is None else {"id": number})}
    body = json.dumps(content).encode()
    return b"Content-Length: %d\r\n\r\n" % len(body) + body


def reply(stream) -> dict:
    length = 0
    while (line := stream.readline().strip()) != b"":
        if line.lower().startswith(b"content-length:"):
            length = int(line.split(b":")[1])
    return json.loads(stream.read(length))


def start(command: list[str]) -> tuple[float, float, float]:
    """Seconds to the initialize reply; resident MB then, and with a kernel open and hovered over."""
    began = time.perf_counter()
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as server:
        server.stdin.write(message("initialize", {"processId": None, "rootUri": None, "capabilities": {}}, 1))
        server.stdin.flush()
        reply(server.stdout)
        took = time.perf_counter() - began
        after_reply = psutil.Process(server.pid).memory_info().rss / 1e6
        document = {"uri": "file:///nowhere/kernel.py", "languageId": "python", "version": 1, "text": KERNEL}
        server.stdin.write(message("initialized", {}))
        server.stdin.write(message("textDocument/didOpen", {"textDocument": document}))
        position = {"textDocument": {"uri": document["uri"]}, "position": {"line": 2, "character": 6}}
        server.stdin.write(message("textDocument/hover", position, 2))
        server.stdin.flush()
        while reply(server.stdout).get("id") != 2:
            pass
        in_use = psutil.Process(server.pid).memory_info().rss / 1e6
        server.kill()
    return took, after_reply, in_use


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=15)
    parser.add_argument("--out", type=Path, default=HERE / "results" / "server_start.json")
    options = parser.parse_args()
    runs: dict[str, list[tuple[float, float, float]]] = {name: [] for name in COMMANDS}
    for command in COMMANDS.values():
        start(command)  # fills the file cache
    for _ in range(options.runs):
        for name, command in COMMANDS.items():
            runs[name].append(start(command))
    figures = {
        name: [round(statistics.median(column), 4) for column in zip(*each, strict=True)] for name, each in runs.items()
    }
    modules = subprocess.run(
        [sys.executable, "-c", IMPORTED], capture_output=True, text=True, check=True
    ).stdout.split()
    bare, ours = figures.values()
    result = {
        "python": platform.python_version(),
        "cpus": psutil.cpu_count(),
        "runs": options.runs,
        "median_seconds_to_initialize_reply": {name: each[0] for name, each in figures.items()},
        "ratio": round(ours[0] / bare[0], 3),
        "resident_mb_after_initialize": {name: each[1] for name, each in figures.items()},
        "resident_mb_with_a_kernel_hovered": {name: each[2] for name, each in figures.items()},
        "heavy_modules_loaded": sorted(set(HEAVY) & set(modules)),
    }
    options.out.parent.mkdir(exist_ok=True)
    options.out.write_text(json.dumps(result, indent=2) + "\n")
    print(json.dumps(result, indent=2))
    return int(result["ratio"] > 1.25 or ours[2] > 60 or bool(result["heavy_modules_loaded"]))


if __name__ == "__main__":
    sys.exit(main())
