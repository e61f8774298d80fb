"""How a trial ends, or passes over a case: what is raised, and by which check."""

from kernelwright.proof.worker.failed import is_out_of_memory
from kernelwright.proof.worker.raised import describe, line_of
from kernelwright.values import Check

NO_MEMORY = "needs more memory than there is"
RACE = "race"


class Rejected(Exception):
    """The candidate fails a check in a case."""

    def __init__(self, name: str, case: str, detail: str) -> None:
        super().__init__(detail)
        self.check = Check(name, case, False, detail)


class Undecidable(Exception):
    """Nothing can be said of any candidate here; the message is the reason, in one sentence."""


class NotAccepted(Exception):
    """The baseline does not take a derived size; nothing follows from it."""


def rejection(error: BaseException, case: str) -> Rejected:
    """An exception of the candidate as a failed check, with the line of its text."""
    line = line_of(error)
    at = f" at line {line + 1}" if line is not None else ""
    if type(error).__name__ == "InterpreterFault":
        name = RACE if "race" in str(error).lower() else "out-of-bounds"
        return Rejected(name, case, f"{error}{at}")
    check = getattr(error, "check", None)
    if type(error).__name__ == "KernelFault" and isinstance(check, str):
        return Rejected(check, case, str(error))
    if is_out_of_memory(error):
        return Rejected("runs", case, f"{NO_MEMORY}, which the baseline does not{at}")
    return Rejected("runs", case, f"raises{at}: {describe(error)}")
