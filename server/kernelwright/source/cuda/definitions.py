"""What a CUDA text defines and launches: kernels, device helpers, host functions, in order of the text."""

import ast
import functools
import operator
import re
from collections.abc import Iterator
from dataclasses import dataclass

from tree_sitter import Node

from kernelwright.source.cuda.text import Source, field, of_type, parse, parse_apart, spelled, walk

HOLDERS = frozenset(
    (
        *("translation_unit", "namespace_definition", "declaration_list", "linkage_specification"),
        *("preproc_if", "preproc_ifdef", "preproc_else", "preproc_elif", "template_declaration"),
    )
)
_QUALIFIER = re.compile(
    r"__(?:global|device|host)__|\b(?:static|inline|extern|constexpr|__forceinline__|__noinline__)\b"
)
_RESTRICT = re.compile(r"\b(?:__restrict(?:__)?|restrict|[A-Z0-9_]*RESTRICT_*)\b")  # or a macro that stands for it
_DEFINED = re.compile(rb"#[ \t]*define\b")
_DEFINE = re.compile(r"^[ \t]*#[ \t]*define[ \t]+(\w+)[ \t]+(.*\S)", re.M)
_CONTINUED = re.compile(r"\\\r?\n")
MACRO = re.compile(r"^[ \t]*#[ \t]*define[ \t]+(\w+)\(([\w, \t]*)\)[ \t]*((?:[^\\\n]|\\\r?\n)*)", re.M)
_NAME = re.compile(r"[A-Za-z_]\w*")
_SUFFIX = re.compile(r"\b(\d+)[uUlL]+\b")
_DEEP = 8  # constants that stand for constants
_NAMED = ("identifier", "field_identifier", "qualified_identifier", "destructor_name", "operator_name")


@dataclass(frozen=True, eq=False)
class Parameter:
    """One parameter: `const float* __restrict__ x` has the base "float", one `*`, and a const pointee."""

    name: str
    base: str
    pointers: int
    is_const: bool
    is_restrict: bool
    is_reference: bool
    node: Node

    @property
    def is_pointer(self) -> bool:
        return self.pointers > 0


@dataclass(frozen=True, eq=False)
class Launch:
    """`kernel<T><<<grid, block, shared, stream>>>(arguments)` in a function; what is not given is None."""

    kernel: str
    node: Node
    function: "Function"
    configuration: Node
    arguments: tuple[Node, ...]

    @property
    def _given(self) -> list[Node]:
        return [one for one in self.configuration.named_children if one.type != "comment"]

    @property
    def grid(self) -> Node | None:
        return next(iter(self._given), None)

    @property
    def block(self) -> Node | None:
        return next(iter(self._given[1:]), None)

    @property
    def shared(self) -> Node | None:
        return next(iter(self._given[2:]), None)

    @property
    def stream(self) -> Node | None:
        return next(iter(self._given[3:]), None)


@dataclass(frozen=True, eq=False)
class Function:
    """A definition with a body. `outer` holds its template parameters too; `qualifiers` are `__global__`, `static`, ...

    `templates` are the names of its template parameters, `bounds` the numbers of `__launch_bounds__` as written.
    """

    name: str
    node: Node
    outer: Node
    name_node: Node
    body: Node
    qualifiers: frozenset[str]
    parameters: tuple[Parameter, ...]
    templates: tuple[str, ...] = ()
    bounds: tuple[str, ...] = ()

    @property
    def is_kernel(self) -> bool:
        return "__global__" in self.qualifiers

    @property
    def is_device(self) -> bool:
        return "__device__" in self.qualifiers

    @property
    def is_host(self) -> bool:
        return not self.is_kernel and (not self.is_device or "__host__" in self.qualifiers)

    def parameter(self, name: str) -> Parameter | None:
        return next((one for one in self.parameters if one.name == name), None)


