"""Products of tiles by a warp as one: they give what torch gives, and what a GPU leaves undefined is told with its line."""

from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest
import torch

from kernelwright.proof.worker.failed import JobFailed
from kernelwright.proof.worker.interpreter import rounds
from kernelwright.proof.worker.languages.cuda import LANGUAGE
from kernelwright.proof.worker.languages.cuda.faults import KernelFault

PATH = "/nowhere/wmma.cu"
TEXT = Path(__file__).with_name("wmma.cu").read_text(encoding="utf-8")
LINES = TEXT.split("\n")
T = "thread ({}, 0, 0) of block (0, 0, 0)".format


def at(words: str) -> str:
    """ "line 12" of the text, where these words stand."""
    return f"line {next(number for number, line in enumerate(LINES, 1) if words in line)}"


@pytest.fixture(scope="module")
def module() -> Iterator[ModuleType]:
    loaded = LANGUAGE.load(PATH, TEXT, "test")
    yield loaded
    LANGUAGE.unload(loaded)


@pytest.fixture(autouse=True)
def first_order(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rounds, "number", 0)
    monkeypatch.setattr(rounds, "backwards", False)


def numbers(*shape: int) -> torch.Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(3))


def in_memory(matrix: torch.Tensor, by_columns: bool, stride: int) -> torch.Tensor:
    """A matrix as it lies, in rows or columns that begin `stride` apart."""
    lines = matrix.T if by_columns else matrix
    whole = torch.zeros(lines.shape[0], stride, dtype=matrix.dtype)
    whole[:, : lines.shape[1]] = lines
    return whole


@pytest.mark.parametrize("columns", [0, 1])
@pytest.mark.parametrize(
    ("name", "shape", "operand", "result", "turned", "within"),
    [
        ("square", (16, 16, 16), torch.half, torch.float, (0, 0), 1e-6),
        ("turned", (16, 16, 16), torch.half, torch.float, (1, 1), 1e-6),
        ("tall", (32, 8, 16), torch.half, torch.float, (0, 1), 1e-6),
        ("wide", (8, 32, 16), torch.half, torch.float, (1, 0), 1e-6),
        ("halves", (16, 16, 16), torch.half, torch.half, (0, 0), 2e-2),
        ("brain", (16, 16, 16), torch.bfloat16, torch.float, (0, 0), 1e-6),
        ("tall_brain", (32, 8, 16), torch.bfloat16, torch.float, (0, 0), 1e-6),
        ("whole", (16, 16, 16), torch.int8, torch.int32, (0, 0), 0),
        ("real", (8, 8, 4), torch.double, torch.double, (0, 0), 1e-12),
    ],
)
def test_products(module, name, shape, operand, result, turned, within, columns: int) -> None:
    m, n, k = shape
    scale = 50 if operand == torch.int8 else 1
    a, b, c = (
        (scale * numbers(*each)).to(kind) for each, kind in (((m, k), operand), ((k, n), operand), ((m, n), result))
    )
    given = [in_memory(a, turned[0], 64), in_memory(b, turned[1], 48), in_memory(c, columns, 56)]
    getattr(module, name)[(1,), (32,), 0](*given, 64, 48, 56, columns)
    lines = given[2]
    found = lines[:, :m].T if columns else lines[:, :n]
    expected = 2 * (a.double() @ b.double() + c.double())
    assert (found.double() - expected).abs().max() <= within * expected.abs().max()
    assert lines[:, (m if columns else n) :].abs().max() == 0


def test_how_many_elements_a_lane_holds(module) -> None:
    sizes = torch.zeros(3, dtype=torch.int32)
    module.counts[(1,), (1,), 0](sizes)
    assert sizes.tolist() == [16, 4, 8]


def test_tf32_keeps_ten_bits(module) -> None:
    a, b, c = numbers(16, 8), numbers(8, 16), torch.empty(16, 16)
    module.tf32[(1,), (32,), 0](a, b, c)
    error = (c - a.double() @ b.double()).abs().max()
    assert 1e-5 < error < 1e-2


@pytest.mark.parametrize("order", [0, 1, 2, 6])
def test_a_product_through_shared_memory_on_odd_sizes(module, order: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rounds, "number", order)
    monkeypatch.setattr(rounds, "backwards", order > 0)
    a, b, c = numbers(37, 29).half(), numbers(29, 45).half(), torch.empty(37, 45)
    module.staged[(2, 2), (128,), 0](a, b, c, 37, 45, 29)
    assert torch.allclose(c, a.float() @ b.float(), atol=1e-4)


