"""What calls in a kernel come to: built-in functions by a table, functions and macros of the file by their bodies."""

import re

from tree_sitter import Node

from kernelwright.indices.expressions import Expressions
from kernelwright.indices.terms import Term
from kernelwright.indices.typed import INT, Value
from kernelwright.source.cuda.definitions import File, Function
from kernelwright.source.cuda.text import field
from kernelwright.source.findings.cuda_barriers import WAITS

_LOADS = re.compile(r"__ld(?:g|cg|cs|ca|lu|cv)$")
_STORES = re.compile(r"__st(?:wb|cg|cs|wt)$")
_SMALLER = ("min", "std::min", "umin", "llmin", "ullmin")
_GREATER = ("max", "std::max", "umax", "llmax", "ullmax")
_PRODUCTS = ("__mul24", "__umul24")
_OF_A_WARP = re.compile(r"__(?:shfl|ballot|any|all|match|reduce|activemask|syncwarp)\w*$")
_PLAIN = re.compile(
    r"(?:std::)?(?:abs|f(?:abs|min|max|ma|mod|loor)\w?|(?:__)?(?:exp|log|sqrt|rsqrt|pow|sin|cos|tan|tanh|erf|ceil|round|rint)\w*"
    r"|isnan|isinf|printf|assert|__(?:float|half|int|uint|double|high|low|h|f|d|i|u|bfloat|popc|clz|ffs|brev)\w*"
    r"|make_\w+|(?:float|double|half|__half|__nv_bfloat16))$"
)
_BARRIER = re.compile(r"__syncthreads(?:_\w+)?$")
_CASTS = ("static_cast", "const_cast", "reinterpret_cast")
_BY_VALUE = (
    _LOADS,
    _STORES,
    _OF_A_WARP,
    _PLAIN,
    WAITS,
    re.compile(r"atomic|(?:std::)?(?:u|ll|ull)?(?:min|max)$|__u?mul24$"),
)
_DEEPEST = 4  # functions that call functions


