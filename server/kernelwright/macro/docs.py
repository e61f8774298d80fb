"""The docs page of the strategies, written from the registry."""

import difflib

from kernelwright.macro.strategies import registry
from kernelwright.macro.strategy import Strategy


def strategies_page() -> str:
    """The whole page as Markdown: one section a strategy, with its worked example as a diff."""
    strategies = tuple(registry().values())
    rows = [f"| [`{s.id}`](#{_anchor(s.id)}) | {s.title} | {s.family} | {_languages(s)} |" for s in strategies]
    head = (
        "# Strategies",
        "",
        "A strategy is one kind of macro optimisation. It says where it applies, or in words why it does not, and carries "
        "the change out as a small edit that is then verified and measured.",
        "",
        "| id | what it does | family | languages |",
        "|---|---|---|---|",
        *rows,
    )
    return "\n".join(head) + "\n\n" + "\n\n".join(_section(s) for s in strategies) + "\n"


def _section(strategy: Strategy) -> str:
    facts = [f"Family: {strategy.family}", f"languages: {_languages(strategy)}"]
    if strategy.needs_gpu:
        facts.append("needs a GPU to measure")
    if strategy.needs_graph:
        facts.append("works on the captured op graph")
    if strategy.rewrite is None:
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
