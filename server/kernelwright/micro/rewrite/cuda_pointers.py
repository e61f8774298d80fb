"""What a CUDA function does with the memory behind a pointer: each use of its name is followed to what is read or written."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from tree_sitter import Node

from kernelwright.source.cuda import File, Function, Launch
from kernelwright.source.cuda.text import field, of_type, spelled

READ, WRITE, UNKNOWN = "read", "write", "unknown"
_LOADS = ("__ldg", "__ldcg", "__ldca", "__ldcs", "__ldlu", "__ldcv")
_STORES = ("__stwb", "__stcg", "__stcs", "__stwt")
_CASTS = ("reinterpret_cast", "static_cast", "const_cast")
_SWAPS = re.compile(r"(?:^|_|::)(?:swap|exchange)", re.IGNORECASE)
_COMPARISONS = ("==", "!=", "<", ">", "<=", ">=", "&&", "||", "-")
_NAMES = ("identifier", "type_identifier", "field_identifier")


@dataclass(frozen=True, eq=False)
class Use:
    """`kind`: READ, WRITE or UNKNOWN, at `node`. `aliases`: the declarations that the pointer came through."""

    kind: str
    node: Node
    aliases: tuple[Node, ...] = ()


def uses(file: File, function: Function, name: str) -> tuple[Use, ...]:
    """Everything that is done with the memory behind the pointer `name` of a function."""
    return tuple(_Follower(file, function).named(name, (), frozenset()))


def kinds(file: File, function: Function, name: str) -> frozenset[str]:
    return frozenset(one.kind for one in uses(file, function, name))


def written(file: File, function: Function) -> frozenset[str]:
    """The pointer parameters through which a function writes, or may."""
    pointers = [one.name for one in function.parameters if one.is_pointer]
    return frozenset(name for name in pointers if kinds(file, function, name) - {READ})


def mentions(file: File, function: Function) -> tuple[Node, ...]:
    """Where the text speaks of a function apart from its definition and its launches."""
    known = {function.name_node.start_byte, *(_callee(one).start_byte for one in file.launches_of(function.name))}
    written = re.compile(rf"\b{re.escape(function.name)}\b".encode())
    found = spelled(file.source, written, *_NAMES)
    return tuple(node for node in found if node.start_byte not in known and file.source.content(node) == function.name)


def _callee(launch: Launch) -> Node:
    callee = field(launch.node, "function")
    assert callee is not None
    return field(callee, "name") or callee


class _Follower:
    def __init__(self, file: File, function: Function) -> None:
        self._file = file
        self._function = function

    def named(self, name: str, aliases: tuple[Node, ...], seen: frozenset[str]) -> Iterator[Use]:
        """The uses of a pointer, and of the locals that are made of it."""
        if name in seen:
            return
        for node in of_type(self._function.body, "identifier"):
            if self._content(node) == name and not self._is_declared(node):
                yield from self._pointer(node, aliases, seen | {name})

    def _pointer(self, node: Node, aliases: tuple[Node, ...], seen: frozenset[str]) -> Iterator[Use]:
        """What becomes of an expression whose value points into the memory."""
        parent = node.parent
        match parent.type if parent is not None else "":
            case "binary_expression" if self._operator(parent) in _COMPARISONS:
                if self._operator(parent) == "-" and field(parent, "left") == node:
                    yield from self._pointer(_some(parent), aliases, seen)
            case "conditional_expression" if field(parent, "condition") == node:
                return
            case "parenthesized_expression" if _some(parent).parent is not None and self._is_condition(_some(parent)):
                return
            case (
                "binary_expression"
                | "parenthesized_expression"
                | "cast_expression"
                | "conditional_expression"
                | "update_expression"
            ):
                yield from self._pointer(_some(parent), aliases, seen)
            case "subscript_expression" if field(parent, "argument") == node:
                yield from self._element(_some(parent), aliases, seen)
            case "pointer_expression" if self._operator(parent) == "*":
                yield from self._element(_some(parent), aliases, seen)
            case "init_declarator":
                yield from self._declared(_some(parent), node, aliases, seen)
            case "assignment_expression":
                yield from self._assigned(_some(parent), node, aliases, seen)
            case "argument_list":
                yield from self._passed(_some(parent), node, aliases, seen)
            case "condition_clause" | "unary_expression" | "expression_statement":
                return
            case _:
                yield Use(UNKNOWN, node, aliases)

    def _element(self, node: Node, aliases: tuple[Node, ...], seen: frozenset[str]) -> Iterator[Use]:
        """What becomes of an element of the memory, or of a part of one."""
        parent = node.parent
        match parent.type if parent is not None else "":
            case "field_expression":
                call = _some(parent).parent
                if call is not None and call.type == "call_expression" and field(call, "function") == parent:
                    yield Use(UNKNOWN, node, aliases)
                else:
                    yield from self._element(_some(parent), aliases, seen)
            case "parenthesized_expression":
                yield from self._element(_some(parent), aliases, seen)
            case "subscript_expression" if field(parent, "argument") == node:
                yield from self._element(_some(parent), aliases, seen)
            case "assignment_expression" if field(parent, "left") == node:
                if self._operator(parent) != "=":
                    yield Use(READ, node, aliases)
                yield Use(WRITE, node, aliases)
            case "update_expression":
                yield Use(READ, node, aliases)
                yield Use(WRITE, node, aliases)
            case "pointer_expression" if self._operator(parent) == "&":
                yield from self._pointer(_some(parent), aliases, seen)
            case "init_declarator" if (field(parent, "declarator") or node).type == "reference_declarator":
                yield Use(UNKNOWN, node, aliases)
            case "argument_list":
                yield Use(self._by_value(_some(parent), node), node, aliases)
            case _:
                yield Use(READ, node, aliases)

    def _declared(self, declared: Node, node: Node, aliases: tuple[Node, ...], seen: frozenset[str]) -> Iterator[Use]:
        target, declaration = field(declared, "declarator"), declared.parent
        inner = target
        while inner is not None and inner.type == "pointer_declarator":
            inner = field(inner, "declarator")
        if inner is None or inner.type != "identifier" or declaration is None:
            yield Use(UNKNOWN, node, aliases)
            return
        yield from self.named(self._content(inner), (*aliases, declaration), seen)

    def _assigned(self, assignment: Node, node: Node, aliases: tuple[Node, ...], seen: frozenset[str]) -> Iterator[Use]:
        if field(assignment, "left") == node:
            return
        target = field(assignment, "left")
        if target is not None and target.type == "identifier" and self._content(target) in seen:
            return
        yield Use(UNKNOWN, node, aliases)

    def _passed(self, listed: Node, node: Node, aliases: tuple[Node, ...], seen: frozenset[str]) -> Iterator[Use]:
        call = listed.parent
        callee = field(call, "function")
        if call is None or callee is None:
            yield Use(UNKNOWN, node, aliases)
            return
        name = self._content(field(callee, "name") or callee)
        if name in _CASTS:
            yield from self._pointer(call, aliases, seen)
        elif name in _LOADS:
            yield Use(READ, node, aliases)
        elif name in _STORES:
            yield Use(WRITE, node, aliases)
        elif name.startswith("atomic"):
            yield Use(READ, node, aliases)
            yield Use(WRITE, node, aliases)
        else:
            yield from (Use(kind, node, aliases) for kind in sorted(self._callee_kinds(name, listed, node, seen)))

    def _callee_kinds(self, name: str, listed: Node, node: Node, seen: frozenset[str]) -> frozenset[str]:
        """What a device function of the file does with the memory behind one of its arguments."""
        called = [one for one in self._file.functions if one.name == name]
        places = [one for one in listed.named_children if one.type != "comment"]
        place = next((i for i, one in enumerate(places) if one == node), len(places))
        if len(called) != 1 or called[0] is self._function or place >= len(called[0].parameters):
            return frozenset({UNKNOWN})
        parameter = called[0].parameters[place]
        if not parameter.is_pointer:
            return frozenset({UNKNOWN})
        if parameter.is_const:
            return frozenset({READ})
        return frozenset({READ, WRITE})

    def _by_value(self, listed: Node, node: Node) -> str:
        """An element that a function is called with is read, unless the function takes a reference."""
        callee = field(listed.parent, "function")
        name = self._content(callee) if callee is not None else ""
        called = [one for one in self._file.functions if one.name == name]
        if any("&" in self._content(one.node) for function in called for one in function.parameters):
            return UNKNOWN
        is_macro = any((field(one, "name") or one).text == name.encode() for one in self._file.function_macros)
        return UNKNOWN if is_macro or _SWAPS.search(name) else READ

    def _is_declared(self, node: Node) -> bool:
        """Whether the name is given to something here rather than used."""
        child, parent = node, node.parent
        while parent is not None and parent.type in ("pointer_declarator", "reference_declarator", "array_declarator"):
            child, parent = parent, parent.parent
        if parent is None:
            return False
        return parent.type in ("init_declarator", "declaration") and field(parent, "declarator") == child

    def _is_condition(self, node: Node) -> bool:
        return node.parent is not None and node.parent.type in ("if_statement", "while_statement")

    def _operator(self, node: Node | None) -> str:
        found = field(node, "operator")
        return self._content(found) if found is not None else ""

    def _content(self, node: Node) -> str:
        return self._file.source.content(node)


def _some(node: Node | None) -> Node:
    assert node is not None
    return node
