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
    elements: Counter[str] = field(default_factory=Counter)  # of the tensors that launches were given, by kernel
    raised: dict[str, str] = field(default_factory=dict)  # own kernels whose launch raised, with the error
    interpreted: int = 0
    running: bool = False

    def clear(self) -> None:
        """Forget the counts, not which names were seen."""
        self.interpreted = 0
        self.elements.clear()
        self.raised.clear()
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

    def own(kernel: Any) -> bool:
        code = getattr(kernel.fn, "__code__", None)
        return code is not None and is_own(code.co_filename)

    @contextlib.contextmanager
    def noted(kernel: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Iterator[None]:
        """Counts a launch that did not raise; a warm-up compiles and launches nothing."""
        name = kernel.fn.__name__
        try:
            yield
        except Exception as error:
            if own(kernel):
                seen.raised[name] = f"{type(error).__name__}: {error}".splitlines()[0][:120]
            raise
        launched = not kwargs.get("warmup", False)
        (seen.own if own(kernel) else seen.foreign)[name] += launched
        seen.elements[name] += launched * _elements((*args, *kwargs.values()))

    def run(self: Any, *args: Any, **kwargs: Any) -> Any:
        with noted(self, args, kwargs):
            compiled = compiled_run(self, *args, **kwargs)
        if own(self) and isinstance(name := getattr(compiled, "name", None), str):
            seen.aliases.add(name)
        return compiled

    def run_interpreted(self: Any, *args: Any, **kwargs: Any) -> Any:
        seen.interpreted += 1
        outer, seen.running = seen.running, True
        try:
            with noted(self, args, kwargs):
                return interpreted_run(self, *args, **kwargs)
        finally:
            seen.running = outer

    with mock.patch.object(JITFunction, "run", run), mock.patch.object(InterpretedFunction, "run", run_interpreted):
        yield seen


def _elements(arguments: tuple[Any, ...]) -> int:
    """Of all tensors among the arguments of a launch; other arguments have no `numel`, or none that can be called."""
    return sum(argument.numel() for argument in arguments if callable(getattr(argument, "numel", None)))
