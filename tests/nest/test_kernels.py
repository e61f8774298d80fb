"""Kernels that are printed from a Nest, compared with eager mode in Triton's interpreter, for every tile, on odd sizes."""

from dataclasses import replace
from pathlib import Path

import pytest
import torch

from kernelwright.coders.carrying_out import carried_out
from kernelwright.macro.policy import offered
from kernelwright.macro.strategies import registry
from kernelwright.micro.rewrite.nested_actions import region_of_action
from kernelwright.nest import Nest
from kernelwright.place.source_map import source_map
from kernelwright.proof.jobs import Trial
from kernelwright.proof.worker.trial import run_trial
from kernelwright.schedule.sizes import sizes
from kernelwright.values import Accuracy, Refusal, apply
from kernelwright.values.opts import Group, Loop, Precision, Rows, Stages, Tile, Warps
from macro.torch_modules import GPU, module, observed, refusal, rewritten
from micro.rewrite.run_fused import load
from micro.rewrite.test_fused_numerics import problems
from nest.folding import Choices
from proof.worker.trials import QUICK, workload

SCAN, POOL, PRODUCT = (registry()[f"torch.fuse-{name}"] for name in ("scan", "pool", "product"))

ROW = "torch.randn(5, 37)"
TALL = "torch.randn(3, 37, 5)"
SHORT = "torch.randn(1100, 7)"
SCANS = {
    "cumsum": module("return torch.cumsum(x, dim=1)", inputs=ROW),
    "cumsum of short rows": module("return x.cumsum(-1) + 1", inputs=SHORT),
    "cumsum of a vector": module("return x.cumsum(0)", inputs="torch.randn(300)"),
    "cumprod": module("return torch.cumprod(x, dim=-1) * self.scale", "self.scale = 0.5", inputs=ROW),
    "cumprod along a middle dim": module("return torch.cumprod(x, dim=1)", inputs=TALL),
    "cumsum along the first dim": module("return torch.relu(x).cumsum(0)", inputs=TALL),
    "cumsum along a long middle dim": module("return x.cumsum(1)", inputs="torch.randn(2, 300, 3)"),
    "reverse": module("return torch.cumsum(x.flip(1), dim=1).flip(1)", inputs=ROW),
    "reverse along a middle dim": module("return x.flip(1).cumprod(1).flip(1)", inputs=TALL),
    "from the end, the result turned": module("return torch.cumsum(x.flip(-1), dim=-1)", inputs=ROW),
    "exclusive": module(
        "zero = torch.zeros_like(x.select(1, 0).unsqueeze(1))\nreturn torch.cat((zero, x), dim=1)[:, :-1].cumsum(1)",
        inputs=ROW,
    ),
    "exclusive, one more": module(
        "zero = torch.zeros_like(x[:, :1])\nreturn torch.cat((zero, torch.cumsum(x, 1)), dim=1)", inputs=ROW
    ),
    "masked": module("return torch.cumsum(x * (x > 0), dim=1)", inputs=ROW),
    "of a triangle": module("return torch.tril(x, 1).cumsum(1)", inputs=TALL),
    "of a transposed tensor": module("return (x.transpose(1, 2) + 1).cumsum(-1)", inputs=TALL),
    "broadcast": module("return torch.cumsum(x * self.weight, -1)", "self.weight = nn.Parameter(torch.randn(37))", ROW),
    "broadcast over rows": module(
        "return torch.cumsum(x + self.shift, 1)", "self.shift = nn.Parameter(torch.randn(3, 1, 5))", TALL
    ),
}  # fmt: skip
IMAGE, LINE, VOLUME = "torch.randn(2, 3, 11, 9)", "torch.randn(2, 3, 23)", "torch.randn(1, 2, 7, 6, 5)"
POOLS = {
    "max": module("return self.pool(torch.relu(x))", "self.pool = nn.MaxPool2d(3, 2, 1)", IMAGE),
    "max of one dim": module("return self.pool(x) * 2", "self.pool = nn.MaxPool1d(8, 1, 4, 3)", "torch.randn(2, 3, 43)"),
    "max of three dims": module("return self.pool(x)", "self.pool = nn.MaxPool3d(3, 2, 1, 2)", VOLUME),
    "max of uneven windows": module("return self.pool(x)", "self.pool = nn.MaxPool2d((2, 3), (1, 2), (0, 1))", IMAGE),
    "max without a stride": module("return self.pool(x) + 1", "self.pool = nn.MaxPool2d((2, 3))", IMAGE),
    "max without items": module("return self.pool(x)", "self.pool = nn.MaxPool2d(3, 1)", "torch.randn(3, 11, 9)"),
    "average": module("return self.pool(x)", "self.pool = nn.AvgPool2d(3, 2, 1)", IMAGE),
    "average of what is there": module(
        "return self.pool(x).tanh()", "self.pool = nn.AvgPool2d(3, 1, 1, count_include_pad=False)", IMAGE
    ),
    "average of one dim": module("return self.pool(x)", "self.pool = nn.AvgPool1d(4, 1, 2)", LINE),
    "average of three dims": module("return self.pool(x)", "self.pool = nn.AvgPool3d(2, 1)", VOLUME),
    "a function's": module("return nn.functional.avg_pool2d(x, 3, 1) * self.scale", "self.scale = 2.0", IMAGE),
    "a function's, of attributes": module(
        "return nn.functional.max_pool2d(x, self.size, stride=1)", "self.size = 3", IMAGE
    ),
    "flattened behind": module("return self.pool(x).flatten(1) + 1", "self.pool = nn.MaxPool2d(3, 1)", IMAGE),
    "summed behind": module("return self.pool(x).sum()", "self.pool = nn.MaxPool2d(3, 1)", IMAGE),
    "a residual": module(
        "return self.pool(x) + self.other",
        "self.pool = nn.MaxPool2d(3, 1)\nself.other = nn.Parameter(torch.randn(2, 3, 9, 7))",
        IMAGE,
    ),
    "with a bias of channels": module(
        "return self.pool(x) + self.bias", "self.pool = nn.MaxPool2d(3, 1)\nself.bias = nn.Parameter(torch.randn(3, 1, 1))",
        IMAGE,
    ),
}  # fmt: skip


