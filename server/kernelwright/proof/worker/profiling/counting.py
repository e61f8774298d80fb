"""Counts what a call runs: Triton's launches, on a GPU and in the interpreter, and torch's operators outside of those."""

import contextlib
import inspect
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any
from unittest import mock  # the standard way to replace attributes for the length of a block

from kernelwright.proof.worker import launches
from kernelwright.proof.worker.dispatch import DispatchMode
from kernelwright.proof.worker.inputs import tensors_in
from kernelwright.proof.worker.profiling.work import Part
from kernelwright.values import Origin


@dataclass
class Counts:
    """Runs by name and origin, with the elements of the tensors that they were given; `running` while one is interpreted.

    `launched` holds the origin of every kernel of Triton's, by each name that its compiler gave it; `raised` tells of the
    first of the user's whose launch raised.
    """

    runs: Counter[tuple[str, Origin]] = field(default_factory=Counter)
    elements: Counter[tuple[str, Origin]] = field(default_factory=Counter)
    launched: dict[str, Origin] = field(default_factory=dict)
    raised: str = ""
    interpreted: bool = False
    running: bool = False

    def add(self, name: str, origin: Origin, tensors: Any) -> None:
        self.runs[name, origin] += 1
        self.elements[name, origin] += sum(tensor.numel() for tensor in tensors_in(tensors))

    @property
    def parts(self) -> tuple[Part, ...]:
        """What ran, with elements for amounts."""
        return tuple(Part(*key, count, float(self.elements[key])) for key, count in self.runs.items())


@contextlib.contextmanager
def counted_launches(is_own: Callable[[str], bool]) -> Iterator[Counts]:
    """Within, launches are counted; `is_own` tells whether a file, by its path, is the user's. Without Triton: none.

    A launch that raises, one of no programs, and a warm-up, which compiles and launches nothing, do not count.
    """
    seen = Counts()
    with _noting(seen), _triton_counted(seen, is_own):
        yield seen


@contextlib.contextmanager
def _noting(seen: Counts) -> Iterator[None]:
    def hear(name: str, tensors: Any) -> None:
        seen.add(name, Origin.HAND_WRITTEN, tensors)
        seen.launched[name] = Origin.HAND_WRITTEN

    launches.listening.append(hear)
    try:
        yield
    finally:
        launches.listening.remove(hear)


@contextlib.contextmanager
def _triton_counted(seen: Counts, is_own: Callable[[str], bool]) -> Iterator[None]:
    try:
        from triton.runtime.interpreter import InterpretedFunction
        from triton.runtime.jit import JITFunction
    except ImportError:
        yield
        return

    def watched(launch: Callable[..., Any], *, interpreted: bool) -> Callable[..., Any]:
        def run(kernel: Any, *args: Any, **kwargs: Any) -> Any:
            name, code = kernel.fn.__name__, getattr(kernel.fn, "__code__", None)
            own = code is not None and is_own(code.co_filename)
            outer, seen.running = seen.running, interpreted or seen.running
            seen.interpreted |= interpreted
            try:
                made = launch(kernel, *args, **kwargs)
            except Exception as error:
                if own and not seen.raised:
                    seen.raised = f"{name} raises {f'{type(error).__name__}: {error}'.splitlines()[0][:120]}"
                raise
            finally:
                seen.running = outer
            origin = Origin.HAND_WRITTEN if own else Origin.LIBRARY
            if own:
                alias = getattr(made, "name", name)
                seen.launched |= {name: origin, (alias if isinstance(alias, str) else name): origin}
            else:
                seen.launched.setdefault(name, origin)
            if not kwargs.get("warmup", False) and not _is_empty(kernel, args, kwargs):
                seen.add(name, origin, (args, kwargs))
            return made

        return run

    compiled, emulated = JITFunction.run, InterpretedFunction.run
    with (
        mock.patch.object(JITFunction, "run", watched(compiled, interpreted=False)),
        mock.patch.object(InterpretedFunction, "run", watched(emulated, interpreted=True)),
    ):
        yield


def _is_empty(kernel: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
    """Whether the grid of a launch that went well has no programs."""
    grid = kwargs.get("grid", ())
    if callable(grid):
        defaults = {
            p.name: p.default for p in inspect.signature(kernel.fn).parameters.values() if p.default is not p.empty
        }
        grid = grid({**defaults, **dict(zip(kernel.arg_names, args, strict=False)), **kwargs})
    return 0 in (grid if isinstance(grid, tuple | list) else (grid,))


class CountedOperators(DispatchMode):
    """Within it operators outside of interpreted launches are counted, with the tensors that they take and give."""

    def __init__(self, seen: Counts) -> None:
        super().__init__()
        self._seen = seen

    def seen(self, func: Any, packet: Any, args: Any, kwargs: Any, made: Any) -> Any:
        if not self._seen.running and not getattr(func, "is_view", False):
            # Operators of higher order, such as flex attention, have no schema.
            schema = getattr(func, "_schema", None)
            self._seen.add(schema.name if schema is not None else str(func), Origin.LIBRARY, (args, kwargs, made))
        return made
