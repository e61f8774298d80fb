"""One file a strategy; each defines `STRATEGY`. The registry finds them, so that adding one touches no other file."""

import functools
import importlib
import pkgutil

from kernelwright.macro.strategy import Strategy
from kernelwright.values import Language


@functools.cache
def registry() -> dict[str, Strategy]:
    """Every strategy by id, in order of id."""
    modules = (m.name for m in pkgutil.iter_modules(__path__) if not m.name.startswith("_"))
    found = (importlib.import_module(f"{__name__}.{name}").STRATEGY for name in modules)
    return {strategy.id: strategy for strategy in sorted(found, key=lambda s: s.id)}


def for_language(language: Language) -> tuple[Strategy, ...]:
    return tuple(strategy for strategy in registry().values() if language in strategy.languages)
