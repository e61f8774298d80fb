"""Facts of one function, read from its tree without running it; lines count from the start of the tree's text."""

import re
from collections.abc import Iterable

from tree_sitter import Node

from kernelwright.ops import Kind, row
from kernelwright.source.document import Document
from kernelwright.source.imports import Aliases, dotted
from kernelwright.source.strides import Strides
from kernelwright.source.syntax import Parameter, argument, argument_text, called, field, parameters_of, walk
from kernelwright.source.tensors import MATMULS, REDUCTIONS, torch_operation, words
from kernelwright.values import Access, Dot, Facts, Loop, Reduction

_TL = "triton.language."
_TL_REDUCTIONS = words("sum max min argmax argmin xor_sum reduce reduce_or softmax")
_RESULT, _NOWHERE = -1, -2
_NO_ARITHMETIC = words(
    "cast reshape view trans permute broadcast_to expand_dims join split cat dot store static_assert"
)
_FROM_MEMORY = (_TL + "load", _TL + "atomic_add")
_LOOPS = ("for_statement", "while_statement")
_NEITHER = words("string comment")
_WITHOUT_PARTS = _NEITHER | words("identifier integer float true false none")  # more than half of all nodes
_VALUES = {"store": ("value", 1), "atomic": ("val", 1)}
_SUMMED = ("binary_operator", "parenthesized_expression", "call", "attribute")  # what may stand around a dot in a sum
_DTYPE = re.compile(r"\b(?:float(?:64|32|16)|bfloat16|float8\w*|int(?:64|32|16|8)|uint(?:64|32|16|8)|int1)\b")


def triton_facts(
    document: Document, function: Node, decorators: tuple[Node, ...], aliases: Aliases
) -> tuple[Facts, frozenset[str]]:
    """Facts of a Triton function: what it loads and stores, loops over, reduces and multiplies; and the functions that it
    passes loaded elements to."""
    body = field(function, "body")
    reader = _Triton(document, aliases)
    if body is not None:
        reader.read(body)
    parameters = parameters_of(document, function)
    facts = Facts(
        accesses=tuple(reader.accesses),
        loops=tuple(reader.loops),
        reductions=tuple(reader.reductions),
        dots=tuple(reader.dots),
        dtypes=tuple(sorted(set(_DTYPE.findall(document.content(function))))),
        constexprs=tuple(p.name for p in parameters if _is_constexpr(p)),
        parameters=tuple(p.name for p in parameters),
        autotune_configs=sum(_configs(document, decorator, aliases) for decorator in decorators),
        statements=reader.statements,
        operations=reader.operations,
    )
    return facts, frozenset(reader.passed_to)


def elements_through(document: Document, function: Node, aliases: Aliases, own: int) -> tuple[int, frozenset[str]]:
    """How many operations a Triton function that returns a value makes on each element that is passed to it, beside its `own`
    on what it loads, and the functions that it passes elements to.
    """
    body = field(function, "body")
    reader = _Triton(document, aliases)
    reader.passed(p.name for p in parameters_of(document, function) if not _is_constexpr(p))
    if body is not None:
        reader.read(body)
    return reader.operations - own, frozenset(reader.passed_to)


def torch_facts(document: Document, function: Node, aliases: Aliases) -> Facts:
    """Facts of a PyTorch function or method: its loops, reductions and matrix products by name."""
    body = field(function, "body")
    loops, reductions, dots, statements = [], [], [], 0
    stack: list[tuple[Node, bool]] = [(body, False)] if body is not None else []
    while stack:
        node, looped = stack.pop()
        kind = node.type
        if kind in _WITHOUT_PARTS:
            continue
        statements += kind.endswith("_statement")
        if kind in _LOOPS:
            loops.append(_loop(document, node))
            looped = True
        elif kind == "call":
            operation = torch_operation(document, node, aliases)
            if operation in REDUCTIONS:
                place = 0 if _is_method(document, node, aliases) else 1
                axis = None if row(operation).kind is Kind.LOSS else argument_text(document, node, "dim", place)
                reductions.append(Reduction(node.start_point.row, operation, axis, looped))
            elif operation in MATMULS:
                dots.append(Dot(node.start_point.row))
        elif kind == "binary_operator":
            operator = node.child_by_field_name("operator")
            if operator is not None and operator.type == "@":
                dots.append(Dot(node.start_point.row))
        stack += [(child, looped) for child in reversed(node.named_children)]
    dtypes = sorted(set(_DTYPE.findall(document.content(function))))
    return Facts(
        loops=tuple(loops),
        reductions=tuple(reductions),
        dots=tuple(dots),
        dtypes=tuple(dtypes),
        parameters=tuple(p.name for p in parameters_of(document, function)),
        statements=statements,
    )