def test_a_missing_barrier_between_staging_and_loading() -> None:
    text = TEXT.replace("__syncthreads();  // staged", "")
    loaded = LANGUAGE.load(PATH, text, "test")
    given = numbers(37, 29).half(), numbers(29, 45).half(), torch.empty(37, 45), 37, 45, 29
    loads, stages = at("(a, &As"), at("As[i / 16][i % 16] =")
    with pytest.raises(KernelFault, match=rf"writes shared As\[\d+\] at {stages}, which thread .* reads at {loads}"):
        loaded.staged[(2, 2), (128,), 0](*given)
    LANGUAGE.unload(loaded)


def test_the_fp64_twin() -> None:
    text = LANGUAGE.widened(TEXT, narrow=True)
    assert text is not None
    twin = LANGUAGE.load(PATH, text, "twin")
    a, b, c = numbers(37, 29).double(), numbers(29, 45).double(), torch.empty(37, 45, dtype=torch.double)
    twin.staged[(2, 2), (128,), 0](a, b, c, 37, 45, 29)
    assert torch.allclose(c, a @ b, atol=1e-13)
    LANGUAGE.unload(twin)


@pytest.mark.parametrize(
    ("name", "block", "expected"),
    [
        (
            "half_of_a_warp",
            32,
            f"runs: {T(0)} works on a tile at {at('< 16) wmma::store')}, and only 16 lanes of its warp come there: all 32 must",
        ),
        (
            "not_loaded",
            48,
            f"runs: {T(32)} works on a tile at {at('// of nothing')}, and only 16 lanes of its warp come there: all 32 must",
        ),
        (
            "in_two_places",
            32,
            f"runs: {T(0)} works on the tile of {at('// one')} and {T(16)} on that of {at('// other')}: "
            "all lanes of a warp must come to the same one",
        ),
        (
            "waits_elsewhere",
            32,
            f"runs: {T(0)} waits at {at('__syncwarp')} for threads of its warp (mask 0xffffffff) that do not come there "
            "with the same mask",
        ),
        (
            "own_tiles",
            32,
            f"runs: threads {T(0)[7:]} and {T(16)[7:]} pass different addresses or strides of a tile at {at('// own')}",
        ),
        (
            "at_once",
            64,
            f"race: {T(63)} writes C[24] at {at('// both')}, which {T(31)} writes at {at('// both')}, "
            "and nothing orders the two",
        ),
        (
            "stored_and_read",
            32,
            f"race: {T(2)} writes shared tile[31] at {at('// store')}, which {T(31)} reads at {at('// without')}, "
            "and nothing orders the two",
        ),
        (
            "written_and_loaded",
            32,
            f"race: {T(31)} reads shared tile[24] at {at('// as one')}, which {T(24)} writes at {at('// by lanes')}, "
            "and nothing orders the two",
        ),
        ("beyond", 32, f"out-of-bounds: {T(0)} reads C[306] of 300 elements at {at('// 16 rows of 20')}"),
        ("shifted", 32, f"runs: {T(0)} passes a tile that is not aligned to 32 bytes at {at('// by 16')}"),
        (
            "crooked",
            32,
            f"runs: {T(0)} passes a tile whose rows are not a multiple of 16 bytes apart at {at('// rows of 68')}",
        ),
        ("past_the_end", 1, f"out-of-bounds: {T(0)} reads or writes element 8 of a 'float [8]' at {at('i <= c')}"),
    ],
)
def test_faults(module, name: str, block: int, expected: str) -> None:
    try:
        getattr(module, name)[(1,), (block,), 0](torch.zeros(300))
    except KernelFault as fault:
        said = f"{fault.check}: {fault}"
    else:
        said = ""
    assert said == expected


def test_a_tile_that_was_written_ahead_of_a_barrier(module) -> None:
    c = torch.ones(256)
    module.written_and_loaded[(1,), (32,), 0](c)
    assert c.tolist() == [1.0] * 256


def test_what_was_not_loaded_is_no_number(module) -> None:
    c = torch.zeros(256)
    module.not_loaded[(1,), (32,), 0](c)
    assert c.isnan().all()


@pytest.mark.parametrize(
    ("fragment", "words"),
    [
        ("wmma::matrix_a, 16, 16, 16, float, wmma::row_major", "no fragment of this shape and type"),
        ("wmma::matrix_a, 16, 8, 16, half, wmma::row_major", "no fragment of this shape and type"),
        ("wmma::accumulator, 16, 16, 16, __nv_bfloat16", "no fragment of this shape and type"),
        ("wmma::matrix_a, 16, 16, 16, half", "has a layout"),
    ],
)
def test_fragments_that_no_gpu_has_do_not_compile(fragment: str, words: str) -> None:
    text = f"#include <mma.h>\nusing namespace nvcuda;\n__global__ void k() {{ wmma::fragment<{fragment}> f; }}\n"
    with pytest.raises(JobFailed, match=words):
        LANGUAGE.load(PATH, text, "test")
