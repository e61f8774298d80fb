"""The action menu of a model of 300 operators, and a hover in another file while that menu is worked out, in milliseconds.

Each round has the server forget the menu, asks for it, then has it forgotten again and asks for it while a person hovers.
The menu's limit is on the server's time on the processor, which other programs change less than the clock; the hover's
on the clock. Ends with 1 where a median is beyond its limit.
"""

import argparse
import asyncio
import json
import statistics
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE.parent), str(HERE.parent / "tests"), str(HERE.parent / "server")]

from benchmarks.incremental import machine, today, versions  # noqa: E402
from benchmarks.latency import Samples, p95, timed  # noqa: E402

from lsp.editor import Editor, start, stop  # noqa: E402
from lsp.examples import LARGE, PLAIN  # noqa: E402

LIMIT_OF_THE_MENU = 600.0
LIMIT_OF_A_HOVER = 25.0


async def forget(editor: Editor, large: str) -> None:
    """A command that changes nothing, after which the server asks the strategies anew; the first captures the op graph."""
    await editor.command("kernelwright.apply", {"uri": large, "strategy": "torch.fuse-scan"})


async def run(rounds: int) -> tuple[Samples, Samples]:
    """The samples of the menu alone, and of the hovers beside it."""
    menus: Samples = []
    hovers: Samples = []
    with tempfile.TemporaryDirectory() as folder:
        editor = await start(Path(folder))
        large, small = editor.open("large.py", LARGE), editor.open("small.py", PLAIN)
        try:
            for number in range(rounds + 1):
                await forget(editor, large)
                menu = await timed(lambda: editor.actions(large, "class Model"))
                await forget(editor, large)
                asked = asyncio.ensure_future(editor.actions(large, "class Model"))
                beside = [await timed(lambda: editor.hover(small, "def scaled"))]
                while not asked.done():
                    await asyncio.sleep(0.02)
                    beside.append(await timed(lambda: editor.hover(small, "def scaled")))
                if number:  # the first round loads the strategies
                    menus.append(menu)
                    hovers += beside[:-1]
        finally:
            await stop(editor)
    return menus, hovers


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=10)
    options = parser.parse_args()
    menus, hovers = asyncio.run(run(options.rounds))
    clock = [ms for ms, _ in hovers]
    found = {
        "menu_median_ms": statistics.median(ms for ms, _ in menus),
        "menu_processor_median_ms": statistics.median(ms for _, ms in menus),
        "hover_median_ms": statistics.median(clock),
        "hover_p95_ms": p95(clock),
        "hover_longest_ms": max(clock),
    }
    print(
        json.dumps(
            {
                "date": today(),
                "rounds": options.rounds,
                "limits_ms": {"menu_processor_median_ms": LIMIT_OF_THE_MENU, "hover_median_ms": LIMIT_OF_A_HOVER},
                **{name: round(ms, 1) for name, ms in found.items()},
                "machine": machine(),
                "versions": versions("kernelwright", "pygls", "lsprotocol"),
            },
            indent=2,
        )
    )
    return int(found["menu_processor_median_ms"] > LIMIT_OF_THE_MENU or found["hover_median_ms"] > LIMIT_OF_A_HOVER)


if __name__ == "__main__":
    sys.exit(main())
