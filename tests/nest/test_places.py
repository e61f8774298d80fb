"""Places of extremes, alone and beside the extremes, by way of a Nest: the first of equals counts, and NaN before all."""

import pytest

from kernelwright.macro.strategies import registry
from macro.torch_modules import module, refusal, rewritten
from nest.folding import differences, kernels

REDUCTION = registry()["torch.fuse-reduction"]
ROW = "torch.randn(5, 19)"
PLACES = {
    "argmax": module("return x.argmax(1)", inputs=ROW),
    "argmin of equals": module("return (x * 2).floor().argmin(0, keepdim=True)", inputs=ROW),
    "argmax of everything": module("return x.floor().argmax()", inputs=ROW),
    "argmin along a middle dim": module("return x.floor().argmin(1)", inputs="torch.randn(3, 11, 2)"),
    "argmax of what is all the same": module("return (x - x).argmax(-1)", inputs=ROW),
}
BOTH = {
    "max": module("values, places = torch.max(x.floor(), dim=1)\nreturn values, places", inputs=ROW),
    "min of a column": module("values, places = x.min(0)\nreturn values.sum() + places.sum()", inputs=ROW),
    "by its names": module("most = torch.max(x, 1, keepdim=True)\nreturn most.values + most.indices", inputs=ROW),
    "only the values are used": module("values, places = torch.max(x * 2, 1)\nreturn values", inputs=ROW),
}


def test_all_steps_agree_with_eager_mode() -> None:
    made = {name: (text, kernels(text)) for name, text in PLACES.items()}
    made |= {name: (text, rewritten(REDUCTION, text)[:1]) for name, text in BOTH.items()}
    assert differences(made) == {}


def test_values_and_places_take_one_fold() -> None:
    after = rewritten(REDUCTION, BOTH["max"])[0]
    assert after.count("row_max, argmax = join_largest(") == 1
    assert "return torch.return_types.max((out, indices))" in after


@pytest.mark.parametrize(
    ("forward", "reason"),
    [
        ("return x.argmax(1) + 1", "torch.fuse-row-reduction takes"),
        ("return x.int().max(1)", "int32"),
    ],
)
def test_what_has_no_form_is_refused(forward: str, reason: str) -> None:
    assert reason in refusal(REDUCTION, module(forward, inputs=ROW)).reason
