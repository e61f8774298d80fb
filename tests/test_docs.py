"""Generated pages say what the code says, and links between pages lead somewhere."""

import re
from pathlib import Path

import pytest

from kernelwright.cli.docs import pages

ROOT = Path(__file__).parents[1]


@pytest.mark.parametrize("name", pages())
def test_a_generated_page_is_current(name: str) -> None:
    assert (ROOT / name).read_text(encoding="utf-8") == pages()[name], "run `make docs`"


@pytest.mark.parametrize("page", [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))], ids=lambda p: p.name)
def test_relative_links_lead_somewhere(page: Path) -> None:
    prose = re.sub(r"^```.*?^```|`[^`\n]*`", "", page.read_text(encoding="utf-8"), flags=re.DOTALL | re.MULTILINE)
    links = re.findall(r"\]\((?!https?:)([^)#\s]+)", prose)
    assert [link for link in links if not (page.parent / link).exists()] == []
