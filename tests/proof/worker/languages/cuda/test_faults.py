"""What a kernel must not do, each told in one sentence with its line; and what looks like it and is right."""

from pathlib import Path

import pytest
import torch

from kernelwright.proof.worker.interpreter import rounds
from kernelwright.proof.worker.languages.cuda import LANGUAGE
from kernelwright.proof.worker.languages.cuda.faults import KernelFault

TEXT = Path(__file__).with_name("faulty.cu").read_text(encoding="utf-8")
LINES = TEXT.split("\n")
T, B = "thread ({}, 0, 0) of block (0, 0, 0)".format, "thread ({}, 0, 0) of block ({}, 0, 0)".format


def at(words: str) -> str:
    """ "line 12" of the text, where these words stand."""
    return f"line {next(number for number, line in enumerate(LINES, 1) if words in line)}"


@pytest.fixture(scope="module")
def module():
    loaded = LANGUAGE.load("/nowhere/faulty.cu", TEXT, "test")
    yield loaded
    LANGUAGE.unload(loaded)


@pytest.fixture(autouse=True)
def first_order(monkeypatch: pytest.MonkeyPatch) -> None:
    """Threads and blocks in the order of a process's first call, whatever tests ran before: it says who is told of a race."""
    monkeypatch.setattr(rounds, "number", 0)
    monkeypatch.setattr(rounds, "backwards", False)


def launched(module, name: str, grid: int, block: int, shared: int = 0, *given: object) -> str:
    """What is said of the launch; "" where all is well."""
    try:
        getattr(module, name)[(grid,), (block,), shared](*given)
    except KernelFault as fault:
        return f"{fault.check}: {fault}"
    return ""


@pytest.mark.parametrize(
    ("name", "block", "given", "expected"),
    [
        ("beyond", 8, (7,), f"out-of-bounds: {T(7)} reads A[7] of 7 elements at {at('C[i] = A[i]')}"),
        ("before", 7, (), f"out-of-bounds: {T(0)} reads A[-1] of 7 elements at {at('A[(int)threadIdx.x - 1]')}"),
        (
            "past_own",
            1,
            (5,),
            f"out-of-bounds: {T(0)} reads or writes element 4 of a 'float [4]' at {at('sum += own[j]')}",
        ),
        ("past_own", 1, (4,), ""),
        (
            "ahead_of_own",
            1,
            (1,),
            f"out-of-bounds: {T(0)} reads or writes element -1 of a 'float [4]' at {at('own[-n]')}",
        ),
        ("rows_in_one_piece", 8, (), ""),
        (
            "unaligned",
            1,
            (),
            f"out-of-bounds: {T(0)} reads 16 bytes of A at an address that is no multiple of 16, at {at('A + 1 + 4 *')}",
        ),
    ],
)
def test_accesses_of_tensors(module, name: str, block: int, given: tuple[int, ...], expected: str) -> None:
    assert (
        launched(module, name, 1, block, 0, torch.randn(7), torch.empty(8)[: 8 if name == "unaligned" else 7], *given)
        == expected
    )


