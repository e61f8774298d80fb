"""Which step of the journal is written as a script."""

from pathlib import Path

from kernelwright.export import script_of
from kernelwright.export.cuda import program_of
from kernelwright.journal import Journal
from kernelwright.languages import of_file
from kernelwright.languages.cuda import SUPPORT as CUDA
from kernelwright.languages.kept import with_kept, written
from kernelwright.values import Language, Outcome, Refusal, is_joined


def script(journal: Journal, path: str, step_id: str | None, kernel: str | None) -> str | Refusal:
    """Write the script for a kept step of a file, the last one unless `step_id` names another."""
    steps = journal.steps(path, kernel)
    asked = [s for s in steps if (s.id == step_id if step_id else s.outcome is Outcome.KEPT)]
    step = asked[-1] if asked else None
    if step is None:
        said = f"has no step {step_id}" if step_id else "has no kept step"
        return Refusal(f"The journal {said} of {Path(path).name}, so there is nothing to export.")
    against = step.measurement.baseline_hash if step.measurement is not None else step.before_hash
    candidate = journal.text(step.after_hash)
    if is_joined(candidate or ""):
        return Refusal(f"Step {step.id} was made on two files, and only a step on one can be written as a script.")
    support = with_kept(of_file(Path(path)), step.lines)
    baseline, candidate = (text and written(support, text) for text in (journal.text(against), candidate))
    found = support.kernels(candidate or "")
    if any(one.name == step.kernel and one.language is Language.CUDA for one in found):
        if support.id != CUDA.id:
            return Refusal(f"{step.kernel} is CUDA C++ in a string of Python, which cannot be written as a script.")
        return program_of(step, baseline, candidate)
    return script_of(step, baseline, candidate)
