"""What the result of an earlier gate still says of the gate as it is: the faults that were ended by a call still made.

A call that ended a fault ends it again, whatever was added since. What passed, or was ended otherwise, is graded anew.
"""

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.mutants.baselines import Baseline
from benchmarks.mutants.grading import Ending, Outcome
from benchmarks.mutants.mutant import Mutant


class Unlike(Exception):
    """A result that cannot stand beside this run, with the reason in one sentence."""


@dataclass(frozen=True)
class Earlier:
    """The outcomes that are taken over, and the gate that they are of. Without a file both are empty."""

    gate: str = ""
    outcomes: tuple[Outcome, ...] = ()


def read(
    file: Path,
    planted: Sequence[tuple[Baseline, Mutant]],
    calls: Mapping[str, Collection[str]],
    device: str,
    settings: Mapping[str, object],
) -> Earlier:
    """Takes over what the result in `file` shows as ended by one of `calls`: for each kernel, those of the gate now.

    `device` is the kind of device of this run, `settings` what its verdicts depend on. Raises Unlike.
    """
    try:
        whole = json.loads(file.read_text(encoding="utf-8"))
        kind, were, rows, gate = whole["device"]["kind"], whole["settings"], whole["mutants"], whole["gate"]
    except (OSError, ValueError, LookupError, TypeError) as error:
        raise Unlike(f"{file} is not a result of this benchmark: {error!r}.") from error
    if kind != device:
        raise Unlike(f"{file} was graded on {kind}, this run is on {device}.")
    if other := [name for name, value in settings.items() if were.get(name) != value]:
        raise Unlike(f"{file} was graded with another setting of {', '.join(other)}.")
    known = {(o.name, m.id): m for o, m in planted}
    return Earlier(
        gate,
        tuple(
            _outcome(kernel, known[kernel, mutant], by, case, seconds)
            for kernel, mutant, ending, by, case, seconds in rows
            if ending == Ending.KILLED and (kernel, mutant) in known and case in calls.get(kernel, ())
        ),
    )


def _outcome(kernel: str, of: Mutant, by: str, case: str, seconds: float) -> Outcome:
    detail = "ended so by an earlier gate"
    return Outcome(
        kernel, of.id, of.operator, of.line, of.description, Ending.KILLED, by, case, detail=detail, seconds=seconds
    )
