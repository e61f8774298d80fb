"""Which Triton kernels a call launches, seen where Triton launches them: on a GPU, and in the interpreter."""

import contextlib
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any
from unittest import mock  # the standard way to replace attributes for the length of a block


@dataclass
class Launches:
    """Launches by name of the kernel, of the user's files and of others; `running` while one is interpreted."""

    own: Counter[str] = field(default_factory=Counter)
    foreign: Counter[str] = field(default_factory=Counter)
    aliases: set[str] = field(default_factory=set)  # names that the compiler gave to own kernels
    interpreted: int = 0
    running: bool = False

    def clear(self) -> None:
        """Forget the counts, not which names were seen."""
        self.interpreted = 0
        for counter in (self.own, self.foreign):
            counter.update({name: -count for name, count in counter.items()})


@contextlib.contextmanager
def observed_launches(is_own: Callable[[str], bool]) -> Iterator[Launches]:
    """Within, launches are counted; `is_own` tells whether a file, by its path, is the user's. Without Triton: none."""
    seen = Launches()
    try:
        from triton.runtime.interpreter import InterpretedFunction
        from triton.runtime.jit import JITFunction
    except ImportError:
        yield seen
        return
    compiled_run, interpreted_run = JITFunction.run, InterpretedFunction.run

    def note(kernel: Any, warmup: bool) -> bool:
        """Whether the kernel is the user's own; a warm-up compiles and launches nothing."""
        code = getattr(kernel.fn, "__code__", None)
        own = code is not None and is_own(code.co_filename)
        (seen.own if own else seen.foreign)[kernel.fn.__name__] += not warmup
        return own

    def run(self: Any, *args: Any, **kwargs: Any) -> Any:
        own = note(self, kwargs.get("warmup", False))
        compiled = compiled_run(self, *args, **kwargs)
        if own and isinstance(name := getattr(compiled, "name", None), str):
            seen.aliases.add(name)
        return compiled

    def run_interpreted(self: Any, *args: Any, **kwargs: Any) -> Any:
        note(self, kwargs.get("warmup", False))
        seen.interpreted += 1
        outer, seen.running = seen.running, True
        try:
            return interpreted_run(self, *args, **kwargs)
        finally:
            seen.running = outer

    with mock.patch.object(JITFunction, "run", run), mock.patch.object(InterpretedFunction, "run", run_interpreted):
        yield seen
