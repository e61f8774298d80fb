"""Puts a helper around a module's forward: a decorator on it, and above the class what the decorator is."""

from collections.abc import Sequence
from dataclasses import replace

from kernelwright.micro.rewrite.helpers import Helper
from kernelwright.micro.rewrite.whole_module import forward_of
from kernelwright.place.decorated import decorated
from kernelwright.place.layout import free_names
from kernelwright.place.source_map import SourceMap
from kernelwright.values import Edits, Refusal


def wrapped(source: SourceMap, module: str, helpers: Sequence[Helper]) -> tuple[Edits, ...] | Refusal:
    """Edits for each helper, printed with names that the file does not have."""
    forward = forward_of(source, module)
    if isinstance(forward, Refusal):
        return forward
    variants: list[Edits] = []
    for helper in helpers:
        named = helper.renamed(free_names(source, helper.names))
        edits = decorated(source, forward, named.decorator, named.text, ("torch", *named.imports))
        if isinstance(edits, Refusal):
            return edits
        variants.append(replace(edits, summary=helper.summary))
    return tuple(variants)
