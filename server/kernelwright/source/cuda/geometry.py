"""Launches of a kernel as workload lines write them: in the kernel's own parameters, by what launches it, or as is usual."""

import itertools
import math
import operator
import re
from collections.abc import Callable, Iterator, Mapping, Sequence

from tree_sitter import Node

from kernelwright.source.cuda.definitions import MACRO, File, Function, Launch, file_of, read_apart
from kernelwright.source.cuda.expressions import Names
from kernelwright.source.cuda.extents import dimensions, guards
from kernelwright.source.cuda.flow import Flow
from kernelwright.source.cuda.numbers import Numbers
from kernelwright.source.cuda.text import field, of_type, parse_apart
from kernelwright.source.cuda.types import WHOLE
from kernelwright.source.cuda.variables import plain
from kernelwright.source.polynomials import Polynomial

_DEEPEST = 16  # variables and helper functions behind one size
_MOST = 4  # launches of one kernel that are told apart
BLOCK = re.compile(r"(?:sqrt_)?block_?(?:size|dim)|n?threads(?:_?per_?block)?", re.IGNORECASE)
"""How numbers of threads are called."""
_BLOCK_SIZE, _SIDE = 128, 16  # of a block, and of one with two axes of a length
_THREADS, _MOST_THREADS = 256, 1024
_SHARED = 1 << 15
NO_SIZE = 4096  # elements where a kernel is given no size, so that no guard holds its last block back
_HELPER = 400  # characters of a function that sizes are computed with
_OPERATORS: Mapping[str, Callable[[int, int], int]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": lambda one, other: one // other if other else -1,
    "%": lambda one, other: one % other if other else -1,
    "<<": lambda one, other: one << min(other, 62),
    ">>": operator.rshift,
}
_ROUNDED_UP = ("ceil", "ceilf", "std::ceil")
_ROUNDED = (*_ROUNDED_UP, "floor", "floorf", "std::floor")
_OF_FLOATS = re.compile(r"\b(?:float|double)\b|\d\.|\df\b")
_AXES = ("x", "y", "z")
_NUMBER = re.compile(r"\d+$")
_OF_DEVICE = (
    (r"(?:.*\W)?multiProcessorCount|\w*num_?(?:sms?|multiprocessors)", "4"),
    (r"(?:.*\W)?maxThreadsPerMultiProcessor", "2048"),
    (r"(?:.*\W)?maxThreadsPerBlock", "1024"),
    (r"(?:.*\W)?warpSize", "32"),
)
"""Numbers of the device by what they are called, as a small one has them: grids that are made of them fit any size."""
_SUM = re.compile(r"\((.+) \+ (\d+)\)$")
_CEILING = re.compile(r"(?:i|int|u)?_?(?:ceil_?div|div_?(?:ceil|(?:round)?_?up)|cdiv)(?:_?up)?", re.IGNORECASE)
"""What functions of other files are called that divide and round up."""


def with_launches(file: File, kernel: str, beside: Sequence[str]) -> File:
    """The file with the functions of other texts that launch one of its kernels, and what their numbers are made of.

    Of a text that launches it not, such as a header, its numbers and types count; one that defines it launches its own.
    """
    others = (file_of(parse_apart(text)) for text in beside)
    parts = [part for other in others if other.kernel(kernel) is None for part in _launching(other, kernel, file)]
    return read_apart("\n".join((file.source.text, *parts))) if parts else file


def _launching(other: File, kernel: str, file: File) -> Iterator[str]:
    launching = {one.function.name: one.function for one in other.launches_of(kernel)}
    yield from (f"typedef {kind} {name};" for name, kind in other.aliases.items() if name not in file.aliases)
    for name, value in other.constants.items():
        if name not in file.constants:
            yield f"#define {name} {value}"
    if not launching:
        return
    yield from (one[0] for one in MACRO.finditer(other.source.text) if file.macros.function(one[1]) is None)
    for one in other.functions:
        text = other.source.content(one.outer)
        if one.name in launching or (one.is_host and len(text) < _HELPER and file.function(one.name) is None):
            yield text


