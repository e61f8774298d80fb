"""Convolutions channels-last: the worked example, equal values and strides on real tensors, what is refused and why."""

from dataclasses import replace
from pathlib import Path

import pytest
import torch

from kernelwright.coders.carrying_out import carried_out
from kernelwright.macro.strategies.torch_channels_last import STRATEGY
from kernelwright.macro.strategies.torch_fuse_pointwise import STRATEGY as FUSE
from kernelwright.micro.rewrite.channels_last_plan import whole_plan
from kernelwright.place.source_map import SourceMap
from kernelwright.values import Device, Refusal, apply
from macro import torch_modules
from macro.torch_modules import GPU, observed
from micro.rewrite.observe import observe
from micro.rewrite.run_fused import load
from micro.rewrite.test_fused_numerics import problems
from proof.worker.trials import ended_by

pytest.importorskip("triton")

IMAGE = "torch.randn(2, 16, 12, 12)"


def module(forward: str, setup: str, inputs: str = IMAGE) -> str:
    return torch_modules.module(forward, setup, inputs, more="import torch.nn.functional as F\n")


def variants(text: str) -> list[str]:
    return torch_modules.rewritten(STRATEGY, text, GPU)


def refused(text: str, device: Device = GPU) -> Refusal:
    return torch_modules.refusal(STRATEGY, text, device)


def results(text: str, state: dict | None = None) -> tuple[tuple[torch.Tensor, ...], dict, list]:
    """What the module returns on its inputs, its state, and whether each convolution read a channels-last input."""
    space: dict = {}
    exec(compile(text, "module.py", "exec"), space)
    torch.manual_seed(0)
    model = space["Model"](*space["get_init_inputs"]()).eval()
    if state is not None:
        assert not any(model.load_state_dict(state))
    last = []
    for layer in model.modules():
        if isinstance(layer, torch.nn.Conv2d | torch.nn.Conv3d | torch.nn.ConvTranspose2d | torch.nn.ConvTranspose3d):
            layer.register_forward_pre_hook(lambda _, given: last.append(given[0].stride(1) == 1))
    torch.manual_seed(1)
    with torch.no_grad():
        out = model(*space["get_inputs"]())
    return out if isinstance(out, tuple) else (out,), model.state_dict(), last


def test_worked_example() -> None:
    assert variants(STRATEGY.example.before)[0] == STRATEGY.example.after


