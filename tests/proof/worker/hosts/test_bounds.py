"""The bookkeeping of calls between unmapped addresses, with ordinary memory in the place of a GPU's pages."""

import ctypes
import gc
import mmap
from collections.abc import Callable

import pytest
import torch

from kernelwright.proof.worker.hosts import bounds
from kernelwright.proof.worker.hosts.pages import NoPages, Pages
from kernelwright.proof.worker.inputs import Inputs
from kernelwright.proof.worker.rejected import Rejected

PAGE = 4096


class Memory:
    """Hands out pages, and remembers which were given back."""

    def __init__(self) -> None:
        self.held: dict[int, mmap.mmap] = {}

    def mapped(self, size: int) -> Pages:
        made = mmap.mmap(-1, size)
        address = ctypes.addressof(ctypes.c_char.from_buffer(made))
        self.held[address] = made
        return Pages(address, size, 0)

    def unmap(self, pages: Pages) -> None:
        del self.held[pages.address]


def as_tensor(address: int, size: int, owner: object = None) -> torch.Tensor:
    memory = (ctypes.c_ubyte * size).from_address(address)
    memory.owner = owner
    return torch.frombuffer(memory, dtype=torch.uint8)


@pytest.fixture
def memory(monkeypatch: pytest.MonkeyPatch) -> Memory:
    gc.collect()  # blocks of an earlier test end before, and not among those of this one
    made = Memory()
    for name, stand_in in (
        ("page_size", lambda: PAGE),
        ("mapped", made.mapped),
        ("unmap", made.unmap),
        ("as_tensor", as_tensor),
        ("_can_move", bounds.is_plain),
        ("_unused", []),  # a call that has raised leaves its pages there for the next one to give back
    ):
        monkeypatch.setattr(bounds, name, stand_in)
    monkeypatch.setattr(torch.cuda, "synchronize", lambda: None)
    monkeypatch.setattr(bounds, "lately_free_on", lambda device: 1 << 30)
    return made


def look(target: Callable[..., object], *tensors: torch.Tensor) -> str:
    return bounds.look(target, Inputs(tensors), seed=0)


def beyond(tensor: torch.Tensor, offset: int) -> None:
    """Write one byte, counted from the tensor's end where `offset` >= 0, else from its start."""
    end = tensor.numel() * tensor.element_size()
    ctypes.memset(tensor.data_ptr() + (end if offset >= 0 else 0) + offset, 7, 1)


def test_a_call_that_stays_within_its_tensors_leaves_nothing(memory: Memory) -> None:
    x = torch.arange(1003.0)
    seen = []

    def target(x: torch.Tensor) -> torch.Tensor:
        y = torch.empty_like(x)
        seen.append((x.data_ptr() % PAGE, (x.data_ptr() + 4 * len(x)) % PAGE, bool(y.isnan().all())))
        assert torch.equal(x, torch.arange(1003.0))
        assert not torch.zeros(5).any()
        return y.copy_(x)

    assert look(target, x) == ""
    assert seen == [(PAGE - 4016, PAGE - 4, True), (0, 4012, True)], "against the end, then against the start"
    assert memory.held == {}


@pytest.mark.parametrize("offset", [0, 3, -1, -5])
@pytest.mark.parametrize("of", ["an input", "what it asks for", "what is filled"])
def test_a_byte_that_is_written_around_a_tensor_is_found(memory: Memory, of: str, offset: int) -> None:
    def target(x: torch.Tensor) -> torch.Tensor:
        made = {"an input": lambda: x, "what it asks for": lambda: torch.empty(999), "what is filled": x.clone}[of]()
        inside = PAGE - 4 * made.numel() > 64  # on one of the two sides there is room for it
        if inside and (offset < 0) == (made.data_ptr() % PAGE != 0):
            beyond(made, offset)
        return x + 1

    with pytest.raises(Rejected) as refused:
        look(target, torch.randn(1000))
    assert refused.value.check.name == bounds.NAME
    assert refused.value.check.detail == "writes memory around a tensor (1 byte): mask the access or fix the index"


def test_what_the_text_keeps_is_not_unmapped_before_it_lets_go(memory: Memory) -> None:
    kept = []

    def target(x: torch.Tensor) -> torch.Tensor:
        kept.append(torch.full((100,), 3.0))
        return x * 2

    assert look(target, torch.randn(50)) == ""
    assert len(memory.held) == 2
    assert all(bool((one == 3).all()) for one in kept)
    kept.clear()
    assert look(lambda x: x * 2, torch.randn(50)) == ""
    assert memory.held == {}


def test_a_module_gets_back_the_very_parameters_that_it_had(memory: Memory) -> None:
    class Model(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.weight = torch.nn.Parameter(torch.randn(64))
            self.register_buffer("calls", torch.zeros(1))

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            addresses.append(self.weight.data_ptr())
            self.calls += 1
            return x * self.weight

    model, addresses = Model(), []
    before = model.weight.data_ptr(), model.weight.detach().clone()
    assert look(model, torch.randn(3, 64)) == ""
    assert len({*addresses, before[0]}) == 3, "in two places of the guard"
    assert model.weight.data_ptr() == before[0]
    assert torch.equal(model.weight, before[1])
    assert not model.calls.any()
    assert memory.held == {}


def test_buffers_that_do_not_fit_are_put_back(memory: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
    class Model(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.register_buffer("calls", torch.zeros(1))

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            self.calls += 1
            return x * 2

    monkeypatch.setattr(bounds, "_MOST_BLOCKS", 1)
    model = Model()
    assert look(model, torch.randn(3, 64)).startswith("half of the free memory")
    assert not model.calls.any()


def test_inputs_are_each_time_what_they_were(memory: Memory) -> None:
    def target(x: torch.Tensor, expanded: torch.Tensor) -> torch.Tensor:
        assert bool((x == 1).all())
        assert bool((expanded == 2).all())
        return x.add_(expanded)

    assert look(target, torch.ones(7, 5), torch.full((1, 5), 2.0).expand(7, 5)) == ""


def test_a_stop_by_the_gpu_is_told_with_the_side(memory: Memory) -> None:
    def stopped(x: torch.Tensor) -> torch.Tensor:
        if x.data_ptr() % PAGE:
            return x
        raise RuntimeError("CUDA error: an illegal memory access\nmore words")

    with pytest.raises(Rejected) as refused:
        look(stopped, torch.randn(9))
    assert refused.value.check.detail == (
        "reads or writes memory before the start of a tensor: mask the access or fix the index "
        "(RuntimeError: CUDA error: an illegal memory access)"
    )


def test_what_else_it_raises_there_says_nothing_of_the_text(memory: Memory) -> None:
    def picky(x: torch.Tensor) -> torch.Tensor:
        raise ValueError("not from torch's pool")

    assert look(picky, torch.randn(9)) == "a call on memory that is not torch's own raises ValueError"


def test_what_does_not_fit_is_told(memory: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bounds, "lately_free_on", lambda device: 6 * PAGE)
    assert look(lambda x: torch.empty(2 * PAGE), torch.randn(9)).startswith("half of the free memory")
    assert look(lambda x: [torch.empty(1) for _ in range(2)], torch.randn(9)) == ""
    assert look(lambda x: [torch.empty(1) for _ in range(9)], torch.randn(9)).startswith("half of the free memory")


def test_a_driver_without_pages_is_told(memory: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
    def none(size: int) -> Pages:
        raise NoPages("this GPU has no virtual memory management")

    monkeypatch.setattr(bounds, "mapped", none)
    assert look(lambda x: x, torch.randn(9)) == "this GPU has no virtual memory management"
