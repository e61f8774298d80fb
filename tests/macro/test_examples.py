"""Every strategy's worked example is what its rewrite makes of it; those for a language model: test_rewrites.py."""

import dataclasses
from pathlib import Path

import pytest

from kernelwright.coders.carrying_out import carried_out
from kernelwright.languages import of_file
from kernelwright.macro.strategies import registry
from kernelwright.macro.strategy import Observation, Strategy, ask
from kernelwright.proof.jobs import Capture, Subject
from kernelwright.proof.worker.graph.capture import capture
from kernelwright.values import Graph, Language, Refusal, Workload, apply
from macro.triton_files import H200, WITH_CUTE


def observed(text: str, *, needs_graph: bool = False, file: str = "example.py", reduced: bool = False) -> Observation:
    """The first kernel of `text`, with its workload and, where it is needed, its op graph."""
    support = of_file(Path(file))
    kernel = support.kernels(text)[0]
    workload = support.workload(text, kernel.entry)
    assert isinstance(workload, Workload), workload
    found = Observation(file, text, kernel, workload, H200, support=support, reduced=reduced)
    if not needs_graph:
        return found
    graph = capture(Capture(Subject("/nowhere/example.py", text, workload)), lambda stage: None)
    assert isinstance(graph, Graph), graph
    return dataclasses.replace(found, graph=graph)


def of_example(strategy: Strategy) -> Observation:
    """The example as the strategy sees it, reduced accuracy allowed where there may be a strategy for it."""
    is_cuda = Language.CUDA in strategy.languages
    file = "example.cu" if is_cuda else "example.py"
    found = observed(strategy.example.before, needs_graph=strategy.needs_graph, file=file, reduced=is_cuda)
    return dataclasses.replace(found, device=WITH_CUTE) if "cutlass" in strategy.example.after else found


MECHANICAL = {id: strategy for id, strategy in registry().items() if strategy.intent is not ask}


@pytest.mark.parametrize("strategy", MECHANICAL.values(), ids=MECHANICAL)
def test_the_first_variant_is_the_example(strategy) -> None:
    observation = of_example(strategy)
    actions = strategy.find(observation)
    assert not isinstance(actions, Refusal), actions.reason
    edits = carried_out(strategy, observation, actions[0])
    assert not isinstance(edits, Refusal), edits.reason
    assert apply(edits[0], observation.text) == strategy.example.after
