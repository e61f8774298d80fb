"""The two torch fusion strategies: their worked examples, what they refuse and why, and that other lines stay."""

import ast
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from kernelwright.coders.carrying_out import carried_out
from kernelwright.macro.policy import Candidate
from kernelwright.macro.policy import best as best_of
from kernelwright.macro.policy.expected_gain import expected_gain
from kernelwright.macro.strategies import torch_fuse_pointwise, torch_fuse_row_reduction
from kernelwright.macro.strategy import Strategy
from kernelwright.schedule.forms import WalkedRows
from kernelwright.values import Device, Refusal, apply
from macro.torch_modules import module, refusal, rewritten
from micro.rewrite import fused_modules
from micro.rewrite import layout_modules as layouts
from micro.rewrite.observe import observe
from micro.rewrite.run_fused import load

STRATEGIES = [torch_fuse_pointwise.STRATEGY, torch_fuse_row_reduction.STRATEGY]
POINTWISE, ROWS = STRATEGIES


@pytest.mark.parametrize("strategy", STRATEGIES, ids=lambda s: s.id)
def test_worked_example(strategy: Strategy) -> None:
    assert rewritten(strategy, strategy.example.before)[0] == strategy.example.after


def test_a_row_that_no_block_takes_is_refused_by_the_launcher(tmp_path: Path) -> None:
    fused = load(tmp_path, "fused", rewritten(ROWS, ROWS.example.before)[0])
    with pytest.raises(ValueError, match=r"rows of 1 to 2\*\*20 elements"):
        fused.Model(2**20 + 8)(torch.empty(1, 2**20 + 8))


def test_a_tile_of_several_rows_takes_shorter_ones_and_one_that_is_walked_takes_any() -> None:
    assert [WalkedRows(0, 4, across).longest for across in (1, 2, 16)] == ["2**20", "2**19", "2**16"]
    assert WalkedRows(4096, 8).longest == ""


def ruff(command: str, *options: str, text: str) -> str:
    """What ruff complains about, "" for nothing."""
    done = subprocess.run(
        [sys.executable, "-m", "ruff", *command.split(), "--isolated", "--line-length", "88", *options, "-"],
        input=text,
        text=True,
        capture_output=True,
        check=False,
    )
    return done.stdout + done.stderr if done.returncode else ""


def test_all_generated_code_is_formatted() -> None:
    definitions: dict[str, None] = {}
    pointwise = (*fused_modules.POINTWISE, *layouts.TO_CONTIGUOUS, *layouts.TO_LAST, *layouts.BIASED, *layouts.POOLED)
    rows = (*fused_modules.REDUCTIONS, *layouts.OVER_CHANNELS, *layouts.OVER_POSITIONS, *layouts.BIASED_ROWS)
    for strategy, modules in ((POINTWISE, pointwise), (ROWS, rows)):
        for one in modules:
            observation = observe(one.text)
            variants = carried_out(strategy, observation, strategy.find(observation)[0])
            heads = [apply(edits, one.text).split("class Model")[0] for edits in variants]
            definitions |= {head[head.index("@triton.jit") :].strip(): None for head in heads}
    text = "\n\n\n".join(definitions) + "\n"
    assert text.count("@triton.jit") > 300
    assert ruff("format", "--diff", text=text) == ""
    assert ruff("check", "--select", "E501", text=text) == ""


@pytest.mark.parametrize(
    "imports",
    [
        "import torch\nimport torch.nn as nn\n",
        "import torch\nfrom torch import nn\n",
        "import math\n\nimport numpy as np\nimport torch\nfrom torch import nn\n",
        "import torch\nimport torch.utils.data\nfrom torch import nn\n",
        '"""A model."""\n\nfrom __future__ import annotations\n\nimport math\n\nimport torch\nfrom torch import nn\n',
    ],
)
def test_sorted_imports_stay_sorted(imports: str) -> None:
    body = module("y = torch.sigmoid(nn.functional.relu(x))\nreturn y").split("import torch.nn as nn\n")[1]
    text = imports + body
    after = rewritten(POINTWISE, text)[0]
    assert ruff("check", "--select", "I001,E402", text=text) == ""
    assert ruff("check", "--select", "I001,E402", text=after) == ""


@pytest.mark.parametrize("strategy", STRATEGIES, ids=lambda s: s.id)
def test_the_answer_waits_for_the_graph(strategy: Strategy) -> None:
    answer = strategy.find(replace(observe(strategy.example.before), graph=None))
    assert isinstance(answer, Refusal)
    assert answer.pending


