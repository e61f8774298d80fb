"""The contract of a language: what the worker asks about a text, and how it runs one."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import ModuleType
from typing import Protocol

from kernelwright.proof.worker.ran import Ran
from kernelwright.proof.worker.reached import Missing
from kernelwright.values import Coverage


@dataclass(frozen=True)
class Known:
    """Names of the kernels that texts define."""

    triton: frozenset[str] = frozenset()
    cuda: frozenset[str] = frozenset()
    cute: frozenset[str] = frozenset()


class WorkerLanguage(Protocol):
    """One language. What asks about a text raises nothing for one that does not parse: loading it says so."""

    @property
    def id(self) -> str:
        """The id that a job carries, which is the one of `textDocument/didOpen`."""

    @property
    def emulator(self) -> str:
        """In words, what runs its kernels where there is no GPU."""

    @property
    def needs_interpreter(self) -> bool:
        """Whether that is Triton's, and the CPU stands in for the GPU that a text asks for meanwhile."""

    def prepare(self, path: str, texts: Sequence[str]) -> None:
        """Compiles ahead what `load` of the texts will need, where a process that runs texts cannot change it.

        Called in the judge; what is wrong with a text is left for `load` to say.
        """

    def caveats(self, module: ModuleType) -> Sequence[str]:
        """What a verdict on a loaded text has to say of how it was loaded."""

    def load(self, path: str, text: str, name: str) -> ModuleType:
        """Runs the text of the file `path` as a module with the workload's entry; `name` says what it is loaded for.

        Raises JobFailed with the line where it is known.
        """

    def unload(self, module: ModuleType) -> None:
        """Frees what `load` made."""

    def forget_neighbours(self, path: str) -> None:
        """Has the next load read what lies beside `path` from the disk again."""

    def widened(self, text: str, *, narrow: bool = False) -> str | None:
        """The text of the fp64 twin: float64 for float32, with `narrow` for 16 bits too.

        None where that changes nothing, or where the text must not be run twice.
        """

    def kernels(self, text: str) -> Mapping[str, str]:
        """The source of every kernel that the text defines, by name."""

    def texts(self, path: str, text: str) -> Sequence[str]:
        """The text, and those of the files beside `path` that it has loaded."""

    def known(self, path: str, text: str) -> Known:
        """The kernels that `texts` define, as a profiler names them."""

    def is_interpreted_without_gpu(self, *texts: str) -> bool:
        """Whether one of the texts has kernels that run without a GPU too, but so that their times mean nothing."""

    def shows_kernels_to_interpret(self, text: str) -> bool:
        """Whether the text itself has such kernels, so that a call without a launch has shown nothing of them."""

    def compiles(self, text: str) -> bool:
        """Whether the text hands work to a compiler that steps aside where operators are watched."""

    def needs_triton(self, text: str) -> bool:
        """Whether Triton may compile kernels when the text is called."""

    def may_read_by_number(self, text: str) -> bool:
        """Whether a number in a tensor may say where code of the text reads, or how far it counts."""

    def may_break_the_context(self, text: str) -> bool:
        """Whether such a read may lie out of bounds on a GPU, which no run on a CPU would tell before."""

    def reached(
        self, text: str, baseline: str, entry: str, kernel: str, ran: Ran, *, inside: bool
    ) -> tuple[Coverage, Missing]:
        """What of a candidate's text ran, and what should have: the named kernel, and what is not in the baseline.

        `inside`: whether kernels were looked into, which they are without a GPU.
        """

    def precision_advice(self, candidate: str, baseline: str) -> str:
        """A sentence with a space behind it on why the candidate may be less accurate than the baseline; "" for none."""