@dataclass(frozen=True, eq=False)
class File:
    """A text with its functions, its launches, and the macros and constants that are plain numbers."""

    source: Source
    functions: tuple[Function, ...]
    launches: tuple[Launch, ...]

    @property
    def kernels(self) -> tuple[Function, ...]:
        return tuple(one for one in self.functions if one.is_kernel)

    def function(self, name: str) -> Function | None:
        return next((one for one in self.functions if one.name == name), None)

    def kernel(self, name: str) -> Function | None:
        return next((one for one in self.kernels if one.name == name), None)

    def launches_of(self, kernel: str) -> tuple[Launch, ...]:
        return tuple(one for one in self.launches if one.kernel == kernel)

    @functools.cached_property
    def defines(self) -> dict[str, str]:
        """Object-like macros, with what they stand for."""
        return {match[1]: match[2].split("//")[0].strip() for match in _DEFINE.finditer(self.source.text)}

    @functools.cached_property
    def macros(self) -> "File":
        """The macros with parameters as functions that return what each stands for."""
        lines = [f"#define {name} {value}" for name, value in self.constants.items()]
        for name, parameters, value in MACRO.findall(self.source.text):
            given = ", ".join(f"int {one.strip()}" for one in parameters.split(","))
            lines.append(f"int {name}({given}) {{ return {_CONTINUED.sub(' ', value)}; }}")
        return read_apart("\n".join(lines) + "\n")

    @functools.cached_property
    def aliases(self) -> dict[str, str]:
        """The types that have another name here: `typedef unsigned char byte;`, `using real = float;`, and enumerations."""
        found = {}
        for node in _outermost(self.source.tree.root_node):
            if node.type not in ("type_definition", "alias_declaration", "enum_specifier"):
                continue
            kind = node if node.type == "enum_specifier" else field(node, "type")
            name = field(node, "declarator") or field(node, "name")
            if kind is not None and name is not None:
                listed = field(kind, "body") if kind.type == "enum_specifier" else None
                first = next(of_type(listed, "enumerator"), None) if listed is not None else None
                found[self.source.content(name)] = self._enumeration(first) if first else self.source.content(kind)
        return found

    def _enumeration(self, first: Node) -> str:
        """An enumeration as a type, by its first name."""
        value = field(first, "value")
        number = self.number(self.source.content(value)) if value is not None else 0
        return f"kw_enum<{number or 0}>"

    @functools.cached_property
    def macro_nodes(self) -> tuple[Node, ...]:
        """The definitions of macros in order, those that take arguments among them."""
        return tuple(spelled(self.source, _DEFINED, "preproc_def", "preproc_function_def"))

    @functools.cached_property
    def function_macros(self) -> tuple[Node, ...]:
        """The macros that take arguments."""
        return tuple(one for one in self.macro_nodes if one.type == "preproc_function_def")

    @functools.cached_property
    def constants(self) -> dict[str, str]:
        """Macros, and `const` or `constexpr` numbers at top level, with what they stand for as written."""
        found = dict(self.defines)
        for node in _outermost(self.source.tree.root_node):
            words = [self.source.content(one) for one in node.named_children if one.type.endswith("_qualifier")]
            if node.type != "declaration" or not {"const", "constexpr"} & {*words, *self._specifiers(node)}:
                continue
            for declared in of_type(node, "init_declarator"):
                name, value = field(declared, "declarator"), field(declared, "value")
                if name is not None and name.type == "identifier" and value is not None:
                    found[self.source.content(name)] = self.source.content(value)
        return found

    def number(self, written: str, depth: int = 0) -> int | None:
        """The value of an expression of numbers and constants, as written; None where anything else is in it."""
        known = {name: self.number(self.constants[name], depth + 1) for name in _NAME.findall(written) if depth < _DEEP
                 if name in self.constants}  # fmt: skip
        if not set(_NAME.findall(_SUFFIX.sub(r"\1", written))) <= known.keys() or None in known.values():
            return None
        try:
            tree = ast.parse(_NAME.sub(lambda m: str(known[m[0]]), _SUFFIX.sub(r"\1", written)), mode="eval")
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            return None
        return _value(tree.body)

    def _specifiers(self, node: Node) -> list[str]:
        return self.source.content(node).split("=")[0].split()


def read(text: str) -> File:
    """What a text defines, read once for all who ask."""
    return _read(text)


def read_apart(text: str) -> File:
    """What a text defines that is made of pieces of the one being typed."""
    return file_of(parse_apart(text))


@functools.lru_cache(maxsize=32)
def read_together(texts: tuple[str, ...]) -> File:
    """What some pieces of the text being typed define, each on lines of its own."""
    return read_apart("\n".join(texts))


@functools.lru_cache(maxsize=8)
def _read(text: str) -> File:
    return file_of(parse(text))


def file_of(source: Source) -> File:
    """What a text defines."""
    functions = tuple(_functions(source))
    launches = tuple(launch for one in functions for launch in _launches(source, one))
    return File(source, functions, launches)


