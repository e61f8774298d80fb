"""Reads the cases that the gate is held to: a baseline, how it is called, a candidate, and how the candidate's trial must end.

One file is one case, in a folder by what it is a case of:

    exploits/         must not be told as faster; tests/cheats/
    controls/         honest, and must pass; tests/controls/
    reviewed/*/       written by reviewers of the gate, whose shares benchmarks/reviewed reports
    bases/            right kernels that benchmarks/mutants plants faults in

A file is Python text in cells, so that editors and diffs show kernels as such. The head says why, and holds the fields:

    \"\"\"Answers from a cache by shape.\"\"\"
    # workload: f(randn(48, 65))
    # expected: values, clean-process

    # %% baseline
    ...
    # %% candidate
    ...

`workload` may be repeated; without it the texts follow the get_inputs() convention. `expected` names ends as
`cheats.outcome.ended_by` does; "refused" stands for every end but "passed". `marks` are "gpu", "alone" (its worker is not used
again) and "promises-kernel" (as if a strategy that brings a kernel had written it). `timeout` is in seconds. A cell
`# %% file NAME` is another file in the kernel's folder. A file without cells is a baseline alone.
"""

import ast
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

FOLDER = Path(__file__).parent
SECONDS = 90.0  # per trial, unless the file says less
MARKS = frozenset({"gpu", "alone", "promises-kernel"})

_CELL = re.compile(r"^# %% (.+)\n", re.M)
_FIELD = re.compile(r"^# (workload|expected|marks|timeout): (.+)$")


class Malformed(Exception):
    """A file that is no case, with what to change in one sentence."""


@dataclass(frozen=True)
class Case:
    """One file. `candidate` and `expected` are empty for a baseline alone."""

    name: str
    why: str
    baseline: str
    candidate: str = ""
    workload: tuple[str, ...] = ()
    expected: frozenset[str] = frozenset()
    marks: frozenset[str] = frozenset()
    timeout: float = SECONDS
    neighbours: Mapping[str, str] = field(default_factory=dict)  # files in the kernel's folder, by name

    def __str__(self) -> str:
        return self.name

    @property
    def entry(self) -> str:
        """What the workload calls."""
        return self.workload[0].partition("(")[0] if self.workload else "Model"


def cases(folder: str) -> list[Case]:
    """All cases of a folder such as "exploits", by name. Raises Malformed."""
    return [read(path) for path in sorted((FOLDER / folder).glob("*.py"))]


def case(folder: str, name: str) -> Case:
    """The case `name` of `folder`. Raises Malformed, or OSError where there is none."""
    return read(FOLDER / folder / f"{name}.py")


def read(path: Path) -> Case:
    """The case that a file holds. Raises Malformed."""
    text = path.read_text(encoding="utf-8")
    head, *rest = _CELL.split(text)
    cells = {title: body.strip("\n") + "\n" for title, body in zip(rest[::2], rest[1::2], strict=True)}
    why = ast.get_docstring(ast.parse(head)) or ""
    comments = [line for line in head.splitlines() if line.startswith("# ")]
    fields = [found.groups() for line in comments if (found := _FIELD.match(line))]
    workload = tuple(value for key, value in fields if key == "workload")
    if not cells:
        return Case(path.stem, why, text, workload=workload)
    if not why or len(fields) != len(comments):
        raise Malformed(f"{path}: begin with a docstring, and the fields workload, expected, marks and timeout.")
    files = {title.removeprefix("file "): body for title, body in cells.items() if title.startswith("file ")}
    if {"baseline", "candidate"} != cells.keys() - {f"file {name}" for name in files}:
        raise Malformed(f"{path}: write one cell baseline and one cell candidate; other cells are `# %% file NAME`.")
    once = {key: value for key, value in fields if key != "workload"}
    marks = _names(once.get("marks", ""))
    if not marks <= MARKS or "expected" not in once:
        raise Malformed(f"{path}: write the field expected; marks are {', '.join(sorted(MARKS))}.")
    return Case(
        name=path.stem,
        why=why,
        baseline=cells["baseline"],
        candidate=cells["candidate"],
        workload=workload,
        expected=_names(once["expected"]),
        marks=marks,
        timeout=float(once.get("timeout", SECONDS)),
        neighbours=files,
    )


def _names(listed: str) -> frozenset[str]:
    return frozenset(name.strip() for name in listed.split(",") if name.strip())
