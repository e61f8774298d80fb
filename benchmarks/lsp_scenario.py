"""A person's way through two examples, played against the language server over stdio: `python benchmarks/lsp_scenario.py`.

A finding while typing and its way out, the card, the lens, the menu with its reasons, a step with progress, its edit, its
evidence, and the step taken back. Prints what was seen; `--out FILE` keeps it, as Markdown or JSON by the file's name.
Ends with 1 when a stage did not go as it must. The same run works with and without a GPU.
"""

import argparse
import asyncio
import importlib.metadata
import json
import os
import platform
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "server")]

from benchmarks import summary  # noqa: E402
from benchmarks.lsp_client import opened  # noqa: E402
from benchmarks.lsp_play import Play, Scene, Surprise, must  # noqa: E402

from kernelwright import __version__  # noqa: E402

PACKAGES = ("pygls", "lsprotocol", "tree-sitter", "tree-sitter-python")
SCENES = (
    Scene(
        "triton_softmax.py",
        "softmax_kernel",
        ', other=-float("inf")).to(tl.float32)\n        row_max',
        ").to(tl.float32)\n        row_max",
        "triton.masked-load-reduced",
    ),
    Scene(
        "linear_reduction.py",
        "EnergyHead",
        "contributions = contributions / 2",
        "contributions = contributions / (2 if states.sum().item() else 1)",
        "torch.host-sync",
    ),
)


async def play(scenes: Sequence[Scene], settings: dict[str, object], interpreter: str) -> tuple[dict[str, object], str]:
    """What was seen of all scenes, and the surprise that ended them; empty for none."""
    date = datetime.now(UTC)
    with tempfile.TemporaryDirectory() as folder:
        window = await opened(Path(folder), settings, interpreter)
        doctor = await window.command("kernelwright.doctor", {"uri": "", "quiet": True})
        toolchain = {line["name"]: line["detail"] if line["found"] else "missing" for line in doctor}
        for name, detail in toolchain.items():
            print(f"{name}: {detail}")
        plays: list[Play] = []
        surprise = ""
        try:
            for scene in scenes:
                print(f"\n--- {scene.file}")
                plays.append(Play(window, scene))
                await plays[-1].run()
            must(sum(one.refused for one in plays), "No action was disabled with a reason.")
        except (Surprise, TimeoutError) as error:
            last = plays[-1].stages[-1].name if plays[-1].stages else "the start"
            surprise = f"{plays[-1].scene.file}, after {last!r}: {error}"
        await window.stop()
    record = {
        "schema": 1,
        "benchmark": "lsp_scenario",
        "date": date.isoformat(timespec="seconds"),
        "seconds": round(window.elapsed(), 1),
        "toolchain": toolchain,
        "machine": {"system": platform.platform(), "python": platform.python_version(), "cores": os.cpu_count()},
        "versions": {"kernelwright": __version__, **{name: importlib.metadata.version(name) for name in PACKAGES}},
        "settings": settings,
        "surprise": surprise,
        "scenes": [
            {"file": p.scene.file, "kernel": p.scene.kernel, "stages": [asdict(s) for s in p.stages], "step": p.step}
            for p in plays
        ],
    }
    return record, surprise


def markdown(record: dict) -> str:
    """The record as a page; the step's value is in the JSON only."""
    rows = {**record["toolchain"], **record["versions"], **record["machine"], "seconds": record["seconds"]}
    parts = [f"# The language server, played through ({record['date']})", _table(rows)]
    for scene in record["scenes"]:
        parts.append(f"## {scene['file']}")
        for stage in scene["stages"]:
            parts.append(f"**{stage['name']}** ({stage['seconds']:.2f} s)")
            parts.append("\n".join(("```text", *stage["seen"], "```")))
    if record["surprise"]:
        parts.append(f"**Ended early.** {record['surprise']}")
    return "\n\n".join(parts) + "\n"


def _table(rows: dict[str, object]) -> str:
    return "\n".join(("| | |", "|---|---|", *(f"| {name} | {value} |" for name, value in rows.items())))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, help=f"a name in .md or .json; {summary.KEPT}")
    parser.add_argument("--interpreter", default=sys.executable, help="the Python that runs the server")
    parser.add_argument("--setting", action="append", default=[], metavar="NAME=VALUE", help="the value is JSON")
    options = parser.parse_args()
    settings = {name: json.loads(value) for name, _, value in (one.partition("=") for one in options.setting)}
    record, surprise = asyncio.run(play(SCENES, settings, options.interpreter))
    if options.out and options.out.suffix == ".json":
        summary.write("lsp_scenario", record, options.out)
    elif options.out:
        options.out.parent.mkdir(parents=True, exist_ok=True)
        options.out.write_text(markdown(record), encoding="utf-8")
    print(f"\n{record['seconds']:.0f} s{f'; ended early: {surprise}' if surprise else ''}")
    return int(bool(surprise))


if __name__ == "__main__":
    sys.exit(main())