def test_lines_outside_the_region_stay_byte_for_byte() -> None:
    text = module("# größer als früher — ändern\nx = self.linear(x)\nx = torch.relu(x)\nx = x * 2  # doppelt\nreturn x",
                  "self.linear = nn.Linear(16, 16)").replace("\n", "\r\n")  # fmt: skip
    after = rewritten(POINTWISE, text)[0]
    assert "\n" not in after.replace("\r\n", "")
    kept = [line for line in text.split("\r\n") if "torch.relu" not in line and "x * 2" not in line]
    remaining = iter(after.split("\r\n"))
    assert all(any(line == other for other in remaining) for line in kept)
    assert "x = fused_relu_mul(x)  # doppelt" in after


def test_a_number_of_the_module_stays_its_attribute() -> None:
    after = rewritten(POINTWISE, module("return torch.relu(x * self.scale)", "self.scale = 0.5"))[0]
    assert "return fused_mul_relu(x, self.scale)" in after


@pytest.mark.parametrize(
    ("forward", "setup", "reason", "line"),
    [
        ("return torch.relu(x)", "pass", "one kernel already", 10),
        ("y = torch.relu(x)\nz = y + 1\nreturn z, y", "pass", "", None),
        ("for _ in range(2):\n    x = torch.relu(x)\nreturn x", "pass", "", 11),
        ("return torch.relu(x @ x.T if len(x) < 9 else x) * 2", "pass", "a conditional expression", 10),
        ("x = self.drop(x)\nreturn x", "self.drop = nn.Dropout(0.5)", "", None),
        ("return (x.double() + 1).relu()", "pass", "", None),
    ],
)
def test_refusals_say_why(forward: str, setup: str, reason: str, line: int | None) -> None:
    answer = refusal(POINTWISE, module(forward, setup))
    assert reason in answer.reason
    assert line is None or answer.line == line


def test_a_loss_with_weights_is_not_taken_for_one_without() -> None:
    assert "fused_mul_mse_loss" in rewritten(ROWS, module("return nn.functional.mse_loss(x * 2, x)"))[0]
    refusal(ROWS, module("return nn.functional.mse_loss(x * 2, x, weight=x.abs())"))


def test_a_value_that_is_used_later_stays() -> None:
    after = rewritten(POINTWISE, module("y = torch.relu(x)\nz = torch.tanh(y)\nz = z * 3\nreturn z + y.sum()"))[0]
    assert "y = torch.relu(x)" in after
    assert "return fused_tanh_mul_add(y, y.sum())" in after


def test_a_chain_of_methods_over_several_lines_is_one_region() -> None:
    after = rewritten(
        POINTWISE, module("x = x.sin(\n).mul(\n    self.scale\n).sigmoid()\nreturn x", "self.scale = 0.5")
    )[0]
    assert "x = fused_sin_mul_sigmoid(x, self.scale)\n        return x" in after


def test_what_a_function_of_the_file_returns_is_an_input() -> None:
    text = module("x = torch.sigmoid(squared(x))\nreturn x * 3")
    after = rewritten(POINTWISE, text.replace("class Model", "def squared(x):\n    return x @ x.T\n\n\nclass Model"))[0]
    assert "        x = squared(x)\n        return fused_sigmoid_mul(x)" in after


def test_names_that_are_taken_are_not_taken_again() -> None:
    once = rewritten(
        POINTWISE, module("x = torch.relu(x)\nx = x * 2\nx = x @ x.T\nx = torch.relu(x)\nx = x * 2\nreturn x")
    )[0]
    twice = rewritten(POINTWISE, once)[0]
    assert "fused_relu_mul(x)" in twice
    assert "fused_relu_mul_2(x)" in twice
    assert twice.count("import triton\n") == 1


def test_where_dropout_acts_the_code_stays_as_it_is() -> None:
    statements = "x = torch.relu(x)\nx = self.drop(x)\n"
    returns, goes_on = (
        rewritten(POINTWISE, module(statements + end, "self.drop = nn.Dropout(0.0)"))[0]
        for end in ("return x + 1", "x = x + 1\nreturn torch.sort(x)[0]")
    )
    assert (
        """
        if not (self.drop.training and self.drop.p):
            return fused_relu_add(x)
        x = torch.relu(x)
        x = self.drop(x)
        return x + 1
"""
        in returns
    )
    assert (
        """
        if not (self.drop.training and self.drop.p):
            x = fused_relu_add(x)
        else:
            x = torch.relu(x)
            x = self.drop(x)
            x = x + 1
        return torch.sort(x)[0]
"""
        in goes_on
    )


DROPPED = module("x = torch.relu(x)\nx = self.drop(x)\nreturn x + 1", "self.drop = nn.Dropout(0.0)")


