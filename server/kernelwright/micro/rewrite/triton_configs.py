"""The configurations of an autotuner, as far as the file writes out what they are made of."""

import ast
import itertools
import operator
from collections.abc import Callable, Container, Iterator, Mapping
from dataclasses import dataclass

from kernelwright.micro.rewrite.triton_launch import OPTIONS
from kernelwright.micro.rewrite.triton_passed import written_out
from kernelwright.micro.rewrite.triton_source import Fragment
from kernelwright.micro.rewrite.triton_space import COMPARED
from kernelwright.source.bindings import bindings
from kernelwright.source.calls import argument, bound, defaults, dotted
from kernelwright.source.document import parse
from kernelwright.source.parsed import syntax
from kernelwright.source.trees import walk

_MOST_READ = 512
"""Configurations that loops make; more would take longer to read than they are worth."""

_DEEPEST = 4
"""Names and functions that stand for one another."""

_COMPUTED: Mapping[type[ast.operator], Callable[[int, int], int]] = {
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.FloorDiv: operator.floordiv,
}  # fmt: skip

Known = Mapping[str, ast.expr]
"""What the names of loops and parameters stand for: numbers and other constants, and configurations."""


@dataclass(frozen=True)
class Config:
    """One configuration. `numbers` are its block sizes and options where they are known, `words` the source of all values."""

    numbers: Mapping[str, int]
    words: Mapping[str, str]  # of the dictionary alone
    others: tuple[str, ...]  # the source of further arguments, such as "pre_hook=zero"
    spelled: str  # "triton.Config"
    node: ast.Call | None = None  # where it is an element of the list in the decorator


class _Unread(Exception):
    """What makes configurations in a way that is not followed."""


