"""Strategies that have a whole forward run in another way: where they are offered, and where their text goes."""

import ast
import asyncio
import re
from pathlib import Path

import pytest

from kept import Lent
from kernelwright.coders.carrying_out import carried_out
from kernelwright.engine import Engine, Request
from kernelwright.macro.policy import candidates
from kernelwright.macro.policy.expected_gain import expected_gain
from kernelwright.macro.strategies import registry
from kernelwright.macro.strategy import Strategy
from kernelwright.micro.rewrite.whole_speed import launches
from kernelwright.settings import Settings
from kernelwright.source.document import parse
from kernelwright.source.kernels import find_kernels
from kernelwright.values import Refusal, Step, apply
from kernelwright.values.targets import DEFAULT_TARGET
from macro.strategies.recorded_graphs import text_on_the_cpu
from macro.test_examples import observed
from macro.torch_modules import module, refusal, rewritten
from macro.torch_modules import observed as module_observed
from proof.worker.trials import ended_by, trial

WRAPS = [registry()[name] for name in ("torch.cuda-graph", "torch.compile-module")]
LAYERS = "self.linear = nn.Linear(16, 16)\nself.norm = nn.LayerNorm(16)"
CHAIN = "x = torch.tanh(self.linear(x))\nreturn self.norm(x) * 2 + 1"
STATISTICS = module(
    "return torch.tanh(self.norm(self.linear(x))) + 1",
    "self.linear = nn.Linear(16, 16)\nself.norm = nn.BatchNorm1d(16)",
)
FUNCTIONAL = "import torch.nn.functional as F\n"


@pytest.fixture(params=WRAPS, ids=lambda strategy: strategy.id)
def strategy(request: pytest.FixtureRequest) -> Strategy:
    return request.param


def test_without_a_gpu_every_variant_is_verified(strategy: Strategy) -> None:
    text = module(CHAIN, LAYERS)
    for candidate in rewritten(strategy, text):
        assert ended_by(text, candidate, rewritten=True) == "passed"


@pytest.fixture(params=["cpu", pytest.param("cuda", marks=pytest.mark.gpu)])
def place(request: pytest.FixtureRequest) -> str:
    return request.param


def taken(candidate: str, place: str) -> str:
    """The candidate, on the CPU with stand-ins for what only a GPU has; torch.compile traces, and runs that in eager mode."""
    if place == "cuda":
        return candidate
    traced = re.sub(
        r"torch\.compile\(forward.*\)", 'torch.compile(forward, backend="aot_eager", dynamic=False)', candidate
    )
    return text_on_the_cpu(traced)


def test_the_gate_holds_statistics_against_the_baselines(strategy: Strategy, place: str) -> None:
    for candidate in rewritten(strategy, STATISTICS):
        verdict = trial(STATISTICS, taken(candidate, place), rewritten=True).verdict
        assert verdict.passed, verdict.reason
        names = [check.name for check in verdict.checks]
        assert names.count("state") == 2
        assert ("nan-poison" in names) == (strategy is WRAPS[0])  # what was compiled is not called with such memory


def test_a_warm_up_that_counts_is_refused(place: str) -> None:
    candidate = rewritten(WRAPS[0], STATISTICS)[0]
    counting = candidate.replace("memory.copy_(before)", "pass")
    assert counting != candidate
    (failed,) = trial(STATISTICS, taken(counting, place), rewritten=True).verdict.failed_checks
    assert failed.detail.startswith("self.norm.running_mean after the call")


def test_the_engine_tries_it_and_says_that_it_needs_a_gpu(strategy: Strategy, tmp_path: Path) -> None:
    text, path = module(CHAIN, LAYERS), str(tmp_path / "model.py")

    async def body() -> None:
        engine = Engine(tmp_path, Settings(timing_budget=0.2), Lent())
        try:
            observation = await engine.observe_fully(path, text, "Model")
            scored = expected_gain()(observation, candidates(engine.menu(observation)))
            (ours,) = (one for one in scored if one.action.strategy == strategy.id)
            assert "There is no GPU here" in ours.reason
            assert not ours.score > 0.02
            step = await engine.optimize(Request(path, text, "Model", strategy=strategy.id))
            assert isinstance(step, Step), step
            assert step.verdict is not None
            assert step.verdict.passed, step.reason
        finally:
            await engine.close()

    asyncio.run(body())


