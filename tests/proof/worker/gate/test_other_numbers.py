"""What else than a workload's numbers a call is made with: flags, scalars, and whole numbers that the baseline asks for."""

from types import SimpleNamespace

import pytest
import torch

from kernelwright.proof.worker.gate.named_numbers import named_numbers
from kernelwright.proof.worker.gate.other_numbers import harmless
from kernelwright.proof.worker.gate.scalar_arguments import changes
from kernelwright.proof.worker.inputs import Inputs
from kernelwright.proof.worker.languages import language_of
from kernelwright.proof.worker.whole_numbers import with_planted
from proof.worker.trials import ended_by, trial


def described(target, *args, **kwargs) -> list[tuple[str, ...]]:
    return [tuple(one.described for one in group) for group in changes(target, Inputs(args, kwargs))]


def test_floats_change_together_and_keep_to_their_side_of_one() -> None:
    def f(x, lr, beta, decay): ...

    assert described(f, torch.ones(3), 2.0, 0.5, 0.0) == [
        ("lr=4, beta=0.75, decay=0.5",),
        ("lr=1.5, beta=0.25, decay=0.25",),
    ]
    assert described(f, torch.ones(3), -1e-6)[0] == ("lr=-0.5",)
    assert described(lambda *numbers: None, torch.ones(3), 0.5)[0] == ("argument 2=0.75",)


def test_flags_and_whole_numbers_change_one_at_a_time() -> None:
    def f(x, dim, heads, *, causal, training=False, scaled=True, eps=1e-6): ...

    x = torch.ones(4, 6, 16)
    found = described(f, x, -1, 3, causal=True)
    assert found == [
        ("eps=0.5",),
        ("causal=False",),
        ("scaled=False",),
        ("dim=0", "dim=-2"),
        ("heads=4", "heads=6", "heads=2"),
    ]
    assert described(f, x, -1, 16, causal=True)[-1] == ("dim=0", "dim=-2")  # 16 is a size


def test_data_by_attributes_change_as_arguments_do() -> None:
    def f(x, module): ...

    inner = SimpleNamespace(scale=2.0, causal=True)
    module = SimpleNamespace(training=False, heads=3, inner=inner)
    assert described(f, torch.ones(5), module) == [
        ("module.inner.scale=4",),
        ("module.inner.scale=1.5",),
        ("module.inner.causal=False",),
        ("module.heads=4", "module.heads=6", "module.heads=2"),
    ]
    (changed,) = changes(f, Inputs((torch.ones(5), module)))[0]
    assert changed.inputs.args[1] == SimpleNamespace(
        training=False, heads=3, inner=SimpleNamespace(scale=4.0, causal=True)
    )
    assert inner.scale == 2.0


@pytest.mark.parametrize(
    ("text", "numbers"),
    [
        ("def f(y):\n    return y != 103", (103,)),
        ("PAD = 1\n\n\ndef f(y):\n    return y.eq(PAD)", (1,)),
        ("def f(y, pad=-1):\n    return y == pad", (-1,)),
        ("import torch.nn as nn\nx = nn.Embedding(9, 4, padding_idx=3)", (3,)),
        ("import torch.nn.functional as F\n\n\ndef f(x, y):\n    return F.cross_entropy(x, y)", (-100,)),
        ("class A:\n    def g(self):\n        self.ignored = -7\n        return self.y == self.ignored", (-7,)),
        ("def f(x):\n    return x if x.dim() == 2 or x.shape[0] > 64 or len(x) == 5 else 7", ()),
        ("def f(", ()),
    ],
)
def test_numbers_that_a_text_asks_for(text: str, numbers: tuple[int, ...]) -> None:
    assert named_numbers(text) == numbers


def test_planted_numbers_stand_beside_others() -> None:
    made = with_planted(torch.arange(100, 200), [7, -100])
    assert {7, -100} < set(made.tolist())
    assert 50 < int((made >= 100).sum()) < 90


RMS = """
import torch


def f(x, eps, causal=False):
    y = x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + eps)
    return y.tril() if causal else y
"""


@pytest.mark.parametrize(
    ("honest", "wrong"), [("+ eps", "+ 1e-6"), ("y.tril() if causal else y", "y")], ids=["eps", "flag"]
)
def test_a_number_written_into_the_text_is_found(honest: str, wrong: str) -> None:
    assert ended_by(RMS, RMS, "f(randn(48, 65), 1e-6)") == "passed"
    assert ended_by(RMS, RMS.replace(honest, wrong), "f(randn(48, 65), 1e-6)") == "values"


def test_a_number_written_into_the_text_for_an_attribute_is_found() -> None:
    text = (
        RMS.replace("eps, causal=False", "module")
        .replace("+ eps", "+ module.eps")
        .replace("if causal", "if module.causal")
    )
    line = "f(randn(48, 65), SimpleNamespace(eps=1e-6, causal=False))"
    assert ended_by(text, text, line) == "passed"
    assert ended_by(text, text.replace("+ module.eps", "+ 1e-6"), line) == "values"
    assert ended_by(text, text.replace("y.tril() if module.causal else y", "y"), line) == "values"


def test_what_a_candidate_raises_on_them_is_told_and_not_held_against_it() -> None:
    raising = RMS.replace("    y = x", "    assert not causal, 'no kernel for it'\n    y = x")
    verdict = trial(RMS, raising, "f(randn(48, 65), 1e-6)").verdict
    assert verdict.passed
    assert "with causal=True the baseline has an answer, the candidate raises" in verdict.how
    assert "no kernel for it" in verdict.how


def test_dropout_with_another_probability_is_no_call() -> None:
    dropping = RMS.replace("def f(x, eps, causal=False):", "def f(x, p):\n    eps = 1e-6").replace(
        "    return y.tril() if causal else y", "    return torch.nn.functional.dropout(y, p)"
    )
    without = dropping.replace("torch.nn.functional.dropout(y, p)", "y")
    assert ended_by(dropping, without, "f(randn(48, 65), 0.0)") == "passed"


LABELS = """
import torch


def f(x, y):
    return torch.nn.functional.cross_entropy(x, y)
"""


def test_classes_that_are_ignored_by_default_are_planted() -> None:
    wrong = LABELS.replace(
        "torch.nn.functional.cross_entropy(x, y)", "-x.log_softmax(1).gather(1, y.clamp(min=0)[:, None]).mean()"
    )
    raising = wrong.replace(".clamp(min=0)", "")
    assert ended_by(LABELS, LABELS, "f(randn(64, 20), randint(0, 20, 64))") == "passed"
    assert ended_by(LABELS, wrong, "f(randn(64, 20), randint(0, 20, 64))") == "values"
    assert ended_by(LABELS, raising, "f(randn(64, 20), randint(0, 20, 64))") == "passed"


@pytest.mark.parametrize(
    ("text", "token", "asked"),
    [("import triton\n", 3, True), ("", 9, False), ("import triton\n\n\n@triton.jit", 3, False)],
)
def test_what_may_assert_on_a_gpu_is_asked_on_the_cpu_first(text: str, token: int, asked: bool) -> None:
    bench = SimpleNamespace(device="cuda", trial=SimpleNamespace(baseline=text), language=language_of("python"))
    targets = SimpleNamespace(baseline=torch.nn.Embedding(4, 2))
    assert harmless(bench, targets, Inputs((torch.tensor([token]),))) is asked
