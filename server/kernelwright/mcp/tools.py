"""The tools of the server, one row each. The docstring of what carries it out is what an agent is told of it."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from mcp.types import CallToolResult, ToolAnnotations

from kernelwright.mcp import keeping, looking, trying, workloads


@dataclass(frozen=True)
class Row:
    """`writes`: whether it may change files of the workspace."""

    run: Callable[..., Awaitable[CallToolResult]]
    title: str
    writes: bool = False

    @property
    def name(self) -> str:
        return self.run.__name__

    @property
    def hints(self) -> ToolAnnotations:
        return ToolAnnotations(
            title=self.title, read_only_hint=not self.writes, destructive_hint=self.writes, open_world_hint=False
        )


TOOLS = (
    Row(looking.list_kernels, "List kernels"),
    Row(looking.list_findings, "List findings"),
    Row(looking.list_strategies, "List strategies"),
    Row(looking.roofline, "Roofline"),
    Row(looking.action_prompt, "Prompt for one change"),
    Row(trying.verify, "Verify a change"),
    Row(trying.measure, "Measure a change"),
    Row(trying.keep_step, "Keep a step", writes=True),
    Row(keeping.history, "History"),
    Row(keeping.revert, "Take a step back", writes=True),
    Row(keeping.export, "Export a step"),
    Row(workloads.record_workloads, "Record workloads", writes=True),
    Row(workloads.infer_workloads, "Infer workloads", writes=True),
)