CONV = "self.conv = nn.Conv2d(16, 32, 3)"
VOLUME = "torch.randn(2, 16, 6, 6, 6)"
MODULES = {
    "relu and bias": module(
        "x = torch.relu(self.conv(x))\nreturn x + self.bias",
        f"{CONV}\nself.bias = nn.Parameter(torch.randn(32, 1, 1))",
    ),
    "volume, pooled": module(
        "x = F.gelu(self.conv(x))\nx = self.pool(x)\nreturn torch.tanh(x)",
        "self.conv = nn.Conv3d(16, 24, 3)\nself.pool = nn.MaxPool3d(2)",
        VOLUME,
    ),
    "transposed, batch norm": module(
        "x = self.up(x)\nx = self.norm(x)\nreturn x",
        "self.up = nn.ConvTranspose2d(16, 32, 3, stride=2)\nself.norm = nn.BatchNorm2d(32)",
    ),
    "transposed volume": module("return self.up(x) * 2", "self.up = nn.ConvTranspose3d(16, 8, 2)", VOLUME),
    "residual": module("return x + self.conv(torch.relu(x))", "self.conv = nn.Conv2d(16, 16, 3, padding=1)"),
    "flatten, linear": module(
        "x = self.pool(F.relu(self.conv(x)))\nx = torch.flatten(x, 1)\nreturn self.linear(x)",
        f"{CONV}\nself.pool = nn.AvgPool2d(5)\nself.linear = nn.Linear(128, 7)",
    ),
    "view, linear": module(
        "x = F.relu(self.conv(x))\nx = x.view(x.size(0), -1)\nreturn self.linear(x)",
        f"{CONV}\nself.linear = nn.Linear(3200, 7)",
    ),
    "group norm": module("return self.norm(self.conv(x))", f"{CONV}\nself.norm = nn.GroupNorm(4, 32)"),
    "instance norm": module("return self.norm(self.conv(x)) / 2", f"{CONV}\nself.norm = nn.InstanceNorm2d(32)"),
    "softmax over channels": module("return torch.softmax(self.conv(x), dim=1).sigmoid()", CONV),
    "reductions": module(
        "x = self.conv(x)\nreturn x.amax(1, keepdim=True), x.mean((2, 3)), torch.logsumexp(x, 2), x.sum(2, keepdim=True)",
        CONV,
    ),
    "minimum": module("return torch.min(self.conv(x), dim=1, keepdim=True)[0] * 2", CONV),
    "two results": module("x = self.conv(x)\nreturn x.permute(0, 2, 3, 1), x.transpose(2, 3)", CONV),
    "reshaped": module("x = self.conv(x)\nreturn x.flatten(2)", CONV),
    "two layers": module(
        "x = F.relu(self.conv(x))\nx = self.second(x)\nreturn x",
        f"{CONV}\nself.second = nn.Conv2d(32, 16, 3)",
    ),
    "sequence": module(
        "return self.net(x)", "self.net = nn.Sequential(nn.ReLU(), nn.Conv2d(16, 32, 3), nn.Conv2d(32, 8, 1))"
    ),
    "functional": module(
        "return F.conv2d(x, self.weight, padding=1) - 1", "self.weight = nn.Parameter(torch.randn(16, 16, 3, 3))"
    ),
    "layers in a loop": module(
        "for layer in self.layers:\n    x = torch.cat([x, layer(x)], 1)\nreturn x",
        "self.layers = nn.ModuleList([nn.Sequential(nn.ReLU(), nn.Conv2d(n, 8, 3, padding=1)) for n in (16, 24)])",
    ),
    "a sequence and a shortcut": module(
        "x = self.net(x)\nreturn self.head(torch.flatten(x + self.short(x), 1))",
        "self.net = nn.Sequential(nn.Conv2d(16, 16, 3, padding=1), nn.BatchNorm2d(16), nn.ReLU())\n"
        "self.short = nn.Sequential(nn.Conv2d(16, 16, 1), nn.AvgPool2d(1))\nself.head = nn.Linear(2304, 5)",
    ),
    "averaged volume": module(
        "return self.pool(self.conv(x)) + 1", "self.conv = nn.Conv3d(16, 16, 2)\nself.pool = nn.AvgPool3d(2)", VOLUME
    ),
}


@pytest.mark.parametrize("text", MODULES.values(), ids=MODULES)
def test_same_values_and_strides(text: str) -> None:
    expected, state, before = results(text)
    assert not any(before)
    for rewritten in variants(text):
        got, own, last = results(rewritten, state)
        assert all(last)
        assert own.keys() == state.keys()
        assert [t.shape for t in got] == [t.shape for t in expected]
        for one, other in zip(got, expected, strict=True):
            torch.testing.assert_close(one, other, rtol=1e-4, atol=1e-5)
            assert one.is_contiguous() or one.stride() == other.stride()


def test_the_layout_is_passed_on_to_the_second_layer() -> None:
    after = variants(MODULES["two layers"])[0]
    assert after.count("x.contiguous(memory_format=torch.channels_last)") == 1
    assert "self.second = nn.Conv2d(32, 16, 3)\n        self.second.to(memory_format=torch.channels_last)\n" in after
    assert "return x.contiguous()\n" in after


def test_weights_are_one_of_two_variants() -> None:
    with_weights, without = variants(MODULES["relu and bias"])
    assert "self.conv.to(memory_format=torch.channels_last)" in with_weights
    assert "self.conv.to(" not in without
    weight = results(with_weights)[1]["conv.weight"]
    assert weight.stride() == (144, 1, 48, 16)


