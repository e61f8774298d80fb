"""Where the kernels of Nests may go: into a class that the model holds several times, and into containers written out."""

from kernelwright.macro.strategies import registry
from macro.torch_modules import module, observed, refusal, rewritten
from nest.folding import differences

POOL, PRODUCT, REDUCTION = (registry()[f"torch.fuse-{name}"] for name in ("pool", "product", "reduction"))
BLOCKS = """import torch
import torch.nn as nn


class Block(nn.Module):
    def __init__(self, channels, window):
        super().__init__()
        self.norm = nn.BatchNorm2d(channels)
        self.pool = nn.MaxPool2d(window, 1, 1)

    def forward(self, x):
        x = torch.relu(self.norm(x))
        return self.pool(x)


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = Block(3, 3)
        self.second = Block(3, {window})

    def forward(self, x):
        return self.second(torch.tanh(self.first(x)))


def get_inputs():
    return [torch.randn(2, 3, 6, 5)]


def get_init_inputs():
    return []
"""
MLP = module("return self.net(x)", "self.net = nn.Sequential(nn.Linear(33, 20), nn.ReLU(), nn.Linear(20, 17))",
             "torch.randn(18, 33)")  # fmt: skip


def test_a_block_that_runs_twice_is_right_for_both_modules() -> None:
    text = BLOCKS.format(window=3)
    made = {strategy.id: (text, rewritten(strategy, text)[:1]) for strategy in (POOL, REDUCTION)}
    assert differences(made) == {}
    _, (norm,) = made["torch.fuse-reduction"]
    assert norm.count("self.norm.running_mean") == 1
    assert "self.pool(x)" in norm


def test_a_container_is_written_out() -> None:
    variants = [one for one in rewritten(PRODUCT, MLP) if 'input_precision="tf32x3"' in one][:1]
    assert "self.net[0].weight" in variants[0]
    assert differences({"a linear layer and its activation": (MLP, variants)}) == {}


def test_modules_whose_windows_differ_need_kernels_of_their_own() -> None:
    assert "name its values differently" in refusal(POOL, BLOCKS.format(window="(3, 2)")).reason


def test_a_block_of_the_model_alone_belongs_to_the_kernel() -> None:
    text = BLOCKS.format(window=3)
    actions = REDUCTION.find(observed(text))
    assert isinstance(actions, tuple)
    assert {action.region.start_line for action in actions} == {
        text.splitlines().index("        x = torch.relu(self.norm(x))")
    }
