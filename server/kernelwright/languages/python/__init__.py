"""Python with PyTorch and Triton: what `source/` reads from a text, as the server asks it."""

import ast
import functools
from types import ModuleType

from kernelwright.languages.support import Piece, SyntaxProblem, Unit
from kernelwright.source.cuda_strings import KERNEL as CUDA_KERNEL
from kernelwright.source.document import Document, parse
from kernelwright.source.findings import Finding, find_findings
from kernelwright.source.imports import imports_triton
from kernelwright.source.kernels import find_kernels
from kernelwright.source.split import holds
from kernelwright.source.workload import (
    WorkloadProblem,
    find_workload,
    performance_calls,
    problems,
    workload_lines,
)
from kernelwright.values import Case, Edits, Kernel, Language, Refusal, Workload, encoded


class Python:
    """The language of files that a Python interpreter loads."""

    id = "python"
    tries_lines = True
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
        own = find_kernels(_document(text), lines)
        if not _has_cuda(text):
            return own
        found = _embedded().kernels(text, lambda: find_kernels(_document(text)), lines)
        return tuple(sorted((*own, *found), key=lambda kernel: kernel.start_line))

    def unread(self, text: str) -> tuple[Refusal, ...]:
        return _embedded().unread(text, lambda: find_kernels(_document(text))) if _has_cuda(text) else ()

    def unit(self, text: str, kernel: Kernel) -> Unit:
        return _embedded().unit_of(text, kernel) if _is_embedded(kernel) else Unit(text, self.id, text)

    def in_document(self, text: str, kernel: Kernel, edits: Edits) -> Edits | Refusal:
        return _embedded().in_document(text, kernel, edits) if _is_embedded(kernel) else edits

    def findings(self, text: str, kernels: tuple[Kernel, ...], lines: range | None = None) -> tuple[Finding, ...]:
        own = find_findings(_document(text), kernels, performance_calls(text), lines)
        if not _has_cuda(text):
            return own
        return tuple(sorted((*own, *_embedded().findings(text, kernels, lines)), key=lambda one: (one.start, one.end)))

    def workload(self, text: str, entry: str | None) -> Workload | Refusal:
        if _has_cuda(text) and entry is not None and _embedded().is_called(text, entry):
            found: Workload | Refusal = _embedded().workload(text, entry)
            return found
        return find_workload(text, entry)

    def workload_lines(self, text: str) -> tuple[Case, ...]:
        inside = _embedded().workload_lines(text) if _has_cuda(text) else ()
        return tuple(sorted((*workload_lines(text), *inside), key=lambda case: case.line))

    def workload_problems(self, text: str) -> tuple[WorkloadProblem, ...]:
        found = problems(text)
        return _embedded().workload_problems(text, found) if _has_cuda(text) else found

    def lines_from_calls(self, text: str, kernel: Kernel) -> tuple[str, ...] | Refusal:
        from kernelwright.source.workload.benchmark import from_benchmark  # loaded only where lines are asked for

        return Refusal(_NO_CALLS) if _is_embedded(kernel) else from_benchmark(text, kernel)

    def program_line(self, text: str, kernel: Kernel) -> tuple[int, str] | None:
        return None

    def lines_from_signature(
        self, text: str, kernel: Kernel, beside: tuple[str, ...] = ()
    ) -> tuple[str, ...] | Refusal:
        from kernelwright.source.workload.suggest import suggest_lines

        return _embedded().lines_from_signature(text, kernel) if _is_embedded(kernel) else suggest_lines(text, kernel)

    @property
    def allowed_modules(self) -> tuple[str, ...]:
        from kernelwright.languages.python.static_gate import ALLOWED_MODULES  # loaded where code comes from outside

        return ALLOWED_MODULES

    def pieces(self, text: str, kernel: Kernel) -> tuple[Piece, ...]:
        from kernelwright.languages.python.editing import pieces

        return pieces(text, kernel)

    def edit_problem(self, before: str, after: str, kernel: Kernel) -> Refusal | None:
        from kernelwright.languages.python.editing import edit_problem

        try:
            if _is_embedded(kernel):
                found: Refusal | None = _embedded().edit_problem(before, after, kernel)
                return found
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


_NO_CALLS = "How Python calls a kernel of CUDA is not read; lines are made from the kernel's indices instead."


def _has_cuda(text: str) -> bool:
    """Whether there is any CUDA C++ in a text; most have none, and are asked nothing else."""
    return holds(encoded(text), CUDA_KERNEL.encode())


def _embedded() -> ModuleType:
    from kernelwright.languages.python import embedded  # with all that reads CUDA C++, for few files

    return embedded


def _is_embedded(kernel: Kernel) -> bool:
    return kernel.language is Language.CUDA


@functools.lru_cache(maxsize=4)
def _document(text: str) -> Document:
    """Kept between two questions about the same text, for what it has worked out of its pieces."""
    return parse(text)
