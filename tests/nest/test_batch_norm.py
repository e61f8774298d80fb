"""Batch norm in training, by way of a Nest: results and running statistics, against eager mode on odd sizes."""

import pytest

from kernelwright.macro.strategies import registry
from macro.torch_modules import module, refusal, rewritten
from nest.folding import differences, kernels

PRODUCT, REDUCTION = (registry()[f"torch.fuse-{name}"] for name in ("product", "reduction"))
IMAGE = "torch.randn(3, 4, 5, 3)"


def norm(made: str) -> str:
    """A batch norm whose weights and running statistics are not those of a new one."""
    names = ["weight.data", "bias.data", "running_mean", "running_var"]
    return "\n".join([f"self.bn = nn.{made}", *(f"self.bn.{name}.uniform_()" for name in names)])


NORMS = {
    "of images": module("return self.bn(x)", norm("BatchNorm2d(4)"), IMAGE),
    "of rows, with what stands around": module(
        "return torch.relu(self.bn(x * 2))", norm("BatchNorm1d(19)"), "torch.randn(7, 19)"
    ),
    "of volumes, without weights": module(
        "return self.bn(x).sigmoid() + x", "self.bn = nn.BatchNorm3d(4, momentum=0.3, eps=1e-3, affine=False)",
        "torch.randn(2, 4, 3, 2, 3)",
    ),
    "without running statistics": module(
        "return self.bn(x) * 2", "self.bn = nn.BatchNorm2d(4, track_running_stats=False)\nself.bn.eval()", IMAGE
    ),
    "a function's": module(
        "return nn.functional.batch_norm(x, self.mean, self.var, training=True, momentum=0.2)",
        "self.register_buffer('mean', torch.zeros(4))\nself.register_buffer('var', torch.ones(4))", IMAGE,
    ),
    "what is reduced is applied, too": module("return torch.exp(x - x.mean((0, 2))[:, None])", "pass", "torch.randn(3, 3, 5)"),
}  # fmt: skip


def test_all_steps_agree_with_eager_mode() -> None:
    """The interpreter's process compares the buffers after the call, too."""
    assert differences({name: (text, kernels(text)) for name, text in NORMS.items()}) == {}


def test_the_new_code_is_for_training_alone() -> None:
    after = rewritten(REDUCTION, NORMS["of images"])[0]
    assert "        if self.bn.training:\n            return fused_" in after
    assert "self.bn.running_mean,\n                self.bn.running_var" in after
    assert " if " not in rewritten(REDUCTION, NORMS["without running statistics"])[0].split("class Model")[1]


@pytest.mark.parametrize(
    ("forward", "setup", "reason"),
    [
        ("return self.bn(x) + self.bn.running_mean.sum()", norm("BatchNorm2d(4)"), "used elsewhere too"),
        ("return self.bn(self.bn(x))", norm("BatchNorm2d(4)"), "used elsewhere too"),
        ("return self.bn(x[:, :4])", norm("BatchNorm2d(4)") + "\nself.bn.eval()", "no reduction"),
    ],
)
def test_what_has_no_form_is_refused(forward: str, setup: str, reason: str) -> None:
    assert reason in refusal(REDUCTION, module(forward, setup, IMAGE)).reason


def test_the_counter_is_the_module_s_own_where_nothing_tells_what_its_argument_is() -> None:
    """Behind a kernel that an earlier step has written, no operator of the graph made what the name holds."""
    text = module("x = self.linear(x)\nx = self.bn(x)\nreturn x", f"self.linear = nn.Linear(33, 20)\n{norm('BatchNorm1d(20)')}",
                  "torch.randn(18, 33)")  # fmt: skip
    earlier = next(one for one in rewritten(PRODUCT, text) if "def fp16_parts(" in one)
    (behind, *_) = rewritten(REDUCTION, earlier)
    assert "fused_batch_norm(\n                self.bn.num_batches_tracked,\n                x," in behind
