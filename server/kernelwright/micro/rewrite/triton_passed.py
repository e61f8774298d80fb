"""What a Triton launch passes to its kernel by name, as far as the text tells."""

import ast
from collections.abc import Mapping
from dataclasses import dataclass

from kernelwright.source.bindings import bindings_of
from kernelwright.source.trees import walk


@dataclass(frozen=True)
class Passed:
    """What a launch passes: by name, that too which stands in a dictionary; and what of it cannot be told."""

    named: Mapping[str, ast.expr]
    listed: frozenset[str]  # the names that stand in a dictionary
    behind_star: Mapping[str, str]  # parameters that may be among what is passed by *, and words for why
    unread: str  # words for what ** passes, where that is not written out here


def passed_by(definition: ast.FunctionDef, function: ast.FunctionDef, call: ast.Call) -> Passed:
    """Reads the arguments of the launch `call` of the kernel `definition`, in the function around it."""
    named = {keyword.arg: keyword.value for keyword in call.keywords if keyword.arg is not None}
    listed: dict[str, ast.expr] = {}
    unread = ""
    for keyword in call.keywords:
        if keyword.arg is None:
            entries = _entries(function, keyword.value)
            if entries is None:
                unread = unread or f"may be in **{ast.unparse(keyword.value)} (line {keyword.value.lineno})"
            listed.update(entries or {})
    stars = [(index, arg) for index, arg in enumerate(call.args) if isinstance(arg, ast.Starred)]
    positional = (*definition.args.posonlyargs, *definition.args.args)
    behind = {p.arg: f"may be behind * (line {star.lineno})" for index, star in stars[:1] for p in positional[index:]}
    return Passed({**listed, **named}, frozenset(listed), behind, unread)


def _entries(function: ast.FunctionDef, mapping: ast.expr) -> dict[str, ast.expr] | None:
    """The entries of a dictionary that is written out and never changed; None for any other."""
    if isinstance(mapping, ast.Name):
        values = [one.value for one in bindings_of(function) if one.name == mapping.id]
        reads = [node for node in walk(function) if isinstance(node, ast.Name) and node.id == mapping.id]
        items = [
            node.value for node in walk(function)
            if isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Load) and isinstance(node.value, ast.Name)
        ]  # fmt: skip
        unpacked = sum(
            keyword.arg is None and keyword.value in reads
            for node in walk(function)
            if isinstance(node, ast.Call)
            for keyword in node.keywords
        )
        changed = [
            node for node in reads if isinstance(node.ctx, ast.Load) and node is not mapping and node not in items
        ]
        if len(values) != 1 or unpacked != 1 or changed:
            return None
        mapping = values[0]
    return written_out(mapping)


def written_out(mapping: ast.expr) -> dict[str, ast.expr] | None:
    """The entries of `{"a": 1}` or `dict(a=1)`; None for anything else."""
    match mapping:
        case ast.Dict(keys=keys, values=values):
            names = [key.value for key in keys if isinstance(key, ast.Constant) and isinstance(key.value, str)]
            return dict(zip(names, values, strict=True)) if len(names) == len(values) else None
        case ast.Call(func=ast.Name(id="dict"), args=[], keywords=keywords) if all(k.arg for k in keywords):
            return {keyword.arg: keyword.value for keyword in keywords if keyword.arg is not None}
    return None
