"""The names of one function: what they were assigned, what they mean, and their value where it is a known number."""

import ast
import functools
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from kernelwright.source.bindings import Loop, bindings, loop_of
from kernelwright.source.calls import dotted, parameters
from kernelwright.source.findings.reaching import Reaching, Value, returned
from kernelwright.source.imports import Aliases
from kernelwright.source.trees import children, inside, walk
from kernelwright.source.triton.reader import canonical, tl

_DEPTH = 24
_LARGEST = 2**63  # sizes are no larger, and powers of powers would fill the memory


class TooMuchWork(Exception):
    """A search through the names of a function has outgrown its bound; the rule that made it has nothing to say."""


class Steps:
    """How many places one search may still visit: names that stand for each other twice would double it each time."""

    def __init__(self, most: int = 2000) -> None:
        self._left = most

    def take(self) -> None:
        """One more. Raises TooMuchWork."""
        self._left -= 1
        if self._left < 0:
            raise TooMuchWork


@dataclass(frozen=True)
class Scope:
    """One function (or the top level, `function` None). `values` are all that a name was assigned, in order."""

    function: ast.FunctionDef | None
    aliases: Aliases
    body: list[ast.stmt] = field(default_factory=list)
    constants: Mapping[str, int] = field(default_factory=dict)
    values: Mapping[str, tuple[ast.expr, ...]] = field(default_factory=dict)
    loops: Mapping[str, Loop] = field(default_factory=dict)

    def canonical(self, node: ast.AST) -> str:
        """The canonical dotted name of a name, attribute or call ("triton.language.load"), "" when it has none."""
        return canonical(node, self.aliases)

    def tl(self, node: ast.AST) -> str:
        """ "load" for a call of tl.load, "" for anything that is not called from triton.language."""
        return tl(node, self.aliases)

    @functools.cached_property
    def _parameters(self) -> frozenset[str]:
        return frozenset(self.parameters)

    @functools.cached_property
    def _reaching(self) -> Reaching:
        return Reaching(self.body, self.parameters)

    def reached(self, name: ast.Name) -> tuple[Value, ...]:
        """List all that a name may stand for where it is used: values, and loops that it runs through."""
        values = self.values.get(name.id, ())
        loop = self.loops.get(name.id)
        is_parameter = name.id in self._parameters
        if loop is None and (not values or (len(values) == 1 and not is_parameter)):
            return values
        found = self._reaching.at(name)
        if found or (found is not None and is_parameter):
            return found
        return values if loop is None else (*values, loop)

    def given(self, name: ast.Name) -> tuple[ast.expr, ...]:
        """List the values that a name may stand for where it is used."""
        return tuple(value for value in self.reached(name) if isinstance(value, ast.expr))

    def loop(self, node: ast.AST) -> Loop | None:
        """Find the loop that a name runs through where it is used."""
        found = self.reached(node) if isinstance(node, ast.Name) else ()
        return next((value for value in found if isinstance(value, Loop)), None)

    def single(self, node: ast.expr) -> ast.expr:
        """Follow a name to the end of what it stands for, as long as that is one value."""
        for _ in range(_DEPTH):
            found = self.reached(node) if isinstance(node, ast.Name) else ()
            if len(found) != 1 or not isinstance(found[0], ast.expr):
                break
            node = found[0]
        return node

    def walk(self, *nodes: ast.AST, into: Callable[[ast.AST], bool] = lambda _: True) -> Iterator[ast.AST]:
        """Visit every node that takes part in `nodes`, through the assignments of names; `into` may stop the descent."""
        seen: set[ast.AST] = set()
        waiting = [*nodes]
        while waiting:
            current = waiting.pop()
            yield current
            if not into(current):
                continue
            if isinstance(current, ast.Name):
                values = [value for value in self.given(current) if value not in seen]
                seen.update(values)
                waiting += values
            waiting += children(current)

    def number(self, node: ast.expr | None, known: Mapping[str, int] | None = None) -> int | None:
        """The integer that an expression certainly has, with `known` names; None otherwise."""
        return None if node is None else self._number(node, known or {}, 0, {})

    def _number(
        self, node: ast.expr, known: Mapping[str, int], depth: int, found: dict[ast.expr, int | None]
    ) -> int | None:
        if depth > _DEPTH:
            return None
        if node not in found:
            found[node] = None  # for a name that is assigned from itself
            found[node] = self._computed(node, known, depth, found)
        return found[node]

    def _computed(
        self, node: ast.expr, known: Mapping[str, int], depth: int, found: dict[ast.expr, int | None]
    ) -> int | None:
        recur = functools.partial(self._number, known=known, depth=depth + 1, found=found)
        match node:
            case ast.Constant(value=bool()):
                return None
            case ast.Constant(value=int() as value):
                return value
            case ast.Name(id=name):
                if name in known:
                    return known[name]
                found_here = self.reached(node)
                if found_here:
                    only = found_here[0]
                    return recur(only) if len(found_here) == 1 and isinstance(only, ast.expr) else None
                return None if name in self.parameters else self.constants.get(name)
            case ast.UnaryOp(op=ast.USub(), operand=operand):
                positive = recur(operand)
                return None if positive is None else -positive
            case ast.BinOp(left=left, op=op, right=right):
                result = _arithmetic(op, recur(left), recur(right))
                return result if result is None or abs(result) <= _LARGEST else None
            case ast.Call(args=args, keywords=[]):
                return _call(self, node, [recur(a) for a in args])
        return None

    @functools.cached_property
    def asserted(self) -> tuple[ast.expr, ...]:
        """What the function asserts, each part of an `and` by itself."""
        tests = [node.test for node in walk(self.function) if isinstance(node, ast.Assert)] if self.function else []
        return tuple(part for test in tests for part in _parts_of_and(test))

    @functools.cached_property
    def strides_asked(self) -> tuple[tuple[str, ast.expr], ...]:
        """Every `tensor.stride(dimension)` of the function."""
        found = []
        for node in walk(self.function) if self.function else ():
            match node:
                case ast.Call(func=ast.Attribute(value=tensor, attr="stride"), args=[dimension]):
                    found.append((source(tensor), dimension))
        return tuple(found)

    @functools.cached_property
    def parameters(self) -> tuple[str, ...]:
        if self.function is None:
            return ()
        return tuple(parameter.arg for parameter in parameters(self.function))


