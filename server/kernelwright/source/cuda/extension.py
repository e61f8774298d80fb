"""What of a CUDA text belongs to PyTorch's C++ interface, which neither the emulator nor a bare nvcc compiles."""

import functools
import re

from tree_sitter import Node

from kernelwright.source.cuda.definitions import HOLDERS, File, Function, read
from kernelwright.source.cuda.outline import Piece, outline

_QUICK = ("torch", "at::", "c10", "pybind11", "PYBIND11", "TORCH_", "ATen", "AT_")  # finding these takes no time
_USES = re.compile(
    r"\b(?:torch|at|c10|py|pybind11)\s*::|\b(?:AT|TORCH|C10|PYBIND11)_[A-Z]\w*|\bTensor\b|\bnamespace\s+py\s*="
)
_LIBRARIES = re.compile(r"\bcu(?:blas|dnn|fft|rand|sparse)\w*\s*\(|\b(?:thrust|cub|cutlass)\s*::")
_HEADER = re.compile(r"#\s*include\s*[<\"](?:torch|ATen|c10|pybind11)/")
_DECLARES = frozenset(
    (
        *("declaration", "using_declaration", "alias_declaration", "namespace_alias_definition", "type_definition"),
        *("expression_statement", "struct_specifier", "class_specifier"),
    )
)
_WRITTEN = re.compile(r"[^\r\n]+")


def uses_library(text: str, function: Function) -> bool:
    """Whether a function calls a library of kernels, itself or by what it calls."""
    return not function.is_kernel and function.name in _calling_libraries(text)


def uses_pytorch(text: str, function: Function) -> bool:
    """Whether a function for the host needs PyTorch's C++ interface, itself or by what it calls."""
    return not function.is_kernel and function.name in _names(text)


def without_pytorch(text: str) -> str:
    """The text with blanks in the place of headers, functions and declarations that need PyTorch's C++ interface.

    Kernels and what runs on a GPU stay: what they use of it is for the compiler to say.
    """
    if not any(word in text for word in _QUICK):
        return text
    return _blanked(text)


@functools.lru_cache(maxsize=8)
def _names(text: str) -> frozenset[str]:
    """The functions for the host that need it."""
    return _using(text, _USES)


@functools.lru_cache(maxsize=8)
def _calling_libraries(text: str) -> frozenset[str]:
    return _using(text, _LIBRARIES)


def _using(text: str, pattern: re.Pattern[str]) -> frozenset[str]:
    """The functions for the host that a pattern is found in, and those that call them."""
    found = outline(text)
    pieces = [found.placed[index].piece for index in found.functions]
    hosts = [one for one in pieces if one.function is not None and one.function.is_host and not one.is_device]
    using = {one.name for one in hosts if _mentions(one, pattern)}
    while using and (more := {one.name for one in hosts if one.name not in using and one.words & using}):
        using |= more
    return frozenset(using)


@functools.lru_cache(maxsize=4096)
def _mentions(piece: Piece, pattern: re.Pattern[str]) -> bool:
    return pattern.search(piece.text) is not None


@functools.lru_cache(maxsize=8)
def _blanked(text: str) -> str:
    file = read(text)
    gone = {one.outer.start_byte for one in file.functions if uses_pytorch(text, one)}
    parts, at = list[str](), 0
    stack = [file.source.tree.root_node]
    while stack:
        node = stack.pop()
        if node.start_byte in gone or _belongs(file, node):
            start, end = file.source.span(node)
            if start >= at:
                parts += (text[at:start], _WRITTEN.sub(lambda match: " " * len(match[0]), text[start:end]))
                at = end
        elif node.type in HOLDERS or node.type == "ERROR":
            stack.extend(reversed(node.children))
    return "".join((*parts, text[at:]))


def _belongs(file: File, node: Node) -> bool:
    """Whether a header or a declaration speaks of PyTorch."""
    content = file.source.content(node)
    if node.type == "preproc_include":
        return _HEADER.search(content) is not None
    return node.type in _DECLARES and _USES.search(content) is not None
