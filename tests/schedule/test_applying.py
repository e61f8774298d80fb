"""Opts become a Schedule, or it is said in one sentence why they do not fit."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kernelwright import wire
from kernelwright.nest import Nest
from kernelwright.schedule.applying import KINDS, apply
from kernelwright.schedule.forms import Blocks, Illegal, Product, Reduction, Scan, Tiles, WalkedRows
from kernelwright.schedule.precisions import PRECISIONS
from kernelwright.schedule.sizes import sizes
from kernelwright.schedule.spaces import space
from kernelwright.values import CPU, Device
from kernelwright.values.opts import Backwards, Block, Group, Loop, Opt, Precision, Rows, Split, Stages, Tile, Warps
from kernelwright.values.targets import target
from schedule.nests import (
    ALL,
    BETWEEN,
    COMPUTED,
    CONVOLUTION,
    DEEP,
    FEW,
    FOLDED,
    GROUPS,
    KEPT,
    LONG,
    NESTS,
    PLACE,
    POOL,
    PRODUCT,
    ROWS,
    RUN,
    SCAN,
    STRIPS,
    TALL,
    TURNED,
    TURNED_POOL,
    TWICE,
)

H100, L4 = target("H100"), target("L4")
assert H100
assert L4
DOT = (Tile(64, 64), Loop(32), Group(8), Warps(4), Stages(3), Precision("tf32x3"))


@pytest.mark.parametrize(
    ("nest", "opts", "schedule"),
    [
        (PRODUCT, DOT, Product(64, 64, 32, 8, 4, 3, "tf32x3")),
        (ROWS, (Warps(4), Loop(128), Rows(8)), Reduction(8, 128, 4)),
        (LONG, (Loop(1024), Warps(4), Split(64)), Reduction(1, 1024, 4, 64)),
        (STRIPS, (Rows(16), Loop(32), Warps(4), Split(16)), Reduction(16, 32, 4, 16, strip=True)),
        (TWICE, (Rows(8), Loop(64), Warps(4), Split(32)), Reduction(8, 64, 4, 32)),
        (SCAN, (Warps(8),), Scan(0, 8)),
        (TALL, (Rows(8), Loop(32), Warps(4)), Scan(32, 4, 8, strip=True)),
        (POOL, (Block(512), Warps(4)), Blocks(512, 4)),
        (RUN, (Block(2048), Warps(8)), Blocks(2048, 8)),
        (TURNED, (Tile(32, 64), Warps(4)), Tiles(32, 64, 4)),
        (KEPT, (Rows(4), Warps(8)), WalkedRows(0, 8, 4)),
        (KEPT, (Loop(64), Warps(4), Stages(3), Backwards()), WalkedRows(64, 4, stages=3, backwards=True)),
        (FEW, (Loop(4096), Warps(8), Split(16)), WalkedRows(4096, 8, parts=16)),
        (BETWEEN, (Rows(32), Loop(64), Warps(4)), WalkedRows(64, 4, 32, strip=True)),
    ],
)
def test_opts_that_fit_are_a_schedule(nest: Nest, opts: tuple[Opt, ...], schedule: object) -> None:
    assert apply(nest, opts, CPU) == schedule
    assert apply(nest, opts[::-1], H100) == schedule


def changed(*others: Opt) -> tuple[Opt, ...]:
    """The Opts of a product, some in the place of those of the same kind."""
    kinds = {type(one) for one in others}
    return (*(one for one in DOT if type(one) not in kinds), *others)


@pytest.mark.parametrize(
    ("nest", "opts", "device", "reason"),
    [
        (POOL, (), CPU, "A kernel of blocks of results needs Block and Warps."),
        (POOL, (Block(512), Warps(4), Warps(8)), CPU, "Warps is given 2 times."),
        (POOL, (Block(512), Warps(4), Group(8)), CPU, "A kernel of blocks of results has no Group."),
        (POOL, (Block(500), Warps(4)), CPU, "Block elements is 500, and has to be a power of two."),
        (POOL, (Block(512), Warps(0)), CPU, "Warps count is 0, and has to be 1 at least."),
        (POOL, (Block(512), Warps(64)), CPU, "A program has 32 warps at most, not 64."),
        (POOL, (Block(2**21), Warps(4)), CPU, "A block has 1048576 elements at most, not 2097152."),
        (TURNED, (Block(512), Warps(4)), CPU, "A kernel of tiles of results has no Block."),
        (TURNED, (Tile(256, 64), Warps(4)), CPU, "A tile of 256 rows is larger than the 24 that the result has."),
        (SCAN, (Rows(1024), Warps(4)), CPU, "A block has 1048576 elements at most, not 4194304."),
        (ROWS, (Loop(128), Warps(4), Precision("tf32x3")), CPU,
         "A reduction has no matrix product whose precision could be chosen."),
        (SCAN, (Warps(4), Split(4)), CPU, "What a scan makes in parts cannot be joined."),
        (ALL, (Loop(128), Warps(4), Rows(2)), CPU, "There is one row, and none that could lie beside it."),
        (ROWS, (Loop(256), Warps(4)), CPU, "A step of 256 elements is longer than a row of 100."),
        (ROWS, (Loop(64), Warps(4), Split(4)), CPU, "4 programs cannot share what one folds in 2 steps."),
        (ROWS, (Loop(64), Warps(4), Split(1)), CPU, "One part is no split."),
        (TWICE, (Rows(256), Loop(64), Warps(4), Split(4)), CPU, "4 programs cannot share what one folds in 2 steps."),
        (KEPT, (Warps(4), Stages(3)), CPU, "Stages is for rows that are walked in steps: it needs Loop."),
        (KEPT, (Block(512), Warps(4)), CPU, "A kernel of rows has no Block."),
        (FOLDED, (Loop(4096), Warps(8), Backwards()), CPU, "A row is not passed over again once it has been folded."),
        (FEW, (Loop(4096), Warps(8), Split(32)), CPU, "32 programs cannot share what one folds in 10 steps."),
        (FEW, (Rows(2), Loop(4096), Warps(8), Split(8)), CPU, "Rows that are walked together are not split."),
        (BETWEEN, (Loop(64), Warps(4), Split(4)), CPU, "Rows that are walked together are not split."),
        (PLACE, (Loop(4096), Warps(8), Split(8)), CPU,
         "A row that is split over programs is folded once only, and not for a place."),
        (GROUPS, (Rows(2**14), Warps(4)), CPU, "A block has 1048576 elements at most, not 4194304."),
        (PRODUCT, changed(Tile(256, 64)), CPU, "A tile of 256 rows is larger than the 48 that the result has."),
        (PRODUCT, changed(Loop(8)), CPU, "A matrix product takes 16 rows, columns and elements of depth at least, not 8."),
        (PRODUCT, changed(Tile(128, 128), Warps(1)), CPU, "The tile takes 512 registers of each thread, which has 255."),
        (PRODUCT, changed(Precision("fp8")), CPU,
         "There is no precision 'fp8', only fp16x3, fp16x3-in-loop, fp16, fp16-in-loop, tf32x3, bf16x6, tf32."),
        (PRODUCT, changed(Precision("tf32")), CPU,
         "Eager mode does not round this product here, so tf32 would be less accurate."),
        (COMPUTED, changed(Precision("fp16x3")), CPU,
         "An operand of the product is not read as it is from an fp32 tensor."),
        (PRODUCT, changed(Tile(128, 128), Loop(64), Warps(8), Precision("fp16x3")), L4,
         "The loads of 3 stages take 128 KiB of shared memory; a block has 99 KiB."),
    ],
)  # fmt: skip
def test_opts_that_do_not_fit_say_why(nest: Nest, opts: tuple[Opt, ...], device: Device, reason: str) -> None:
    assert apply(nest, opts, device) == Illegal(reason)


NUMBERS = st.sampled_from([0, 1, 2, 3, 8, 16, 32, 100, 128, 1024, 4096, 2**20, 2**21])
OPTS = st.one_of(
    st.builds(Tile, NUMBERS, NUMBERS),
    *(st.builds(kind, NUMBERS) for kind in (Block, Rows, Loop, Split, Group, Stages, Warps)),
    st.builds(Precision, st.sampled_from([*PRECISIONS, "ieee", ""])),
    st.builds(Backwards),
)


@given(st.sampled_from(sorted(NESTS)), st.lists(OPTS, max_size=8), st.sampled_from([CPU, H100, L4]))
def test_any_opts_are_legal_or_say_why(name: str, opts: list[Opt], device: Device) -> None:
    answer = apply(NESTS[name], opts, device)
    if isinstance(answer, Illegal):
        assert answer.reason.endswith(".")
        assert answer.reason[0].isupper() or answer.reason[0].isdigit()
    else:
        needed, _ = KINDS[sizes(NESTS[name]).form]
        assert {*needed} <= {type(opt) for opt in opts}
        assert answer.described


@given(st.sampled_from(sorted(NESTS)), st.data())
def test_one_other_opt_in_a_choice_is_legal_or_says_why(name: str, data: st.DataObject) -> None:
    nest = NESTS[name]
    opts = list(data.draw(st.sampled_from(space(nest, CPU))))
    other = data.draw(OPTS)
    kept = [opt for opt in opts if type(opt) is not type(other)]
    answer = apply(nest, [*kept, other], H100)
    needed, more = KINDS[sizes(nest).form]
    assert isinstance(answer, Illegal) or type(other) in (*needed, *more)


@pytest.mark.parametrize("device", [CPU, H100, L4], ids=["CPU", "H100", "L4"])
@pytest.mark.parametrize("name", NESTS)
def test_a_space_has_choices_that_fit_each_once_and_travel(name: str, device: Device) -> None:
    choices = space(NESTS[name], device)
    assert len(choices) == len(set(choices)) > 1
    for opts in choices:
        assert not isinstance(apply(NESTS[name], opts, device), Illegal)
        assert wire.decode(tuple[Opt, ...], wire.encode(opts)) == opts
    described = [apply(NESTS[name], opts, device).described for opts in choices]
    assert len(set(described)) == len(described)


def test_a_product_has_fp16_parts_only_where_operands_are_whole_and_the_loads_fit() -> None:
    def whole(nest: Nest, device: Device) -> int:
        return sum(Precision("fp16x3") in opts for opts in space(nest, device))

    assert (whole(DEEP, H100), whole(DEEP, L4), whole(PRODUCT, L4), whole(COMPUTED, H100)) == (3, 2, 3, 0)


def test_tiles_of_a_short_inner_axis_are_written_along_the_rows_of_the_result() -> None:
    short, deep = ([Group(1) in opts for opts in space(nest, H100)] for nest in (PRODUCT, DEEP))
    assert all(short[:3])
    assert not any(short[3:])
    assert not any(deep)


def test_one_product_of_rounded_operands_is_for_what_eager_mode_rounds() -> None:
    for rounded in (Precision("tf32"), Precision("fp16")):
        assert not any(rounded in opts for opts in space(PRODUCT, H100))
        assert not any(rounded in opts for opts in space(CONVOLUTION, CPU))
        assert any(rounded in opts for opts in space(CONVOLUTION, H100))
    assert Precision("fp16") in space(CONVOLUTION, H100)[0]


def test_windows_are_split_ahead_of_the_kernel_and_no_tile_has_twice_the_channels() -> None:
    in_loop = (Tile(64, 128), Loop(32), Group(8), Warps(4), Stages(3), Precision("fp16x3-in-loop"))
    assert apply(CONVOLUTION, in_loop, H100) == Illegal(
        "An operand of the product is not read as it is from an fp32 tensor."
    )
    assert {next(opt.rows for opt in opts if isinstance(opt, Tile)) for opts in space(CONVOLUTION, H100)} == {32}


def test_tiles_are_no_wider_than_their_shorter_side_needs() -> None:
    assert [opts[0] for opts in space(TURNED, CPU)] == [Tile(32, 128), Tile(32, 64), Tile(32, 256)]
    assert [opts[0] for opts in space(TURNED_POOL, CPU)] == [Tile(32, 64), Tile(32, 32), Tile(32, 128)]


def test_runs_of_pointwise_operations_have_larger_blocks_than_pools() -> None:
    assert space(RUN, CPU)[0] == (Block(1024), Warps(4))
    assert space(POOL, CPU)[0] == (Block(512), Warps(4))
