"""The tools, one row each. The docstring of what carries one out is what an agent is told of it."""

import inspect
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

from kernelwright.tools import keeping, looking, trying, workloads
from kernelwright.tools.asking import Told
from kernelwright.tools.schema import schema
from kernelwright.wire import Json


@dataclass(frozen=True)
class Row:
    """`runs`: whether it may run code of the workspace; `writes`: whether it may change files there."""

    run: Callable[..., Awaitable[Told[Any]]]
    title: str
    runs: bool = False
    writes: bool = False

    @property
    def name(self) -> str:
        return self.run.__name__

    @property
    def description(self) -> str:
        return inspect.getdoc(self.run) or ""


TOOLS = (
    Row(looking.list_kernels, "List kernels"),
    Row(looking.list_findings, "List findings"),
    Row(looking.list_strategies, "List strategies", runs=True),
    Row(looking.roofline, "Roofline", runs=True),
    Row(looking.action_prompt, "Prompt for one change", runs=True),
    Row(trying.verify, "Verify a change", runs=True),
    Row(trying.measure, "Measure a change", runs=True),
    Row(trying.keep_step, "Keep a step", runs=True, writes=True),
    Row(keeping.history, "History"),
    Row(keeping.revert, "Take a step back", writes=True),
    Row(keeping.export, "Export a step"),
    Row(workloads.record_workloads, "Record workloads", runs=True, writes=True),
    Row(workloads.infer_workloads, "Infer workloads", runs=True, writes=True),
)


def declarations() -> list[Json]:
    """The tools as an editor's extension contributes them."""
    return [
        {
            "name": row.name,
            "title": row.title,
            "description": row.description,
            "runs": row.runs,
            "writes": row.writes,
            "inputSchema": schema(row.run),
        }
        for row in TOOLS
    ]
