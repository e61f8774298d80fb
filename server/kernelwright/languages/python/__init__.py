"""Python with PyTorch and Triton: what `source/` reads from a text, as the server asks it."""

import ast
import functools

from kernelwright.languages.python.editing import edit_problem, pieces
from kernelwright.languages.python.static_gate import ALLOWED_MODULES
from kernelwright.languages.support import Piece, SyntaxProblem
from kernelwright.source.document import Document, parse
from kernelwright.source.findings import Finding, find_findings
from kernelwright.source.imports import imports_triton
from kernelwright.source.kernels import find_kernels
from kernelwright.source.workload import (
    WorkloadProblem,
    find_workload,
    from_benchmark,
    performance_calls,
    problems,
    suggest_lines,
    workload_lines,
)
from kernelwright.values import Case, Kernel, Refusal, Workload


class Python:
    """The language of files that a Python interpreter loads."""

    id = "python"
    tries_lines = True
    allowed_modules = ALLOWED_MODULES
    workload_sign = "# workload: "
    no_kernel = (
        "has no kernel: no launched @triton.jit function, no nn.Module, no tensor function, and no workload line that "
        "calls a function of the file."
    )

    def syntax_problem(self, text: str) -> SyntaxProblem | None:
        try:
            ast.parse(text.removeprefix("\ufeff"))
        except SyntaxError as error:
            return SyntaxProblem((error.lineno or 1) - 1, error.msg)
        except (ValueError, RecursionError, MemoryError):
            return None  # null bytes, or nested too deeply for this parser: nothing to say about a line
        return None

    def kernels(self, text: str, lines: range | None = None) -> tuple[Kernel, ...]:
        return find_kernels(_document(text), lines)

    def findings(self, text: str, kernels: tuple[Kernel, ...], lines: range | None = None) -> tuple[Finding, ...]:
        return find_findings(_document(text), kernels, performance_calls(text), lines)

    def workload(self, text: str, entry: str | None) -> Workload | Refusal:
        return find_workload(text, entry)

    def workload_lines(self, text: str) -> tuple[Case, ...]:
        return workload_lines(text)

    def workload_problems(self, text: str) -> tuple[WorkloadProblem, ...]:
        return problems(text)

    def lines_from_calls(self, text: str, kernel: Kernel) -> tuple[str, ...] | Refusal:
        return from_benchmark(text, kernel)

    def lines_from_signature(self, text: str, kernel: Kernel) -> tuple[str, ...] | Refusal:
        return suggest_lines(text, kernel)

    def pieces(self, text: str, kernel: Kernel) -> tuple[Piece, ...]:
        return pieces(text, kernel)

    def edit_problem(self, before: str, after: str, kernel: Kernel) -> Refusal | None:
        try:
            return edit_problem(before, after, kernel)
        except (
            ValueError,
            RecursionError,
            MemoryError,
        ):  # of Python's parser, for texts of which syntax_problem says nothing
            return Refusal("The text is nested too deeply, or has characters that Python does not read.")

    def is_interpreted_without_gpu(self, text: str) -> bool:
        return imports_triton(text)


SUPPORT = Python()


@functools.lru_cache(maxsize=4)
def _document(text: str) -> Document:
    """Kept between two questions about the same text, for what it has worked out of its pieces."""
    return parse(text)
