"""What of a CUDA text belongs to PyTorch's C++ interface, which neither the emulator nor a bare nvcc compiles."""

import functools
import re

from tree_sitter import Node

from kernelwright.source.cuda.definitions import HOLDERS, File, Function, read

_QUICK = ("torch", "at::", "c10", "pybind11", "PYBIND11", "TORCH_", "ATen", "AT_")  # finding these takes no time
_QUICK_LIBRARIES = ("cublas", "cudnn", "cufft", "curand", "cusparse", "thrust", "cub", "cutlass")
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


def uses_library(file: File, function: Function) -> bool:
    """Whether a function calls a library of kernels, itself or by what it calls."""
    return not function.is_kernel and function.name in _calling_libraries(file.source.text)


def uses_pytorch(file: File, function: Function) -> bool:
    """Whether a function for the host needs PyTorch's C++ interface, itself or by what it calls."""
    return not function.is_kernel and function.name in _names(file.source.text)


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
    return _using(text, _QUICK, _USES)


@functools.lru_cache(maxsize=8)
def _calling_libraries(text: str) -> frozenset[str]:
    return _using(text, _QUICK_LIBRARIES, _LIBRARIES)


def _using(text: str, quick: tuple[str, ...], pattern: re.Pattern[str]) -> frozenset[str]:
    """The functions for the host that a pattern is found in, and those that call them; none where no `quick` word is there."""
    if not any(word in text for word in quick) or not pattern.search(text):
        return frozenset()
    file = read(text)
    hosts = [one for one in file.functions if one.is_host and not one.is_device]
    found = {one.name for one in hosts if pattern.search(file.source.content(one.outer))}
    words = {one.name: set(re.findall(r"\w+", file.source.content(one.body))) for one in hosts}
    while more := {name for name, used in words.items() if name not in found and used & found}:
        found |= more
    return frozenset(found)


@functools.lru_cache(maxsize=8)
def _blanked(text: str) -> str:
    file = read(text)
    gone = {one.outer.start_byte for one in file.functions if uses_pytorch(file, one)}
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
