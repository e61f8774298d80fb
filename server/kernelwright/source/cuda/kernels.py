"""`__global__` functions as Kernels: who launches them, what a workload calls, and what their text says of their work."""

import dataclasses
import functools
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence

from tree_sitter import Node

from kernelwright.source.cuda.accesses import accesses, flat_index
from kernelwright.source.cuda.definitions import File, Function, Parameter, read_together
from kernelwright.source.cuda.expressions import Names
from kernelwright.source.cuda.extension import uses_library, uses_pytorch
from kernelwright.source.cuda.outline import Outline, Piece, Placed, outline
from kernelwright.source.cuda.text import of_type, walk
from kernelwright.source.cuda.types import Definitions, is_known
from kernelwright.source.cuda.work import estimate
from kernelwright.values import Access, Facts, Kernel, Language, Loop
from kernelwright.values import Launch as Launched

MAIN = "main"
_STATEMENTS = (
    "expression_statement",
    "declaration",
    "if_statement",
    "for_statement",
    "while_statement",
    "return_statement",
)
_NOTHING = ("NULL", "nullptr")
_ARITHMETIC = frozenset("+-*/")
_TYPES = re.compile(r"\b(?:double|float|__?n?v?_?half2?|__nv_bfloat16|u?int\d*(?:_t)?|unsigned|long|short|char)\b")
_FRAMEWORK = re.compile(r"\b(?:torch::|at::)?Tensor\b|\bstd::|\bpy::")


def find_kernels(text: str, called: Iterable[str] = ()) -> tuple[Kernel, ...]:
    """The kernels of a text in order. `called` are the functions that workload lines call."""
    found, names = outline(text), frozenset(called)
    calling: dict[str, list[int]] = {}
    for i in found.functions:
        one = found.placed[i].piece
        for name in one.called - {one.name} if one.name in names and _function(found, i).is_host else ():
            calling.setdefault(name, []).append(i)
    return tuple(_kernel(found, i, names, calling) for i in found.functions if found.placed[i].piece.is_kernel)


def _entry(found: Outline, kernel: int, called: frozenset[str], calling: Mapping[str, Sequence[int]]) -> int:
    """What a workload calls to run a kernel: a host function that launches it, else the kernel itself.

    The kernel itself where a workload line launches it, then the first that a workload line calls, `main` last of them. Then
    the first whose parameters are pointers and numbers and that calls no library; one that takes what no line can give only
    where the kernel does as well. Functions of PyTorch extensions are not called.
    """
    text, name = found.source.text, found.placed[kernel].piece.name
    launching = [i for i in found.launchers(name) if i != kernel]
    if not launching:
        return kernel
    above = sorted({i for one in launching for i in calling.get(found.placed[one].piece.name, ())})
    own = [i for i in launching if found.placed[i].piece.name != name]  # a line with that name means the kernel
    launchers, outer = ([i for i in some if not uses_pytorch(text, _function(found, i))] for some in (own, above))
    for i in (kernel, *launchers, *outer):
        if found.placed[i].piece.name in called - {MAIN}:
            return i
    if MAIN in called and (program := program_of(found, name)) is not None:
        return program
    callable_ = [i for i in launchers if is_callable(_function(found, i))]
    if not all(is_known(found, one) for one in _function(found, kernel).parameters):
        return next(iter(callable_), kernel)
    plain = (i for i in callable_ if is_plain(found, text, _function(found, i)))
    return next((i for i in plain if _passes_its_own(found.placed[i].piece, _function(found, kernel))), kernel)


def _passes_its_own(launching: Piece, kernel: Function) -> bool:
    """Whether a function launches a kernel on arrays that it is given or makes, and on none that others left in globals."""
    assert launching.file is not None
    assert launching.function is not None
    content = launching.file.source.content
    declared = {one.name for one in launching.function.parameters}
    for node in of_type(launching.function.body, "declaration", "for_range_loop"):
        declared |= {content(one) for one in of_type(node, "identifier")}

    def is_its_own(one: Parameter, argument: Node) -> bool:
        first = next(of_type(argument, "identifier", "call_expression"), None)
        named = content(first) if first is not None and first.type == "identifier" else None
        return not one.is_pointer or named is None or named in declared or named in _NOTHING

    launches = launching.file.launches_of(kernel.name)
    given = (zip(kernel.parameters, one.arguments, strict=False) for one in launches)
    return not launches or any(all(is_its_own(*pair) for pair in pairs) for pairs in given)


def program_of(found: Outline, name: str) -> int | None:
    """The piece that is `main`, where that launches or calls a function by way of whatever else; None where it does not."""
    by_name = {found.placed[i].piece.name: i for i in found.functions}
    reached, waiting = set[str](), [MAIN]
    while waiting:
        one = waiting.pop()
        if one in by_name and one not in reached:
            reached.add(one)
            piece = found.placed[by_name[one]].piece
            waiting += (*piece.called, *piece.launched)
    return by_name[MAIN] if {MAIN, name} <= reached else None


def _function(found: Outline, index: int) -> Function:
    function = found.placed[index].piece.function
    assert function is not None, "only functions launch, call and are kernels"
    return function


