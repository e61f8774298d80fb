"""Optimises every example as a user would, and keeps what was measured: `python -m benchmarks.examples [OUT]`.

Each example runs in a process of its own. The result holds the device, the Steps as values with their verdicts and
measurements, and the final speedup with its interval; one in benchmarks/raw is summed up in benchmarks/results. The table is
printed last.
"""

import json
import subprocess
import sys
import tempfile
from datetime import UTC, datetime
from pathlib import Path

from benchmarks import summary
from benchmarks.versions import versions

ROOT = Path(__file__).parents[1]
STEPS = 4


def optimize(file: Path, folder: Path) -> dict:
    """The JSON result of the command line on `file`; an "error" when it failed."""
    out = folder / f"{file.stem}.json"
    command = [sys.executable, "-m", "kernelwright", "optimize", str(file), "--steps", str(STEPS), "--json", str(out)]
    ended = subprocess.run(command, capture_output=True, text=True, check=False)
    print(ended.stdout)
    if ended.returncode or not out.exists():
        return {"error": ended.stderr.strip().splitlines()[-1] if ended.stderr.strip() else "no result"}
    return json.loads(out.read_text(encoding="utf-8"))


def row(name: str, result: dict) -> str:
    if "error" in result:
        return f"{name:<30} {result['error']}"
    kept = [step for step in result["steps"] if step["outcome"] == "kept"]
    done = ", ".join(step["action"]["strategy"] for step in kept) or "-"
    if not result["speedup"]:
        return f"{name:<30} {'not measured' if kept else '-':>24}  {done}"
    speedup, measured = result["speedup"], kept[-1]["measurement"]
    times = f"{measured['baseline']['median_ms']:.4g} -> {measured['candidate']['median_ms']:.4g} ms"
    interval = f"{speedup['ratio']:.2f}x ({speedup['low']:.2f}-{speedup['high']:.2f})"
    return f"{name:<30} {interval:>22} {times:>22}  {done}"


def main() -> None:
    examples = sorted((ROOT / "examples").glob("*.py"))
    with tempfile.TemporaryDirectory() as folder:
        results = {file.stem: optimize(file, Path(folder)) for file in examples}
    if len(sys.argv) > 1:
        known = {"date": datetime.now(UTC).date().isoformat(), "versions": versions("torch", "triton")}
        summary.write("examples", {"schema": 1, **known, "steps": STEPS, "examples": results}, Path(sys.argv[1]))
    print(f"\n{'example':<30} {'speedup (95 % CI)':>22} {'baseline -> result':>22}  strategies")
    for name, result in results.items():
        print(row(name, result))


if __name__ == "__main__":
    main()