def test_what_stands_in_a_loop_follows_the_arguments() -> None:
    with_weights, without = variants(MODULES["layers in a loop"])
    assert "        x = x.contiguous(memory_format=torch.channels_last)\n        for layer in" in with_weights
    assert "in (16, 24)])\n        self.to(memory_format=torch.channels_last)\n" in with_weights
    assert "self.to(" not in without
    assert results(with_weights)[1]["layers.0.1.weight"].stride() == (144, 1, 48, 16)


def test_all_weights_are_converted_only_where_convolutions_alone_read_them() -> None:
    loop = MODULES["layers in a loop"]
    scaled = loop.replace("return x", "return x * self.scale").replace(
        "self.layers =", "self.scale = nn.Parameter(torch.randn(1, 32, 1, 12))\n        self.layers =")  # fmt: skip
    assert not any("self.to(" in after for after in variants(scaled))


@pytest.mark.parametrize(
    ("forward", "reason"),
    [
        ("x += 1\nfor layer in self.layers:\n    x = torch.relu(layer(x))\nreturn x", "writes to its input"),
        (
            "for layer in self.layers:\n    y = torch.relu(layer(x))\nreturn x.flatten(1), y",
            "returns its input, or a view",
        ),
    ],
)
def test_arguments_that_the_caller_sees_again_are_not_converted(forward: str, reason: str) -> None:
    text = module(forward, "self.layers = nn.ModuleList([nn.Conv2d(16, 16, 3, padding=1), nn.Conv2d(16, 8, 3)])")
    source = observed(text, GPU).source
    assert isinstance(source, SourceMap)
    answer = whole_plan(source, frozenset({"float32"}))
    assert isinstance(answer, Refusal)
    assert reason in answer.reason


def test_nothing_is_converted_back_where_the_spatial_dimensions_are_gone() -> None:
    after = variants(MODULES["flatten, linear"])[0]
    assert after.count(".contiguous(") == 1


def test_a_view_gets_contiguous_memory() -> None:
    assert "x = x.contiguous().view(x.size(0), -1)" in variants(MODULES["view, linear"])[0]


def test_line_breaks_and_other_lines_stay() -> None:
    text = MODULES["relu and bias"].replace("return x + self.bias", "# größer\n        return x + self.bias  # später")
    text = text.replace("\n", "\r\n")
    after = variants(text)[0]
    assert "\n" not in after.replace("\r\n", "")
    assert "        return (x + self.bias).contiguous()  # später\r\n" in after


def test_a_convolution_that_cannot_be_converted_does_not_keep_the_others_back() -> None:
    text = module(
        "x = self.norm(F.relu(self.conv(x)))\nfor layer in self.layers:\n    x = layer(x)\nreturn x.sum()",
        f"{CONV}\nself.norm = nn.GroupNorm(4, 32)\nself.layers = nn.ModuleList([nn.Conv2d(32, 32, 3), nn.Tanh()])",
    )
    after = variants(text)[0]
    assert "self.conv(x.contiguous(memory_format=torch.channels_last))" in after
    assert "x = layer(x)\n" in after


def gain(text: str) -> float:
    actions = STRATEGY.find(observed(text, GPU))
    assert isinstance(actions, tuple), actions
    return actions[0].params["expected_gain"]


def test_a_convolution_alone_promises_nothing() -> None:
    assert gain(module("return self.conv(x)", CONV)) == 0
    assert gain(MODULES["relu and bias"]) > 0


KERNEL = """
import triton
import triton.language as tl


@triton.jit
def negate(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out_ptr + i, -tl.load(x_ptr + i, mask=i < n), mask=i < n)


def negated(x):
    out = torch.empty_like(x)
    negate[(triton.cdiv(x.numel(), 1024),)](x, out, x.numel(), BLOCK=1024)
    return out
"""


def with_kernel(launch: str) -> str:
    return module("return negated(self.conv(x))", CONV).replace("\n\n\nclass", f"{KERNEL}\n\nclass").replace(
        "    out = torch.empty_like(x)", launch)  # fmt: skip


