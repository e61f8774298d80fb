"""`__global__` functions as Kernels: who launches them, what a workload calls, and what their text says of their work."""

import dataclasses
import functools
import re
from collections.abc import Collection, Iterator

from tree_sitter import Node

from kernelwright.source.cuda.accesses import accesses, flat_index
from kernelwright.source.cuda.definitions import File, Function, Launch, read_apart
from kernelwright.source.cuda.expressions import Names
from kernelwright.source.cuda.extension import uses_library, uses_pytorch
from kernelwright.source.cuda.outline import outline
from kernelwright.source.cuda.text import of_type, walk
from kernelwright.source.cuda.types import is_known
from kernelwright.source.cuda.work import estimate
from kernelwright.values import Access, Facts, Kernel, Language, Loop
from kernelwright.values import Launch as Launched

_STATEMENTS = (
    "expression_statement",
    "declaration",
    "if_statement",
    "for_statement",
    "while_statement",
    "return_statement",
)
_ARITHMETIC = frozenset("+-*/")
_TYPES = re.compile(r"\b(?:double|float|__?n?v?_?half2?|__nv_bfloat16|u?int\d*(?:_t)?|unsigned|long|short|char)\b")
_FRAMEWORK = re.compile(r"\b(?:torch::|at::)?Tensor\b|\bstd::|\bpy::")


def find_kernels(file: File, called: Collection[str] = ()) -> tuple[Kernel, ...]:
    """The kernels of a file in order of the text. `called` are the functions that workload lines call."""
    return tuple(_kernel(file, one, called) for one in file.kernels)


def entry_of(file: File, kernel: Function, called: Collection[str] = ()) -> Function:
    """What a workload calls to run a kernel: a host function that launches it, else the kernel itself.

    The first that a workload line calls wins, then the first whose parameters are pointers and numbers and that calls no
    library; one that takes what no line can give only where the kernel does as well. Functions of PyTorch extensions are not
    called.
    """
    launchers = [launch.function for launch in file.launches_of(kernel.name) if launch.function is not kernel]
    named = [one for one in file.functions if one.is_host and one.name in called]
    outer = [one for one in named if any(_calls(file, one, inner) for inner in launchers)]
    launchers, outer = ([one for one in some if not uses_pytorch(file, one)] for some in (launchers, outer))
    for one in (*launchers, *outer, kernel):
        if one.name in called:
            return one
    callable_ = [one for one in launchers if is_callable(one)]
    if not all(is_known(file, one) for one in kernel.parameters):
        return next(iter(callable_), kernel)
    return next((one for one in callable_ if is_plain(file, one)), kernel)


def is_callable(function: Function) -> bool:
    """Whether a workload line can call a host function: pointers and numbers go in, and it is no program of its own."""
    plain = all(one.pointers < 2 and not _FRAMEWORK.search(one.base) for one in function.parameters)
    return function.name != "main" and plain and bool(function.parameters) and not function.templates


def is_plain(file: File, function: Function) -> bool:
    """Whether a workload line can give all that a host function takes, and it calls no library that is not linked."""
    return all(is_known(file, one) for one in function.parameters) and not uses_library(file, function)


def _calls(file: File, function: Function, callee: Function) -> bool:
    if (
        function is callee
        or callee.name.encode() not in file.source.source[function.body.start_byte : function.body.end_byte]
    ):
        return False
    called = (one.child_by_field_name("function") for one in of_type(function.body, "call_expression"))
    return any(one is not None and file.source.content(one) == callee.name for one in called)


def _kernel(file: File, function: Function, called: Collection[str]) -> Kernel:
    entry, name = entry_of(file, function, called), function.name_node
    return Kernel(
        language=Language.CUDA,
        name=function.name,
        start_line=function.outer.start_point.row,
        end_line=function.outer.end_point.row + 1,
        name_line=name.start_point.row,
        name_column=file.source.column(name.start_byte),
        entry=entry.name,
        entry_start_line=entry.outer.start_point.row,
        entry_end_line=entry.outer.end_point.row + 1,
        launches=tuple(_launch(file, one) for one in file.launches_of(function.name)),
        facts=_remembered(file, function, entry),
    )


def _remembered(file: File, function: Function, entry: Function) -> Facts:
    """The facts, worked out again only where the kernel, its entry, or what these need is another text."""
    found = outline(file.source.text)
    launched = (file.kernel(one.kernel) for one in file.launches if one.function is entry)
    wanted = dict.fromkeys((function, entry, *(one for one in launched if one is not None)))
    places = [found.starting.get(one.outer.start_byte) for one in wanted]
    pieces = [place for place in places if place is not None]
    if len(pieces) < len(places):
        return facts(file, function, entry)
    texts = tuple(found.placed[place].piece.text for place in (*pieces, *found.needed(pieces)))
    made, first = _facts_of(texts, function.name, entry.name), function.outer.start_point.row
    return dataclasses.replace(
        made,
        accesses=tuple(dataclasses.replace(one, line=one.line + first) for one in made.accesses),
        loops=tuple(dataclasses.replace(one, line=one.line + first) for one in made.loops),
    )


@functools.lru_cache(maxsize=1024)
def _facts_of(texts: tuple[str, ...], kernel: str, entry: str) -> Facts:
    """The facts of a kernel that is the first of some definitions, with lines from its own first one."""
    file = read_apart("\n".join(texts))
    function, caller = file.kernel(kernel), file.function(entry)
    return facts(file, function, caller) if function is not None and caller is not None else Facts()


def _launch(file: File, launch: Launch) -> Launched:
    content = file.source.content
    given = {"block": launch.block, "shared": launch.shared, "stream": launch.stream}
    return Launched(
        line=launch.node.start_point.row,
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
