"""`kernelwright list PLACE…`: the kernels of files and folders, what each still lacks, and the command that comes next."""

import itertools
import os
import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path

from rich.markup import escape

from kernelwright import callers, elsewhere, files, joining, recording, words
from kernelwright.cli import console, lines
from kernelwright.cli.console import OUT
from kernelwright.cli.ending import DONE
from kernelwright.entries import lacks_workload
from kernelwright.languages import LanguageSupport
from kernelwright.mistakes import BadInput
from kernelwright.recording import Entry
from kernelwright.values import Refusal, Workload


def list_places(places: Sequence[Path], json_out: Path | None) -> int:
    """Print each kernel with its workload, or with why it has none, and one command to go on with. Raises BadInput."""
    files.check_result(json_out)
    texts, entries = lines.entries_in(places)
    if not entries:
        where = ", ".join(map(str, places)) or "this folder"
        raise BadInput(f"There is no kernel in {where}; name the files or folders that have some.")
    supports = console.languages(texts)
    lacking = [one for one in entries if lacks_workload(one, texts[Path(one.file)], supports[Path(one.file)])]
    others = [entry for entry in entries if entry.kind == "kernel"]
    found = {**callers.read_all(recording.source_files([Path.cwd()])), **texts} if lacking or others else {}
    graph = callers.imports(found)
    recorded = _recording(found, graph, lacking)
    rows, told = [], list[tuple[str, str]]()
    for entry in entries:
        file = os.path.relpath(entry.file)
        support = supports[Path(entry.file)]
        workload = _by_launcher(found, graph, entry, support) or support.workload(texts[Path(entry.file)], entry.name)
        missing = workload.reason if isinstance(workload, Refusal) else ""
        for kernel in entry.kernels:
            if entry in lacking and missing:
                following = recorded[entry] or f"kernelwright infer --write {shlex.quote(file)}"
            else:
                following = "" if missing else f"kernelwright optimize {shlex.quote(file)} --kernel {kernel}"
            rows.append({"file": entry.file, "kernel": kernel, "missing": missing, "next": following})
            said = missing if isinstance(workload, Refusal) else workload.told
            if entry in others and (sites := elsewhere.sites(found, graph, Path(entry.file), [kernel])[kernel]):
                where = words.launched_by([(site.function, os.path.relpath(site.file)) for site in sites])
                lacks = f"Launched by {where}; no workload says with what."
                said = lacks if entry in lacking and missing else said if missing else f"{said}; launched by {where}"
            told.append((f"[bold]{escape(kernel)}[/]  {escape(file)}: {escape(said)}", following))
    _print(told)
    console.write_json(json_out, {"kernels": rows})
    return DONE


def _print(told: Sequence[tuple[str, str]]) -> None:
    """What is said of each kernel, and below it the command that comes next: below the last of those that share it."""
    for (said, following), (_, later) in itertools.pairwise((*told, ("", ""))):
        OUT.print(said, soft_wrap=True)
        if following and following != later:
            OUT.print(f"  {escape(following)}", highlight=False, soft_wrap=True)


def _by_launcher(
    found: Mapping[Path, str], graph: callers.Graph, entry: Entry, support: LanguageSupport
) -> Workload | None:
    """How the one other file that launches a kernel is called; None where that is not known."""
    file = Path(entry.file)
    if entry.kind != "kernel" or file not in found:
        return None
    for kernel in support.kernels(found[file]):
        if kernel.name in entry.kernels and joining.may_be_joined(kernel):
            one = joining.with_launcher(found, graph, file, kernel, support)
            workload = support.workload(one.text, one.kernel.entry) if isinstance(one, joining.Joined) else None
            return workload if isinstance(workload, Workload) else None
    return None


def _recording(found: Mapping[Path, str], graph: callers.Graph, lacking: Sequence[Entry]) -> dict[Entry, str]:
    """The command that records each of the entries from the likeliest test or script below this folder; "" without one."""
    commands: dict[Entry, str] = {}
    for entry in lacking:
        likely = callers.callers(found, graph, Path(entry.file), {entry.name, *entry.kernels})
        commands[entry] = f"kernelwright record --write -- {lines.runs(likely[0])}" if likely else ""
    return commands
