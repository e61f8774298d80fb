"""Generated pages say what the code says, and links between pages lead somewhere."""

import ast
import itertools
import re
from pathlib import Path

import pytest
from benchmarks import evidence

from kernelwright.cli.docs import pages
from kernelwright.values import CHECKS

ROOT = Path(__file__).parents[1]
WORKER = sorted((ROOT / "server/kernelwright/proof/worker").rglob("*.py"))
COMPILED = ROOT / "server/kernelwright/compiled.py"  # the one check that is made outside of a worker's trial


@pytest.mark.parametrize("name", pages())
def test_a_generated_page_is_current(name: str) -> None:
    assert (ROOT / name).read_text(encoding="utf-8") == pages()[name], "run `make docs`"


def test_the_page_of_evidence_is_current() -> None:
    assert evidence.PAGE.read_text(encoding="utf-8") == evidence.page(), "run `make docs`"


def test_the_page_on_trust_lists_the_checks_of_the_gate() -> None:
    table = (ROOT / "docs/trust.md").read_text(encoding="utf-8").partition("| check |")[2].partition("\n\n")[0]
    rows, part = [], ""
    for (of, shows), kinds in itertools.groupby(CHECKS, lambda kind: (kind.part, kind.shows)):
        same = list(kinds)
        names, costs = ", ".join(f"`{kind.name}`" for kind in same), "; ".join(kind.cost for kind in same if kind.cost)
        rows.append(f"| {f'**{of}**' if of != part else ''} | {names} | {shows} | {costs} |".replace("|  |", "| |"))
        part = of
    assert table.splitlines()[2:] == rows


def test_every_check_that_the_gate_makes_is_in_the_table() -> None:
    listed = {kind.name for kind in CHECKS}
    assert len(listed) == len(CHECKS)
    trees = [ast.parse(file.read_text(encoding="utf-8")) for file in (*WORKER, COMPILED)]
    strings = {node.value for tree in trees for node in ast.walk(tree) if isinstance(node, ast.Constant)}
    assert listed - strings == set()
    assert {name for tree in trees for name in _checks(tree)} - listed == set()


def _checks(tree: ast.Module) -> set[str]:
    """The names of the checks that a file makes by that name."""
    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)]
    made = [call.args[0] for call in calls if call.func.id in ("Check", "Finding") and call.args]
    return {name.value for name in made if isinstance(name, ast.Constant)}


@pytest.mark.parametrize("page", [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))], ids=lambda p: p.name)
def test_relative_links_lead_somewhere(page: Path) -> None:
    prose = re.sub(r"^```.*?^```|`[^`\n]*`", "", page.read_text(encoding="utf-8"), flags=re.DOTALL | re.MULTILINE)
    links = re.findall(r"\]\((?!https?:)([^)#\s]+)", prose)
    assert [link for link in links if not (page.parent / link).exists()] == []
