"""Triton kernels that handle one row a program, read as work on several: what differs by row, what by column."""

import ast
import functools
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Flag

from kernelwright.micro.rewrite.triton_source import Fragment
from kernelwright.micro.rewrite.triton_versions import in_order, spelled
from kernelwright.source.bindings import Binding, bindings_of, loop_of
from kernelwright.source.calls import argument, constexprs, dotted
from kernelwright.source.trees import walk
from kernelwright.source.triton.elementwise import is_elementwise, works_by_element
from kernelwright.source.triton.reader import Access, Reading, asks_for_program
from kernelwright.values import Refusal

REDUCTIONS = ("sum", "max", "min", "argmax", "argmin", "xor_sum")
SCANS = ("cumsum", "cumprod")
_SILENT = frozenset(("static_assert", "static_print", "constexpr", "assume"))
_HINTS = ("multiple_of", "max_contiguous")
_NUMBERS = ("float", "int", "min", "max", "range")
_RANGES = ("range", "static_range")
_STATEMENTS = (ast.Assign, ast.AnnAssign, ast.AugAssign, ast.Expr, ast.If, ast.For, ast.Pass)
_NO_SHAPE = ("dtype", "type", "element_ty")


class Kind(Flag):
    """Along what a value has different elements: each row of its own, each column, both or neither."""

    NONE = 0
    ROW = 1
    COLUMN = 2


class _Unreadable(Exception):
    """What is no work on single rows, and the line (from 1) where it stands."""


@dataclass(frozen=True, eq=False)
class Rows:
    """A kernel whose program 0-axis id counts rows, and whose lanes are the columns of one. `block`: how many lanes.

    Ranges of other lengths may stand beside them, such as for what is kept of each row: no value can have lanes of both.
    """

    kernel: Fragment  # with its names as `in_order` has them
    kinds: Mapping[str, Kind]
    ids: tuple[ast.Call, ...]
    lanes: tuple[ast.Call, ...]
    folds: tuple[ast.Call, ...]  # along the columns
    scans: tuple[ast.Call, ...]
    guarded: tuple[Access, ...]  # whose addresses differ by row
    starts: tuple[ast.expr, ...]  # the numbers that loops begin with where they carry one for each row
    shapes: tuple[tuple[ast.Tuple | ast.List, bool], ...]  # of blocks of one number, and whether each row has its own
    block: ast.expr


def rows_of(kernel: Fragment, number: Callable[[ast.expr], int | None]) -> Rows | Refusal:
    """The kernel as work on rows, or why it is none. `number`: what an expression comes to, as far as that is known."""
    try:
        return _Reader(in_order(kernel)).rows(number)
    except _Unreadable as found:
        words, line = found.args
        return Refusal(words, line=line - 1)


