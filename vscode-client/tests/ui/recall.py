"""Prints the steps in the journal of a folder, one a line, as `1. strategy outcome`: `recall.py FOLDER FILE`."""

import sys
from pathlib import Path

from kernelwright.journal import open_journal


def recall(folder: Path, file: str) -> None:
    with open_journal(folder) as journal:
        assert not journal.notice, journal.notice
        for number, step in enumerate(journal.steps(folder / file), 1):
            print(f"{number}. {step.action.strategy} {step.outcome.value}")


if __name__ == "__main__":
    recall(Path(sys.argv[1]), sys.argv[2])
