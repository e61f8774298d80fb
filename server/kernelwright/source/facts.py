"""Facts of one function, read from its tree without running it; lines count from the start of the tree's text."""

import re

from tree_sitter import Node

from kernelwright.source.document import Document
from kernelwright.source.imports import Aliases, dotted
from kernelwright.source.strides import Strides
from kernelwright.source.tensors import MATMULS, REDUCTIONS, torch_operation, words
from kernelwright.values import Access, Dot, Facts, Loop, Reduction

_TL = "triton.language."
_TL_REDUCTIONS = words("sum max min argmax argmin xor_sum reduce reduce_or softmax")
_NO_ARITHMETIC = words(
    "cast reshape view trans permute broadcast_to expand_dims join split cat dot store static_assert"
)
_DTYPE = re.compile(r"\b(?:float(?:64|32|16)|bfloat16|float8\w*|int(?:64|32|16|8)|uint(?:64|32|16|8)|int1)\b")


def triton_facts(document: Document, function: Node, decorators: tuple[Node, ...], aliases: Aliases) -> Facts:
    """Facts of a Triton function: what it loads and stores, loops over, reduces and multiplies."""
    body = function.child_by_field_name("body")
    reader = _Triton(document, aliases)
    if body is not None:
        reader.read(body)
    parameters, constexprs = _parameters(document, function, aliases)
    return Facts(
        accesses=tuple(reader.accesses),
        loops=tuple(reader.loops),
        reductions=tuple(reader.reductions),
        dots=tuple(reader.dots),
        dtypes=tuple(sorted(set(_DTYPE.findall(document.content(function))))),
        constexprs=constexprs,
        parameters=parameters,
        autotune_configs=sum(_configs(document, decorator, aliases) for decorator in decorators),
        statements=reader.statements,
        operations=reader.operations,
    )


def torch_facts(document: Document, function: Node, aliases: Aliases) -> Facts:
    """Facts of a PyTorch function or method: its loops, reductions and matrix products by name."""
    body = function.child_by_field_name("body")
    loops, reductions, dots, statements = [], [], [], 0
    stack: list[tuple[Node, bool]] = [(body, False)] if body is not None else []
    while stack:
        node, looped = stack.pop()
        if node.type in ("string", "comment"):
            continue
        statements += _is_statement(node)
        if node.type in ("for_statement", "while_statement"):
            loops.append(_loop(document, node))
            looped = True
        elif node.type == "call":
            operation = torch_operation(document, node, aliases)
            if operation in REDUCTIONS:
                axis = _argument(document, node, "dim", 0 if _is_method(document, node, aliases) else 1)
                reductions.append(Reduction(node.start_point.row, operation, axis, looped))
            elif operation in MATMULS:
                dots.append(Dot(node.start_point.row))
        elif node.type == "binary_operator":
            operator = node.child_by_field_name("operator")
            if operator is not None and operator.type == "@":
                dots.append(Dot(node.start_point.row))
        stack.extend((child, looped) for child in reversed(node.named_children))
    parameters, _ = _parameters(document, function, aliases)
    dtypes = sorted(set(_DTYPE.findall(document.content(function))))
    return Facts(
        loops=tuple(loops),
        reductions=tuple(reductions),
        dots=tuple(dots),
        dtypes=tuple(dtypes),
        parameters=parameters,
        statements=statements,
    )


