"""Elements that indices pick, by way of a Nest, against eager mode on odd sizes; what is out of range stops the kernel."""

from pathlib import Path

import pytest

from interpreted import interpreted
from kernelwright.macro.strategies import registry
from macro.torch_modules import module, refusal, rewritten
from nest.folding import differences, kernels

GATHER = registry()["torch.fuse-gather"]
ROW = "torch.randn(5, 19)"


def indices(number: int, shape: tuple[int, ...], least: int = 0) -> str:
    return f"self.register_buffer('i', torch.randint({least}, {number}, {shape}))"


TABLE = "self.table = nn.Embedding(10, 7)\n" + indices(10, (3, 5))
GATHERS = {
    "embedding": module("return self.table(self.i) * 2 + x", TABLE, "torch.randn(5, 7)"),
    "embedding that is computed": module(
        "return nn.functional.embedding(self.i, x * 2) + 1", indices(10, (3, 5)), "torch.randn(10, 7)"
    ),
    "index_select": module("return torch.relu(torch.index_select(x, 1, self.i))", indices(19, (11,)), ROW),
    "index_select of rows": module("return x.index_select(0, self.i).tanh()", indices(5, (11,)), ROW),
    "gather": module("return torch.exp(x).gather(1, self.i) + 1", indices(19, (5, 3)), ROW),
    "gather along the first dim": module("return torch.gather(x, 0, self.i) * 2", indices(5, (7, 19)), ROW),
    "a subscript from both ends": module("return x[self.i] * 2", indices(5, (2, 3), -5), ROW),
}
WHOLE = {
    "embedding of indices turned": module("return self.table(self.i.t()) + x", TABLE, "torch.randn(3, 7)"),
    "a mean of what was picked": module("return -x.gather(1, self.i).mean()", indices(19, (5, 3)), ROW),
    "sums of rows that were picked": module("return (x[self.i] * 2).sum(-1)", indices(5, (2, 3), -5), ROW),
}


def test_all_agree_with_eager_mode() -> None:
    made = {name: (text, rewritten(GATHER, text)[:1]) for name, text in GATHERS.items()}
    made |= {name: (text, kernels(text)) for name, text in WHOLE.items()}
    assert differences(made) == {}


@pytest.mark.parametrize(
    ("forward", "setup", "reason"),
    [
        ("return x.gather(1, self.i)", indices(19, (5, 3)), "one kernel already"),
        ("return x.gather(1, self.i) * 2", indices(19, (3, 3)), "a part of the elements"),
        ("return self.t(self.i) * 2", "self.t = nn.Embedding(9, 4, max_norm=1.0)\n" + indices(9, (3,)), "max_norm"),
        ("return x * 2", "pass", "no gather"),
    ],
)
def test_what_has_no_form_is_refused(forward: str, setup: str, reason: str) -> None:
    assert reason in refusal(GATHER, module(forward, setup, ROW)).reason


def test_an_index_out_of_range_stops_the_kernel_and_is_not_read(tmp_path: Path) -> None:
    """Triton's own interpreter has device assertions, too, once it is told so."""
    after = rewritten(GATHER, module("return x[self.i] + 1", indices(5, (2, 3)), ROW))[0]
    (tmp_path / "fused.py").write_text(after, encoding="utf-8")
    call = "\n".join(
        (
            "import dataclasses, torch, fused",
            "from triton.runtime.interpreter import interpreter_builder as builder",
            "model, x = fused.Model(), torch.randn(5, 19)",
            "for number in (-6, 5, 2**40):",
            "    model.i[1, 1] = number",
            "    builder.options = dataclasses.replace(builder.options, debug=False)",
            "    print(bool((model(x)[1, 1] == 1).all()))",
            "    builder.options = dataclasses.replace(builder.options, debug=True)",
            "    try:",
            "        model(x)",
            "    except Exception as error:",
            "        print('out of range' in str(error) + str(error.__cause__))",
        )
    )
    (tmp_path / "call.py").write_text(call, encoding="utf-8")
    said = interpreted(tmp_path / "call.py")
    assert said.split() == ["True"] * 6
