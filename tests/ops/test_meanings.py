"""What rows say that operators compute, against torch: the printed torch text, the printed Triton text, the steps."""

from pathlib import Path
from typing import Any

import pytest
import torch

from interpreted import interpreted
from kernelwright.ops import ROWS, Let, Row
from kernelwright.ops.device_functions import DEVICE_FUNCTIONS
from kernelwright.ops.expression import Apply, parse, variables
from kernelwright.ops.folds import FOLDS
from kernelwright.ops.primitives import torch_text, triton_text
from ops.calls import POINTWISE, Call, function

SPECIAL = [float("nan"), 0.0, -0.0, 1e-5, -1e-5, 0.3, -0.3, 0.5, -0.5, 3.0, -3.0, 6.0, 19.0, -19.0]


def values(dtype: torch.dtype) -> torch.Tensor:
    """128 numbers, some of them special."""
    torch.manual_seed(0)
    return torch.cat([torch.tensor(SPECIAL), torch.randn(128 - len(SPECIAL)) * 3]).to(dtype)


def same(found: torch.Tensor, expected: torch.Tensor, tolerance: float) -> None:
    torch.testing.assert_close(found.to(expected.dtype), expected, rtol=tolerance, atol=tolerance, equal_nan=True)


@pytest.mark.parametrize("call", POINTWISE, ids=str)
def test_a_pointwise_meaning_is_what_torch_computes(call: Call) -> None:
    data = call.data(values(torch.float64))
    names = {name: value for name, value in call.given.items() if isinstance(value, int | float)}
    numbers = {name: torch.tensor(value, dtype=torch.float64) for name, value in names.items()}
    text = torch_text(parse(call.meaning), {name: name for name in call.given})
    same(eval(text, {"torch": torch, **numbers, **data}), call.expected(data), 1e-12)


def kernel(call: Call, number: int) -> str:
    """A kernel for one block that stores what the row's Triton text computes."""
    lines = [
        f"@triton.jit\ndef kernel_{number}({', '.join(f'{name}_ptr' for name in call.tensors)}, out_ptr, BLOCK: tl.constexpr):"
    ]
    lines.append("    places = tl.arange(0, BLOCK)")
    boolean = {name for name, tensor in call.data(torch.ones(1)).items() if tensor.dtype is torch.bool}
    lines += [f"    {n} = tl.load({n}_ptr + places)" + (" != 0" if n in boolean else "") for n in call.tensors]
    literals = {name: f"({value!r})" for name, value in call.given.items() if value is not ...}
    text = triton_text(parse(call.meaning), {name: literals.get(name, name) for name in call.given})
    return "\n".join([*lines, f"    tl.store(out_ptr + places, ({text}).to(tl.float32))"])


def test_pointwise_meanings_in_triton(tmp_path: Path) -> None:
    pytest.importorskip("triton")
    kernels = [kernel(call, number) for number, call in enumerate(POINTWISE)]
    text = "\n\n\n".join(["import triton\nimport triton.language as tl", *DEVICE_FUNCTIONS.values(), *kernels])
    (tmp_path / "kernels.py").write_text(text, encoding="utf-8")
    data = [call.data(values(torch.float32)) for call in POINTWISE]
    torch.save([list(tensors.values()) for tensors in data], tmp_path / "data.pt")
    files = [str(tmp_path / name) for name in ("kernels.py", "data.pt", "answers.pt")]
    interpreted(Path(__file__).with_name("run_triton.py"), *files)
    for call, tensors, answer in zip(POINTWISE, data, torch.load(tmp_path / "answers.pt"), strict=True):
        exact = {name: t if t.dtype is torch.bool else t.double() for name, t in tensors.items()}
        try:
            same(answer, call.expected(exact).float(), 5e-6)
        except AssertionError as error:
            raise AssertionError(f"{call}: {error}") from error


