"""Python with PyTorch, Triton and CUDA in strings: how a text is run, and what the worker asks about it."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from types import ModuleType

from kernelwright.proof.worker.languages.python import kernels, modules, uses
from kernelwright.proof.worker.languages.python.coverage import Text, coverage, missing
from kernelwright.proof.worker.languages.support import Known
from kernelwright.proof.worker.ran import Ran
from kernelwright.proof.worker.reached import Missing
from kernelwright.proof.worker.reference.widened import widened
from kernelwright.values import Coverage, files_of


class Python:
    """The language of texts that this interpreter loads."""

    id = "python"
    emulator = "Triton's interpreter"
    needs_interpreter = True

    def prepare(self, path: str, texts: Sequence[str]) -> None:
        """Nothing is compiled ahead."""

    def caveats(self, module: ModuleType) -> Sequence[str]:
        return ()

    def load(self, path: str, text: str, name: str) -> ModuleType:
        return modules.load_module(path, text, name)

    def unload(self, module: ModuleType) -> None:
        modules.unload(module)

    def forget_neighbours(self, path: str) -> None:
        modules.forget_neighbours(path)

    def widened(self, text: str, *, narrow: bool = False) -> str | None:
        try:
            return widened(text, narrow=narrow)
        except (SyntaxError, RecursionError):
            return None

    def kernels(self, text: str) -> Mapping[str, str]:
        return kernels.cuda_kernels(text) | kernels.triton_kernels(text) | kernels.cute_kernels(text)

    def texts(self, path: str, text: str) -> Sequence[str]:
        """With those of the CUDA files that they name."""
        folder = Path(path).resolve().parent
        beside = {file for one in files_of(path, text) for file in modules.neighbours(one).values()}
        texts = [text, *(_read(file) for file in sorted(beside) if file.suffix == ".py")]
        return texts + [_read(file) for file in {folder / name for text in texts for name in kernels.cuda_files(text)}]

    def known(self, path: str, text: str) -> Known:
        return kernels.defined_in(self.texts(path, text))

    def is_interpreted_without_gpu(self, *texts: str) -> bool:
        return uses.uses_triton(*texts)

    def shows_kernels_to_interpret(self, text: str) -> bool:
        return "@triton.jit" in text

    def compiles(self, text: str) -> bool:
        return uses.compiles(text)

    def needs_triton(self, text: str) -> bool:
        return uses.uses_triton(text) or uses.compiles(text)

    def may_read_by_number(self, text: str) -> bool:
        return uses.uses_triton(text)

    def may_break_the_context(self, text: str) -> bool:
        return uses.uses_triton(text) and "jit" in text

    def reached(
        self, text: str, baseline: str, entry: str, kernel: str, ran: Ran, *, inside: bool
    ) -> tuple[Coverage, Missing]:
        own, before = Text(text, entry, kernel), Text(baseline, entry, "")
        return coverage(own, ran, inside=inside), missing(own, before, kernel, ran, inside=inside)

    def precision_advice(self, candidate: str, baseline: str) -> str:
        """What tl.dot does by default to float32, where the candidate may not know it."""
        if "tl.dot(" not in candidate or "input_precision" in candidate or "tl.dot(" in baseline:
            return ""
        return 'tl.dot rounds float32 to TF32 unless it is given input_precision="ieee". '


LANGUAGE = Python()


def _read(file: Path) -> str:
    try:
        return file.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""
