"""Small modules whose forward is rewritten, run in Triton's interpreter and compared with eager mode."""

# ruff: noqa: E501

from dataclasses import dataclass


@dataclass(frozen=True)
class FusedModule:
    """`forward` is the body of forward(self, …), `setup` the body of __init__, `inputs` what get_inputs returns."""

    name: str
    forward: str
    inputs: str
    setup: str = "pass"
    arguments: str = "x"
    mode: str = "train"

    @property
    def text(self) -> str:
        setup = "\n        ".join(self.setup.splitlines())
        forward = "\n        ".join(self.forward.splitlines())
        call = ".eval()" if self.mode == "eval" else ""
        return f"""import math

import torch
import torch.nn as nn
import torch.nn.functional as F


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        {setup}
        {"self.eval()" if call else "self.train()"}

    def forward(self, {self.arguments}):
        {forward}


def get_inputs():
    return [{self.inputs}]


def get_init_inputs():
    return []
"""


def unary(*calls: str) -> list[FusedModule]:
    """Each activation, between an addition and a product so that there is something to fuse."""
    return [FusedModule(c.split("(")[0].split(".")[-1] + f"-{i}", f"y = x + 0.25\ny = {c}\nreturn y * 1.5",
                        "torch.randn(37, 53) * 4") for i, c in enumerate(calls)]  # fmt: skip


