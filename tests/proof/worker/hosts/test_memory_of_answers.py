"""Answers that are left to be computed, or lie in others' memory, are named; inputs begin where they began."""

import tempfile
from collections.abc import Callable

import pytest
import torch

from kernelwright.proof.worker.gate.properties import VIEWS, with_property
from kernelwright.proof.worker.hosts import parcels
from kernelwright.proof.worker.hosts.parcels import put, view
from kernelwright.proof.worker.inputs import Inputs, clone_tensor
from kernelwright.proof.worker.observe import observe

X = torch.arange(12.0).reshape(3, 4)
ARENA = torch.zeros(1 << 12, dtype=torch.uint8)


def _shared(x: torch.Tensor) -> torch.Tensor:
    return x.clone().share_memory_()


def _of_a_file(x: torch.Tensor) -> torch.Tensor:
    with tempfile.NamedTemporaryFile() as file:
        return torch.from_file(file.name, shared=True, size=x.numel())


@pytest.mark.parametrize(
    ("made", "words"),
    [
        (torch._lazy_clone, "lazy clone"),
        (torch._to_functional_tensor, "Functionalize"),
        (lambda x: torch._efficientzerotensor(x.shape), "ZeroTensor"),
        (_shared, "memory of a file"),
        (_of_a_file, "memory of a file"),
    ],
)
def test_what_is_no_result(made: Callable[[torch.Tensor], torch.Tensor], words: str) -> None:
    (sent,) = put([made(X.clone())], ARENA)
    assert words in sent.unusual


@pytest.mark.parametrize(
    "plain",
    [
        lambda x: x,
        lambda x: x[1:],
        lambda x: torch.nn.Parameter(x),
        lambda x: torch.from_numpy(x.numpy().copy()),
        lambda x: torch.view_as_complex(x.reshape(3, 2, 2)).conj(),
        lambda x: torch._neg_view(x),
    ],
)
def test_what_is_one(plain: Callable[[torch.Tensor], torch.Tensor]) -> None:
    assert put([plain(X.clone())], ARENA)[0].unusual == ""


def test_memory_of_numpy_is_told_from_a_file_s_without_a_look_at_the_map(monkeypatch: pytest.MonkeyPatch) -> None:
    """The look takes longer than most short calls, and the judge's clock sees it."""
    monkeypatch.setattr(parcels, "open", lambda *_, **__: pytest.fail("read a file"), raising=False)
    assert put([torch.from_numpy(X.numpy().copy())], ARENA)[0].unusual == ""


def test_a_tensor_of_inference_mode_is_a_result() -> None:
    with torch.inference_mode():
        made = X + 1
    assert put([made], ARENA)[0].unusual == ""


def test_a_lazy_clone_is_found_to_share_its_sources_memory() -> None:
    assert observe(torch._lazy_clone, Inputs((X,)), seed=0).aliases == {(0, "input 0")}


@pytest.mark.parametrize("offset", [0, 1, 3, 64, 4097])
def test_a_copy_begins_where_its_source_does(offset: int) -> None:
    source = torch.arange(6000.0)[offset : offset + 12].reshape(3, 4)
    copy = clone_tensor(source)
    assert torch.equal(copy, source)
    assert copy.stride() == source.stride()
    assert not copy._is_view()
    assert (copy.storage_offset() > 0) == (offset > 0)
    assert (copy.storage_offset() - offset) % 64 == 0
    assert offset == 0 or bool(torch.empty(0).set_(copy.untyped_storage())[: copy.storage_offset()].isnan().all())
    (sent,) = put([source], ARENA)
    assert clone_tensor(view(sent, ARENA, "cpu"), sent.lead).storage_offset() == copy.storage_offset()


@pytest.mark.parametrize("name", sorted(name for name in VIEWS if "begin" in name))
def test_views_that_begin_later_have_the_same_values(name: str) -> None:
    made = with_property(Inputs((X, torch.arange(5))), name)
    assert made is not None
    floats, wholes = made.tensors()
    assert floats.storage_offset() > 0 < wholes.storage_offset()
    assert torch.equal(floats, X)
    assert torch.equal(wholes, torch.arange(5))
    assert floats.is_contiguous()
