"""Products with a side narrower than a tile, and with vectors, as folds, against eager mode on odd sizes."""

import pytest

from kernelwright.emit import launcher
from kernelwright.macro.strategies import registry
from kernelwright.schedule.spaces import space
from kernelwright.values import CPU
from kernelwright.values.opts import Split
from macro.torch_modules import module, refusal, rewritten
from nest.folding import differences, kernels
from schedule.nests import nest

NARROW, PRODUCT = (registry()[f"torch.fuse-{name}"] for name in ("narrow-product", "product"))


def of(forward: str, inputs: str, **tensors: str) -> str:
    """A module whose forward reads parameters of these shapes."""
    setup = "\n".join(f"self.{name} = nn.Parameter(torch.randn({shape}))" for name, shape in tensors.items())
    return module(forward, setup or "pass", f"torch.randn({inputs})")


CASES = {
    "a matrix with a vector": of("return x @ self.v", "21, 37", v="37"),
    "a matrix with a column": of("return torch.relu(torch.matmul(x, self.v)) * 2", "21, 37", v="37, 1"),
    "a vector with a matrix": of("return self.v @ x", "21, 37", v="21"),
    "a vector with batches": of("return self.v @ x + 1", "3, 21, 37", v="21"),
    "batches with a vector": of("return torch.matmul(x, self.v).tanh()", "3, 21, 37", v="37"),
    "a vector with a vector": of("return x[0] @ x[1]", "21, 37"),
    "a row with a column": of("return x @ self.v", "1, 37", v="37, 1"),
    "few rows": of("return x @ self.w", "5, 37", w="37, 50"),
    "few rows of batches": of("return torch.bmm(x, self.w) + 1", "3, 20, 33", w="3, 33, 2"),
    "a short inner dim": of("return x @ self.w", "17, 9", w="9, 21"),
    "transposed": of("return (x.T @ self.w.T).tanh()", "40, 33", w="4, 40"),
    "an equation": of("return torch.einsum('bij,kj->bik', x, self.w)", "3, 20, 33", w="4, 33"),
    "an equation of batches alone": of("return torch.einsum('bi,bi->b', x, x)", "20, 33"),
    "added to": of("return torch.addmm(self.b, x, self.w, beta=0.5)", "4, 33", w="33, 21", b="21"),
    "a residual behind": of("return x @ self.w + self.r", "21, 37", w="37, 1", r="21, 1"),
    "two side by side": of("return torch.sigmoid(x @ self.v) * (x @ self.w)", "21, 37", v="37", w="37"),
    "one after the other": of("return (x @ self.v) @ self.w", "21, 37", v="37", w="21"),
    "linear": module("return torch.tanh(self.linear(x))", "self.linear = nn.Linear(37, 5)", "torch.randn(7, 3, 37)"),
    "few rows of a linear layer": module(
        "return torch.relu(self.linear(x) + self.r)",
        "self.linear = nn.Linear(37, 50)\nself.r = nn.Parameter(torch.randn(5, 50))", "torch.randn(5, 37)",
    ),
    "few rows of a linear layer, in batches": module(
        "return self.linear(x)[1:]", "self.linear = nn.Linear(37, 50)", "torch.randn(3, 2, 37)"
    ),
    "linear of a vector": module("return self.linear(x)", "self.linear = nn.Linear(37, 19)", "torch.randn(37)"),
    "linear of the last step": module(
        "return self.linear(x[:, -1, :])", "self.linear = nn.Linear(37, 5)", "torch.randn(7, 3, 37)"
    ),
    "of the last columns": of("return (x[:, -9:-1] @ self.w).tanh()", "7, 37", w="8, 3"),
    "the last rows of the result": of("return (x @ self.w)[-2:]", "7, 37", w="37, 3"),
    "joined in front": module(
        "return self.linear(torch.cat((x, self.h), dim=1))",
        "self.linear = nn.Linear(40, 17)\nself.h = nn.Parameter(torch.randn(8, 7))",
        "torch.randn(8, 33)",
    ),
}  # fmt: skip


def test_all_steps_agree_with_eager_mode() -> None:
    assert differences({name: (text, kernels(text)) for name, text in CASES.items()}) == {}


def test_offsets_of_64_bits_give_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(launcher, "is_wide", lambda nest: True)
    some = ("a matrix with a column", "few rows", "linear of the last step", "a vector with a vector")
    made = {name: (CASES[name], kernels(CASES[name])) for name in some}
    assert all("columns = start + tl.arange(0, BLOCK).to(tl.int64)" in one for _, all_ in made.values() for one in all_)
    assert differences(made) == {}


def test_results_may_be_stored_in_any_order() -> None:
    text = of("return torch.einsum('bij,kj->kib', x, self.w).contiguous()", "3, 20, 33", w="4, 33")
    assert differences({"in another order": (text, rewritten(NARROW, text))}) == {}


LONG = nest("return x @ self.v", "self.v = nn.Parameter(torch.randn(40000))", "torch.randn(3, 40000)")


def test_few_long_sums_are_shared_among_programs() -> None:
    assert any(isinstance(opt, Split) for opt in space(LONG, CPU)[0])


@pytest.mark.parametrize(("rows", "inner", "columns"), [(15, 16, 16), (16, 15, 16), (16, 16, 15)])
def test_each_side_may_be_the_narrow_one(rows: int, inner: int, columns: int) -> None:
    text = of("return x @ self.w", f"{rows}, {inner}", w=f"{inner}, {columns}")
    assert "tl.dot" not in rewritten(NARROW, text)[0]
    assert "torch.fuse-narrow-product takes" in refusal(PRODUCT, text).reason


def test_wide_products_are_left_to_tiles() -> None:
    text = of("return x @ self.w", "2, 8, 16", w="16, 16")  # 16 rows in all
    assert "wide enough for tiles" in refusal(NARROW, text).reason
    assert "tl.dot" in rewritten(PRODUCT, text)[0]


def test_rows_that_read_the_same_weight_are_neighbours() -> None:
    first, *_ = rewritten(NARROW, CASES["few rows of a linear layer"])
    assert "    item = rows % ROWS_2\n" in first
    assert "    offsets = item * ROWS_3 + step\n" in first
    assert "        ROWS=8,\n" in first


def test_a_subscript_is_checked_for_being_there() -> None:
    after = rewritten(NARROW, CASES["linear of the last step"])[0]
    assert "or x.shape[1] < 1\n" in after
    assert "or x.shape[1] < 9\n" in rewritten(NARROW, CASES["of the last columns"])[0]
