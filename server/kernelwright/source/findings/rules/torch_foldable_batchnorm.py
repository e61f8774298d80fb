"""A BatchNorm right behind a convolution, in a module that only runs in eval mode."""

import ast
from collections.abc import Iterator

from kernelwright.source.findings.rule import Problem, Rule, Severity
from kernelwright.source.findings.scope import Scope
from kernelwright.source.findings.torch import Hot, TorchUnit, on_self
from kernelwright.values import Language

_CONVOLUTIONS = tuple(f"torch.nn.{name}{d}d" for name in ("Conv", "ConvTranspose") for d in (1, 2, 3))
_NORMS = tuple(f"torch.nn.BatchNorm{d}d" for d in (1, 2, 3))


def check(unit: TorchUnit) -> Iterator[Problem]:
    if not unit.eval_only or unit.init is None:
        return
    for call in unit.modules.values():
        if unit.init.canonical(call) == "torch.nn.Sequential":
            yield from _sequential(unit.init, call)
    kinds = {name: unit.init.canonical(call) for name, call in unit.modules.items()}
    for view in unit.views:
        for node in view.nodes:
            if not isinstance(node, ast.Call) or kinds.get(on_self(node)) not in _NORMS:
                continue
            if _has_statistics(unit.modules[on_self(node)]) and node.args:
                convolution = _made_by(view, node.args[0])
                if kinds.get(on_self(convolution)) in _CONVOLUTIONS:
                    yield _problem(node)


def _sequential(init: Scope, call: ast.Call) -> Iterator[Problem]:
    for first, second in zip(call.args, call.args[1:], strict=False):
        if init.canonical(first) in _CONVOLUTIONS and init.canonical(second) in _NORMS and _has_statistics(second):
            yield _problem(second)


def _problem(node: ast.AST) -> Problem:
    return Problem(
        node,
        "In eval mode this BatchNorm is a fixed scale and shift: fold it into the convolution "
        "(torch.nn.utils.fusion.fuse_conv_bn_eval) and save a pass over the output.",
    )


def _has_statistics(norm: ast.expr) -> bool:
    """Without running statistics a BatchNorm computes them from each batch, in eval mode too."""
    return not any(
        k.arg == "track_running_stats" and isinstance(k.value, ast.Constant) and k.value.value is False
        for k in (norm.keywords if isinstance(norm, ast.Call) else ())
    )


def _made_by(view: Hot, node: ast.expr) -> ast.expr:
    """The call behind an argument: the call itself, or the one assigned last before, if nothing else uses the name."""
    if not isinstance(node, ast.Name):
        return node
    assignments = [
        n
        for n in view.nodes
        if isinstance(n, ast.Assign) and any(isinstance(t, ast.Name) and t.id == node.id for t in n.targets)
    ]
    before = [statement.value for statement in assignments if statement.lineno < node.lineno]
    if not before:
        return node
    last = before[-1]
    uses = [
        n
        for n in view.nodes
        if isinstance(n, ast.Name) and n.id == node.id and isinstance(n.ctx, ast.Load) and n.lineno > last.lineno
    ]
    # x = bn(x) gives the name a new meaning, so uses after it are of the norm's output.
    renamed = min((a.lineno for a in assignments if a.lineno >= node.lineno), default=None)
    return node if any(n is not node and (renamed is None or n.lineno <= renamed) for n in uses) else last


RULE = Rule(
    code="torch.foldable-batchnorm",
    language=Language.TORCH,
    severity=Severity.HINT,
    title="BatchNorm that can be folded into its convolution",
    doc="""In eval mode BatchNorm multiplies each channel by a constant and adds one. Both fit into the weights and bias of
the convolution before it, which then costs the same and saves reading and writing the whole output. Said only
in files that call `.eval()` and never train.""",
    example_wrong="""
import torch
from torch import nn

class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(3, 16, 3)
        self.bn = nn.BatchNorm2d(16)

    def forward(self, x):
        return torch.relu(self.bn(self.conv(x)))

model = Block().eval()
""",
    example_right="""
import torch
from torch import nn

class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(3, 16, 3)

    def forward(self, x):
        return torch.relu(self.conv(x))

model = Block().eval()
""",
    check=check,
)