def test_the_text_is_seen_as_before(strategy: Strategy) -> None:
    """The rewritten file has the kernels and the op graph of the one before it."""
    text = module(CHAIN, LAYERS)
    for candidate in rewritten(strategy, text):
        assert [kernel.name for kernel in find_kernels(parse(candidate))] == ["Model"]
        before, after = module_observed(text).graph, module_observed(candidate).graph
        assert [(n.op, n.args, n.kwargs, n.module) for n in after.nodes] == [
            (n.op, n.args, n.kwargs, n.module) for n in before.nodes
        ]
        assert all(node.where is not None for node in after.nodes)
        assert refusal(strategy, candidate).reason == "The forward is decorated already."


REFUSED = {
    "dropout": (
        module("return F.dropout(self.linear(x).tanh(), 0.5) + 1", LAYERS, more=FUNCTIONAL),
        "dropout draws random",
    ),
    "random": (module("return self.linear(x).tanh() + torch.rand_like(x)", LAYERS), "rand_like draws random"),
    "dropout behind batch norm": (
        module("return F.dropout(self.bn(x), 0.5, self.training) + 1", "self.bn = nn.BatchNorm1d(16)", more=FUNCTIONAL),
        "dropout draws random numbers in training mode",
    ),
    "statistics that are parameters": (
        module(
            "return F.batch_norm(x, self.mean, self.var, training=True).tanh() + 1",
            "self.mean = nn.Parameter(torch.zeros(16))\nself.var = nn.Parameter(torch.ones(16))",
            more=FUNCTIONAL,
        ),
        "writes to the parameter mean",
    ),
    "input": (module("x.add_(1)\nreturn self.linear(x).tanh() * 2", LAYERS), "writes to the input x"),
    "input by a view": (module("x[0].zero_()\nreturn self.linear(x).tanh() * 2", LAYERS), "writes to the input x"),
    "returned input": (module("return self.linear(x).tanh() + 1, x.t()", LAYERS), "a tensor that it did not make"),
    "shared": (module("y = self.linear(x).tanh() + 1\nreturn y, y.t()", LAYERS), "share their memory"),
    "gaps": (module("return (self.linear(x).tanh() + 1)[:, ::2]", LAYERS), "part of a larger tensor"),
    "attribute": (module("self.last = self.linear(x)\nreturn self.last.tanh() + 1", LAYERS), "sets self.last"),
    "print": (module("print('called')\nreturn self.linear(x).tanh() + 1", LAYERS), "uses print"),
    "numpy": (module(CHAIN.replace("2", "np.pi"), LAYERS, more="import numpy as np\n"), "uses np"),
    "outside": (
        module("SEEN.add_(1)\nreturn self.linear(x).tanh() + SEEN", LAYERS, more="\nSEEN = torch.zeros(16)\n"),
        "writes to a tensor that was there before",
    ),
    "global": (module(f"global calls\ncalls = 1\n{CHAIN}", LAYERS), "variables outside of it"),
    "arguments": (
        module(CHAIN, LAYERS).replace("forward(self, x)", "forward(self, x, *more)"),
        "any number of arguments",
    ),
    "decorated": (
        module(CHAIN, LAYERS).replace("    def forward", "    @torch.no_grad()\n    def forward"),
        "decorated already",
    ),
    "one kernel": (module("return torch.tanh(x)"), "launches one kernel"),
}


@pytest.mark.parametrize(("text", "words"), REFUSED.values(), ids=REFUSED)
def test_what_is_refused_and_why(strategy: Strategy, text: str, words: str) -> None:
    refused = refusal(strategy, text)
    assert words in refused.reason
    assert refused.reason.endswith(".")


OFFERED = {
    "dropout that is off": module("return F.dropout(self.norm(x).tanh() * 2, 0.5, False) + 1", LAYERS, more=FUNCTIONAL),
    "dropout of nothing": module(CHAIN.replace("self.norm(x)", "self.drop(x)"), f"{LAYERS}\nself.drop = nn.Dropout(0.0)"),
    "in place on its own": module("x = F.relu(self.linear(x), inplace=True)\nreturn self.norm(x) + 1", LAYERS, more=FUNCTIONAL),
    "recurrent layer": module("return self.gru(x)[0]", "self.gru = nn.GRU(16, 16)", "torch.randn(8, 4, 16)"),
    "batch norm": module("return torch.tanh(self.bn(x) * 2) + 1", "self.bn = nn.BatchNorm1d(16)"),
    "statistics of its own": module(
        "return torch.tanh(F.batch_norm(x, self.mean, self.var, training=True) * 2) + 1",
        'self.register_buffer("mean", torch.zeros(16))\nself.register_buffer("var", torch.ones(16))', more=FUNCTIONAL),
    "buffer in place": module("self.last.copy_(x[0])\nreturn self.linear(x).tanh() + self.last",
        f'{LAYERS}\nself.register_buffer("last", torch.zeros(16))'),
    "batch norm in eval": module("return torch.tanh(self.bn(x) * 2) + 1", "self.bn = nn.BatchNorm1d(16).eval()"),
    "two results": module("y = self.linear(x).tanh()\nreturn self.norm(y) + 1, y * 2", LAYERS),
}  # fmt: skip


