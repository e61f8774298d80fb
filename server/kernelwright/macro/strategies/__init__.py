"""One file a strategy; each defines `STRATEGY`. The registry finds them, so that adding one touches no other file."""

import dataclasses
import functools
import importlib
import pkgutil

from kernelwright.macro.strategy import Group, Strategy
from kernelwright.values import Action, Language


@functools.cache
def registry() -> dict[str, Strategy]:
    """Every strategy by id, in order of id."""
    modules = (m.name for m in pkgutil.iter_modules(__path__) if not m.name.startswith("_"))
    found = (importlib.import_module(f"{__name__}.{name}").STRATEGY for name in modules)
    return {strategy.id: strategy for strategy in sorted(found, key=lambda s: s.id)}


@functools.cache
def groups() -> dict[str, Group]:
    """Every group of strategies by id."""
    return {strategy.group.id: strategy.group for strategy in registry().values() if strategy.group is not None}


def for_language(language: Language) -> tuple[Strategy, ...]:
    return tuple(strategy for strategy in registry().values() if language in strategy.languages)


def named(name: str) -> tuple[Strategy, ...]:
    """The strategies that `name` stands for: one by its id, or those of a group; none where nothing is called so."""
    if name in registry():
        return (registry()[name],)
    return tuple(one for one in registry().values() if one.group is not None and one.group.id == name)


def switched_off(names: str) -> tuple[frozenset[str], tuple[str, ...]]:
    """The ids of the strategies that a list of names, separated by commas, stands for; and the names of none."""
    each = [name for one in names.split(",") if (name := one.strip())]
    ids = frozenset(strategy.id for name in each for strategy in named(name))
    return ids, tuple(name for name in each if not named(name))


def title_of(name: str) -> str:
    """The title of a strategy or group; `name` itself where nothing is called so."""
    found = registry().get(name) or groups().get(name)
    return found.title if found is not None else name


def choices(language: Language | None = None) -> str:
    """What a strategy can be asked for by, of one language or of all, in words: a group stands for its strategies."""
    chosen = registry().values() if language is None else for_language(language)
    ids = dict.fromkeys(group_id(one.id) for one in chosen)
    return ", ".join(f"{id} (or one of its {len(named(id))} rules)" if id in groups() else id for id in ids)


def group_id(strategy: str) -> str:
    """The id of the group of a strategy; its own where it has none."""
    found = registry().get(strategy)
    return found.group.id if found is not None and found.group is not None else strategy


def renamed(action: Action) -> Action:
    """`action` under the id of today: journals of earlier versions name a group, and the strategy as a parameter `rule`."""
    rule = action.params.get("rule")
    if action.strategy not in groups() or f"{action.strategy}.{rule}" not in registry():
        return action
    params = {name: value for name, value in action.params.items() if name != "rule"}
    return dataclasses.replace(action, strategy=f"{action.strategy}.{rule}", params=params)
