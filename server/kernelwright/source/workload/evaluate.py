"""A workload line as a value: a small evaluator over a whitelist of syntax, never `eval`."""

import ast
import contextlib
import functools
import math
import operator
import re
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from keyword import kwlist
from typing import Any

from kernelwright.source.cpp.instances import plain
from kernelwright.source.workload.generators import DTYPES, GENERATORS, Budget, GeneratorError, generate
from kernelwright.values import Call, DType, Made, Namespace, TensorSpec

_MAX_LENGTH = 4096
_MAX_DEPTH = 40
_MAX_INTEGER = 2**63 - 1
_MAX_EXPONENT = 1024
_MAX_GRID = 3  # dimensions
STRUCTURE = "struct"
NAMESPACE = "SimpleNamespace"  # the only class of Python's own library
_CLASS = re.compile(r"_?[A-Z]")  # how the names of classes begin
_KEYWORD = re.compile(rf"\b(?:{'|'.join(word for word in kwlist if word.islower())})(?=\s*=(?!=))")
_WIDE_A = 0xFF41  # the fullwidth letter that NFKC makes an "a" of
_LAUNCH = re.compile(r"^(\s*\w+\s*)(?:<([^<>()]*)>\s*)?<<<(.*?)>>>(?=\s*\()", re.DOTALL)

_CONSTANTS = {"true": True, "false": False, "nullptr": None, "NULL": None, "inf": math.inf, "nan": math.nan}
_C_SUFFIX = re.compile(r"(?<![\w.])((?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?)(?:[fF]|[uUlL]{1,3})(?![\w.])")
_STRING = re.compile(r"\"(?:\\.|[^\"\\])*\"|'(?:\\.|[^'\\])*'")

_BINARY: Mapping[type[ast.operator], Callable[[Any, Any], object]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.Pow: operator.pow,
    ast.LShift: operator.lshift,
    ast.RShift: operator.rshift,
}
_UNARY: Mapping[type[ast.unaryop], Callable[[Any], object]] = {ast.USub: operator.neg, ast.UAdd: operator.pos}


