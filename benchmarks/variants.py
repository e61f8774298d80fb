"""Prints every variant that the deterministic coder writes, as digests, so that two versions can be compared.

`python -m benchmarks.variants KERNELBENCH --out FILE [--against FILE]`. The texts are those of the worked examples and of the
KernelBench tasks whose graphs are kept in `.bench/graphs` (see `benchmarks.census`); nothing is run.
"""

import argparse
import json
from collections.abc import Iterator
from pathlib import Path

from benchmarks.census import GRAPHS

from kernelwright import wire
from kernelwright.cli.kernelbench import task_files
from kernelwright.coders.carrying_out import carried_out
from kernelwright.languages import of_file
from kernelwright.macro.policy import offered
from kernelwright.macro.strategies import for_language, registry
from kernelwright.macro.strategy import Observation, Strategy
from kernelwright.proof.jobs import Capture, Subject
from kernelwright.source.document import parse
from kernelwright.source.kernels import find_kernels
from kernelwright.source.workload import find_workload
from kernelwright.values import Graph, Language, Refusal, Workload, apply, digest
from kernelwright.values.targets import DEFAULT_TARGET, target


def written(name: str, strategy: Strategy, observation: Observation) -> Iterator[tuple[str, str]]:
    """The name of each variant, and its summary with the digest of its text."""
    actions = offered(strategy.id, observation)
    for number, action in enumerate(() if isinstance(actions, Refusal) else actions):
        edits = carried_out(strategy, observation, action)
        key = f"{name} {strategy.id} {number}"
        if isinstance(edits, Refusal):
            yield key, edits.reason
            continue
        for at, one in enumerate(edits):
            yield f"{key} {at}", f"{one.summary} {digest(apply(one, observation.text))}"


def examples() -> Iterator[tuple[str, str]]:
    """Those of the worked examples."""
    from kernelwright.proof.worker.graph.capture import capture  # loads torch

    for strategy in registry().values():
        text = strategy.example.before
        file = "example.cu" if Language.CUDA in strategy.languages else "example.py"
        support = of_file(Path(file))
        kernel = support.kernels(text)[0]
        workload = support.workload(text, kernel.entry)
        assert isinstance(workload, Workload)
        subject = Subject("/nowhere/example.py", text, workload)
        graph = capture(Capture(subject), lambda _: None) if strategy.needs_graph else None
        device = target("H200") or DEFAULT_TARGET
        yield from written(
            "example", strategy, Observation(file, text, kernel, workload, device, graph, support=support)
        )


def tasks(folder: Path, level: int) -> Iterator[tuple[str, str]]:
    """Those of the tasks of one level whose graph is kept."""
    for task, file in task_files(folder, level, "1-100"):
        text = file.read_text(encoding="utf-8")
        kept = GRAPHS / f"{digest(text)}.json"
        data = json.loads(kept.read_text(encoding="utf-8")) if kept.exists() else {}
        if data.get("$") != "Graph":
            continue
        kernel = next(k for k in find_kernels(parse(text)) if k.name == "Model")
        workload = find_workload(text, "Model")
        assert isinstance(workload, Workload)
        graph: Graph = wire.decode(Graph, data)
        observation = Observation(file.name, text, kernel, workload, target("H100") or DEFAULT_TARGET, graph)
        for strategy in for_language(Language.TORCH):
            yield from written(f"{level}/{task}", strategy, observation)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--against", type=Path, help="what another version has written with --out")
    given = parser.parse_args()
    found = dict(examples())
    for level in (1, 2, 3):
        found |= dict(tasks(given.folder, level))
    given.out.write_text(json.dumps(found, indent=1), encoding="utf-8")
    print(f"{len(found)} variants")
    if given.against is not None:
        before = json.loads(given.against.read_text(encoding="utf-8"))
        other = [key for key in {**before, **found} if before.get(key) != found.get(key)]
        print(f"{len(other)} differ", *other, sep="\n")


if __name__ == "__main__":
    main()
