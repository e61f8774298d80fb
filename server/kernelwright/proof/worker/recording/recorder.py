"""Sees each call of the entries that are asked for, in this process, and notes it once as a workload line.

Calls are seen where they begin, by the interpreter's own hooks, so that nothing is imported, wrapped or replaced, and a call
counts also where it fails behind its first line. Only a GPU that is missing is stood in for.
"""

import functools
import importlib.util
import inspect
import json
import os
import sys
import threading
import weakref
from collections.abc import Callable, Mapping, Sequence
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import CodeType, FrameType, ModuleType
from typing import Any, NamedTuple

_MOST = 64  # distinct calls of one entry
_RUNTIME = ("jit.py", "autotuner.py", "interpreter.py")  # whose `run` a launch goes through, the outermost first

_HARDENED = "hardened.py"  # whose functions stand around those where there is no GPU


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
    def __init__(self, watched: Sequence[Watched], out: Path) -> None:
        self._by_file: dict[str, list[Watched]] = {}
        for one in watched:
            self._by_file.setdefault(one.file, []).append(one)
        self._out = out / f"{os.getpid()}.jsonl"
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
            self.note(one, lambda: self._made.__setitem__(args[0], _arguments(args[1:], kwargs)))

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
        while back is not None and os.path.basename(back.f_code.co_filename) == _HARDENED:
            back = back.f_back
        if back is not None and back.f_code.co_name == "run" and self.handler(back.f_code) == self._launch:
            return
        given = frame.f_locals
        function = _innermost(given.get("self"))
        code = getattr(function, "__code__", None)
        if code is None or given.get("warmup") is True:
            return
        for one in self._by_file.get(_real(code.co_filename), ()):
            if one.kind == "kernel" and one.entry == function.__name__:
                self.note(one, lambda one=one: _launched(one.entry, function, given))  # type: ignore[misc]

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
        row = {"file": one.file, "entry": one.entry, "line": line, "refused": refused}
        with self._out.open("a", encoding="utf-8") as out:
            out.write(json.dumps(row) + "\n")


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


def begin(plan: str) -> None:
    """Record from now on, in this process, what the file `plan` asks for: {"watched": […], "out": folder, "without_gpu": …}."""
    asked = json.loads(Path(plan).read_text(encoding="utf-8"))
    if asked["without_gpu"]:
        sys.meta_path.insert(0, _WithoutGpu())
    recorder = Recorder([Watched(*one) for one in asked["watched"]], Path(asked["out"]))
    threading.setprofile(recorder.see)
    sys.setprofile(recorder.see)


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


def _arguments(args: Sequence[object], kwargs: Mapping[str, object]) -> str:
    from kernelwright.proof.worker.recording.written import arguments  # imports torch, which the process has by now

    return arguments(args, kwargs)


def _launched(entry: str, function: Any, given: Mapping[str, Any]) -> str:
    from kernelwright.proof.worker.recording.written import grid_of

    args, kwargs = given["args"], dict(given["kwargs"])
    grid = given.get("grid", kwargs.pop("grid", None))
    kwargs.pop("warmup", None)
    names = inspect.signature(function).parameters
    return f"{entry}[{grid_of(grid, {**dict(zip(names, args, strict=False)), **kwargs})}]({_arguments(args, kwargs)})"


def _innermost(kernel: Any) -> Any:
    """The function that a JITFunction holds, behind what tunes it."""
    while not inspect.isfunction(kernel) and kernel is not None:
        kernel = getattr(kernel, "fn", None)
    return kernel


def _is_module(value: object) -> bool:
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(value, torch.nn.Module)
