"""A process that adds Steps until it is killed or has added `count`, and says on stdout which ones are acknowledged."""

import sys
from pathlib import Path

from kernelwright.journal import open_journal

sys.path.insert(0, str(Path(__file__).parent))
from steps import step


def main(workspace: str, name: int, count: int) -> None:
    journal = open_journal(Path(workspace))
    assert journal.persistent, journal.notice
    for number in range(name * 1_000_000, name * 1_000_000 + count):
        after = f"text {number} " * 500
        journal.add_step("a.py", step(number, after=after), "a", after)
        print(number, flush=True)
    assert journal.persistent, journal.notice


main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
