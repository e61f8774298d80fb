"""Algebra on captured graphs: what each rule writes, that it means the same in fp64, and what it refuses."""

import ast

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from kernelwright.coders.carrying_out import carried_out as edits_of
from kernelwright.macro.policy import offered
from kernelwright.macro.strategies import registry, renamed
from kernelwright.macro.strategy import Absent, Observation
from kernelwright.proof.jobs import Capture, Subject
from kernelwright.proof.worker.graph.capture import capture
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
)

GROUP = "torch.reassociate"
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


def observe(text: str, call: str, entry: str = "Model") -> Observation:
    workload = Workload(WorkloadSource.LINES, entry, (Case(0, 0, call),))
    graph = capture(Capture(Subject("/nowhere/model.py", text, workload)), lambda stage: None)
    assert isinstance(graph, Graph)
    kernel = Kernel(Language.TORCH, entry, 0, text.count("\n"), 0, 0, entry=entry, is_module=True)
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
    actions = offered(GROUP, observation)
    assert not isinstance(actions, Refusal), actions.reason
    action = next((a for a in actions if a.strategy == f"{GROUP}.{rule}"), None)
    assert action is not None, [a.strategy for a in actions]
    after = carried_out(observation, action)
    for line in expected:
        assert line in after, after
    same(text, after, call)
    return after


def carried_out(observation: Observation, action: Action) -> str:
    edits = edits_of(registry()[action.strategy], observation, action)
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
    answer = offered(GROUP, observe(text, call))
    assert isinstance(answer, Refusal), [a.strategy for a in answer]
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
            "return (x @ row + self.fc.bias.sum()) * 2",
        ),
    ],
)
def test_a_reduction_over_features_becomes_one_product(forward: str, expected: str) -> None:
    check(module(LINEAR, forward), CALL, "reduce-features", expected)