WEIGHT = "self.weight = nn.Parameter(torch.randn(33, 21))"
BATCH = "torch.randn(3, 20, 33)"
PRODUCTS = {
    "matmul": module("return x @ self.weight", WEIGHT, "torch.randn(40, 33)"),
    "matmul of batches with one matrix": module("return torch.matmul(x, self.weight) + 1", WEIGHT, BATCH),
    "matmul of many batches": module(
        "return torch.matmul(x, self.other)", "self.other = nn.Parameter(torch.randn(2, 1, 33, 17))", BATCH
    ),
    "bmm": module("return torch.bmm(x, self.other) * self.scale",
                  "self.other = nn.Parameter(torch.randn(3, 33, 17))\nself.scale = 0.5", BATCH),
    "with itself transposed": module("return x @ x.transpose(1, 2)", inputs=BATCH),
    "from the left": module("return self.weight @ x", "self.weight = nn.Parameter(torch.randn(18, 20))", BATCH),
    "both transposed": module("return x.T @ self.weight.T", "self.weight = nn.Parameter(torch.randn(21, 40))",
                              "torch.randn(40, 33)"),
    "linear": module("return self.linear(x)", "self.linear = nn.Linear(33, 150)", "torch.randn(140, 33)"),
    "linear of batches, activated": module(
        "return torch.tanh(self.linear(x)) * self.scale", "self.linear = nn.Linear(33, 17)\nself.scale = 0.5", BATCH
    ),
    "linear, whose result is read twice": module(
        "x = self.linear(x)\nsame = x\nx = x * torch.sigmoid(x)\nreturn x + same", "self.linear = nn.Linear(33, 17)", BATCH
    ),
    "linear without bias, and a residual": module(
        "return self.linear(x) + x", "self.linear = nn.Linear(33, 33, bias=False)", BATCH
    ),
    "an equation": module("return torch.einsum('bij,jk->bik', x, self.weight)", WEIGHT, BATCH),
    "an equation with its inner index last": module("return torch.einsum('bij,bkj->bik', x, x + 0)", inputs=BATCH),
    "addmm": module("return torch.addmm(self.bias, x, self.weight, beta=0.5)",
                    f"{WEIGHT}\nself.bias = nn.Parameter(torch.randn(21))", "torch.randn(40, 33)"),
    "baddbmm": module("return torch.relu(torch.baddbmm(self.bias, x, self.other, alpha=self.scale))",
                      "self.other = nn.Parameter(torch.randn(3, 33, 17))\nself.scale = 0.5\n"
                      "self.bias = nn.Parameter(torch.randn(3, 1, 17))", BATCH),
    "names that the kernel uses itself": module(
        "return (x @ self.left) * self.small * self.large + self.left_scale + self.zero",
        "self.left = nn.Parameter(torch.randn(33, 21))\nself.left_scale = nn.Parameter(torch.randn(21))\n"
        "self.zero = nn.Parameter(torch.randn(21))\nself.small = 0.5\nself.large = 3.0",
        "torch.randn(40, 33)"),
    "a triangle of a product": module("return torch.tril(x @ self.weight)", WEIGHT, "torch.randn(40, 33)"),
    "a triangle that leaves out whole tiles": module("return torch.relu(torch.triu(x @ self.weight, 1))",
        "self.weight = nn.Parameter(torch.randn(33, 140))", "torch.randn(150, 33)"),
}  # fmt: skip


