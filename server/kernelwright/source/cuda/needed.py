"""The part of a CUDA text that a kernel needs: functions that nothing it uses mentions are left out."""

import bisect
import functools
import re
from collections.abc import Iterable, Iterator

from tree_sitter import Node

from kernelwright.source.cpp import Kind, tokens_of
from kernelwright.source.cuda.definitions import HOLDERS, File, Function, read_apart
from kernelwright.source.cuda.kernels import is_callable, is_plain
from kernelwright.source.cuda.text import field

_WORD = re.compile(r"[A-Za-z_]\w*")
_DEFINE = re.compile(r"#\s*define\s+(\w+)")
_INCLUDE = re.compile(r"#\s*include\b")
_CONDITION = re.compile(r"^[ \t]*#[ \t]*(if|endif)", re.M)
_WRITTEN = re.compile(r"[^\r\n]+")


@functools.lru_cache(maxsize=32)
def needed(text: str, kernel: str, entry: str, beside: str = "") -> str:
    """The text with blanks in place of the functions and classes that neither a kernel and its entry nor what they use mention.

    What the function `beside` uses stays, too.

    So a kernel is compiled though other functions of its file call libraries, or what no emulator has. A function that is
    declared before goes with its declaration. Kept are all other declarations, members, and beside a host function that is
    the entry those that could be it, since they launch the kernel too.
    """
    file = read_apart(text)
    places = dict(_removable(file))
    launchers = {one.function.name: one.function for one in file.launches_of(kernel)}
    launching = {
        name for name, one in launchers.items() if entry != kernel and is_callable(one) and is_plain(file, text, one)
    }
    used = _used(text, sorted(places), places, {kernel, entry, beside, *launching})
    parts, at = list[str](), 0
    for span in sorted(place for place, name in places.items() if name not in used):
        if span[0] >= at:
            parts += (text[at : span[0]], _WRITTEN.sub(lambda match: " " * len(match[0]), text[slice(*span)]))
            at = span[1]
    return "".join((*parts, text[at:]))


def _removable(file: File) -> Iterator[tuple[tuple[int, int], str]]:
    """Free functions whose end is certain, with their names."""
    for one in file.functions:
        node = _whole(one)
        content = file.source.content(node)
        before = node.prev_sibling
        if one.name_node.type != "identifier" or (before is not None and before.is_error):
            continue
        conditions = _CONDITION.findall(content)
        if content.count("{") == content.count("}") and conditions.count("if") == conditions.count("endif"):
            yield file.source.span(node), one.name

    for node, name in _declared(file.source.tree.root_node):
        if name is not None and name.type in ("identifier", "type_identifier") and not node.has_error:
            yield file.source.span(_linked(node)), file.source.content(name)


def _declared(holder: Node) -> Iterator[tuple[Node, Node | None]]:
    """The functions that are declared without a body, and the classes, each with its name."""
    for node in holder.named_children:
        inner = node
        while inner.type == "template_declaration":
            inner = inner.named_children[-1]
        if inner.type == "template_instantiation":  # `template void run<int>(int*);`
            called = field(inner, "declarator", "declarator")
            yield node, field(called, "name") if called is not None and called.type == "template_function" else called
        elif inner.type == "type_definition" and not field(inner, "type", "name") and field(inner, "type", "body"):
            yield node, field(inner, "declarator")  # `typedef struct { … } Name;`
        elif inner.type in ("struct_specifier", "class_specifier") and field(inner, "body") is not None:
            name = field(inner, "name")
            yield node, field(name, "name") if name is not None and name.type == "template_type" else name
        elif inner.type == "declaration":
            declarator = field(inner, "declarator")
            while declarator is not None and declarator.type in ("pointer_declarator", "reference_declarator"):
                declarator = field(declarator, "declarator")
            if declarator is not None and declarator.type == "function_declarator":
                yield node, field(declarator, "declarator")
        elif node.type in HOLDERS:
            yield from _declared(node)


def _whole(function: Function) -> Node:
    return _linked(function.outer)


def _linked(node: Node) -> Node:
    """A definition with `extern "C"` in front of it."""
    linked = node.parent is not None and node.parent.type == "linkage_specification"
    return node.parent if linked and node.parent is not None else node


def _used(text: str, spans: list[tuple[int, int]], names: dict[tuple[int, int], str], roots: Iterable[str]) -> set[str]:
    """The words that are mentioned outside of functions, and in those functions and macros that are mentioned themselves."""
    starts = [start for start, _ in spans]
    mentions: dict[str, set[str]] = {}
    waiting = list(roots)
    for token in tokens_of(text):
        place = bisect.bisect_right(starts, token.start) - 1
        inside = place >= 0 and token.start < spans[place][1]
        if token.kind is Kind.DIRECTIVE and _INCLUDE.match(token.text):
            continue  # it names a file
        if token.kind is Kind.DIRECTIVE:
            words, defined = _WORD.findall(token.text), _DEFINE.match(token.text)
            owner = defined[1] if defined is not None else names[spans[place]] if inside else None
        elif token.kind is Kind.WORD:
            words, owner = [token.text], names[spans[place]] if inside else None
        else:
            continue
        if owner is None:
            waiting += words
        else:
            mentions.setdefault(owner, set()).update(words)
    used = set[str]()
    while waiting:
        word = waiting.pop()
        if word not in used:
            used.add(word)
            waiting += mentions.get(word, ())
    return used
