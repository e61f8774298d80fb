"""Compiles CUDA texts to libraries: with nvcc where there is a GPU, else as C++ with the emulator beside it.

Libraries are kept by what they were made of, in a folder of the user's that confined processes read and do not write.
"""

import contextlib
import functools
import hashlib
import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from kernelwright.proof.worker.failed import NO_NVCC, JobFailed
from kernelwright.proof.worker.toolchain import translation
from kernelwright.proof.worker.toolchain.errors import SOURCE, errors_of, plain
from kernelwright.proof.worker.toolchain.headers import HEADERS, Header, headers_of, in_front_of, written
from kernelwright.proof.worker.toolchain.unsupported import unsupported
from kernelwright.values import Failure, FailureKind

HERE = Path(__file__).parent / "emulator"
_RUNTIME = ("runtime.cpp", "memory.cpp", "wmma.cpp", "registry.cpp")
_PATIENCE = 180  # seconds for one compiler
_MOST_KEPT = 500  # files, most of which take 0.2 MB
_COMMON = ("-std=c++17", "-fPIC", "-fno-gnu-unique", "-w")
_FLAGS = (
    "-Og",
    "-g1",
    "-fno-strict-aliasing",
    "-fwrapv",
    "-ffp-contract=off",
    "-fno-math-errno",
    "-fno-builtin-printf",
)
_LOOKED_AT = ("-fsanitize=thread",)  # each access is told to the emulator
_RECORDED = ("-DKW_RECORD",)  # each launch is told to who runs the program
_OF_GCC = (
    *("-fno-tree-sra", "--param=tsan-distinguish-volatile=1", "-fsanitize=bounds"),
    "-ftrack-macro-expansion=0",  # errors in a macro are told where it stands
)
_IN_BYTES = ("-fdiagnostics-column-unit=byte",)  # as GCC before version 11 and clang count columns anyway
_OF_CLANG = ("-mllvm", "-tsan-distinguish-volatile=1", "-fsanitize=array-bounds")
_LINKED = ("-shared", "-Wl,-Bsymbolic", "-ldl")
_ANY_ERROR = re.compile(r"(?:error|undefined reference)[: ]+(.*)")
_BELOW = r"(\w[\w-]*(?:[./]\w[\w-]*)*)"  # a path that leads nowhere else
_MISSING = re.compile(rf"error: '?{_BELOW}(?:' file not found|: No such file or directory)")
_HALVES = re.compile(r"half|bf16|bfloat|fp16")  # else their headers, which nvcc takes long to read, are left out
_UNKNOWN_GPU = re.compile(r"nvcc fatal\s*: (?:Unsupported gpu architecture|Value) '(\w+)'")
NO_COMPILER = (
    "CUDA C++ is run by an emulator without a GPU, which needs a C++ compiler: install g++ (`apt install g++`)."
)


@dataclass(frozen=True)
class Compiler:
    """A program that compiles, and what it calls itself."""

    program: str
    version: str

    @property
    def is_clang(self) -> bool:
        return "clang" in self.version

    @property
    def major(self) -> int:
        """The first number of its version."""
        found = re.search(r"\b(\d+)\.\d", self.version)
        return int(found[1]) if found else 0


@dataclass(frozen=True)
class Built:
    """A library, whether the emulator is in it, and the headers that are not here, in whose place it has empty ones."""

    library: Path
    emulated: bool
    missing: tuple[str, ...] = ()


class Around(NamedTuple):
    """What a text is compiled with beside the headers that are here: what comes `front` of it, and the `missing` ones."""

    front: Header | None = None
    missing: tuple[str, ...] = ()

    def headers(self, beside: Path, text: str) -> tuple[Header, ...]:
        """All headers of the text, what comes in front of it first."""
        own = headers_of(beside, text)
        if self.front is None:
            return own
        others = {one.place: one for one in (*headers_of(self.front.place.parent, self.front.text), *own)}
        others.pop(self.front.place, None)
        return (self.front, *others.values())

    def flags(self, scratch: Path, front: Path) -> Sequence[str]:
        """The options of a compiler; `front` is where what comes in front lies, and `scratch` where empty headers may."""
        empty = scratch / "missing"
        for name in self.missing:
            empty.joinpath(name).parent.mkdir(parents=True, exist_ok=True)
            empty.joinpath(name).touch()
        before = ("-include", str(front / self.front.place.name)) if self.front is not None else ()
        return (*before, f"-I{empty}") if self.missing else before


