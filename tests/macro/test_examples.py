"""Every strategy's worked example is what its rewrite makes of it; those for a language model: test_rewrites.py."""

import dataclasses

import pytest

from kernelwright.coders.carrying_out import carried_out
from kernelwright.macro.strategies import registry
from kernelwright.macro.strategy import Observation, ask
from kernelwright.proof.jobs import Capture, Subject
from kernelwright.proof.worker.graph.capture import capture
from kernelwright.source.document import parse
from kernelwright.source.kernels import find_kernels
from kernelwright.source.workload import find_workload
from kernelwright.values import Graph, Refusal, Workload, apply
from macro.triton_files import H200


def observed(text: str, *, needs_graph: bool) -> Observation:
    """The first kernel of `text`, with its workload and, where it is needed, its op graph."""
    kernel = find_kernels(parse(text))[0]
    workload = find_workload(text, kernel.entry)
    assert isinstance(workload, Workload), workload
    found = Observation("example.py", text, kernel, workload, H200)
    if not needs_graph:
        return found
    graph = capture(Capture(Subject("/nowhere/example.py", text, workload)), lambda stage: None)
    assert isinstance(graph, Graph), graph
    return dataclasses.replace(found, graph=graph)


MECHANICAL = {id: strategy for id, strategy in registry().items() if strategy.intent is not ask}


@pytest.mark.parametrize("strategy", MECHANICAL.values(), ids=MECHANICAL)
def test_the_first_variant_is_the_example(strategy) -> None:
    observation = observed(strategy.example.before, needs_graph=strategy.needs_graph)
    actions = strategy.find(observation)
    assert not isinstance(actions, Refusal), actions.reason
    edits = carried_out(strategy, observation, actions[0])
    assert not isinstance(edits, Refusal), edits.reason
    assert apply(edits[0], observation.text) == strategy.example.after
