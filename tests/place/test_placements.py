"""Where a fused call goes: in a class that the model holds many times, and in a container that is written out for it."""

from dataclasses import replace

import pytest

from kernelwright.macro.strategies import torch_fuse_pointwise, torch_fuse_row_reduction
from kernelwright.macro.strategy import Strategy
from kernelwright.place.placements import nowhere
from kernelwright.place.source_map import SourceMap
from macro.torch_modules import observed, refusal, rewritten
from micro.rewrite.test_fused_numerics import problems

pytest.importorskip("triton")

POINTWISE, ROWS = torch_fuse_pointwise.STRATEGY, torch_fuse_row_reduction.STRATEGY

RESIDUAL = """\
class Block(nn.Module):
    def __init__(self, channels, out, change):
        super().__init__()
        self.conv = nn.Conv2d(channels, out, 3, padding=1, bias=False)
        self.act = nn.ReLU(inplace=True)
        self.change = nn.Sequential(nn.Conv2d(channels, out, 1, bias=False)) if change else None

    def forward(self, x):
        identity = x
        out = self.conv(x)
        if self.change is not None:
            identity = self.change(x)
        out += identity
        out = self.act(out)
        return out
"""


def model(setup: str, forward: str, block: str = "", inputs: str = "torch.randn(2, 4, 6, 6)") -> str:
    """A file with a Model that holds modules of `block`."""
    prepare, body = ("\n        ".join(part.splitlines()) for part in (setup, forward))
    return f"""import torch
import torch.nn as nn
import torch.nn.functional as F


{block}

class Model(nn.Module):
    def __init__(self):
        super().__init__()
        {prepare}

    def forward(self, x):
        {body}


def get_inputs():
    return [{inputs}]


def get_init_inputs():
    return []
"""


BLOCKS = "self.first = Block(4, 4, False)\nself.layers = nn.Sequential(Block(4, 8, True), Block(8, 8, False))"
GATED = """\
class Gate(nn.Module):
    def __init__(self, size, factor):
        super().__init__()
        self.scale = nn.Parameter(torch.rand(size))
        self.factor = factor

    def forward(self, x, y):
        y = torch.tanh(y * self.scale)
        return y * x + self.factor
"""
NORMED = """\
class Twice(nn.Module):
    def __init__(self, size):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(size, size), nn.Softmax(dim=-1), nn.Linear(size, size), nn.Softmax(dim=-1))

    def forward(self, x):
        return self.body(x)
"""
CHAIN = "self.net = nn.Sequential(nn.Linear(16, 16), nn.Sigmoid(), nn.Tanh(), nn.Linear(16, 8))"
LISTED = "layers = [nn.Linear(16, 16), nn.Identity(), nn.Sigmoid(), nn.Tanh()]\nself.net = nn.Sequential(*layers)"
NESTED = "self.net = nn.Sequential(nn.Linear(16, 16), nn.Sequential(nn.Sigmoid(), nn.Tanh()))"
FLAT = "torch.randn(8, 16)"

PLACED = {
    "one edit of a block for all of its modules": (
        POINTWISE,
        model(BLOCKS, "return self.layers(self.first(x))", RESIDUAL),
        "        out = fused_add_relu(out, identity)\n        return out\n",
    ),
    "numbers and parameters of each module": (
        POINTWISE,
        model("self.a = Gate(16, 0.5)\nself.b = Gate(16, 2.0)", "return self.a(x, self.b(x, x.T.T))", GATED, FLAT),
        "        return fused_tanh(y, self.scale, x, self.factor)\n",
    ),
    "a module that is called more than once": (
        POINTWISE,
        model("self.a = Gate(16, 0.5)", "return self.a(x, self.a(x, x.T.T))", GATED, FLAT),
        "        return fused_tanh(y, self.scale, x, self.factor)\n",
    ),
    "a container in a block": (
        ROWS,
        model("self.a = Twice(16)\nself.b = Twice(16)", "return self.b(self.a(x))", NORMED, FLAT),
        "        x = self.body[0](x)\n        x = self.body[1](x)\n        x = self.body[2](x)\n"
        "        return fused_softmax(x)\n",
    ),
    "a container of the model": (
        POINTWISE,
        model(CHAIN, "x = self.net(x)\nreturn x", inputs=FLAT),
        "        x = self.net[0](x)\n        x = fused_sigmoid_tanh(x)\n        x = self.net[3](x)\n        return x\n",
    ),
    "a container in an expression": (
        POINTWISE,
        model(CHAIN, "return x.sum() + self.net(x.abs()).view(-1)", inputs=FLAT).replace("x.sum() + ", ""),
        "        net_out = self.net[0](x.abs())\n        net_out = fused_sigmoid_tanh(net_out)\n"
        "        net_out = self.net[3](net_out)\n        return net_out.view(-1)\n",
    ),
    "one of two calls of a container": (
        POINTWISE,
        model(CHAIN, "return self.net(x) @ self.net(x * 2).T", inputs=FLAT),
        "        net_out = self.net[0](x)\n        net_out = fused_sigmoid_tanh(net_out)\n"
        "        net_out = self.net[3](net_out)\n        return net_out @ self.net(x * 2).T\n",
    ),
    "a container of computed length": (
        POINTWISE,
        model(LISTED, "return self.net(x)", inputs=FLAT),
        "        assert len(self.net) == 4\n        x = self.net[0](x)\n        x = self.net[1](x)\n"
        "        return fused_sigmoid_tanh(x)\n",
    ),
    "a container in a container": (
        POINTWISE,
        model(NESTED, "return self.net(x)", inputs=FLAT),
        "        x = self.net[0](x)\n        assert len(self.net[1]) == 2\n        return fused_sigmoid_tanh(x)\n",
    ),
}