def _is_constexpr(parameter: Parameter) -> bool:
    return parameter.annotation.strip("\"' ").endswith("constexpr")


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
        self._has_lanes = False  # offsets are made here, not given
        self._accumulated: set[str] = set()  # in a loop that has ended: one element for several that were loaded
        self.passed_to: set[str] = set()  # the functions of the file that take loaded elements

    def passed(self, names: Iterable[str]) -> None:
        """The parameters hold elements, as if they were loaded here."""
        self._loaded.update(names)

    def read(self, body: Node) -> None:
        self._has_lanes = b"arange" in self.document.source[body.start_byte : body.end_byte]
        # Each node with whether it is in a loop and what `+=` adds it to; an assignment again when its parts are done.
        stack: list[tuple[Node, bool, str | None, bool]] = [(body, False, None, False)]
        while stack:
            node, looped, accumulator, done = stack.pop()
            kind = node.type
            if done and kind in _LOOPS:
                self._accumulated |= self._accumulators(node)
                continue
            if done and kind == "return_statement":
                self.operations += sum(self._arithmetic(child)[0] for child in node.named_children)
                continue
            if done:
                self.strides.assign(node)
                self._remember_descriptor(node)
                self._count(node)
                continue
            if kind in _WITHOUT_PARTS or kind == "function_definition":
                continue
            self.statements += kind.endswith("_statement")
            if kind in _LOOPS:
                self.loops.append(_loop(self.document, node))
                looped = True
                stack.append((node, looped, None, True))
            elif kind == "call":
                self._call(node, looped, accumulator)
            elif kind in ("assignment", "augmented_assignment", "return_statement"):
                stack.append((node, looped, None, True))
            if kind == "augmented_assignment":
                left = node.child_by_field_name("left")
                accumulator = self.document.content(left) if left is not None else None
            elif kind not in _SUMMED:
                accumulator = None
            stack += [(child, looped, accumulator, False) for child in reversed(node.named_children)]

    def _call(self, node: Node, looped: bool, accumulator: str | None) -> None:
        function = node.child_by_field_name("function")
        if function is None:
            return
        name = called(self.document, node, self.aliases)
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
            self.reductions.append(Reduction(line, short, argument_text(self.document, node, "axis", 1), looped))
        elif short in ("dot", "dot_scaled"):
            given = argument_text(self.document, node, "acc", 2 if short == "dot" else None)
            out_dtype = argument_text(self.document, node, "out_dtype", None)
            self.dots.append(Dot(line, given or accumulator, out_dtype))

    def _method(self, node: Node, function: Node, looped: bool) -> None:
        """`desc.load(…)` of a tensor descriptor, and reductions written as methods."""
        attribute, value = function.child_by_field_name("attribute"), function.child_by_field_name("object")
        if function.type != "attribute" or attribute is None or value is None:
            return
        name, text = self.document.content(attribute), self.document.content(value)
        if name in ("load", "store") and text in self._descriptors:
            self.accesses.append(Access(name, node.start_point.row, text, innermost_stride=1, in_loop=looped))
        elif name in _TL_REDUCTIONS and dotted(self.document, value, self.aliases) is None:
            axis = argument_text(self.document, node, "axis", 0)
            self.reductions.append(Reduction(node.start_point.row, name, axis, looped))

    def _access(self, kind: str, node: Node, looped: bool) -> None:
        pointer = argument(self.document, node, "pointer", 0)
        if pointer is None:
            return
        value = argument(self.document, node, *_VALUES[kind]) if kind in _VALUES else None
        self.operations += self._arithmetic(value)[0] if value is not None else 0
        position = {"load": 1, "store": 2, "atomic": 2}[kind]
        self.accesses.append(
            Access(
                kind,
                node.start_point.row,
                self.document.content(pointer),
                argument_text(self.document, node, "mask", position),
                argument_text(self.document, node, "other", 2) if kind == "load" else None,
                self.strides.innermost(pointer),
                looped,
            )
        )

    def _count(self, assignment: Node) -> None:
        """Arithmetic on what comes from a load; that on pointers, masks and loop counters is not counted."""
        left, right = assignment.child_by_field_name("left"), field(assignment, "right")
        if left is None or right is None:
            return
        operations, is_tile = self._arithmetic(right)
        name = self.document.content(left)
        augmented = assignment.type == "augmented_assignment"
        if not augmented:
            self._accumulated.discard(name)
        if is_tile:
            self._loaded.add(name)
        elif not augmented:
            self._loaded.discard(name)
        self.operations += operations + (augmented and is_tile)

    def _arithmetic(self, expression: Node) -> tuple[int, bool]:
        """Count the operations that an expression makes on each loaded element; tell whether it has such elements.

        What is made of the result of a reduction is as good as nothing beside the elements that it folds.
        """
        above: list[int] = []  # for each node visited the index of the one that its elements go into
        made: list[int] = []  # for each node visited its own operations on an element
        takes: list[str] = []  # for each node visited the function of the file that it calls
        touched: set[int] = set()
        is_tile = False
        stack = [(expression, _RESULT)]
        while stack:
            node, around = stack.pop()
            kind = node.type
            if kind in _NEITHER:
                continue
            name = called(self.document, node, self.aliases) if kind == "call" else None
            if self._is_loaded(node, kind, name):
                while around >= 0 and around not in touched:
                    touched.add(around)
                    around = above[around]
                is_tile = is_tile or around == _RESULT
                continue
            folds = kind == "call" and self._folds(node, name)
            index = len(above)
            above.append(_NOWHERE if folds else around)
            made.append(self._made(node, name, folds))
            takes.append(self._function_of_file(node) if kind == "call" and name is None else "")
            if kind not in _WITHOUT_PARTS:
                stack += [(child, index) for child in node.named_children]
        self.passed_to.update(filter(None, (takes[index] for index in touched)))
        return sum(made[index] for index in touched), is_tile

    def _made(self, node: Node, name: str | None, folds: bool) -> int:
        """How many operations a node makes on each element that comes to it, without those inside of it."""
        if folds:
            return self._folded(node, name) not in self._accumulated
        if node.type == "binary_operator":
            return 1
        short = name[len(_TL) :] if name is not None and name.startswith(_TL) else None
        if short is None or short in _NO_ARITHMETIC:
            return 0
        return 2 if short == "fma" else 1

    def _function_of_file(self, call: Node) -> str:
        function = call.child_by_field_name("function")
        return self.document.content(function) if function is not None and function.type == "identifier" else ""

    def _folds(self, call: Node, name: str | None) -> bool:
        if name is not None:
            return name.startswith(_TL) and name[len(_TL) :] in _TL_REDUCTIONS - {"softmax"}
        function = call.child_by_field_name("function")
        attribute = function.child_by_field_name("attribute") if function is not None else None
        return attribute is not None and self.document.content(attribute) in _TL_REDUCTIONS

    def _folded(self, call: Node, name: str | None) -> str:
        """What a reduction folds: its first argument, or the object whose method it is."""
        function = call.child_by_field_name("function")
        method = function.child_by_field_name("object") if function is not None else None
        folded = method if name is None else argument(self.document, call, "input", 0)
        return self.document.content(folded) if folded is not None else ""

    def _accumulators(self, loop: Node) -> set[str]:
        """The names that a loop adds to: `acc += x`, or `acc = tl.fma(x, y, acc)`."""
        found: set[str] = set()
        for node in walk(loop):
            if node.type not in ("assignment", "augmented_assignment"):
                continue
            left, right = node.child_by_field_name("left"), field(node, "right")
            if left is None or right is None:
                continue
            name = self.document.content(left)
            if node.type == "augmented_assignment" or any(
                part.type == "identifier" and self.document.content(part) == name for part in walk(right)
            ):
                found.add(name)
        return found

    def _is_loaded(self, node: Node, kind: str, name: str | None) -> bool:
        """Tell whether a value has one element for each that is loaded: a single number for a whole program has not."""
        if kind == "identifier":
            return self.document.content(node) in self._loaded
        if name not in _FROM_MEMORY:
            return False
        pointer = argument(self.document, node, "pointer", 0)
        return pointer is None or not self._has_lanes or self.strides.varies(pointer)

    def _remember_descriptor(self, node: Node) -> None:
        left, right = node.child_by_field_name("left"), node.child_by_field_name("right")
        if left is None or right is None or right.type != "call":
            return
        name = called(self.document, right, self.aliases)
        if name is not None and name.endswith("make_tensor_descriptor"):
            self._descriptors.add(self.document.content(left))


def _configs(document: Document, decorator: Node, aliases: Aliases) -> int:
    return sum(called(document, node, aliases) == "triton.Config" for node in walk(decorator))


def _loop(document: Document, node: Node) -> Loop:
    line = node.start_point.row
    if node.type == "while_statement":
        condition = node.child_by_field_name("condition")
        return Loop(line, "", document.content(condition) if condition is not None else "")
    left, right = node.child_by_field_name("left"), node.child_by_field_name("right")
    step = argument_text(document, right, "step", 2) if right is not None and right.type == "call" else None
    return Loop(
        line,
        document.content(left) if left is not None else "",
        document.content(right) if right is not None else "",
        step,
    )


def _is_method(document: Document, call: Node, aliases: Aliases) -> bool:
    return called(document, call, aliases) is None
