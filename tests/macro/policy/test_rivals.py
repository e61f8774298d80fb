"""Which Actions are raced against the one that ranks first."""

import dataclasses

import pytest

from kernelwright.macro.policy import Scored, rivals
from kernelwright.macro.strategy import Observation
from kernelwright.source.document import parse
from kernelwright.source.kernels import find_kernels
from kernelwright.values import CPU, STOP, Action, Region
from kernelwright.values.targets import target

TEXT = "import torch\n\n\ndef f(x):\n    return torch.relu(x) + 1\n"


def scored(strategy: str, score: float, line: int = 0) -> Scored:
    return Scored(Action(strategy, Region(line, line + 1, "")), score, score, "")


STOPPING = Scored(STOP, 0.02, 0.0, "")
LAYOUT, ROWS, POINTS = "torch.channels-last", "torch.fuse-row-reduction", "torch.fuse-pointwise"
PRODUCT = "torch.fuse-product"
COMPILE, GRAPH = "torch.compile-module", "torch.cuda-graph"
ASKED = "torch.rewrite.fuse-statements"
RULE = "torch.reassociate.reduce-features"
GPU = target("H100")


@pytest.mark.parametrize(
    ("ranked", "expected"),
    [
        ((scored(LAYOUT, 0.3), scored(ROWS, 0.2), scored(POINTS, 0.1), STOPPING), [LAYOUT, ROWS, POINTS]),
        ((scored(LAYOUT, 0.3), STOPPING, scored(POINTS, 0.01)), [LAYOUT]),  # below what a step must gain
        ((scored(POINTS, 0.3, 1), scored(POINTS, 0.2, 5), STOPPING), [POINTS]),  # one place at a time
        ((scored(RULE, 0.3), scored(POINTS, 0.2), STOPPING), [RULE]),  # cannot lose
        ((scored(POINTS, 0.3), scored(COMPILE, 0.2), scored(GRAPH, 0.1), STOPPING), [POINTS, COMPILE, GRAPH]),
        (
            (
                *(scored(one, 0.3) for one in (LAYOUT, ROWS, POINTS, PRODUCT)),
                scored(COMPILE, 0.1),
                scored(GRAPH, 0.1),
                STOPPING,
            ),
            [LAYOUT, ROWS, POINTS, COMPILE, GRAPH],  # the whole module, besides three of its parts
        ),
        ((scored(PRODUCT, 1.5), scored(COMPILE, 0.1), STOPPING), [PRODUCT]),  # would be compiled in vain
        ((scored(GRAPH, 0.3), scored(COMPILE, 0.1), STOPPING), [GRAPH, COMPILE]),
        ((scored(POINTS, 0.3), scored(ASKED, 0.2), STOPPING), [POINTS]),  # a model is asked for nothing in vain
        ((scored(ASKED, 0.3), scored(POINTS, 0.2), STOPPING), [ASKED]),
        ((scored("triton.tune-launch", 0.3), scored("triton.autotune", 0.2), STOPPING), ["triton.tune-launch"]),
    ],
)
def test_what_excludes_one_another_is_raced(ranked: tuple[Scored, ...], expected: list[str]) -> None:
    assert [action.strategy for action in rivals(observation(), ranked)] == expected


def test_without_a_gpu_there_is_nothing_to_race() -> None:
    ranked = (scored(LAYOUT, 0.3), scored(ROWS, 0.2), STOPPING)
    here = dataclasses.replace(observation(), device=CPU)
    assert [action.strategy for action in rivals(here, ranked)] == [LAYOUT]


def observation() -> Observation:
    return Observation("f.py", TEXT, find_kernels(parse(TEXT))[0], None, GPU)
