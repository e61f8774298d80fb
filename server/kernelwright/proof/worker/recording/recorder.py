"""Sees each call of the entries that are asked for, in this process, and notes it once as a workload line.

Calls are seen where they begin, by the interpreter's own hooks, so that nothing is imported, wrapped or replaced, and a call
counts also where it fails behind its first line.
"""

import functools
import inspect
import json
import os
import sys
import threading
import weakref
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import CodeType, FrameType
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


class _Recorder:
    def __init__(self, watched: Sequence[Watched], out: Path) -> None:
        self._by_file: dict[str, list[Watched]] = {}
        for one in watched:
            self._by_file.setdefault(one.file, []).append(one)
        self._out = out / f"{os.getpid()}.jsonl"
        self._noted: dict[tuple[str, str], set[str]] = {}
        self._made: weakref.WeakKeyDictionary[Any, str] = weakref.WeakKeyDictionary()
        self._busy = threading.local()
        self.handler = functools.lru_cache(maxsize=None)(self._handler)

    def see(self, frame: FrameType, handler: Callable[[FrameType], None]) -> None:
        """Note the call that begins in this frame; what is called meanwhile is our own."""
        if getattr(self._busy, "now", False):
            return
        self._busy.now = True
        try:
            handler(frame)
        finally:
            self._busy.now = False

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
        self._note(one, lambda: f"{one.entry}({_arguments(*_given(frame))})")

    def _construction(self, one: Watched, frame: FrameType) -> None:
        args, kwargs = _given(frame)
        if type(args[0]).__name__ == one.entry:
            self._note(one, lambda: self._made.__setitem__(args[0], _arguments(args[1:], kwargs)))

    def _forward(self, one: Watched, frame: FrameType) -> None:
        args, kwargs = _given(frame)
        if args and type(args[0]).__name__ == one.entry:
            made = self._made.get(args[0], "")
            self._note(one, lambda: f"{one.entry}({made})({_arguments(args[1:], kwargs)})")
        elif not (args and _is_module(args[0])):
            self._applied(one, f"{one.entry}.apply", frame)

    def _applied(self, one: Watched, called: str, frame: FrameType) -> None:
        """The forward of an autograd.Function. Where setup_context() gets the context, this does not."""
        args, kwargs = _given(frame)
        given = args[1:] if args and hasattr(args[0], "save_for_backward") else args
        self._note(one, lambda: f"{called}({_arguments(given, kwargs)})")

    def _launch(self, frame: FrameType) -> None:
        """`kernel[grid](…)`, whoever launches it; what tunes or fills in arguments runs the kernel in it once more."""
        back = frame.f_back
        if back is not None and back.f_code.co_name == "run" and self.handler(back.f_code) == self._launch:
            return
        given = frame.f_locals
        function = _innermost(given.get("self"))
        code = getattr(function, "__code__", None)
        if code is None or given.get("warmup") is True:
            return
        for one in self._by_file.get(_real(code.co_filename), ()):
            if one.kind == "kernel" and one.entry == function.__name__:
                self._note(one, lambda one=one: _launched(one.entry, function, given))  # type: ignore[misc]

    def _note(self, one: Watched, write: Callable[[], str | None]) -> None:
        from kernelwright.proof.worker.recording.written import Unsayable

        noted = self._noted.setdefault((one.file, one.entry), set())
        if len(noted) >= _MOST:
            return
        try:
            line, refused = write(), ""
        except Unsayable as unsayable:
            line, refused = "", str(unsayable)
        except Exception as error:  # noqa: BLE001  (values of any kind: recording must not fail what it watches)
            line, refused = "", f"could not be read: {type(error).__name__}"
        if line is None or (line or refused) in noted:
            return
        noted.add(line or refused)
        row = {"file": one.file, "entry": one.entry, "line": line, "refused": refused}
        with self._out.open("a", encoding="utf-8") as out:
            out.write(json.dumps(row) + "\n")


def begin(plan: str) -> None:
    """Record from now on, in this process, what the file `plan` asks for: {"watched": […], "out": folder}."""
    asked = json.loads(Path(plan).read_text(encoding="utf-8"))
    recorder = _Recorder([Watched(*one) for one in asked["watched"]], Path(asked["out"]))
    (_by_monitoring if hasattr(sys, "monitoring") else _by_profile)(recorder)


def _by_monitoring(recorder: _Recorder) -> None:
    """From Python 3.12 on: code that is of no interest is asked about once."""
    monitoring: Any = sys.monitoring  # type: ignore[attr-defined,unused-ignore]
    tool = next((number for number in (4, 3, 5, 2) if monitoring.get_tool(number) is None), None)
    if tool is None:
        return _by_profile(recorder)

    def begins(code: CodeType, offset: int) -> object:
        handler = recorder.handler(code)
        if handler is None:
            return monitoring.DISABLE
        recorder.see(sys._getframe(1), handler)
        return None

    monitoring.use_tool_id(tool, "kernelwright record")
    monitoring.register_callback(tool, monitoring.events.PY_START, begins)
    monitoring.set_events(tool, monitoring.events.PY_START)
    return None


def _by_profile(recorder: _Recorder) -> None:
    def event(frame: FrameType, kind: str, argument: object) -> None:
        if kind == "call" and (handler := recorder.handler(frame.f_code)) is not None:
            recorder.see(frame, handler)

    threading.setprofile(event)
    sys.setprofile(event)


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