@pytest.mark.parametrize(
    ("init", "forward", "call", "rule", "expected"),
    [
        (
            "self.fc = nn.Linear(6, 5)",
            "return self.fc(x).mean(1)",
            "Model()(randn(4, 7, 6))",
            "reduce-rows",
            "self.fc(mean)",
        ),
        (
            "self.fc = nn.Linear(6, 5)",
            "return (self.fc(x) * 2 + 1).sum((0, 1))",
            "Model()(randn(4, 7, 6))",
            "reduce-rows",
            "x.shape[0] * x.shape[1]",
        ),
        ("", "return (x @ x.mT).sum(-1)", "Model()(randn(3, 4, 6))", "reduce-matmul", ".sum(-1, keepdim=True)"),
        (
            "",
            "return torch.bmm(x, y).mean((1, 2), keepdim=True)",
            "Model()(randn(3, 4, 6), randn(3, 6, 5))",
            "reduce-matmul",
            "x.mean(-2, keepdim=True) @ y.mean(-1, keepdim=True)",
        ),
        ("", "return (x @ y) @ z", "Model()(randn(8, 9), randn(9, 7), randn(7))", "order-chain", "x @ (y @ z)"),
        ("", "return x @ (y @ z)", "Model()(randn(2, 9), randn(9, 7), randn(7, 30))", "order-chain", "(x @ y) @ z"),
        (
            "",
            "return torch.diag(z) @ y",
            "Model()(randn(2, 9), randn(9, 7), randn(9))",
            "diagonal-factor",
            "z[:, None] * y",
        ),
        ("", "return y @ torch.diag(z)", "Model()(randn(2, 9), randn(9, 7), randn(7))", "diagonal-factor", "y * z"),
        (
            "self.scale = 0.125",
            "scores = x @ y.transpose(-2, -1)\nscores = scores * self.scale\nreturn torch.softmax(scores, -1)",
            "Model()(randn(2, 9, 4), randn(2, 9, 4))",
            "scale-operand",
            "scaled = x * self.scale",
        ),
        ("", "return x.t().t() * 2", "Model()(randn(3, 4))", "undo-transposes", "return x * 2"),
        (
            "",
            "return x.permute(1, 2, 0).permute(2, 0, 1) + 1",
            "Model()(randn(3, 4, 5))",
            "undo-transposes",
            "return x + 1",
        ),
        ("self.a = 3.0", "return x * self.a / 2 * 5", "Model()(randn(3, 4))", "merge-numbers", "x * (self.a * 5 / 2)"),
        ("self.a = 3.0", "return x - self.a - 2 + 5", "Model()(randn(3, 4))", "merge-numbers", "x - (self.a + 2 - 5)"),
        ("", "return torch.exp(-(-x))", "Model()(randn(3, 4))", "merge-numbers", "torch.exp(x)"),
        ("", "return torch.relu(torch.relu(x))", "Model()(randn(3, 4))", "merge-clamps", "torch.relu(x)"),
        (
            "self.low = -0.5",
            "x = torch.clamp(x, min=self.low)\nreturn torch.clamp(x, min=-1)",
            "Model()(randn(3, 4))",
            "merge-clamps",
            "torch.clamp(x, min=max(self.low, -1))",
        ),
        (
            "self.act = nn.Hardtanh(-1, 1)",
            "return self.act(F.relu6(x))",
            "Model()(randn(3, 4))",
            "merge-clamps",
            "clamp",
        ),
        (
            "",
            "return torch.clamp(torch.tanh(x), -1, 1)",
            "Model()(randn(3, 4))",
            "needless-clamp",
            "return torch.tanh(x)",
        ),
        ("", "return F.leaky_relu(F.relu(x), 0.1)", "Model()(randn(3, 4))", "needless-clamp", "return F.relu(x)"),
        (
            "self.act = nn.LeakyReLU(0.5)",
            "return F.leaky_relu(self.act(x), 0.1)",
            "Model()(randn(3, 4))",
            "merge-leaky-relu",
            "self.act.negative_slope * 0.1",
        ),
        (
            "",
            "return torch.exp(torch.log(torch.abs(x)))",
            "Model()(randn(3, 4))",
            "undo-function",
            "return torch.abs(x)",
        ),
        (
            "",
            "x = x.sum(1, keepdim=True)\nreturn x - x.mean(1, keepdim=True)",
            "Model()(randn(3, 4))",
            "single-element",
            "x - x",
        ),
        (
            "self.drop = nn.Dropout(0.0)",
            "return self.drop(x * 2)",
            "Model()(randn(3, 4))",
            "nothing-done",
            "return x * 2",
        ),
        (
            "",
            "y = torch.exp(x)\ny = y * 1\nreturn y",
            "Model()(randn(3, 4))",
            "nothing-done",
            "y = torch.exp(x)\n        return y",
        ),
        (
            "self.one = nn.MaxPool2d(2)\nself.two = nn.MaxPool2d(3)",
            "return self.two(self.one(x))",
            "Model()(randn(2, 3, 17, 13))",
            "merge-pools",
            "F.max_pool2d(x, self.one.kernel_size * self.two.kernel_size)",
        ),
        (
            "",
            "return F.avg_pool1d(F.avg_pool1d(x, 2), 3)",
            "Model()(randn(2, 3, 25))",
            "merge-pools",
            "F.avg_pool1d(x, 6)",
        ),
        (
            "self.conv = nn.Conv2d(3, 4, 3, padding=1)\nself.pool = nn.AvgPool2d(4)",
            "return self.pool(self.conv(x))",
            "Model()(randn(2, 3, 18, 15))",
            "average-convolution",
            "tile = self.pool.kernel_size",
        ),
        (
            "self.conv = nn.Conv3d(4, 4, (2, 3, 3), groups=2, bias=False)",
            "return F.avg_pool3d(self.conv(x), 3)",
            "Model()(randn(2, 4, 8, 9, 11))",
            "average-convolution",
            "tile = 3",
        ),
        (
            "self.fc = nn.Linear(6, 13)\nself.pool = nn.AvgPool1d(4)",
            "x = self.fc(x)\nx = self.pool(x.unsqueeze(1)).squeeze(1)\nreturn x + 1",
            "Model()(randn(5, 6))",
            "average-features",
            "tile = self.pool.kernel_size[0]",
        ),
    ],
)
def test_a_rule_writes_less_work_that_means_the_same(
    init: str, forward: str, call: str, rule: str, expected: str
) -> None:
    arguments = ", ".join("xyz"[: len(shapes(call))])
    check(module(init, forward, arguments), call, rule, expected)


