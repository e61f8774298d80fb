"""Optimises the plain kernels of examples/cuda as a user would: `python -m benchmarks.cuda_examples OUT [--steps N] [NAME
…]`.

Each example is a process of its own, on whichever GPU is free. The autopilot writes its steps to a copy of the file,
kernel by kernel; then the copy is verified against the file as it was, on fresh seeds, and timed beside it in one
interleaved run. Where a library does the same, its time on the same device stands beside it (`benchmarks/cuda_library.py`),
measured before, which is no part of that run. OUT is written again after each example, so that a run
that is cut off leaves those before.
"""

import argparse
import json
import os
import queue
import subprocess
import sys
import tempfile
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from benchmarks import summary
from benchmarks.versions import versions

from kernelwright.languages import of_file
from kernelwright.source.workload import evaluate
from kernelwright.values import TensorSpec

FOLDER = Path(__file__).parents[1] / "examples" / "cuda"
COMPUTE = ("conv2d", "decode_attention", "matmul_half", "matmul_naive", "matmul_tiled", "n_body", "top_k")
"""Examples whose time is not that of their memory."""


def command(*arguments: str, gpu: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, **({"CUDA_VISIBLE_DEVICES": gpu} if gpu else {})}
    line = [sys.executable, "-m", "kernelwright", *arguments]
    return subprocess.run(line, capture_output=True, text=True, check=False, env=environment)


def moved(text: str) -> int:
    """Bytes of the tensors of the performance case; those that are read and written count twice."""
    support = of_file(Path("kernel.cu"))
    call = evaluate(support.workload_lines(text)[0].text)
    specs = [one for one in (*call.args, *call.kwargs.values()) if isinstance(one, TensorSpec)]
    sizes = {"float16": 2, "int8": 1, "uint8": 1, "bool": 1, "float64": 8, "int64": 8}
    total = 0
    for spec in specs:
        elements = 1
        for size in spec.shape:
            elements *= size
        total += elements * sizes.get(spec.dtype, 4) * (2 if spec.role == "inout" else 1)
    return total


def play(name: str, steps: int, gpu: str) -> dict[str, Any]:
    """What became of one example: its steps, and the last text verified and timed against the first."""
    began = time.monotonic()
    plain = FOLDER / f"{name}.cu"
    text = plain.read_text(encoding="utf-8")
    with tempfile.TemporaryDirectory() as folder:
        file, out = Path(folder, plain.name), Path(folder, "out.json")
        file.write_text(text, encoding="utf-8")
        made: list[dict[str, Any]] = []
        said = ""
        for kernel in dict.fromkeys(one.name for one in of_file(file).kernels(text)):
            out.unlink(missing_ok=True)
            ended = command(
                "optimize", str(file), "--kernel", kernel, "--steps", str(steps), "--write", "--json", str(out), gpu=gpu
            )
            if not out.exists():
                said = (ended.stderr.strip().splitlines() or ["no result"])[-1]
                continue
            made += json.loads(out.read_text(encoding="utf-8"))["steps"]
        took = time.monotonic() - began
        last = file.read_text(encoding="utf-8")
        found: dict[str, Any] = {"steps": made, "seconds": took, "bytes": moved(text), "error": said, "text": last}
        if last != text:
            kernel = of_file(file).kernels(last)[0].name
            out.unlink(missing_ok=True)
            command("measure", str(file), "--against", str(plain), "--kernel", kernel, "--json", str(out), gpu=gpu)
            found["final"] = json.loads(out.read_text(encoding="utf-8")) if out.exists() else None
        return found


def row(name: str, one: dict[str, Any], bandwidth: float) -> str:
    kept = [step["action"]["strategy"].removeprefix("cuda.") for step in one["steps"] if step["outcome"] == "kept"]
    measurement = ((one.get("final") or {}).get("result") or {}).get("measurement")
    if measurement is None:
        said = ", ".join(kept) or one["error"] or "-"
        return f"{name:<20} {'-':>7} {'':>22} {'':>6} {'':>9} {one['seconds']:5.0f} s  {said}"
    before, after = (measurement[which]["median_ms"] for which in ("baseline", "candidate"))
    share = f"{one['bytes'] / bandwidth / after * 1e5:.0f} %" if bandwidth and name not in COMPUTE else ""
    library = f"{one['library_ms']:.4g} ms" if one.get("library_ms") else ""
    times = f"{before:.4g} -> {after:.4g} ms"
    return f"{name:<20} {before / after:6.2f}x {times:>22} {share:>6} {library:>9} {one['seconds']:5.0f} s  {', '.join(kept)}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("out", type=Path, help=f"a JSON file; {summary.KEPT}")
    parser.add_argument("names", nargs="*")
    parser.add_argument("--steps", type=int, default=4)
    parser.add_argument("--gpus", default="", help="device numbers, separated by commas")
    given = parser.parse_intermixed_args()  # names may follow options
    names = given.names or sorted(file.stem for file in FOLDER.glob("*.cu"))
    free: queue.Queue[str] = queue.Queue()
    gpus = given.gpus.split(",")
    for gpu in gpus:
        free.put(gpu)

    known = {
        "date": datetime.now(UTC).date().isoformat(),
        "versions": versions("torch", "triton"),
        "steps": given.steps,
    }
    library = command_of_library()
    results: dict[str, Any] = {}
    writing = threading.Lock()
    print(f"{'example':<20} {'speedup':>7} {'plain -> result':>22} {'roof':>6} {'library':>9} {'':>5}    strategies")

    def one(name: str) -> None:
        gpu = free.get()
        try:
            found = play(name, given.steps, gpu)
        finally:
            free.put(gpu)
        if name in library:
            found["library_ms"] = library[name]
        with writing:
            results[name] = found
            device = next((each["final"]["device"] for each in results.values() if each.get("final")), {})
            print(row(name, found, device.get("bandwidth", 0.0)), flush=True)
            played = dict(sorted(results.items()))
            whole = {"schema": 1, **known, "device": device, "examples": played}
            if device:
                summary.write("cuda_examples", whole, given.out)
            else:  # without a number there is nothing to sum up yet
                given.out.parent.mkdir(parents=True, exist_ok=True)
                given.out.write_text(json.dumps(whole, indent=1) + "\n", encoding="utf-8")

    with ThreadPoolExecutor(len(gpus)) as pool:
        list(pool.map(one, names))


def command_of_library() -> dict[str, float]:
    """What a library takes for the same, in a process of its own; nothing without a GPU."""
    ended = subprocess.run(
        [sys.executable, "-m", "benchmarks.cuda_library"], capture_output=True, text=True, check=False
    )
    return json.loads(ended.stdout) if ended.returncode == 0 else {}


if __name__ == "__main__":
    main()
