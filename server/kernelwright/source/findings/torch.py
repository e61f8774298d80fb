"""Hot PyTorch code as the rules see it: which expressions are tensors, in which functions."""

import ast
import functools
from collections.abc import Iterator
from dataclasses import dataclass

from kernelwright.source.calls import parameters
from kernelwright.source.findings.scope import Scope
from kernelwright.source.findings.tensor_names import (
    NOT_TENSOR_MODULES,
    NOT_TENSORS,
    PLAIN_METHODS,
    TENSOR_ATTRIBUTES,
    TENSOR_TYPES,
    TENSOR_USES,
)
from kernelwright.source.trees import inside, walk


@dataclass(frozen=True)
class TorchUnit:
    """The hot functions of one top-level definition, and the class's `__init__` where there is one.

    `eval_only`: the file puts its modules into eval mode and never trains.
    """

    scopes: tuple[Scope, ...]
    init: Scope | None = None
    eval_only: bool = False

    @functools.cached_property
    def views(self) -> tuple["Hot", ...]:
        return tuple(Hot(scope) for scope in self.scopes)

    @functools.cached_property
    def modules(self) -> dict[str, ast.Call]:
        """The submodules that `__init__` makes: attribute name, and the call that makes it when there is only one."""
        made: dict[str, list[ast.expr]] = {}
        for node in inside(self.init.function.body) if self.init and self.init.function else ():
            match node:
                case ast.Assign(targets=[ast.Attribute(value=ast.Name(id="self"), attr=name)], value=value):
                    made.setdefault(name, []).append(value)
        return {k: v[0] for k, v in made.items() if len(v) == 1 and isinstance(v[0], ast.Call)}


