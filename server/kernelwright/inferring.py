"""Workload lines from what is known of a kernel's parameters: guesses, of which those count that a worker has seen run."""

from dataclasses import dataclass

from kernelwright.languages import LanguageSupport
from kernelwright.proof.jobs import TriedLines, TryLines
from kernelwright.values import Kernel, Language, Refusal

_WORD = "workload: "


@dataclass(frozen=True)
class Inferred:
    """`lines` ran, each with a comment sign; of `tried` ones others did not for these reasons, the commonest first."""

    lines: tuple[str, ...]
    tried: int
    refused: tuple[str, ...]

    def sentence(self, entry: str) -> str:
        """What came of it, for a person."""
        if self.lines:
            return (
                f"{'A workload line' if len(self.lines) == 1 else f'{len(self.lines)} workload lines'} for {entry} ran."
            )
        why = f": {self.refused[0]}" if self.refused else ""
        return (
            f"None of {self.tried} workload lines for {entry} ran{why}. Write one by hand, or record one from a test."
        )


def job_for(path: str, text: str, kernel: Kernel, support: LanguageSupport) -> tuple[TryLines, str] | Refusal:
    """The job that tries lines for what launches a kernel, and what stands in front of a line's call."""
    lines = support.lines_from_signature(text, kernel)
    if isinstance(lines, Refusal):
        return lines
    if not support.tries_lines:
        return Refusal("Workload lines of this language cannot be tried; write one by hand.")
    sign = lines[0][: lines[0].index(_WORD) + len(_WORD)]
    same = support.kernels(text) if kernel.entry is not None else (kernel,)
    kernels = tuple(dict.fromkeys(k.name for k in same if k.entry == kernel.entry and k.language is Language.TRITON))
    return TryLines(path, text, tuple(line.removeprefix(sign) for line in lines), kernels, language=support.id), sign


def of(answer: TriedLines, sign: str) -> Inferred:
    """What the lines that were tried came to."""
    return Inferred(tuple(f"{sign}{line}" for line in answer.ran), len(answer.lines), answer.reasons)
