"""What a text leaves of its inputs while it is timed is told in words that say what to change."""

from proof.worker.trials import trial

PLUS_ONE = "import torch\n\n\ndef f(x):\n    return x + 1\n"


def test_an_attribute_on_an_input_is_named() -> None:
    hung = "import torch\n\n\ndef f(x):\n    x.kept = x + 1\n    return x.kept.clone()\n"
    verdict = trial(PLUS_ONE, hung, "f(randn(48, 65))", measure=True).verdict
    assert verdict.reason.startswith(
        "inputs-unchanged (all cases): the call leaves input 0 as a tensor with its own kept"
    )
    assert "set no attributes on an input" in verdict.reason
