"""A second .contiguous() on what is contiguous already."""

import ast
from collections.abc import Iterator

from kernelwright.source.findings.rule import Change, Problem, Rule, Severity
from kernelwright.source.findings.scope import source, statements
from kernelwright.source.findings.torch import TorchUnit, assigned, method
from kernelwright.values import Language


def check(unit: TorchUnit) -> Iterator[Problem]:
    for view in unit.views:
        yield from _block(view.body, set())


def _block(body: list[ast.stmt], known: set[str]) -> Iterator[Problem]:
    """`known` are the names that hold something contiguous here, and the names of which a contiguous copy was made."""
    for statement in body:
        nested = [getattr(statement, field, []) for field in ("body", "orelse", "finalbody")]
        if any(nested):
            changed = {name for node in statements([statement]) for name in assigned(node)}
            inside = known - changed
            for part in nested:
                yield from _block(part, set(inside))
            known -= changed
            continue
        for node in statements([statement]):
            if _is_plain(node) and (_is_plain(node.func.value) or source(node.func.value) in known):
                yield Problem(
                    node,
                    f"{source(node.func.value)} is contiguous already or was made so above: this .contiguous() repeats it.",
                    fix="Drop the repeated .contiguous()" if _is_known(node, known) else "",
                    changes=(Change(node, source(node.func.value)),) if _is_known(node, known) else (),
                )
        names = set(assigned(statement))
        known -= names
        value = getattr(statement, "value", None)
        if isinstance(statement, ast.Assign) and _is_plain(value):
            known |= names
            if source(value.func.value) in names or isinstance(value.func.value, ast.Name):
                known |= {f"copied {source(value.func.value)}"}


def _is_known(node: ast.Call, known: set[str]) -> bool:
    return _is_plain(node.func.value) or source(node.func.value) in known


def _is_plain(node: ast.AST | None) -> bool:
    """x.contiguous() without a memory format, which would be another layout."""
    return isinstance(node, ast.Call) and method(node) == "contiguous" and not node.args and not node.keywords


RULE = Rule(
    code="torch.repeated-contiguous",
    language=Language.TORCH,
    severity=Severity.HINT,
    title="Repeated .contiguous()",
    doc="""`.contiguous()` on a contiguous tensor copies nothing but still costs a call, and hides where the one copy is
really made. Keep the first one.""",
    example_wrong="""
import torch
from torch import nn

class Turn(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = x.transpose(1, 2).contiguous()
        return y.contiguous().view(x.shape[0], -1)
""",
    example_right="""
import torch
from torch import nn

class Turn(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = x.transpose(1, 2).contiguous()
        return y.view(x.shape[0], -1)
""",
    check=check,
)
