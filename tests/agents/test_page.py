"""The page for agents lists the tools as they are."""

import asyncio
import inspect
import json
import re
from pathlib import Path

from kernelwright.mcp.server import INSTRUCTIONS, server
from kernelwright.settings import DEFAULTS
from kernelwright.tools.table import TOOLS, Row, declarations

PAGE = (Path(__file__).parents[2] / "docs/agents.md").read_text(encoding="utf-8")


def rows() -> list[str]:
    return [f"| `{row.name}({', '.join(arguments(row))})` | {first_paragraph(row)} |" for row in TOOLS]


def arguments(row: Row) -> list[str]:
    """Those that may be left out with a question mark."""
    given = [one for one in inspect.signature(row.run).parameters.values() if one.name != "asked"]
    return [one.name if one.default is inspect.Parameter.empty else f"{one.name}?" for one in given]


def first_paragraph(row: Row) -> str:
    return " ".join((inspect.getdoc(row.run) or "").split("\n\n")[0].split())


def test_the_table_is_that_of_the_tools() -> None:
    table = PAGE.partition("| tool |")[2].partition("\n\n")[0]
    assert table.splitlines()[2:] == rows()


def test_every_tool_says_when_to_use_it() -> None:
    assert [row.name for row in TOOLS if "\n\n" not in (inspect.getdoc(row.run) or "")] == ["revert", "export"]


def test_the_instructions_name_tools_that_there_are() -> None:
    assert set(re.findall(r"\b[a-z]+_[a-z]+\b", INSTRUCTIONS)) <= {row.name for row in TOOLS}


def test_the_snippets_are_json_that_starts_the_server() -> None:
    snippets = [json.loads(one) for one in re.findall(r"^```json\n(.*?)^```", PAGE, re.DOTALL | re.MULTILINE)]
    assert len(snippets) == 3
    for snippet in snippets:
        (servers,) = snippet.values()
        assert servers["kernelwright"]["command"] == "kernelwright"
        assert servers["kernelwright"]["args"][0] == "mcp"


def test_both_servers_declare_the_same_tools() -> None:
    """An argument that may be left out may also be null for the SDK, which has a title for each, too."""

    def kinds(schema: dict) -> dict[str, tuple]:
        return {
            name: (
                one.get("type", one.get("anyOf", [{}])[0].get("type")),
                one["description"],
                name in schema["required"],
            )
            for name, one in schema["properties"].items()
        }

    listed = asyncio.run(server(Path(), DEFAULTS).list_tools())
    assert [(one.name, one.title, one.description, kinds(one.input_schema)) for one in listed] == [
        (row["name"], row["title"], row["description"], kinds(row["inputSchema"])) for row in declarations()
    ]
