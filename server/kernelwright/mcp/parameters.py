"""The parameters that tools share, each with what an agent is told of it."""

from typing import Annotated

from pydantic import Field

File = Annotated[str, Field(description="A Python file of the workspace: its path from there, or an absolute one.")]
KernelName = Annotated[str, Field(description="The kernel's name, as list_kernels tells it.")]
OneKernel = Annotated[str | None, Field(description="Only this kernel; without it, all of the file.")]
StrategyId = Annotated[str, Field(description="The strategy's id, as list_strategies tells it.")]
Text = Annotated[
    str | None,
    Field(description="The whole file as it is to be. Give either this or `blocks`."),
]
Blocks = Annotated[
    str | None,
    Field(
        description=(
            "The change against the file as it stands, as one or more blocks of lines `<<<<<<< SEARCH`, the lines as they are, "
            "`=======`, the lines in their place, `>>>>>>> REPLACE`. An answer to action_prompt can be given as it is. Give "
            "either this or `text`."
        )
    ),
]
StepId = Annotated[str | None, Field(description="A step's id; without it, the last kept one.")]
Write = Annotated[bool, Field(description="Whether to write the lines to the files; otherwise they are only told.")]
