"""What kernels and launchers are written with: templates, locks, lanes that came to one place, symbols, checks of errors."""

from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
import torch

from kernelwright.proof.worker.interpreter import rounds
from kernelwright.proof.worker.languages.cuda import LANGUAGE
from kernelwright.proof.worker.languages.cuda.faults import KernelFault

TEXT = Path(__file__).with_name("idioms.cu").read_text(encoding="utf-8")
X = torch.randn(500, generator=torch.Generator().manual_seed(1))


@pytest.fixture(scope="module")
def module() -> Iterator[ModuleType]:
    loaded = LANGUAGE.load("/nowhere/idioms.cu", TEXT, "test")
    yield loaded
    LANGUAGE.unload(loaded)


@pytest.fixture(autouse=True, params=[0, 1, 4])
def order(request: pytest.FixtureRequest) -> Iterator[None]:
    before = rounds.number, rounds.backwards
    rounds.number, rounds.backwards = request.param, request.param > 0
    yield
    rounds.number, rounds.backwards = before


def test_a_template_by_name_and_by_variable(module: ModuleType) -> None:
    assert module.total(X, 500) == pytest.approx(X.sum().item(), abs=1e-3)


def test_structs_in_shared_memory(module: ModuleType) -> None:
    found = torch.zeros(1, dtype=torch.int32)
    module.argmax[(1,), (64,), 0](X, found, 500)
    assert found.item() == X.argmax().item()


def test_a_switch_and_bfloat16(module: ModuleType) -> None:
    x, y = torch.randn(9).bfloat16(), torch.empty(9).bfloat16()
    module.bf[(1,), (32,), 0](x, y, 9)
    assert torch.equal(y, torch.where(torch.arange(9) % 2 == 0, x * 2, x))


def test_lanes_that_came_to_one_place(module: ModuleType) -> None:
    x = torch.randint(-5, 5, (100,), dtype=torch.int32)
    y, count = torch.zeros(100, dtype=torch.int32), torch.zeros(1, dtype=torch.int32)
    module.compact[(2,), (64,), 0](x, y, count, 100)
    assert torch.equal(y[: count.item()].sort().values, x[x > 0].sort().values)


def test_a_lock(module: ModuleType) -> None:
    out = torch.zeros(1)
    module.lock_sum[(1,), (64,), 0](out, torch.zeros(1, dtype=torch.int32))
    assert out.item() == 8


def test_a_scan_in_two_buffers(module: ModuleType) -> None:
    y = torch.empty(50)
    module.scan[(1,), (64,), 0](X[:50].contiguous(), y, 50)
    torch.testing.assert_close(y, X[:50].cumsum(0), rtol=1e-4, atol=1e-4)


def test_a_table_on_the_device(module: ModuleType) -> None:
    y = torch.empty(3)
    module.lookup[(1,), (3,), 0](torch.tensor([3, 1, 0], dtype=torch.int32), y)
    assert y.tolist() == [4, 2, 1]


def test_volatile_shared_memory(module: ModuleType) -> None:
    out = torch.empty(1)
    module.volatile_warp[(1,), (64,), 0](X[:64].contiguous(), out)
    assert out.item() == pytest.approx(X[:64].sum().item(), abs=1e-4)


def test_a_launcher_that_exits_ends_its_call(module: ModuleType) -> None:
    with pytest.raises(KernelFault, match=r"the code ends its process with exit\(3\)"):
        module.leaves(torch.zeros(4))
    with pytest.raises(
        KernelFault, match=r"thread \(0, 0, 0\) of block \(0, 0, 0\) writes C\[100\] of 4 elements at line"
    ):
        module.checked(torch.zeros(4))


def test_statements_of_every_kind_keep_their_meaning(module: ModuleType) -> None:
    given = torch.zeros(4)
    module.plain(given, 3)
    assert given.tolist() == [9, 1, 2, 0]


def test_functors_lambdas_and_null(module: ModuleType) -> None:
    given = torch.tensor([9.0, 1.0, 2.0, 0.0])
    module.functor(given)
    assert given.tolist() == [32, 16, 18, 14]
    module.passes_null(given)
    assert given[0].item() == 9
    assert module.bumped() % 6 == 0


def test_sizes_of_a_launch(module: ModuleType) -> None:
    given = torch.zeros(2, dtype=torch.int32)
    module.grid_x[(1, 2, 3), (1, 2, 3), 0](given)
    assert given.tolist() == [594, 594]


