"""The statements of a kernel in the order in which a thread runs them."""

from collections.abc import Sequence
from typing import TypeVar

from tree_sitter import Node

from kernelwright.indices.expressions import LOCAL
from kernelwright.indices.loops import Loops
from kernelwright.indices.memory import Array, Launched, TooMuch
from kernelwright.indices.terms import Term
from kernelwright.indices.typed import Value
from kernelwright.source.cuda.definitions import File, Function
from kernelwright.source.cuda.text import field, walk

_T = TypeVar("_T")

_JUMPS = ("return_statement", "break_statement", "continue_statement")


def followed(file: File, function: Function, launched: Launched) -> "Statements":
    """Run a kernel as a thread does. Raises TooMuch where it is not followed."""
    if function.node.has_error or any(
        one.type in ("goto_statement", "labeled_statement") for one in walk(function.body)
    ):
        raise TooMuch
    run = Statements(file, launched)
    for parameter in function.parameters:
        run.begin(parameter.name, parameter.base, parameter.is_pointer and parameter.pointers == 1)
    for name in function.templates:
        if name in launched.values:
            run.env[name] = run.math.integer(launched.values[name])
    run.statements(function.body)
    return run


class Statements(Loops):
    """Runs statements; `accesses` are those that they make."""

    def begin(self, name: str, kind: str, is_pointer: bool) -> None:
        """Give a parameter of the kernel its value."""
        integer = self.kind_of(kind)
        if is_pointer:
            size = self.size_of(kind)
            if size is not None:
                self.arrays[name] = Array(name, "global", size, self.launched.extents.get(name))
                self.env[name] = Value(self.terms.number(0), None, name, kind)
                return
        self.kinds[name] = kind
        if integer is not None and not is_pointer and name in self.launched.values:
            self.env[name] = self.math.converted(self.math.integer(self.launched.values[name]), integer)
        else:
            self.env[name] = Value(self.terms.unknown(f"parameter {name}"), None if is_pointer else integer)

    def statements(self, body: Node) -> None:
        """Run a block; what it declares ends with it."""
        env, kinds, sizes = dict(self.env), dict(self.kinds), dict(self.sizes)
        self.has_ended = False
        declared: set[str] = set()
        for one in body.named_children:
            if self.has_ended:
                break
            declared |= self._declares(one)
            self.statement(one)
        for name in declared:
            _restore(self.env, env, name)
            _restore(self.kinds, kinds, name)
            _restore(self.sizes, sizes, name)

    def statement(self, node: Node) -> None:
        match node.type:
            case "compound_statement":
                self.statements(node)
            case "declaration":
                self._declaration(node)
            case "expression_statement":
                for one in node.named_children:
                    self.value(one)
            case "if_statement":
                self._if(node)
            case "for_statement" | "while_statement" | "do_statement":
                self.loop(node)
            case "return_statement":
                value = self.value(node.named_children[0]) if node.named_children else None
                self.returned.append((self.path, value))
                self.has_ended = True
            case "break_statement" | "continue_statement":
                self.has_ended = True
            case (
                "comment" | "using_declaration" | "alias_declaration" | "type_definition" | "static_assert_declaration"
            ):
                return
            case "preproc_call" | "preproc_def" | "attributed_statement" if not _leaves(node):
                for one in node.named_children if node.type == "attributed_statement" else ():
                    if one.type.endswith("statement"):
                        self.statement(one)
            case _:
                self._unfollowed(node)

    def _unfollowed(self, node: Node) -> None:
        """Forget what a statement may change that is not read; after it no barrier and no path is certain."""
        self.forget(*self.changed(node))
        self.is_partial = True
        self.phase = self.terms.fresh("phase")
        if _leaves(node):
            self.path = (*self.path, self.terms.fresh("path"))

    def _if(self, node: Node) -> None:
        test, taken, other = (field(node, name) for name in ("condition", "consequence", "alternative"))
        if test is None or taken is None or any(one.type == "init_statement" for one in test.named_children):
            self._unfollowed(node)
            return
        condition = self.condition(field(test, "value") or test)
        if other is not None and other.type == "else_clause":
            other = other.named_children[-1] if other.named_children else None
        env, path, phase = dict(self.env), self.path, self.phase
        ends = []
        for holds, branch in ((condition, taken), (self.terms.negated(condition), other)):
            self.env, self.path, self.phase, self.has_ended = dict(env), (*path, holds), phase, holds.number == 0
            if branch is not None and not self.has_ended:
                self.statement(branch)
            ends.append((self.env, self.path, self.phase, self.has_ended))
        self._join(condition, path, ends)

    def _join(
        self,
        condition: Term,
        path: tuple[Term, ...],
        ends: Sequence[tuple[dict[str, Value], tuple[Term, ...], Term, bool]],
    ) -> None:
        (env, one, phase, ended), (other_env, other, other_phase, other_ended) = ends
        self.has_ended = ended and other_ended
        if ended or other_ended:
            self.env, self.path, self.phase = (other_env, other, other_phase) if ended else (env, one, phase)
            return
        terms = self.terms
        if len(one) == len(other) == len(path) + 1:
            self.path = path
        else:
            first = second = terms.number(1)
            for each in one[len(path) :]:
                first = terms.both(first, each)
            for each in other[len(path) :]:
                second = terms.both(second, each)
            self.path = (*path, terms.either(first, second))
        self.env = {
            name: self.math.chosen(condition, value, other_env[name])
            for name, value in env.items()
            if name in other_env
        }
        self.phase = phase if phase is other_phase else terms.fresh("phase")

    def _declares(self, node: Node) -> set[str]:
        if node.type != "declaration":
            return set()
        named = (_name_of(one) for one in node.children_by_field_name("declarator"))
        return {self.content(one) for one in named if one is not None}

    def _declaration(self, node: Node) -> None:
        kind = field(node, "type")
        written = self.content(kind) if kind is not None else ""
        is_shared = "__shared__" in self.content(node)[:80]
        for declarator in node.children_by_field_name("declarator"):
            named = _name_of(declarator)
            if named is None:
                continue
            name, shape = self.content(named), _shape(named)
            value_node = field(declarator, "value") if declarator.type == "init_declarator" else None
            if is_shared:
                self._shared(name, written, shape)
                continue
            self.sizes.pop(name, None)
            value = self.value(value_node) if value_node is not None else Value(self.terms.unknown(f"unset {name}"))
            if any(one.type == "array_declarator" for one in shape):
                value = Value(self.terms.fresh(f"array {name}"), None, "", LOCAL)
                self.env[name], self.kinds[name] = value, ""
                continue
            is_pointer = any(one.type == "pointer_declarator" for one in shape)
            if any(one.type == "reference_declarator" for one in shape):
                value = Value(self.terms.fresh(f"reference {name}"))
                self.is_partial = True
            self.kinds[name] = "" if is_pointer else written
            if is_pointer and value.is_pointer and value.pointee != written and written != "auto":
                value = Value(value.term, None, value.base, written)
            self.env[name] = value if is_pointer else self.declared_as(value, written)

    def _shared(self, name: str, written: str, shape: Sequence[Node]) -> None:
        size = self.size_of(written)
        sizes = [field(one, "size") for one in shape if one.type == "array_declarator"]
        numbers = [self.value(one).term.number if one is not None else None for one in sizes]
        if size is None or None in numbers[1:] or any(one.type == "pointer_declarator" for one in shape):
            self.env[name] = Value(self.terms.fresh(f"shared {name}"))
            self.sizes.pop(name, None)
            return
        extent: int | None = size
        for number in numbers:
            extent = extent * number if extent is not None and number is not None else None
        if sizes and sizes[0] is None:
            extent = self.launched.shared
        self.arrays[name] = Array(name, "shared", size, extent)
        self.sizes[name] = tuple(one or 0 for one in numbers)
        self.env[name] = Value(self.terms.number(0), None, name, written)


def _restore(now: dict[str, _T], before: dict[str, _T], name: str) -> None:
    now.pop(name, None)
    if name in before:
        now[name] = before[name]


def _name_of(declarator: Node) -> Node | None:
    inner: Node | None = field(declarator, "declarator") if declarator.type == "init_declarator" else declarator
    while inner is not None and inner.type != "identifier":
        inner = field(inner, "declarator") or next(iter(inner.named_children), None)
    return inner


def _shape(name: Node) -> list[Node]:
    """The declarators around a name, the innermost first."""
    found, node = [], name.parent
    while node is not None and node.type.endswith("_declarator") and node.type != "init_declarator":
        found.append(node)
        node = node.parent
    return found


def _leaves(node: Node) -> bool:
    return any(one.type in _JUMPS for one in walk(node))
