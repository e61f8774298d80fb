"""Which local name of a function holds which Value of the graph at some statement."""

import ast
import functools
from collections.abc import Iterator, Mapping

from kernelwright.ops import parameters
from kernelwright.place.source_map import Env, SourceMap, bound_names, expressions_in, operands
from kernelwright.source.trees import walk
from kernelwright.values import Node, TensorRef


class NotEditable(Exception):
    """The source cannot be changed safely; the message is for the user."""

    def __init__(self, reason: str, line: int | None = None) -> None:
        super().__init__(reason)
        self.line = line


def environment(source: SourceMap, function: ast.FunctionDef, gone: set[ast.stmt], stop: ast.stmt) -> Env:
    """Which local name holds which Value just before `stop`, with the statements in `gone` left out.

    In one iteration of a loop the graph's inputs are what the names hold where it begins.
    """
    return dict(_environment(source, function, frozenset(gone), stop))


@functools.lru_cache(maxsize=256)
def _environment(source: SourceMap, function: ast.FunctionDef, gone: frozenset[ast.stmt], stop: ast.stmt) -> Env:
    inputs = {v.name: v.id for v in source.graph.values if v.origin == "input" and v.name}
    if source.loop is not None:
        _run(source, source.loop.body, inputs, gone, stop)
        return inputs
    arguments = [*function.args.posonlyargs, *function.args.args, *function.args.kwonlyargs]
    env = {a.arg: inputs[a.arg] for a in arguments if a.arg in inputs}
    _run(source, function.body, env, gone, stop)
    return env


def _run(source: SourceMap, body: list[ast.stmt], env: Env, gone: frozenset[ast.stmt], stop: ast.stmt) -> bool:
    for statement in body:
        if statement is stop:
            return True
        if statement in gone:
            continue
        if isinstance(statement, ast.With | ast.If | ast.Try):
            ran = _branch_that_ran(source, statement)
            for branch in _branches(statement):
                if stop in walk(ast.Module(branch, [])) or isinstance(statement, ast.With):
                    if _run(source, branch, env, gone, stop):
                        return True
                elif branch is ran:
                    _run(source, branch, env, gone, stop)
                elif ran is None:
                    for name in {n for s in branch for n in bound_names(s)}:
                        env.pop(name, None)
            continue
        _bind(source, statement, env)
    return False


def _branch_that_ran(source: SourceMap, statement: ast.stmt) -> list[ast.stmt] | None:
    """The branch of an `if` in which calls of the graph stand, where only one has any."""
    branches = _branches(statement) if isinstance(statement, ast.If) else []
    ran = [branch for branch in branches if any(True for item in branch for _ in nodes_in(source, item))]
    return ran[0] if len(ran) == 1 else None


@functools.lru_cache(maxsize=256)
def conditional_names(function: ast.FunctionDef, stop: ast.stmt) -> frozenset[str]:
    """The names that were last bound in a branch before `stop` in which it does not stand: another call may differ."""
    branches = [b for s in walk(function) if isinstance(s, ast.If | ast.Try) for b in _branches(s)]
    apart = {n for b in branches if stop not in (inner := set(walk(ast.Module(b, [])))) for n in inner}
    last: dict[str, tuple[int, bool]] = {}
    for statement in walk(function):
        if isinstance(statement, ast.stmt) and statement.lineno < stop.lineno and not _is_compound(statement):
            for name in bound_names(statement):
                last[name] = max(last.get(name, (0, False)), (statement.lineno, statement in apart))
    return frozenset(name for name, (_, perhaps) in last.items() if perhaps)


def _is_compound(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.FunctionDef | ast.If | ast.Try | ast.With)


