"""Puts recorded steps into the journal of a folder, with their file as the last of them left it: `remember.py RECORD FOLDER`.

The steps of a record were measured on a GPU, which the machine that runs the suite need not have.
"""

import json
import sys
from pathlib import Path

from kernelwright import wire
from kernelwright.journal import open_journal
from kernelwright.values import Outcome, Step


def remember(record: Path, folder: Path) -> None:
    told = json.loads(record.read_text(encoding="utf-8"))
    file = folder / told["file"]
    with open_journal(folder) as journal:
        for recorded in told["steps"]:
            step = wire.decode(Step, recorded)
            journal.add_step(file, step, recorded["before"], recorded["after"])
            if step.outcome is Outcome.KEPT:
                file.write_text(recorded["after"], encoding="utf-8")
        first = told["steps"][0]
        journal.set_baseline(file, first["kernel"], first["before"])


if __name__ == "__main__":
    remember(Path(sys.argv[1]), Path(sys.argv[2]))
