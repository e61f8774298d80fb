"""Algebra on captured graphs: what each rule writes, that it means the same in fp64, and what it refuses."""

import ast

import pytest
import torch

from kernelwright.macro.strategies.torch_reassociate import STRATEGY, applies, rewrite
from kernelwright.macro.strategy import Observation
from kernelwright.proof.jobs import Capture, Subject
from kernelwright.proof.worker.capture import capture
from kernelwright.values import (
    CPU,
    Action,
    Case,
    Graph,
    Kernel,
    Language,
    Refusal,
    Workload,
    WorkloadSource,
    apply,
    digest,
)

HEAD = """\
import torch
import torch.nn as nn
import torch.nn.functional as F


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
"""


def module(init: str, forward: str, arguments: str = "x") -> str:
    lines = [f"        {line}\n" for line in init.splitlines()]
    body = [f"        {line}\n" for line in forward.splitlines()]
    return HEAD + "".join(lines) + f"\n    def forward(self, {arguments}):\n" + "".join(body)


def observe(text: str, call: str) -> Observation:
    workload = Workload(WorkloadSource.LINES, "Model", (Case(0, 0, call),))
    graph = capture(Capture(Subject("/nowhere/model.py", text, workload)), lambda stage: None)
    assert isinstance(graph, Graph)
    kernel = Kernel(Language.TORCH, "Model", 0, text.count("\n"), 0, 0, digest(text), entry="Model", is_module=True)
    return Observation("/nowhere/model.py", text, kernel, workload, CPU, graph)


def shapes(call: str) -> list[tuple[int, ...]]:
    calls = [n for n in ast.walk(ast.parse(call)) if isinstance(n, ast.Call) and getattr(n.func, "id", "") == "randn"]
    return [tuple(ast.literal_eval(a) for a in c.args) for c in calls]


def run(text: str, inputs: list[torch.Tensor], training: bool = True) -> torch.Tensor:
    scope: dict[str, object] = {"__name__": "model"}
    exec(compile(text, "model.py", "exec"), scope)
    model = scope["Model"]().double().train(training)
    return model(*[x.clone() for x in inputs])


def check(text: str, call: str, rule: str, *expected: str) -> str:
    """The rule applies, writes the expected lines, and the new text computes the same in fp64."""
    observation = observe(text, call)
    actions = applies(observation)
    assert not isinstance(actions, Refusal), actions.reason
    action = next((a for a in actions if a.params["rule"] == rule), None)
    assert action is not None, [a.params["rule"] for a in actions]
    after = carried_out(observation, action)
    for line in expected:
        assert line in after, after
    same(text, after, call)
    return after


def carried_out(observation: Observation, action: Action) -> str:
    edits = rewrite(observation, action)
    assert not isinstance(edits, Refusal), edits.reason
    return apply(edits[0], observation.text)


def same(before: str, after: str, call: str) -> None:
    generator = torch.Generator().manual_seed(1)
    inputs = [torch.randn(shape, generator=generator, dtype=torch.float64) for shape in shapes(call)]
    old, new = run(before, inputs), run(after, inputs)
    assert old.shape == new.shape
    assert old.stride() == new.stride()
    torch.testing.assert_close(new, old, rtol=1e-9, atol=1e-9)


def refused(text: str, call: str, *words: str) -> Refusal:
    answer = applies(observe(text, call))
    assert isinstance(answer, Refusal), [dict(a.params) for a in answer]
    for word in words:
        assert word in answer.reason, answer.reason
    return answer


LINEAR = "self.fc = nn.Linear(6, 5)\nself.scale = 1.5\nself.shift = nn.Parameter(torch.randn(5))"
CALL = "Model()(randn(4, 6))"


@pytest.mark.parametrize(
    ("forward", "expected"),
    [
        ("return self.fc(x).sum(1)", "return x @ row + self.fc.bias.sum()"),
        ("return torch.sum(self.fc(x), dim=-1, keepdim=True)", ".unsqueeze(-1)"),
        ("return self.fc(x).mean(dim=1)", "row = self.fc.weight.mean(0)"),
        ("y = self.fc(x)\ny = y / 2 * self.scale\nreturn y.sum(1)", "(self.scale / 2)"),
        ("y = self.fc(x) + self.shift\nreturn y.mean(1)", "self.shift.mean()"),
        ("y = self.fc(x) + self.scale\nreturn y.sum(1)", "self.fc.weight.shape[0] * self.scale"),
        ("y = self.scale - self.fc(x)\nreturn y.sum(1)", "return -(x @ row) + "),
        ("y = -(self.fc(x) - self.shift) * 3\nreturn y.mean(1)", "row"),
        ("y = (self.shift - self.fc(x)) / self.scale + 1\nreturn y.sum(1)", "row"),
        ("return torch.matmul(x, self.fc.weight.T).sum(1) * 2", "x @ row * 2"),
        ("return (x @ self.fc.weight.t()).sum(-1)", "x @ row"),
        ("return F.linear(x, self.fc.weight).mean(-1)", "x @ row"),
        ("y = self.fc(torch.tanh(x))\nreturn y.sum(1)", "y = torch.tanh(x)"),
        (
            "x = self.fc(x)\nx = x.sum(1, keepdim=True)\nx = torch.max(x, dim=1, keepdim=True)[0]\n"
            "x = x.mean(1, keepdim=True)\nx = torch.logsumexp(x, dim=1)\nreturn x * 2",
            "x @ row * 2",
        ),
    ],
)
def test_a_reduction_over_features_becomes_one_product(forward: str, expected: str) -> None:
    check(module(LINEAR, forward), CALL, "reduce-features", expected)