@dataclass(frozen=True)
class ConfigReader:
    """Follows names, functions, loops and comprehensions of the kernel's file. What an `if` leaves out counts as seen, too."""

    kernel: Fragment

    def configs(self, node: ast.expr, in_place: bool = False) -> tuple[Config, ...] | None:
        """The configurations of a list, through what stands for one."""
        try:
            return tuple(itertools.islice(self._listed(node, {}, 0, in_place), _MOST_READ))
        except _Unread:
            return None

    def assigned(self, name: str) -> list[ast.expr]:
        """What the file assigns to a name, in whichever block."""
        found = (one for tree in self._trees(name) for one in bindings(walk(tree)))
        return [one.value for one in found if one.name == name]

    def _meant(self, name: str) -> list[ast.expr]:
        """What a name may stand for in the end: what is assigned at top level is the last word."""
        trees = self._trees(name)
        top = {id(statement) for tree in trees for statement in tree.body}
        found = [one for tree in trees for one in bindings(walk(tree)) if one.name == name]
        last = max((at for at, one in enumerate(found) if id(one.node) in top), default=0)
        return [one.value for one in found[last:]]

    def makes(self, call: ast.Call) -> bool:
        """Whether it calls a function of the file that makes configurations itself."""
        function = self._function(call.func.id) if isinstance(call.func, ast.Name) else None
        return function is not None and any(_is_config(node) for node in walk(function))

    def _listed(self, node: ast.expr, known: Known, depth: int, in_place: bool = False) -> Iterator[Config]:
        if depth > _DEEPEST:
            raise _Unread
        deeper = depth + 1
        match node:
            case ast.List(elts=elements) | ast.Tuple(elts=elements):
                for element in elements:
                    if isinstance(element, ast.Starred):
                        yield from self._listed(element.value, known, deeper)
                    else:
                        yield self._config(element, known, in_place)
            case ast.ListComp(
                elt=ast.Name(id=same), generators=[ast.comprehension(target=ast.Name(id=each), iter=inner)]
            ):
                if same != each:
                    raise _Unread
                yield from self._listed(inner, known, deeper)  # some of them
            case ast.ListComp(elt=element, generators=generators):
                for names in self._turns(generators, known):
                    yield self._config(element, names, False)
            case ast.Name(id=name) if values := self._meant(name):
                for value in values:
                    yield from self._listed(value, known, deeper)
            case ast.BinOp(left=one, op=ast.Add(), right=other) | ast.IfExp(body=one, orelse=other):
                yield from self._listed(one, known, deeper)
                yield from self._listed(other, known, deeper)
            case ast.Call(func=ast.Name(id=name), args=[], keywords=[]) if function := self._function(name):
                yield from self._returned(function, deeper)
            case ast.Call(args=[ast.List() | ast.ListComp() | ast.Name() as inner], keywords=[]):
                yield from self._listed(inner, known, deeper)  # some of them
            case ast.Call(
                func=ast.Name(id="list" | "tuple"), args=[ast.Call(func=ast.Name(id="filter"), args=[_, inner])]
            ):
                yield from self._listed(inner, known, deeper)
            case _:
                raise _Unread

    def _returned(self, function: ast.FunctionDef, depth: int) -> Iterator[Config]:
        """The configurations of a list that a function returns, also of one that it appends them to."""
        lists: dict[str, list[Config]] = {}
        known = self._run(function.body, {}, lists)
        returned = [one.value for one in walk(function) if isinstance(one, ast.Return) and one.value is not None]
        if not returned:
            raise _Unread
        for value in returned:
            if isinstance(value, ast.Name) and value.id in lists:
                yield from lists[value.id]
            else:
                yield from self._listed(value, known, depth)

    def _run(self, body: list[ast.stmt], known: Known, lists: dict[str, list[Config]]) -> Known:
        """Goes through statements that make lists of configurations, and answers with what names stand for after them."""
        for statement in body:
            match statement:
                case ast.Assign(targets=[ast.Name(id=name)], value=ast.List(elts=[])):
                    lists[name] = []
                case ast.Assign(targets=[ast.Name(id=name)], value=value) if any(map(_is_config, walk(value))) and (
                    not _is_config(value)
                ):
                    lists[name] = [*self._listed(value, known, 1)]
                case ast.Assign(targets=[ast.Name(id=name)], value=value):
                    known = {**known, name: value if isinstance(value, ast.Call) else _constant(value, known) or value}
                case ast.For(target=target, iter=over, body=inner):
                    appends = _appends(statement, lists)
                    mentioned = {node.id for node in walk(statement) if isinstance(node, ast.Name)}
                    if not appends and lists.keys() & mentioned:
                        raise _Unread
                    loop = ast.comprehension(target, over, [], 0)
                    for names in self._turns([loop], known) if appends else ():
                        self._run(inner, names, lists)
                case ast.If(body=inner, orelse=orelse):
                    self._run(inner, known, lists)
                    self._run(orelse, known, lists)
                case ast.Expr(value=ast.Call(func=ast.Attribute(value=ast.Name(id=name), attr=how), args=[value])):
                    if name in lists and how in ("append", "extend"):
                        lists[name] += (
                            [self._config(value, known, False)] if how == "append" else self._listed(value, known, 1)
                        )
                    elif name in lists:
                        raise _Unread
                case ast.AugAssign(target=ast.Name(id=name), op=ast.Add(), value=value) if name in lists:
                    lists[name] += self._listed(value, known, 1)
            if any(len(made) > _MOST_READ for made in lists.values()):
                raise _Unread
        return known

    def _turns(self, generators: list[ast.comprehension], known: Known, depth: int = 0) -> Iterator[Known]:
        """What the names of loops inside one another stand for, turn by turn."""
        if not generators:
            yield known
            return
        first, *others = generators
        for element in self._elements(first.iter, known, depth):
            yield from self._turns(others, {**known, **_unpacked(first.target, element, known)}, depth)

    def _elements(self, over: ast.expr, known: Known, depth: int) -> list[ast.expr]:
        """What a loop runs over: a list, a range, or a product of such."""
        called = dotted(over.func).rpartition(".")[2] if isinstance(over, ast.Call) else ""
        match over:
            case ast.List(elts=elements) | ast.Tuple(elts=elements) if elements:
                return elements
            case ast.Name(id=name) if depth < _DEEPEST:
                written = [known[name]] if name in known else self.assigned(name)
                if len(written) > 1:
                    written = [one for one in written if isinstance(one, ast.List | ast.Tuple)]
                if len(written) == 1:
                    return self._elements(written[0], known, depth + 1)
            case ast.ListComp(elt=element, generators=generators) if depth < _DEEPEST:
                some = itertools.islice(self._turns(generators, known, depth + 1), _MOST_READ)
                values = [_constant(element, names) for names in some]
                if None not in values:
                    return [value for value in values if value is not None]
            case ast.Call(args=args, keywords=[]) if called == "range":
                numbers = [_number(arg, known) for arg in args]
                if numbers and None not in numbers:
                    turns = range(*(number for number in numbers if number is not None))[: _MOST_READ + 1]
                    return [ast.Constant(number) for number in turns]
            case ast.Call(args=args, keywords=[]) if called == "product" and args:
                found: list[ast.expr] = [ast.Tuple([])]
                for arg in args:
                    more = self._elements(arg, known, depth + 1)
                    found = [
                        ast.Tuple([*one.elts, element])
                        for one in found
                        if isinstance(one, ast.Tuple)
                        for element in more
                    ]
                    if len(found) > _MOST_READ:
                        break
                return found
        raise _Unread

    def _config(self, node: ast.expr, known: Known, in_place: bool) -> Config:
        if isinstance(node, ast.Name) and isinstance(known.get(node.id), ast.Call):
            node = known[node.id]
        if not isinstance(node, ast.Call):
            raise _Unread
        if not _is_config(node):
            return self._helped(node, known, in_place)
        values = argument(node, 0, "kwargs")
        entries = written_out(values) if values is not None else None
        if entries is None:
            raise _Unread
        given = {name: value for i, name in enumerate(OPTIONS, 1) if (value := argument(node, i, name)) is not None}
        numbers = {name: _number(value, known) for name, value in (entries | given).items()}
        if any(numbers[name] is None for name in given):
            raise _Unread
        others = [k for k in node.keywords if k.arg not in (*OPTIONS, "kwargs")]
        return Config(
            {**OPTIONS, **{name: number for name, number in numbers.items() if number is not None}},
            {name: _written(value, known) for name, value in entries.items()},
            tuple(f"{k.arg}={_written(k.value, known)}" for k in others),
            dotted(node.func),
            node if in_place else None,
        )

    def _helped(self, call: ast.Call, known: Known, in_place: bool) -> Config:
        """The configuration that a function of the file makes of its arguments."""
        function = self._function(call.func.id) if isinstance(call.func, ast.Name) else None
        made = [node for node in walk(function) if isinstance(node, ast.Return)] if function is not None else []
        if function is None or len(made) != 1 or not isinstance(made[0].value, ast.Call):
            raise _Unread
        passed = {name: _constant(value, known) for name, value in bound(function, call).items()}
        names = {**dict(defaults(function)), **{name: value for name, value in passed.items() if value is not None}}
        if not _is_config(made[0].value):
            raise _Unread
        one = self._config(made[0].value, names, False)
        return Config(one.numbers, one.words, one.others, one.spelled, call if in_place else None)

    def _function(self, name: str) -> ast.FunctionDef | None:
        nodes = (node for tree in self._trees(name) for node in walk(tree))
        return next((node for node in nodes if isinstance(node, ast.FunctionDef) and node.name == name), None)

    def _trees(self, name: str) -> list[ast.Module]:
        """The top-level pieces that mention a name: each is parsed once, however often another one changes."""
        trees = (syntax(piece.text) for piece in parse(self.kernel.text).pieces if name in piece.text)
        return [tree for tree in trees if tree is not None]


