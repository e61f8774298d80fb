"""Sees each call of the entries that are asked for, in this process, and notes it once as a workload line.

Calls are seen where they begin, by the interpreter's own hooks, so that nothing is imported, wrapped or replaced, and a call
counts also where it fails behind its first line. Only a GPU that is missing is stood in for.
"""

import contextlib
import functools
import importlib.util
import inspect
import json
import os
import sys
import threading
import weakref
from collections.abc import Callable, Iterator, Mapping, Sequence
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import CodeType, FrameType, ModuleType
from typing import Any, NamedTuple

_MOST = 64  # distinct calls of one entry
_RUNTIME = ("jit.py", "autotuner.py", "interpreter.py")  # whose `run` a launch goes through, the outermost first


class Watched(NamedTuple):
    """An entry: a function, a class by its forward, or a kernel by its launches. Lines count from 1, both inclusive.

    An "alias" is a name for the `apply` of an autograd.Function, which stands on those lines.
    """

    file: str
    entry: str
    kind: str  # "function", "class", "alias" or "kernel"
    first: int
    last: int


class Recorder:
    def __init__(
        self, watched: Sequence[Watched], write: Callable[[Watched, str, str], None], *, exact: bool = True
    ) -> None:
        """`write` takes what was called, the line, and where that is empty why there is none.

        `exact`: what a line cannot say has none. Else memory that arguments share is written as if it were each one's own.
        """
        self._by_file: dict[str, list[Watched]] = {}
        for one in watched:
            self._by_file.setdefault(one.file, []).append(one)
        self._write = write
        self._exact = exact
        self._noted: dict[tuple[str, str], set[str]] = {}
        self._made: weakref.WeakKeyDictionary[Any, str] = weakref.WeakKeyDictionary()
        self._busy = threading.local()
        self._known: dict[int, tuple[CodeType, Callable[[FrameType], None] | None]] = {}

    def see(self, frame: FrameType, kind: str, argument: object) -> None:
        """A profile function: notes the call that begins in this frame. What is called meanwhile is our own."""
        if kind != "call" or (handler := self.handler(frame.f_code)) is None or getattr(self._busy, "now", False):
            return
        self._busy.now = True
        try:
            handler(frame)
        finally:
            self._busy.now = False

    def handler(self, code: CodeType) -> Callable[[FrameType], None] | None:
        """What to do where this very code begins to run: two files may have codes that are equal."""
        if id(code) not in self._known:
            self._known[id(code)] = code, self._handler(code)
        return self._known[id(code)][1]

    def _handler(self, code: CodeType) -> Callable[[FrameType], None] | None:
        """What to do where this code begins to run; None for almost all."""
        name, file = code.co_name, code.co_filename
        if name == "run" and os.path.basename(file) in _RUNTIME and "triton" in file:
            return self._launch
        for one in self._by_file.get(_real(file), ()):
            if one.kind == "kernel" or not one.first <= code.co_firstlineno <= one.last:
                continue
            if one.kind == "function" and name == one.entry:
                return functools.partial(self._function, one)
            if one.kind == "alias" and name == "forward":
                return functools.partial(self._applied, one, one.entry)
            if one.kind == "class" and name in ("__init__", "forward"):
                return functools.partial(self._construction if name == "__init__" else self._forward, one)
        return None

    def _function(self, one: Watched, frame: FrameType) -> None:
        self.note(one, lambda: f"{one.entry}({_arguments(*_given(frame))})")

    def _construction(self, one: Watched, frame: FrameType) -> None:
        args, kwargs = _given(frame)
        if args and type(args[0]).__name__ == one.entry:
            names = getattr(sys.modules.get(type(args[0]).__module__), "__dict__", {})
            self.note(one, lambda: self._made.__setitem__(args[0], _arguments(args[1:], kwargs, names=names)))

    def _forward(self, one: Watched, frame: FrameType) -> None:
        args, kwargs = _given(frame)
        if args and type(args[0]).__name__ == one.entry:
            self.note(one, lambda: f"{one.entry}({self._construction_of(args[0])})({_arguments(args[1:], kwargs)})")
        elif not (args and _is_module(args[0])):
            self._applied(one, f"{one.entry}.apply", frame)

    def _construction_of(self, module: Any) -> str:
        """The arguments that it was constructed with. Raises Unsayable where they were not seen, and there must be some."""
        from kernelwright.proof.worker.recording.written import Unsayable

        if module in self._made:
            return self._made[module]
        needed = [p for p in inspect.signature(type(module)).parameters.values() if p.default is p.empty]
        if any(p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD) for p in needed):
            raise Unsayable("it is not known what the module was constructed with")
        return ""

    def _applied(self, one: Watched, called: str, frame: FrameType) -> None:
        """The forward of an autograd.Function. Where setup_context() gets the context, this does not."""
        args, kwargs = _given(frame)
        given = args[1:] if args and hasattr(args[0], "save_for_backward") else args
        self.note(one, lambda: f"{called}({_arguments(given, kwargs)})")

    def _launch(self, frame: FrameType) -> None:
        """`kernel[grid](…)`, whoever launches it; what tunes or fills in arguments runs the kernel in it once more."""
        back = frame.f_back
        while back is not None:  # behind what stands around a launch, such as the benchmark of a configuration, too
            if back.f_code.co_name == "run" and self.handler(back.f_code) == self._launch:
                return
            back = back.f_back
        given = frame.f_locals
        function = _innermost(given.get("self"))
        code = getattr(function, "__code__", None)
        if code is None or given.get("warmup") is True:
            return
        for one in self._by_file.get(_real(code.co_filename), ()):
            if one.kind == "kernel" and one.entry == function.__name__:
                self.note(one, lambda one=one: _launched(one.entry, function, given, self._exact))  # type: ignore[misc]

    def note(self, one: Watched, write: Callable[[], str | None]) -> None:
        """Write down a line that is new, or why there is none. Recording must not fail what it watches."""
        from kernelwright.proof.worker.recording.written import Unsayable
        from kernelwright.source.workload.evaluate import WorkloadError, evaluate

        noted = self._noted.setdefault((one.file, one.entry), set())
        if len(noted) >= _MOST:
            return
        try:
            line, refused = write(), ""
            if line:
                evaluate(line)
        except Unsayable as unsayable:
            line, refused = "", str(unsayable)
        except WorkloadError as error:
            line, refused = "", error.message.rstrip(".")
        except Exception as error:  # noqa: BLE001  (values of any kind raise anything)
            line, refused = "", f"reading its arguments raised {type(error).__name__}"
        if line is None or (line or refused) in noted:
            return
        noted.add(line or refused)
        self._write(one, line, refused)