@pytest.mark.parametrize("call", [call for call in POINTWISE if call.row.module], ids=str)
def test_a_module_computes_the_same_and_keeps_its_numbers(call: Call) -> None:
    module = getattr(torch.nn, call.row.module)(**call.options)
    data = call.data(values(torch.float64))
    same(module(data["input"]), call.expected(data), 0.0)
    assert {name: getattr(module, name) for name in call.row.attributes.split()} == {
        name: call.given[name] for name in call.row.attributes.split()
    }


def folded(steps: tuple[Let, ...], names: dict[str, Any]) -> torch.Tensor:
    """The last of the steps over the last dim."""
    for step in steps:
        expr = parse(step.text)
        fold = FOLDS.get(expr.function) if isinstance(expr, Apply) else None
        body = expr.arguments[0] if fold else expr
        text = torch_text(body, {name: name for name in variables(body)})
        names[step.name] = eval(fold.torch.format(text) if fold else text, {"torch": torch, **names})
    return names[steps[-1].name]


REDUCED: list[tuple[str, dict[str, Any]]] = [
    *((op, {"dim": (-1,), "keepdim": True}) for op in ("sum", "mean", "amax", "amin", "logsumexp")),
    ("prod", {"dim": -1, "keepdim": True}),
    *((op, {"dim": -1, "keepdim": True}) for op in ("argmax", "argmin", "max", "min")),
    *((op, {"dim": -1}) for op in ("softmax", "log_softmax", "softmin")),
    *((op, {"dim": -1, "keepdim": True, "correction": c}) for op in ("var", "std") for c in (0, 1)),
    *(("norm", {"dim": -1, "keepdim": True, "p": p}) for p in (1, 2, float("inf"))),
    *(("normalize", {"dim": -1, "p": p}) for p in (1, 2)),
    ("layer_norm", {"normalized_shape": (16,)}),
    ("rms_norm", {"normalized_shape": (16,), "eps": 1e-3}),
    *((op, {"reduction": "sum"}) for op in ("l1_loss", "mse_loss", "smooth_l1_loss", "huber_loss", "kl_div")),
    ("binary_cross_entropy_with_logits", {"reduction": "mean"}),
    ("kl_div", {"reduction": "sum", "log_target": True}),
    ("huber_loss", {"reduction": "mean", "delta": 0.3}),
    ("smooth_l1_loss", {"reduction": "mean", "beta": 0.3}),
]


@pytest.mark.parametrize(("op", "options"), REDUCED, ids=str)
def test_the_steps_of_a_reduction_are_what_torch_computes(op: str, options: dict[str, Any]) -> None:
    torch.manual_seed(0)
    x, target = torch.randn(8, 16, dtype=torch.float64), torch.rand(8, 16, dtype=torch.float64)
    call = Call(ROWS[op], options)
    whole = "target" in call.given
    rows = {"input": x, "target": target} if whole else {"input": x, **_affine(call)}
    arguments = {name: value for name, value in rows.items() if name != "input"}
    expected = function(op)(x, **arguments, **options)
    expected = expected if isinstance(expected, torch.Tensor) else expected[0]
    given = {**call.given, **dict.fromkeys(arguments, ...)}
    steps = call.row.meaning(given) if callable(call.row.meaning) else call.row.meaning
    flat = {name: tensor.flatten() if whole else tensor for name, tensor in rows.items()}
    names = {**call.given, **flat, "length": flat["input"].shape[-1]}
    found = folded(steps, names)
    same(found.reshape(expected.shape), expected, 1e-12)


def _affine(call: Call) -> dict[str, torch.Tensor]:
    """A weight and a bias where the operator takes some."""
    return {n: torch.rand(16, dtype=torch.float64) for n in ("weight", "bias") if n in call.given}


def test_every_reduction_with_a_form_is_compared() -> None:
    """Others are compared as whole kernels (tests/micro/rewrite/test_fused_numerics.py, tests/nest/test_losses.py)."""
    elsewhere = {"group_norm", "instance_norm", "vector_norm", "cross_entropy", "nll_loss", "triplet_margin_loss"}

    def compared(row: Row) -> bool:
        return row.name in {op for op, _ in REDUCED} | elsewhere or row.spatial > 0

    assert [row.name for row in ROWS.values() if row.over and row.meaning and not compared(row)] == []
