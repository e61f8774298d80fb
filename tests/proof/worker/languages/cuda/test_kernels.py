"""Right kernels give what torch gives, in every order of their threads, and nothing is said against them."""

from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType

import pytest
import torch

from kernelwright.proof.worker.interpreter import rounds
from kernelwright.proof.worker.languages.cuda import LANGUAGE

TEXT = Path(__file__).with_name("kernels.cu").read_text(encoding="utf-8")


@pytest.fixture(scope="module", params=["cpu", pytest.param("cuda", marks=pytest.mark.gpu)])
def device(request: pytest.FixtureRequest) -> str:
    return request.param


@pytest.fixture(scope="module")
def module(device: str) -> Iterator[ModuleType]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TRITON_INTERPRET", str(int(device == "cpu")))
        loaded = LANGUAGE.load("/nowhere/kernels.cu", TEXT, "test")
    yield loaded
    LANGUAGE.unload(loaded)


@pytest.fixture(params=[0, 1, 2, 6])
def order(request: pytest.FixtureRequest) -> Iterator[None]:
    before = rounds.number, rounds.backwards
    rounds.number, rounds.backwards = request.param, request.param > 0
    yield
    rounds.number, rounds.backwards = before


def transposed(m: ModuleType, to: Callable[[torch.Tensor], torch.Tensor]) -> tuple[torch.Tensor, torch.Tensor]:
    x, out = to(torch.randn(45, 77)), to(torch.empty(77, 45))
    m.transpose[(3, 2), (32, 8), 0](x, out, rows=45, cols=77)
    return out, x.T


def summed(m, to):
    x, out = to(torch.randn(1003)), to(torch.zeros(1))
    m.sum[(3,), (256,), 0](x, out, 1003)
    return out, x.sum(0, keepdim=True)


def counted(m, to):
    x, bins = to(torch.randint(0, 10, (1003,), dtype=torch.int32)), to(torch.zeros(10, dtype=torch.int32))
    m.histogram[(4,), (256,), 40](x, bins, 1003, 10)
    return bins, torch.bincount(x, minlength=10).int()


def softmax(m, to):
    x, y = to(torch.randn(5, 77)), to(torch.empty(5, 77))
    m.softmax[(5,), (32,), 0](x, y, 77)
    return y, x.softmax(1)


def product(m, to):
    a, b, c = to(torch.randn(37, 29)), to(torch.randn(29, 45)), to(torch.empty(37, 45))
    m.solve_matmul(a, b, c, M=37, N=45, K=29)
    return c, a @ b


def halves(m, to):
    x, y = to(torch.randn(66).half()), to(torch.randn(66).half())
    expected = (y.double() + x.double() * 0.5).half()
    m.axpy2[(1,), (64,), 0](x, y, 0.5, 33)
    return y, expected


def vectors(m, to):
    x = to(torch.randn(64))
    expected = x * 3
    m.scale4[(1,), (32,), 0](x, 3.0, 16)
    return x, expected


def last_block(m, to):
    x, parts, out = to(torch.randn(1000)), to(torch.empty(8)), to(torch.empty(1))
    m.last_block[(8,), (64,), 0](x, parts, out, 1000)
    return out, x.sum(0, keepdim=True)


def largest(m, to):
    x, out = to(torch.randn(1000)), to(torch.zeros(1))
    m.fmaxed[(8,), (128,), 0](x, out, 1000)
    return out, x.max().reshape(1)


def two_kernels(m, to):
    x, out = to(torch.randn(1000)), to(torch.empty(1))
    assert m.two(x, out, 1000) is None
    return out, x.sum(0, keepdim=True)


def smoothed(m, to):
    x, y = to(torch.randn(1000)), to(torch.empty(1000))
    m.smooth(x, y, 1000)
    kernel = to(torch.tensor([[[0.25, 0.5, 0.25]]]))
    return y, torch.nn.functional.conv1d(x.reshape(1, 1, -1), kernel, padding=1).reshape(-1)


EVERY = [
    *(transposed, summed, counted, softmax, product, halves, vectors, last_block, largest, two_kernels, smoothed),
]


@pytest.mark.parametrize("case", EVERY, ids=lambda case: case.__name__)
def test_kernels(
    module: ModuleType, device: str, order: None, case: Callable[..., tuple[torch.Tensor, torch.Tensor]]
) -> None:
    found, expected = case(module, lambda tensor: tensor.to(device))
    torch.testing.assert_close(found, expected, rtol=1e-4, atol=1e-4 if found.dtype is not torch.float16 else 0)


@pytest.mark.parametrize(
    ("name", "given", "expected"),
    [
        ("solve_matmul", (1,), "solve_matmul(A, B, C, M, N, K) is not given B, C, M, N, K"),
        ("smooth", ("x", "y", 2.5), "n of smooth is a whole number (int), and 2.5 is given"),
        ("smooth", ("x", "y", 1 << 31), "n of smooth is int, which 2147483648 does not fit into"),
        ("smooth", ("double", "y", 4), "x of smooth points to float, and a tensor of float64 is given"),
        ("smooth", ("turned", "y", 4), "x of smooth is given a tensor that is not contiguous"),
        ("smooth", (3, "y", 4), "x of smooth is a pointer, and 3 is given: write a tensor such as randn(n)"),
        ("smooth", ("x", "y", "x"), "n of smooth is a number (int), and a tensor is given"),
        ("smooth", ("x", "y", 4, 4), "smooth(x, y, n) takes 3 arguments, and 4 are given"),
        ("softmax", ("x", "y", 4), "softmax is a kernel: write how it is launched, softmax<<<grid, block>>>(…)"),
        ("matmul", ("x",), "matmul is a template: write its arguments, as in matmul<float, 4><<<grid, block>>>(…)"),
    ],
)
def test_wrong_arguments(module: ModuleType, device: str, name: str, given: tuple[object, ...], expected: str) -> None:
    tensors = {"x": torch.ones(4), "y": torch.ones(4), "double": torch.ones(4).double(), "turned": torch.ones(4, 4).T}
    values = [tensors[one].to(device) if isinstance(one, str) else one for one in given]
    with pytest.raises(TypeError) as raised:
        getattr(module, name)(*values)
    assert expected in str(raised.value)


def test_vectors_need_whole_ones(module: ModuleType, device: str) -> None:
    with pytest.raises(TypeError, match="x of scale4 points to float4, and 6 elements are no multiple of 4"):
        module.scale4[(1,), (32,), 0](torch.ones(6, device=device), 1.0, 1)
