"""A CUDA text as a module: its kernels and host functions as callables that take tensors and numbers."""

import _ctypes
import contextlib
import ctypes
import functools
import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import ModuleType
from typing import Any

import torch

from kernelwright.proof.worker import launches as launching
from kernelwright.proof.worker import ran
from kernelwright.proof.worker.failed import JobFailed
from kernelwright.proof.worker.languages.cuda.arguments import (
    Layout,
    Passed,
    Structure,
    Taken,
    bound,
    checked,
    layouts_of,
    result_type,
    tensors_of,
)
from kernelwright.proof.worker.languages.cuda.coverage import numbers_of
from kernelwright.proof.worker.languages.cuda.faults import fault, order
from kernelwright.proof.worker.languages.cuda.programs import Program
from kernelwright.proof.worker.languages.cuda.widened import widened_arguments
from kernelwright.proof.worker.toolchain import building, translation
from kernelwright.proof.worker.toolchain.libraries import opened
from kernelwright.source.cpp import Function, functions_of, structures_of
from kernelwright.source.cpp.structures import paths
from kernelwright.values import Failure, FailureKind

_AT = re.compile(r"@\[([0-9a-f]+),(\d+)\]")
_STATUS = ("cudaError_t", "cudaError", "CUresult")


class CudaModule(ModuleType):
    """The module of one text."""


def load(path: str, text: str, name: str) -> ModuleType:
    """The module of a text. Raises JobFailed: see `building.build`."""
    built = building.build(path, text, gpu=on_gpu())
    module = CudaModule(f"{name} of {path}")
    module.__file__ = path
    library = _Library(built, text)
    vars(module)["_library"] = library
    described = library.types()
    entries = translation.entries_of(text)
    layouts = layouts_of(library.open.kw_structures().decode(), _optional(text, entries))
    for at, (number, types) in enumerate(described):
        one, given = entries[number].function, entries[number].template
        made: Any = Kernel if one.is_kernel else HostFunction
        entry = made(
            library, at, one, types, {place: layouts.get((number, place)) for place in range(len(one.parameters))}
        )
        if given:
            template = vars(module).setdefault(one.name, Template(one.name, {}))
            template.instances[given] = entry
        else:
            setattr(module, one.name, entry)
    for one in functions_of(text):
        if one.name == "main" and not one.scope and not one.member:
            module.main = Program(built, path, *library.statements, library.told)
        if (one.is_kernel or one.on_host) and not one.can_be_entry and not hasattr(module, one.name):
            setattr(module, one.name, _NoEntry(one))
    return module


def unload(module: ModuleType) -> None:
    """Close the library of a module that `load` made."""
    library = vars(module).get("_library")
    if library is not None:
        library.close()
    vars(module).clear()


def missing_headers(module: ModuleType) -> tuple[str, ...]:
    """The headers of a text that `load` had nothing but their names of."""
    library = vars(module).get("_library")
    return library.built.missing if library is not None else ()


def on_gpu() -> bool:
    """Whether texts are compiled for the GPU that is here."""
    return torch.cuda.is_available() and os.environ.get("TRITON_INTERPRET") != "1"


@dataclass
class _Library:
    """A text's library, open in this process."""

    built: building.Built
    text: str

    def __post_init__(self) -> None:
        try:
            self.open = opened(self.built.library)
        except OSError as error:
            message = f"What the file compiles to cannot be loaded: {error}."
            raise JobFailed(Failure(FailureKind.IMPORT_FAILED, message)) from error
        self.open.kw_entry_types.restype = ctypes.c_char_p
        self.open.kw_structures.restype = ctypes.c_char_p
        self.open.kw_failure.restype = ctypes.c_char_p
        self.open.kw_launch_name.restype = ctypes.c_char_p
        if self.emulated:
            self.open.kw_remarks.restype = ctypes.c_char_p
            self.open.kw_launch_threads.restype = ctypes.c_uint64
            self.open.kw_tensor.restype = ctypes.c_void_p
            self.open.kw_hits.restype = ctypes.POINTER(ctypes.c_ubyte)
            self.open.kw_turns.restype = ctypes.POINTER(ctypes.c_int)
            self.numbers, lines = self.statements
            self._lines = (ctypes.c_int * max(len(lines), 1))(*lines)
            self.open.kw_watch(self._lines, len(lines))

    @property
    def emulated(self) -> bool:
        return self.built.emulated

    @functools.cached_property
    def statements(self) -> tuple[list[int], list[int]]:
        """The numbers of all statements, and their lines from 1."""
        found = translation.numbered(self.text)
        return numbers_of(found), [one.line + 1 for one in found]

    def close(self) -> None:
        _ctypes.dlclose(self.open._handle)

    def types(self) -> list[tuple[int, str]]:
        """The number of each entry that the compiler saw, and what it takes."""
        count = self.open.kw_entries()
        return [(self.open.kw_entry_number(at), self.open.kw_entry_types(at).decode()) for at in range(count)]

    def launches(self) -> list[tuple[str, int]]:
        """The kernels that the last call launched, with how many threads."""
        names = [self.open.kw_launch_name(at).decode() for at in range(self.open.kw_launches())]
        return [(name, self.open.kw_launch_threads(at) if self.emulated else 1) for at, name in enumerate(names)]

    def told(self, words: str) -> str:
        """A sentence of the emulator's, with the lines of the text in place of addresses of code."""
        places = [int(match[1], 16) for match in _AT.finditer(words)]
        lines = iter(building.cpp_lines(self.built.library, places))
        return _AT.sub(lambda match: str(next(lines) or match[2]), words)