def in_steps(nest: Nest) -> Choices:
    """Tiles that walk these short rows in several steps."""
    whole = (Loop(16), Warps(4))
    return ((Rows(16), *whole),) if sizes(nest).strip else (whole, (Rows(4), *whole))


def in_small_steps(text: str) -> list[str]:
    """The text with its scan in each of these tiles."""
    observation = observed(text)
    source, (action, *_) = source_map(text, observation.graph), offered(SCAN.id, observation)
    made = []
    for opts in in_steps(region_of_action(source, action).nest):
        made += carried_out(SCAN, observation, replace(action, opts=opts))
    return [apply(edits, text) for edits in made]


def products(text: str) -> list[str]:
    """A variant of each precision that Triton's own interpreter knows, and of fp16 parts also those of several blocks."""
    observation = observed(text)
    action, *_ = offered(PRODUCT.id, observation)
    small = (Tile(16, 32), Loop(16), Group(8), Warps(4), Stages(2))
    made = {precision: (*small, Precision(precision)) for precision in ("fp16x3", "fp16x3-in-loop")}
    first = carried_out(PRODUCT, observation, action)
    edits = [next(one for one in first if Precision(name) in one.opts) for name in ("fp16x3", "tf32x3")]
    edits += [carried_out(PRODUCT, observation, replace(action, opts=opts))[0] for opts in made.values()]
    return [apply(one, text) for one in edits]


def test_all_tiles_agree_with_eager_mode() -> None:
    made = [
        *((name, text, rewritten(SCAN, text)) for name, text in SCANS.items()),
        *((f"{name} in steps", text, in_small_steps(text)) for name, text in SCANS.items()),
        *((name, text, rewritten(POOL, text)) for name, text in POOLS.items()),
        *((name, text, products(text)) for name, text in PRODUCTS.items()),
    ]
    pairs = [
        [f"{name}, variant {i}", text, after, name in PRODUCTS]
        for name, text, all_ in made
        for i, after in enumerate(all_)
    ]
    assert problems(pairs) == {}