@pytest.mark.parametrize(
    ("layer", "forward", "call", "expected"),
    [
        (
            "nn.Conv2d(3, 4, 3)",
            "return self.conv(x) * 2 + self.shift",
            "Model()(randn(5, 3, 9, 8))",
            "self.conv.weight * 2",
        ),
        ("nn.Conv2d(3, 4, 3, bias=False)", "return self.conv(x) - 0.5", "Model()(randn(5, 3, 9, 8))", "new_zeros"),
        (
            "nn.Conv2d(4, 4, 3, groups=2)",
            "return 1 - self.conv(x) / self.shift",
            "Model()(randn(5, 4, 9, 8))",
            ".view(-1, 1, 1, 1)",
        ),
        (
            "nn.ConvTranspose2d(3, 4, 3)",
            "return (self.conv(x) + self.shift) * self.shift",
            "Model()(randn(5, 3, 9, 8))",
            ".view(1, -1, 1, 1)",
        ),
        (
            "nn.ConvTranspose2d(4, 4, 3, groups=2, stride=2)",
            "return -self.conv(x) * 3 + 1",
            "Model()(randn(5, 4, 9, 8))",
            "* -3",
        ),
        (
            "nn.Conv2d(3, 4, 3)",
            "return F.conv2d(x, self.conv.weight, padding=1) + 2",
            "Model()(randn(5, 3, 9, 8))",
            "padding=1",
        ),
        (
            "nn.Linear(3, 4)",
            "return self.conv(x) * self.shift.flatten()",
            "Model()(randn(50, 3))",
            "F.linear(x, weight, bias)",
        ),
        ("nn.Linear(3, 4)", "return (self.conv(x) - 1) * 3 / 2", "Model()(randn(5, 3))", "alpha=3 / 2)"),
        ("nn.Linear(3, 4)", "y = -self.conv(x)\nreturn y + y", "Model()(randn(5, 3))", "self.conv.weight.T, alpha=-2)"),
        ("nn.Linear(3, 4)", "return 5 - self.conv(x) / 2", "Model()(randn(5, 3))", "alpha=-1.0 / 2)"),
    ],
)
def test_scales_and_shifts_fold_into_the_weights(layer: str, forward: str, call: str, expected: str) -> None:
    init = f"self.conv = {layer}\nself.shift = nn.Parameter(torch.randn(4, 1, 1) + 3)"
    check(module(init, forward), call, "fold-into-weights", expected)