class Hot:
    """One hot function with the names in it that hold tensors for certain."""

    def __init__(self, scope: Scope) -> None:
        self.scope = scope
        self.function = scope.function
        self.body = scope.function.body if scope.function else []

    @functools.cached_property
    def nodes(self) -> tuple[ast.AST, ...]:
        return tuple(inside(self.body))

    @functools.cached_property
    def tensors(self) -> frozenset[str]:
        """Names that are tensors wherever they are assigned."""
        found = {
            p
            for p in self.scope.parameters
            if p != "self" and p not in self.scope.values and self._is_tensor_parameter(p)
        }
        for _ in range(4):  # assignments may build on later ones in loops; chains are short
            more = {
                name for name in self.scope.values if name not in found and self._stays_tensor(name, frozenset(found))
            }
            if not more:
                break
            found |= more
        return frozenset(found)

    @functools.cached_property
    def _fed_directly(self) -> dict[ast.AST | str, set[str]]:
        """The names whose assigned values contain a node, or a name."""
        fed: dict[ast.AST | str, set[str]] = {}
        for name, values in self.scope.values.items():
            for part in (part for value in values for part in walk(value)):
                fed.setdefault(part.id if isinstance(part, ast.Name) else part, set()).add(name)
        return fed

    def names_fed_by(self, node: ast.AST) -> frozenset[str]:
        """The names that a value flows into, directly or through other names."""
        found: set[str] = set()
        waiting = [*self._fed_directly.get(node, ())]
        while waiting:
            name = waiting.pop()
            if name not in found:
                found.add(name)
                waiting += self._fed_directly.get(name, ())
        return frozenset(found)

    def _stays_tensor(self, name: str, known: frozenset[str]) -> bool:
        """Whether a name is a tensor at first and every assignment keeps it one: x = x / 2."""
        values = self.scope.values[name]
        is_parameter = name in self.scope.parameters
        begins = self._is_tensor_parameter(name) if is_parameter else any(self.is_tensor(v, known) for v in values)
        return begins and all(self.is_tensor(v, known | {name}) for v in values)

    def _is_tensor_parameter(self, name: str) -> bool:
        arguments = parameters(self.function) if self.function else ()
        annotation = next((a.annotation for a in arguments if a.arg == name), None)
        if annotation is not None:
            return self.scope.canonical(annotation) in TENSOR_TYPES
        return any(self._is_tensor_use(node, name) for node in self.nodes)

    def _is_tensor_use(self, node: ast.AST, name: str) -> bool:
        match node:
            case ast.Attribute(value=ast.Name(id=owner), attr=attr):
                return owner == name and attr in TENSOR_USES
            case ast.BinOp(op=ast.MatMult(), left=left, right=right):
                return any(isinstance(side, ast.Name) and side.id == name for side in (left, right))
            case ast.Call(args=[ast.Name(id=first), *_]):
                return (
                    first == name
                    and self._gives_tensor(self.scope.canonical(node))
                    and "nn.functional" in self.scope.canonical(node)
                )
        return False

    def is_tensor(self, node: ast.expr, known: frozenset[str] | None = None) -> bool:
        """Whether an expression is certainly a tensor."""
        names = self.tensors if known is None else known
        match node:
            case ast.Name(id=name):
                return name in names
            case ast.Call():
                return self._is_tensor_call(node, names)
            case ast.BinOp(left=left, right=right):
                return self.is_tensor(left, names) or self.is_tensor(right, names)
            case ast.UnaryOp(op=ast.USub() | ast.Invert(), operand=operand):
                return self.is_tensor(operand, names)
            case ast.Compare(left=left, ops=ops, comparators=others):
                if any(isinstance(op, ast.Is | ast.IsNot | ast.In | ast.NotIn) for op in ops):
                    return False
                return any(self.is_tensor(side, names) for side in (left, *others) if not _is_none(side))
            case ast.Subscript(value=value):
                return self.is_tensor(value, names)
            case ast.Attribute(value=value, attr=attr):
                return attr in TENSOR_ATTRIBUTES and self.is_tensor(value, names)
            case ast.IfExp(body=a, orelse=b):
                return self.is_tensor(a, names) and self.is_tensor(b, names)
        return False

    def _is_tensor_call(self, node: ast.Call, names: frozenset[str]) -> bool:
        name = self.scope.canonical(node)
        if name:
            return self._gives_tensor(name)
        if isinstance(node.func, ast.Attribute):
            name = node.func.attr  # x.is_conj() and the like are plain truths
            return name not in PLAIN_METHODS and not name.startswith("is_") and self.is_tensor(node.func.value, names)
        return False

    def _gives_tensor(self, name: str) -> bool:
        if not name.startswith("torch.") or name in NOT_TENSORS or name.startswith(NOT_TENSOR_MODULES):
            return False
        last = name.rpartition(".")[2]
        if last in (
            "max",
            "min",
            "sort",
            "topk",
            "split",
            "chunk",
            "unbind",
            "svd",
            "qr",
            "eig",
            "meshgrid",
            "where",
            "var_mean",
        ):
            return last in ("max", "min", "where")
        return last[:1].islower() and not last.startswith(("is_", "set_", "get_", "use_", "manual_"))


def _is_none(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value is None


def method(node: ast.AST) -> str:
    """ "view" for a call x.view(...), "" for anything else."""
    return node.func.attr if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) else ""


def on_self(node: ast.AST) -> str:
    """ "conv" for a call self.conv(...), "" for anything else."""
    match node:
        case ast.Call(func=ast.Attribute(value=ast.Name(id="self"), attr=name)):
            return name
    return ""


def assigned(statement: ast.AST) -> Iterator[str]:
    """The names that a statement binds anew."""
    match statement:
        case ast.Assign(targets=targets):
            for target in targets:
                for part in walk(target):
                    if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Store):
                        yield part.id
        case ast.AnnAssign(target=ast.Name(id=name)) | ast.AugAssign(target=ast.Name(id=name)):
            yield name
        case ast.For(target=target):
            yield from (part.id for part in walk(target) if isinstance(part, ast.Name))


__all__ = ["Hot", "TorchUnit", "assigned", "method", "on_self"]