def told(file: File, kernel: Function, launches: Sequence[Launch]) -> tuple[str, ...]:
    """The launches, each as `<<<grid, block>>>` in the kernel's parameters, where all that they are made of is known."""
    found = (_launch(file, kernel, one) for one in launches)
    return tuple(dict.fromkeys(one for one in found if one is not None))[:_MOST]


def _launch(file: File, kernel: Function, launch: Launch) -> str | None:
    pairs = zip(kernel.parameters, launch.arguments, strict=False)
    passed = {
        plain(file.source.content(node)): one.name
        for one, node in pairs
        if not one.is_pointer and WHOLE.match(file.aliases.get(one.base, one.base))
    }
    named = {name: one for name, one in passed.items() if not _NUMBER.match(name)}
    told = [one for one in launch_arguments(file, launch) if _NUMBER.match(one)]
    named_so = [one.name for one in launch.function.parameters if BLOCK.fullmatch(one.name)]
    threads = {name: told[0] if len(told) == 1 else str(threads_of(file, launch.function, name)) for name in named_so}
    spelled = _Spelled(file, launch.function, named, threads)
    grid, block = spelled.sizes(launch.grid), spelled.sizes(launch.block)
    if grid is None or block is None or math.prod(int(one) for one in block if _NUMBER.match(one)) > _MOST_THREADS:
        return None
    shared = spelled.of(launch.shared) if launch.shared is not None else "0"
    return f"<<<{_written(grid)}, {_written(block)}{_with_shared(file, kernel, shared)}>>>"


def threads_of(file: File, function: Function, name: str) -> int:
    """How many threads a parameter of a launching function may say: fewer where a block has it as its side."""
    own = (one for one in file.launches if one.function.node == function.node)
    blocks = (dimensions(file, one, one.block) for one in own if one.block is not None)
    words = (re.findall(r"\w+", " ".join(map(file.source.content, sizes))) for sizes in blocks)
    return _SIDE if any(one.count(name) > 1 for one in words) else _BLOCK_SIZE


def launch_arguments(file: File, launch: Launch) -> list[str]:
    """The template arguments of a launch as written."""
    callee = field(launch.node, "function")
    listed = field(callee, "arguments") if callee is not None and callee.type == "template_function" else None
    return (
        [file.source.content(one) for one in listed.named_children if one.type != "comment"]
        if listed is not None
        else []
    )


def _with_shared(file: File, kernel: Function, shared: str | None) -> str:
    """The bytes of shared memory behind a block; where nothing tells them and the launch sizes an array, many."""
    if shared is None or shared == "0":
        sized = any("" in sizes for sizes in Names(file, kernel).shared.values())
        shared = str(_SHARED) if sized else "0"
    return f", {_bare(shared)}" if shared != "0" else ""


def _written(sizes: Sequence[str]) -> str:
    """A grid or block, without the axes at its end that are 1."""
    used = max((place for place, size in enumerate(sizes) if size != "1"), default=0) + 1
    bare = [_bare(size) for size in sizes[:used]]
    return bare[0] if used == 1 else f"dim3({', '.join(bare)})"


def _bare(size: str) -> str:
    """Without the parentheses around all of it."""
    inner = size[1:-1]
    depths = itertools.accumulate((one == "(") - (one == ")") for one in inner)
    return inner if size.startswith("(") and all(depth >= 0 for depth in depths) else size