def folder() -> Path:
    """Where libraries are kept."""
    cache = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    return Path(cache) / "kernelwright" / "cuda"


def build(path: str, text: str, *, gpu: bool) -> Built:
    """The library of the text of a file, made unless it is there; headers beside the file are found.

    Raises JobFailed: it does not compile, or nothing here compiles it.
    """
    refused = None if gpu else unsupported(text)
    if refused is not None:
        what, line = refused
        message = (
            f"The file uses {what} at line {line + 1}, which is not supported without a GPU: run it where there is one."
        )
        raise JobFailed(Failure(FailureKind.NO_GPU, message, line=line))
    return _tried(_for_gpu if gpu else _emulated, Path(path).resolve(), text, Around())


def _tried(make: Callable[[Path, str, Around], Built], place: Path, text: str, around: Around) -> Built:
    """What `make` makes of a text; where that fails for what is around it, with something else around it.

    A header that is not here is an empty one, since the part of a file that a kernel needs may use nothing of it. A header
    that does not compile on its own comes behind what stands in front of it where another file includes it. Raises the first
    failure.
    """
    try:
        return make(place.parent, text, around)
    except JobFailed as failed:
        missing = _MISSING.search(failed.failure.detail)
        if missing is not None and missing[1] not in around.missing:
            around = around._replace(missing=(*around.missing, missing[1]))
        elif around.front is None and place.suffix in HEADERS and (front := in_front_of(place)) is not None:
            around = around._replace(front=front)
        else:
            raise
        with contextlib.suppress(JobFailed):
            return _tried(make, place, text, around)
        raise


def build_program(path: str, text: str) -> Built:
    """The library of a program, whose `main` runs in the emulator and tells its launches. Raises JobFailed as `build`."""
    return _emulated(Path(path).resolve().parent, text, Around(), recorded=True)


def _emulated(beside: Path, text: str, around: Around, *, recorded: bool = False) -> Built:
    compiler = cpp()
    if compiler is None:
        raise JobFailed(Failure(FailureKind.MISSING_TOOL, NO_COMPILER))
    flags, headers = _flags(compiler, recorded=recorded), around.headers(beside, text)
    key = translation.translated(text, probes=not recorded).text
    name = _key(key, *_told(headers), *around.missing, compiler.version, *flags, _emulator_digest())
    found = _found(name)
    if found is not None:
        return Built(found, True, around.missing)
    with tempfile.TemporaryDirectory(prefix="kernelwright-cuda-") as scratch:
        source, thing, library = (Path(scratch, name) for name in (SOURCE, "text.o", "text.so"))
        made = translation.translated(text, written(headers, beside, text, Path(scratch)), probes=not recorded)
        source.write_text(made.text, encoding="utf-8", errors="surrogatepass")
        header = (
            "-include",
            str(_header(compiler, flags)),
            f"-I{beside}",
            *around.flags(Path(scratch), Path(scratch, "0")),
        )
        once = ("-ferror-limit=1",) if compiler.is_clang else ("-fmax-errors=1",)
        command = (compiler.program, *flags, *once, *header, "-x", "c++", "-c", str(source), "-o", str(thing))
        check(command, text, made)
        objects = [str(_runtime(compiler, one)) for one in _RUNTIME]
        check((compiler.program, str(thing), *objects, *_LINKED, "-o", str(library)), text, made)
        return Built(_kept(library, name), True, around.missing)


def syntax_only() -> Sequence[str]:
    """The command that compiles a text for the emulator and keeps nothing; its file is to follow."""
    compiler = cpp()
    assert compiler is not None
    flags = _flags(compiler)
    return (compiler.program, *flags, "-include", str(_header(compiler, flags)), "-fsyntax-only", "-x", "c++")


def _flags(compiler: Compiler, *, recorded: bool = False) -> Sequence[str]:
    own = _OF_CLANG if compiler.is_clang else (*_OF_GCC, *(_IN_BYTES if compiler.major >= 11 else ()))
    return (*_COMMON, *_FLAGS, *(_RECORDED if recorded else _LOOKED_AT), *own, f"-I{HERE / 'include'}")


