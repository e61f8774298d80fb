"""Runs a CUDA C++ program once in the emulator, and notes what it launches: `python -m … FILE ARGUMENT …`.

Kernels run while that is quick. A later or larger launch is noted and not run, so that what it would have written is missing
from there on.
"""

import ctypes
import json
import math
import os
import re
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch

from kernelwright.proof.worker.failed import JobFailed
from kernelwright.proof.worker.languages.cuda.arguments import Layout, layouts_of
from kernelwright.proof.worker.recording.launch_lines import Launch, Memory, Value, line_of
from kernelwright.proof.worker.recording.recorder import Recorder, Watched, rows_in
from kernelwright.proof.worker.recording.written import Unsayable
from kernelwright.proof.worker.toolchain import building
from kernelwright.proof.worker.toolchain.translation import entries_of
from kernelwright.source.cpp import Function, Parameter, functions_of
from kernelwright.source.cpp.instances import plain

_MOST_THREADS = 1 << 18  # of a launch that is run
_SECONDS = 20.0  # after which none is run
_OF_A_LAUNCH = 2000  # milliseconds, after which it is ended
_FAILED = 2
_WATCHER = ctypes.CFUNCTYPE(
    ctypes.c_int,
    *(
        ctypes.c_char_p,
        ctypes.c_char_p,
        ctypes.POINTER(ctypes.c_void_p),
        ctypes.POINTER(ctypes.c_uint),
        ctypes.c_size_t,
    ),
)
_WRITTEN_OUT = re.compile(
    r"-?\d+[uUlL]*|true|false|(?:(?:unsigned|signed|long|short|int|char|float|double|bool|half) ?)+"
)
_TO_SYMBOL = re.compile(r"\bcudaMemcpyToSymbol(?:Async)?[ \t]*\([ \t]*&?[ \t]*(\w+)")
_NUMBERS = {
    **{f"{sign}int{bits}": getattr(ctypes, f"c_{sign}int{bits}") for sign in ("", "u") for bits in (8, 16, 32, 64)},
    "float32": ctypes.c_float,
    "float64": ctypes.c_double,
    "bool": ctypes.c_bool,
}


