"""The folds that one pass over a row makes together."""

import pytest

from kernelwright.micro.rewrite.row_regions import region_of
from kernelwright.nest.passes import passes
from schedule.nests import nest

BY_HAND = "d = x - x.mean(1, keepdim=True)\nreturn d / ((d * d).mean(1, keepdim=True) + 1e-5).sqrt()"


@pytest.mark.parametrize(
    ("forward", "kinds"),
    [
        ("return torch.softmax(x * 2, 1)", ["online"]),
        ("return nn.functional.layer_norm(x, (16,))", ["moments"]),
        ("return x.var(1)", ["moments"]),
        (BY_HAND, ["moments"]),
        ("return nn.functional.normalize(x, dim=1)", ["single"]),
        ("return torch.logsumexp(x, 1)", ["single", "single"]),
        # A maximum that tells NaN may be asked for by itself: it is no part of an online softmax.
        ("e = (x - x.amax(1, keepdim=True)).exp()\nreturn e / e.sum(1, keepdim=True)", ["single", "single"]),
        # The deviations from anything but the mean are no moments.
        ("d = x - x.amax(1, keepdim=True)\nreturn (d * d).sum(1) + x.sum(1)", ["single", "single", "single"]),
    ],
)
def test_passes_over_a_row(forward: str, kinds: list[str]) -> None:
    found = passes(nest(forward, region_of=region_of))
    assert [one.kind for one in found] == kinds
    assert [len(one.folds) for one in found] == [1 if kind == "single" else 2 for kind in kinds]
