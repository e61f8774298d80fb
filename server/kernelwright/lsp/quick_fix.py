"""Quick fixes: small deterministic edits for findings, and the line that gives a kernel its workload."""

from lsprotocol import types as lsp

from kernelwright.lsp.session import Session
from kernelwright.lsp.snapshot import Snapshot


def quick_fixes(
    session: Session, snapshot: Snapshot, where: lsp.Range, shown: list[lsp.Diagnostic]
) -> list[lsp.CodeAction]:
    return []


def resolve(session: Session, action: lsp.CodeAction) -> lsp.CodeAction:
    return action