@pytest.mark.parametrize("text", OFFERED.values(), ids=OFFERED)
def test_what_is_offered(strategy: Strategy, text: str) -> None:
    for candidate in rewritten(strategy, text):
        ast.parse(candidate)


def test_functions_and_parts_are_refused(strategy: Strategy) -> None:
    function = observed(
        "import torch\n\n\ndef f(x):\n    return torch.tanh(x) + 1\n\n\n# workload: f(randn(8, 8))\n", needs_graph=True
    )
    answer = strategy.find(function)
    assert isinstance(answer, Refusal)
    assert "f is a function" in answer.reason
    part = "class Part(nn.Module):\n    def forward(self, x):\n        return torch.tanh(x) + 1\n\n\nclass Model"
    text = module("return self.part(x) * 2 + 1", "self.part = Part()").replace("class Model", part)
    answer = strategy.find(observed(text, needs_graph=True))
    assert isinstance(answer, Refusal)
    assert answer.reason == "Part is a part of Model, which the workload calls."


def test_more_launches_promise_more(strategy: Strategy) -> None:
    def gain(text: str) -> float:
        (action,) = strategy.find(module_observed(text, DEFAULT_TARGET))
        return float(action.params["expected_gain"])

    few, many = (module("\n".join(["x = torch.tanh(self.linear(x)) + 1"] * n) + "\nreturn x", LAYERS) for n in (2, 150))
    large = module(
        CHAIN, "self.linear = nn.Linear(4096, 4096)\nself.norm = nn.LayerNorm(4096)", "torch.randn(8192, 4096)"
    )
    assert launches(module_observed(many).graph) == 450
    assert gain(many) > gain(few)
    assert gain(many) > 0.5
    # A compiler has large tensors to fuse as well; a graph has no launches to save there.
    assert gain(large) < (gain(many) if strategy.id == "torch.compile-module" else 0.3)


def after(text: str, strategy: Strategy = WRAPS[0]) -> str:
    observation = observed(text, needs_graph=True)
    edits = carried_out(strategy, observation, strategy.find(observation)[0])
    assert isinstance(edits, tuple), edits
    return apply(edits[0], text)


def test_imports_go_where_they_belong() -> None:
    text = module(CHAIN, LAYERS)
    future = '"""A model."""\n\nfrom __future__ import annotations\n\n'
    head = future + "import math\nimport os\nfrom dataclasses import dataclass\n\n"
    changed = after(head + text)
    ast.parse(changed)
    compile(changed, "model.py", "exec")
    names = [line.split()[1] for line in changed.splitlines() if line.startswith("import ")]
    standard = ["functools", "itertools", "math", "operator", "os", "threading", "weakref"]
    assert sorted(names[: len(standard)]) == standard
    assert changed.index("import weakref") < changed.index("from dataclasses") < changed.index("\n\nimport torch\n")
    only_from = after(text.replace("import torch\nimport torch.nn as nn\n", "from torch import nn\nimport torch\n"))
    assert only_from.startswith(
        "import functools\nimport itertools\nimport operator\nimport threading\nimport weakref\n\nfrom torch"
    )


def test_names_that_are_taken_get_a_number() -> None:
    text = module(CHAIN, LAYERS).replace("def get_inputs", "def cuda_graph():\n    return 1\n\n\ndef get_inputs")
    changed = after(text)
    assert "    @cuda_graph_2\n    def forward(self, x):\n" in changed
    assert "class ModuleGraphs_2:" in changed
    assert ended_by(text, changed, rewritten=True) == "passed"
    taken = module(CHAIN, LAYERS).replace("class Model", "def functools():\n    return 1\n\n\nclass Model")
    observation = observed(taken, needs_graph=True)
    answer = carried_out(WRAPS[0], observation, WRAPS[0].find(observation)[0])
    assert isinstance(answer, Refusal)
    assert "`functools` is something else" in answer.reason


def test_line_breaks_stay_those_of_the_file() -> None:
    changed = after(module(CHAIN, LAYERS).replace("\n", "\r\n"))
    assert changed.count("\n") == changed.count("\r\n")
