"""A toy language behind the server's protocol, read without a grammar: `kernel NAME(ARGUMENTS)` up to `end`, `;` comments."""

import dataclasses
import re

from kernelwright.languages import SyntaxProblem, Unit
from kernelwright.source.workload import WorkloadError, WorkloadProblem, evaluate
from kernelwright.source.workload.lines import by_entry, lines_of, workload_of_lines
from kernelwright.values import Case, Edits, Facts, Kernel, Language, Refusal, Workload

_TOKENS = re.compile(r"\"[^\"\n]*\"?|;[^\n]*")
_HEAD = re.compile(r"kernel (\w+)\(([\w, ]*)\)")


class Toy:
    id = "toy"
    tries_lines = False
    no_kernel = "has no kernel: no line begins with `kernel`."

    def syntax_problem(self, text: str) -> SyntaxProblem | None:
        lines = text.split("\n")
        opened = [number for number, line in enumerate(lines) if line.startswith("kernel")]
        unread = next((number for number in opened if not _HEAD.match(lines[number])), None)
        if unread is not None:
            return SyntaxProblem(unread, "a name and arguments in parentheses are missing")
        return SyntaxProblem(opened[-1], "`end` is missing") if lines.count("end") < len(opened) else None

    def kernels(self, text: str, lines: range | None = None) -> tuple[Kernel, ...]:
        written = text.split("\n")
        found = ((number, match) for number, line in enumerate(written) if (match := _HEAD.match(line)))
        return tuple(
            _kernel(number, written.index("end", number), m) for number, m in found if "end" in written[number:]
        )

    def unread(self, text: str) -> tuple[()]:
        return ()

    def unit(self, text: str, kernel: Kernel) -> Unit:
        return Unit(text, self.id, text)

    def in_document(self, text: str, kernel: Kernel, edits: Edits) -> Edits | Refusal:
        return edits

    def findings(self, text: str, kernels: tuple[Kernel, ...], lines: range | None = None) -> tuple[()]:
        return ()

    def workload(self, text: str, entry: str | None) -> Workload | Refusal:
        lines = by_entry(_lines(text))
        if entry in lines:
            return workload_of_lines(entry, lines[entry])
        return Refusal(f"No workload says how to call {entry}: add '; workload: {entry}(randn(…))' above it.")

    def workload_lines(self, text: str) -> tuple[Case, ...]:
        return _lines(text)

    def workload_problems(self, text: str) -> tuple[WorkloadProblem, ...]:
        return tuple(problem for case in _lines(text) if (problem := _problem(case)) is not None)

    def lines_from_calls(self, text: str, kernel: Kernel) -> tuple[str, ...] | Refusal:
        return Refusal("Kernels of this language are not called in their own files.")

    def program_line(self, text: str, kernel: Kernel) -> tuple[int, str] | None:
        return None

    def lines_from_signature(
        self, text: str, kernel: Kernel, beside: tuple[str, ...] = ()
    ) -> tuple[str, ...] | Refusal:
        return (f"; workload: {kernel.name}({', '.join('randn(1024)' for _ in kernel.facts.parameters)})",)

    def is_interpreted_without_gpu(self, text: str) -> bool:
        return True


SUPPORT = Toy()


def _kernel(start: int, end: int, head: re.Match[str]) -> Kernel:
    kernel = Kernel(Language.CUDA, head[1], start, end + 1, start, head.start(1), head[1], start, end + 1)
    parameters = tuple(name.strip() for name in head[2].split(","))
    return dataclasses.replace(kernel, facts=Facts(parameters=parameters))


def _lines(text: str) -> tuple[Case, ...]:
    return lines_of(text, _TOKENS, ";")


def _problem(case: Case) -> WorkloadProblem | None:
    try:
        evaluate(case.text)
    except WorkloadError as error:
        column = case.column + error.column
        return WorkloadProblem(case.line, column, case.column + error.end_column, error.message)
    return None
