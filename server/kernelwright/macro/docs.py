"""The docs page of the strategies, written from the registry."""

import difflib

from kernelwright.macro.strategies import registry
from kernelwright.macro.strategy import Group, Strategy, ask


def strategies_page() -> str:
    """The whole page as Markdown: one section a strategy, with its worked example as a diff."""
    strategies = tuple(registry().values())
    told = _with_groups(strategies)
    rows = [_row(one) for one in told]
    head = (
        "# Strategies",
        "",
        "A strategy is one kind of macro optimisation. It says where it applies, or in words why it does not, and carries "
        "the change out as a small edit that is then verified and measured. The name of a group stands for all of its rules.",
        "",
        "| id | what it does | family | languages |",
        "|---|---|---|---|",
        *rows,
    )
    return "\n".join(head) + "\n\n" + "\n\n".join(_section(one) for one in told) + "\n"


def _with_groups(strategies: tuple[Strategy, ...]) -> tuple[Strategy | Group, ...]:
    """The strategies, with each group before its first one."""
    told: dict[str, Strategy | Group] = {}
    for strategy in strategies:
        if strategy.group is not None:
            told.setdefault(strategy.group.id, strategy.group)
        told[strategy.id] = strategy
    return tuple(told.values())


def _row(one: Strategy | Group) -> str:
    link = f"[`{one.id}`](#{_anchor(one.id)})"
    if isinstance(one, Group):
        return f"| {link} | {one.title}: every rule below its name | | |"
    return f"| {link} | {one.title} | {one.family} | {_languages(one)} |"


def _section(strategy: Strategy | Group) -> str:
    if isinstance(strategy, Group):
        return f"## {strategy.id}\n\n**{strategy.title}.** {strategy.why.strip()}\n\n{strategy.doc.strip()}"
    facts = [f"Family: {strategy.family}", f"languages: {_languages(strategy)}"]
    if strategy.needs_gpu:
        facts.append("needs a GPU to measure")
    if strategy.needs_graph:
        facts.append("works on the captured op graph")
    if strategy.intent is ask:
        facts.append("carried out by a language model")
    parts = (
        f"## {strategy.id}",
        f"**{strategy.title}.** {'; '.join(facts)}.",
        strategy.why.strip(),
        strategy.doc.strip(),
        "Example:\n\n" + _diff(strategy),
    )
    return "\n\n".join(parts)


def _diff(strategy: Strategy) -> str:
    before, after = strategy.example.before.splitlines(), strategy.example.after.splitlines()
    lines = difflib.unified_diff(before, after, "before", "after", lineterm="", n=3)
    return "\n".join(("```diff", *(line.rstrip() for line in lines), "```"))


def _languages(strategy: Strategy) -> str:
    return ", ".join(sorted(strategy.languages))


def _anchor(id: str) -> str:
    """The anchor that Markdown renderers give the heading: dots vanish."""
    return id.replace(".", "")
