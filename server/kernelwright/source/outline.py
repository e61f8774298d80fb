"""What one top-level piece of a file defines, launches and mentions; lines count from the start of the piece."""

import functools
import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from tree_sitter import Node

from kernelwright.source.document import Document, parse
from kernelwright.source.facts import torch_facts, triton_facts
from kernelwright.source.imports import Aliases, dotted
from kernelwright.source.tensors import has_tensor_maths
from kernelwright.values import Facts

_NAME = re.compile(r"[^\W\d]\w*")
_BODY = ("function_definition", "class_definition")


@dataclass(frozen=True)
class RawLaunch:
    """`callee[grid](args)`: `callees` are the names that the launched expression mentions."""

    line: int
    callees: tuple[str, ...]
    grid: str
    args: tuple[str, ...]
    kwargs: tuple[tuple[str, str], ...]


@dataclass(frozen=True, eq=False)
class Function:
    """A def. `owner` is the class around it, `outer` the top-level function around it.

    Compared by identity: the outline of an unchanged piece is the same object, which makes it a cheap key.
    """

    name: str
    start_line: int
    end_line: int
    name_line: int
    name_column: int
    owner: str | None
    outer: str | None
    decorators: tuple[str, ...]
    is_jit: bool
    uses_triton: bool
    parameters: tuple[tuple[str, str], ...]  # name and annotation
    defaults: tuple[tuple[str, str], ...]
    mentions: frozenset[str]
    launches: tuple[RawLaunch, ...]
    assignments: tuple[tuple[str, str], ...]  # target and value as written, in order
    tensor_maths: bool
    facts: Facts
    called_in_loops: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Class:
    name: str
    start_line: int
    end_line: int
    name_line: int
    name_column: int
    bases: tuple[str, ...]
    methods: tuple[str, ...]
    mentions: frozenset[str]


@dataclass(frozen=True)
class Outline:
    functions: tuple[Function, ...] = ()
    classes: tuple[Class, ...] = ()
    assigned: tuple[tuple[str, frozenset[str]], ...] = ()  # top-level names, with what their values mention
    launches: tuple[RawLaunch, ...] = ()  # outside any function
    configs: int = 0  # how many triton.Config(…) are written here


@functools.lru_cache(maxsize=8192)
def outline(source: bytes, aliases: Aliases) -> Outline:
    """The outline of one piece. Never raises for broken code: what the parser could make out counts."""
    document = parse(source.decode("utf-8", "replace"))
    reader = _Reader(document, aliases)
    reader.read(document.tree.root_node, None, None)
    return Outline(
        tuple(reader.functions),
        tuple(reader.classes),
        tuple(reader.assigned),
        tuple(reader.launches),
        sum(reader.calls(node, "triton.Config") for node in _walk(document.tree.root_node))
        if b"Config" in source
        else 0,
    )


@dataclass
class _Body:
    mentions: set[str] = field(default_factory=set)
    launches: list[RawLaunch] = field(default_factory=list)
    assignments: list[tuple[str, str]] = field(default_factory=list)
    looped: set[str] = field(default_factory=set)


