"""One file a strategy; each defines `STRATEGY`. The registry finds them, so that adding one touches no other file."""

import dataclasses
import functools
import importlib
import pkgutil

from kernelwright.macro.strategy import Group, Strategy
from kernelwright.values import Action, Language

_CUDA = "cuda"  # begins the files and ids of strategies for CUDA C++: who works on other kernels does not load them


@functools.cache
def _loaded(cuda: bool) -> dict[str, Strategy]:
    modules = (m.name for m in pkgutil.iter_modules(__path__) if m.name.startswith(f"{_CUDA}_") is cuda)
    found = (importlib.import_module(f"{__name__}.{name}").STRATEGY for name in modules if not name.startswith("_"))
    return {strategy.id: strategy for strategy in sorted(found, key=lambda s: s.id)}


def _beside(name: str) -> dict[str, Strategy]:
    """The strategies among which is the one with this id, or those of this group."""
    return _loaded(name.startswith(f"{_CUDA}."))


@functools.cache
def registry() -> dict[str, Strategy]:
    """Every strategy by id, in order of id."""
    return {**_loaded(True), **_loaded(False)}


def by_id(id: str) -> Strategy | None:
    """The strategy with this id; None where there is none."""
    return _beside(id).get(id)


def with_id(id: str) -> Strategy:
    """The strategy with this id. Raises KeyError."""
    return _beside(id)[id]


@functools.cache
def groups() -> dict[str, Group]:
    """Every group of strategies by id."""
    return {strategy.group.id: strategy.group for strategy in registry().values() if strategy.group is not None}


def for_language(language: Language) -> tuple[Strategy, ...]:
    loaded = _loaded(language is Language.CUDA)
    return tuple(strategy for strategy in loaded.values() if language in strategy.languages)


def named(name: str) -> tuple[Strategy, ...]:
    """The strategies that `name` stands for: one by its id, or those of a group; none where nothing is called so."""
    if (found := by_id(name)) is not None:
        return (found,)
    return tuple(one for one in _beside(name).values() if one.group is not None and one.group.id == name)


def switched_off(names: str) -> tuple[frozenset[str], tuple[str, ...]]:
    """The ids of the strategies that a list of names, separated by commas, stands for; and the names of none."""
    each = [name for one in names.split(",") if (name := one.strip())]
    ids = frozenset(strategy.id for name in each for strategy in named(name))
    return ids, tuple(name for name in each if not named(name))


def title_of(name: str) -> str:
    """The title of a strategy or group; `name` itself where nothing is called so."""
    if (found := by_id(name)) is not None:
        return found.title
    return next((one.group.title for one in named(name) if one.group is not None), name)


def choices(language: Language | None = None) -> str:
    """What a strategy can be asked for by, of one language or of all, in words: a group stands for its strategies."""
    chosen = registry().values() if language is None else for_language(language)
    ids = dict.fromkeys(group_id(one.id) for one in chosen)
    return ", ".join(f"{id} (or one of its {len(named(id))} rules)" if by_id(id) is None else id for id in ids)


def group_id(strategy: str) -> str:
    """The id of the group of a strategy; its own where it has none."""
    found = by_id(strategy)
    return found.group.id if found is not None and found.group is not None else strategy


def renamed(action: Action) -> Action:
    """`action` under the id of today: journals of earlier versions name a group, and the strategy as a parameter `rule`."""
    rule = action.params.get("rule")
    if by_id(action.strategy) is not None or by_id(f"{action.strategy}.{rule}") is None:
        return action
    params = {name: value for name, value in action.params.items() if name != "rule"}
    return dataclasses.replace(action, strategy=f"{action.strategy}.{rule}", params=params)
