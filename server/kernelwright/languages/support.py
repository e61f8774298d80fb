"""The contract of a language: what the server asks about the text of a document. Pure functions on texts."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from kernelwright.values import Case, Edits, Kernel, Refusal, Workload

if TYPE_CHECKING:
    from kernelwright.source.findings import Finding
    from kernelwright.source.workload import WorkloadProblem


_MOST_UNREAD = 3


@dataclass(frozen=True)
class SyntaxProblem:
    """Where a text stops to parse, as a line from 0, and what the parser says of it, without a full stop."""

    line: int
    message: str


@dataclass(frozen=True)
class Piece:
    """Whole lines of a text, end-exclusive and counted from 0: a statement at its top level, or a comment there.

    `name` is that of a definition, and the code itself of what has none. `editable`: an edit from outside may change it.
    """

    name: str
    start_line: int
    end_line: int
    code: str
    editable: bool
    is_comment: bool = False

    @property
    def first_line(self) -> str:
        return self.code.strip().split("\n", 1)[0]


@dataclass(frozen=True)
class Unit:
    """What a kernel is compiled with, as texts of one language in which everything stands where it does in the document.

    `text` is what strategies read, `checked` what a compiler is asked about, which may lack what no workload line calls.
    """

    text: str
    language: str
    checked: str
    cut: Callable[[str], str] = str

    @property
    def run(self) -> str:
        """What a worker runs: `checked`, cut to what the kernel needs."""
        return self.cut(self.checked)


class LanguageSupport(Protocol):
    """One language. Nothing raises for a text that is being typed: what can be made out counts."""

    @property
    def id(self) -> str:
        """The id in `textDocument/didOpen`."""

    @property
    def no_kernel(self) -> str:
        """Why a text that parses has no kernel: the end of a sentence that begins with the file."""

    def syntax_problem(self, text: str) -> SyntaxProblem | None:
        """Finds the first place that does not parse."""

    def kernels(self, text: str, lines: range | None = None) -> tuple[Kernel, ...]:
        """Finds every optimisable unit, in order of the text; with `lines` those that touch them, and maybe more."""

    def unread(self, text: str) -> tuple[Refusal, ...]:
        """Says why kernels that are there are not among `kernels`, each with its line."""

    def unit(self, text: str, kernel: Kernel) -> Unit:
        """Says what a kernel of this name is compiled with: the text as it stands, or part of it."""

    def in_document(self, text: str, kernel: Kernel, edits: Edits) -> Edits | Refusal:
        """Writes edits of a unit's text as edits of the document."""

    def findings(self, text: str, kernels: tuple[Kernel, ...], lines: range | None = None) -> "tuple[Finding, ...]":
        """Finds what can be said against the code without running it; `lines` as for `kernels`."""

    def workload(self, text: str, entry: str | None) -> Workload | Refusal:
        """Says how `entry` of a kernel is called, or what to write so that it can be."""

    def workload_lines(self, text: str) -> tuple[Case, ...]:
        """Finds every workload line, right or wrong, in order."""

    def workload_problems(self, text: str) -> "tuple[WorkloadProblem, ...]":
        """Finds what is wrong with the workload lines."""

    def lines_from_calls(self, text: str, kernel: Kernel) -> tuple[str, ...] | Refusal:
        """Writes workload lines that repeat calls in the text."""

    def program_line(self, text: str, kernel: Kernel) -> tuple[int, str] | None:
        """Writes a workload line that runs the text's own program, and says above which line it belongs; None without one."""

    @property
    def tries_lines(self) -> bool:
        """Says whether a worker can call what a line calls, so that only lines that ran are offered."""

    @property
    def workload_sign(self) -> str:
        """What stands in front of the call in a workload line: "# workload: "."""

    def lines_from_signature(
        self, text: str, kernel: Kernel, beside: tuple[str, ...] = ()
    ) -> tuple[str, ...] | Refusal:
        """Writes workload lines that fit the parameters, best first: guesses to be tried, or for a person to correct.

        `beside`: texts of other files that may launch the kernel.
        """

    @property
    def allowed_modules(self) -> tuple[str, ...]:
        """The modules that code from outside may import."""

    def pieces(self, text: str, kernel: Kernel) -> tuple[Piece, ...]:
        """Splits a text that parses into what an edit of this kernel from outside may change, and what it may not."""

    def edit_problem(self, before: str, after: str, kernel: Kernel) -> Refusal | None:
        """Says why an edit from outside may not be tried: it changes other code, or uses what it may not."""

    def is_interpreted_without_gpu(self, text: str) -> bool:
        """Says whether the text runs without a GPU too, but so that its times mean nothing."""


def absence(support: LanguageSupport, text: str, kernels: Sequence[Kernel], name: str | None = None) -> str:
    """Says why there is no kernel, or none called `name`, as the end of a sentence that begins with the file."""
    if (problem := support.syntax_problem(text)) is not None:
        return f"does not parse at line {problem.line + 1}: {problem.message}."
    unread = "".join(f" {one.reason}" for one in support.unread(text)[:_MOST_UNREAD])
    if kernels and name is not None:
        return f"has no kernel {name!r}; it has {', '.join(kernel.name for kernel in kernels)}.{unread}"
    return f"{support.no_kernel}{unread}"
