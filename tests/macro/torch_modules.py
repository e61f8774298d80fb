"""PyTorch modules as a strategy sees them: written around a forward, captured, rewritten."""

from dataclasses import replace

from kernelwright.coders.carrying_out import carried_out
from kernelwright.macro.strategy import Observation, Strategy
from kernelwright.values import CPU, Device, Refusal, apply
from micro.rewrite.observe import observe

GPU = Device("cuda", "NVIDIA H200", compute_capability=90)


def module(forward: str, setup: str = "pass", inputs: str = "torch.randn(8, 16)", *, more: str = "") -> str:
    """A file with a Model: the body of its forward, what its constructor does, what get_inputs returns, more imports."""
    body = "\n        ".join(forward.splitlines())
    prepare = "\n        ".join(setup.splitlines())
    return f"""import torch
import torch.nn as nn
{more}

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


def observed(text: str, device: Device = CPU) -> Observation:
    return replace(observe(text), device=device)


def rewritten(strategy: Strategy, text: str, device: Device = CPU) -> list[str]:
    """The text of every variant, best guess first."""
    observation = observed(text, device)
    actions = strategy.find(observation)
    assert isinstance(actions, tuple), actions
    edits = carried_out(strategy, observation, actions[0])
    assert isinstance(edits, tuple), edits
    return [apply(e, text) for e in edits]


def refusal(strategy: Strategy, text: str, device: Device = CPU) -> Refusal:
    answer = strategy.find(observed(text, device))
    assert isinstance(answer, Refusal), answer
    return answer