@pytest.mark.parametrize(
    ("forward", "label"),
    [
        ("x = self.linear(x)\nx = x * torch.sigmoid(x)\nreturn x + 1", "linear, sigmoid, mul, add"),
        ("x = self.linear(x)\ny = x\nx = torch.sigmoid(x)\nx = x * 2\nreturn x + y", "linear, sigmoid, mul, add"),
        ("x = self.linear(x)\ny = x\nx = torch.sigmoid(x)\nreturn x, y", "linear"),
        ("y = self.linear(x)\nreturn torch.relu(y), torch.tanh(y)", "linear"),
        ("y = self.linear(x)\nreturn y, torch.relu(y)", "linear"),
        ("y = self.linear(x)\nreturn torch.relu(y) + torch.cumsum(y, -1)", "linear"),
    ],
    ids=["closes", "under-another-name", "that-is-read-elsewhere", "two-results", "returned", "something-else-reads"],
)
def test_what_follows_a_product_joins_it_up_to_where_there_is_one_result(forward: str, label: str) -> None:
    text = module(forward, "self.linear = nn.Linear(33, 17)", BATCH)
    action, *_ = offered(PRODUCT.id, observed(text))
    assert action.region.label == label


def test_a_product_checks_the_extents_that_it_relies_on(tmp_path: Path) -> None:
    text = module("return torch.matmul(x, self.weight)", WEIGHT, "torch.randn(40, 33)")
    fused = load(tmp_path, "fused", rewritten(PRODUCT, text)[0])
    with pytest.raises(ValueError, match=r"fused_matmul takes .*weight.shape\[0\] of x.shape\[1\]"):
        fused.Model()(torch.randn(40, 32))


@pytest.mark.parametrize(
    ("forward", "inputs", "reason"),
    [
        ("return torch.einsum('ii,ij->ij', x, x)", "torch.randn(20, 20)", "no product of matrices"),
        ("return torch.einsum('ij,jk', x, x)", "torch.randn(20, 20)", "equation"),
        ("return torch.addmm(x[0], x, x, beta=0)", "torch.randn(20, 20)", "beta=0"),
        ("return x.double() @ x.double().T", "torch.randn(20, 20)", "float64"),
    ],
)
def test_products_that_are_none_are_refused(forward: str, inputs: str, reason: str) -> None:
    assert reason in refusal(PRODUCT, module(forward, inputs=inputs)).reason


@pytest.mark.parametrize("precision", ["fp16", "fp16-in-loop"])
def test_where_reduced_accuracy_is_accepted_operands_are_rounded(precision: str) -> None:
    text = PRODUCTS["linear of batches, activated"]
    small = (Tile(16, 32), Loop(16), Group(8), Warps(4), Stages(2), Precision(precision))
    observation = replace(observed(text, GPU), reduced=True)
    action = replace(offered(PRODUCT.id, observation)[0], opts=small)
    (rounding,) = [apply(one, text) for one in carried_out(PRODUCT, observation, action)]
    assert "_low" not in rounding
    assert isinstance(carried_out(PRODUCT, replace(observation, reduced=False), action), Refusal)
    for accepted, ending in ((False, "accuracy"), (True, "")):
        limits = replace(QUICK, accept_reduced=accepted)
        job = Trial("/nowhere/kernel.py", text, text, rounding, workload(), measure=False, limits=limits)
        verdict = run_trial(job, lambda stage: None).verdict
        assert [check.name for check in verdict.failed_checks] == ([ending] if ending else [])
        assert verdict.accuracy is Accuracy.REDUCED


def test_roundings_are_offered_where_reduced_accuracy_is_accepted() -> None:
    for columns, precision in ((33, "fp16-in-loop"), (300, "fp16")):
        text = module("return self.linear(x)", f"self.linear = nn.Linear(400, {columns})", "torch.randn(300, 400)")
        for reduced in (False, True):
            observation = replace(observed(text, GPU), reduced=reduced)
            edits = carried_out(PRODUCT, observation, offered(PRODUCT.id, observation)[0])
            assert any(Precision(precision) in one.opts for one in edits) == reduced
