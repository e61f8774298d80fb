"""Documents in a language that is not read: without kernels and findings, and with the reason in words."""

from dataclasses import dataclass
from typing import ClassVar

from kernelwright.languages.support import SyntaxProblem, Unit
from kernelwright.values import Edits, Kernel, Refusal, Workload


@dataclass(frozen=True)
class Unread:
    """`id` is the language's, or the suffix of a file that only its name tells of; `read` the names of those that are."""

    id: str
    read: str
    tries_lines: ClassVar = False
    allowed_modules: ClassVar = ()
    workload_sign: ClassVar = ""

    @property
    def no_kernel(self) -> str:
        return f"is of a kind that Kernelwright does not read ({self.id or 'no suffix'}); choose a file in {self.read}."

    def syntax_problem(self, text: str) -> SyntaxProblem | None:
        return None

    def kernels(self, text: str, lines: range | None = None) -> tuple[Kernel, ...]:
        return ()

    def unread(self, text: str) -> tuple[()]:
        return ()

    def unit(self, text: str, kernel: Kernel) -> Unit:
        return Unit(text, self.id, text)

    def in_document(self, text: str, kernel: Kernel, edits: Edits) -> Edits | Refusal:
        return edits

    def findings(self, text: str, kernels: tuple[Kernel, ...], lines: range | None = None) -> tuple[()]:
        return ()

    def workload(self, text: str, entry: str | None) -> Workload | Refusal:
        return Refusal(f"This file {self.no_kernel}")

    def workload_lines(self, text: str) -> tuple[()]:
        return ()

    def workload_problems(self, text: str) -> tuple[()]:
        return ()

    def lines_from_calls(self, text: str, kernel: Kernel) -> tuple[str, ...] | Refusal:
        return Refusal(f"This file {self.no_kernel}")

    def program_line(self, text: str, kernel: Kernel) -> tuple[int, str] | None:
        return None

    def lines_from_signature(
        self, text: str, kernel: Kernel, beside: tuple[str, ...] = ()
    ) -> tuple[str, ...] | Refusal:
        return Refusal(f"This file {self.no_kernel}")

    def pieces(self, text: str, kernel: Kernel) -> tuple[()]:
        return ()

    def edit_problem(self, before: str, after: str, kernel: Kernel) -> Refusal | None:
        return Refusal(f"This file {self.no_kernel}")

    def is_interpreted_without_gpu(self, text: str) -> bool:
        return False
