"""A kernel's text as a tree, and small changes to it: what every operator asks for."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from tree_sitter import Node

from kernelwright.source.document import Document, parse
from kernelwright.source.imports import Aliases, aliases_of
from kernelwright.source.imports import dotted as canonical
from kernelwright.source.syntax import parameters_of, walk

_WORKLOAD = ("get_inputs", "get_init_inputs")  # how the kernel is called is no part of it
_NOT_CODE = ("type", "function_definition", "class_definition", "string", "comment")


@dataclass(frozen=True)
class Change:
    """Replace the bytes `start:end` of the text's utf-8 form."""

    start: int
    end: int
    text: str


@dataclass(frozen=True)
class Function:
    """A def of the text. `jit`: it runs on the device. `parameters` without self."""

    node: Node
    name: str
    jit: bool
    method: bool
    parameters: tuple[str, ...]
    indent: str

    @property
    def computes(self) -> bool:
        """Whether it is called for its result: neither a kernel nor a constructor."""
        return not self.jit and self.name != "__init__"


@dataclass(frozen=True)
class Code:
    """One text with its tree, the meaning of its imported names, and its functions in order."""

    document: Document
    aliases: Aliases
    functions: tuple[Function, ...]

    def content(self, node: Node) -> str:
        return self.document.content(node)

    def name(self, node: Node | None) -> str | None:
        """The canonical name of an identifier or attribute: "triton.language.load"; None for what is not imported."""
        return None if node is None else canonical(self.document, node, self.aliases)

    def called(self, node: Node) -> str:
        """What a call calls: the canonical name, ".sum" for a method, a bare name for a builtin, "" for anything else."""
        function = node.child_by_field_name("function")
        if function is None or node.type != "call":
            return ""
        known = self.name(function)
        if known is not None:
            return known
        if function.type == "attribute":
            return "." + self.content(field(function, "attribute"))
        return self.content(function) if function.type == "identifier" else ""

    def inside(self, function: Function, *types: str) -> Iterator[Node]:
        """The nodes of these types in the function, its defaults included, in order of the text."""
        parts = [node for name in ("parameters", "body") if (node := function.node.child_by_field_name(name))]
        for part in parts:
            for node in walk(part, lambda node: node.type not in _NOT_CODE):
                if node.type in types:
                    yield node

    def everywhere(self, *types: str) -> Iterator[tuple[Node, Function]]:
        """The nodes of these types in all functions, each with its function."""
        for function in self.functions:
            for node in self.inside(function, *types):
                yield node, function


def read(text: str) -> Code:
    document = parse(text)
    aliases = aliases_of(document)
    found = [
        node
        for node in walk(document.tree.root_node)
        if node.type == "function_definition" and document.content(field(node, "name")) not in _WORKLOAD
    ]
    return Code(document, aliases, tuple(_function(document, aliases, node) for node in found))


def field(node: Node, name: str) -> Node:
    """The child in a field that the grammar always fills."""
    found = node.child_by_field_name(name)
    assert found is not None, f"{node.type} without {name}"  # what does not parse is refused before
    return found


def arguments(call: Node) -> list[Node]:
    """The positional arguments of a call."""
    listed = call.child_by_field_name("arguments")
    children = listed.named_children if listed is not None else []
    return [child for child in children if child.type not in ("keyword_argument", "comment")]


def keywords(code: Code, call: Node) -> dict[str, Node]:
    """The keyword arguments of a call, whole: `mask=inside`."""
    listed = call.child_by_field_name("arguments")
    children = listed.named_children if listed is not None else []
    return {code.content(field(child, "name")): child for child in children if child.type == "keyword_argument"}


def sides(node: Node) -> tuple[Node, str, Node]:
    """Left operand, operator and right operand of a binary operator, or of a comparison of two values."""
    if node.type == "comparison_operator":
        return node.named_children[0], node.children[1].type, node.named_children[-1]
    return field(node, "left"), field(node, "operator").type, field(node, "right")


def replaced(node: Node, text: str) -> Change:
    return Change(node.start_byte, node.end_byte, text)


def without(code: Code, argument: Node) -> Change:
    """One argument less, with the comma that belongs to it."""
    siblings = argument.parent.children if argument.parent is not None else []
    index = next(i for i, child in enumerate(siblings) if child.id == argument.id)
    if siblings[index - 1].type == ",":
        return Change(siblings[index - 1].start_byte, argument.end_byte, "")
    end = siblings[index + 2].start_byte if siblings[index + 1].type == "," else argument.end_byte
    return Change(argument.start_byte, end, "")


def in_brackets(code: Code, node: Node) -> str:
    """The node's text, in brackets unless it stands for itself."""
    text = code.content(node)
    alone = ("identifier", "attribute", "call", "subscript", "integer", "float", "parenthesized_expression")
    return text if node.type in alone else f"({text})"


def changed(code: Any, changes: tuple[Change, ...]) -> str:
    """The text after `changes`, which do not overlap."""
    source, parts, position = code.document.source, [], 0
    for change in sorted(changes, key=lambda change: (change.start, change.end)):
        if change.start < position:
            raise ValueError("the changes of one fault overlap")
        parts += [source[position : change.start], change.text.encode()]
        position = change.end
    return b"".join([*parts, source[position:]]).decode()


def _function(document: Document, aliases: Aliases, node: Node) -> Function:
    decorated = node.parent if node.parent is not None and node.parent.type == "decorated_definition" else None
    decorators = [child for child in decorated.children if child.type == "decorator"] if decorated else []
    names = [canonical(document, inner, aliases) for decorator in decorators for inner in decorator.named_children]
    parameters = tuple(parameter.name for parameter in parameters_of(document, node))
    body = field(node, "body")
    return Function(
        node,
        document.content(field(node, "name")),
        "triton.jit" in names,
        parameters[:1] == ("self",),
        tuple(name for name in parameters if name != "self"),
        " " * body.start_point.column,
    )