class _Spelled:
    """Expressions of a function as a workload line writes them.

    `passed`: the expressions that stand for a parameter of the kernel, by their text; `given`: what the function's own
    parameters stand for.
    """

    def __init__(self, file: File, function: Function, passed: Mapping[str, str], given: Mapping[str, str]) -> None:
        self._flow = Flow(file, function)
        self._numbers = Numbers(self._flow, {})
        self._passed = passed
        self._given = given

    def sizes(self, node: Node | None, depth: int = 0) -> tuple[str, ...] | None:
        """A grid or block; None where one of its sizes is not known."""
        if node is None or depth > _DEEPEST:
            return None
        node = self._flow.unwrapped(node)
        if node.type == "identifier" and (made := self._made(node)) is not None:
            return self.sizes(made, depth + 1)
        if node.type == "identifier" and (set_ := self._axes_set(node, depth)):
            return set_
        if node.type in ("call_expression", "compound_literal_expression") and self._content(node).startswith("dim3"):
            node = field(node, "arguments") or field(node, "value") or node
        if node.type in ("argument_list", "initializer_list", "parameter_list"):
            listed = [one for one in node.named_children if one.type != "comment"]
            found = [self.of(one, depth + 1) for one in listed]
            return tuple(one for one in found if one is not None) if found and None not in found else None
        whole = self.of(node, depth + 1)
        return None if whole is None else (whole,)

    def _made(self, node: Node) -> Node | None:
        """What a `dim3` is made of; None for any other variable, and for one that is changed."""
        variable = self._flow.variable(node)
        if variable is None or variable.is_parameter or "dim3" not in self._content(variable.declaration):
            return None
        if self._flow.writes(variable):
            return self._flow.value(variable)
        declared = variable.node.parent  # dim3 grid(m, n); reads as the declaration of a function
        return field(declared, "parameters") if declared is not None else None

    def _axes_set(self, node: Node, depth: int) -> tuple[str, ...] | None:
        """The sizes of a `dim3` whose axes are set one by one, as in `grid.x = n;`; None where one is set twice or unknown."""
        found = dict[str, str | None]()
        for one in of_type(self._flow.function.body, "assignment_expression"):
            left, right = field(one, "left"), field(one, "right")
            name, axis = field(left, "argument"), field(left, "field")
            if name is None or axis is None or right is None or self._content(name) != self._content(node):
                continue
            once = self._content(axis) not in found and one.children[1].type == "="
            found[self._content(axis)] = self.of(right, depth + 1) if once else None
        sizes = [found.get(axis, "1") for axis in _AXES]
        return tuple(one for one in sizes if one is not None) if found and None not in sizes else None

    def of(self, node: Node, depth: int = 0) -> str | None:
        """One size; None where it hangs on anything but numbers and what the kernel is given."""
        if depth > _DEEPEST:
            return None
        node = self._flow.unwrapped(node)
        name = plain(self._content(node))
        if name in self._passed:
            return self._passed[name]
        match node.type:
            case "identifier":
                return self._variable(node, depth)
            case "parameter_declaration" | "type_identifier":  # a size that reads as a type
                return self._named(node, name, depth)
            case "binary_expression":
                return self._binary(node, depth)
            case "conditional_expression":
                test = self._numbers.of(field(node, "condition"))
                taken = field(node, "alternative" if test == 0 else "consequence")
                return self.of(taken, depth + 1) if taken is not None else None
            case "field_expression":
                argument, axis = field(node, "argument"), name[-2:].lstrip(".")
                whole = self.sizes(argument, depth + 1) if axis in _AXES else None
                return (*whole, "1", "1")[_AXES.index(axis)] if whole is not None else _of_device(name)
            case "call_expression":
                return self._call(node, depth)
        return self._number(node)

    def _number(self, node: Node) -> str | None:
        found = self._numbers.of(node)
        return str(int(found)) if found is not None and found >= 0 else None

    def _variable(self, node: Node, depth: int) -> str | None:
        variable = self._flow.variable(node)
        if variable is None:
            return self._number(node) or _of_device(self._content(node))
        if variable.is_parameter:
            return self._given.get(variable.name)
        value = self._flow.value(variable)
        told = self.of(value, depth + 1) if value is not None else None
        return told or _of_device(variable.name)

    def _named(self, node: Node, name: str, depth: int) -> str | None:
        seen = [one for one in self._flow.variables.get(name, ()) if one.node.start_byte < node.start_byte]
        if seen:
            return self._variable(seen[-1].node, depth)
        found = self._numbers.named(name, node)
        return str(int(found)) if found is not None else None

    def _binary(self, node: Node, depth: int) -> str | None:
        left, right, sign = field(node, "left"), field(node, "right"), field(node, "operator")
        if left is None or right is None or sign is None or self._content(sign) not in _OPERATORS:
            return None
        one, other = self.of(left, depth + 1), self.of(right, depth + 1)
        if one is None or other is None:
            return None
        return _combined(one, self._content(sign), other)

    def _call(self, node: Node, depth: int) -> str | None:
        callee, arguments = field(node, "function"), field(node, "arguments")
        name = self._content(callee) if callee is not None else ""
        given = [one for one in arguments.named_children if one.type != "comment"] if arguments is not None else []
        if name in _ROUNDED and len(given) == 1:
            return self._rounded(name, self._flow.unwrapped(given[0]), depth)
        number = self._number(node)
        if number is not None:
            return number
        file = self._flow.file if self._flow.file.function(name) is not None else self._flow.file.macros
        function = file.function(name)
        values = [value for one in given if (value := self.of(one, depth + 1)) is not None]
        statements = function.body.named_children if function is not None else []
        if len(values) < len(given):
            return None
        if function is None and _CEILING.fullmatch(name) and len(values) == 2:
            return _divided_up(values[0], values[1])
        if function is None or len(values) != len(function.parameters) or len(statements) != 1:
            return None
        passed = {one.name: value for one, value in zip(function.parameters, values, strict=True)}
        returned = statements[0].named_children
        if statements[0].type != "return_statement" or not returned:
            return None
        return _Spelled(file, function, {}, passed).of(returned[0], depth + 1)

    def _rounded(self, name: str, node: Node, depth: int) -> str | None:
        """`ceil(n / 256.0f)` as `(n + 256 - 1) / 256`."""
        left, right, sign = field(node, "left"), field(node, "right"), field(node, "operator")
        if node.type != "binary_expression" or left is None or right is None or sign is None:
            return None
        one, other = self.of(left, depth + 1), self.of(right, depth + 1)
        if self._content(sign) != "/" or one is None or other is None:
            return None
        up = name in _ROUNDED_UP and _OF_FLOATS.search(self._content(node)) is not None
        return _divided_up(one, other) if up else f"({one} / {other})"

    def _content(self, node: Node) -> str:
        return self._flow.content(node)


