"""What launchers run where a gradient is asked for: torch code that is right for other sizes, or none at all.

That it computes the baseline's gradients is asked of all fused modules, in `micro/rewrite/run_fused.py`.
"""

import pytest

from kernelwright.macro.strategies import registry
from macro.torch_modules import module, rewritten

POINTWISE, ROWS, REDUCTION, SCAN, NARROW = (
    registry()[f"torch.fuse-{name}"] for name in ("pointwise", "row-reduction", "reduction", "scan", "narrow-product")
)
IMAGE = "torch.randn(2, 3, 5, 7)"
ASKED = "    if torch.is_grad_enabled() and "

CASES = {
    "operators": (
        POINTWISE,
        module("return torch.relu(-2 * x + 1) ** 2"),
        "x.requires_grad:\n        product = x * (-2)\n        total = product + 1\n"
        "        relu = torch.relu(total)\n        return relu**2\n",
    ),
    "a flattened tensor": (
        NARROW,
        module("return self.linear(x.view(x.size(0), -1))", "self.linear = nn.Linear(20, 5)", "torch.randn(7, 20, 1, 1)"),
        "        view = x.flatten(1)\n        return torch.nn.functional.linear(view, weight, bias)\n",
    ),
    "one of two results": (
        ROWS,
        module("return torch.max(x * 2, dim=1)[0]"),
        "x.requires_grad:\n        product = x * 2\n        return torch.max(product, dim=1)[0]\n",
    ),
    "the size of a row": (
        ROWS,
        module("return nn.functional.layer_norm(x + 1, (16,))"),
        "x.requires_grad:\n        total = x + 1\n        return torch.nn.functional.layer_norm(total, total.shape[-1:])\n",
    ),
    "statistics that are moved": (
        REDUCTION,
        module("return self.bn(x)", "self.bn = nn.BatchNorm2d(3)", IMAGE),
        "any(t.requires_grad for t in (x, weight, bias)):\n        num_batches_tracked.add_(1)\n"
        "        return torch.nn.functional.batch_norm(\n",
    ),
    "the bias of a convolution": (
        POINTWISE,
        module("return torch.tanh(self.conv(x)) * 2", "self.conv = nn.Conv2d(3, 4, 3)", IMAGE),
        "(conv_out, conv_bias)):\n        conv_out = conv_out + conv_bias[:, None, None]\n"
        "        tanh = torch.tanh(conv_out)\n        return tanh * 2\n",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_the_code_for_a_gradient(name: str) -> None:
    strategy, text, expected = CASES[name]
    after = rewritten(strategy, text)[0]
    launcher = after.split("\ndef fused_")[1].split("\n\n\n")[0]
    assert ASKED in launcher, launcher
    assert expected in launcher.split(ASKED)[1]
    assert "forward only" not in launcher


@pytest.mark.parametrize(
    ("strategy", "forward"),
    [
        (SCAN, "return torch.cumsum(x[:, 1:] * 2, dim=1)"),  # the place where it begins may be a size of this call
        (ROWS, "return torch.argmax(x * 2, dim=1)"),  # no gradient flows
    ],
)
def test_none_where_it_would_be_wrong_or_in_vain(strategy: object, forward: str) -> None:
    after = rewritten(strategy, module(forward))[0]
    assert ASKED not in after
    assert "; forward only." in after
