"""Counts on how many KernelBench tasks a strategy can write its code, and why not on the others; needs no GPU.

`python -m benchmarks.census KERNELBENCH [--levels 1,2,3] [--tasks 1-100] [--json OUT] [--list]`. Graphs are captured on
tensors without memory and kept in `.bench/graphs`, so a second run takes seconds. Some tasks import einops: without it, or a
folder on PYTHONPATH that `pip install --target FOLDER einops` has filled, they are not captured.
"""

import argparse
import datetime
import json
import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from benchmarks.summary import KEPT, write
from benchmarks.versions import versions

from kernelwright import wire
from kernelwright.cli.kernelbench import task_files
from kernelwright.coders.carrying_out import carried_out
from kernelwright.macro.strategies import for_language
from kernelwright.macro.strategy import Observation, Strategy, ask
from kernelwright.ops import Kind, row
from kernelwright.proof.jobs import Capture, Subject
from kernelwright.source.document import parse
from kernelwright.source.kernels import find_kernels
from kernelwright.source.workload import find_workload
from kernelwright.values import Failure, Graph, Language, Refusal, Workload, digest
from kernelwright.values.targets import target

GRAPHS = Path(__file__).parents[1] / ".bench" / "graphs"


@dataclass(frozen=True)
class Found:
    """What the strategies said of one task. `kernels`: those that write a kernel and can place it; `others`: the rest.

    `single`: the graph is one pointwise operator, which eager mode runs as one kernel already. `reason`: why no kernel.
    """

    level: int
    task: int
    name: str
    kernels: tuple[str, ...] = ()
    others: tuple[str, ...] = ()
    single: bool = False
    reason: str = ""


def examine(level: int, task: int, file: Path) -> Found:
    """Captures one task and asks every strategy; an Action counts where its rewrite answers with Edits."""
    text = file.read_text(encoding="utf-8")
    graph = _graph(file, text)
    if isinstance(graph, Failure):
        return Found(level, task, file.stem, reason=f"not captured: {graph.message}")
    kernel = next(k for k in find_kernels(parse(text)) if k.name == "Model")
    workload = find_workload(text, "Model")
    device = target("H100")
    assert isinstance(workload, Workload)
    assert device is not None
    observation = Observation(file.name, text, kernel, workload, device, graph)
    kernels, others, reasons = [], [], []
    for strategy in for_language(Language.TORCH):
        why = _refusal(strategy, observation)
        if why is None:
            (kernels if strategy.promises_kernel else others).append(strategy.id)
        elif strategy.promises_kernel and strategy.intent is not ask:
            reasons.append(why)
    return Found(
        level, task, file.stem, tuple(kernels), tuple(others), _single(graph), "" if kernels else _telling(reasons)
    )


def _refusal(strategy: Strategy, observation: Observation) -> str | None:
    """Why the strategy writes nothing here; None where it does."""
    actions = strategy.find(observation)
    if isinstance(actions, Refusal):
        return actions.reason
    edits = carried_out(strategy, observation, actions[0])
    return edits.reason if isinstance(edits, Refusal) else None


def _telling(reasons: Iterable[str]) -> str:
    """The first reason that is about the text and not that there is nothing to do."""
    reasons = tuple(reasons)
    some = [r for r in reasons if not r.startswith("There is no")]
    return next((r for r in some if not r.startswith("No run of")), (*some, *reasons)[0])


def _single(graph: Graph) -> bool:
    """Whether the call is one pointwise operator and nothing else."""
    nodes = [n for n in graph.nodes if row(n.op).kind is not Kind.CREATION and not row(n.op).reshapes]
    return len(nodes) == 1 and row(nodes[0].op).kind is Kind.POINTWISE


def _graph(file: Path, text: str) -> Graph | Failure:
    """The captured graph, from `.bench/graphs` where it has been captured before; a failure is not kept."""
    kept = GRAPHS / f"{digest(text)}.json"
    if kept.exists():
        return wire.decode(Graph, json.loads(kept.read_text(encoding="utf-8")))
    answer = _captured(file, text)
    if isinstance(answer, Graph):
        GRAPHS.mkdir(parents=True, exist_ok=True)
        kept.write_text(json.dumps(wire.encode(answer)), encoding="utf-8")
    return answer


def _captured(file: Path, text: str) -> Graph | Failure:
    from kernelwright.proof.worker.failed import JobFailed  # loads torch, which a second run has no need of
    from kernelwright.proof.worker.graph.capture import capture

    workload = find_workload(text, "Model")
    assert isinstance(workload, Workload)
    try:
        return capture(Capture(Subject(str(file), text, workload)), lambda _: None)
    except JobFailed as problem:
        return problem.failure


def by_reason(found: Iterable[Found]) -> dict[str, int]:
    """How often each reason was given, names of operators and of this text left out, the most frequent first."""
    return dict(Counter(_general(f.reason) for f in found if not f.kernels and not f.single).most_common())


def _general(reason: str) -> str:
    """The reason without what differs from task to task: operators, names in backticks, paths."""
    reason = re.sub(r"(?<=expression of )\w+|(?<=also does )\w+|(?<=mode runs )\w+|^\w+(?= stands)", "OP", reason)
    return re.sub(r"`[^`]*`|'[^']*'", "NAME", reason.split(", which")[0])


def summary(found: list[Found]) -> dict[str, object]:
    """For each level how many tasks there are, on how many a kernel is placed, and the reasons of the rest."""
    levels = {}
    for level in sorted({f.level for f in found}):
        of_level = [f for f in found if f.level == level]
        levels[str(level)] = {
            "tasks": len(of_level),
            "kernel": sum(bool(f.kernels) for f in of_level),
            "only another rewrite": sum(not f.kernels and bool(f.others) for f in of_level),
            "one pointwise operator": sum(f.single and not f.kernels for f in of_level),
            "refused": by_reason(of_level),
        }
    return levels


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--levels", default="1,2,3")
    parser.add_argument("--tasks", default="1-100")
    parser.add_argument("--json", type=Path, help=f"where the counts go; {KEPT}")
    parser.add_argument("--list", action="store_true", help="print each task with what was found")
    arguments = parser.parse_args()
    found = []
    for level in (int(part) for part in arguments.levels.split(",")):
        for task, file in task_files(arguments.folder, level, arguments.tasks):
            found.append(examine(level, task, file))
            if arguments.list:
                one = found[-1]
                print(f"{level}-{task:<3} {one.name[:44]:<44} {', '.join(one.kernels) or one.reason}", flush=True)
    told = {
        "date": datetime.date.today().isoformat(),
        "versions": versions("torch", "einops"),
        "settings": {"levels": arguments.levels, "tasks": arguments.tasks},
        "levels": summary(found),
    }
    print(json.dumps(told, indent=1))
    if arguments.json:
        write("census", told, arguments.json)


if __name__ == "__main__":
    main()