class WorkloadError(ValueError):
    """What is wrong with a workload line: one sentence, and the code points of the line's call that it is about."""

    def __init__(self, message: str, column: int = 0, end_column: int | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.column = column
        self.end_column = end_column if end_column is not None else column + 1


@functools.lru_cache(maxsize=2048)
def evaluate(text: str) -> Call:
    """The call that a workload line describes.

    `softmax(randn(8192, 1024))`, `RMSNorm(1024)(randn(8, 1024))`, `Softmax.apply(randn(8192, 1024))` and, for a Triton
    kernel that nothing in the file launches, `add_kernel[(8,)](randn(1024), out(1024), 1024, BLOCK=128)`; for one of CUDA
    `saxpy<<<(n + 255) / 256, 256>>>(n=1 << 20, a=2.0, x=randn(n), y=inout(randn(n)))`. Keyword arguments may be used as names
    in any other argument, in any order, and in the launch. Raises WorkloadError.
    """
    outer = _parse(text)
    func = outer.func
    inner = func if isinstance(func, ast.Call) else None
    grid = func.slice if isinstance(func, ast.Subscript) else None
    applied = isinstance(func, ast.Attribute) and func.attr == "apply"
    match func:
        case ast.Call(func=target) if not isinstance(target, ast.Name):
            raise _error(text, target, "A workload line calls a function, or a module class and then the module.")
        case ast.Call(func=target) | ast.Subscript(value=target) | ast.Attribute(value=target, attr="apply"):
            pass
        case target:
            pass
    if not isinstance(target, ast.Name):
        raise _error(text, target, "A workload line must begin with the name of a function or class of this file.")
    if target.id in GENERATORS or target.id in ("out", "inout", STRUCTURE):
        raise _error(text, target, f"{target.id} makes an argument; name the function to call around it.")
    named = {k.arg: k.value for part in (inner, outer) if part for k in part.keywords if k.arg}
    scope = _Scope(text, _fields(outer) | named)
    with scope.constructing():
        init = _arguments(scope, inner) if inner else None
    args, kwargs = _arguments(scope, outer)
    made = Call(target.id, args, kwargs, init[0] if init else None, init[1] if init else None, applied=applied)
    if grid is None:
        return made
    if (launch := _LAUNCH.match(text)) is not None:
        return replace(made, template=plain(launch[2] or ""), **scope.launch(grid))
    return replace(made, grid=scope.grid(grid))


def split_at_launch(text: str) -> tuple[str, str]:
    """The line up to the end of its `<<<…>>>`, where it has one, and the rest of it."""
    match = _LAUNCH.match(text) if "<<<" in text else None
    end = match.end() if match is not None else 0
    return text[:end], text[end:]


def _parse(text: str) -> ast.Call:
    if len(text) > _MAX_LENGTH:
        raise WorkloadError(f"A workload line may have {_MAX_LENGTH} characters at most.", 0, len(text))
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", SyntaxWarning)
            tree = ast.parse(_python_literals(text), mode="eval")
    except SyntaxError as error:
        column = min(max((error.offset or 1) - 1, 0), max(len(text) - 1, 0))
        raise WorkloadError(f"This does not read as a call: {error.msg}.", column, column + 1) from error
    except (ValueError, RecursionError, MemoryError, OverflowError) as error:
        raise WorkloadError("This does not read as a call.", 0, len(text)) from error
    if not isinstance(tree.body, ast.Call):
        message = "A workload line must read as a call, like softmax(randn(8192, 1024))."
        raise WorkloadError(message, 0, max(len(text), 1))
    return tree.body


def _python_literals(text: str) -> str:
    """`2.0f` and `16u` with the suffix blanked, and a launch in brackets, so that columns stay.

    A parameter may be called what Python keeps for itself, as in `f(in=randn(8))`: its first letter becomes a wide one, which
    Python takes for the same name. String literals are left alone.
    """
    text = _LAUNCH.sub(lambda m: f"{m[1]}{' ' * (m.start(3) - m.end(1) - 3)}[  {m[3]}  ]", text)

    def blank(part: str) -> str:
        part = _KEYWORD.sub(lambda m: chr(ord(m.group()[0]) - ord("a") + _WIDE_A) + m.group()[1:], part)
        return _C_SUFFIX.sub(lambda m: m.group(1).ljust(len(m.group())), part)

    strings = _STRING.findall(text)
    between = _STRING.split(text)
    pieces = [blank(between[0])]
    for string, rest in zip(strings, between[1:], strict=True):
        pieces += (string, blank(rest))
    return "".join(pieces)


def _arguments(scope: "_Scope", call: ast.Call) -> tuple[tuple[object, ...], dict[str, object]]:
    args = tuple(scope.value(argument, 0) for argument in call.args)
    kwargs: dict[str, object] = {}
    for keyword in call.keywords:
        if keyword.arg is None:
            raise _error(scope.text, keyword.value, "** cannot be used in a workload line.")
        kwargs[keyword.arg] = scope.named(keyword.arg, keyword.value, 0)
    return args, kwargs


def _fields(call: ast.Call) -> dict[str, ast.expr]:
    """The fields of all structures in a call, by those names that one of them has."""
    inner = (node for node in ast.walk(call) if node is not call and isinstance(node, ast.Call) and _is_structure(node))
    found = [(one.arg, one.value) for node in inner for one in node.keywords if one.arg]
    count = Counter(name for name, _ in found)
    return {name: value for name, value in found if count[name] == 1}


def _is_structure(node: ast.Call) -> bool:
    return isinstance(node.func, ast.Name) and node.func.id == STRUCTURE


class _Scope:
    """The names of one line: keyword arguments and fields, each evaluated when first needed."""

    def __init__(self, text: str, keywords: Mapping[str, ast.expr]) -> None:
        self.text = text
        self._keywords = keywords
        self._values: dict[int, object] = {}  # by the expressions that the names stand for
        self._open: set[int] = set()
        self._budget = Budget()
        self._of_c = False  # whether whole numbers are divided as in C
        self._constructing = False  # whether what is read are a constructor's arguments

    @contextlib.contextmanager
    def constructing(self) -> Iterator[None]:
        """Take what is evaluated within for arguments of a constructor, which other classes may make."""
        self._constructing = True
        yield
        self._constructing = False

    def named(self, name: str, node: ast.AST, depth: int) -> object:
        given = self._keywords[name]
        if id(given) in self._values:
            return self._values[id(given)]
        if id(given) in self._open:
            raise _error(self.text, node, f"{name} is defined by itself.")
        self._open.add(id(given))
        self._values[id(given)] = value = self.value(given, depth + 1)
        self._open.discard(id(given))
        return value

    def grid(self, node: ast.expr) -> tuple[int, ...]:
        """The programs of a launch in each dimension."""
        found = self.value(node, 0)
        given = found if isinstance(found, tuple) else (found,)
        blocks = tuple(size for size in given if isinstance(size, int) and not isinstance(size, bool) and size >= 0)
        if not 0 < len(blocks) == len(given) <= _MAX_GRID:
            raise _error(self.text, node, "A grid is one to three whole numbers, as in kernel[(128, 1)](…).")
        return blocks

    def launch(self, node: ast.expr) -> dict[str, Any]:
        """Grid, block and shared memory of a launch of CUDA; its stream is the caller's."""
        given = node.elts if isinstance(node, ast.Tuple) else [node]
        if not 2 <= len(given) <= 4:
            raise _error(self.text, node, "A launch has a grid and a block, as in kernel<<<128, 256>>>(…).")
        self._of_c = True
        sizes = [self._sizes(one, name) for one, name in zip(given, ("grid", "block"), strict=False)]
        shared = self.value(given[2], 0) if len(given) > 2 else 0
        self._of_c = False
        if not isinstance(shared, int) or isinstance(shared, bool) or shared < 0:
            raise _error(self.text, given[2], "The shared memory of a launch is a whole number of bytes.")
        return {"grid": sizes[0], "block": sizes[1], "shared": shared}

    def _sizes(self, node: ast.expr, name: str) -> tuple[int, ...]:
        is_dim3 = isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "dim3"
        parts = node.args if isinstance(node, ast.Call) and is_dim3 else [node]
        values = [self.value(part, 0) for part in parts]
        given = values[0] if len(values) == 1 and isinstance(values[0], tuple) else tuple(values)
        sizes = tuple(size for size in given if isinstance(size, int) and not isinstance(size, bool) and size >= 0)
        if not 0 < len(sizes) == len(given) <= _MAX_GRID:
            raise _error(self.text, node, f"A {name} is one to three whole numbers: 128, dim3(16, 16) or (16, 16).")
        return sizes

    def value(self, node: ast.AST, depth: int) -> object:
        if depth > _MAX_DEPTH:
            raise _error(self.text, node, "This is nested too deeply for a workload line.")
        match node:
            case ast.Constant(value=value) if value is None or isinstance(value, bool | int | float | str):
                return self._bounded(node, value)
            case ast.Name(id=name):
                return self._name(node, name, depth)
            case ast.Tuple(elts=items) | ast.List(elts=items):
                values = [self.value(item, depth + 1) for item in items]
                return values if isinstance(node, ast.List) else tuple(values)
            case ast.UnaryOp(op=op, operand=operand) if type(op) in _UNARY:
                return _UNARY[type(op)](self._number(operand, depth))
            case ast.BinOp(left=left, op=op, right=right) if type(op) in _BINARY:
                return self._binary(node, op, self._number(left, depth), self._number(right, depth))
            case ast.Call() if _is_structure(node):
                return self._structure(node, depth)
            case ast.Call():
                return self._call(node, depth)
            case ast.Attribute(value=ast.Name(id="torch"), attr=attribute) if attribute in DTYPES:
                return DType(DTYPES[attribute])
        raise _error(self.text, node, f"{_described(node)} cannot be used in a workload line.")

    def _name(self, node: ast.Name, name: str, depth: int) -> object:
        if name in self._keywords:
            value = self.named(name, node, depth)
            if isinstance(value, TensorSpec | DType | Made | Namespace | tuple | list | dict):
                raise _error(self.text, node, f"{name} is not a number, so it cannot be used in another argument.")
            return value
        if name in _CONSTANTS:
            return _CONSTANTS[name]
        if name in DTYPES:
            return DType(DTYPES[name])
        if name in GENERATORS:
            raise _error(self.text, node, f"{name} needs its sizes: {name}(1024).")
        raise _error(self.text, node, f"{name} is not defined: use a number, or give {name}=… as an argument.")

    def _number(self, node: ast.AST, depth: int) -> int | float:
        value = self.value(node, depth + 1)
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise _error(self.text, node, "Arithmetic in a workload line works on numbers only.")
        return value

    def _binary(self, node: ast.AST, op: ast.operator, left: int | float, right: int | float) -> object:
        if isinstance(op, ast.Pow) and (abs(right) > _MAX_EXPONENT or abs(left) > _MAX_INTEGER):
            raise _error(self.text, node, "This power is too large for a workload line.")
        if isinstance(op, ast.LShift | ast.RShift) and not (isinstance(right, int) and 0 <= right < 64):
            raise _error(self.text, node, "A shift must be by 0 to 63 bits.")
        if self._of_c and isinstance(op, ast.Div) and isinstance(left, int) and isinstance(right, int):
            op = ast.FloorDiv()
        try:
            value = _BINARY[type(op)](left, right)
        except (ArithmeticError, TypeError, ValueError) as error:
            raise _error(self.text, node, f"This cannot be computed: {error}.") from error
        if isinstance(value, complex):
            raise _error(self.text, node, "This is not a real number.")
        return self._bounded(node, value)

    def _bounded(self, node: ast.AST, value: object) -> object:
        if isinstance(value, int) and abs(value) > _MAX_INTEGER:
            raise _error(self.text, node, "This number does not fit into 64 bits.")
        return value

    def _structure(self, node: ast.Call, depth: int) -> dict[str, object]:
        """The fields of `struct(n=1024, x=randn(n))` by their names, which stand for one another in it."""
        if node.args or not node.keywords or not all(one.arg for one in node.keywords):
            raise _error(self.text, node, "A structure gives its fields by their names: struct(n=1024, x=randn(n)).")
        outside = self._keywords
        self._keywords = {**outside, **{one.arg: one.value for one in node.keywords if one.arg}}
        try:
            return {one.arg: self.named(one.arg, one.value, depth) for one in node.keywords if one.arg}
        finally:
            self._keywords = outside

    def _call(self, node: ast.Call, depth: int) -> TensorSpec | Made | Namespace:
        match node.func:
            case ast.Name(id=name) | ast.Attribute(value=ast.Name(id="torch"), attr=name):
                pass
            case _:
                raise _error(self.text, node.func, "Only generators such as randn(…) can be called here.")
        if isinstance(node.func, ast.Name) and name == NAMESPACE:
            return self._namespace(node, depth)
        if isinstance(node.func, ast.Name) and _CLASS.match(name):
            return self._made(node, name, depth)
        if name not in GENERATORS and name not in ("out", "inout"):
            known = ", ".join((*GENERATORS, "out", "inout"))
            raise _error(self.text, node.func, f"There is no generator {name}; there are {known}.")
        args = [self.value(argument, depth + 1) for argument in node.args]
        kwargs = dict(self._option(keyword, depth) for keyword in node.keywords)
        try:
            return self._budget.spend(generate(name, args, kwargs))
        except GeneratorError as error:
            raise _error(self.text, node, str(error)) from error

    def _made(self, node: ast.Call, name: str, depth: int) -> Made:
        if not self._constructing:
            raise _error(self.text, node, f"{name}(…) can be given to a constructor only: Module({name}(…))(randn(…)).")
        args = tuple(self.value(argument, depth + 1) for argument in node.args)
        kwargs = {one.arg: self.value(one.value, depth + 1) for one in node.keywords if one.arg}
        if len(kwargs) < len(node.keywords):
            raise _error(self.text, node, "** cannot be used in a workload line.")
        if any(isinstance(one, TensorSpec) for one in (*args, *kwargs.values())):
            raise _error(
                self.text, node, f"{name} is made of numbers, flags and strings; tensors cannot be given to it."
            )
        return Made(name, args, kwargs)

    def _namespace(self, node: ast.Call, depth: int) -> Namespace:
        fields = {one.arg: self.value(one.value, depth + 1) for one in node.keywords if one.arg}
        if node.args or len(fields) < len(node.keywords):
            raise _error(
                self.text, node, f"{NAMESPACE} gives attributes by their names: {NAMESPACE}(hidden_size=1024)."
            )
        if not all(map(_is_data, fields.values())):
            words = (
                f"{NAMESPACE} holds numbers, flags, strings and dtypes; no tensors, and no objects of other classes."
            )
            raise _error(self.text, node, words)
        return Namespace(fields)

    def _option(self, keyword: ast.keyword, depth: int) -> tuple[str, object]:
        """A generator's keyword and its value: dtype and layout take a bare name or a string, the rest is a value."""
        if keyword.arg is None:
            raise _error(self.text, keyword.value, "** cannot be used in a workload line.")
        if keyword.arg in ("dtype", "layout"):
            match keyword.value:
                case (
                    ast.Name(id=name) | ast.Attribute(value=ast.Name(id="torch"), attr=name) | ast.Constant(value=name)
                ):
                    return keyword.arg, name
        return keyword.arg, self.value(keyword.value, depth + 1)


def _is_data(value: object) -> bool:
    """Whether neither tensors nor what is made by classes of the file is in a value."""
    parts = value.values() if isinstance(value, dict) else value if isinstance(value, list | tuple) else ()
    return not isinstance(value, TensorSpec | Made) and all(map(_is_data, parts))


def _described(node: ast.AST) -> str:
    names = {
        ast.Attribute: "An attribute",
        ast.Subscript: "A subscript",
        ast.Lambda: "A lambda",
        ast.Starred: "*",
        ast.JoinedStr: "An f-string",
        ast.Compare: "A comparison",
        ast.Dict: "A dictionary",
        ast.IfExp: "A condition",
    }
    return names.get(type(node), "This expression")


def _error(text: str, node: ast.AST, message: str) -> WorkloadError:
    """ast counts columns in utf-8 bytes; a WorkloadError counts code points."""
    encoded = _python_literals(text).encode("utf-8", "replace")

    def column(offset: int) -> int:
        return len(encoded[:offset].decode("utf-8", "replace"))

    start = column(getattr(node, "col_offset", 0))
    end = column(getattr(node, "end_col_offset", None) or 0)
    return WorkloadError(message, start, max(end, start + 1))  # the end may be on another line
