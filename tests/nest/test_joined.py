"""One kernel for all places of a text that compute the same: one step writes all of its calls."""

import pytest

from kernelwright.macro.strategies import registry
from kernelwright.macro.strategy import Strategy
from kernelwright.values import Action
from macro.torch_modules import module, observed, rewritten
from nest.folding import differences

PRODUCT, REDUCTION = (registry()[f"torch.fuse-{name}"] for name in ("product", "reduction"))

LAYERS = """self.net = nn.Sequential(
            nn.Linear(30, 20), nn.ReLU(), nn.Linear(20, 26), nn.ReLU(), nn.Linear(26, 19), nn.ReLU(), nn.Linear(19, 17)
        )"""
DEEP = module("return self.net(x)", LAYERS, "torch.randn(18, 30)")

APART = module(
    "x = torch.relu(self.first(x))\ny = torch.tanh(self.second(x))\nreturn torch.relu(self.third(y))",
    "self.first = nn.Linear(30, 20)\nself.second = nn.Linear(20, 26)\nself.third = nn.Linear(26, 19)",
    "torch.randn(18, 30)",
)

NESTED = module(
    "return torch.relu(self.second(torch.relu(self.first(x))))",
    "self.first = nn.Linear(30, 20)\nself.second = nn.Linear(20, 26)",
    "torch.randn(18, 30)",
)

NORMS = module(
    "x = torch.relu(self.first(x))\nx = self.conv(x)\nreturn torch.relu(self.second(x))",
    "self.first = nn.BatchNorm2d(3)\nself.conv = nn.Conv2d(3, 5, 3, padding=1)\nself.second = nn.BatchNorm2d(5)",
    "torch.randn(2, 3, 7, 5)",
)


def actions(strategy: Strategy, text: str) -> tuple[Action, ...]:
    found = strategy.find(observed(text))
    assert isinstance(found, tuple), found
    return found


def test_layers_of_a_container_share_a_kernel() -> None:
    assert [action.region.label for action in actions(PRODUCT, DEEP)] == ["linear, relu, in 3 places", "linear"]
    variants = rewritten(PRODUCT, DEEP)
    for text in variants:
        assert [f"self.net[{i}].weight" in text for i in (0, 2, 4, 6)] == [True, True, True, False]
        assert text.count("fused_linear_relu(") == 4  # its definition and three calls
    tf32x3 = [one for one in variants if 'input_precision="tf32x3"' in one][:1]
    assert differences({"a container": (DEEP, tf32x3)}) == {}


def test_statements_share_a_kernel_where_the_same_is_computed() -> None:
    labels = [action.region.label for action in actions(PRODUCT, APART)]
    assert sorted(labels) == ["linear, relu, in 2 places", "linear, tanh"]
    variants = [one for one in rewritten(PRODUCT, APART) if 'input_precision="tf32x3"' in one][:1]
    assert "torch.tanh(self.second(x))" in variants[0]
    assert differences({"statements": (APART, variants)}) == {}


def test_norms_in_training_share_a_kernel_and_keep_their_own_statistics() -> None:
    assert "in 2 places" in actions(REDUCTION, NORMS)[0].region.label
    (text, *_) = rewritten(REDUCTION, NORMS)
    assert text.count("self.first.running_mean") == text.count("self.second.running_mean") == 1
    assert differences({"norms": (NORMS, [text])}) == {}


def test_a_place_for_which_the_tiles_are_too_large_waits_for_a_step_of_its_own() -> None:
    smaller = NORMS.replace("padding=1", "stride=3")
    assert [action.region.label for action in actions(REDUCTION, smaller)] == ["batch_norm, relu"] * 2


def test_a_place_with_another_operator_is_another_step_even_if_that_does_nothing() -> None:
    dropping = APART.replace(
        "torch.relu(self.third(y))", "torch.relu(nn.functional.dropout(self.third(y), 0.1, False))"
    )
    assert sorted(action.region.label for action in actions(PRODUCT, dropping)) == [
        "linear, dropout, relu",
        "linear, relu",
        "linear, tanh",
    ]


def test_an_expression_inside_of_another_waits_for_a_step_of_its_own() -> None:
    assert [action.region.label for action in actions(PRODUCT, NESTED)] == ["linear, relu"] * 2


@pytest.mark.parametrize("text", [DEEP, APART, NORMS], ids=["deep", "apart", "norms"])
def test_an_action_says_where_all_of_its_places_are(text: str) -> None:
    strategy = REDUCTION if text is NORMS else PRODUCT
    action = actions(strategy, text)[0]
    lines = text.splitlines()[action.region.start_line : action.region.end_line]
    assert lines
    assert str(action.params["nodes"]).count(";") + 1 == int(action.region.label.split(" in ")[1].split()[0])
