"""The kinds of mistakes, one file each; a new file is found by its OPERATOR."""

import importlib
import pkgutil

from benchmarks.mutants.mutant import Operator


def _found() -> tuple[Operator, ...]:
    names = sorted(module.name for module in pkgutil.iter_modules(__path__))
    return tuple(importlib.import_module(f"{__name__}.{name}").OPERATOR for name in names)


OPERATORS = _found()