def named_operands(source: SourceMap, node: Node, tree: ast.AST, env: Env) -> Iterator[tuple[int, str]]:
    """Each Value that the node reads by a plain name of the source, with that name."""
    known = [name for name, _ in parameters(node.op)[0]] or ["input", "other"]
    given = dict(zip(known, node.args, strict=False)) | dict(node.kwargs)
    written = operands(source, node, tree, env)
    if isinstance(tree, ast.BinOp | ast.AugAssign) and not _sides_are_told(tree, given):
        return
    for parameter, expression in written.items():
        value = given.get(parameter)
        if isinstance(expression, ast.Name) and isinstance(value, TensorRef) and not _is_own(source, node, value):
            yield value.id, expression.id


def _is_own(source: SourceMap, node: Node, value: TensorRef) -> bool:
    """Whether a module that runs the node holds the Value itself, which no argument of its call then names."""
    name = source.graph.value(value.id).name
    return bool(node.module) and name.startswith(f"{node.module}.")


def _sides_are_told(tree: ast.BinOp | ast.AugAssign, given: Mapping[str, object]) -> bool:
    """Whether both operands are tensors, or one is a literal: otherwise a name may be that of a number."""
    sides = (tree.left, tree.right) if isinstance(tree, ast.BinOp) else (tree.target, tree.value)
    tensors = [value for value in given.values() if isinstance(value, TensorRef)]
    return len(tensors) > 1 or any(isinstance(side, ast.Constant) for side in sides)


def _bind(source: SourceMap, statement: ast.stmt, env: Env) -> None:
    made = statement.value if isinstance(statement, ast.Assign | ast.AnnAssign) else None
    value = source.value_of(made, env) if made is not None else None
    if isinstance(statement, ast.AugAssign):
        value = next((n.outputs[0] for n in source.nodes_at.get(source.span(statement), ())), None)
    for name in bound_names(statement):
        env.pop(name, None)
    targets = statement.targets if isinstance(statement, ast.Assign) else [getattr(statement, "target", None)]
    for target in targets:
        if isinstance(target, ast.Name) and value is not None:
            env[target.id] = value
        elif isinstance(target, ast.Tuple) and isinstance(statement, ast.Assign):
            _bind_parts(source, target, statement.value, env)
    for node in nodes_in(source, statement):
        first = node.args[0] if node.args else None
        if node.inplace and isinstance(first, TensorRef):
            env |= {n: node.outputs[0] for n, v in env.items() if v == first.id}


def _bind_parts(source: SourceMap, target: ast.Tuple, value: ast.expr, env: Env) -> None:
    made = source.nodes_at.get(source.span(value), ())
    parts: list[int | None] = list(made[-1].outputs) if made else []
    if isinstance(value, ast.Tuple):
        parts = [source.value_of(item, env) for item in value.elts]
    for name, part in zip(target.elts, parts, strict=False):
        if isinstance(name, ast.Name) and part is not None:
            env[name.id] = part


def nodes_in(source: SourceMap, tree: ast.AST) -> Iterator[Node]:
    for item in expressions_in(tree):
        yield from source.nodes_at.get(source.span(item), ())


def made_by(source: SourceMap, tree: ast.AST) -> int | None:
    if isinstance(tree, ast.AugAssign):
        made = source.nodes_at.get(source.span(tree), ())
        return made[-1].outputs[0] if made else None
    return source.value_of(tree, {})


def simple_targets(statement: ast.stmt) -> list[str] | None:
    """The plain names that a statement binds; None when it binds anything else or does more than that."""
    if isinstance(statement, ast.Assign) and all(isinstance(t, ast.Name) for t in statement.targets):
        return [t.id for t in statement.targets if isinstance(t, ast.Name)]
    if isinstance(statement, ast.AnnAssign | ast.AugAssign) and isinstance(statement.target, ast.Name):
        return [statement.target.id]
    if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call):
        receiver = getattr(statement.value.func, "value", None)
        return [receiver.id] if isinstance(receiver, ast.Name) else None
    return None


def _branches(statement: ast.With | ast.If | ast.Try) -> list[list[ast.stmt]]:
    if isinstance(statement, ast.With):
        return [statement.body]
    if isinstance(statement, ast.If):
        return [statement.body, statement.orelse]
    return [statement.body, *(h.body for h in statement.handlers), statement.orelse, statement.finalbody]
