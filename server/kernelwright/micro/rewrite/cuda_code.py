"""Code of a CUDA text that is written again with other names in it, and what it may be moved across."""

import re
from collections.abc import Iterator, Mapping

from tree_sitter import Node

from kernelwright.source.cuda import File, Function, Source
from kernelwright.source.cuda.expressions import BUILT_IN, Names
from kernelwright.source.cuda.text import field, of_type, walk
from kernelwright.source.polynomials import Polynomial

_ATOM = re.compile(r"[\w.]+(?:\[[^\[\]]*\])*|[\w.]*\([^()]*\)|\(.*\)")
_TIGHT = ("*", "/", "%", "<<", ">>", "&", "|", "^")
_WORD = re.compile(r"[A-Za-z_]\w*")
_BUILT_IN_WORD = re.compile(rf"\b(?:{'|'.join(BUILT_IN)})\b")


def substituted(source: Source, node: Node, meanings: Mapping[str, str]) -> str:
    """The code of a node with other expressions in the place of names (or of `threadIdx.y`), in parentheses where needed."""
    found, at = [], node.start_byte
    for one in named(source, node, meanings):
        found.append(source.source[at : one.start_byte].decode())
        written = meanings[plain(source, one)]
        found.append(f"({written})" if _binds(source, one) and not _ATOM.fullmatch(written) else written)
        at = one.end_byte
    return "".join([*found, source.source[at : node.end_byte].decode()])


def named(source: Source, node: Node, names: Mapping[str, str] | frozenset[str]) -> Iterator[Node]:
    """The places in a node, in order of the text, where one of these names (or `threadIdx.y`) is read or written."""
    inside = walk(node, lambda one: one.type != "field_expression" or plain(source, one) not in names)
    return (one for one in inside if one.type in ("identifier", "field_expression") and plain(source, one) in names)


def mentions(source: Source, node: Node, names: frozenset[str]) -> bool:
    return next(named(source, node, names), None) is not None


def plain(source: Source, node: Node) -> str:
    """The code of a node without blanks."""
    return re.sub(r"\s+", "", source.content(node))


def written(polynomial: Polynomial) -> str:
    """A sum of products as code."""
    found = ""
    for term, number in sorted(polynomial.terms, key=lambda one: one[1] < 0):
        names = [one if _ATOM.fullmatch(one) else f"({one})" for one in term]
        factors = [*((str(abs(number)),) if abs(number) != 1 or not term else ()), *names]
        sign = (" - " if number < 0 else " + ") if found else ("-" if number < 0 else "")
        found += sign + " * ".join(factors)
    return found or "0"


def fresh(file: File, *wanted: str) -> str:
    """The first of these names that the file does not use for anything, or the last one with a number."""
    words = set(re.findall(r"\w+", file.source.text))
    numbered = (f"{wanted[-1]}{count}" for count in range(2, 1000))
    return next(one for one in (*wanted, *numbered) if one not in words)


def other_threads(file: File, function: Function) -> Node | None:
    """The first call in a kernel of a function of this file, or use of a macro, that itself asks which thread it is."""
    asking = {one.name for one in file.functions if not one.is_kernel and _BUILT_IN_WORD.search(_body(file, one))}
    asking |= {name for name, value in file.defines.items() if _BUILT_IN_WORD.search(value)}
    for node in file.function_macros:
        name = field(node, "name")
        if name is not None and _BUILT_IN_WORD.search(file.source.content(node)):
            asking.add(file.source.content(name))
    return next((one for one in of_type(function.body, "identifier") if file.source.content(one) in asking), None)


def unsettled(names: Names, node: Node) -> str | None:
    """A name behind an expression that has more than one meaning, or one that its text does not show."""
    for name in sorted(names.behind(node)):
        is_local = bool(names.assigned.get(name)) and name not in names.values
        is_hidden = name in names.file.defines and names.file.number(name) is None
        if is_local or is_hidden or name in names.arrays:
            return name
    return None


def hiding_macro(names: Names, node: Node, known: frozenset[str] | None = None) -> Node | None:
    """The first use of a macro that speaks of the function's names, or of those that are `known`, without being given them."""
    known = known if known is not None else _all(names)
    hiding = {name for name, value in names.file.defines.items() if _free(known, value, "")}
    for one in names.file.function_macros:
        name, listed, value = field(one, "name"), field(one, "parameters"), field(one, "value")
        if name is not None and listed is not None and value is not None:
            content = names.file.source.content
            hiding |= {content(name)} if _free(known, content(value), content(listed)) else set()
    return next((one for one in of_type(node, "identifier") if names.file.source.content(one) in hiding), None)


def _all(names: Names) -> frozenset[str]:
    """The locals, the variables of loops and the parameters of a function."""
    return frozenset((*names.assigned, *names.arrays, *(one.name for one in names.function.parameters)))


def _free(known: frozenset[str], value: str, given: str) -> bool:
    """Whether a macro's text names one of these without being given it."""
    return bool((set(_WORD.findall(value)) - set(_WORD.findall(given))) & known)


def _body(file: File, function: Function) -> str:
    return file.source.content(function.body)


def _binds(source: Source, node: Node) -> bool:
    """Whether a sum in the place of a node would be torn apart by what stands around it."""
    parent = node.parent
    if parent is None:
        return False
    if parent.type in ("unary_expression", "cast_expression", "field_expression", "pointer_expression"):
        return True
    if parent.type == "subscript_expression":
        return field(parent, "argument") == node
    if parent.type != "binary_expression":
        return False
    operator = field(parent, "operator")
    sign = source.content(operator) if operator is not None else ""
    return sign in _TIGHT or (sign == "-" and field(parent, "right") == node)