class Calls(Expressions):
    """Evaluates calls. `MIXED` begins the names of values that come from other threads, and may be the same in all of them."""

    MIXED = "mixed"

    _inside: tuple[str, ...] = ()
    has_ended = False  # the rest of the block is not reached
    returned: list[tuple[tuple[Term, ...], Value | None]]

    def call(self, node: Node) -> Value:
        callee, listed = field(node, "function"), field(node, "arguments")
        if callee is None or listed is None:
            return Value(self.terms.fresh("call"))
        given = [one for one in listed.named_children if one.type != "comment"]
        is_template = callee.type == "template_function"
        named = field(callee, "name") if is_template else callee
        name = self.content(named) if named is not None else ""
        kinds = field(callee, "arguments") if is_template else None
        if name in _CASTS and kinds is not None and len(given) == 1:
            return self.cast(self.content(kinds)[1:-1].strip(), self.value(given[0]))
        if len(given) == 1 and self.kind_of(name) is not None:
            return self.cast(name, self.value(given[0]))
        if name.startswith("atomic") and given:
            return self._atomic(node, given)
        if WAITS.search(name) and not _OF_A_WARP.match(name):
            for one in given:
                self.value(one)
            is_certain = _BARRIER.match(name) is not None
            self.phase = self.terms.add(self.phase, self.terms.number(1)) if is_certain else self.terms.fresh("phase")
            return Value(self.terms.fresh(self.MIXED))
        values = [self.value(one) for one in given]
        return self._known(node, name, values) or self._other(node, name, values)

    def statements(self, body: Node) -> None:
        """Run a body; see `statements.py`, whose class builds on this one."""
        raise NotImplementedError

    def _atomic(self, node: Node, given: list[Node]) -> Value:
        pointer = self.value(given[0])
        values = [self.value(one) for one in given[1:]]
        place = self.pointed(pointer)
        if place is not None:
            self.record(node, place, "atomic", values[0] if values else None)
        return Value(self.terms.fresh(self.MIXED), INT)

    def _known(self, node: Node, name: str, values: list[Value]) -> Value | None:
        if _LOADS.match(name) and values:
            return self.record(node, self.pointed(values[0]), "load")
        if _STORES.match(name) and len(values) == 2:
            self.record(node, self.pointed(values[0]), "store", values[1])
            return values[1]
        if name in _PRODUCTS and len(values) == 2:
            return self.math.binary("*", *values)
        if name in (*_SMALLER, *_GREATER) and len(values) == 2 and all(one.kind is not None for one in values):
            common = self.math.binary("+", *values).kind
            a, b = (self.math.converted(one, common or INT) for one in values)
            first, second = (a, b) if name in _SMALLER else (b, a)
            return self.math.chosen(self.math.truth(self.math.binary("<", a, b)), first, second)
        if _OF_A_WARP.match(name):
            return Value(self.terms.fresh(self.MIXED), INT)
        return self.math.unknown(name, *values) if _PLAIN.match(name) or name in _GREATER + _SMALLER else None

    def changed_by_call(self, node: Node) -> list[str]:
        """The variables that a call may give another value, since it takes references to them."""
        callee, listed = field(node, "function"), field(node, "arguments")
        named = field(callee, "name") or callee if callee is not None else None
        name = self.content(named) if named is not None else ""
        given = [one for one in listed.named_children if one.type != "comment"] if listed is not None else []
        if name in _CASTS or self.kind_of(name) is not None or any(one.match(name) for one in _BY_VALUE):
            return []
        function = self._function(name, len(given))
        parameters = function[1].parameters if function is not None else ()
        return [
            self.content(one)
            for number, one in enumerate(given)
            if one.type == "identifier"
            and (number >= len(parameters) or (parameters[number].is_reference and not parameters[number].is_const))
        ]

    def _function(self, name: str, count: int) -> tuple[File, Function] | None:
        """The function or macro that a call leads to, where it can be followed."""
        for file in (self.file, self.file.macros):
            function = file.function(name)
            if function is not None and not function.is_kernel and len(function.parameters) == count:
                return file, function
        return None

    def _other(self, node: Node, name: str, values: list[Value]) -> Value:
        self.forget(*(name for name in self.changed_by_call(node) if name not in self.sizes))
        found = self._function(name, len(values))
        if found is not None and name not in self._inside and len(self._inside) < _DEEPEST:
            return self._inlined(*found, values)
        if any(one.is_pointer for one in values) or not name:
            self.missed.add(node.start_byte)
        return Value(self.terms.unknown(f"{self.MIXED} {name}", tuple(one.term for one in values)))

    def _inlined(self, file: File, function: Function, values: list[Value]) -> Value:
        """What a function returns for these arguments, its accesses recorded."""
        kept = self.file, self.env, self.kinds, self.sizes, self.path, self._inside
        returned_before, ended = self.returned, self.has_ended
        is_macro = file is not self.file
        self.file, self.returned, self._inside = file, [], (*self._inside, function.name)
        self.kinds, self.sizes = {}, dict(self.sizes) if is_macro else {}
        passed = dict[str, Value]()
        for parameter, value in zip(function.parameters, values, strict=True):
            if is_macro or parameter.is_pointer:
                passed[parameter.name] = value
            else:
                self.kinds[parameter.name] = parameter.base
                passed[parameter.name] = self.declared_as(value, parameter.base)
        self.env = {**kept[1], **passed} if is_macro else passed
        self.statements(function.body)
        base, returned = len(kept[4]), self.returned
        self.file, self.env, self.kinds, self.sizes, self.path, self._inside = kept
        self.returned, self.has_ended = returned_before, ended
        return self._joined([(path[base:], value) for path, value in returned if value is not None])

    def _joined(self, returned: list[tuple[tuple[Term, ...], Value]]) -> Value:
        """What a function comes to that returns each of these values under its conditions."""
        if not returned:
            return Value(self.terms.fresh(self.MIXED))
        result = returned[-1][1]
        for path, value in reversed(returned[:-1]):
            condition = self.terms.number(1)
            for one in path:
                condition = self.terms.both(condition, one)
            result = self.math.chosen(condition, value, result)
        return result