def is_callable(function: Function) -> bool:
    """Whether a workload line can call a host function: pointers and numbers go in, and it is no program of its own."""
    plain = all(one.pointers < 2 and not _FRAMEWORK.search(one.base) for one in function.parameters)
    return function.name != MAIN and plain and bool(function.parameters) and not function.templates


def is_plain(file: Definitions, text: str, function: Function) -> bool:
    """Whether a workload line can give all that a host function takes, and it calls no library that is not linked."""
    return all(is_known(file, one) for one in function.parameters) and not uses_library(text, function)


def _kernel(found: Outline, index: int, called: frozenset[str], calling: Mapping[str, Sequence[int]]) -> Kernel:
    entry, placed = _entry(found, index, called, calling), found.placed
    launched = (found.kernel(name) for name in placed[entry].piece.launched)
    wanted = dict.fromkeys((index, entry, *(one for one in launched if one is not None)))
    constants = (i for i in found.needed(wanted) if not placed[i].piece.name)
    texts = tuple(placed[i].piece.text for i in (*wanted, *constants))
    launchers = tuple((placed[i].piece, placed[i].line) for i in found.launchers(placed[index].piece.name))
    start = found.source.text.rfind("\n", 0, placed[index].start) + 1
    return _made(
        placed[index]._replace(start=placed[index].start - start), placed[entry]._replace(start=0), launchers, texts
    )


@functools.lru_cache(maxsize=2048)
def _made(kernel: Placed, entry: Placed, launchers: tuple[tuple[Piece, int], ...], texts: tuple[str, ...]) -> Kernel:
    """A kernel; `start` of its place is its column. `texts`: its definition, what runs it, and the constants of both."""
    function, file = kernel.piece.function, kernel.piece.file
    assert function is not None
    assert file is not None
    name, row = function.name_node, function.name_node.start_point.row
    made = _facts_of(texts, function.name, entry.piece.name)
    return Kernel(
        language=Language.CUDA,
        name=function.name,
        start_line=kernel.line,
        end_line=kernel.end_line + 1,
        name_line=kernel.line + row,
        name_column=file.source.column(name.start_byte) + (kernel.start if row == 0 else 0),
        entry=entry.piece.name,
        entry_start_line=entry.line,
        entry_end_line=entry.end_line + 1,
        launches=tuple(launch for piece, line in launchers for launch in _launches(piece, function.name, line)),
        facts=dataclasses.replace(
            made,
            accesses=tuple(dataclasses.replace(one, line=one.line + kernel.line) for one in made.accesses),
            loops=tuple(dataclasses.replace(one, line=one.line + kernel.line) for one in made.loops),
        ),
    )


@functools.lru_cache(maxsize=1024)
def _facts_of(texts: tuple[str, ...], kernel: str, entry: str) -> Facts:
    """The facts of a kernel that is the first of some definitions, with lines from its own first one."""
    file = read_together(texts)
    function, caller = file.kernel(kernel), file.function(entry)
    return facts(file, function, caller) if function is not None and caller is not None else Facts()


def _launches(piece: Piece, kernel: str, line: int) -> Iterator[Launched]:
    """The launches of a kernel in a piece that begins on that line."""
    assert piece.file is not None
    content = piece.file.source.content
    for launch in piece.file.launches_of(kernel):
        given = {"block": launch.block, "shared": launch.shared, "stream": launch.stream}
        yield Launched(
            line=line + launch.node.start_point.row,
            function=launch.function.name,
            grid=content(launch.grid) if launch.grid is not None else "",
            args=tuple(content(one) for one in launch.arguments),
            kwargs={name: content(node) for name, node in given.items() if node is not None},
        )


def facts(file: File, function: Function, entry: Function) -> Facts:
    """What can be said of a kernel without running it. The work is that of one call of its entry."""
    names, content = Names(file, function), file.source.content
    return Facts(
        accesses=tuple(_accesses(names)),
        loops=tuple(_loops(names)),
        dtypes=tuple(sorted({one.strip() for one in _TYPES.findall(content(function.node))})),
        constexprs=function.templates,
        parameters=tuple(one.name for one in function.parameters),
        statements=sum(one.type in _STATEMENTS for one in walk(function.body)),
        operations=sum(_is_arithmetic(file, one) for one in of_type(function.body, "binary_expression")),
        estimate=estimate(file, entry),
    )


def _accesses(names: Names) -> Iterator[Access]:
    content = names.file.source.content
    for one in accesses(names):
        if one.space != "global":
            continue
        index = flat_index(names, one)
        step = index.coefficient("threadIdx.x") if index is not None else None
        stride = step.number if step is not None else None
        kind = {"update": "store"}.get(one.kind, one.kind)
        yield Access(
            kind, one.node.start_point.row, content(one.node), innermost_stride=stride, in_loop=bool(one.loops)
        )


def _loops(names: Names) -> Iterator[Loop]:
    content = names.file.source.content
    for one in names.loops:
        bounds = content(one.condition) if one.condition is not None else ""
        yield Loop(
            one.node.start_point.row, one.variable, bounds, content(one.update) if one.update is not None else None
        )


def _is_arithmetic(file: File, node: Node) -> bool:
    operator = node.child_by_field_name("operator")
    return operator is not None and file.source.content(operator) in _ARITHMETIC
