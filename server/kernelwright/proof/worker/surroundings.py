"""What all code of a process shares, as a table of rows that are read, compared and put back. Standard library alone."""

import functools
import locale
import os
import resource
import signal
import sys
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

ENVIRONMENT = "os.environ"
_DECISIVE = ("NVIDIA_TF32_OVERRIDE", "TORCH_ALLOW_TF32_CUBLAS_OVERRIDE")  # variables that change results, as unset ones
_BROAD = (Warning, UserWarning, RuntimeWarning, DeprecationWarning, FutureWarning, SyntaxWarning, ImportWarning)
_SIGNALS = ("SIGINT", "SIGTERM", "SIGALRM", "SIGCHLD", "SIGHUP", "SIGUSR1", "SIGUSR2")
_LIMITS = ("RLIMIT_AS", "RLIMIT_DATA", "RLIMIT_FSIZE", "RLIMIT_NOFILE", "RLIMIT_CPU")


@dataclass(frozen=True)
class Row:
    """One thing that code can change for all other code; its value may be a mapping. `write` None: it cannot be put back."""

    name: str
    read: Callable[[], Any]
    write: Callable[[Any], object] | None = None


def _umask() -> int:
    before = os.umask(0o077)  # there is no other way to ask
    os.umask(before)
    return before


def _environment() -> dict[str, str | None]:
    return _decoded(tuple(os.environ._data.items()))  # type: ignore[attr-defined]


@functools.lru_cache(maxsize=4)
def _decoded(variables: tuple[tuple[bytes, bytes], ...]) -> dict[str, str | None]:
    """Decode the environment's variables, which takes a third of a reading and is the same nearly every time."""
    return {**dict.fromkeys(_DECISIVE), **{os.fsdecode(name): os.fsdecode(value) for name, value in variables}}


def _set_environment(values: Mapping[str, str | None]) -> None:
    os.environ.clear()
    os.environ.update({name: value for name, value in values.items() if value is not None})


def _filters() -> tuple[tuple[str, str], ...]:
    """Those of warnings of all modules; libraries add some for their own when they are imported."""
    return tuple((f[0], f[2].__name__) for f in warnings.filters if _is_broad(f))


def _is_broad(one: tuple[Any, ...]) -> bool:
    return one[1] is None and one[3] is None and one[2] in _BROAD


def _set_filters(values: Sequence[tuple[str, str]]) -> None:
    others = [one for one in warnings.filters if not _is_broad(one)]
    categories = {category.__name__: category for category in _BROAD}
    warnings.resetwarnings()
    for action, name in reversed(values):
        warnings.simplefilter(action, categories[name])  # type: ignore[arg-type]
    warnings.filters[:0] = others  # type: ignore[index]


def _limit(name: str) -> Row:
    which = getattr(resource, name)
    return Row(f"resource.{name}", lambda: resource.getrlimit(which), lambda value: resource.setrlimit(which, value))


def _handler(name: str) -> Row:
    which = getattr(signal, name)
    return Row(f"the handler of {name}", lambda: str(getattr(now := signal.getsignal(which), "__qualname__", now)))


ROWS: tuple[Row, ...] = (
    Row(ENVIRONMENT, _environment, _set_environment),
    Row("os.getcwd()", os.getcwd, os.chdir),
    Row("os.umask()", _umask, os.umask),
    Row(
        "locale.setlocale()",
        lambda: locale.setlocale(locale.LC_ALL),
        lambda value: locale.setlocale(locale.LC_ALL, value),
    ),
    Row("sys.getrecursionlimit()", sys.getrecursionlimit, sys.setrecursionlimit),
    Row("sys.getswitchinterval()", sys.getswitchinterval, sys.setswitchinterval),
    Row(
        "signal.pthread_sigmask()",
        lambda: frozenset(map(int, signal.pthread_sigmask(signal.SIG_BLOCK, ()))),
        lambda value: signal.pthread_sigmask(signal.SIG_SETMASK, value),
    ),
    Row("warnings.filters", _filters, _set_filters),
    *map(_limit, _LIMITS),
    *map(_handler, _SIGNALS),
)


def read(rows: Sequence[Row] = ROWS) -> dict[str, Any]:
    """The values by the rows' names; of what cannot be read, as a folder that is gone, the error's."""
    return {row.name: _value(row) for row in rows}


def write(settings: Mapping[str, Any], rows: Sequence[Row] = ROWS) -> None:
    """Put back what `read` returned; only what differs, since setting some imports a compiler, and what can be."""
    for row in rows:
        if row.name in settings and row.write is not None and _value(row) != settings[row.name]:
            try:
                row.write(settings[row.name])
            except (OSError, ValueError, RuntimeError):
                continue  # `differences` will tell


def differences(expected: Mapping[str, Any], got: Mapping[str, Any]) -> list[str]:
    """Sentences such as "torch.backends.cuda.matmul.allow_tf32 is True instead of False".

    Of the rows that `got` has. A new variable of the environment is none (see `added`), nor is a longer search path.
    """
    return list(_differences({name: value for name, value in expected.items() if name in got}, got))


def added(expected: Mapping[str, Any], got: Mapping[str, Any]) -> list[str]:
    """The variables of the environment that `got` alone has."""
    return sorted(got[ENVIRONMENT].keys() - expected[ENVIRONMENT].keys())


def changes(before: Mapping[str, Any], after: Mapping[str, Any]) -> dict[str, Any]:
    """What differs between two readings, as it is in the later one; None for what is gone."""
    found: dict[str, Any] = {}
    for name in before.keys() | after.keys():
        old, new = before.get(name), after.get(name)
        if old != new:
            found[name] = changes(old, new) if isinstance(old, Mapping) and isinstance(new, Mapping) else new
    return found


def changed_by(before: Mapping[str, Any], made: Mapping[str, Any]) -> dict[str, Any]:
    """A reading with the `changes` that another process saw between two of its own."""
    found = dict(before)
    for name, value in made.items():
        old = before.get(name)
        found[name] = changed_by(old, value) if isinstance(old, Mapping) and isinstance(value, Mapping) else value
    return found


def _value(row: Row) -> Any:
    try:
        return row.read()
    except (OSError, RuntimeError, ValueError) as error:
        return type(error).__name__


def _differences(expected: Mapping[str, Any], got: Mapping[str, Any], name: str = "{}") -> Iterator[str]:
    for key, value in expected.items():
        new = got.get(key)
        if new == value:
            continue
        if isinstance(value, Mapping) and isinstance(new, Mapping):
            yield from _differences(value, new, f"{key}[{{!r}}]")
        elif name.startswith(ENVIRONMENT) and isinstance(value, str):  # which may be nobody's business
            yield from [] if _extends(value, new or "") else [f"{name.format(key)} is {'changed' if new else 'gone'}"]
        else:
            yield f"{name.format(key)} is {new} instead of {value}"


def _extends(old: str, new: str) -> bool:
    return new.startswith(old + os.pathsep) or new.endswith(os.pathsep + old)
