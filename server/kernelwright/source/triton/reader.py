"""What a Triton function does, read once from its tree: its calls, accesses, ranges of lanes, loops, and where each stands."""

import ast
import functools
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from kernelwright.source.bindings import Loop, bindings_of, loop_of, nodes_of
from kernelwright.source.calls import argument, dotted
from kernelwright.source.imports import Aliases
from kernelwright.source.trees import walk

TL = "triton.language."
CDIV = (TL + "cdiv", "triton.cdiv")
_METHODS = {
    "load": "load", "store": "store", "atomic_add": "atomic_add", "gather": "load", "scatter": "store",
}  # fmt: skip
_BLOCK_SHAPES = {"make_block_ptr": 4, "make_tensor_descriptor": 3}  # where they take the shape of a block


@dataclass(frozen=True)
class Access:
    """One load, store or atomic ("load", "store", "atomic_add", …); also as a method of what it accesses: `of_object`."""

    kind: str
    call: ast.Call
    pointer: ast.expr
    mask: ast.expr | None = None
    other: ast.expr | None = None
    of_object: bool = False


@dataclass(frozen=True)
class Lanes:
    """A `tl.arange(start, end)`."""

    call: ast.Call
    start: ast.expr | None
    end: ast.expr | None


@dataclass(frozen=True, eq=False)
class Reading:
    """A Triton function. All that it holds is in order of the text, without functions inside it."""

    function: ast.FunctionDef
    aliases: Aliases
    text: str = field(default="", kw_only=True)  # the file, with the functions that it may call

    @functools.cached_property
    def nodes(self) -> tuple[ast.AST, ...]:
        return nodes_of(self.function)

    @functools.cached_property
    def calls(self) -> tuple[tuple[str, ast.Call], ...]:
        """Every call of triton.language, by its short name."""
        return tuple((name, node) for node in self.nodes if isinstance(node, ast.Call) and (name := self.tl(node)))

    @functools.cached_property
    def accesses(self) -> tuple[Access, ...]:
        found = (self._access(node) for node in self.nodes if isinstance(node, ast.Call))
        return tuple(access for access in found if access is not None)

    @functools.cached_property
    def loads_and_stores(self) -> tuple[Access, ...]:
        """Those of the accesses that go through a pointer."""
        return tuple(one for one in self.accesses if one.kind in ("load", "store") and not one.of_object)

    @functools.cached_property
    def lanes(self) -> tuple[Lanes, ...]:
        ranges = (call for name, call in self.calls if name == "arange")
        return tuple(Lanes(call, argument(call, 0, "start"), argument(call, 1, "end")) for call in ranges)

    @functools.cached_property
    def loops(self) -> tuple[Loop, ...]:
        return tuple(loop_of(node) for node in self.nodes if isinstance(node, ast.For))

    @functools.cached_property
    def block_sizes(self) -> frozenset[str]:
        """The names that are the end of a `tl.arange`, or a side of the block of a pointer or descriptor."""
        shapes = [
            argument(call, _BLOCK_SHAPES[name], "block_shape") for name, call in self.calls if name in _BLOCK_SHAPES
        ]
        sides = [side for shape in shapes if isinstance(shape, ast.Tuple | ast.List) for side in shape.elts]
        return frozenset(size.id for size in (*(one.end for one in self.lanes), *sides) if isinstance(size, ast.Name))

    @functools.cached_property
    def steps(self) -> frozenset[str]:
        """The names that a loop advances by: the step of a range, or what the count of blocks that bounds one is divided by."""
        bounds = [bound for loop in self.loops if isinstance(loop.node.iter, ast.Call) for bound in loop.node.iter.args]
        names = {bound.id for bound in bounds if isinstance(bound, ast.Name)}
        bounds += [one.value for one in bindings_of(self.function) if one.name in names]
        divisors = [part for bound in bounds if (block := block_counted(bound, self.aliases)) for part in walk(block)]
        steps = (loop.step for loop in self.loops)
        return frozenset(part.id for part in (*steps, *divisors) if isinstance(part, ast.Name))

    @functools.cached_property
    def shares(self) -> frozenset[str]:
        """The names that a number computed from program ids is multiplied by: how much each program takes."""
        ids: set[str] = set()
        while more := {one.name for one in bindings_of(self.function) if self._from_ids(one.value, ids)} - ids:
            ids |= more
        products = (node for node in self.nodes if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult))
        sides = (pair for node in products for pair in ((node.left, node.right), (node.right, node.left)))
        return frozenset(other.id for side, other in sides if isinstance(other, ast.Name) and self._from_ids(side, ids))

    @functools.cached_property
    def axes(self) -> Mapping[str, frozenset[int]]:
        """For each name that a program id is multiplied by, the axes of the grid that such ids count along."""
        found: dict[str, frozenset[int]] = {}
        given = bindings_of(self.function)
        once = {name for name, times in Counter(one.name for one in given).items() if times == 1}
        ids = {one.name: one.value for one in given if one.name in once and asks_for_program(_uncast(one.value))}
        for product in (node for node in self.nodes if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult)):
            for side, other in ((product.left, product.right), (product.right, product.left)):
                number = _uncast(ids.get(side.id, side) if isinstance(side, ast.Name) else side)
                if isinstance(other, ast.Name) and isinstance(number, ast.Call) and asks_for_program(number):
                    axis = argument(number, 0, "axis")
                    if isinstance(axis, ast.Constant) and isinstance(axis.value, int):
                        found[other.id] = found.get(other.id, frozenset()) | {axis.value}
        return found

    def _from_ids(self, node: ast.expr, ids: set[str]) -> bool:
        """Whether a program id or one of the names `ids` takes part in it, and neither lanes nor memory."""
        parts = walk(node)
        if any(self.tl(part) in ("arange", "load") for part in parts):
            return False
        named = any(isinstance(part, ast.Name) and part.id in ids for part in parts)
        return named or any(map(asks_for_program, parts))

    @functools.cached_property
    def autotuner(self) -> ast.Call | None:
        """The decorator that chooses among configurations: Triton's, or another that takes them and a key."""
        for name, node in decorators(self.function, self.aliases):
            if isinstance(node, ast.Call):
                named = {keyword.arg for keyword in node.keywords}
                if name == "triton.autotune" or {"configs", "key"} <= named:
                    return node
        return None

    @property
    def is_autotuned(self) -> bool:
        return self.autotuner is not None

    def canonical(self, node: ast.AST) -> str:
        return canonical(node, self.aliases)

    def tl(self, node: ast.AST) -> str:
        return tl(node, self.aliases)

    def _access(self, call: ast.Call) -> Access | None:
        name = self.canonical(call)
        if name.startswith(TL):
            kind = name.removeprefix(TL)
            pointer = argument(call, 0, "pointer")
            if pointer is None or not (kind in ("load", "store") or kind.startswith("atomic_")):
                return None
            mask = argument(call, 1 if kind == "load" else 2, "mask")
            return Access(kind, call, pointer, mask, argument(call, 2, "other") if kind == "load" else None)
        if isinstance(call.func, ast.Attribute) and call.func.attr in _METHODS:
            return Access(_METHODS[call.func.attr], call, call.func.value, of_object=True)
        return None


