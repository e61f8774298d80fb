"""Whether a larger size makes a loop of a Triton kernel turn again, as far as the text of a file says so. Pure."""

import ast
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

_DEEPEST = 4  # names that stand for other names
_UNKNOWN = ("load", "program_id", "num_programs", "min", "minimum")  # who may end a loop earlier than its sizes do


@dataclass(frozen=True)
class Kernel:
    """A kernel of a file, and all that the file says of its arguments."""

    tree: ast.Module
    function: ast.FunctionDef | ast.AsyncFunctionDef

    def can_turn_twice(self, loop: ast.stmt) -> bool:
        """Whether its steps are numbers in every launch and its end is a parameter that is none.

        False where that is not certain: of a `while`, of ends that are read from memory, of blocks that are as long as the row.
        """
        match loop:
            case ast.For(iter=ast.Call(func=func, args=[_, *_] as args)) if _last_name(func).endswith("range"):
                spans, steps = self._ends(args)
            case _:
                return False
        launches = list(self._launches())
        if not spans or not launches or any(_last_name(node) in _UNKNOWN for node in (*spans, *steps)):
            return False
        numbers = {name for name in self._parameters if all(self._is_number(given.get(name)) for given in launches)}
        numbers |= self._tuned
        divided = {node.id for node in steps if isinstance(node, ast.Name)}
        sizes = {node.id for node in spans if isinstance(node, ast.Name)} - divided
        return divided <= numbers and bool((sizes & set(self._parameters)) - numbers)

    def _ends(self, args: Sequence[ast.expr]) -> tuple[list[ast.AST], list[ast.AST]]:
        """All that takes part in where a range ends, and in by what it steps."""
        spans = [node for one in args[:2] for node in self._parts(one)]
        steps = [node for one in args[2:] for node in self._parts(one)]
        for node in spans:
            match node:
                case ast.Call(func=func, args=[_, by]) if _last_name(func) == "cdiv":
                    steps += self._parts(by)
                case ast.BinOp(op=ast.FloorDiv(), right=by):
                    steps += self._parts(by)
        return spans, steps

    def _parts(self, node: ast.expr, depth: int = 0) -> Iterator[ast.AST]:
        """What takes part in a value, through names that the kernel assigns once."""
        for part in ast.walk(node):
            yield part
            values = self._values(self.function, part.id) if isinstance(part, ast.Name) else []
            if len(values) == 1 and depth < _DEEPEST:
                yield from self._parts(values[0], depth + 1)

    def _values(self, within: ast.AST, name: str) -> list[ast.expr]:
        found = list[ast.expr]()
        for node in ast.walk(within):
            match node:
                case (
                    ast.Assign(targets=[ast.Name(id=target)], value=value)
                    | ast.AnnAssign(target=ast.Name(id=target), value=ast.expr() as value)
                ):
                    found += [value] if target == name else []
        return found

    @property
    def _parameters(self) -> list[str]:
        arguments = self.function.args
        return [one.arg for one in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs)]

    @property
    def _tuned(self) -> set[str]:
        """The names that configurations of an autotuner give numbers."""
        dicts = [node for one in self.function.decorator_list for node in ast.walk(one) if isinstance(node, ast.Dict)]
        return {key.value for one in dicts for key in one.keys if isinstance(key, ast.Constant)}

    def _launches(self) -> Iterator[dict[str, ast.expr]]:
        for node in ast.walk(self.tree):
            match node:
                case ast.Call(func=ast.Subscript(value=kernel), args=args, keywords=keywords):
                    if _last_name(kernel) == self.function.name:
                        named = {one.arg: one.value for one in keywords if one.arg is not None}
                        yield {**dict(zip(self._parameters, args, strict=False)), **named}

    def _is_number(self, node: ast.expr | None, depth: int = 0) -> bool:
        match node:
            case ast.Constant(value=value):
                return isinstance(value, int)
            case ast.Name(id=name):
                values = self._values(self.tree, name)
                return bool(values) and depth < _DEEPEST and all(self._is_number(one, depth + 1) for one in values)
            case ast.IfExp(body=a, orelse=b) | ast.BinOp(left=a, right=b):
                return self._is_number(a, depth) and self._is_number(b, depth)
        return False


def _last_name(node: ast.AST) -> str:
    match node:
        case ast.Call(func=func):
            return _last_name(func)
        case ast.Attribute(attr=name) | ast.Name(id=name):
            return name
    return ""
