"""CUDA C++: compiled by nvcc for the GPU that is here, and without one as C++ for an emulator on the CPU."""

import contextlib
import os
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from types import ModuleType

from kernelwright.proof.worker.failed import JobFailed
from kernelwright.proof.worker.languages.cuda import coverage, modules
from kernelwright.proof.worker.languages.cuda.widened import widened
from kernelwright.proof.worker.languages.support import Known
from kernelwright.proof.worker.ran import Ran
from kernelwright.proof.worker.reached import Missing
from kernelwright.proof.worker.toolchain import building
from kernelwright.source.cpp import functions_of
from kernelwright.values import Coverage


class Cuda:
    """The language of `.cu` files."""

    id = "cuda-cpp"
    emulator = "an emulator of CUDA"
    needs_interpreter = False

    def prepare(self, path: str, texts: Sequence[str]) -> None:
        """Compile them beside each other: nvcc takes seconds for one, and one core."""
        gpu, cores = modules.on_gpu(), len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else 2

        def built(text: str) -> None:
            with contextlib.suppress(JobFailed):
                building.build(path, text, gpu=gpu)

        with ThreadPoolExecutor(max(1, cores // 2)) as pool:
            list(pool.map(built, dict.fromkeys(texts)))

    def caveats(self, module: ModuleType) -> Sequence[str]:
        return [
            f"with an empty header in place of {name}, which is not here" for name in modules.missing_headers(module)
        ]

    def load(self, path: str, text: str, name: str) -> ModuleType:
        return modules.load(path, text, name)

    def unload(self, module: ModuleType) -> None:
        modules.unload(module)

    def forget_neighbours(self, path: str) -> None:
        """Nothing beside a text is kept."""

    def widened(self, text: str, *, narrow: bool = False) -> str | None:
        return widened(text, narrow=narrow)

    def kernels(self, text: str) -> Mapping[str, str]:
        return {one.name: text[one.start : one.end] for one in functions_of(text) if one.is_kernel}

    def texts(self, path: str, text: str) -> Sequence[str]:
        return [text]

    def known(self, path: str, text: str) -> Known:
        return Known(cuda=frozenset(self.kernels(text)))

    def is_interpreted_without_gpu(self, *texts: str) -> bool:
        return any("__global__" in text for text in texts)

    def shows_kernels_to_interpret(self, text: str) -> bool:
        return bool(self.kernels(text))

    def compiles(self, text: str) -> bool:
        return False

    def needs_triton(self, text: str) -> bool:
        return False

    def may_read_by_number(self, text: str) -> bool:
        return bool(self.kernels(text))

    def may_break_the_context(self, text: str) -> bool:
        return bool(self.kernels(text))

    def reached(
        self, text: str, baseline: str, entry: str, kernel: str, ran: Ran, *, inside: bool
    ) -> tuple[Coverage, Missing]:
        own, before = coverage.Text(text, entry, kernel), coverage.Text(baseline, entry, "")
        return coverage.reached(own, before, kernel, ran, inside=inside)

    def precision_advice(self, candidate: str, baseline: str) -> str:
        return ""


LANGUAGE = Cuda()
"""The language behind the worker's protocol."""
