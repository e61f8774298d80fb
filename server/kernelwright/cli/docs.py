"""Writes the pages that are generated from the code: `python -m kernelwright.cli.docs [ROOT]`; a test keeps them current."""

import json
import sys
from pathlib import Path

from kernelwright.lsp.docs import protocol_page, settings_page, settings_schema
from kernelwright.macro.docs import strategies_page
from kernelwright.source.findings.docs import page as findings_page
from kernelwright.source.workload.words import page as workloads_page
from kernelwright.tools.table import declarations


def pages() -> dict[str, str]:
    """Path, relative to the repository, to content."""
    return {
        "docs/strategies.md": strategies_page(),
        "docs/findings.md": findings_page(),
        "docs/workloads.md": workloads_page(),
        "docs/settings.md": settings_page(),
        "docs/protocol.md": protocol_page(),
        "vscode-client/settings.schema.json": _json(settings_schema()),
        "vscode-client/tools.schema.json": _json(declarations()),
    }


def _json(data: object) -> str:
    return json.dumps(data, indent=2, ensure_ascii=False) + "\n"


def main() -> None:
    root = Path(sys.argv[1] if len(sys.argv) > 1 else ".")
    for name, content in pages().items():
        (root / name).write_text(content, encoding="utf-8")


if __name__ == "__main__":
    main()