def _outermost(holder: Node) -> Iterator[Node]:
    """What stands at top level, also where `#ifndef` guards a header, but in no branch that a build chooses."""
    for node in holder.named_children:
        guards = node.type == "preproc_ifdef" and node.children[0].type == "#ifndef" and not field(node, "alternative")
        if guards or node.type in ("linkage_specification", "declaration_list"):
            yield from _outermost(node)
        else:
            yield node


def _functions(source: Source) -> Iterator[Function]:
    stack: list[tuple[Node, Node | None]] = [(source.tree.root_node, None)]
    while stack:
        node, template = stack.pop()
        if node.type == "function_definition":
            found = _function(source, node, template)
            if found is not None:
                yield found
        elif node.type in HOLDERS or node.type == "ERROR":
            outer = template if template is not None else node if node.type == "template_declaration" else None
            stack.extend((child, outer) for child in reversed(node.named_children))


def _function(source: Source, node: Node, template: Node | None) -> Function | None:
    body, declarator = field(node, "body"), field(node, "declarator")
    while declarator is not None and declarator.type in ("pointer_declarator", "reference_declarator"):
        declarator = field(declarator, "declarator") or next(iter(declarator.named_children), None)
    name = field(declarator, "declarator")
    if (
        body is None
        or body.type != "compound_statement"
        or declarator is None
        or name is None
        or name.type not in _NAMED
    ):
        return None
    head = source.source[node.start_byte : declarator.start_byte].decode("utf-8", "replace")
    listed = field(declarator, "parameters")
    bounds = next(of_type(node, "launch_bounds"), None) if "__launch_bounds__" in head else None
    return Function(
        name=source.content(name),
        node=node,
        outer=template if template is not None else node,
        name_node=name,
        body=body,
        qualifiers=frozenset(_QUALIFIER.findall(head)),
        parameters=tuple(_parameters(source, listed)) if listed is not None else (),
        templates=tuple(_templates(source, template)) if template is not None else (),
        bounds=tuple(source.content(one) for one in bounds.named_children) if bounds is not None else (),
    )


def _parameters(source: Source, listed: Node) -> Iterator[Parameter]:
    for node in listed.named_children:
        if node.type not in ("parameter_declaration", "optional_parameter_declaration"):
            continue
        declarator, pointers = field(node, "declarator"), 0
        names = [one for one in walk(declarator) if one.type == "identifier"] if declarator is not None else []
        for one in walk(declarator) if declarator is not None else ():
            pointers += one.type in ("pointer_declarator", "array_declarator", "abstract_pointer_declarator")
        kind = field(node, "type")
        if kind is None or not names:
            continue
        written = source.content(node)
        yield Parameter(
            name=source.content(names[0]),
            base=source.content(kind).removeprefix("enum "),
            pointers=pointers,
            is_const="const" in re.findall(r"\w+", written.split("*")[0]),
            is_restrict=_RESTRICT.search(written) is not None,
            is_reference="&" in written,
            node=node,
        )


def _templates(source: Source, template: Node) -> Iterator[str]:
    parameters = field(template, "parameters")
    for node in parameters.named_children if parameters is not None else ():
        names = [one for one in walk(node) if one.type in ("identifier", "type_identifier")]
        if names:
            yield source.content(names[-1])


def _launches(source: Source, function: Function) -> Iterator[Launch]:
    if b"<<<" not in source.source[function.body.start_byte : function.body.end_byte]:
        return
    for node in of_type(function.body, "call_expression"):
        configuration = next((one for one in node.children if one.type == "kernel_call_syntax"), None)
        callee, arguments = field(node, "function"), field(node, "arguments")
        if configuration is None or callee is None or arguments is None:
            continue
        name = field(callee, "name") if callee.type == "template_function" else callee
        given = tuple(one for one in arguments.named_children if one.type != "comment")
        yield Launch(source.content(name or callee), node, function, configuration, given)


_OPERATORS = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.floordiv,
    ast.Mod: operator.mod,
    ast.LShift: operator.lshift,
    ast.RShift: operator.rshift,
}


def _value(node: ast.expr) -> int | None:
    match node:
        case ast.Constant(value=int() as value):
            return value
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            inner = _value(operand)
            return -inner if inner is not None else None
        case ast.BinOp(left=left, op=op, right=right) if type(op) in _OPERATORS:
            one, other = _value(left), _value(right)
            if one is None or other is None or (isinstance(op, ast.Div | ast.Mod) and other == 0):
                return None
            if isinstance(op, ast.LShift | ast.RShift) and not 0 <= other < 64:
                return None
            found = _OPERATORS[type(op)](one, other)
            return found if isinstance(found, int) else None
    return None