class _WithoutGpu:
    """Finds torch as it is found anyway, and has the CPU stand in for a GPU as soon as it is imported."""

    def find_spec(self, name: str, path: object = None, target: object = None) -> ModuleSpec | None:
        if name != "torch":
            return None
        sys.meta_path.remove(self)  # type: ignore[arg-type]
        spec = importlib.util.find_spec(name)
        if spec is not None and spec.loader is not None:
            spec.loader.exec_module = functools.partial(self._run, spec.loader.exec_module)  # type: ignore[method-assign]
        return spec

    def _run(self, original: Callable[[ModuleType], None], torch: ModuleType) -> None:
        original(torch)
        if not torch.cuda.is_available():
            from kernelwright.proof.worker import without_gpu

            without_gpu.hold()


def rows_in(folder: Path) -> Callable[[Watched, str, str], None]:
    """What writes calls into this process's file of a folder, as rows for `recording.py`."""
    file = folder / f"{os.getpid()}.jsonl"

    def write(one: Watched, line: str, refused: str) -> None:
        row = {"file": one.file, "entry": one.entry, "line": line, "refused": refused}
        with file.open("a", encoding="utf-8") as out:
            out.write(json.dumps(row) + "\n")

    return write


def begin(plan: str) -> None:
    """Record from now on, in this process, what the file `plan` asks for: {"watched": […], "out": folder, "without_gpu": …}."""
    asked = json.loads(Path(plan).read_text(encoding="utf-8"))
    if asked["without_gpu"]:
        sys.meta_path.insert(0, _WithoutGpu())
    recorder = Recorder([Watched(*one) for one in asked["watched"]], rows_in(Path(asked["out"])))
    threading.setprofile(recorder.see)
    sys.setprofile(recorder.see)


