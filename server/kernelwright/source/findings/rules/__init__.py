"""One file a rule; each defines `RULE`. The registry finds them, so that adding one touches no other file."""

import functools
import importlib
import pkgutil

from kernelwright.source.findings.rule import Rule
from kernelwright.values import Language


@functools.cache
def registry() -> dict[str, Rule]:
    """Every rule by code, in order of code."""
    found = (rule for language in Language for rule in for_language(language))
    return {rule.code: rule for rule in sorted(found, key=lambda rule: rule.code)}


@functools.cache
def for_language(language: Language) -> tuple[Rule, ...]:
    """The rules in files named after a language, in order of code: those of others are not loaded."""
    modules = (m.name for m in pkgutil.iter_modules(__path__) if m.name.startswith(f"{language.value}_"))
    found = (importlib.import_module(f"{__name__}.{name}").RULE for name in modules)
    return tuple(sorted(found, key=lambda rule: rule.code))


def by_code(code: str) -> Rule | None:
    """The rule with this code, which begins with its language; None where there is none."""
    language = next((one for one in Language if code.startswith(f"{one.value}.")), None)
    rules = () if language is None else for_language(language)
    return next((rule for rule in rules if rule.code == code), None)
