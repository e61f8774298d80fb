"""Losses and sums that end in one number or a few, by way of a Nest, against eager mode on odd sizes."""

from pathlib import Path

import pytest

from interpreted import interpreted
from kernelwright.emit import launcher
from kernelwright.macro.strategies import registry
from macro.torch_modules import module, refusal, rewritten
from nest.folding import differences, kernels

REDUCTION = registry()["torch.fuse-reduction"]
ROW, IMAGE = "torch.randn(5, 19)", "torch.randn(2, 7, 3, 2)"
LIKE = "self.t = nn.Parameter(torch.rand(5, 19))"
F = "return nn.functional"


def classes(shape: tuple[int, ...], number: int) -> str:
    """Class indices as a buffer `t`, and a weight for each class."""
    indices = f"self.register_buffer('t', torch.randint(0, {number}, {shape}))"
    return f"{indices}\nself.w = nn.Parameter(torch.rand({number}))\nself.loss = nn.CrossEntropyLoss(ignore_index=3)"


ONE = classes((5,), 19)
LOSSES = {
    "mse": module(f"{F}.mse_loss(x, self.t)", LIKE, ROW),
    "sums of two losses": module(f"{F}.huber_loss(x, self.t) + nn.functional.l1_loss(x, self.t)", LIKE, ROW),
    "smooth l1": module(f"{F}.smooth_l1_loss(torch.tanh(x), self.t, beta=0.5, reduction='sum')", LIKE, ROW),
    "kl_div": module(f"{F}.kl_div(x, self.t, reduction='batchmean')", LIKE, ROW),
    "binary cross entropy": module(f"{F}.binary_cross_entropy_with_logits(x, self.t)", LIKE, ROW),
    "hinge with a number a row": module(
        "return torch.mean(torch.clamp(1 - x * self.t, min=0))", "self.t = nn.Parameter(torch.randn(5, 1))", ROW
    ),
    "a mean of everything": module("return x.mean() * 2", inputs=IMAGE),
    "a row's mean": module("return (x * x).mean(1)", inputs=ROW),
    "a column's mean": module("return (x * self.t).mean(0, keepdim=True) + 1", LIKE, ROW),
    "a product along a middle dim": module("return x.prod(1)", inputs="torch.randn(3, 11, 2)"),
    "extremes after one another": module("return x.amin(1).sum()", inputs=ROW),
    "norms after one another": module("return torch.norm(x - self.t, dim=1).mean()", LIKE, ROW),
    "cross entropy": module("return self.loss(x * 2, self.t)", ONE, ROW),
    "cross entropy of each": module(f"{F}.cross_entropy(x, self.t, reduction='none') + 1", ONE, ROW),
    "cross entropy, weighted": module(f"{F}.cross_entropy(x, self.t, self.w, ignore_index=7)", ONE, ROW),
    "cross entropy of an image": module(f"{F}.cross_entropy(x, self.t)", classes((2, 3, 2), 7), IMAGE),
    "cross entropy of one item": module(f"{F}.cross_entropy(x, self.t)", classes((), 19), "torch.randn(19)"),
    "nll": module(f"{F}.nll_loss(x, self.t, reduction='sum')", ONE, ROW),
    "triplets": module(f"{F}.triplet_margin_loss(x, self.t, x.exp(), margin=0.3)", LIKE, ROW),
}  # fmt: skip


def test_all_steps_agree_with_eager_mode() -> None:
    assert differences({name: (text, kernels(text)) for name, text in LOSSES.items()}) == {}


def test_offsets_of_64_bits_give_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    """What only tensors of 2**31 elements need, on small ones."""
    monkeypatch.setattr(launcher, "is_wide", lambda nest: True)
    some = ("cross entropy", "cross entropy of an image", "a column's mean", "mse")
    places = {"argmax": module("return x.argmax(1)", inputs=ROW)}
    made = {name: (text, kernels(text)) for name, text in ({n: LOSSES[n] for n in some} | places).items()}
    assert all("tl.cast(number, tl.int64)" in made[name][1][0] for name in some[:2])
    assert all("tl.int64" in one for _, all_ in [made["argmax"], made["a column's mean"]] for one in all_)
    assert differences(made) == {}


def test_the_strategy_makes_kernels_with_and_without_parts() -> None:
    few, many = (rewritten(REDUCTION, module(f"{F}.cross_entropy(x, self.t)", classes((n,), 9), f"torch.randn({n}, 9)"))[0]
                 for n in (5, 300))  # fmt: skip
    assert "join_kernel" not in few
    assert "cross_entropy_join_kernel[(1,)]" in many


@pytest.mark.parametrize(
    ("forward", "setup", "reason"),
    [
        (f"{F}.cross_entropy(x, self.t, label_smoothing=0.1)", ONE, "with these options"),
        (f"{F}.cross_entropy(x, self.t)", "self.t = nn.Parameter(torch.rand(5, 19))", "several shapes"),
        ("return (x - x.sum()).exp().sum()", "pass", "torch.fuse-row-reduction takes"),
        ("return x * 2", "pass", "no reduction"),
    ],
)
def test_what_is_left_to_others_says_why(forward: str, setup: str, reason: str) -> None:
    assert reason in refusal(REDUCTION, module(forward, setup, ROW)).reason


def test_a_class_out_of_range_stops_the_kernel(tmp_path: Path) -> None:
    """Triton's own interpreter has device assertions, too, once it is told so."""
    after = rewritten(REDUCTION, module(f"{F}.cross_entropy(x, self.t)", ONE, ROW))[0]
    (tmp_path / "fused.py").write_text(after, encoding="utf-8")
    call = "\n".join(
        (
            "import dataclasses, torch, fused",
            "from triton.runtime.interpreter import interpreter_builder as builder",
            "builder.options = dataclasses.replace(builder.options, debug=True)",
            "model = fused.Model()",
            "model(torch.randn(5, 19))",
            "for wrong in (-1, 19):",
            "    model.t[2] = wrong",
            "    try:",
            "        model(torch.randn(5, 19))",
            "    except Exception as error:",
            "        print('out of range' in str(error) + str(error.__cause__))",
        )
    )
    (tmp_path / "call.py").write_text(call, encoding="utf-8")
    said = interpreted(tmp_path / "call.py")
    assert said.split() == ["True", "True"]
