"""Whether an expression of a CUDA function is an int, a float or a double, as far as its text tells."""

import functools
from collections.abc import Iterable

from tree_sitter import Node

from kernelwright.source.cuda import File, Function
from kernelwright.source.cuda.expressions import BUILT_IN
from kernelwright.source.cuda.text import field, of_type

INT, FLOAT, DOUBLE = "int", "float", "double"
_INTS = ("int", "unsigned", "unsigned int", "long", "long long", "size_t", "short", "char", "unsigned char", "bool",
         "int8_t", "uint8_t", "int16_t", "uint16_t", "int32_t", "uint32_t", "int64_t", "uint64_t",
         "unsigned long", "unsigned long long")  # fmt: skip
_VECTORS = ("float2", "float3", "float4")
_TO_FLOAT = ("__half2float", "__bfloat162float", "__int2float_rn", "__int_as_float", "__uint_as_float", "rsqrt")
_SINGLE = frozenset((
    "expf", "exp2f", "exp10f", "expm1f", "logf", "log2f", "log10f", "log1pf", "sinf", "cosf", "tanf", "tanhf",
    "sinhf", "coshf", "asinf", "acosf", "atanf", "atan2f", "sqrtf", "rsqrtf", "cbrtf", "powf", "fabsf", "fmaxf",
    "fminf", "fmaf", "fmodf", "floorf", "ceilf", "roundf", "rintf", "truncf", "erff", "erfcf", "hypotf", "__expf",
    "__logf", "__sinf", "__cosf", "__powf", "fdividef", "__fdividef", "copysignf", "lgammaf", "tgammaf",
))  # fmt: skip
_OVERLOADED = frozenset(name.removesuffix("f") for name in _SINGLE if not name.startswith("__")) | {"max", "min"}
_CASTS = ("static_cast", "float", "double", "int")
_ARITHMETIC = ("+", "-", "*", "/")


