"""How a kept step is taken back: the edits for the text of now, and what the journal says afterwards."""

import dataclasses
from collections.abc import Iterable
from dataclasses import dataclass

from kernelwright.journal import Journal
from kernelwright.micro.edits import difference, transplant
from kernelwright.values import Edits, Outcome, Refusal, digest, in_files


@dataclass(frozen=True)
class Reversal:
    """How a kept step is taken back: the edits for the text of now, and the Steps that they undo, oldest first."""

    edits: Edits
    step_ids: tuple[str, ...]


def of(journal: Journal, path: str, text: str, step_id: str) -> Reversal | Refusal:
    """Find how `text` goes back to before a kept step, keeping what a person changed elsewhere since.

    The journal is not changed.
    """
    steps = journal.steps(path)
    index = next((i for i, step in enumerate(steps) if step.id == step_id), None)
    if index is None:
        return Refusal(f"The journal of this file has no step {step_id}.")
    wanted = steps[index]
    undone = [s for s in steps[index:] if s.kernel == wanted.kernel and s.outcome is Outcome.KEPT]
    if not undone or undone[0].id != step_id:
        return Refusal(f"Step {step_id} was {wanted.outcome.value}, so there is nothing to take back.")
    before, after = journal.text(wanted.before_hash), journal.text(undone[-1].after_hash)
    if before is None or after is None:
        return Refusal(f"The journal no longer holds the texts of step {step_id}.")
    edits = transplant(difference(after, before, f"Revert {wanted.action.strategy}"), after, text)
    if isinstance(edits, Refusal):
        return dataclasses.replace(edits, reason=in_files(edits.reason, after))
    return Reversal(edits, tuple(step.id for step in undone))


def mark(journal: Journal, path: str, step_ids: Iterable[str]) -> None:
    """Note that the Steps are no longer in the file.

    When none of a kernel's is left, the Baseline that the first of them set goes with them.
    """
    gone = set(step_ids)
    for step_id in gone:
        journal.mark_reverted(step_id)
    for step in (step for step in journal.steps(path) if step.id in gone):
        left = any(s.outcome is Outcome.KEPT for s in journal.steps(path, step.kernel))
        baseline = journal.baseline(path, step.kernel)
        if not left and baseline is not None and digest(baseline) == step.before_hash:
            journal.drop_baseline(path, step.kernel)