POINTWISE = [
    *unary(
        "torch.relu(y)", "F.leaky_relu(y, 0.1)", "F.elu(y, alpha=1.3)", "torch.selu(y)", "F.gelu(y)",
        "F.gelu(y, approximate='tanh')", "torch.sigmoid(y)", "F.silu(y)", "torch.tanh(y)", "F.softplus(y)",
        "F.softplus(y, beta=2.0, threshold=5.0)", "F.softsign(y)", "F.hardshrink(y)", "F.softshrink(y, 0.7)",
        "F.threshold(y, 0.1, 0.7)", "torch.floor(y)", "torch.clamp_min(y, -0.5)", "torch.addcdiv(y, x, y * y + 1.0)",
        "F.mish(y)", "F.hardswish(y)", "F.hardsigmoid(y)",
        "F.hardtanh(y, -0.7, 0.9)", "F.relu6(y)", "torch.clamp(y, min=-1.0)", "y.clamp(max=0.5)", "y.clamp(-1, 1)",
        "torch.exp(y)", "torch.log(y.abs() + 1)", "torch.abs(y)", "torch.sign(y)", "torch.sqrt(y.abs())",
        "torch.rsqrt(y.square() + 1)", "y ** 2", "torch.pow(y, 3)", "torch.reciprocal(y)", "-y", "torch.erf(y)",
        "F.logsigmoid(y)", "F.celu(y, 0.7)", "torch.maximum(y, x * 2)", "torch.minimum(y, -x)",
        "torch.where(y > 0.5, y, x)", "y.masked_fill(y < 0, 0.5)", "(y > 0).float()", "torch.log1p(y.abs())",
        "torch.expm1(y)", "F.dropout(y, 0.5, training=False)", "torch.max(y, torch.tensor(0.3))",
    ),
    FusedModule("channel-bias", "x = torch.relu(x)\nx = x + self.bias\nreturn x", "torch.randn(3, 5, 7, 9)",
                "self.bias = nn.Parameter(torch.randn(5, 1, 1))"),
    FusedModule("batch-of-one", "return torch.relu(x) + self.bias", "torch.randn(1, 5, 7, 9)",
                "self.bias = nn.Parameter(torch.randn(5, 1, 1))"),
    FusedModule("last-dim-bias", "return F.gelu(x + self.bias) * self.scale", "torch.randn(4, 6, 33)",
                "self.bias = nn.Parameter(torch.randn(33))\nself.scale = 0.3"),
    FusedModule("two-dim-bias", "return torch.tanh(x + self.bias) - 1", "torch.randn(4, 6, 33)",
                "self.bias = nn.Parameter(torch.randn(6, 33))"),
    FusedModule("outer-and-inner", "return torch.tanh(x + self.bias) - 1", "torch.randn(4, 6, 33)",
                "self.bias = nn.Parameter(torch.randn(4, 1, 33))"),
    FusedModule("row-factor", "return torch.sigmoid(x * w) + 1", "torch.randn(14, 33), torch.randn(14, 1)", arguments="x, w"),
    FusedModule("one-number", "return torch.relu(x * self.scale) + 1", "torch.randn(14, 33)",
                "self.scale = nn.Parameter(torch.tensor(1.7))"),
    FusedModule("residual", "y = torch.tanh(x)\ny = y * r\nreturn y + x", "torch.randn(14, 33), torch.randn(14, 33)",
                arguments="x, r"),
    FusedModule("baseline-kept", "baseline = x\nx = torch.sigmoid(x)\nx = x * 2.0\nx = x + baseline\nreturn x",
                "torch.randn(14, 33)"),
    FusedModule("after-linear", "return torch.relu(self.linear(x)) * self.scale", "torch.randn(14, 33)",
                "self.linear = nn.Linear(33, 20)\nself.scale = 0.5"),
    FusedModule("linear-inside", "y = torch.relu(self.linear(x)) + self.bias\nz = y * 2\nreturn z", "torch.randn(14, 33)",
                "self.linear = nn.Linear(33, 20)\nself.bias = nn.Parameter(torch.randn(20))"),
    FusedModule("module-activations", "x = self.linear(x)\nx = self.act(x)\nx = self.tanh(x)\nreturn x", "torch.randn(14, 33)",
                "self.linear = nn.Linear(33, 20)\nself.act = nn.LeakyReLU(0.2)\nself.tanh = nn.Hardtanh(-0.5, 0.4)"),
    FusedModule("in-place", "x = self.linear(x)\nx = self.act(x)\nx += 1\nx *= self.scale\nreturn x", "torch.randn(14, 33)",
                "self.linear = nn.Linear(33, 20)\nself.act = nn.ReLU(inplace=True)\nself.scale = 0.5"),
    FusedModule("batch-norm-eval", "x = torch.relu(x)\nx = self.bn(x)\nreturn x", "torch.randn(3, 5, 7, 9)",
                "self.bn = nn.BatchNorm2d(5)\nself.bn.running_mean.normal_()\nself.bn.running_var.uniform_(0.5, 2)",
                mode="eval"),
    FusedModule("batch-norm-train", "x = self.bn(x)\nx = x * 2\nreturn torch.relu(x)", "torch.randn(6, 5, 7, 9)",
                "self.bn = nn.BatchNorm2d(5)"),
    FusedModule("hand-gelu", "return 0.5 * x * (1.0 + torch.tanh(math.sqrt(2.0 / math.pi) * (x + 0.044715 * torch.pow(x, 3.0))))",
                "torch.randn(37, 53)"),
    FusedModule("channels-last", "x = torch.relu(x)\nx = x + self.bias\nreturn x",
                "torch.randn(3, 5, 7, 9).to(memory_format=torch.channels_last)",
                "self.bias = nn.Parameter(torch.randn(5, 1, 1))"),
    FusedModule("parameter-view", "x = x - self.shift.view(1, -1, 1)\nx = torch.tanh(x)\nreturn x", "torch.randn(3, 5, 7)",
                "self.shift = nn.Parameter(torch.randn(5))"),
    FusedModule("boolean-mask", "return torch.relu(x * mask) + 1", "torch.randn(9, 11), torch.rand(9, 11) > 0.5",
                arguments="x, mask"),
    FusedModule("whole-numbers", "return torch.relu(x * ids).masked_fill(ids == 0, -1.0)",
                "torch.randn(9, 11), torch.randint(0, 3, (9, 11))", arguments="x, ids"),
    FusedModule("single-in-every-dim", "return torch.relu(x * s) + x", "torch.randn(1, 5, 1, 9), torch.randn(1, 1, 1, 9)",
                arguments="x, s"),
    FusedModule("boolean-result", "y = x * 2\nreturn y > 0.5", "torch.randn(9, 11)"),
    FusedModule("several-lines", "x = torch.clamp(\n    x,\n    min=0.0,  # lower\n)\nx = (\n    x * 2\n)\nreturn x",
                "torch.randn(9, 11)"),
]  # fmt: skip

_ROWS = "torch.randn(13, 77) * 3"
_IMAGE = "torch.randn(3, 6, 5, 7)"

