"""A CUDA text as a tree, and what the operators ask of it."""

from collections.abc import Iterator
from dataclasses import dataclass

from benchmarks.mutants.mutant import Fault
from benchmarks.mutants.syntax import Change, field, replaced
from tree_sitter import Node

from kernelwright.source.cuda import File, Function, Source
from kernelwright.source.cuda import read as read_file
from kernelwright.source.cuda.text import of_type

_ALONE = ("identifier", "field_expression", "call_expression", "subscript_expression", "number_literal")


@dataclass(frozen=True)
class Code:
    """One text with its tree and its functions."""

    document: Source
    file: File

    def content(self, node: Node) -> str:
        return self.document.content(node)

    def functions(self, *, on_device: bool) -> Iterator[Function]:
        return (one for one in self.file.functions if (one.is_kernel or one.is_device) is on_device)

    def on_device(self, *types: str) -> Iterator[Node]:
        """The nodes of these types in the bodies of kernels and device functions."""
        return (node for one in self.functions(on_device=True) for node in of_type(one.body, *types))

    def on_host(self, *types: str) -> Iterator[Node]:
        return (node for one in self.functions(on_device=False) for node in of_type(one.body, *types))

    def floats(self) -> set[str]:
        """The names that are declared on the device as float, or as pointers to and arrays of them."""
        names = {one.name for f in self.functions(on_device=True) for one in f.parameters if one.base == "float"}
        for node in self.on_device("declaration"):
            if self.content(field(node, "type")) == "float":
                declared = (next(of_type(one, "identifier")) for one in node.children_by_field_name("declarator"))
                names |= {self.content(name) for name in declared}
        return names


def read(text: str) -> Code:
    file = read_file(text)
    return Code(file.source, file)


def became(code: Code, node: Node, text: str) -> Fault:
    """The node replaced by `text`."""
    return Fault((replaced(node, text),), f"{code.content(node)} became {text}")


def dropped(code: Code, node: Node, rest: str) -> Fault:
    """The node gone, but for `rest`."""
    return Fault((replaced(node, rest),), f"dropped: {' '.join(code.content(node).split())}")


def operator_became(code: Code, node: Node, sign: str) -> Fault:
    """Another operator in a binary expression or an assignment."""
    operator = field(node, "operator")
    words = f"{operator.type} became {sign} in {' '.join(code.content(node).split())}"
    return Fault((Change(operator.start_byte, operator.end_byte, sign),), words)


def in_brackets(code: Code, node: Node) -> str:
    text = code.content(node)
    return text if node.type in (*_ALONE, "parenthesized_expression") else f"({text})"


def in_head(node: Node) -> bool:
    """Whether the node is a loop's condition or step, or part of one: a loop that does not end shows nothing but that."""
    child, parent = node, node.parent
    while parent is not None and parent.type != "compound_statement":
        if parent.type == "for_statement":
            return child.id != field(parent, "body").id and "declaration" not in child.type
        child, parent = parent, parent.parent
    return False


def subscript(node: Node) -> tuple[Node, Node]:
    """What is indexed, and the index."""
    return field(node, "argument"), field(node, "indices").named_children[0]


def called(code: Code, node: Node) -> str:
    """The name of the function that a call calls."""
    return code.content(field(node, "function"))


def arguments(node: Node) -> list[Node]:
    return [one for one in field(node, "arguments").named_children if one.type != "comment"]
