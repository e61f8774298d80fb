"""The toy language of `stub.py` behind the worker's protocol: a kernel's body is one expression over its arguments."""

import re
from collections.abc import Mapping, Sequence
from types import ModuleType

import torch

from kernelwright.proof.worker.failed import JobFailed
from kernelwright.proof.worker.languages import Known
from kernelwright.proof.worker.ran import Ran
from kernelwright.proof.worker.reached import Missing
from kernelwright.values import Coverage, Failure, FailureKind

_KERNEL = re.compile(r"^kernel (\w+)\(([\w, ]*)\)\n(.*)\nend$", re.MULTILINE)
_FUNCTIONS = {"single": torch.Tensor.float, "double": torch.Tensor.double}


class Toy:
    id = "toy"
    emulator = "nothing"
    needs_interpreter = False

    def caveats(self, module: ModuleType) -> Sequence[str]:
        return ()

    def prepare(self, path: str, texts: Sequence[str]) -> None:
        """Nothing is compiled."""

    def load(self, path: str, text: str, name: str) -> ModuleType:
        module = ModuleType(f"{name} of {path}")
        module.__file__ = path
        for number, line in enumerate(text.split("\n")):
            if line.startswith("kernel") and line.count("(") != line.count(")"):
                raise JobFailed(Failure(FailureKind.IMPORT_FAILED, "A parenthesis is missing.", line=number))
        for kernel, arguments, body in _KERNEL.findall(text):
            vars(module)[kernel] = eval(f"lambda {arguments}: {body.strip()}", dict(_FUNCTIONS))
        return module

    def unload(self, module: ModuleType) -> None:
        vars(module).clear()

    def forget_neighbours(self, path: str) -> None:
        """Nothing is imported."""

    def widened(self, text: str, *, narrow: bool = False) -> str | None:
        return text.replace("single(", "double(") if "single(" in text and not narrow else None

    def kernels(self, text: str) -> Mapping[str, str]:
        return {match[1]: match[0] for match in _KERNEL.finditer(text)}

    def texts(self, path: str, text: str) -> Sequence[str]:
        return [text]

    def known(self, path: str, text: str) -> Known:
        return Known(cuda=frozenset(self.kernels(text)))

    def is_interpreted_without_gpu(self, *texts: str) -> bool:
        return False

    def shows_kernels_to_interpret(self, text: str) -> bool:
        return False

    def compiles(self, text: str) -> bool:
        return False

    def needs_triton(self, text: str) -> bool:
        return False

    def may_read_by_number(self, text: str) -> bool:
        return False

    def may_break_the_context(self, text: str) -> bool:
        return False

    def reached(
        self, text: str, baseline: str, entry: str, kernel: str, ran: Ran, *, inside: bool
    ) -> tuple[Coverage, Missing]:
        return Coverage(), Missing()

    def precision_advice(self, candidate: str, baseline: str) -> str:
        return ""


LANGUAGE = Toy()