def _of_device(name: str) -> str | None:
    return next((number for pattern, number in _OF_DEVICE if re.fullmatch(pattern, name, re.IGNORECASE)), None)


def _divided_up(one: str, other: str) -> str:
    return f"({_combined(_combined(one, '+', other), '-', '1')} / {other})"


def _combined(one: str, sign: str, other: str) -> str:
    """Two operands, with `n + 255` for `(n + 256) - 1`, and numbers worked out."""
    if _NUMBER.match(one) and _NUMBER.match(other) and (number := _OPERATORS[sign](int(one), int(other))) >= 0:
        return str(number)
    added = _SUM.match(one) if sign == "-" and _NUMBER.match(other) else None
    return f"({added[1]} + {int(added[2]) - int(other)})" if added is not None else f"({one} {sign} {other})"


def usual(file: File, kernel: Function, launches: Sequence[Launch], sizes: Sequence[str]) -> tuple[str, ...]:
    """Launches with a thread for each element, in as many axes as the kernel asks for.

    The blocks are those of its launches where their numbers are known, and otherwise usual ones.
    """
    asked = any(one.shared is not None and file.source.content(one.shared) != "0" for one in launches)
    body, shared = file.source.content(kernel.body), _with_shared(file, kernel, str(_SHARED) if asked else None)
    axes = [axis for axis in _AXES if f"threadIdx.{axis}" in body]
    known = tuple(dict.fromkeys(one for launch in launches if (one := _block(file, launch))))
    if len(axes) < 2 or len(sizes) < 2:
        blocks = [block for block, *rest in known if set(rest) <= {1}] or [_THREADS]
        whole = (*_covered(file, kernel), sizes[0])
        flat = tuple(f"<<<({one}+{block - 1})/{block}, {block}{shared}>>>" for one in whole for block in blocks)
        rows = (f"<<<{sizes[0]}, {blocks[0]}{shared}>>>",) if "blockIdx.x" in body and len(sizes) > 1 else ()
        return tuple(dict.fromkeys((*flat, *rows)))
    tiles = [(block[0], block[1]) for block in known if len(block) > 1] or [(16, 16)]
    return tuple(
        f"<<<dim3(({across}+{x - 1})/{x}, ({down}+{y - 1})/{y}), dim3({x}, {y}){shared}>>>"
        for x, y in tiles
        for across, down in ((sizes[1], sizes[0]), (sizes[0], sizes[1]))
    )


