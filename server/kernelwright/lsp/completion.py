"""`textDocument/completion`: the words of a workload line."""

import string

from lsprotocol import types as lsp

from kernelwright.lsp.session import Session
from kernelwright.lsp.workload_word import case_at

TRIGGERS = (":", "(", ",", "=", " ")
_WORD = string.ascii_letters + string.digits + "_"


def completion(session: Session, params: lsp.CompletionParams) -> list[lsp.CompletionItem]:
    """Words of a workload line, in such a comment alone: entries first, then generators and their options."""
    from kernelwright.source.workload.generators import DTYPES, LAYOUTS
    from kernelwright.source.workload.words import WORDS

    snapshot = session.documents.get(params.text_document.uri)
    found = case_at(snapshot, params.position) if snapshot is not None else None
    if snapshot is None or found is None:
        return []
    case, column = found
    before = case.text[:column]
    if "(" not in before:
        names = dict.fromkeys(kernel.entry or kernel.name for kernel in snapshot.kernels)
        return [lsp.CompletionItem(name, kind=lsp.CompletionItemKind.Function) for name in names]
    stem = before.rstrip(_WORD).rstrip()
    values = LAYOUTS if stem.endswith("layout=") else tuple(DTYPES) if stem.endswith("dtype=") else ()
    if values:
        return [lsp.CompletionItem(value, kind=lsp.CompletionItemKind.EnumMember) for value in values]
    return [
        lsp.CompletionItem(
            row.name,
            kind=lsp.CompletionItemKind.Property
            if row.group.startswith("Options")
            else lsp.CompletionItemKind.Function,
            detail=row.example,
            documentation=row.says.replace("`", ""),
            insert_text=f"{row.name}=" if row.group.startswith("Options") else None,
        )
        for row in WORDS
        if row.name.isidentifier() and not row.group.startswith("Other")
    ]
