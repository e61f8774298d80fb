"""Prints a Program with few but very long rows: each row is split over many programs, whose parts a second kernel joins."""

import re
from collections.abc import Mapping
from dataclasses import dataclass

from kernelwright.micro.rewrite import triton_printer as tp
from kernelwright.micro.rewrite.looped import loop, pass_lines, pass_of
from kernelwright.micro.rewrite.naming import in_words
from kernelwright.micro.rewrite.program import ELEMENT, ROW, Line, Operand, Program
from kernelwright.micro.rewrite.relies import check, limits, relied_on
from kernelwright.micro.rewrite.scope import NotLowerable
from kernelwright.micro.rewrite.tile_context import TILES, Context
from kernelwright.micro.rewrite.tiles import Shape
from kernelwright.ops.folds import FOLDS
from kernelwright.place.layout import call_text

PROGRAMS = 1056  # that keep a large GPU busy: eight for each of 132 multiprocessors


# (BLOCK, num_warps, programs in all, stages)
_SPLITS = ((4096, 8, 1024, 0), (2048, 4, 2048, 0), (2048, 8, 1024, 0), (8192, 16, 1024, 0), (4096, 8, 1024, 3))


@dataclass(frozen=True)
class Split:
    """`parts` programs a row, a power of two, each walking its part in steps of `block`."""

    block: int
    warps: int
    parts: int
    stages: int = 0

    @property
    def described(self) -> str:
        more = f", {self.stages} stages" if self.stages else ""
        return f"BLOCK={self.block}, SPLITS={self.parts}, num_warps={self.warps}{more}"


