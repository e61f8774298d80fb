"""The code of every diagnostic leads to the section of the documentation that explains it."""

import re
from pathlib import Path

import pytest

from kernelwright.lsp.diagnostics import described
from kernelwright.macro.strategies import groups
from kernelwright.macro.strategies import registry as strategies
from kernelwright.source.findings.rules import registry as rules


def sections(page: Path) -> set[str]:
    """The anchors of a page's headings, as a Markdown viewer makes them."""
    headings = re.findall(r"^#+ (.*)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w -]", "", heading).lower().replace(" ", "-") for heading in headings}


@pytest.mark.parametrize(
    ("page", "codes"),
    [
        ("strategies.md", (*strategies(), *groups())),
        ("findings.md", tuple(rules())),
        ("protocol.md", ("workload", "no-workload", "stale", "values", "not-checkable")),
    ],
)
def test_a_code_leads_to_the_section_that_explains_it(page: str, codes: tuple[str, ...]) -> None:
    assert codes
    for code in codes:
        path, _, section = described(code).href.partition("#")
        assert path.endswith(f"/docs/{page}"), code
        assert section in sections(Path(path.removeprefix("file://"))), code
