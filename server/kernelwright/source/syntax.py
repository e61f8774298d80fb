"""What is asked of a tree-sitter tree again and again: its nodes, what a call calls and is given, a definition's parameters."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from tree_sitter import Node

from kernelwright.source.document import Document
from kernelwright.source.imports import Aliases, dotted


@dataclass(frozen=True)
class Parameter:
    """One parameter as written; `annotation` is "" and `default` None where there is none."""

    name: str
    annotation: str
    default: str | None


def walk(node: Node, into: Callable[[Node], bool] = lambda _: True) -> Iterator[Node]:
    """The named nodes of a tree in order of the text, apart from those inside a node that `into` denies.

    Without recursion, for code can be nested deeply.
    """
    stack = [node]
    while stack:
        current = stack.pop()
        yield current
        if into(current):
            stack.extend(reversed(current.named_children))


def field(node: Node, name: str) -> Node | None:
    """The part of a node by the name of its field: the same object each time, whose own parts are read once.

    `child_by_field_name` makes a new one, and to walk through that takes four times as long as through one known.
    """
    found = node.child_by_field_name(name)
    return None if found is None else next((child for child in node.named_children if child == found), found)


def called(document: Document, node: Node | None, aliases: Aliases) -> str | None:
    """The canonical name that a call calls ("triton.language.load"); None for anything else and for a method."""
    if node is None or node.type != "call":
        return None
    function = node.child_by_field_name("function")
    return None if function is None else dotted(document, function, aliases)


def argument(document: Document, call: Node, name: str, position: int | None) -> Node | None:
    """An argument by keyword or, where `position` is given, by position."""
    arguments = call.child_by_field_name("arguments")
    if arguments is None:
        return None
    index = 0
    for child in arguments.named_children:
        if child.type == "keyword_argument":
            key = child.child_by_field_name("name")
            if key is not None and document.content(key) == name:
                return child.child_by_field_name("value")
        elif child.type != "comment":
            if index == position:
                return child
            index += 1
    return None


def argument_text(document: Document, call: Node, name: str, position: int | None) -> str | None:
    """An argument as written."""
    node = argument(document, call, name, position)
    return None if node is None else document.content(node)


def parameters_of(document: Document, function: Node) -> tuple[Parameter, ...]:
    """The parameters of a definition; stars and what does not parse are left out."""
    found = []
    listed = function.child_by_field_name("parameters")
    for child in listed.named_children if listed else ():
        if child.type in ("comment", "ERROR"):
            continue
        name = child.child_by_field_name("name") or next(
            (part for part in (child, *child.named_children) if part.type == "identifier"), None
        )
        if name is None:
            continue
        annotation, default = child.child_by_field_name("type"), child.child_by_field_name("value")
        found.append(
            Parameter(
                document.content(name),
                document.content(annotation) if annotation is not None else "",
                document.content(default) if default is not None else None,
            )
        )
    return tuple(found)
