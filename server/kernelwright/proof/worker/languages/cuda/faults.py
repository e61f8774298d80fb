"""What a kernel must not do, as the emulator tells it, and the order in which that runs threads."""

import re

from kernelwright.proof.worker.interpreter import rounds


class KernelFault(RuntimeError):
    """What a kernel must not do, as the emulator saw it; `check` is the name of the check that it fails."""

    def __init__(self, message: str, check: str) -> None:
        super().__init__(message)
        self.check = check


def fault(words: str) -> Exception:
    """The exception for a sentence of the emulator's."""
    check = "race" if words.startswith("race: ") else "out-of-bounds" if _is_access(words) else "runs"
    return KernelFault(words.removeprefix("race: "), check)


def order() -> int:
    """In which order threads and blocks run: as they are numbered, or in another one where the gate asks for it."""
    if not rounds.backwards:
        return 0
    return 1 + rounds.number // 2 % 7


def _is_access(words: str) -> bool:
    return re.match(r"thread \(.*?\) of block \(.*?\) (reads|writes) ", words) is not None