class Program:
    """A program in the emulator, whose launches go to a recorder."""

    def __init__(self, file: Path, recorder: Recorder) -> None:
        """Raises JobFailed where the file does not compile."""
        text = file.read_text(encoding="utf-8", errors="replace")
        self._file, self._recorder = str(file), recorder
        self._kernels = {one.name: one for one in functions_of(text) if one.is_kernel}
        self._filled = {
            one.name: [
                name for name in _TO_SYMBOL.findall(text) if re.search(rf"\b{name}\b", text[one.start : one.end])
            ]
            for one in self._kernels.values()
        }
        self._library = ctypes.CDLL(str(building.build_program(str(file), text).library))
        self._library.kw_known_bytes.restype = ctypes.c_size_t
        self._library.kw_failure.restype = self._library.kw_structures.restype = ctypes.c_char_p
        entries = entries_of(text)
        self._layouts = {
            (entries[number].function.name, place): layout
            for (number, place), layout in layouts_of(self._library.kw_structures().decode(), {}).items()
        }
        self._seen: set[tuple[object, ...]] = set()  # so that a loop around a launch costs nothing
        self._begun, self._left_out = time.monotonic(), 0

    def run(self, arguments: Sequence[str]) -> tuple[int, str]:
        """The status of `main`, and what a kernel did that it must not do."""
        watcher = _WATCHER(self._see)
        self._library.kw_watch_launches(watcher)
        given = (ctypes.c_char_p * (len(arguments) + 2))(self._file.encode(), *map(os.fsencode, arguments))
        main = ctypes.cast(self._library.main, ctypes.c_void_p)
        status = self._library.kw_program(main, len(arguments) + 1, given)
        failure = self._library.kw_failure().decode(errors="replace")
        return status, "" if failure.startswith("the code ends its process") else failure

    @property
    def left_out(self) -> int:
        """How many launches were not run, or not to their end."""
        return self._left_out + self._library.kw_cut_short()

    def _see(self, name: bytes, types: bytes, given: Any, place: Any, shared: int) -> int:
        """Note a launch; for how many milliseconds it is to be run. `given` holds the addresses of the arguments."""
        called, _, template = name.decode().removesuffix(">").partition("<")
        kernel = self._kernels.get(called.rpartition("::")[2].strip())
        said = types.decode().split(",")
        layouts = [self._layouts.get((kernel.name, at)) if kernel is not None else None for at in range(len(said))]
        passed = tuple(_bits(one, given[at], layouts[at]) for at, one in enumerate(said) if one)
        launch = (name, *place[:6], shared, passed)
        if kernel is not None and launch not in self._seen:
            self._seen.add(launch)
            watched = Watched(self._file, kernel.name, "kernel", 0, 0)
            self._recorder.note(watched, lambda: self._line(kernel, plain(template), said, given, place, shared))
        threads = math.prod(place[:6])
        runs = threads <= _MOST_THREADS and time.monotonic() - self._begun < _SECONDS
        self._left_out += not runs
        return _OF_A_LAUNCH if runs else 0

    def _line(self, kernel: Function, template: str, types: Sequence[str], given: Any, place: Any, shared: int) -> str:
        if kernel.overloaded:
            raise Unsayable(f"{kernel.name} is defined more than once")
        if filled := self._filled[kernel.name]:
            raise Unsayable(f"it reads {filled[0]}, which the program fills in")
        if kernel.template and not all(map(_WRITTEN_OUT.fullmatch, template.split(", "))):
            raise Unsayable(f"its template arguments, <{template}>, depend on where it is launched")
        called = f"{kernel.name}<{template}>" if kernel.template else kernel.name
        values = {
            parameter.name: self._passed(parameter, said, given[at], self._layouts.get((kernel.name, at)))
            for at, (parameter, said) in enumerate(zip(kernel.parameters, types, strict=False))
        }
        return line_of(Launch(called, place[:3], place[3:6], shared, values))

    def _passed(self, parameter: Parameter, said: str, at: int, layout: Layout | None) -> Value:
        """The argument at an address, a structure field by field. Raises Unsayable."""
        if layout is None:
            return self._value(parameter.name, said, at, read_only=parameter.is_const)
        made: dict[str, Any] = {}
        for offset, one in layout.fields:
            *outer, last = one.name.split(".")
            inside = made
            for name in outer:
                inside = inside.setdefault(name, {})
            read_only = one.type.startswith("const")
            inside[last] = self._value(f"{parameter.name}.{one.name}", one.type, at + offset, read_only=read_only)
        return made

    def _value(
        self, name: str, said: str, at: int, *, read_only: bool
    ) -> int | float | tuple[Any, ...] | Memory | None:
        """The argument at an address, of a type in the emulator's words. Raises Unsayable."""
        if "*" not in said:
            one, _, several = said.partition("x")
            if several and one in _NUMBERS:
                size = ctypes.sizeof(_NUMBERS[one])
                places = (at + size * number for number in range(int(several)))
                return tuple(self._value(name, one, place, read_only=True) for place in places)
            if said not in _NUMBERS:
                raise Unsayable(f"{name} is neither a pointer nor a number")
            value = _NUMBERS[said].from_address(at).value
            return _shortest(value) if said == "float32" else value
        start = ctypes.c_void_p.from_address(at).value
        if not start:
            return None
        element, count = said.partition("*")[2].partition("x")[::2]
        dtype = getattr(torch, element, None)
        if not isinstance(dtype, torch.dtype):
            raise Unsayable(f"{name} points to {element or 'what'} that no tensor holds")
        known = self._library.kw_known_bytes(ctypes.c_void_p(start))
        number = known // (dtype.itemsize * int(count or 1)) * int(count or 1)
        if not number:
            raise Unsayable(f"{name} points to no memory of the device")
        memory = (ctypes.c_char * (number * dtype.itemsize)).from_address(start)
        return Memory(torch.frombuffer(memory, dtype=dtype), written=not read_only)


def _bits(said: str, at: int, layout: Layout | None) -> object:
    """What is passed, for comparison: nothing of structures that the text does not define."""
    if layout is not None:
        return ctypes.string_at(at, len(layout.initial))
    kind = ctypes.c_void_p if "*" in said else _NUMBERS.get(said)
    return kind.from_address(at).value if kind is not None else None


def _shortest(value: float) -> float:
    """The number with the fewest digits that is the same one in single precision."""
    written = (float(f"{value:.{digits}g}") for digits in range(1, 10))
    return next((one for one in written if ctypes.c_float(one).value == value), value)


def main() -> int:
    file, *arguments = sys.argv[1:]
    plan = json.loads(Path(os.environ["KERNELWRIGHT_RECORD"]).read_text(encoding="utf-8"))
    recorder = Recorder([], rows_in(Path(plan["out"])))
    try:
        program = Program(Path(file).resolve(), recorder)
    except JobFailed as failed:
        print(failed.failure.message, file=sys.stderr)
        return _FAILED
    status, failure = program.run(arguments)
    sys.stdout.flush()
    if failure:
        print(f"The program was stopped: {failure}.", file=sys.stderr)
    if program.left_out:
        print(
            f"{program.left_out} launches were noted and not run to their end, since the emulator is slow.",
            file=sys.stderr,
        )
    return _FAILED if failure else status


if __name__ == "__main__":
    sys.exit(main())