class Kinds:
    """The kinds of the expressions of one function; None for one that is not known."""

    def __init__(self, file: File, function: Function) -> None:
        self._file = file
        self._function = function

    def of(self, node: Node | None, depth: int = 0) -> str | None:
        if node is None or depth > 40:
            return None
        content = self._content
        match node.type:
            case "number_literal":
                return _literal(content(node))
            case "true" | "false" | "sizeof_expression":
                return INT
            case "identifier":
                return self._declared.get(content(node)) or self._constant(content(node))
            case "parenthesized_expression":
                return self.of(node.named_children[0] if node.named_child_count == 1 else None, depth + 1)
            case "unary_expression":
                operator = field(node, "operator")
                is_not = operator is not None and content(operator) == "!"
                return INT if is_not else self.of(field(node, "argument"), depth + 1)
            case "subscript_expression":
                argument = field(node, "argument")
                inner = argument
                while inner is not None and inner.type == "subscript_expression":
                    inner = field(inner, "argument")
                return self._elements.get(content(inner)) if inner is not None else None
            case "pointer_expression":
                argument = field(node, "argument")
                is_read = node.children[0].type == "*" and argument is not None and argument.type == "identifier"
                return self._elements.get(content(argument)) if is_read and argument is not None else None
            case "field_expression":
                return self._member(node)
            case "conditional_expression":
                return joined(
                    self.of(field(node, "consequence"), depth + 1), self.of(field(node, "alternative"), depth + 1)
                )
            case "cast_expression":
                kind = field(node, "type")
                return _kind(content(kind)) if kind is not None else None
            case "call_expression":
                return self._call(node, depth)
            case "binary_expression":
                return self._binary(node, depth)
        return None

    @functools.cached_property
    def _types(self) -> tuple[tuple[str, str, bool], ...]:
        """The names of the function with their type, and whether what is behind a pointer or in an array has it."""
        found = [(one.name, one.base, one.is_pointer) for one in self._function.parameters]
        for declaration in of_type(self._function.body, "declaration"):
            kind = field(declaration, "type")
            for one in declaration.named_children:
                inner = field(one, "declarator") if one.type == "init_declarator" else one
                behind = False
                while inner is not None and inner.type in ("pointer_declarator", "array_declarator"):
                    behind, inner = True, field(inner, "declarator")
                if inner is None or inner.type != "identifier" or kind is None or one == kind:
                    continue
                found.append((self._content(inner), self._content(kind), behind))
        return tuple(found)

    @functools.cached_property
    def _declared(self) -> dict[str, str]:
        """Numbers by name, apart from names that stand for several kinds."""
        return _single((name, _kind(written)) for name, written, behind in self._types if not behind)

    @functools.cached_property
    def _elements(self) -> dict[str, str]:
        return _single((name, _kind(written)) for name, written, behind in self._types if behind)

    def _constant(self, name: str) -> str | None:
        written = self._file.constants.get(name, "").strip("() ")
        return _literal(written) if written and written[0].isdigit() else None

    def _member(self, node: Node) -> str | None:
        base, name = field(node, "argument"), field(node, "field")
        if base is None or name is None:
            return None
        if self._content(base) in BUILT_IN:
            return INT
        inner = field(base, "argument") if base.type == "subscript_expression" else base
        types = {written for one, written, _ in self._types if inner is not None and one == self._content(inner)}
        return FLOAT if types and types <= set(_VECTORS) and self._content(name) in "xyzw" else None

    def _call(self, node: Node, depth: int) -> str | None:
        callee, listed = field(node, "function"), field(node, "arguments")
        if callee is None or listed is None:
            return None
        name = self._content(field(callee, "name") or callee).removeprefix("std::")
        arguments = [one for one in listed.named_children if one.type != "comment"]
        own = [one for one in self._file.functions if one.name == name]
        if own:
            kind = field(own[0].node, "type")
            return _kind(self._content(kind)) if len(own) == 1 and kind is not None and not own[0].templates else None
        if name in _CASTS or callee.type == "primitive_type":
            templated = field(callee, "arguments")
            return _kind(self._content(templated).strip("<> ")) if templated is not None else _kind(name)
        if name in _SINGLE or name in _TO_FLOAT:
            return FLOAT
        if name in ("__ldg", "__shfl_xor_sync", "__shfl_down_sync", "__shfl_sync", "__shfl_up_sync"):
            return self._through(name, arguments, depth)
        if name not in _OVERLOADED or not arguments:
            return None
        kinds = [self.of(one, depth + 1) for one in arguments]
        return functools.reduce(joined, kinds)

    def _through(self, name: str, arguments: list[Node], depth: int) -> str | None:
        """What a load or shuffle hands on."""
        if name != "__ldg":
            return self.of(arguments[1], depth + 1) if len(arguments) > 1 else None
        if not arguments or arguments[0].type != "pointer_expression":
            return None
        return self.of(field(arguments[0], "argument"), depth + 1)

    def _binary(self, node: Node, depth: int) -> str | None:
        operator = field(node, "operator")
        if operator is None or self._content(operator) not in _ARITHMETIC:
            return INT
        return joined(self.of(field(node, "left"), depth + 1), self.of(field(node, "right"), depth + 1))

    def _content(self, node: Node) -> str:
        return self._file.source.content(node)


def joined(one: str | None, other: str | None) -> str | None:
    """What C++ makes of two numbers in one operation."""
    if one is None or other is None:
        return None
    return DOUBLE if DOUBLE in (one, other) else FLOAT if FLOAT in (one, other) else INT


def _literal(written: str) -> str | None:
    text = written.lower()
    if text.startswith("0x"):
        return INT
    if text.endswith("f"):
        return FLOAT
    return DOUBLE if "." in text or "e" in text else INT


def _kind(written: str) -> str | None:
    plain = " ".join(word for word in written.split() if word not in ("const", "__restrict__"))
    return INT if plain in _INTS else plain if plain in (FLOAT, DOUBLE) else None


def _single(pairs: Iterable[tuple[str, str | None]]) -> dict[str, str]:
    """Those names that stand for one kind alone."""
    found: dict[str, set[str | None]] = {}
    for name, kind in pairs:
        found.setdefault(name, set()).add(kind)
    return {name: kind for name, kinds in found.items() if len(kinds) == 1 and (kind := next(iter(kinds))) is not None}
