"""The parameters that tools share, each with what an agent is told of it."""

from typing import Annotated

File = Annotated[str, "A source file of the workspace: its path from there, or an absolute one."]
KernelName = Annotated[str, "The kernel's name, as list_kernels tells it."]
OneKernel = Annotated[str | None, "Only this kernel; without it, all of the file."]
StrategyId = Annotated[str, "The strategy's id, as list_strategies tells it."]
Text = Annotated[str | None, "The whole file as it is to be. Give either this or `blocks`."]
Blocks = Annotated[
    str | None,
    "The change against the file as it stands, as one or more blocks of lines `<<<<<<< SEARCH`, the lines as they are, "
    "`=======`, the lines in their place, `>>>>>>> REPLACE`. An answer to action_prompt can be given as it is. Give "
    "either this or `text`.",
]
StepId = Annotated[str | None, "A step's id; without it, the last kept one."]
Write = Annotated[
    bool,
    "Whether to write the lines to the files, or the journal where the settings say so; otherwise they are only told.",
]
