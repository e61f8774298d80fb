"""One file a rule; each defines `RULE`. The registry finds them, so that adding one touches no other file."""

import functools
import importlib
import pkgutil

from kernelwright.source.findings.rule import Rule
from kernelwright.values import Language


@functools.cache
def registry() -> dict[str, Rule]:
    """Every rule by code, in order of code."""
    modules = (m.name for m in pkgutil.iter_modules(__path__) if not m.name.startswith("_"))
    found = (importlib.import_module(f"{__name__}.{name}").RULE for name in modules)
    return {rule.code: rule for rule in sorted(found, key=lambda r: r.code)}


@functools.cache
def for_language(language: Language) -> tuple[Rule, ...]:
    return tuple(rule for rule in registry().values() if rule.language is language)