def passed_on(file: File, kernel: Function, launch: Launch, sizes: Sequence[str]) -> dict[str, str]:
    """What a function is given that is told the grid, the block or the shared memory of a launch: a thread for each element."""
    body = file.source.content(kernel.body)
    tile = (16, 16) if len(sizes) > 1 and "threadIdx.y" in body else (_THREADS,)
    blocks = [f"({size} + {side - 1})//{side}" for size, side in zip(sizes or (str(NO_SIZE),), tile, strict=False)]
    grid, block = (f"({', '.join([*axes, '1', '1'][:3])})" for axes in (blocks, [*map(str, tile)]))
    given = ((launch.grid, "dim3", grid), (launch.block, "dim3", block), (launch.shared, "", str(_SHARED)))
    named = {file.source.content(node): (kind, value) for node, kind, value in given if node is not None}
    told = ((one, *named[one.name]) for one in launch.function.parameters if one.name in named)
    return {one.name: value for one, kind, value in told if kind in ("", one.base)}


def _covered(file: File, kernel: Function) -> Iterator[str]:
    """What a guard holds the number of a thread in the whole grid below, in the kernel's parameters."""
    names, order = Names(file, kernel), [one.name for one in kernel.parameters]
    for name, (limit, _) in guards(names):
        value, most = names.values.get(name), names.polynomial(limit)
        number = names.polynomial(value) if value is not None else None
        if (
            number is not None
            and {"blockIdx.x", "threadIdx.x"} <= number.names
            and most.terms
            and most.names <= set(order)
        ):
            yield as_written(most, order)


def _block(file: File, launch: Launch) -> tuple[int, ...]:
    """The threads of a launch in each axis; () where they are not known."""
    if launch.block is None:
        return ()
    found = Numbers(Flow(file, launch.function), {}).dims(launch.block)
    return tuple(one for one in found if one is not None) if None not in found and 0 not in found else ()


def as_written(one: Polynomial, order: list[str]) -> str:
    """A polynomial as an expression of a line, its names in an order."""
    placed = [(tuple(sorted(names, key=order.index)), number) for names, number in one.terms]
    terms = sorted(placed, key=lambda term: (-len(term[0]), term[0]))
    parts = [
        "*".join((*([str(abs(number))] if abs(number) != 1 or not names else []), *names)) for names, number in terms
    ]
    signs = ["-" if number < 0 else "+" for _, number in terms]
    text = parts[0] if signs[0] == "+" else f"-{parts[0]}"
    return text + "".join(f" {sign} {part}" for sign, part in zip(signs[1:], parts[1:], strict=True))