def _for_gpu(beside: Path, text: str, around: Around) -> Built:
    compiler = nvcc()
    if compiler is None:
        raise JobFailed(Failure(FailureKind.MISSING_TOOL, NO_NVCC))
    made = translation.with_entries(text)
    flags = (
        *("-std=c++17", "-O3", "-lineinfo", f"-arch={_architecture()}", "-shared", "-w"),
        *("-Xcompiler", "-fPIC,-fno-gnu-unique", "-include", str(HERE / "gpu.h")),
        *("-Xlinker", "--wrap=cudaLaunchKernel,--wrap=__cudaLaunchKernel,-Bsymbolic"),
    )
    headers = around.headers(beside, text)
    if any(_HALVES.search(one) for one in (text, *(header.text for header in headers))):
        flags = (*flags, "-DKW_HALVES")
    name = _key(made.text, *_told(headers), *around.missing, compiler.version, *flags, _emulator_digest())
    found = _found(name)
    if found is not None:
        return Built(found, False, around.missing)
    with tempfile.TemporaryDirectory(prefix="kernelwright-cuda-") as scratch:
        source, library = Path(scratch, SOURCE), Path(scratch, "text.so")
        source.write_text(made.text, encoding="utf-8", errors="surrogatepass")
        if around.front is not None:
            Path(scratch, around.front.place.name).write_text(around.front.text, encoding="utf-8")
        options = (*searched(beside, headers), *around.flags(Path(scratch), Path(scratch)))
        check((compiler.program, *flags, *options, str(source), "-o", str(library)), text, made)
        return Built(_kept(library, name), False, around.missing)


def _runtime(compiler: Compiler, source: str) -> Path:
    """The object of one file of the emulator."""
    flags = (*_COMMON, "-O2")
    name = _key(source, compiler.version, *flags, _emulator_digest())
    found = _found(name, ".o")
    if found is not None:
        return found
    with tempfile.TemporaryDirectory(prefix="kernelwright-cuda-") as scratch:
        thing = Path(scratch, "runtime.o")
        run((compiler.program, *flags, "-c", str(HERE / source), "-o", str(thing)))
        return _kept(thing, name, ".o")


def _header(compiler: Compiler, flags: Sequence[str]) -> Path:
    """What is put in front of a text, read ahead where the compiler can do that: it takes half of the time."""
    plain = HERE / "cuda.h"
    if compiler.is_clang:
        return plain
    name = _key("header", compiler.version, *flags, _emulator_digest())
    if _found(name, ".h.gch") is None:
        with tempfile.TemporaryDirectory(prefix="kernelwright-cuda-") as scratch:
            made, header = Path(scratch, "cuda.h.gch"), Path(scratch, "cuda.h")
            header.write_text(f'#include "{plain}"\n', encoding="utf-8")
            _kept(header, name, ".h")
            if run((compiler.program, *flags, "-x", "c++-header", str(header), "-o", str(made))) is not None:
                return plain
            _kept(made, name, ".h.gch")
    found = _found(name, ".h")
    return found if found is not None else plain


def check(command: Sequence[str], text: str, made: translation.Translated) -> None:
    """Run a compiler. Raises JobFailed with its first error, at its place in the text as the user wrote it."""
    said = run(command)
    if said is None:
        return
    errors = errors_of(said, text, made)
    if (unknown := _UNKNOWN_GPU.search(said)) is not None:
        message = f"nvcc does not know this GPU ({unknown[1]}): install a newer CUDA toolkit."
        raise JobFailed(Failure(FailureKind.MISSING_TOOL, message, said))
    if not errors:
        other = _ANY_ERROR.search(said)
        words = other[1] if other else (said.strip().splitlines() or ["it says nothing"])[-1]
        raise JobFailed(Failure(FailureKind.IMPORT_FAILED, f"The file does not compile: {plain(words)}.", said))
    first = errors[0]
    at = f"line {first.line + 1}" + (f", column {first.column + 1}" if first.column is not None else "")
    message = f"The file does not compile at {at}: {first.message}."
    raise JobFailed(Failure(FailureKind.IMPORT_FAILED, message, said, first.line))