REDUCTIONS = [
    *(
        FusedModule(f"row-{i}", f"x = x + 0.5\nx = {call}\nreturn x", _ROWS)
        for i, call in enumerate((
            "torch.softmax(x, dim=-1)", "F.log_softmax(x, dim=1)", "torch.logsumexp(x, dim=1, keepdim=True)",
            "x.sum(dim=1)", "x.mean(-1, keepdim=True)", "torch.max(x, dim=1)[0]", "torch.min(x, 1, keepdim=True).values",
            "x.amax(1)", "x.amin(1)", "x.var(dim=1)", "x.std(dim=1, keepdim=True)", "torch.var(x, dim=1, unbiased=False)",
            "torch.norm(x, dim=1)", "torch.norm(x, p=1, dim=1, keepdim=True)", "F.normalize(x, dim=1)",
            "torch.argmax(x, dim=1)", "torch.argmin(x, dim=1)", "x / torch.norm(x, p=2, dim=1, keepdim=True)",
            "x / torch.mean(torch.abs(x), dim=1, keepdim=True)", "F.layer_norm(x, (77,))",
            "x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6)", "x - x.mean(dim=1, keepdim=True)",
            "torch.prod(x, dim=1, keepdim=True)",
        ))
    ),
    *(
        FusedModule(f"strip-{i}", f"x = x * 1.5\nx = {call}\nreturn x", "torch.randn(1, 2, 5, 7)" if i == 5 else _IMAGE)
        for i, call in enumerate((
            "torch.softmax(x, dim=1)", "torch.logsumexp(x, dim=1, keepdim=True)", "torch.max(x, dim=1)[0]",
            "x.mean(dim=1, keepdim=True)", "x / torch.sqrt(torch.mean(x ** 2, dim=1, keepdim=True) + 1e-5)",
            "torch.min(x, dim=2)[0]", "torch.sum(x, dim=(1, 2))", "torch.softmax(x, dim=1) + self.bias", "x.argmax(dim=1)",
        )[:7])
    ),
    FusedModule("softmax-bias", "x = torch.softmax(x, dim=1)\nx = x + self.bias\nx = x * self.scale\nreturn torch.sigmoid(x)",
                _IMAGE, "self.bias = nn.Parameter(torch.randn(6, 1, 1))\nself.scale = 2.0"),
    FusedModule("softmax-then-max", "x = torch.softmax(x, dim=1)\nx = x - self.s.view(1, -1, 1, 1)\nreturn torch.max(x, dim=1)[0]",
                _IMAGE, "self.s = nn.Parameter(torch.randn(6))"),
    FusedModule("layer-norm", "x = x + self.shift\nx = self.norm(x)\nreturn F.gelu(x)", "torch.randn(4, 9, 33)",
                "self.norm = nn.LayerNorm(33)\nnn.init.normal_(self.norm.weight)\nnn.init.normal_(self.norm.bias)\n"
                "self.shift = nn.Parameter(torch.tensor(0.01))"),
    FusedModule("layer-norm-two-dims", "x = self.norm(x)\nreturn torch.relu(x)", "torch.randn(4, 9, 33)",
                "self.norm = nn.LayerNorm((9, 33))\nnn.init.normal_(self.norm.weight)"),
    FusedModule("group-norm", "x = F.gelu(x)\nx = self.norm(x)\nreturn x", _IMAGE,
                "self.norm = nn.GroupNorm(3, 6)\nnn.init.normal_(self.norm.weight)\nnn.init.normal_(self.norm.bias)"),
    FusedModule("group-norm-flat", "x = self.norm(x)\nx = F.leaky_relu(x, 0.01)\nreturn x + x", "torch.randn(8, 64)",
                "self.norm = nn.GroupNorm(4, 64)\nnn.init.normal_(self.norm.weight)\nnn.init.normal_(self.norm.bias)"),
    FusedModule("instance-norm", "x = self.norm(x)\nreturn x / 2.0", _IMAGE, "self.norm = nn.InstanceNorm2d(6)"),
    FusedModule("instance-norm-affine", "x = self.norm(x)\nreturn x / 2.0", _IMAGE,
                "self.norm = nn.InstanceNorm2d(6, affine=True)\nnn.init.normal_(self.norm.weight)"),
    FusedModule("mean-trailing", "x = x * 0.5\nx = torch.mean(x, dim=[2, 3], keepdim=True)\nreturn torch.tanh(x)", _IMAGE),
    FusedModule("mean-twice", "x = torch.mean(x * 2, dim=[2, 3], keepdim=True)\nreturn torch.mean(x, dim=[2, 3], keepdim=True)",
                _IMAGE),
    FusedModule("pool-and-bias", "x = F.gelu(x)\nx = F.adaptive_avg_pool2d(x, 1)\nx = x.squeeze(-1).squeeze(-1)\nreturn x", _IMAGE),
    FusedModule("row-bias", "x = torch.mean(x, dim=[2, 3], keepdim=True)\nx = x + self.bias\nreturn x", _IMAGE,
                "self.bias = nn.Parameter(torch.randn(6, 1, 1))"),
    FusedModule("view-between", "b, c, h, w = x.shape\nx = torch.clamp(x, -1, 1)\nx = x.view(b, c, -1)\nx = torch.softmax(x, dim=2)\n"
                "x = x.view(b, c, h, w)\nreturn x * self.scale", _IMAGE, "self.scale = nn.Parameter(torch.randn(1, 6, 1, 1))"),
    FusedModule("logsumexp-mish", "x = x * 2\nx = torch.logsumexp(x, dim=1, keepdim=True)\nreturn x * F.mish(x)", _ROWS),
    FusedModule("one-column", "x = torch.max(x, dim=1, keepdim=True).values\nx = x - x.mean(dim=1, keepdim=True)\nreturn F.gelu(x)",
                _ROWS),
    FusedModule("long-softmax", "return torch.softmax(x * 2, dim=1)", "torch.randn(1, 17000)"),
    FusedModule("long-log-softmax", "return torch.log_softmax(x * 2, dim=1)", "torch.randn(2, 17000)"),
    FusedModule("long-layer-norm", "return torch.relu(self.norm(x))", "torch.randn(1, 17000) + 2",
                "self.norm = nn.LayerNorm(17000)"),
    FusedModule("long-norm", "return x / torch.norm(x, p=2, dim=1, keepdim=True)", "torch.randn(2, 17000)"),
    FusedModule("long-logsumexp", "return torch.logsumexp(x * 2, dim=1)", "torch.randn(2, 17000)"),
    FusedModule("long-max", "return torch.max(x * 2, dim=1)[0]", "torch.randn(2, 17000)"),
    FusedModule("long-group-norm", "return torch.tanh(self.norm(x))", "torch.randn(2, 4, 90, 100)",
                "self.norm = nn.GroupNorm(2, 4)\nnn.init.normal_(self.norm.weight)\nnn.init.normal_(self.norm.bias)"),
    FusedModule("long-argmax", "return torch.argmax(x * 2, dim=1)", "torch.randn(2, 17000)"),
    FusedModule("long-strip-sum", "return torch.sum(x * 2, dim=1, keepdim=True)", "torch.randn(2, 700, 37)"),
    FusedModule("long-strip-softmax", "return torch.softmax(x * 2, dim=1)", "torch.randn(2, 700, 37)"),
    FusedModule("long-strip-argmin", "return torch.argmin(x * 2, dim=1)", "torch.randn(2, 700, 37)"),
    FusedModule("short-rows", "return torch.softmax(x * 2, dim=1)", "torch.randn(1030, 21)"),
    FusedModule("short-layer-norm", "return torch.relu(self.norm(x)) + x", "torch.randn(3, 400, 21)",
                "self.norm = nn.LayerNorm(21)\nnn.init.normal_(self.norm.weight)"),
    FusedModule("mean-of-all", "return torch.mean((x - 1) ** 2)", "torch.randn(9, 31)"),
    FusedModule("split-mse", "return torch.mean((x - y) ** 2)", "torch.randn(90, 310), torch.randn(90, 310)", arguments="x, y"),
    FusedModule("split-hinge", "return torch.mean(torch.clamp(1 - x * y, min=0))", "torch.randn(150, 150), torch.randn(150)",
                arguments="x, y"),
    FusedModule("split-l1", "return F.l1_loss(x, y)", "torch.randn(90, 310), torch.randn(90, 310)", arguments="x, y"),
    FusedModule("split-huber", "return F.smooth_l1_loss(x, y)", "torch.randn(90, 310), torch.randn(90, 310)", arguments="x, y"),
    FusedModule("split-kl", "return F.kl_div(torch.log(x), y, reduction='batchmean')",
                "torch.rand(40, 500).softmax(-1), torch.rand(40, 500).softmax(-1)", arguments="x, y"),
    FusedModule("split-frobenius", "norm = torch.norm(x, p='fro')\nreturn x / norm", "torch.randn(3, 4, 50, 50)"),
    FusedModule("split-layer-norm", "return self.norm(x) * self.scale", "torch.randn(2, 3, 90, 90) + 3",
                "self.norm = nn.LayerNorm((3, 90, 90))\nnn.init.normal_(self.norm.weight)\nself.scale = 0.7"),
]  # fmt: skip
