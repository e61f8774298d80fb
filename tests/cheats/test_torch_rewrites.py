"""Wrong rewrites of the kinds that the PyTorch strategies make, with the right one beside each."""

import pytest

from proof.worker.trials import ended_by

HEAD = "import torch\nimport torch.nn as nn\nimport torch.nn.functional as F\n\n"


def function(body: str) -> str:
    return HEAD + f"def f(x, w, b):\n    return {body}\n"


NORM = "F.layer_norm(x, (48,)) + 0"
CENTRED = "(x - x.mean(1, keepdim=True))"
CASE = "f(randn(40, 48), randn(36, 48), randn(36))"


@pytest.mark.parametrize(
    ("baseline", "candidate", "check"),
    [
        # torch.fuse-pointwise
        ("F.linear(x, w, b).clamp(-1, 1) * 2 + 1", "torch.add(1, 2 * F.linear(x, w, b).clamp(-1, 1))", "passed"),
        ("F.linear(x, w, b).clamp(-1, 1) * 2 + 1", "(F.linear(x, w, b) * 2 + 1).clamp(-1, 1)", "values"),
        ("F.gelu(F.linear(x, w, b))", "F.gelu(F.linear(x, w, b), approximate='tanh')", "accuracy"),
        ("torch.sigmoid(F.linear(x, w, b))", "F.hardsigmoid(F.linear(x, w, b))", "values"),
        ("F.linear(x, w) + b", "F.linear(x, w)", "values"),
        ("F.linear(x, w) * b", "F.linear(x, w) * b[:1]", "values"),
        # torch.fuse-row-reduction
        (NORM, f"{CENTRED} * (x.var(1, correction=0, keepdim=True) + 1e-5).rsqrt()", "passed"),
        (NORM, f"{CENTRED} * (x.var(1, keepdim=True) + 1e-5).rsqrt()", "values"),
        (NORM, "x + 0", "values"),
        (NORM, f"{CENTRED} * x.var(1, correction=0, keepdim=True).rsqrt()", "values"),
        ("torch.logsumexp(x, 1)", "torch.log(torch.exp(x).sum(1))", "nan-parity"),
        ("torch.logsumexp(x, 1)", "torch.logsumexp(x, 1, keepdim=True)", "shape"),
        # torch.reassociate
        ("F.linear(x, w, b).sum(1)", "x @ w.sum(0) + b.sum()", "passed"),
        ("F.linear(x, w, b).sum(1)", "x @ w.sum(0) + b.mean()", "values"),
        ("F.linear(x, w, b).mean(1)", "x @ w.sum(0) + b.sum()", "values"),
        ("F.linear(x, w, b).relu().sum(1)", "(x @ w.sum(0) + b.sum()).relu()", "values"),
        ("F.linear(x, w, b).sum(1, keepdim=True)", "x @ w.sum(0) + b.sum()", "shape"),
        ("F.linear(x, w, b) * 0.5", "F.linear(x, w * 0.5, b)", "values"),
        ("F.linear(x, w, b) * 0.5", "F.linear(x, w * 0.5, b * 0.5)", "passed"),
        ("F.linear(x, w, b).amax(1)", "F.linear(x, w.amax(0, keepdim=True)).squeeze(1)", "values"),
    ],
)  # fmt: skip
def test_a_rewrite_and_what_ends_it(baseline: str, candidate: str, check: str) -> None:
    assert ended_by(function(baseline), function(candidate), CASE) == check


# torch.channels-last

IMAGES = "f(randn(2, 16, 9, 11), randn(16, 16, 3, 3), randn(16))"
LAST = "x.contiguous(memory_format=torch.channels_last)"


@pytest.mark.parametrize(
    ("candidate", "check"),
    [
        (f"F.relu(F.conv2d({LAST}, w, b)).contiguous()", "passed"),
        (f"F.relu(F.conv2d({LAST}, w.contiguous(memory_format=torch.channels_last), b)).contiguous()", "passed"),
        (f"F.relu(F.conv2d({LAST}, w, b))", "layout"),  # what the caller gets no longer has the baseline's strides
        (f"F.relu(F.conv2d({LAST}, w)).contiguous()", "values"),
        (f"F.relu(F.conv2d({LAST}, w.transpose(2, 3), b)).contiguous()", "values"),
        ("F.relu(F.conv2d(x.permute(0, 2, 3, 1).reshape(x.shape), w, b))", "values"),  # relabelled, not converted
        (f"F.relu(F.conv2d({LAST}, w, b)).permute(0, 2, 3, 1).contiguous()", "shape"),
        (f"F.relu(F.conv2d({LAST}, w, b)).permute(0, 2, 3, 1).reshape(2, 16, 7, 9)", "values"),
    ],
)  # fmt: skip
def test_a_layout_and_what_ends_it(candidate: str, check: str) -> None:
    assert ended_by(function("F.relu(F.conv2d(x, w, b))"), function(candidate), IMAGES) == check
