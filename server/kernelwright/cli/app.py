"""The commands. Exit status 0: done, also when nothing helped; 1: the gate failed on verify; 2: bad input, no baseline; 3: this
machine lacks what the command needs.

Each imports what it needs when it is called, so that the others start at once.
"""

import sys
from pathlib import Path
from typing import Annotated, Literal

import typer

from kernelwright import __version__
from kernelwright.cli.ending import told_in_words
from kernelwright.cli.options import (
    AcceptReduced,
    Against,
    Effort,
    File,
    Interpreter,
    JsonOut,
    KernelName,
    Model,
    ModelLog,
    ModelUrl,
    RecordedWorkloads,
    Without,
)

app = typer.Typer(
    name="kernelwright",
    help="Optimises GPU kernels: one strategy at a time, verified against the baseline, then measured.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    add_completion=False,
)
bench = typer.Typer(help="Run a benchmark the way a user would.", no_args_is_help=True)
app.add_typer(bench, name="bench")


@app.command()
def optimize(
    file: File,
    kernel: KernelName = None,
    strategy: Annotated[str | None, typer.Option(metavar="ID", help="Only this strategy.")] = None,
    without: Without = "",
    steps: Annotated[int, typer.Option(min=1, help="Most steps to take.")] = 1,
    write: Annotated[bool, typer.Option("--write", help="Write kept steps to the file and the journal.")] = False,
    diff: Annotated[bool, typer.Option("--diff", help="Print the difference (the default without --write).")] = False,
    json_out: JsonOut = None,
    interpreter: Interpreter = None,
    effort: Effort = "standard",
    accept_reduced: AcceptReduced = False,
    model: Model = "",
    model_order: Annotated[
        Literal["after", "before", "both"],
        typer.Option(help="When the model is asked for what a rule can do, too; with both the faster step is kept."),
    ] = "after",
    model_rounds: Annotated[int, typer.Option(min=1, help="Most answers of the model in one step.")] = 3,
    model_log: ModelLog = "",
    model_url: ModelUrl = "",
) -> None:
    """Take the next step, or several, on one kernel."""
    with told_in_words(json_out):
        from kernelwright.cli.optimize import optimize_file

        how = {
            "effort": effort,
            "accept_reduced_accuracy": accept_reduced,
            "disabled_strategies": without,
            "model": model,
            "model_order": model_order,
            "model_rounds": model_rounds,
            "model_log": model_log,
            "model_base_url": model_url,
        }
        sys.exit(optimize_file(file, kernel, strategy, steps, write, diff or not write, json_out, interpreter, how))


@app.command()
def replay(
    file: File,
    kernel: KernelName = None,
    reset_baseline: Annotated[
        bool, typer.Option("--reset-baseline", help="Judge against the file as it is now: it computes something else.")
    ] = False,
    write: Annotated[bool, typer.Option("--write", help="Write kept steps to the file and the journal.")] = False,
    diff: Annotated[bool, typer.Option("--diff", help="Print the difference (the default without --write).")] = False,
    json_out: JsonOut = None,
    interpreter: Interpreter = None,
    effort: Effort = "standard",
    accept_reduced: AcceptReduced = False,
) -> None:
    """Take the kept steps of a kernel again, after its file has changed."""
    with told_in_words(json_out):
        from kernelwright.cli.replay import replay_file

        how = {"effort": effort, "accept_reduced_accuracy": accept_reduced}
        sys.exit(replay_file(file, kernel, reset_baseline, write, diff or not write, json_out, interpreter, how))


@app.command()
def prompt(
    file: File,
    strategy: Annotated[str, typer.Option(metavar="ID", help="The strategy that is asked for.")],
    kernel: KernelName = None,
    reply: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="Play this answer through parsing, gate and clock instead of printing the prompt."
        ),
    ] = None,
    write: Annotated[bool, typer.Option("--write", help="Write a kept step to the file and the journal.")] = False,
    json_out: JsonOut = None,
    interpreter: Interpreter = None,
) -> None:
    """Print what a language model is asked for one strategy, or play an answer to it."""
    with told_in_words(json_out):
        from kernelwright.cli.prompt import play_reply, print_prompt

        if reply is None:
            sys.exit(print_prompt(file, kernel, strategy, json_out, interpreter))
        sys.exit(play_reply(file, kernel, strategy, reply, write, json_out, interpreter))


