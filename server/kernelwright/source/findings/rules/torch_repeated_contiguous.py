"""A second .contiguous() on what is contiguous already."""

import ast
from collections.abc import Iterator

from kernelwright.source.findings.rule import Change, Problem, Rule, Severity
from kernelwright.source.findings.scope import source
from kernelwright.source.findings.torch import TorchUnit, assigned
from kernelwright.source.trees import inside
from kernelwright.values import Language


def check(unit: TorchUnit) -> Iterator[Problem]:
    for view in unit.views:
        yield from _block(view.body, set())


def _block(body: list[ast.stmt], known: set[str]) -> Iterator[Problem]:
    """`known` are the names that hold something contiguous here, and the names of which a contiguous copy was made."""
    for statement in body:
        nested = [getattr(statement, field, []) for field in ("body", "orelse", "finalbody")]
        if any(nested):
            changed = {name for node in inside([statement]) for name in assigned(node)}
            for part in nested:
                yield from _block(part, known - changed)
            known -= changed
            continue
        for node in inside([statement]):
            copied = _made_contiguous(node)
            if copied is not None and (_made_contiguous(copied) is not None or source(copied) in known):
                yield Problem(
                    node,
                    f"{source(copied)} is contiguous already or was made so above: this .contiguous() repeats it.",
                    fix="Drop the repeated .contiguous()",
                    changes=(Change(node, source(copied)),),
                )
        names = set(assigned(statement))
        known -= names
        if isinstance(statement, ast.Assign) and (copied := _made_contiguous(statement.value)) is not None:
            known |= names
            if source(copied) in names or isinstance(copied, ast.Name):
                known |= {f"copied {source(copied)}"}


def _made_contiguous(node: ast.AST) -> ast.expr | None:
    """The x of x.contiguous() without a memory format, which would be another layout; None for anything else."""
    match node:
        case ast.Call(func=ast.Attribute(value=copied, attr="contiguous"), args=[], keywords=[]):
            return copied
    return None


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