@pytest.mark.parametrize(
    ("layer", "forward", "call"),
    [
        ("nn.ConvTranspose2d(3, 4, 3)", "return self.conv(x).mean((2, 3))", "Model()(randn(2, 3, 5, 6))"),
        (
            "nn.ConvTranspose2d(3, 4, 3, stride=2, padding=1, output_padding=1)",
            "return self.conv(x).mean((2, 3), keepdim=True) * 2",
            "Model()(randn(2, 3, 5, 6))",
        ),
        (
            "nn.ConvTranspose2d(3, 4, (3, 5), stride=(1, 3), padding=(2, 1), dilation=(2, 1))",
            "return (self.conv(x) * self.shift).sum((2, 3))",
            "Model()(randn(2, 3, 5, 6))",
        ),
        ("nn.ConvTranspose1d(3, 4, 4, stride=2, padding=3)", "return self.conv(x).sum(2)", "Model()(randn(2, 3, 7))"),
        (
            "nn.ConvTranspose3d(2, 4, 3, padding=1)",
            "return self.conv(x).mean(2, keepdim=True)",
            "Model()(randn(2, 2, 5, 4, 6))",
        ),
        (
            "nn.ConvTranspose3d(4, 4, 3, stride=2, padding=1, groups=2)",
            "return self.conv(x).mean((2, 4)) / 2",
            "Model()(randn(2, 4, 5, 4, 6))",
        ),
        ("nn.ConvTranspose3d(2, 4, 3)", "return self.conv(x).sum(3)", "Model()(randn(2, 2, 5, 4, 6))"),
        ("nn.Conv2d(3, 4, 3)", "return self.conv(x).mean((2, 3))", "Model()(randn(2, 3, 8, 9))"),
        (
            "nn.Conv2d(3, 4, 3, stride=2, padding=1, bias=False)",
            "return (self.conv(x) + self.shift).mean((2, 3), keepdim=True)",
            "Model()(randn(2, 3, 11, 12))",
        ),
        ("nn.Conv2d(3, 4, 1)", "return self.conv(x).mean((2, 3))", "Model()(randn(2, 3, 8, 9))"),
        ("nn.Conv2d(4, 4, 3, groups=2, padding=1)", "return self.conv(x).mean(3)", "Model()(randn(2, 4, 8, 9))"),
        (
            "nn.Conv3d(3, 4, 3, padding=(0, 1, 2))",
            "return self.conv(x).mean((2, 3, 4))",
            "Model()(randn(2, 3, 6, 7, 5))",
        ),
        (
            "nn.Conv2d(3, 4, 3)",
            "return F.conv_transpose2d(x, self.conv.weight.transpose(0, 1), stride=2).mean((2, 3))",
            "Model()(randn(2, 3, 8, 9))",
        ),
    ],
)
def test_the_mean_of_a_convolution_is_taken_of_its_input(layer: str, forward: str, call: str) -> None:
    init = f"self.conv = {layer}\nself.shift = nn.Parameter(torch.randn(4, 1, 1))"
    check(module(init, forward), call, "pooled-convolution")


