"""Counts the Triton kernels that a call launches, where Triton launches them: on a GPU, and in the interpreter."""

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
    interpreted: bool = False
    running: bool = False


@contextlib.contextmanager
def observed_launches(is_own: Callable[[str], bool]) -> Iterator[Launches]:
    """Within, launches are counted; `is_own` tells whether a file, by its path, is the user's. Without Triton: none.

    A launch that raises, and a warm-up, which compiles and launches nothing, count 0.
    """
    seen = Launches()
    try:
        from triton.runtime.interpreter import InterpretedFunction
        from triton.runtime.jit import JITFunction
    except ImportError:
        yield seen
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
                if own:
                    seen.raised[name] = f"{type(error).__name__}: {error}".splitlines()[0][:120]
                raise
            finally:
                seen.running = outer
            count = not kwargs.get("warmup", False)
            (seen.own if own else seen.foreign)[name] += count
            # Arguments other than tensors have no `numel`, or none that can be called.
            tensors = (given for given in (*args, *kwargs.values()) if callable(getattr(given, "numel", None)))
            seen.elements[name] += count * sum(tensor.numel() for tensor in tensors)
            if own and isinstance(alias := getattr(made, "name", None), str):
                seen.aliases.add(alias)
            return made

        return run

    compiled, emulated = JITFunction.run, InterpretedFunction.run
    with (
        mock.patch.object(JITFunction, "run", watched(compiled, interpreted=False)),
        mock.patch.object(InterpretedFunction, "run", watched(emulated, interpreted=True)),
    ):
        yield seen