class _Triton:
    """One walk in source order, so that names stand for what they were last assigned."""

    def __init__(self, document: Document, aliases: Aliases) -> None:
        self.document = document
        self.aliases = aliases
        self.strides = Strides(document, aliases)
        self.accesses: list[Access] = []
        self.loops: list[Loop] = []
        self.reductions: list[Reduction] = []
        self.dots: list[Dot] = []
        self.statements = 0
        self.operations = 0
        self._descriptors: set[str] = set()
        self._loaded: set[str] = set()

    def read(self, body: Node) -> None:
        stack = [(body, False, False)]
        while stack:
            node, looped, done = stack.pop()
            if done:
                self.strides.assign(node)
                self._remember_descriptor(node)
                self._count(node)
                continue
            if node.type in ("string", "comment", "function_definition"):
                continue
            self.statements += _is_statement(node)
            if node.type in ("for_statement", "while_statement"):
                self.loops.append(_loop(self.document, node))
                looped = True
            elif node.type == "call":
                self._call(node, looped)
            elif node.type in ("assignment", "augmented_assignment"):
                stack.append((node, looped, True))
            stack.extend((child, looped, False) for child in reversed(node.named_children))

    def _call(self, node: Node, looped: bool) -> None:
        function = node.child_by_field_name("function")
        if function is None:
            return
        name = dotted(self.document, function, self.aliases)
        line = node.start_point.row
        if name is None:
            self._method(node, function, looped)
        elif not name.startswith(_TL):
            return
        elif (short := name[len(_TL) :]) in ("load", "store"):
            self._access(short, node, looped)
        elif short.startswith("atomic_"):
            self._access("atomic", node, looped)
        elif short in _TL_REDUCTIONS:
            self.reductions.append(Reduction(line, short, _argument(self.document, node, "axis", 1), looped))
        elif short in ("dot", "dot_scaled"):
            accumulator = _argument(self.document, node, "acc", 2 if short == "dot" else None)
            accumulator = accumulator or self._added_to(node)
            out_dtype = _argument(self.document, node, "out_dtype", None)
            self.dots.append(Dot(line, accumulator, out_dtype))

    def _method(self, node: Node, function: Node, looped: bool) -> None:
        """`desc.load(…)` of a tensor descriptor, and reductions written as methods."""
        attribute, value = function.child_by_field_name("attribute"), function.child_by_field_name("object")
        if function.type != "attribute" or attribute is None or value is None:
            return
        name, text = self.document.content(attribute), self.document.content(value)
        if name in ("load", "store") and text in self._descriptors:
            self.accesses.append(Access(name, node.start_point.row, text, innermost_stride=1, in_loop=looped))
        elif name in _TL_REDUCTIONS and dotted(self.document, value, self.aliases) is None:
            axis = _argument(self.document, node, "axis", 0)
            self.reductions.append(Reduction(node.start_point.row, name, axis, looped))

    def _access(self, kind: str, node: Node, looped: bool) -> None:
        pointer = _argument_node(self.document, node, "pointer", 0)
        if pointer is None:
            return
        position = {"load": 1, "store": 2, "atomic": 2}[kind]
        self.accesses.append(
            Access(
                kind,
                node.start_point.row,
                self.document.content(pointer),
                _argument(self.document, node, "mask", position),
                _argument(self.document, node, "other", 2) if kind == "load" else None,
                self.strides.innermost(pointer),
                looped,
            )
        )

    def _added_to(self, node: Node) -> str | None:
        parent = node.parent
        while parent is not None and parent.type in (
            "binary_operator",
            "parenthesized_expression",
            "call",
            "attribute",
        ):
            parent = parent.parent
        if parent is not None and parent.type == "augmented_assignment":
            left = parent.child_by_field_name("left")
            return self.document.content(left) if left is not None else None
        return None

    def _count(self, assignment: Node) -> None:
        """Arithmetic on what comes from a load; that on pointers, masks and loop counters is not counted."""
        left, right = assignment.child_by_field_name("left"), assignment.child_by_field_name("right")
        if left is None or right is None:
            return
        touched, operations = self._arithmetic(right)
        if assignment.type == "augmented_assignment" and touched:
            operations += 1
        if touched:
            self._loaded.add(self.document.content(left))
            self.operations += operations

    def _arithmetic(self, node: Node) -> tuple[bool, int]:
        """Whether an expression depends on a load, and how many operations it makes on such values."""
        if node.type == "identifier":
            return self.document.content(node) in self._loaded, 0
        name = None
        if node.type == "call":
            function = node.child_by_field_name("function")
            name = dotted(self.document, function, self.aliases) if function is not None else None
            if name in (_TL + "load", _TL + "atomic_add"):
                return True, 0
        parts = [self._arithmetic(child) for child in node.named_children if child.type not in ("string", "comment")]
        touched = any(t for t, _ in parts)
        operations = sum(count for _, count in parts)
        computes = node.type == "binary_operator" or (
            name is not None and name.startswith(_TL) and name[len(_TL) :] not in _NO_ARITHMETIC
        )
        return touched, operations + (1 if touched and computes else 0)

    def _remember_descriptor(self, node: Node) -> None:
        left, right = node.child_by_field_name("left"), node.child_by_field_name("right")
        if left is None or right is None or right.type != "call":
            return
        function = right.child_by_field_name("function")
        name = dotted(self.document, function, self.aliases) if function is not None else None
        if name is not None and name.endswith("make_tensor_descriptor"):
            self._descriptors.add(self.document.content(left))


def _parameters(document: Document, function: Node, aliases: Aliases) -> tuple[tuple[str, ...], tuple[str, ...]]:
    names, constexprs = [], []
    listed = function.child_by_field_name("parameters")
    for child in listed.named_children if listed else ():
        if child.type in ("comment", "ERROR"):
            continue
        name = child.child_by_field_name("name") or next(
            (c for c in (child, *child.named_children) if c.type == "identifier"), None
        )
        if name is None:
            continue
        names.append(document.content(name))
        annotation = child.child_by_field_name("type")
        if annotation is not None and document.content(annotation).strip("\"' ").endswith("constexpr"):
            constexprs.append(names[-1])
    return tuple(names), tuple(constexprs)


def _configs(document: Document, decorator: Node, aliases: Aliases) -> int:
    count, stack = 0, [decorator]
    while stack:
        node = stack.pop()
        if node.type == "call":
            function = node.child_by_field_name("function")
            if function is not None and dotted(document, function, aliases) == "triton.Config":
                count += 1
        stack.extend(node.named_children)
    return count


def _loop(document: Document, node: Node) -> Loop:
    line = node.start_point.row
    if node.type == "while_statement":
        condition = node.child_by_field_name("condition")
        return Loop(line, "", document.content(condition) if condition is not None else "")
    left, right = node.child_by_field_name("left"), node.child_by_field_name("right")
    step = _argument(document, right, "step", 2) if right is not None and right.type == "call" else None
    return Loop(
        line,
        document.content(left) if left is not None else "",
        document.content(right) if right is not None else "",
        step,
    )


def _is_statement(node: Node) -> bool:
    return node.type.endswith("_statement")


def _is_method(document: Document, call: Node, aliases: Aliases) -> bool:
    function = call.child_by_field_name("function")
    return function is not None and dotted(document, function, aliases) is None


def _argument_node(document: Document, call: Node, name: str, position: int | None) -> Node | None:
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


def _argument(document: Document, call: Node, name: str, position: int | None) -> str | None:
    node = _argument_node(document, call, name, position)
    return None if node is None else document.content(node)