def _parts_of_and(test: ast.expr) -> Sequence[ast.expr]:
    match test:
        case ast.BoolOp(op=ast.And(), values=values):
            return values
    return (test,)


def _arithmetic(op: ast.operator, a: int | None, b: int | None) -> int | None:
    if a is None or b is None:
        return None
    match op:
        case ast.Add():
            return a + b
        case ast.Sub():
            return a - b
        case ast.Mult():
            return a * b
        case ast.FloorDiv() if b:
            return a // b
        case ast.Mod() if b:
            return a % b
        case ast.LShift() if 0 <= b < 64:
            return a << b
        case ast.Pow() if 0 <= b < 64 and abs(a) < 1024:
            return int(a**b)
    return None


def _call(scope: Scope, node: ast.Call, arguments: list[int | None]) -> int | None:
    values = [value for value in arguments if value is not None]
    if not values or len(values) < len(arguments):
        return None
    match scope.canonical(node) or dotted(node.func), values:
        case "triton.cdiv" | "triton.language.cdiv", [a, b] if b:
            return -(-a // b)
        case "triton.next_power_of_2" | "triton.language.next_power_of_2", [a]:
            return 1 << max(a - 1, 0).bit_length()
        case "min", _:
            return min(values)
        case "max", _:
            return max(values)
        case "int", [a]:
            return a
    return None


def scope_of(
    function: ast.FunctionDef | None, body: list[ast.stmt], aliases: Aliases, constants: Mapping[str, int]
) -> Scope:
    values: dict[str, list[ast.expr]] = {}
    loops: dict[str, Loop] = {}
    nodes = tuple(inside(body))
    for binding in bindings(nodes):
        if not isinstance(binding.node, ast.For):
            values.setdefault(binding.name, []).append(binding.value)
        elif isinstance(binding.node.target, ast.Name):
            loops[binding.name] = loop_of(binding.node)
    for node in nodes:
        if isinstance(node, ast.FunctionDef):
            values.setdefault(node.name, []).append(returned(node))
    return Scope(function, aliases, body, constants, {k: tuple(v) for k, v in values.items()}, loops)


def is_extent(scope: Scope, node: ast.expr) -> bool:
    """Whether an expression is the extent of a tensor's dimension: x.shape[1], x.size(0), or unpacked from x.shape."""
    match scope.single(node):
        case ast.Subscript(value=value):
            match scope.single(value):
                case ast.Attribute(attr="shape") | ast.Call(func=ast.Attribute(attr="size"), args=[]):
                    return True
        case ast.Call(func=ast.Attribute(attr="size"), args=[_]):
            return True
    return False


def extent_of(scope: Scope, node: ast.expr) -> str:
    """The text of an expression, the same for x.shape[1], x.size(1), and a name that x.shape is unpacked to."""
    resolved = scope.single(node)
    match resolved:
        case ast.Call(func=ast.Attribute(value=tensor, attr="size"), args=[axis]):
            return f"{source(tensor)}.shape[{source(axis)}]"
        case ast.Subscript(value=ast.Call(func=ast.Attribute(value=tensor, attr="size"), args=[]), slice=axis):
            return f"{source(tensor)}.shape[{source(axis)}]"
    return source(resolved)


@functools.lru_cache(maxsize=2048)
def source(node: ast.AST) -> str:
    """An expression as text in one normal form, to compare and to show."""
    return ast.unparse(node)