def test_roundings_to_sixteen_bits(module: ModuleType) -> None:
    ties = torch.cat(
        (torch.arange(2048, 6144) / 2 + 0.25, torch.arange(0, 20000) * 2.0**-26, 1 + torch.arange(512) * 2.0**-9)
    )
    ends = torch.tensor([65504.0, 65519.9, 65520.0, 1e9, float("inf"), 0.0, -0.0, 6e-8, 2.98e-8, -65520.0, 3.3e38])
    x = torch.cat(
        (torch.randn(5000).double() * torch.exp(torch.randn(5000).double() * 8), ties.double(), ends.double())
    )
    half, brain, n = torch.empty(len(x)).half(), torch.empty(len(x)).bfloat16(), len(x)
    module.rounded[((n + 255) // 256,), (256,), 0](x, half, brain, n)
    with np.errstate(over="ignore"):
        assert (half.numpy().view(np.int16) == x.numpy().astype(np.float16).view(np.int16)).all()
    assert torch.equal(brain.view(torch.int16), x.float().bfloat16().view(torch.int16))


def test_arithmetic_of_sixteen_bits(module: ModuleType) -> None:
    every = torch.arange(65536, dtype=torch.int32).to(torch.int16).view(torch.float16)
    every = every[every.isfinite()]
    a, b = every[torch.randperm(len(every))].contiguous(), every[torch.randperm(len(every))].contiguous()
    total, ratio, fused = (torch.empty_like(a) for _ in range(3))
    module.halves[((len(a) + 255) // 256,), (256,), 0](a, b, total, ratio, fused, len(a))
    torch.testing.assert_close(total, a + b, rtol=0, atol=0, equal_nan=True)
    torch.testing.assert_close(ratio, a / b, rtol=0, atol=0, equal_nan=True)
    with np.errstate(over="ignore"):
        expected = (a.double() * b.double() + a.double()).numpy().astype(np.float16)
    assert (fused.numpy() == expected).all()


def test_rows_of_shared_memory_that_the_launch_sizes(module: ModuleType) -> None:
    y = torch.zeros(32, 5)
    module.turned[(1,), (32,), 5 * 33 * 4](X, y, 5)
    assert torch.equal(y, X[:160].view(5, 32).T)
    with pytest.raises(KernelFault, match="writes shared tile"):
        module.turned[(1,), (32,), 4 * 33 * 4](X, y, 5)


def test_a_group_moves_vectors_and_types_stand_in_front_of_shared(module: ModuleType) -> None:
    x, y = X[:128].view(32, 4), torch.zeros(32, 4)
    module.moved[(1,), (32,), 128](X[:128].contiguous(), y, 32)
    lanes = torch.arange(32)
    source = torch.where(lanes % 8 == 7, lanes, lanes + 1)
    assert torch.equal(y[:, 1:], x[source][:, 1:])
    assert torch.equal(y[:, 0], x[lanes // 8 * 8 + 3, 3])


def clipped(value: np.ndarray, kind: type) -> np.ndarray:
    return value.clip(np.iinfo(kind).min, np.iinfo(kind).max)


def of_lanes(a: np.ndarray, b: np.ndarray, s: type, u: type) -> Iterator[np.ndarray]:
    """What each function comes to for words whose lanes are signed, or unsigned, in the order of the kernel."""
    x, y, p, q = (one.view(kind).astype(np.int64) for kind in (s, u) for one in (a, b))
    yield from (x + y, x - y, clipped(x + y, s), clipped(p + q, u), clipped(x - y, s), clipped(p - q, u))
    yield from (np.minimum(x, y), np.minimum(p, q), np.maximum(x, y), np.maximum(p, q), abs(x - y), abs(p - q))
    yield from (
        (p + q + 1) >> 1,
        (p + q) >> 1,
        -1 * (p == q),
        -1 * (p != q),
        -1 * (x < y),
        -1 * (p > q),
        1 * (x >= y),
        1 * (p <= q),
    )
    yield from (abs(x - y).reshape(len(a), -1).sum(1), abs(p - q).reshape(len(a), -1).sum(1))
    yield from (abs(x), clipped(abs(x), s), -x, clipped(-x, s))


@pytest.mark.parametrize(("name", "s", "u"), [("lanes_of_4", np.int8, np.uint8), ("lanes_of_2", np.int16, np.uint16)])
def test_arithmetic_on_the_lanes_of_a_word(module: ModuleType, name: str, s: type, u: type) -> None:
    n, generator = 300, np.random.default_rng(0)
    words = generator.integers(0, 1 << 32, 2 * n, dtype=np.uint32)
    words[:6], words[n : n + 6] = 0x80808080, (0, 0x80808080, 0x7F7F7F7F, 0xFFFFFFFF, 0x80008000, 0x01010101)
    words[6:9] = 0x80008000
    x, expected = torch.from_numpy(words.view(np.int32)), list(of_lanes(words[:n], words[n:], s, u))
    y = torch.zeros(len(expected), n, dtype=torch.int32)
    getattr(module, name)[(3,), (128,), 0](x, y, n)
    for row, value in zip(y.numpy().view(np.uint32), expected, strict=True):
        whole = value if len(value) == n else value.astype(u).view(np.uint32)
        assert (row == whole).all()