@app.command()
def verify(
    file: File,
    kernel: KernelName = None,
    against: Against = None,
    json_out: JsonOut = None,
    interpreter: Interpreter = None,
    effort: Effort = "standard",
    accept_reduced: AcceptReduced = False,
) -> None:
    """Check a kernel against its baseline."""
    with told_in_words(json_out):
        from kernelwright.cli.trial import try_file

        how = {"effort": effort, "accept_reduced_accuracy": accept_reduced}
        sys.exit(try_file(file, kernel, against, json_out, interpreter, how, measure=False))


@app.command(name="list")
def kernels(
    places: Annotated[
        list[Path] | None, typer.Argument(metavar="PLACE...", help="Files or folders; the current folder if absent.")
    ] = None,
    json_out: JsonOut = None,
) -> None:
    """List kernels, what each still lacks, and the command that brings it."""
    with told_in_words(json_out):
        from kernelwright.cli.kernels import list_places

        sys.exit(list_places(places or [], json_out))


@app.command(context_settings={"allow_interspersed_args": False})
def record(
    command: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="-- COMMAND", help="A test or script that calls the kernels; without one, which there are."
        ),
    ] = None,
    places: Annotated[
        list[Path] | None,
        typer.Option("--in", metavar="PATH", help="Only kernels below here; the current folder if absent."),
    ] = None,
    write: Annotated[bool, typer.Option("--write", help="Write the lines above what they call.")] = False,
    recorded_workloads: RecordedWorkloads = "file",
    json_out: JsonOut = None,
) -> None:
    """Run a command once, and write down how it calls kernels, as workload lines."""
    with told_in_words(json_out):
        from kernelwright.cli.record import record_command

        how = {"recorded_workloads": recorded_workloads}
        sys.exit(record_command(command or [], places or [], write, json_out, how))


@app.command()
def infer(
    places: Annotated[
        list[Path], typer.Argument(metavar="PLACE...", help="Files, or folders, whose kernels have no workload.")
    ],
    kernel: KernelName = None,
    write: Annotated[bool, typer.Option("--write", help="Write the lines above what they call.")] = False,
    recorded_workloads: RecordedWorkloads = "file",
    json_out: JsonOut = None,
    interpreter: Interpreter = None,
    model: Model = "",
    model_log: ModelLog = "",
    model_url: ModelUrl = "",
) -> None:
    """Guess how kernels are called, and keep the workload lines that run; a model is asked where no guess does."""
    with told_in_words(json_out):
        from kernelwright.cli.infer import infer_places

        how = {
            "recorded_workloads": recorded_workloads,
            "model": model,
            "model_log": model_log,
            "model_base_url": model_url,
        }
        sys.exit(infer_places(places, kernel, write, json_out, interpreter, how))


@app.command(name="lines")
def lines_(
    file: File,
    kernel: KernelName = None,
    write: Annotated[bool, typer.Option("--write", help="Write the lines above what they call.")] = False,
    forget: Annotated[bool, typer.Option("--forget", help="Have the journal forget the lines.")] = False,
    json_out: JsonOut = None,
) -> None:
    """Show the workload lines that the journal keeps for a file; with both options they move into it."""
    with told_in_words(json_out):
        from kernelwright.cli.kept import show_lines

        sys.exit(show_lines(file, kernel, write, forget, json_out))


@app.command()
def measure(
    file: File,
    kernel: KernelName = None,
    against: Against = None,
    json_out: JsonOut = None,
    interpreter: Interpreter = None,
    effort: Effort = "standard",
    accept_reduced: AcceptReduced = False,
) -> None:
    """Check a kernel against its baseline, then time both."""
    with told_in_words(json_out):
        from kernelwright.cli.trial import try_file

        how = {"effort": effort, "accept_reduced_accuracy": accept_reduced}
        sys.exit(try_file(file, kernel, against, json_out, interpreter, how, measure=True))


@app.command()
def profile(
    file: File,
    kernel: KernelName = None,
    json_out: JsonOut = None,
    interpreter: Interpreter = None,
) -> None:
    """Say what one warm call launches, and how much of its time is in hand-written kernels."""
    with told_in_words(json_out):
        from kernelwright.cli.profile import profile_file

        sys.exit(profile_file(file, kernel, json_out, interpreter))