@pytest.mark.parametrize(
    ("text", "reason", "line"),
    [
        (module("return torch.relu(x)", "pass"), "no two- or three-dimensional convolution", None),
        (module("return self.conv(x)", "self.conv = nn.Conv1d(16, 32, 3)", "torch.randn(2, 16, 9)"), "no two-", None),
        (module("return self.conv(x)", "self.conv = nn.Conv2d(3, 32, 3)", "torch.randn(2, 3, 9, 9)"), "3 to 32", 11),
        (module("return self.conv(x)", "self.conv = nn.Conv2d(16, 16, 3, groups=16)"), "16 groups", 11),
        (
            module("return self.conv(x)", "self.conv = nn.Conv2d(16, 32, 3, dtype=torch.double)", f"{IMAGE}.double()"),
            "float64",
            11,
        ),
        (
            module("x = x.contiguous(memory_format=torch.channels_last)\nreturn self.conv(x)", CONV),
            "channels-last already",
            12,
        ),
        (module("x = self.conv(x)\nif len(x) > 1:\n    return x\nreturn x + 1", CONV), "several return", 10),
        (module("x = self.conv(x)\nreturn torch.as_strided(x, (2, 2), (1, 1))", CONV), "`as_strided` reads", 12),
        (with_kernel("    out = torch.empty_like(x)"), "A Triton kernel reads", 15),
    ],
)
def test_refusals_say_why(text: str, reason: str, line: int | None) -> None:
    answer = refused(text)
    assert reason in answer.reason
    assert answer.line == line


def test_a_launcher_that_asks_for_contiguous_inputs_is_left_to_do_so() -> None:
    text = with_kernel("    x = x.contiguous()\n    out = torch.empty_like(x)")
    assert gain(text) == gain(module("return self.conv(x)", CONV))
    assert "return negated(self.conv(x.contiguous(memory_format=torch.channels_last)))" in variants(text)[0]


@pytest.mark.parametrize(
    ("device", "reason"),
    [
        (Device("cpu", "CPU"), "needs a GPU to measure"),
        (Device("cuda", "Tesla T4", compute_capability=75), "Tensor cores of this GPU do not convolve float32"),
        (Device("cuda", "Tesla P4", compute_capability=61), "no tensor cores"),
    ],
)
def test_refused_where_the_hardware_has_no_use_for_it(device: Device, reason: str) -> None:
    assert reason in refused(MODULES["relu and bias"], device).reason


def test_the_answer_waits_for_the_graph() -> None:
    answer = STRATEGY.find(replace(observed(STRATEGY.example.before, GPU), graph=None))
    assert isinstance(answer, Refusal)
    assert answer.pending


@pytest.mark.parametrize("name", ["relu and bias", "transposed volume"])
def test_a_fusion_afterwards_writes_the_contiguous_result(name: str) -> None:
    text = MODULES[name]
    observation = observe(variants(text)[-1])
    actions = FUSE.find(observation)
    assert isinstance(actions, tuple), actions
    assert actions[0].region.label.endswith(", contiguous")
    edits = carried_out(FUSE, observation, actions[0])
    assert isinstance(edits, tuple), edits
    fused = apply(edits[0], observation.text)
    assert "memory_format=torch.contiguous_format" in fused
    assert problems([(name, text, fused)]) == {}


def test_gradients_pass_through_the_kernel_that_converts_a_large_input(tmp_path: Path) -> None:
    text = module("return self.conv(x)", CONV, "torch.randn(1, 16, 512, 512)")
    after = variants(text)[0]
    assert "copy_channels_last_kernel[grid](" in after
    made = load(tmp_path, "large", after)
    x = made.get_inputs()[0].requires_grad_()
    made.Model(*made.get_init_inputs())(x).sum().backward()
    assert x.grad is not None


def test_the_gate_accepts_weights_with_other_strides_and_no_result_with_other_strides() -> None:
    text = MODULES["relu and bias"]
    with_weights = variants(text)[0]
    assert ended_by(text, with_weights) == "passed"
    assert ended_by(text, with_weights.replace("(x + self.bias).contiguous()", "x + self.bias")) == "layout"