@contextlib.contextmanager
def written_launches(file: str, kernels: Sequence[str]) -> Iterator[list[str]]:
    """Within, the launches of these kernels of a file in this thread are written as workload lines."""
    lines: list[str] = []
    if not file:
        yield lines
        return
    watched = [Watched(_real(file), name, "kernel", 0, 0) for name in kernels]
    before = sys.getprofile()

    def write(one: Watched, line: str, refused: str) -> None:
        if line:
            lines.append(line)

    sys.setprofile(Recorder(watched, write, exact=False).see)
    try:
        yield lines
    finally:
        sys.setprofile(before)


@functools.cache
def _real(file: str) -> str:
    return os.path.realpath(file)


def _given(frame: FrameType) -> tuple[tuple[object, ...], dict[str, object]]:
    """The arguments that a function was called with, as its frame has them at the beginning."""
    found = inspect.getargvalues(frame)
    code, values = frame.f_code, found.locals
    positional = tuple(values[name] for name in code.co_varnames[: code.co_argcount])
    only = code.co_varnames[code.co_argcount : code.co_argcount + code.co_kwonlyargcount]
    more = tuple(values[found.varargs]) if found.varargs else ()
    rest = dict(values[found.keywords]) if found.keywords else {}
    return (*positional, *more), {**{name: values[name] for name in only}, **rest}


def _arguments(args: Sequence[object], kwargs: Mapping[str, object], **how: Any) -> str:
    from kernelwright.proof.worker.recording.written import arguments  # imports torch, which the process has by now

    return arguments(args, kwargs, **how)


def _launched(entry: str, function: Any, given: Mapping[str, Any], exact: bool) -> str:
    from kernelwright.proof.worker.recording.written import grid_of

    args, kwargs = given["args"], dict(given["kwargs"])
    grid = given.get("grid", kwargs.pop("grid", None))
    kwargs.pop("warmup", None)
    args, kwargs = tuple(map(_detached, args)), {name: _detached(value) for name, value in kwargs.items()}
    named = {**dict(zip(inspect.signature(function).parameters, args, strict=False)), **kwargs}
    return f"{entry}[{grid_of(grid, _filled_in(given['self'], named))}]({_arguments(args, kwargs, exact=exact)})"


def _detached(value: Any) -> Any:
    """A tensor of the same memory of which no kernel can have gradients; every other value as it is."""
    return value.detach() if hasattr(value, "requires_grad") and hasattr(value, "detach") else value


def _filled_in(kernel: Any, named: Mapping[str, object]) -> list[Mapping[str, object]]:
    """The arguments of a launch with what tunes the kernel, or fills in arguments, in each way that it may do so."""
    ways: list[Mapping[str, object]] = [named]
    while not inspect.isfunction(kernel) and kernel is not None:
        if configs := getattr(kernel, "configs", None):
            ways = [{**way, **config.all_kwargs()} for way in ways for config in configs]
        if isinstance(heuristics := getattr(kernel, "values", None), Mapping):
            for name, made in heuristics.items():
                ways = [{**way, name: made(dict(way))} for way in ways]
        kernel = getattr(kernel, "fn", None)
    return ways


def _innermost(kernel: Any) -> Any:
    """The function that a JITFunction holds, behind what tunes it."""
    while not inspect.isfunction(kernel) and kernel is not None:
        kernel = getattr(kernel, "fn", None)
    return kernel


def _is_module(value: object) -> bool:
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(value, torch.nn.Module)
