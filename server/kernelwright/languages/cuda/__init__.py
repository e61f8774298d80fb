"""CUDA C++: what `source/cuda/` reads from a text, as the server asks it."""

import functools

from kernelwright.languages.cuda import workloads
from kernelwright.languages.cuda.editing import ALLOWED_HEADERS, edit_problem, pieces
from kernelwright.languages.support import Piece, SyntaxProblem, Unit
from kernelwright.source.cuda import read
from kernelwright.source.cuda.extension import without_pytorch
from kernelwright.source.cuda.geometry import with_launches
from kernelwright.source.cuda.kernels import MAIN, find_kernels
from kernelwright.source.cuda.needed import needed
from kernelwright.source.cuda.suggest import lines_from_signature
from kernelwright.source.cuda.syntax import syntax_problem
from kernelwright.source.findings import Finding
from kernelwright.source.findings.find_cuda import find_cuda_findings
from kernelwright.source.workload import WorkloadProblem
from kernelwright.source.workload.lines import by_entry
from kernelwright.values import Case, Edits, Kernel, Refusal, Workload


class Cuda:
    """The language of files that nvcc compiles."""

    id = "cuda-cpp"
    tries_lines = True
    allowed_modules = ALLOWED_HEADERS
    workload_sign = workloads.SIGN
    no_kernel = "has no kernel: no __global__ function with a body, or none outside of a macro."

    def syntax_problem(self, text: str) -> SyntaxProblem | None:
        found = syntax_problem(text)
        return SyntaxProblem(found.line, found.message) if found is not None else None

    def kernels(self, text: str, lines: range | None = None) -> tuple[Kernel, ...]:
        return find_kernels(text, by_entry(self.workload_lines(text)))

    def unread(self, text: str) -> tuple[Refusal, ...]:
        return ()

    def unit(self, text: str, kernel: Kernel) -> Unit:
        entry = kernel.entry or kernel.name
        beside = MAIN if workloads.programs_beside(text, entry) else ""
        cut = functools.partial(needed, kernel=kernel.name, entry=entry, beside=beside)
        return Unit(text, self.id, without_pytorch(text), cut)

    def in_document(self, text: str, kernel: Kernel, edits: Edits) -> Edits | Refusal:
        return edits

    def findings(self, text: str, kernels: tuple[Kernel, ...], lines: range | None = None) -> tuple[Finding, ...]:
        return find_cuda_findings(text, kernels, workloads.performance_calls(text), lines)

    def workload(self, text: str, entry: str | None) -> Workload | Refusal:
        return workloads.workload_of(text, entry)

    def workload_lines(self, text: str) -> tuple[Case, ...]:
        return workloads.lines_in(text)

    def workload_problems(self, text: str) -> tuple[WorkloadProblem, ...]:
        return workloads.problems(text)

    def lines_from_calls(self, text: str, kernel: Kernel) -> tuple[str, ...] | Refusal:
        return Refusal(
            "Calls of C++ do not say what their tensors hold; lines are made from the kernel's indices instead."
        )

    def program_line(self, text: str, kernel: Kernel) -> tuple[int, str] | None:
        return workloads.program_line(text, kernel)

    def lines_from_signature(
        self, text: str, kernel: Kernel, beside: tuple[str, ...] = ()
    ) -> tuple[str, ...] | Refusal:
        calls = lines_from_signature(with_launches(read(text), kernel.name, beside), kernel)
        return calls if isinstance(calls, Refusal) else tuple(f"{self.workload_sign}{call}" for call in calls)

    def pieces(self, text: str, kernel: Kernel) -> tuple[Piece, ...]:
        return pieces(text, kernel)

    def edit_problem(self, before: str, after: str, kernel: Kernel) -> Refusal | None:
        return edit_problem(before, after, kernel)

    def is_interpreted_without_gpu(self, text: str) -> bool:
        return True


SUPPORT = Cuda()
