"""The stride of the innermost index of a pointer expression, followed symbolically through a Triton function's names."""

from collections.abc import Mapping

from tree_sitter import Node

from kernelwright.source.document import Document
from kernelwright.source.imports import Aliases, dotted
from kernelwright.source.tensors import words

# Axis (from the last, -1) to stride: a number, an expression as written, or None when it is not known.
Strided = Mapping[int, int | str | None]

_TL = "triton.language."
_DEEPEST = 100  # code nested more deeply is generated; its strides are not followed
_UNKNOWN: Strided = {-1: None}
_TRANSPARENT = words("max_contiguous multiple_of max_constancy cast assume")


class Strides:
    """What each name's value grows by along each axis of its block; {} for a scalar."""

    def __init__(self, document: Document, aliases: Aliases) -> None:
        self.document = document
        self.aliases = aliases
        self._names: dict[str, Strided] = {}

    def assign(self, node: Node) -> None:
        """Remember what an assignment binds; to be called in source order."""
        left, right = node.child_by_field_name("left"), node.child_by_field_name("right")
        if left is None or right is None or left.type != "identifier":
            return
        name = self.document.content(left)
        value = self._of(right, 0)
        if node.type == "augmented_assignment":
            value = _sum(self._names.get(name, {}), value)
        self._names[name] = value

    def innermost(self, pointer: Node) -> int | str | None:
        """The stride, in elements, along the last axis that varies; None for a scalar and when it is not known."""
        strided = self._of(pointer, 0)
        return strided[max(strided)] if strided else None

    def varies(self, pointer: Node) -> bool:
        """Tell whether a pointer is a block, as far as that is known."""
        return bool(self._of(pointer, 0))

    def _of(self, node: Node, depth: int) -> Strided:
        if depth > _DEEPEST:
            return _UNKNOWN
        depth += 1
        match node.type:
            case "identifier":
                return self._names.get(self.document.content(node), {})
            case "parenthesized_expression":
                return self._of(node.named_children[0], depth) if node.named_children else {}
            case "binary_operator":
                return self._binary(node, depth)
            case "subscript":
                return self._subscript(node, depth)
            case "call":
                return self._call(node, depth)
            case "unary_operator":
                return dict.fromkeys(self._of(node.named_children[0], depth)) if node.named_children else {}
        return {}

    def _binary(self, node: Node, depth: int) -> Strided:
        left, right = node.child_by_field_name("left"), node.child_by_field_name("right")
        operator = node.child_by_field_name("operator")
        if left is None or right is None or operator is None:
            return {}
        first, second = self._of(left, depth), self._of(right, depth)
        match operator.type:
            case "+":
                return _sum(first, second)
            case "-":
                return _sum(first, dict.fromkeys(second))
            case "*":
                if first and second:
                    return dict.fromkeys({*first, *second})
                return self._scaled(first, right) if first else self._scaled(second, left)
            case "%":  # wraps at most once in a block: the stride within it stays
                return first if not second else dict.fromkeys({*first, *second})
        return dict.fromkeys({*first, *second})

    def _scaled(self, strided: Strided, factor: Node) -> Strided:
        text = self.document.content(factor)

        def times(stride: int | str | None) -> int | str | None:
            if stride is None:
                return None
            if text.isdecimal() and len(text) < 20:
                return stride * int(text) if isinstance(stride, int) else f"{stride}*{text}"
            return text if stride == 1 else f"{stride}*{text}"

        return {axis: times(stride) for axis, stride in strided.items()}

    def _subscript(self, node: Node, depth: int) -> Strided:
        """`offsets[:, None]`: every None after an axis moves it away from the end."""
        value = node.child_by_field_name("value")
        base = self._of(value, depth) if value is not None else {}
        indices = [self.document.content(index).strip() for index in node.children_by_field_name("subscript")]
        if not base or any(index not in (":", "None") for index in indices):
            return base
        kept = [position - len(indices) for position, index in enumerate(indices) if index == ":"]
        return {kept[axis]: stride for axis, stride in base.items() if -len(kept) <= axis}

    def _call(self, node: Node, depth: int) -> Strided:
        function, arguments = node.child_by_field_name("function"), node.child_by_field_name("arguments")
        if function is None or arguments is None:
            return {}
        name = dotted(self.document, function, self.aliases)
        given = [child for child in arguments.named_children if child.type not in ("keyword_argument", "comment")]
        if name == _TL + "arange":
            return {-1: 1}
        if name is None:
            value = function.child_by_field_name("object")
            attribute = function.child_by_field_name("attribute")
            is_cast = attribute is not None and self.document.content(attribute) == "to"
            return self._of(value, depth) if is_cast and value is not None else {}
        if name.startswith(_TL) and name[len(_TL) :] in _TRANSPARENT and given:
            return self._of(given[0], depth)
        if name == _TL + "where" and len(given) == 3:
            return self._of(given[1], depth)
        axes = {axis for argument in given for axis in self._of(argument, depth)}
        return dict.fromkeys(axes)


def _sum(first: Strided, second: Strided) -> Strided:
    """Along an axis on which both vary the strides add, which is known only for numbers."""
    total = dict(first)
    for axis, stride in second.items():
        known = total.get(axis)
        if axis not in total:
            total[axis] = stride
        elif isinstance(known, int) and isinstance(stride, int):
            total[axis] = known + stride
        else:
            total[axis] = None
    return total
