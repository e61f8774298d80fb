"""Finds what a compiler has against a CUDA text, without making anything of it: for a text that is being typed.

Run as a program of its own: `checking FILE [quick]`, the text on the standard input, the errors as JSON on the standard output.
"""

import json
import re
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from kernelwright.proof.worker.failed import JobFailed
from kernelwright.proof.worker.toolchain import building, translation
from kernelwright.proof.worker.toolchain.errors import SOURCE, CompileError, errors_of
from kernelwright.proof.worker.toolchain.headers import headers_of, written
from kernelwright.proof.worker.toolchain.unsupported import LIBRARY_INCLUDE, unsupported
from kernelwright.wire import encode

# Names of CUDA that the emulator may lack, and PyTorch's: what g++ says of these is not the text's fault.
_ELSEWHERE = re.compile(
    r"'[^']*\b(?:__\w+|cuda\w*|cu[A-Z]\w*|CU[A-Z_]\w*|nv\w*|cooperative_groups|cg|c10|at|torch)\b[^']*'"
)


def compile_errors(path: str, text: str, *, quick: bool = False) -> tuple[CompileError, ...] | None:
    """Find the errors in the text of a file: by nvcc where it is installed, which takes seconds, else as for the emulator.

    With `quick`, which takes a tenth of a second, as for the emulator. None where nothing here compiles the text that way.
    Raises JobFailed where it takes too long.
    """
    beside = Path(path).resolve().parent
    headers = headers_of(beside, text)
    nvcc = None if quick else building.nvcc()
    if nvcc is not None:
        as_it_is = translation.Translated(text, ())
        return _said((*_for_device(nvcc), *building.searched(beside, headers)), as_it_is, text)
    if building.cpp() is None or unsupported(text) is not None or LIBRARY_INCLUDE.search(text) is not None:
        return None
    with tempfile.TemporaryDirectory(prefix="kernelwright-cuda-") as scratch:
        made = translation.translated(text, written(headers, beside, text, Path(scratch)), probes=False)
        found = _said((*building.syntax_only(), f"-I{beside}"), made, text)
    return tuple(error for error in found if _ELSEWHERE.search(error.message) is None)


def _for_device(nvcc: building.Compiler) -> Sequence[str]:
    """The command that reads a text for the newest GPU that nvcc knows, which has all intrinsics."""
    listed = subprocess.run([nvcc.program, "--list-gpu-arch"], capture_output=True, text=True, check=False).stdout
    newest = [f"-arch={name}" for name in listed.split()[-1:]]
    return (nvcc.program, "-std=c++17", "-w", "-ptx", *newest, "-o", "/dev/null")


def _said(command: Sequence[str], made: translation.Translated, text: str) -> tuple[CompileError, ...]:
    with tempfile.TemporaryDirectory(prefix="kernelwright-cuda-") as scratch:
        source = Path(scratch, SOURCE)
        source.write_text(made.text, encoding="utf-8", errors="surrogatepass")
        said = building.run((*command, str(source)))
    return errors_of(said, text, made) if said is not None else ()


def main() -> None:
    try:
        text = sys.stdin.buffer.read().decode("utf-8", "surrogatepass")
        found = compile_errors(sys.argv[1], text, quick=sys.argv[2:] == ["quick"])
    except JobFailed as failed:
        sys.exit(failed.failure.message)
    print(json.dumps(encode(found)))


if __name__ == "__main__":
    main()
