"""Time from start to the initialize reply of what editors run, beside a bare pygls and tree-sitter server; resident memory.

All are started in turn, in random order, and compared round by round, so that a slow moment of the machine falls on all.
Beside the time on the wall the CPU time is told, which says more on a busy machine. One of them has a language model
configured, and its tools are called by the editor's agent.
"""

import argparse
import json
import random
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import psutil

sys.path[:0] = [str(Path(__file__).parents[1])]

from benchmarks import summary  # noqa: E402
from benchmarks.incremental import machine, today, versions  # noqa: E402

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
FLOOR = "bare pygls and tree-sitter"
COMMANDS = {
    FLOOR: [sys.executable, "-c", BARE],
    "kernelwright serve": [str(Path(sys.executable).with_name("kernelwright")), "serve"],
    "python -P -m kernelwright.lsp": [sys.executable, "-P", "-m", "kernelwright.lsp"],  # VS Code, with an interpreter
}
CONFIGURED = "kernelwright serve, with a model and tools called"
COMMANDS[CONFIGURED] = COMMANDS["kernelwright serve"]
WITH_A_MODEL = {
    "model": "litellm:openai/local",
    "modelBaseUrl": "http://127.0.0.1:9/v1",
    "modelOrder": "both",
    "modelRanks": True,
    "modelTokensPerStep": 100_000,
    "modelDollarsPerDay": 5.0,
}
TOOLS = ("list_kernels", "list_findings", "history")
MOST_TIME, MOST_MB = 1.25, 62.0
KERNEL = """\
import torch

def softmax(x):
    e = torch.exp(x - x.max(dim=-1, keepdim=True).values)
    return e / e.sum(dim=-1, keepdim=True)

# workload: softmax(randn(64, 64))
"""


@dataclass(frozen=True)
class Start:
    """Seconds on the wall and of CPU to the initialize reply; resident MB then, and with a kernel open and hovered over.

    Where tools are called, it is in use after them.
    """

    wall_s: float
    cpu_s: float
    mb: float
    mb_in_use: float


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


def start(name: str) -> Start:
    with tempfile.TemporaryDirectory() as folder:
        return started(COMMANDS[name], Path(folder), configured=name == CONFIGURED)


def started(command: list[str], folder: Path, *, configured: bool) -> Start:
    file = folder / "kernel.py"
    file.write_text(KERNEL, encoding="utf-8")
    hello = {"processId": None, "rootUri": folder.as_uri(), "capabilities": {}}
    if configured:
        hello["initializationOptions"] = {"kernelwright": WITH_A_MODEL}
    began = time.perf_counter()
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as server:

        def ask(method: str, params: object, number: int) -> dict:
            server.stdin.write(message(method, params, number))
            server.stdin.flush()
            while (answer := reply(server.stdout)).get("id") != number:
                pass
            return answer

        ask("initialize", hello, 1)
        wall_s = time.perf_counter() - began
        cpu_s, mb = cpu_seconds(server.pid), resident_mb(server.pid)
        document = {"uri": file.as_uri(), "languageId": "python", "version": 1, "text": KERNEL}
        server.stdin.write(message("initialized", {}))
        server.stdin.write(message("textDocument/didOpen", {"textDocument": document}))
        ask("textDocument/hover", {"textDocument": {"uri": file.as_uri()}, "position": {"line": 2, "character": 6}}, 2)
        for number, tool in enumerate(TOOLS if configured else (), 3):
            call = {"name": tool, "arguments": {"file": file.name}}
            answer = ask("workspace/executeCommand", {"command": "kernelwright.tool", "arguments": [call]}, number)
            assert answer["result"]["$"] == "Told", answer
        mb_in_use = resident_mb(server.pid)
        server.kill()
    return Start(wall_s, cpu_s, mb, mb_in_use)


def cpu_seconds(pid: int) -> float:
    """CPU time of all threads so far, which Linux counts in nanoseconds."""
    return sum(int(task.read_text().split()[0]) for task in Path(f"/proc/{pid}/task").glob("*/schedstat")) / 1e9


def resident_mb(pid: int) -> float:
    return psutil.Process(pid).memory_info().rss / 1e6


def figures(rounds: list[dict[str, Start]]) -> dict[str, dict[str, float]]:
    """Medians over the rounds; ratios to the floor are medians of the ratios within a round."""

    def median(of: Callable[[dict[str, Start]], float]) -> float:
        return round(statistics.median(of(one) for one in rounds), 3)

    return {
        name: {
            "seconds": median(lambda one, name=name: one[name].wall_s),
            "ratio": median(lambda one, name=name: one[name].wall_s / one[FLOOR].wall_s),
            "cpu_seconds": median(lambda one, name=name: one[name].cpu_s),
            "cpu_ratio": median(lambda one, name=name: one[name].cpu_s / one[FLOOR].cpu_s),
            "mb": median(lambda one, name=name: one[name].mb),
            "mb_with_a_kernel_hovered": median(lambda one, name=name: one[name].mb_in_use),
        }
        for name in COMMANDS
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=15)
    parser.add_argument(
        "--out", type=Path, default=summary.RAW / "server_start.json", help=f"where the result goes; {summary.KEPT}"
    )
    options = parser.parse_args()
    for name in COMMANDS:
        start(name)  # fills the file cache
    rounds = []
    for _ in range(options.runs):
        order = random.sample(list(COMMANDS), len(COMMANDS))
        rounds.append({name: start(name) for name in order})
    found = figures(rounds)
    result = {
        "date": today(),
        "machine": machine(),
        "versions": versions("kernelwright", "pygls", "lsprotocol", "tree-sitter", "tree-sitter-python"),
        "runs": options.runs,
        "most": {"ratio": MOST_TIME, "mb": MOST_MB},
        "model": WITH_A_MODEL,
        "to_the_initialize_reply": found,
    }
    summary.write("server_start", result, options.out)
    print(json.dumps(result, indent=2))
    return int(any(one["ratio"] > MOST_TIME or one["mb_with_a_kernel_hovered"] > MOST_MB for one in found.values()))


if __name__ == "__main__":
    sys.exit(main())