def splits(program: Program) -> tuple[Split, ...]:
    """Splits worth measuring; none where there are rows enough, or rows too short."""
    assert program.domain.memory is not None
    rows, length, inner = program.domain.memory
    if inner > 1 or program.domain.over_channels or rows >= PROGRAMS or length <= (16384 if rows < 128 else 65536):
        return ()
    found = []
    for block, warps, programs, stages in _SPLITS:
        parts = max(programs // rows, 2)
        parts = min(1 << (parts.bit_length() - 1), 1 << ((length // block) | 1).bit_length())
        found.append(Split(block, warps, parts, stages))
    return tuple(found)


def print_split(
    program: Program,
    main_dtype: str,
    names: tuple[str, str],
    split: Split,
    length: str,
    numbers: Mapping[str, str],
    existing: str,
) -> tp.Printed:
    """Two kernels, launcher and call. Raises NotLowerable for more than one reduction after another."""
    kernel, launcher = names
    partial = kernel.removesuffix("_kernel") + "_partial_kernel"
    group = _only_pass(program)
    first = _Half(program, split, _reading(program, {u for line in group for u in line.uses}, set()))
    made = {line.name for line in group}
    rows = [line for line in program.lines if line.level == ROW and not line.reduce and line.name not in made]
    known = made | {line.name for line in rows}
    targets = {program.result} if program.result_level == ELEMENT else set()
    second = _Half(program, split, [*_reading(program, targets, known), *_row_operands(program)])
    first.mentioned = _words([*group, *program.needed({u for line in group for u in line.uses}, set())])
    second.mentioned = _words([*rows, *program.needed(targets, known)])
    planes = len(group)
    wide = ".to(tl.int64)" if tp.is_wide(program) else ""
    place = [
        f"row = tl.program_id(0){wide} // SPLITS",
        "part = tl.program_id(0) % SPLITS",
        "begin = part * chunk",
        "end = tl.minimum(begin + chunk, length)",
    ]
    single = {o.name for o in first.operands if o.terms == ()} | set(program.scalars)
    body = [*place, *first.scalar_loads(), *pass_lines(first.context, group, single), *_store_parts(group)]
    first_source = tp.kernel_source(
        partial,
        first.parameters(
            ["partial_ptr", "n_rows", "length", "chunk"] if planes > 1 else ["partial_ptr", "length", "chunk"]
        ),
        f"{in_words(program, 36)}: each program reduces one part of a row.",
        [*body],
    )
    ready = known | {o.name for o in second.operands if o.terms == () or o.level == ROW}
    head = place if targets else [f"row = tl.program_id(0){wide}"]
    body = [
        *head,
        "parts = row * SPLITS + tl.arange(0, SPLITS)",
        *_joined(group),
        *second.scalar_loads(),
        *(f"{line.name} = {line.expression}" for line in rows),
    ]
    body += second.apply(targets, ready) if targets else [f"tl.store(out_ptr + row, {program.result})"]
    second_sizes = ["n_rows"] if planes > 1 else []
    second_sizes += ["length", "chunk"] if targets else ["length"]
    second_source = tp.kernel_source(
        kernel,
        second.parameters(["partial_ptr", "out_ptr", *second_sizes], block=bool(targets)),
        f"{in_words(program, 36)}: joins a row's parts{', then applies them' if targets else ''}.",
        body,
    )
    first_sizes = ["n_rows", "length", "chunk"] if planes > 1 else ["length", "chunk"]
    main = program.main.name
    launch = [
        *check(relied_on(program, launcher, length=length)),
        *tp.prepare_inputs(program),
        f"length = {length}",
        f"n_rows = {main}.numel() // length",
        f"chunk = triton.cdiv(length, {split.parts * split.block}) * {split.block}",
        _partial_line(main, planes, split),
        tp.allocate(program, main_dtype),
        call_text(f"{partial}[(n_rows * {split.parts},)]", first.arguments(["partial", *first_sizes]), "", 4),
        call_text(
            f"{kernel}[({f'n_rows * {split.parts}' if targets else 'n_rows'},)]",
            second.arguments(["partial", "out", *second_sizes], block=bool(targets)),
            "",
            4,
        ),
        "return out",
    ]
    function = tp.launcher_source(
        launcher,
        [*tp.launch_parameters(program), *numbers],
        f"{in_words(program, 36)} in two kernels, in fp32{limits(program.eager)}.",
        launch,
    )
    sources = [*tp.helper_sources(program, existing), first_source, second_source, function]
    return tp.Printed("\n\n\n".join(sources), launcher, split.described)


def _words(lines: list[Line]) -> set[str]:
    return {word for line in lines for word in re.findall(r"\w+", line.expression)}


def _partial_line(main: str, planes: int, split: Split) -> str:
    shape = f"({planes}, n_rows, {split.parts})" if planes > 1 else f"(n_rows, {split.parts})"
    return f"partial = {main}.new_empty({shape}, dtype=torch.float32)"


def _only_pass(program: Program) -> list[Line]:
    """The lines of the program's one pass of reductions."""
    reductions = [line for line in program.lines if line.reduce]
    group = pass_of(program, reductions[0])
    if any(line not in group for line in reductions) or any(line.reduce.startswith("arg") for line in group):
        raise NotLowerable("A row that is split over programs can be reduced once only.")
    return group


def _reading(program: Program, targets: set[str], known: set[str]) -> list[Operand]:
    """The operands of element level that `targets` are computed from."""
    needed = set(targets).union(*(set(line.uses) for line in program.needed(targets, known)))
    rows = {u for line in program.lines if line.level == ROW for u in line.uses} if known else set()
    loaded = [o for o in program.operands if o.level == ELEMENT]
    return [o for o in loaded if o.name in needed or (o.terms == () and o.name in rows)]


def _row_operands(program: Program) -> list[Operand]:
    return [o for o in program.operands if o.level == ROW]


def _store_parts(group: list[Line]) -> list[str]:
    at = "row * SPLITS + part"
    if len(group) == 1:
        return [f"tl.store(partial_ptr + {at}, {group[0].name})"]
    stride = "n_rows * SPLITS"
    names = [group[0].name, group[1].name] if len(group) == 2 else [group[1].name, group[2].name, "count"]
    lines = [f"place = partial_ptr + {at}"]
    for i, name in enumerate(names):
        offset = "" if i == 0 else f" + {stride}" if i == 1 else f" + {i} * {stride}"
        lines.append(f"tl.store(place{offset}, {name})")
    return lines


def _joined(group: list[Line]) -> list[str]:
    """The reduction of the parts of a row."""
    line = group[0]
    if len(group) == 1:
        return [f"{line.name} = {FOLDS[line.reduce].reduced('tl.load(partial_ptr + parts)', 0)}"]
    if len(group) == 2:
        highest, total = line.name, group[1].name
        return [
            "maxima = tl.load(partial_ptr + parts)",
            "sums = tl.load(partial_ptr + n_rows * SPLITS + parts)",
            f"{highest} = tl.max(maxima, axis=0)",
            f"{total} = tl.sum(sums * tl.exp(maxima - {highest}), axis=0)",
        ]
    mean, squares = group[1].name, group[2].name
    return [
        "means = tl.load(partial_ptr + parts)",
        "squares = tl.load(partial_ptr + n_rows * SPLITS + parts)",
        "counts = tl.load(partial_ptr + 2 * n_rows * SPLITS + parts)",
        f"{mean} = tl.sum(means * counts, axis=0) / length",
        f"deviations = means - {mean}",
        f"{squares} = tl.sum(squares + counts * deviations * deviations, axis=0)",
    ]


class _Half:
    """One of the two kernels: what it loads and takes."""

    def __init__(self, program: Program, split: Split, operands: list[Operand]) -> None:
        self.program = program
        self.split = split
        self.operands = operands
        self.constants = tp.Constants()
        shape = Shape("row", split.block, split.warps, looped=True, stages=split.stages)
        span = "begin, end"
        self.context = Context(program, shape, TILES["row"], self.constants, span, "count")
        self.mentioned: set[str] = set()
        for operand in operands:  # name the constants that the loads will use
            self.context.load(operand)

    def scalar_loads(self) -> list[str]:
        return [self.context.load(o) for o in self.operands if o.terms == () or o.level == ROW]

    def apply(self, targets: set[str], ready: set[str]) -> list[str]:
        return loop(self.context, targets, ready | set(self.program.scalars), [self.context.store()])

    def _tensors(self) -> list[str]:
        names = tp.pointers(self.program)
        return list(dict.fromkeys(names[o.value] for o in self.operands))

    def _numbers(self) -> list[str]:
        """The numbers that the kernel's own lines mention."""
        return [name for name in self.program.scalars if name in self.mentioned]

    def parameters(self, sizes: list[str], *, block: bool = True) -> list[str]:
        return [
            *(f"{t}_ptr" for t in self._tensors()),
            *sizes,
            *self._numbers(),
            *(f"{name}: tl.constexpr" for name in self.constants.names.values()),
            "SPLITS: tl.constexpr",
            *(["BLOCK: tl.constexpr"] if block else []),
        ]

    def arguments(self, sizes: list[str], *, block: bool = True) -> list[str]:
        return [
            *self._tensors(),
            *sizes,
            *self._numbers(),
            *(f"{name}={expression}" for expression, name in self.constants.names.items()),
            f"SPLITS={self.split.parts}",
            *([f"BLOCK={self.split.block}"] if block else []),
            f"num_warps={self.split.warps if block else 4}",
        ]