class _Reader:
    def __init__(self, document: Document, aliases: Aliases) -> None:
        self.document = document
        self.aliases = aliases
        self.functions: list[Function] = []
        self.classes: list[Class] = []
        self.assigned: list[tuple[str, frozenset[str]]] = []
        self.launches: list[RawLaunch] = []

    def read(self, node: Node, owner: str | None, outer: str | None) -> None:
        """Every definition in `node`, and at top level the assignments and launches beside them."""
        for child in node.named_children:
            if child.type == "function_definition":
                self._function(child, child, (), owner, outer)
            elif child.type == "class_definition":
                self._class(child, child, outer)
            elif child.type == "decorated_definition":
                self._decorated(child, owner, outer)
            else:
                if owner is None and outer is None:
                    self._top_level(child)
                self.read(child, owner, outer)

    def calls(self, node: Node, name: str) -> bool:
        if node.type != "call":
            return False
        function = node.child_by_field_name("function")
        return function is not None and dotted(self.document, function, self.aliases) == name

    def _decorated(self, node: Node, owner: str | None, outer: str | None) -> None:
        decorators = tuple(child for child in node.named_children if child.type == "decorator")
        definition = node.child_by_field_name("definition")
        if definition is None:
            return
        if definition.type == "class_definition":
            self._class(definition, node, outer)
        elif definition.type == "function_definition":
            self._function(definition, node, decorators, owner, outer)

    def _class(self, node: Node, whole: Node, outer: str | None) -> None:
        name, body = node.child_by_field_name("name"), node.child_by_field_name("body")
        if name is None or outer is not None:
            return
        bases = node.child_by_field_name("superclasses")
        text = self.document.content(name)
        before = len(self.functions)
        if body is not None:
            self.read(body, text, None)
        methods = tuple(f.name for f in self.functions[before:] if f.owner == text and f.outer is None)
        found = _Body()
        self._scan(node, found)
        line, column = self._place(name)
        self.classes.append(
            Class(
                text,
                whole.start_point.row,
                whole.end_point.row + 1,
                line,
                column,
                tuple(self._base(base) for base in bases.named_children) if bases else (),
                methods,
                frozenset(found.mentions - {text}),
            )
        )

    def _base(self, node: Node) -> str:
        return dotted(self.document, node, self.aliases) or self.document.content(node)

    def _function(
        self, node: Node, whole: Node, decorators: tuple[Node, ...], owner: str | None, outer: str | None
    ) -> None:
        name, body = node.child_by_field_name("name"), node.child_by_field_name("body")
        if name is None:
            return
        text = self.document.content(name)
        names = tuple(self._decorator(d) for d in decorators)
        is_jit = "triton.jit" in names
        found = _Body()
        if body is not None:
            self._scan(body, found)
        parameters, defaults = self._parameters(node)
        uses_triton = is_jit or self._uses_triton(found, body)
        facts = Facts()
        own = owner is None and outer is None
        if uses_triton:
            facts = triton_facts(self.document, node, decorators, self.aliases)
        elif body is not None and (own or text == "forward"):
            facts = torch_facts(self.document, node, self.aliases)
        maths = own and not uses_triton and body is not None and has_tensor_maths(self.document, node, self.aliases)
        line, column = self._place(name)
        for decorator in decorators:
            found.mentions.update(_NAME.findall(self.document.content(decorator)))
        self.functions.append(
            Function(
                text,
                whole.start_point.row,
                whole.end_point.row + 1,
                line,
                column,
                owner,
                outer,
                names,
                is_jit,
                uses_triton,
                parameters,
                defaults,
                frozenset(found.mentions),
                tuple(found.launches),
                tuple(found.assignments),
                maths,
                facts,
                frozenset(found.looped),
            )
        )
        if body is not None:
            self.read(body, owner, outer or text)

    def _uses_triton(self, found: _Body, body: Node | None) -> bool:
        """Written as a kernel although no decorator says so (yet): it uses tl.load or tl.store."""
        languages = [n for n, known in self.aliases.names.items() if known.startswith("triton.language")]
        if body is None or not found.mentions.intersection(languages):
            return False
        return any(
            self.calls(node, name)
            for node in _walk(body)
            for name in ("triton.language.load", "triton.language.store", "triton.language.program_id")
        )

    def _decorator(self, node: Node) -> str:
        expression = node.named_children[0] if node.named_children else node
        if expression.type == "call":
            expression = expression.child_by_field_name("function") or expression
        return dotted(self.document, expression, self.aliases) or self.document.content(expression)

    def _parameters(self, node: Node) -> tuple[tuple[tuple[str, str], ...], tuple[tuple[str, str], ...]]:
        parameters, defaults = [], []
        listed = node.child_by_field_name("parameters")
        for child in listed.named_children if listed else ():
            name = child.child_by_field_name("name") or next(
                (c for c in (child, *child.named_children) if c.type == "identifier"), None
            )
            if name is None or child.type in ("comment", "ERROR"):
                continue
            text = self.document.content(name)
            annotation, value = child.child_by_field_name("type"), child.child_by_field_name("value")
            parameters.append((text, self.document.content(annotation) if annotation else ""))
            if value is not None:
                defaults.append((text, self.document.content(value)))
        return tuple(parameters), tuple(defaults)

    def _top_level(self, node: Node) -> None:
        """Assignments and launches of a statement, apart from those in definitions inside it."""
        found = _Body()
        self._scan(node, found, definitions=False)
        self.launches += found.launches
        self.assigned += [
            (target, frozenset(_NAME.findall(value)))
            for target, value in found.assignments
            if node.type == "expression_statement"
        ]

    def _scan(self, node: Node, found: _Body, in_loop: bool = False, definitions: bool = True) -> None:
        stack = [(node, in_loop)]
        while stack:
            current, looped = stack.pop()
            kind = current.type
            if kind == "identifier":
                found.mentions.add(self.document.content(current))
                continue
            if kind in ("comment", "string") or (not definitions and kind in _BODY):
                continue
            if kind == "assignment":
                self._assignment(current, found)
            elif kind == "function_definition" and current is not node:
                self._local_function(current, found)
            elif kind == "call":
                if looped and (function := current.child_by_field_name("function")) is not None:
                    found.looped.add(self.document.content(function))
            elif kind == "subscript":
                self._launch(current, found)
            looped = looped or kind in ("for_statement", "while_statement")
            stack.extend((child, looped) for child in reversed(current.named_children))

    def _assignment(self, node: Node, found: _Body) -> None:
        left, right = node.child_by_field_name("left"), node.child_by_field_name("right")
        if left is not None and right is not None:
            found.assignments.append((self.document.content(left), self.document.content(right)))

    def _local_function(self, node: Node, found: _Body) -> None:
        """`def grid(meta): return (…)` counts as `grid = lambda meta: (…)`."""
        name = node.child_by_field_name("name")
        returned = [n for n in _walk(node) if n.type == "return_statement" and n.named_children]
        if name is not None and len(returned) == 1:
            value = self.document.content(returned[0].named_children[0])
            found.assignments.append((self.document.content(name), f"lambda META: {value}"))

    def _launch(self, node: Node, found: _Body) -> None:
        value = node.child_by_field_name("value")
        if value is None or value.type not in ("identifier", "attribute", "call"):
            return
        parent = node.parent
        arguments: Node | None = None
        skip = 0
        if parent is not None and parent.type == "call" and parent.child_by_field_name("function") == node:
            arguments = parent.child_by_field_name("arguments")
        elif parent is not None and parent.type == "argument_list" and parent.parent is not None:
            if not self.calls(parent.parent, "functools.partial"):
                return
            arguments, skip = parent, 1
        else:
            return
        args, kwargs = [], []
        for child in arguments.named_children[skip:] if arguments else ():
            if child.type == "keyword_argument":
                name, content = child.child_by_field_name("name"), child.child_by_field_name("value")
                if name is not None and content is not None:
                    kwargs.append((self.document.content(name), self.document.content(content)))
            elif child.type != "comment":
                args.append(self.document.content(child))
        start, end = value.end_byte - node.start_byte, node.end_byte - node.start_byte
        whole = self.document.source[node.start_byte : node.end_byte]
        grid = whole[start:end].decode("utf-8", "replace").strip()[1:-1].strip()
        names = tuple(_NAME.findall(self.document.content(value)))
        found.launches.append(RawLaunch(node.start_point.row, names, grid, tuple(args), tuple(kwargs)))

    def _place(self, name: Node) -> tuple[int, int]:
        """Line and column in code points: the tree counts bytes."""
        start = name.start_byte - name.start_point.column
        return name.start_point.row, len(self.document.source[start : name.start_byte].decode("utf-8", "replace"))


def _walk(node: Node) -> Iterator[Node]:
    stack = [node]
    while stack:
        current = stack.pop()
        yield current
        stack.extend(reversed(current.named_children))