def _is_config(node: ast.AST) -> bool:
    return isinstance(node, ast.Call) and dotted(node.func).rpartition(".")[2] == "Config"


def _appends(loop: ast.For, lists: Container[str]) -> bool:
    """Whether each turn makes one of the lists longer, so that few turns are gone through."""
    for node in walk(loop):
        match node:
            case (
                ast.Attribute(value=ast.Name(id=name), attr="append" | "extend")
                | ast.AugAssign(target=ast.Name(id=name))
            ) if name in lists:
                return True
    return False


def _unpacked(target: ast.expr, element: ast.expr, known: Known) -> dict[str, ast.expr]:
    """The constants that an element of a list gives to the names of a loop."""
    match target, element:
        case ast.Name(id=name), ast.List() | ast.Tuple():
            return {name: element}
        case ast.Name(id=name), _ if (constant := _constant(element, known)) is not None:
            return {name: constant}
        case ast.Tuple(elts=targets), ast.Tuple(elts=elements) | ast.List(elts=elements) if len(targets) == len(
            elements
        ):
            parts = (_unpacked(one, its, known) for one, its in zip(targets, elements, strict=True))
            return {name: value for part in parts for name, value in part.items()}
    raise _Unread


def _constant(value: ast.expr, known: Known) -> ast.expr | None:
    """What an expression comes to, as a constant; None where that is not known."""
    number = _number(value, known)
    if number is not None:
        return ast.Constant(number)
    value = known.get(value.id, value) if isinstance(value, ast.Name) else value
    return value if isinstance(value, ast.Constant) else None


def _number(value: ast.expr, known: Known) -> int | None:
    match value:
        case ast.Constant(value=number):
            return number if type(number) is int else None
        case ast.Name(id=name):
            stands_for = known.get(name)
            return stands_for.value if isinstance(stands_for, ast.Constant) and type(stands_for.value) is int else None
        case ast.BinOp(left=left, op=op, right=right):
            first, second = _number(left, known), _number(right, known)
            if first is None or second is None:
                return None
            if isinstance(op, ast.Pow):
                return first**second if abs(first) < 1024 and 0 <= second < 32 else None
            if type(op) not in _COMPUTED or (isinstance(op, ast.FloorDiv) and not second):
                return None
            return _COMPUTED[type(op)](first, second)
        case ast.IfExp(test=ast.Compare(left=left, ops=[op], comparators=[right]), body=one, orelse=other):
            first, second = _number(left, known), _number(right, known)
            if first is None or second is None or type(op) not in COMPARED:
                return None
            return _number(one if COMPARED[type(op)](first, second) else other, known)
    return None


def _written(value: ast.expr, known: Known) -> str:
    """The source of a value. Raises where it is computed from a name that only its loop or function knows."""
    constant = _constant(value, known)
    if constant is None and any(isinstance(node, ast.Name) and node.id in known for node in walk(value)):
        raise _Unread
    return ast.unparse(value if constant is None else constant)
