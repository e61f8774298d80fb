"""The outline of one top-level piece of a file: its definitions, and what it assigns and launches beside them."""

import re

from tree_sitter import Node

from kernelwright.source.bodies import Body, read_body
from kernelwright.source.cute import JIT, KERNEL
from kernelwright.source.definitions import NAME, Class, Function, Outline, RawLaunch
from kernelwright.source.document import Document, parse
from kernelwright.source.facts import elements_through, torch_facts, triton_facts
from kernelwright.source.imports import Aliases, dotted
from kernelwright.source.memory import PerPiece
from kernelwright.source.syntax import called, field, parameters_of, walk
from kernelwright.source.tensors import has_tensor_maths
from kernelwright.values import Facts

_DEFINITIONS = ("function_definition", "class_definition", "decorated_definition")
# Looked for first: most bodies hold no definition, and to walk through one costs more.
_DEFINES = re.compile(rb"\b(?:def|class)\b")
_DEEPEST = 20  # definitions inside more definitions than this are not looked for
_MARKS_OF_TRITON = frozenset(f"triton.language.{name}" for name in ("load", "store", "program_id"))


def _outline(source: bytes, aliases: Aliases) -> Outline:
    """The outline of one piece. Never raises for broken code: what the parser could make out counts."""
    document = parse(source.decode("utf-8", "replace"))
    root = document.tree.root_node
    reader = _Reader(document, aliases)
    reader.top_level(root)
    reader.definitions(root, None, None, 0)
    holding = walk(root, lambda node: document.source.find(b"Config", node.start_byte, node.end_byte) >= 0)
    configs = sum(called(document, node, aliases) == "triton.Config" for node in holding)
    return Outline(
        tuple(reader.functions), tuple(reader.classes), tuple(reader.assigned), tuple(reader.launches), configs
    )


outlines = PerPiece(_outline)


class _Reader:
    def __init__(self, document: Document, aliases: Aliases) -> None:
        self.document = document
        self.aliases = aliases
        self.functions: list[Function] = []
        self.classes: list[Class] = []
        self.assigned: list[tuple[str, frozenset[str]]] = []
        self.launches: list[RawLaunch] = []

    def top_level(self, root: Node) -> None:
        """The assignments and launches outside definitions."""
        found = read_body(self.document, root, self.aliases, definitions=False)
        self.launches += found.launches
        self.assigned += [(target, frozenset(NAME.findall(value))) for target, value in found.assignments]

    def definitions(self, node: Node, owner: str | None, outer: str | None, depth: int) -> None:
        """Every function and class in `node`, with those inside them."""
        if depth > _DEEPEST or not _DEFINES.search(self.document.source, node.start_byte, node.end_byte):
            return
        for whole in walk(node, into=lambda part: part.type not in _DEFINITIONS):
            if whole.type not in _DEFINITIONS:
                continue
            decorators: tuple[Node, ...] = ()
            definition: Node | None = whole
            if whole.type == "decorated_definition":
                decorators = tuple(child for child in whole.named_children if child.type == "decorator")
                definition = field(whole, "definition")
            if definition is None:
                continue
            if definition.type == "class_definition":
                self._class(definition, whole, outer, depth)
            elif definition.type == "function_definition":
                self._function(definition, whole, decorators, owner, outer, depth)

    def _class(self, node: Node, whole: Node, outer: str | None, depth: int) -> None:
        name, body = node.child_by_field_name("name"), node.child_by_field_name("body")
        if name is None or outer is not None:
            return
        bases = node.child_by_field_name("superclasses")
        text = self.document.content(name)
        before = len(self.functions)
        if body is not None:
            self.definitions(body, text, None, depth + 1)
        methods = tuple(f.name for f in self.functions[before:] if f.owner == text and f.outer is None)
        line, column = self._place(name)
        self.classes.append(
            Class(
                name=text,
                start_line=whole.start_point.row,
                end_line=whole.end_point.row + 1,
                name_line=line,
                name_column=column,
                bases=tuple(self._spelled(base) for base in bases.named_children) if bases else (),
                methods=methods,
            )
        )

    def _function(
        self,
        node: Node,
        whole: Node,
        decorators: tuple[Node, ...],
        owner: str | None,
        outer: str | None,
        depth: int,
    ) -> None:
        name, body = node.child_by_field_name("name"), field(node, "body")
        if name is None:
            return
        text = self.document.content(name)
        names = tuple(map(self._decorator, decorators))
        found = read_body(self.document, body, self.aliases) if body is not None else Body()
        is_jit = "triton.jit" in names
        uses_triton = is_jit or self._uses_triton(found, body)
        is_top_level = owner is None and outer is None
        facts, tensor_maths = Facts(), False
        operations_passed, passes_to = 0, frozenset[str]()
        if uses_triton:
            facts, passes_to = triton_facts(self.document, node, decorators, self.aliases)
            if found.returns:
                operations_passed, passes_to = elements_through(self.document, node, self.aliases, facts.operations)
        elif body is not None and (is_top_level or text == "forward"):
            facts = torch_facts(self.document, node, self.aliases)
            is_torch = is_top_level and KERNEL not in names and JIT not in names
            tensor_maths = is_torch and has_tensor_maths(self.document, node, self.aliases)
        for decorator in decorators:
            found.mentions.update(NAME.findall(self.document.content(decorator)))
        line, column = self._place(name)
        self.functions.append(
            Function(
                name=text,
                start_line=whole.start_point.row,
                end_line=whole.end_point.row + 1,
                name_line=line,
                name_column=column,
                owner=owner,
                outer=outer,
                decorators=names,
                is_jit=is_jit,
                uses_triton=uses_triton,
                parameters=tuple(parameter.name for parameter in parameters_of(self.document, node)),
                mentions=frozenset(found.mentions),
                launches=tuple(found.launches),
                assignments=tuple(found.assignments),
                called_in_loops=frozenset(found.called_in_loops),
                returns=found.returns,
                tensor_maths=tensor_maths,
                facts=facts,
                operations_passed=operations_passed,
                passes_to=passes_to,
            )
        )
        if body is not None:
            self.definitions(body, owner, outer or text, depth + 1)

    def _uses_triton(self, found: Body, body: Node | None) -> bool:
        """Written as a kernel although no decorator says so (yet): it uses tl.load or tl.store."""
        languages = [name for name, known in self.aliases.names.items() if known.startswith("triton.language")]
        if body is None or not found.mentions.intersection(languages):
            return False
        return any(called(self.document, node, self.aliases) in _MARKS_OF_TRITON for node in walk(body))

    def _decorator(self, node: Node) -> str:
        expression = node.named_children[0] if node.named_children else node
        if expression.type == "call":
            expression = expression.child_by_field_name("function") or expression
        return self._spelled(expression)

    def _spelled(self, node: Node) -> str:
        """The canonical name, or the text where nothing is imported under it."""
        return dotted(self.document, node, self.aliases) or self.document.content(node)

    def _place(self, name: Node) -> tuple[int, int]:
        """Line and column in code points: the tree counts bytes."""
        start = name.start_byte - name.start_point.column
        return name.start_point.row, len(self.document.source[start : name.start_byte].decode("utf-8", "replace"))