def test_code_for_one_mode_at_the_very_end_of_a_file() -> None:
    head, end = DROPPED.split("class Model")
    model, rest = end.split("\n\n\ndef get_inputs", 1)
    text = f"{head}def get_inputs{rest.rstrip()}\n\n\nclass Model{model}"
    assert not text.endswith("\n")
    after = rewritten(POINTWISE, text)[0]
    assert after.endswith(
        """
            return fused_relu_add(x)
        x = torch.relu(x)
        x = self.drop(x)
        return x + 1"""
    )


def test_where_a_copy_would_mix_tabs_and_spaces_the_new_code_insists_on_its_mode() -> None:
    after = rewritten(POINTWISE, DROPPED.replace("    ", "\t"))[0]
    assert "\t\tassert not (self.drop.training and self.drop.p)\n\t\treturn fused_relu_add(x)\n" in after
    ast.parse(after)


def test_where_a_copy_would_change_a_string_the_new_code_insists_on_its_mode() -> None:
    text = 'x = torch.relu(x) * len("""a\nb""")\nx = self.drop(x) + 1\nreturn x'
    after = rewritten(POINTWISE, module(text, "self.drop = nn.Dropout(0.0)"))[0]
    assert "        assert not (self.drop.training and self.drop.p)\n        x = fused_relu_mul_add(x, " in after


H200 = Device("cuda", "H200", multiprocessors=132, bandwidth=4.8e12, peak_flops={"float32": 6.7e13})
NORM = ("return self.norm(x)", "self.norm = nn.LayerNorm(1 << 20)")


@pytest.mark.parametrize(
    ("forward", "setup", "inputs", "least", "most"),
    [
        (*NORM, "torch.randn(16, 1 << 20)", 5.0, 8.0),  # one block for each of 16 rows
        (*NORM, "torch.randn(2000, 1 << 20)", 0.03, 0.1),
        ("return torch.softmax(x, 1)", "pass", "torch.randn(4096, 393216)", 0.2, 0.4),
        ("return torch.softmax(x, 1)", "pass", "torch.randn(65536, 1024)", 0.02, 0.05),
        ("return torch.sum(x, 0)", "pass", "torch.randn(100000, 64)", 0.0, 0.0),  # one strip would have one program
        ("return torch.softmax(x @ x.T, 1)", "pass", "torch.randn(16384, 16384)", 0.0, 0.02),  # the product decides
    ],
)
def test_what_one_reduction_may_gain(forward: str, setup: str, inputs: str, least: float, most: float) -> None:
    observation = replace(observe(module(forward, setup, inputs)), device=H200)
    actions = ROWS.find(observation)
    assert isinstance(actions, tuple)
    scored = best_of(expected_gain()(observation, (Candidate(ROWS, actions[0]),)), ROWS.id)
    assert least <= scored.expected_gain <= most


BIAS, SCALED = "self.bias = nn.Parameter(torch.zeros(16))", "self.scale = 2.0"


@pytest.mark.parametrize(
    ("strategy", "forward", "setup", "name", "words"),
    [
        (ROWS, "return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6)", "pass", "rms_norm", "RMSNorm"),
        (ROWS, "return x / (x.pow(2).mean(-1, keepdim=True) + 1e-6).sqrt()", "pass", "rms_norm", "RMSNorm"),
        (ROWS, "return x / x.norm(dim=1, keepdim=True)", "pass", "l2_normalize", "L2 normalization"),
        (ROWS, "return ((x - x.flip(0)) ** 2).mean()", "pass", "mse_loss", "Mean squared error"),
        (ROWS, "return (x * torch.sigmoid(x)).sum(1)", "pass", "silu_sum", "SiLU and sum"),
        (ROWS, "return (x.sin() * torch.sigmoid(x)).sum(1)", "pass", "sin_sigmoid_sum", "Sin, sigmoid, multiply"),
        (POINTWISE, "return nn.functional.gelu(x + self.bias) + x", BIAS, "bias_gelu_residual", "Bias add, GELU and residual"),
        (POINTWISE, "return 0.5 * x * (1 + torch.tanh(0.79788 * (x + 0.044715 * x**3)))", "pass", "gelu", "GELU in one"),
        (POINTWISE, "return (torch.relu(x + 1) * self.scale).clamp(max=3).tanh()", SCALED, "relu_tanh", "Add, ReLU"),
    ],
)  # fmt: skip
def test_names_and_words(strategy: Strategy, forward: str, setup: str, name: str, words: str) -> None:
    after = rewritten(strategy, module(forward, setup))[0]
    assert f"def fused_{name}(" in after
    assert f'"""{words}' in after