@app.command()
def strategies(
    language: Annotated[str | None, typer.Option(metavar="L", help="triton, torch or cuda.")] = None,
    json_out: JsonOut = None,
) -> None:
    """List the strategies."""
    with told_in_words(json_out):
        from kernelwright.cli.listing import list_strategies

        sys.exit(list_strategies(language, json_out))


@app.command()
def history(file: File, kernel: KernelName = None, json_out: JsonOut = None) -> None:
    """List the steps that were tried on a file."""
    with told_in_words(json_out):
        from kernelwright.cli.listing import list_history

        sys.exit(list_history(file, kernel, json_out))


@app.command()
def revert(
    file: File,
    step: Annotated[
        str | None, typer.Argument(metavar="STEP", help="A step's id; without it, the last kept one.")
    ] = None,
    json_out: JsonOut = None,
) -> None:
    """Take the file back to before a step."""
    with told_in_words(json_out):
        from kernelwright.cli.revert import revert_file

        sys.exit(revert_file(file, step, json_out))


@app.command()
def export(
    file: File,
    step: Annotated[
        str | None, typer.Argument(metavar="STEP", help="A step's id; without it, the last kept one.")
    ] = None,
    out: Annotated[Path | None, typer.Option(help="The script's file; without it, it is printed.")] = None,
    json_out: JsonOut = None,
) -> None:
    """A kept step as one script, or program of CUDA C++, that compares and times both texts without Kernelwright."""
    with told_in_words(json_out):
        from kernelwright.cli.export import export_step

        sys.exit(export_step(file, step, out, json_out))


@app.command()
def doctor(interpreter: Interpreter = None, json_out: JsonOut = None) -> None:
    """Say what is here: interpreter, torch, Triton, GPU, tools; and how to mend what is missing."""
    with told_in_words(json_out):
        from kernelwright.cli.listing import list_doctor

        sys.exit(list_doctor(interpreter, json_out))


@app.command()
def serve() -> None:
    """Run the language server on stdin and stdout."""
    from kernelwright.cli.main import serve as run

    run()


@app.command()
def mcp(
    workspace: Annotated[
        Path, typer.Option(metavar="DIR", help="Only files below here are looked at; the current folder if absent.")
    ] = Path(),
    interpreter: Interpreter = None,
    effort: Effort = "standard",
    accept_reduced: AcceptReduced = False,
    recorded_workloads: RecordedWorkloads = "file",
) -> None:
    """Run the server for agents on stdin and stdout: the Model Context Protocol."""
    with told_in_words():
        from kernelwright.cli.mcp import serve_agents

        how = {
            "effort": effort,
            "accept_reduced_accuracy": accept_reduced,
            "recorded_workloads": recorded_workloads,
        }
        serve_agents(workspace, interpreter, how)


@bench.command("kernelbench")
def kernelbench(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="The folder that holds level1, level2, …")],
    level: Annotated[int, typer.Option(min=1, max=4)] = 1,
    tasks: Annotated[str, typer.Option(metavar="1-100", help="Task numbers: 1-40,50.")] = "1-100",
    out: Annotated[Path, typer.Option(metavar="FILE", help="One JSON line a task is added here.")] = Path(
        "results.jsonl"
    ),
    resume: Annotated[bool, typer.Option("--resume", help="Skip tasks that FILE already holds.")] = False,
    steps: Annotated[int, typer.Option(min=1, help="Most steps a task.")] = 4,
    seconds: Annotated[float, typer.Option(help="Most seconds a task.")] = 180.0,
    compile_baseline: Annotated[
        bool, typer.Option("--torch-compile/--no-torch-compile", help="Measure torch.compile as well.")
    ] = True,
    without: Without = "",
    accept_reduced: AcceptReduced = False,
    interpreter: Interpreter = None,
) -> None:
    """Optimise KernelBench tasks and compare with eager fp32, eager TF32 and torch.compile."""
    with told_in_words():
        from kernelwright.cli.kernelbench import run_level

        how = {
            "max_steps": steps,
            "autopilot_budget": seconds,
            "disabled_strategies": without,
            "accept_reduced_accuracy": accept_reduced,
        }
        sys.exit(run_level(folder, level, tasks, out, resume, how, compile_baseline, interpreter))


@app.callback(invoke_without_command=True)
def version(show: Annotated[bool, typer.Option("--version", help="Print the version.", is_eager=True)] = False) -> None:
    if show:
        typer.echo(f"kernelwright {__version__}")
        raise typer.Exit