@pytest.mark.parametrize("name", PLACED)
def test_the_code_that_is_written(name: str) -> None:
    strategy, text, expected = PLACED[name]
    assert expected in rewritten(strategy, text)[0]


def test_every_placement_computes_what_the_baseline_does() -> None:
    pairs = [(name, text, rewritten(strategy, text)[0]) for name, (strategy, text, _) in PLACED.items()]
    assert problems(pairs) == {}


def test_parameters_keep_their_names() -> None:
    for strategy, text, _ in PLACED.values():
        scopes = [{}, {}]
        for scope, version in zip(scopes, (text, rewritten(strategy, text)[0]), strict=True):
            exec(version.replace("@triton.jit", ""), scope)
        before, after = (list(scope["Model"]().state_dict()) for scope in scopes)
        assert before == after


SUM = "class Sum(nn.Module):\n    def forward(self, x, y):\n        return torch.relu(x + y)\n"
OTHER_RANK = model(
    "self.a = Gate(16, 0.5)\nself.b = Gate(16, 2.0)", "return self.a(x, x.T.T) @ self.b(x[0], x[1])", GATED, FLAT
)


@pytest.mark.parametrize(
    ("strategy", "text", "reason"),
    [
        (POINTWISE, OTHER_RANK, "do not all fit one kernel"),
        (
            POINTWISE,
            model("self.a = Sum()", "return self.a(x, x)", SUM, FLAT),
            "`x` and `y` may be two tensors in another call",
        ),
        (
            POINTWISE,
            model(CHAIN + "\nself.net.register_forward_hook(lambda *_: None)", "return self.net(x)", inputs=FLAT),
            "A hook may be registered on `self.net`",
        ),
        (POINTWISE, model(CHAIN, "return [self.net(x)]", inputs=FLAT), "not called on a line of its own"),
    ],
)
def test_what_is_refused_and_why(strategy: Strategy, text: str, reason: str) -> None:
    assert reason in refusal(strategy, text).reason


@pytest.mark.parametrize(("strategy", "text", "_"), PLACED.values(), ids=PLACED)
def test_nodes_of_a_region_that_is_placed_are_not_said_to_have_no_place(strategy: Strategy, text: str, _: str) -> None:
    source, actions = (observation := observed(text)).source, strategy.find(observation)
    assert isinstance(source, SourceMap)
    assert isinstance(actions, tuple)
    nodes = [source.graph.nodes[int(n)] for n in str(actions[0].params["nodes"]).split(",")]
    assert [nowhere(source, node) for node in nodes] == [None] * len(nodes)


@pytest.mark.parametrize(
    ("forward", "reason"),
    [
        (
            "i = 0\nwhile i < 2:\n    x = torch.softmax(x, 1)\n    i += 1\nreturn x",
            "The expression of softmax runs more than once.",
        ),
        ("return [torch.softmax(y, 1) for y in (x,)][0]", "softmax stands in a loop or comprehension."),
    ],
)
def test_a_node_that_no_region_can_hold_is_said_to_have_no_place(forward: str, reason: str) -> None:
    source = observed(model("pass", forward, inputs=FLAT)).source
    assert isinstance(source, SourceMap)
    refusals = [nowhere(source, node) for node in source.graph.nodes]
    assert refusals
    assert all(refusal is not None and reason in refusal.reason for refusal in refusals)


@pytest.mark.parametrize(
    ("more", "offered"), [("", True), ("\n\ndef other():\n    return Block(4, 4, False)\n", False)]
)
def test_a_class_that_others_use_too_is_left_alone(more: str, offered: bool) -> None:
    text = model(BLOCKS, "return self.layers(self.first(x))", RESIDUAL) + more
    start = text[: text.index("class Model")].count("\n")
    observation = observed(text)
    kernel = replace(observation.kernel, start_line=start, end_line=start + 8)
    assert isinstance(POINTWISE.find(replace(observation, kernel=kernel)), tuple) == offered


@pytest.mark.parametrize("forward", ["return self.b(self.a(x))", "x = self.a(x)\nreturn self.b(x)"])
def test_modules_of_one_class_that_follow_one_another_are_fused_one_by_one(forward: str) -> None:
    block = "class Block(nn.Module):\n    def forward(self, x):\n        return torch.tanh(x * 2 + 1)\n"
    (text, *_) = rewritten(POINTWISE, model("self.a = Block()\nself.b = Block()", forward, block))
    kernel = text[text.index("def mul_add_tanh_kernel") : text.index("class Block")]
    assert kernel.count("tanh(total)") == 2  # once in the kernel, once for calls that ask for a gradient
    assert forward.splitlines()[-1] in text
