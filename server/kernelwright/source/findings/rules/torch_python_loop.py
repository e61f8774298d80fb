"""A Python loop over a dimension of a tensor."""

import ast
from collections.abc import Iterator

from kernelwright.source.findings.rule import Problem, Rule, Severity
from kernelwright.source.findings.torch import Hot, TorchUnit, assigned
from kernelwright.source.trees import inside, walk
from kernelwright.values import Language


def check(unit: TorchUnit) -> Iterator[Problem]:
    for view in unit.views:
        for node in view.nodes:
            if not isinstance(node, ast.For) or not isinstance(node.target, ast.Name):
                continue
            if _walks_a_tensor(view, node, node.target.id) and not _carries_state(node) and not _is_ragged(view, node):
                yield Problem(
                    node.iter,
                    "This loop runs over a tensor's dimension in Python and launches its kernels once for every step: "
                    "write it as one operation on the whole dimension.",
                )


def _walks_a_tensor(view: Hot, loop: ast.For, index: str) -> bool:
    if view.is_tensor(loop.iter):
        return True
    match loop.iter:
        case ast.Call(func=ast.Name(id="range"), args=[bound]) | ast.Call(func=ast.Name(id="range"), args=[_, bound]):
            return _is_extent(view, bound) and _indexes(view, loop, index)
    return False


def _is_extent(view: Hot, node: ast.expr) -> bool:
    """x.shape[0], x.size(0), len(x), or a name unpacked from x.shape."""
    match view.scope.single(node):
        case ast.Subscript(value=value):
            match view.scope.single(value):
                case (
                    ast.Attribute(value=of, attr="shape") | ast.Call(func=ast.Attribute(value=of, attr="size"), args=[])
                ):
                    return view.is_tensor(of)
        case ast.Call(func=ast.Attribute(value=of, attr="size"), args=[_]):
            return view.is_tensor(of)
        case ast.Call(func=ast.Name(id="len"), args=[of]):
            return view.is_tensor(of)
    return False


def _indexes(view: Hot, loop: ast.For, index: str) -> bool:
    return any(
        isinstance(node, ast.Subscript)
        and isinstance(node.value, ast.Name)
        and any(isinstance(part, ast.Name) and part.id == index for part in walk(node.slice))
        and view.is_tensor(node.value)
        for node in inside(loop.body)
    )


def _is_ragged(view: Hot, loop: ast.For) -> bool:
    """Tell whether each step works on another number of elements, as values of a tensor say: x[start : start + lengths[i]]."""
    ends = [end for node in inside(loop.body) if isinstance(node, ast.Slice) for end in (node.lower, node.upper) if end]
    return any(
        view.is_tensor(part)
        for end in ends
        for part in view.scope.walk(end, into=lambda n: not (isinstance(n, ast.Attribute) and n.attr == "shape"))
        if isinstance(part, ast.Name | ast.Subscript)
    )


def _carries_state(loop: ast.For) -> bool:
    """Whether an iteration needs what the one before it computed, as in a recurrence: such a loop cannot simply go."""
    bound = {
        name for node in inside(loop.body) if isinstance(node, ast.Assign | ast.AnnAssign) for name in assigned(node)
    }
    written: set[str] = set()
    for statement in loop.body:
        value = getattr(statement, "value", statement)
        parts = walk(value if isinstance(statement, ast.Assign | ast.AnnAssign) and value is not None else statement)
        reads = {n.id for n in parts if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load)}
        if reads & (bound - written):
            return True
        written |= {name for node in inside([statement]) for name in assigned(node)}
    return _reads_what_it_stores(loop)


def _reads_what_it_stores(loop: ast.For) -> bool:
    """y[:, t] = f(y[:, t - 1]): the state is kept in a tensor."""
    stored = {
        ast.unparse(node.value)
        for node in inside(loop.body)
        if isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Store)
    }
    return any(
        isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Load) and ast.unparse(node.value) in stored
        for node in inside(loop.body)
    )


RULE = Rule(
    code="torch.python-loop",
    language=Language.TORCH,
    severity=Severity.HINT,
    title="Python loop over a tensor's dimension",
    doc="""Every iteration launches its own small kernels, at several microseconds each, and leaves most of the GPU idle.
The same work on the whole dimension (broadcasting, a batched matmul, `torch.cumsum`, a reduction with `dim=`)
is one launch. Loops that carry state from one step to the next are left alone.""",
    example_wrong="""
import torch
from torch import nn

class Norms(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        rows = []
        for i in range(x.shape[0]):
            rows.append(x[i].norm())
        return torch.stack(rows)
""",
    example_right="""
import torch
from torch import nn

class Norms(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x.flatten(1).norm(dim=1)
""",
    check=check,
)
