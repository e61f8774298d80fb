"""The prompt of a whole rewrite, and its answer: definitions that are put in the place of the file's own."""

from pathlib import Path

import pytest

from kernelwright.macro.strategies import registry
from kernelwright.prompting import VERSION
from kernelwright.prompting.evidence import Evidence
from kernelwright.prompting.rewriting import asked_again, rewrite_prompt, rewritten_by
from kernelwright.values import Refusal, Role
from macro.test_examples import observed

GOLDEN = Path(__file__).parent / "golden" / f"rewrite-v{VERSION}.md"
STRATEGY = registry()["torch.fuse-row-reduction"]
TEXT = """\
import torch
from torch import nn

# How wide the layer is.
WIDTH = 8


class Score(nn.Module):
    def __init__(self, features: int):
        super().__init__()
        self.linear = nn.Linear(features, WIDTH)

    def forward(self, x):
        return self.linear(x).sum(1)


# workload: Score(16)(randn(4, 16))
"""
FORWARD = "        return helper(x, self.linear)"
DEFINITION = TEXT[TEXT.index("class") : TEXT.index("        return")] + FORWARD
HELPER = "import math\n\n\ndef helper(x, linear):\n    return x @ linear.weight.sum(0) + linear.bias.sum()"


def answered(*blocks: str) -> str:
    return "It is one product.\n\n" + "\n".join(f"```python\n{block}\n```\n" for block in blocks)


def test_the_prompt_is_the_golden_one() -> None:
    """Written anew by the person who changes a template: then VERSION counts up as well."""
    found = rewrite_prompt(observed(STRATEGY.example.before, needs_graph=True))
    told = "\n".join(f"--- {message.role.value} ---\n{message.text}" for message in found)
    assert told == GOLDEN.read_text(encoding="utf-8")


def test_what_came_of_an_answer_is_added() -> None:
    answer, question = asked_again("<code>", Evidence("Check values failed.", "Look at the case."))
    assert (answer.role, answer.text, question.role) == (Role.ASSISTANT, "<code>", Role.USER)
    assert "```\nCheck values failed.\n```" in question.text
    assert "in one block. Look at the case." in question.text


@pytest.mark.parametrize(
    "repeated", ["", "import torch\nfrom torch import nn\n\nWIDTH = 8\n\n\n"], ids=["alone", "whole"]
)
def test_definitions_are_replaced_and_helpers_added(repeated: str) -> None:
    found = rewritten_by(answered(f"{repeated}{HELPER}\n\n\n{DEFINITION}"), observed(TEXT, needs_graph=False))
    assert isinstance(found, str)
    added = HELPER.replace("\n\n\n", "\n\n")
    assert found == TEXT.replace("class Score", f"{added}\n\nclass Score").replace(
        "        return self.linear(x).sum(1)", FORWARD
    )


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        ("It is fine as it is.", "has 0 blocks of code"),
        (answered(DEFINITION, DEFINITION), "has 2 blocks of code"),
        (answered(DEFINITION).rstrip().removesuffix("```"), "has 0 blocks of code"),
        (answered(f"{DEFINITION})"), "does not parse"),
        (answered(HELPER), "has no definition of `Score` at its top level."),
        (answered("x = 1\n" * 100_000), "longer than"),
    ],
    ids=["none", "two", "cut-off", "broken", "no-definition", "long"],
)
def test_what_is_no_rewrite_says_why(answer: str, reason: str) -> None:
    found = rewritten_by(answer, observed(TEXT, needs_graph=False))
    assert isinstance(found, Refusal)
    assert reason in found.reason
