"""The strategies page has every strategy with its words and an example."""

from kernelwright.macro.docs import strategies_page
from kernelwright.macro.strategies import by_id, for_language, registry
from kernelwright.values import Language


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


def test_every_strategy_is_found_by_its_id_and_among_those_of_its_languages() -> None:
    """Those for CUDA C++ are loaded apart from the others, by the beginning of their ids."""
    for id, strategy in registry().items():
        assert by_id(id) is strategy
        assert {one for one in Language if strategy in for_language(one)} == strategy.languages
    assert by_id("cuda.no-such-strategy") is by_id("torch.no-such-strategy") is None