def _uncast(node: ast.expr) -> ast.expr:
    """What stands before `.to(…)`."""
    match node:
        case ast.Call(func=ast.Attribute(value=value, attr="to")):
            return _uncast(value)
    return node


def block_counted(count: ast.expr, aliases: Aliases) -> ast.expr | None:
    """The size of the blocks that `cdiv(n, BLOCK)` or `(n + BLOCK - 1) // BLOCK` counts; None for any other number."""
    match _uncast(count):
        case ast.Call(args=[_, block]) as call if canonical(call, aliases) in CDIV:
            return block
        case ast.BinOp(left=above, op=ast.FloorDiv(), right=ast.Name() as block) if _rounds_up(above, block.id):
            return block
    return None


def _rounds_up(above: ast.expr, block: str) -> bool:
    """Whether it is `n + BLOCK - 1`, which may be what a `where` chooses."""
    if isinstance(above, ast.Call):
        return any(_rounds_up(arg, block) for arg in above.args)
    parts = list(_summands(above))
    added = any(isinstance(part, ast.Name) and part.id == block and not less for part, less in parts)
    return added and any(isinstance(part, ast.Constant) and part.value == 1 and less for part, less in parts)


def _summands(node: ast.expr, less: bool = False) -> Iterator[tuple[ast.expr, bool]]:
    """The parts of a sum, and whether each is subtracted."""
    match node:
        case ast.BinOp(left=left, op=ast.Add() | ast.Sub() as op, right=right):
            yield from _summands(left, less)
            yield from _summands(right, less != isinstance(op, ast.Sub))
        case _:
            yield node, less


def canonical(node: ast.AST, aliases: Aliases) -> str:
    """The canonical dotted name of a name, attribute or call ("triton.language.load"), "" when it has none."""
    name = dotted(node.func if isinstance(node, ast.Call) else node)
    return (aliases.canonical(name) or "") if name else ""


def tl(node: ast.AST, aliases: Aliases) -> str:
    """ "load" for a call of tl.load, "" for anything that is not called from triton.language."""
    if not isinstance(node, ast.Call):
        return ""
    name = canonical(node, aliases)
    return name.removeprefix(TL) if name.startswith(TL) else ""


def decorators(function: ast.FunctionDef, aliases: Aliases) -> Iterator[tuple[str, ast.expr]]:
    """The decorators by their canonical names, whether they are called or not."""
    return ((canonical(node, aliases), node) for node in function.decorator_list)


def asks_for_program(node: ast.AST) -> bool:
    """Whether it is a call for a program id, of Triton's function or of one that a library puts around it."""
    return isinstance(node, ast.Call) and dotted(node.func).rpartition(".")[2] == "program_id"


def is_launch(node: ast.AST, kernel: str) -> bool:
    """Whether it is `kernel[grid](…)`."""
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Subscript) and launched_name(node.func) == kernel


def launched_name(launcher: ast.Subscript) -> str:
    """The last name of what a grid is given to: `module.kernel[grid]`, or `wrap_triton(kernel)[grid]` with any function."""
    match launcher.value:
        case ast.Call(args=[kernel, *_]):
            return dotted(kernel).rpartition(".")[2]
    return dotted(launcher.value).rpartition(".")[2]


def is_absent(node: ast.expr | None) -> bool:
    """Whether an argument is not given, or is None."""
    return node is None or (isinstance(node, ast.Constant) and node.value is None)