@pytest.mark.parametrize(
    ("init", "forward", "call", "words"),
    [
        (LINEAR, "return torch.relu(self.fc(x)).sum(1)", CALL, "relu"),
        (LINEAR, "return torch.softmax(self.fc(x), 1).sum(1)", CALL, "softmax"),
        (LINEAR, "y = self.fc(x)\nreturn y.sum(1) + y[:, 0]", CALL, "used by `sum` and `getitem`"),
        (LINEAR, "y = self.fc(x)\nz = y.sum(1)\nreturn z / y.shape[1]", CALL, "`y` changes"),
        (LINEAR, "y = self.fc(x) + x[:, :1]\nreturn y.sum(1)", CALL, "dimension"),
        (LINEAR, "y = self.fc(x)\nx.add_(1)\nreturn y.sum(1) + x.sum()", CALL, "in place"),
        (LINEAR, "for _ in range(2):\n    y = self.fc(x).sum(1)\nreturn y", CALL, ""),
        (LINEAR, "return torch.max(self.fc(x), dim=1)[0]", CALL, "No algebraic rule"),
        ("", "return torch.clamp(torch.clamp(x, -1, 0), 1, 2)", "Model()(randn(3, 4))", "cross"),
        ("", "return torch.exp(torch.log(x))", "Model()(randn(3, 4))", "not negative"),
        ("", "return torch.exp(torch.log(torch.abs(x.int())))", "Model()(randn(3, 4))", "numbers of whole ones"),
        ("", "return torch.sqrt(x) ** 2", "Model()(randn(3, 4))", "not negative"),
        ("", "return torch.log(torch.exp(x))", "Model()(randn(3, 4))", "No algebraic rule"),
        ("", "return x / 0 * 2", "Model()(randn(3, 4))", "division by zero"),
        ("", "return x * 1", "Model()(randn(3, 4))", "No algebraic rule"),
        ("", "return x + 0", "Model()(randn(3, 4))", "No algebraic rule"),
        ("", "return x.mean(0, keepdim=True)", "Model()(randn(1, 4))", "No algebraic rule"),
        ("", "return torch.matmul(x.T, y.T)", "Model()(randn(4, 3), randn(5, 4))", "No algebraic rule"),
        ("", "return (x @ y) * 2", "Model()(randn(3, 9), randn(9, 3))", "no larger"),
        ("", "return (x.int() @ y.int()) * 0.5", "Model()(randn(64, 3), randn(3, 64))", "whole numbers"),
        ("", "return (x.int() @ y.int()) / 2", "Model()(randn(64, 3), randn(3, 64))", "whole numbers"),
        ("", "return torch.bmm(x.int(), y.int()).sum(1)", "Model()(randn(2, 9, 3), randn(2, 3, 9))", "whole numbers"),
        ("", "return (x.long() @ y.long()).sum((-2, -1))", "Model()(randn(9, 3), randn(3, 9))", "whole numbers"),
        ("self.fc = nn.Linear(40, 50, bias=False)", "return self.fc(x) * 2", "Model()(randn(3, 40))", "weights"),
        (
            "self.p = 0.0\nself.drop = nn.Dropout(self.p)",
            "return self.drop(x * 2)",
            "Model()(randn(3, 4))",
            "another one",
        ),
        (
            "n = 1\nself.conv = nn.Conv2d(4, 4, 3, groups=n)",
            "return self.conv(x).mean((2, 3))",
            "Model()(randn(2, 4, 9, 9))",
            "groups of the convolution is an argument",
        ),
        ("self.drop = nn.Dropout(0.5)", "return self.drop(x * 2)", "Model()(randn(3, 4))", "No algebraic rule"),
        ("", "return F.max_pool2d(F.max_pool2d(x, 3, 2), 2)", "Model()(randn(2, 3, 17, 13))", "overlap"),
        ("", "return F.avg_pool2d(F.avg_pool2d(x, 2, padding=1), 2)", "Model()(randn(2, 3, 17, 13))", "padded"),
        (
            "self.conv = nn.Conv2d(4, 4, 3, groups=2)",
            "return self.conv(x).mean((2, 3))",
            "Model()(randn(2, 4, 9, 9))",
            "groups",
        ),
        (
            "self.conv = nn.Conv2d(4, 4, 3)",
            "return F.relu(self.conv(x)).mean((2, 3))",
            "Model()(randn(2, 4, 9, 9))",
            "relu",
        ),
        (
            "self.conv = nn.Conv2d(4, 4, 3, padding=1, padding_mode='circular')",
            "return self.conv(x).mean((2, 3))",
            "Model()(randn(2, 4, 9, 9))",
            "",
        ),
        (
            "self.conv = nn.Conv2d(4, 4, 3, padding='same')",
            "return self.conv(x).mean((2, 3))",
            "Model()(randn(2, 4, 9, 9))",
            "no rule moves",
        ),
        ("self.one = 1.0", "return torch.exp(x) / self.one", "Model()(randn(3, 4))", "can be another one"),
        ("self.low = -1.0", "return torch.tanh(x).clamp(self.low, 1)", "Model()(randn(3, 4))", "can be others"),
        ("self.low = -0.5", "return x.clamp(min=self.low).clamp(-1, 0.25)", "Model()(randn(3, 4))", "could cross"),
        (
            "self.slope = 0.5",
            "return F.leaky_relu(F.leaky_relu(x, self.slope), 0.1)",
            "Model()(randn(3, 4))",
            "The inner slope is a variable",
        ),
        (
            "self.conv = nn.Conv2d(3, 4, 3, 2)",
            "return F.avg_pool2d(self.conv(x), 2)",
            "Model()(randn(2, 3, 18, 15))",
            "do not compose",
        ),
    ],
)
def test_what_is_not_exact_is_refused(init: str, forward: str, call: str, words: str) -> None:
    arguments = ", ".join("xyz"[: len(shapes(call))])
    refused(module(init, forward, arguments), call, words)


def test_an_action_says_what_it_saves_and_where() -> None:
    observation = observe(
        module("self.fc = nn.Linear(64, 32)", "y = self.fc(x)\nreturn y.sum(1)"), "Model()(randn(16, 64))"
    )
    actions = offered(GROUP, observation)
    assert not isinstance(actions, Refusal)
    assert actions[0].params["saved_flops"] == 2 * 16 * 64 * 31
    assert actions[0].params["saved_bytes"] == 2 * 4 * 16 * 32
    assert observation.text.splitlines()[actions[0].region.start_line].strip() == "y = self.fc(x)"
    assert actions[0].region.end_line - actions[0].region.start_line == 2


