"""Arguments and options that several commands share."""

from pathlib import Path
from typing import Annotated, Literal

import typer

File = Annotated[
    Path, typer.Argument(metavar="FILE", help="A CUDA C++ file, or a Python file with Triton or PyTorch kernels.")
]
KernelName = Annotated[str | None, typer.Option("--kernel", metavar="NAME", help="Which kernel of the file.")]
JsonOut = Annotated[
    Path | None,
    typer.Option("--json", metavar="OUT", help="Also write the result as JSON; - prints it, and nothing else."),
]
Interpreter = Annotated[
    str | None, typer.Option("--interpreter", metavar="PYTHON", help="The Python that has torch and triton.")
]
Effort = Annotated[
    Literal["quick", "standard", "paranoid"],
    typer.Option("--effort", help="How much the gate looks at; no speedup is shown on quick."),
]
Without = Annotated[str, typer.Option(metavar="IDS", help="Not these strategies, separated by commas.")]
AcceptReduced = Annotated[
    bool,
    typer.Option(
        "--accept-reduced-accuracy", help="Let kernels pass that are clearly less accurate, within the usual tolerance."
    ),
]
Against = Annotated[Path | None, typer.Option("--against", metavar="BASELINE", help="Judge against this file.")]
Model = Annotated[
    str,
    typer.Option(
        metavar="MODEL",
        help="A language model for what no rule can: litellm:NAME, dir:FOLDER or replay:FILE.",
        envvar="KERNELWRIGHT_MODEL",
    ),
]
RecordedWorkloads = Annotated[
    Literal["file", "journal"],
    typer.Option(
        "--recorded-workloads",
        help="Where --write puts the lines: above what they call, or into the journal.",
        envvar="KERNELWRIGHT_RECORDED_WORKLOADS",
    ),
]
ModelLog = Annotated[str, typer.Option(metavar="FILE", help="Add questions and answers to this file, for replay.")]
ModelUrl = Annotated[str, typer.Option(metavar="URL", help="Address of the model's server, for one of your own.")]
