"""Convolutions channels-last with the fusion that follows, as one step: against eager mode and through the gate."""

from dataclasses import replace

import pytest

from interpreted import judged
from kernelwright.coders.carrying_out import carried_out
from kernelwright.macro.strategies import registry
from kernelwright.proof.jobs import Limits, Trial
from kernelwright.values import Device, VerdictStatus, Workload, WorkloadSource, apply
from macro.strategies.test_torch_channels_last import CONV, VOLUME, module
from micro.rewrite.observe import observe
from micro.rewrite.test_fused_numerics import problems

pytest.importorskip("triton")

GPU = Device("cuda", "NVIDIA H200", compute_capability=90)
POINTWISE, ROWS = "torch.fuse-pointwise", "torch.fuse-row-reduction"
BIAS = "self.bias = nn.Parameter(torch.randn(24, 1, 1))"

# name -> (module, follower, what is fused)
PAIRS = {
    "minimum of the channels": (
        module("x = torch.min(self.conv(x), dim=1, keepdim=True)[0]\nreturn torch.tanh(torch.tanh(x))", CONV),
        ROWS,
        "min, tanh, tanh",
    ),
    "scaled, then the minimum": (
        module("x = self.conv(x) * self.scale\nreturn torch.amin(x, 1)", f"{CONV}\nself.scale = 0.5"),
        ROWS,
        "mul, amin",
    ),
    "softmax over the channels": (
        module(
            "x = torch.softmax(self.up(x), dim=1)\nx = x + self.bias\nreturn torch.sigmoid(x * 2.0)",
            f"self.up = nn.ConvTranspose2d(16, 24, 4, stride=2, padding=1)\n{BIAS}",
        ),
        ROWS,
        "softmax, add, mul, sigmoid",
    ),
    "volume": (
        module(
            "x = torch.logsumexp(self.conv(x), dim=1, keepdim=True)\nreturn F.relu(x)",
            "self.conv = nn.Conv3d(16, 24, 3)",
            VOLUME,
        ),
        ROWS,
        "logsumexp, relu",
    ),
    "averaged positions": (
        module("x = F.gelu(self.conv(x))\nx = F.adaptive_avg_pool2d(x, 1)\nreturn x.squeeze(-1).squeeze(-1)", CONV),
        ROWS,
        "gelu, adaptive_avg_pool2d, squeeze, squeeze",
    ),
    "one operation": (
        module("return torch.tanh(self.up(x))", "self.up = nn.ConvTranspose2d(16, 24, 3)"), POINTWISE, "tanh, contiguous"
    ),
    "pooled": (
        module(
            "x = torch.tanh(self.conv(x) - 0.5) - 0.2\nreturn self.pool(x)", f"{CONV}\nself.pool = nn.AvgPool2d(2)"
        ),
        POINTWISE,
        "sub, tanh, sub, avg_pool2d, contiguous",
    ),
    "pooled over tiles that overlap": (
        module(
            "x = torch.tanh(self.conv(x) - 0.5) - 0.2\nreturn self.pool(x)", f"{CONV}\nself.pool = nn.MaxPool2d(3, 2)"
        ),
        POINTWISE,
        "sub, tanh, sub",
    ),
}  # fmt: skip


def together(text: str, follower: str, label: str) -> str:
    """The text with channels-last convolutions and the first variant of the fusion behind them."""
    layout, fusion = registry()["torch.channels-last"], registry()[follower]
    assert follower in layout.prepares
    observation = replace(observe(text), device=GPU)
    actions = layout.find(observation)
    assert isinstance(actions, tuple), actions
    first = carried_out(layout, observation, actions[0])
    assert isinstance(first, tuple), first
    prepared = observe(apply(first[-1], text))
    actions = fusion.find(prepared)
    assert isinstance(actions, tuple), actions
    assert actions[0].region.label == label
    edits = carried_out(fusion, prepared, actions[0])
    assert isinstance(edits, tuple), edits
    return apply(edits[0], prepared.text)


def test_the_pair_computes_what_eager_mode_does() -> None:
    pairs = [(name, text, together(text, follower, label)) for name, (text, follower, label) in PAIRS.items()]
    assert problems(pairs) == {}


def test_the_pair_passes_the_gate() -> None:
    trials = [
        Trial(
            "/nowhere/module.py",
            text,
            text,
            together(text, follower, label),
            Workload(WorkloadSource.KERNELBENCH, "Model"),
            limits=Limits(threads=1, seeds=2),
            promises_kernel=True,
        )
        for text, follower, label in PAIRS.values()
    ]
    verdicts = dict(zip(PAIRS, (result.verdict for result in judged(trials)), strict=True))
    assert {name: v.failed_checks for name, v in verdicts.items() if v.status is not VerdictStatus.PASSED} == {}


def test_a_pool_reads_what_the_fused_kernel_writes_without_a_conversion() -> None:
    text, follower, label = PAIRS["pooled over tiles that overlap"]
    after = together(text, follower, label)
    assert "contiguous_format" not in after
    assert "return self.pool(x).contiguous()" in after