class _Entry:
    """What a workload line calls."""

    def __init__(
        self, library: _Library, at: int, function: Function, types: str, layouts: Mapping[int, Layout | None]
    ) -> None:
        self.__name__ = function.name
        self._library, self._at = library, at
        returned, _, given = types.partition("(")
        self.takes = tuple(
            Taken(parameter.name, kind, _default(parameter.default), layouts[place])
            for place, (parameter, kind) in enumerate(zip(function.parameters, given.split(",")[:-1], strict=True))
        )
        self._status = function.returns.split()[-1:] and function.returns.split()[-1] in _STATUS
        self._returns = result_type(returned)

    def _called(
        self, args: Sequence[Any], kwargs: dict[str, Any], place: Sequence[int] = (1, 1, 1, 1, 1, 1), shared: int = 0
    ) -> Any:
        library = self._library.open
        device = "cpu" if self._library.emulated else "cuda"
        values = bound(self.__name__, self.takes, args, kwargs)
        passed = [checked(self.__name__, taken, value, device) for taken, value in zip(self.takes, values, strict=True)]
        stream = None if self._library.emulated else ctypes.c_void_p(torch.cuda.current_stream().cuda_stream)
        library.kw_begin(order() if self._library.emulated else stream)
        with _in_place(library, passed, emulated=self._library.emulated) as numbers:
            given = [ctypes.c_void_p(stream.value if stream else None) if one is None else one for one in numbers]
            pointers = (ctypes.c_void_p * max(len(given), 1))(*(ctypes.addressof(one) for one in given))
            result = ctypes.c_uint64(0)
            where = (ctypes.c_uint * 6)(*place)
            known = library.kw_call(
                self._at,
                pointers,
                ctypes.byref(result),
                where,
                ctypes.c_size_t(shared),
                ctypes.c_void_p(0) if stream is None else stream,
            )
            if not known:
                raise TypeError(f"{self.__name__} takes what cannot be copied, so that no workload line can call it")
            failure = library.kw_failure().decode(errors="replace")
        launches = self._library.launches()
        self._note(launches, [one.tensor for one in tensors_of(passed)])
        if failure:
            raise fault(self._library.told(failure))
        if self._status:
            if result.value & 0xFFFFFFFF:
                raise RuntimeError(f"{self.__name__} returns CUDA's error {result.value & 0xFFFFFFFF}")
            return None
        return self._returns.from_buffer(result).value if self._returns is not None else None

    def _note(self, launches: list[tuple[str, int]], tensors: list[torch.Tensor]) -> None:
        for name, _ in launches:
            launching.note(name, tensors)
        names = tuple(dict.fromkeys(name for name, _ in launches))
        if not ran.is_watching():
            return
        if not self._library.emulated:
            ran.note(launched=names)
            return
        library, numbers = self._library.open, self._library.numbers
        hits, turns = library.kw_hits(), library.kw_turns()
        lines = [number for at, number in enumerate(numbers) if hits[at]]
        most = {number: turns[at] for at, number in enumerate(numbers) if turns[at] >= 0}
        remarks = library.kw_remarks().decode(errors="replace")
        ran.note(lines, most, names, (self._library.told(remarks),) if remarks else ())
        library.kw_forget()


class HostFunction(_Entry):
    """A host function of the text."""

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self._called(args, kwargs)