@pytest.mark.parametrize(
    ("name", "grid", "block", "shared", "expected"),
    [
        ("wild", 1, 1, 0, f"out-of-bounds: {T(0)} reads a null pointer at {at('C[0] = *p')}"),
        (
            "outside_of_shared",
            1,
            32,
            0,
            f"out-of-bounds: {T(31)} writes shared near[32] of 32 elements at {at('near[threadIdx.x + 1] = 1')}",
        ),
        (
            "outside_of_dynamic",
            1,
            32,
            64,
            f"out-of-bounds: {T(16)} writes shared part[16] of 16 elements at {at('part[threadIdx.x] = 1')}",
        ),
        ("outside_of_dynamic", 1, 32, 128, ""),
        ("same_value", 1, 64, 0, ""),
        ("volatile_flag", 1, 64, 0, ""),
        (
            "divergent",
            1,
            64,
            0,
            f"runs: {T(31)} waits at the __syncthreads() of {at('meet one')} and {T(32)} at that of {at('meet two')}: "
            "all threads of a block must come to the same one",
        ),
        (
            "lanes_missing",
            1,
            32,
            0,
            f"runs: {T(16)} waits at the __syncthreads() of {at('else __sync')} for {T(0)}, which waits for other threads of "
            "its warp at "
            f"{at('__shfl_sync(')}: neither goes on",
        ),
        ("asserted", 1, 1, 0, f"runs: {T(0)} fails the assertion C[0] > 1e9f at {at('assert(')}"),
        ("nothing", 0, 32, 0, "runs: the launch of nothing has an empty grid, (0, 1, 1)"),
        ("nothing", 1, 1025, 0, "runs: the launch of nothing has 1025 threads in a block, and 1024 are the most"),
        (
            "nothing",
            1,
            1,
            232449,
            "runs: the launch of nothing asks for 232449 bytes of shared memory, and 232448 are the most",
        ),
        (
            "static_memory",
            1,
            1,
            0,
            "runs: kernel static_memory has 65536 bytes of static shared memory, and 49152 are the most",
        ),
    ],
)
def test_launches(module, name: str, grid: int, block: int, shared: int, expected: str) -> None:
    assert launched(module, name, grid, block, shared, torch.zeros(64)) == expected


@pytest.mark.parametrize(
    ("name", "grid", "block", "expected"),
    [
        (
            "no_barrier",
            1,
            64,
            f"race: {T(32)} writes shared tile[32] at {at('tile[threadIdx.x] = A')}, which {T(31)} reads at {at('tile[63 -')}",
        ),
        (
            "no_warp_barrier",
            1,
            32,
            f"race: {T(16)} writes shared tile[16] at {at('warp alone')}, which {T(15)} reads at {at('tile[31 -')}",
        ),
        (
            "copied_over",
            1,
            64,
            f"race: {T(31)} writes shared tile[31] at {at('// over it')}, which {T(63)} reads at {at('// of another')}",
        ),
        ("warp_barrier", 1, 32, ""),
        ("blocks_collide", 1, 32, ""),
        ("blocks_collide", 2, 1, f"race: {B(0, 1)} reads C[0] at {at('+= A')}, which {B(0, 0)} writes at {at('+= A')}"),
    ],
)
def test_races(module, name: str, grid: int, block: int, expected: str) -> None:
    said = launched(module, name, grid, block, 0, torch.randn(64), torch.zeros(64))
    assert said == (f"{expected}, and nothing orders the two" if expected else "")


@pytest.mark.parametrize(
    ("name", "given", "expected"),
    [
        ("after_free", (), f"reads memory of cudaMalloc, which was freed, at {at('A + 1 + 4 *')}"),
        ("host_memory", (), f"reads memory of the host, or none at all, at {at('C[i] = A[i]')}"),
        ("empty_grid", (255,), f"the launch of nothing of {at('n / 256')} has an empty grid, (0, 1, 1)"),
        (
            "large_block",
            (),
            f"the launch of nothing of {at('dim3(64, 32)')} has 2048 threads in a block, and 1024 are the most",
        ),
        (
            "much_shared",
            (),
            f"the launch of nothing of {at('100000')} asks for 100000 bytes of shared memory: more than 49152 need",
        ),
        ("copies_too_much", (torch.zeros(100),), "cudaMemcpy touches 1000 bytes where 256 are left of the memory"),
        ("clears_nothing", (), "cudaMemset is given a null pointer"),
    ],
)
def test_launchers(module, name: str, given: tuple[object, ...], expected: str) -> None:
    with pytest.raises(KernelFault) as raised:
        getattr(module, name)(torch.zeros(64), *given)
    assert expected in str(raised.value)
    module.nothing[(1,), (1,), 0](torch.zeros(1))  # the next call is none the worse