def test_one_rule_says_why_it_does_not_fit() -> None:
    text = module(LINEAR, "return torch.max(self.fc(x), dim=1)[0]")
    answer = offered(f"{GROUP}.reduce-features", observe(text, CALL))
    assert answer == Absent("There is no reduction over the features of a linear layer here.")


def test_a_journal_of_an_earlier_version_names_the_same_action() -> None:
    (action,) = offered(GROUP, observe(module(LINEAR, "return self.fc(x).sum(1)"), CALL))
    earlier = Action(GROUP, action.region, {"rule": "reduce-features", **action.params})
    assert renamed(earlier) == action
    assert renamed(action) == action


def test_without_a_graph_the_answer_is_pending() -> None:
    observation = observe(module("", "return -(-x) + x"), "Model()(randn(3, 4))")
    answer = offered(GROUP, Observation(observation.path, observation.text, observation.kernel, None, CPU))
    assert isinstance(answer, Refusal)
    assert answer.pending


def every_element_counts(text: str, shape: tuple[int, ...]) -> bool:
    """Whether each element of the input is in some output of the baseline."""
    scope: dict[str, object] = {"__name__": "model"}
    exec(compile(text, "model.py", "exec"), scope)
    x = torch.randn(shape, requires_grad=True)
    scope["Model"]()(x).sum().backward()
    return bool((x.grad != 0).all())


@settings(max_examples=25, deadline=None)
@given(st.data())
def test_a_transposed_convolution_of_any_geometry(data: st.DataObject) -> None:
    kernel, stride, dilation = (data.draw(st.integers(1, 4), label=name) for name in ("kernel", "stride", "dilation"))
    padding = data.draw(st.integers(0, dilation * (kernel - 1)), label="padding")
    extra = data.draw(st.integers(0, max(stride, dilation) - 1), label="output_padding")
    size = data.draw(st.integers(3, 7), label="size")
    if (size - 1) * stride - 2 * padding + dilation * (kernel - 1) + extra + 1 < 2:
        return
    layer = f"nn.ConvTranspose2d(2, 3, {kernel}, {stride}, {padding}, {extra}, dilation={dilation})"
    text = module(f"self.conv = {layer}", "return self.conv(x).mean((2, 3))")
    call = f"Model()(randn(2, 2, {size}, {size + 1}))"
    if not every_element_counts(text, (2, 2, size, size + 1)):
        refused(text, call, "never reads some of its input")
        return
    check(text, call, "pooled-convolution")


@settings(max_examples=25, deadline=None)
@given(st.data())
def test_a_convolution_of_any_geometry(data: st.DataObject) -> None:
    kernel, stride, dilation = (data.draw(st.integers(1, 3), label=name) for name in ("kernel", "stride", "dilation"))
    padding = data.draw(st.integers(0, 3), label="padding")
    size = data.draw(st.integers(12, 15), label="size")
    layer = f"nn.Conv2d(2, 3, {kernel}, {stride}, {padding}, {dilation})"
    text = module(f"self.conv = {layer}", "return self.conv(x).mean((2, 3))")
    call = f"Model()(randn(2, 2, {size}, {size + 1}))"
    if not every_element_counts(text, (2, 2, size, size + 1)):
        refused(text, call, "never reads some of its input")
        return
    check(text, call, "pooled-convolution")


@settings(max_examples=20, deadline=None)
@given(st.lists(st.integers(2, 6), min_size=1, max_size=3), st.integers(2, 7), st.integers(2, 5), st.booleans())
def test_a_linear_layer_on_any_shape(batch: list[int], inputs: int, features: int, keepdim: bool) -> None:
    text = module(
        f"self.fc = nn.Linear({inputs}, {features})", f"return (self.fc(x) / 3 - 1).mean(-1, keepdim={keepdim})"
    )
    check(text, f"Model()(randn({', '.join(map(str, [*batch, inputs]))}))", "reduce-features")