class Kernel(_Entry):
    """A kernel, which `kernel[grid, block, shared](…)` launches."""

    def run(self, grid: Sequence[int], block: Sequence[int], shared: int, *args: Any, **kwargs: Any) -> None:
        """Launch it."""
        self._called(args, kwargs, [*(*grid, 1, 1)[:3], *(*block, 1, 1)[:3]], shared)

    def __getitem__(self, where: Any) -> Any:
        if isinstance(where, tuple) and len(where) == 4:
            raise TypeError(f"{self.__name__} is no template: write {self.__name__}<<<grid, block>>>(…)")
        grid, block, shared = where if isinstance(where, tuple) and len(where) == 3 else (where, None, 0)
        if not isinstance(block, tuple):
            raise TypeError(
                f"{self.__name__} is launched on a grid of blocks: write {self.__name__}<<<grid, block>>>(…)"
            )
        return functools.partial(self.run, grid, block, shared)

    def __call__(self, *args: Any, **kwargs: Any) -> None:
        raise TypeError(f"{self.__name__} is a kernel: write how it is launched, {self.__name__}<<<grid, block>>>(…)")


@dataclass(frozen=True)
class Template:
    """A kernel with template parameters; `instances` by the arguments that workload lines give."""

    name: str
    instances: dict[str, Kernel]

    def run(self, grid: Sequence[int], block: Sequence[int], shared: int, *args: Any, **kwargs: Any) -> None:
        """Never called: an instance is launched."""
        raise TypeError(_no_instance(self.name))

    def __getitem__(self, where: Any) -> Any:
        grid, block, shared, template = where if isinstance(where, tuple) and len(where) == 4 else (where, (), 0, "")
        found = self.instances.get(template) or self.instances.get(widened_arguments(template))
        if found is None:
            raise TypeError(_no_instance(self.name))
        return found[grid, block, shared]


def _no_instance(name: str) -> str:
    return f"{name} is a template: write its arguments, as in {name}<float, 4><<<grid, block>>>(…)"


class _NoEntry:
    """A function of the text that no line can call, and why."""

    def __init__(self, function: Function) -> None:
        self.__name__ = function.name
        what = "defined more than once" if function.overloaded else "no function"
        self._why = f"{function.name} is {what}: name a host function that calls it"
        if function.template and function.is_kernel and not function.overloaded:
            self._why = _no_instance(function.name)

    def __call__(self, *args: Any, **kwargs: Any) -> None:
        raise TypeError(self._why)


@contextlib.contextmanager
def _in_place(library: Any, passed: Sequence[Any], *, emulated: bool) -> Iterator[list[Any]]:
    """What C is given. In the emulator the tensors lie far from one another meanwhile, those that overlap together."""
    tensors = tensors_of(passed)
    if not emulated:
        yield [_given(one, lambda tensor: tensor.start) for one in passed]
        return
    moved: dict[int, int] = {}
    groups: list[tuple[int, int, Passed]] = []
    for one in sorted((one for one in tensors if one.bytes), key=lambda one: one.start):
        if groups and one.start < groups[-1][1]:
            start, end, first = groups[-1]
            groups[-1] = (start, max(end, one.start + one.bytes), first)
        else:
            groups.append((one.start, one.start + one.bytes, one))
    for start, end, first in groups:
        name = first.taken.name.encode()
        place = library.kw_tensor(
            ctypes.c_void_p(start), ctypes.c_size_t(end - start), first.tensor.element_size(), name
        )
        if not place:
            raise MemoryError(f"no memory for a copy of {first.taken.name}")
        moved[start] = place

    def placed(one: Passed) -> int:
        start = next((start for start, end, _ in groups if start <= one.start < end and one.bytes), None)
        return 0 if start is None else moved[start] + one.start - start

    try:
        yield [_given(one, placed) for one in passed]
    finally:
        for start, place in moved.items():
            library.kw_end_tensor(ctypes.c_void_p(place), ctypes.c_void_p(start))


def _given(value: Any, placed: Callable[[Passed], int]) -> Any:
    """What C is given for an argument whose tensors lie where `placed` says."""
    if isinstance(value, Structure):
        return value.made(lambda part: _given(part, placed))
    return ctypes.c_void_p(placed(value)) if isinstance(value, Passed) else value


def _optional(text: str, entries: Sequence[translation.Entry]) -> dict[tuple[int, int], frozenset[str]]:
    """The fields of each entry's structures that have a value without a workload line, by entry and place."""
    known = structures_of(text)
    return {
        (number, place): frozenset(path for path, one in paths(known, parameter.type) if one.has_default)
        for number, entry in enumerate(entries)
        for place, parameter in enumerate(entry.function.parameters)
    }


def _default(words: str | None) -> float | None:
    if words is None:
        return None
    with contextlib.suppress(ValueError):
        return int(words.rstrip("uUlL"), 0)
    with contextlib.suppress(ValueError):
        return float(words.rstrip("fF"))
    return {"true": True, "false": False}.get(words)
