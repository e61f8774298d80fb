"""The strategies page has every strategy with its words and an example."""

from kernelwright.macro.docs import strategies_page
from kernelwright.macro.strategies import registry


def test_every_strategy_has_a_section_with_its_example() -> None:
    page = strategies_page()
    for strategy in registry().values():
        section = page.split(f"\n## {strategy.id}\n")[1].split("\n## ")[0]
        assert strategy.why in section
        assert strategy.doc.strip() in section
        added = set(strategy.example.after.splitlines()) - set(strategy.example.before.splitlines())
        assert any(f"+{line.rstrip()}" in section for line in added)


def test_what_a_strategy_prepares_for_exists() -> None:
    known = registry()
    assert {name for strategy in known.values() for name in strategy.prepares} <= set(known)
    assert "torch.fuse-pointwise" in known["torch.channels-last"].prepares