def run(command: Sequence[str]) -> str | None:
    """What a compiler that fails says; None where all is well. Raises JobFailed where it takes too long."""
    environment = {**os.environ, "LC_ALL": "C.UTF-8"}
    try:
        ended = subprocess.run(
            command,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=_PATIENCE,
            env=environment,
            check=False,
        )
    except subprocess.TimeoutExpired:
        message = f"Compiling the file took more than {_PATIENCE} s."
        raise JobFailed(Failure(FailureKind.IMPORT_FAILED, message)) from None
    return None if ended.returncode == 0 else ended.stderr + ended.stdout


def searched(beside: Path, headers: Sequence[Header]) -> Sequence[str]:
    """The options that have a compiler find the headers of a project."""
    return tuple(
        f"-I{one}" for one in dict.fromkeys((beside, *(folder for each in headers for folder in each.folders)))
    )


def _told(headers: Sequence[Header]) -> list[str]:
    return [part for one in sorted(headers, key=lambda one: one.place) for part in (str(one.place), one.text)]


def _key(*parts: str) -> str:
    joined = "\0".join(parts).encode("utf-8", "surrogatepass")
    return hashlib.sha256(joined).hexdigest()[:32]


def _places() -> list[Path]:
    return [folder(), Path(tempfile.gettempdir()) / f"kernelwright-cuda-{os.getuid()}"]


def _found(name: str, suffix: str = ".so") -> Path | None:
    """The file that was kept, by this user: nobody else may choose what is loaded."""
    for file in (place / f"{name}{suffix}" for place in _places()):
        with contextlib.suppress(OSError):
            if file.stat().st_uid == os.getuid():
                return file
    return None


def _kept(made: Path, name: str, suffix: str = ".so") -> Path:
    """The file in the folder where it is kept; a confined process keeps its own among its temporary files."""
    for place in _places():
        try:
            place.mkdir(mode=0o700, parents=True, exist_ok=True)
            with tempfile.NamedTemporaryFile(dir=place, delete=False) as copy:
                copy.write(made.read_bytes())
            os.replace(copy.name, place / f"{name}{suffix}")
            _prune(place)
        except OSError:
            continue
        return place / f"{name}{suffix}"
    raise JobFailed(
        Failure(FailureKind.DISK_FULL, f"No library can be written to {tempfile.gettempdir()}: set TMPDIR.")
    )


def _prune(place: Path) -> None:
    """Remove the oldest of too many files; one that is open stays where it is loaded."""
    files = sorted((one.stat().st_mtime, one) for one in place.iterdir())
    for _, one in files[: max(len(files) - _MOST_KEPT, 0)]:
        one.unlink(missing_ok=True)


@functools.cache
def _emulator_digest() -> str:
    files = sorted(one for one in HERE.rglob("*") if one.is_file() and "__pycache__" not in one.parts)
    return hashlib.sha256(b"\0".join(one.read_bytes() for one in files)).hexdigest()


@functools.cache
def cpp() -> Compiler | None:
    """The C++ compiler that is here."""
    for name in ("g++", "clang++", "c++"):
        program = shutil.which(name)
        if program is not None:
            return Compiler(program, _version(program))
    return None


@functools.cache
def nvcc() -> Compiler | None:
    """NVIDIA's compiler, by CUDA_HOME, CUDA_PATH or PATH, or where it is installed by default."""
    homes = [os.path.join(home, "bin") for name in ("CUDA_HOME", "CUDA_PATH") if (home := os.environ.get(name))]
    for place in (*homes, None, "/usr/local/cuda/bin"):
        program = shutil.which("nvcc", path=place)
        if program is not None:
            return Compiler(program, _version(program))
    return None


def _version(program: str) -> str:
    return subprocess.run([program, "--version"], capture_output=True, text=True, check=False).stdout


def _architecture() -> str:
    import torch

    major, minor = torch.cuda.get_device_capability()
    return f"sm_{major}{minor}"


def cpp_lines(library: Path, places: Sequence[int]) -> list[int | None]:
    """The lines, from 1, of the text that places in a library's code come from, by its debugging information."""
    program = shutil.which("addr2line")
    if program is None or not places:
        return [None] * len(places)
    found: list[int | None] = []
    for place in places:
        command = [program, "-i", "-e", str(library), hex(place)]
        said = subprocess.run(command, capture_output=True, text=True, check=False).stdout
        line = re.search(rf"{SOURCE}:(\d+)", said)
        found.append(int(line[1]) if line else None)
    return found
