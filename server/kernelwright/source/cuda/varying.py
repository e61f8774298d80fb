"""Which values differ between the threads of a block."""

import re

from tree_sitter import Node

from kernelwright.source.cuda.definitions import File, Function
from kernelwright.source.cuda.text import field
from kernelwright.source.cuda.variables import Variable, Variables, Write, decides, parts, plain

_ACROSS = re.compile(r"__shfl|__ballot|__any|__all|__activemask|__match|__reduce|atomic|thread_rank|clock|printf")
_UNIFORM = re.compile(r"__syncthreads_(?:or|and|count)$")
_MATH = re.compile(
    r"(?:std::)?(?:u?min|u?max|abs|f?m(?:in|ax)f?|(?:__)?[a-z]+f|ceil|floor|exp|log|sqrt|sizeof|int|float|fma)$"
)
_THREAD = re.compile(r"threadIdx\.[xyz]$")
_SHARED = re.compile(r"(?:blockIdx|blockDim|gridDim)\.[xyz]$")


class Varying(Variables):
    """The variables of one function, with what is known of their values in different threads."""

    def __init__(self, file: File, function: Function) -> None:
        super().__init__(file, function)
        self._known: dict[tuple[int, bool], bool] = {}

    def varies(self, node: Node) -> bool:
        """Whether a value certainly depends on `threadIdx`."""
        return self._varies(node, True)

    def may_vary(self, node: Node) -> bool:
        """Whether a value can differ between the threads of a block."""
        return self._varies(node, False)

    def _varies(self, node: Node, certain: bool) -> bool:
        key = node.id, certain
        if key not in self._known:
            self._known[key] = False  # while it is worked out: a variable that is made of itself
            self._known[key] = self._differs(node, certain)
        return self._known[key]

    def _differs(self, node: Node, certain: bool) -> bool:
        match node.type:
            case "field_expression":
                name = plain(self.content(node))
                if _THREAD.match(name) or _SHARED.match(name):
                    return _THREAD.match(name) is not None
                argument = field(node, "argument")
                return argument is not None and self._varies(argument, certain)
            case "identifier":
                variable = self.variable(node)
                if variable is None:
                    name = self.content(node)
                    return "threadIdx" in self.file.constants.get(name, "") or (not certain and name in self.unfollowed)
                return self._variable_varies(variable, certain)
            case "subscript_expression":
                base, indices = parts(node)
                array = self.variable(base) if base is not None and base.type == "identifier" else None
                if array is not None and array.is_array and not array.is_shared:
                    return not certain
                return any(self._varies(one, certain) for one in (*indices, *([base] if base is not None else [])))
            case "call_expression":
                return self._call_varies(node, certain)
            case "lambda_expression":
                return not certain
        return any(self._varies(one, certain) for one in node.named_children)

    def _call_varies(self, node: Node, certain: bool) -> bool:
        callee, arguments = field(node, "function"), field(node, "arguments")
        given = arguments.named_children if arguments is not None else []
        name = self.content(callee) if callee is not None else ""
        if _UNIFORM.match(name):
            return False
        if _ACROSS.search(name):
            return not certain
        if self.cast(node) is None and certain and not _MATH.match(name):
            return False  # what it makes of its arguments, nobody knows
        holder = field(callee, "argument") if callee is not None and callee.type == "field_expression" else None
        if not certain and holder is not None and self._varies(holder, certain):
            return True  # a method of what differs
        if not certain and not given and callee is not None and self.file.function(name) is not None:
            return True
        return any(self._varies(one, certain) for one in given)

    def _variable_varies(self, variable: Variable, certain: bool) -> bool:
        if variable.is_array or variable.is_shared:
            return False  # an address, or one value for all threads
        key = variable.node.id, certain
        if key in self._known:
            return self._known[key]
        writes = self.writes(variable)
        self._known[key] = False
        found = not certain and not writes and not variable.is_parameter  # given its value by what is not followed
        if certain and (variable.is_reference or any(self._is_same_for_all(one, variable) for one in writes)):
            return False  # which of its values counts is not followed
        for write in writes:
            if write.operator == "&" and certain:
                continue
            branches = [one for one in self.guards_within(write.node, variable.scope) if decides(one, variable)]
            found = (
                found
                or write.operator == "&"
                or (write.value is not None and self._varies(write.value, certain))
                or any(self._varies(one.condition, certain) for one in branches)
            )
        self._known[key] = found
        return found

    def _is_same_for_all(self, write: Write, variable: Variable) -> bool:
        """Whether all threads that come by are given one value, such as what a thread has left in shared memory."""
        if write.operator != "=" or write.node.type == "init_declarator" or write.value is None:
            return False
        branches = (one for one in self.guards_within(write.node, variable.scope) if decides(one, variable))
        return not any(self._varies(one, False) for one in (write.value, *(branch.condition for branch in branches)))