@dataclass(frozen=True, eq=False)
class _Reader:
    kernel: Fragment
    starts: list[ast.expr] = field(default_factory=list)

    @property
    def reading(self) -> Reading:
        return self.kernel.reading

    def rows(self, number: Callable[[ast.expr], int | None]) -> Rows:
        function = self.kernel.function
        reading = self.reading
        for lanes in reading.lanes:
            if isinstance(lanes.end, ast.Name) and lanes.end.id in reading.steps:
                words = f"A loop walks rows in steps of {lanes.end.id}: only rows that one block covers can go side by side."
                raise _Unreadable(words, lanes.call.lineno)
        last = function.body[-1]
        ends_there = isinstance(last, ast.Return) and last.value is None
        for statement in function.body[:-1] if ends_there else function.body:
            self._look(statement)
        calls = (node for node in reading.nodes if isinstance(node, ast.Call))
        ids = tuple(call for call in calls if asks_for_program(call) and _is(argument(call, 0, "axis"), 0))
        if not ids:
            raise _Unreadable("The kernel does not ask for its program id along axis 0.", function.lineno)
        ends = [one.end for one in reading.lanes if one.end is not None]
        if not ends or not all(_is(one.start, 0) for one in reading.lanes):
            raise _Unreadable(
                "The kernel has no range of lanes from 0 on, which would be the columns of a row.", function.lineno
            )
        block = max(ends, key=lambda end: number(end) or 0)
        if isinstance(block, ast.Name) and block.id in reading.shares:
            words = f"Programs take {block.id} elements each of something longer than a row."
            raise _Unreadable(words, function.lineno)
        kinds = self._kinds
        guarded = tuple(one for one in reading.accesses if self._is_guarded(one))
        if not any(one.kind == "store" for one in guarded):
            raise _Unreadable("The kernel stores nothing at an address that differs by row.", function.lineno)
        folds = tuple(call for name, call in reading.calls if name in REDUCTIONS)
        scans = tuple(call for name, call in reading.calls if name in SCANS)
        calls_of_lanes = tuple(one.call for one in reading.lanes)
        return Rows(
            self.kernel, kinds, ids, calls_of_lanes, folds, scans, guarded, tuple(self.starts), self._shapes, block
        )

    @functools.cached_property
    def _kinds(self) -> Mapping[str, Kind]:
        """The kind of each name: that of all values it is given together."""
        found: dict[str, Kind] = {}
        known = constexprs(self.kernel.function)
        changed = True
        while changed:
            changed = False
            for one in bindings_of(self.kernel.function):
                before = found.get(one.name, Kind.NONE)
                if one.name not in known and (kind := before | self._kind(one.value, found)) != before:
                    found[one.name] = kind
                    changed = True
        return found

    def _look(self, statement: ast.stmt) -> None:
        """Raises for a statement that does not act on each row by itself."""
        if isinstance(statement, ast.While):
            raise _Unreadable("How often a loop turns may differ by row.", statement.lineno)
        if not isinstance(statement, _STATEMENTS):
            raise _Unreadable("The program may end or branch off before its row is done.", statement.lineno)
        if isinstance(statement, ast.If):
            if self._kind(statement.test, self._kinds):
                raise _Unreadable("Which branch is taken differs by row or column.", statement.lineno)
            for inner in (*statement.body, *statement.orelse):
                self._look(inner)
        elif isinstance(statement, ast.For):
            self._look_at_loop(statement)
        elif isinstance(statement, ast.Assign):
            if not all(isinstance(target, ast.Name | ast.Tuple) for target in statement.targets):
                raise _Unreadable("Something other than a name is assigned to.", statement.lineno)
            self._kind(statement.value, self._kinds)
        elif isinstance(statement, ast.Expr | ast.AugAssign | ast.AnnAssign) and statement.value is not None:
            self._kind(statement.value, self._kinds)

    def _look_at_loop(self, loop: ast.For) -> None:
        """Raises where its turns, or the shape of what it carries from turn to turn, are not those of all rows."""
        if not isinstance(loop.target, ast.Name) or loop_of(loop).range is None or loop.orelse:
            raise _Unreadable(
                f"What the loop over {_short(loop.iter)} does for several rows cannot be told.", loop.lineno
            )
        self._kind(loop.iter, self._kinds)  # raises where the turns differ by row
        for inner in loop.body:
            self._look(inner)
        if self.reading.tl(loop.iter) == "static_range":
            return  # written out turn by turn
        within = {id(node) for node in walk(loop)}
        of_names: dict[str, list[Binding]] = {}
        for one in bindings_of(self.kernel.function):
            of_names.setdefault(one.name, []).append(one)
        for name, given in of_names.items():
            kind = self._kinds.get(name, Kind.NONE)
            carried = {id(one.node) in within for one in given} == {True, False}
            other = [one for one in given if self._kind(one.value, self._kinds) != kind and not self._block(one.value)]
            numbers = [one.value for one in other if id(one.node) not in within and isinstance(one.node, ast.Assign)]
            if carried and kind == Kind.ROW and len(numbers) == len(other) and all(map(kind_of, numbers)):
                self.starts.extend(number for number in numbers if number not in self.starts)
            elif carried and other:
                raise _Unreadable(
                    f"{spelled(name)} has no element for each row or column before the loop.", loop.lineno
                )

    def _is_guarded(self, access: Access) -> bool:
        pointer = self._kind(access.pointer, self._kinds)
        mask = self._kind(access.mask, self._kinds) if access.mask is not None else Kind.NONE
        line = access.call.lineno
        if (mask & Kind.ROW and not pointer & Kind.ROW) or (mask & Kind.COLUMN and not pointer & Kind.COLUMN):
            raise _Unreadable("A mask has more elements than the address that it guards.", line)
        if access.kind == "store":
            value = argument(access.call, 1, "value")
            stored = self._kind(value, self._kinds) if value is not None else Kind.NONE
            if not pointer & Kind.ROW:
                raise _Unreadable("Every row is stored at the same address.", line)
            if stored & ~pointer:
                raise _Unreadable("More elements are stored than there are addresses.", line)
        return bool(pointer & Kind.ROW)

    def _kind(self, node: ast.expr, names: Mapping[str, Kind]) -> Kind:
        """Raises for what has a meaning of its own in two dimensions."""
        match node:
            case ast.Constant():
                return Kind.NONE
            case ast.Name(id=id):
                return names.get(id, Kind.NONE)
            case ast.Attribute(value=value, attr=attr):
                if attr in _NO_SHAPE or self.reading.canonical(node) or not self._kind(value, names):
                    return Kind.NONE
            case ast.BinOp(left=left, right=right) if not isinstance(node.op, ast.MatMult):
                return self._kind(left, names) | self._kind(right, names)
            case ast.UnaryOp(op=op, operand=operand):
                kind = self._kind(operand, names)
                if not (isinstance(op, ast.Not) and kind):
                    return kind
            case ast.Compare(left=left, comparators=[right]):
                return self._kind(left, names) | self._kind(right, names)
            case ast.BoolOp(values=values):
                if not self._joined(values, names):
                    return Kind.NONE
            case ast.IfExp(test=test, body=one, orelse=other):
                if not self._kind(test, names):
                    return self._joined((one, other), names)
            case ast.Tuple(elts=parts):
                return self._joined(parts, names)
            case ast.Call():
                return self._called(node, names)
        raise _Unreadable(f"What {_short(node)} is for several rows cannot be told.", node.lineno)

    def _joined(self, nodes: Sequence[ast.expr], names: Mapping[str, Kind]) -> Kind:
        return functools.reduce(lambda kind, one: kind | self._kind(one, names), nodes, Kind.NONE)

    def _called(self, call: ast.Call, names: Mapping[str, Kind]) -> Kind:
        name, canonical = self.reading.tl(call), self.reading.canonical(call)
        given = [*call.args, *(keyword.value for keyword in call.keywords)]
        if any(isinstance(arg, ast.Starred) for arg in given):
            raise _Unreadable(f"What {_short(call)} is given cannot be told.", call.lineno)
        match call.func:
            case ast.Attribute(value=value, attr="to") if not canonical:
                return self._kind(value, names)
        if asks_for_program(call) and isinstance(axis := argument(call, 0, "axis"), ast.Constant):
            return Kind.ROW if _is(axis, 0) else Kind.NONE
        if dotted(call.func).rpartition(".")[2] == "num_programs":
            if not isinstance(axis := argument(call, 0, "axis"), ast.Constant) or _is(axis, 0):
                raise _Unreadable(f"Programs may take turns at the rows: {_short(call)} is asked for.", call.lineno)
            return Kind.NONE
        if name == "arange":
            return Kind.COLUMN
        if self._block(call) is not None and (name == "zeros" or not self._joined(call.args[1:], names)):
            return Kind.COLUMN
        if name in REDUCTIONS or name in SCANS:
            return self._folded(call, name, names)
        kind = self._joined(given, names)
        if name == "load":
            pointer = argument(call, 0, "pointer")
            return self._kind(pointer, names) if pointer is not None else kind
        if name == "store":
            return Kind.NONE
        if is_elementwise(canonical) or name in (*_SILENT, "zeros_like") or works_by_element(self.reading, call):
            return kind
        if not kind and (
            name in _HINTS or name in _RANGES or (isinstance(call.func, ast.Name) and call.func.id in _NUMBERS)
        ):
            return Kind.NONE
        raise _Unreadable(f"What {_short(call)} is for several rows cannot be told.", call.lineno)

    def _block(self, value: ast.expr) -> ast.Tuple | ast.List | None:
        """The shape of a block of one number that has a lane for each column; None for anything else."""
        if self.reading.tl(value) not in ("zeros", "full") or not isinstance(value, ast.Call):
            return None
        shape = argument(value, 0, "shape")
        if not isinstance(shape, ast.Tuple | ast.List) or len(shape.elts) != 1:
            return None
        ends = (ast.dump(one.end) for one in self.reading.lanes if one.end is not None)
        return shape if ast.dump(shape.elts[0]) in ends else None

    @functools.cached_property
    def _shapes(self) -> tuple[tuple[ast.Tuple | ast.List, bool], ...]:
        """Of blocks of one number; each row has its own in a name that has elements for each row."""
        wide = {
            one.value for one in bindings_of(self.kernel.function) if self._kinds.get(one.name, Kind.NONE) & Kind.ROW
        }
        found = ((self._block(call), call in wide) for _, call in self.reading.calls)
        return tuple((shape, its) for shape, its in found if shape is not None)

    def _folded(self, call: ast.Call, name: str, names: Mapping[str, Kind]) -> Kind:
        value = call.args[0] if call.args else None
        axis = argument(call, 1, "axis")
        plain = axis is None or _is(axis, 0) or _is(axis, -1)
        silent = all(keyword.arg in ("axis", "dtype", "tie_break_left", "reverse") for keyword in call.keywords)
        if value is None or not plain or not silent or len(call.args) > 2:
            raise _Unreadable(f"What {_short(call)} is for several rows cannot be told.", call.lineno)
        kind = self._kind(value, names)
        if not kind & Kind.COLUMN and not self._is_settling(names):
            raise _Unreadable(f"{_short(call)} folds something that has no columns.", call.lineno)
        return Kind.ROW if name in REDUCTIONS else kind

    def _is_settling(self, names: Mapping[str, Kind]) -> bool:
        """Whether the kinds of names are still being found."""
        return "_kinds" not in self.__dict__


def kind_of(number: ast.expr) -> str:
    """The type that Triton gives to a number which is written out; empty for anything else."""
    match number:
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return kind_of(operand)
        case ast.Constant(value=float()) | ast.Call(func=ast.Name(id="float"), args=[ast.Constant()]):
            return "float32"
        case ast.Constant(value=int() as value) if not isinstance(value, bool) and value < 1 << 31:
            return "int32"
    return ""


def _is(node: ast.expr | None, value: int) -> bool:
    match node:
        case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=number)):
            return type(number) is int and -number == value
        case ast.Constant(value=number):
            return type(number) is int and number == value
    return node is None and value == 0


def _short(node: ast.AST) -> str:
    text = re.sub(r"(?<=\w)'\d+", "", ast.unparse(node))
    return text if len(text) <= 40 else f"{text[:37]}..."
