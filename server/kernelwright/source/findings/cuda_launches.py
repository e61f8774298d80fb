"""A launch of a CUDA kernel as numbers: its grid and block, and what the kernel is given."""

import functools
import re
from collections.abc import Mapping
from dataclasses import dataclass

from tree_sitter import Node

from kernelwright.source.cuda.definitions import Function, Launch
from kernelwright.source.cuda.flow import Flow
from kernelwright.source.cuda.numbers import Dims, Number, Numbers
from kernelwright.source.cuda.text import field
from kernelwright.source.findings.sizes import Size

AXES = "xyz"

_ROUNDED = re.compile(r"\+[^+/]*\)/|-1\)/.*\+1|%.*!=0|ceil|cdiv|div_?up|divide_?up|round_?up|blocks_?for", re.I)


@dataclass(frozen=True, eq=False)
class LaunchSite:
    """A launch with what a workload says of it. `values` are the kernel's scalars, `extents` the elements of its pointers."""

    launch: Launch
    flow: Flow
    numbers: Numbers
    kernel: Function
    sizes: Mapping[str, Size]

    @functools.cached_property
    def grid(self) -> Dims:
        return self.numbers.dims(self.launch.grid)

    @functools.cached_property
    def block(self) -> Dims:
        return self.numbers.dims(self.launch.block)

    @property
    def threads(self) -> int | None:
        """The threads of a block."""
        return _product(self.block)

    @property
    def blocks(self) -> int | None:
        return _product(self.grid)

    @functools.cached_property
    def values(self) -> dict[str, Number]:
        """Numbers by the names of the kernel's parameters, of its template parameters and of blockDim and gridDim."""
        pairs = zip(self.kernel.parameters, self.launch.arguments, strict=False)
        given = {one.name: self.numbers.of(argument) for one, argument in pairs if not one.is_pointer}
        templates = zip(self.kernel.templates, self._template_arguments, strict=False)
        given |= {name: self.numbers.of(argument) for name, argument in templates}
        for name, dims in (("blockDim", self.block), ("gridDim", self.grid)):
            given |= {f"{name}.{axis}": size for axis, size in zip(AXES, dims, strict=True)}
        return {name: value for name, value in given.items() if value is not None}

    @functools.cached_property
    def types(self) -> dict[str, str]:
        templates = zip(self.kernel.templates, self._template_arguments, strict=False)
        return {name: self.flow.content(argument) for name, argument in templates}

    @functools.cached_property
    def extents(self) -> dict[str, int]:
        """How many elements lie behind the kernel's pointers, where a workload's tensor is passed as it is."""
        found = {}
        for parameter, argument in zip(self.kernel.parameters, self.launch.arguments, strict=False):
            variable = self.flow.variable(argument) if argument.type == "identifier" else None
            if variable is None or not variable.is_parameter or self.flow.writes(variable):
                continue
            outer, shape = self.launch.function.parameter(variable.name), self.sizes.get(variable.name)
            if outer is not None and isinstance(shape, tuple) and self._type(parameter.base) == self._type(outer.base):
                found[parameter.name] = _times(shape)
        return found

    def rounds_up(self, axis: int) -> bool:
        """Whether the grid is rounded up in a dimension, so that its last block may have more threads than there is work."""
        node = self._component(self.launch.grid, axis)
        return node is not None and _ROUNDED.search(re.sub(r"\s+", "", self.flow.content(node))) is not None

    def _component(self, node: Node | None, axis: int, depth: int = 0) -> Node | None:
        """The expression of one dimension of a grid or block."""
        if node is None or depth > 4:
            return None
        node = self.flow.unwrapped(node)
        if node.type == "identifier":
            variable = self.flow.variable(node)
            value = self.flow.value(variable) if variable is not None else None
            return self._component(value, axis, depth + 1) if value is not None else (node if axis == 0 else None)
        if node.type == "call_expression" and self.flow.content(node).startswith("dim3"):
            node = field(node, "arguments") or node
        if node.type in ("argument_list", "initializer_list"):
            inner = node.named_children
            return self._component(inner[axis], 0, depth + 1) if axis < len(inner) else None
        return node if axis == 0 else None

    def _type(self, kind: str) -> str:
        kind = self.types.get(kind, kind)
        return self.flow.file.aliases.get(kind, kind)

    @property
    def _template_arguments(self) -> tuple[Node, ...]:
        callee = field(self.launch.node, "function")
        listed = field(callee, "arguments") if callee is not None and callee.type == "template_function" else None
        return tuple(one for one in listed.named_children if one.type != "comment") if listed is not None else ()


def _product(dims: Dims) -> int | None:
    return _times(tuple(one for one in dims if one is not None)) if None not in dims else None


def _times(sizes: tuple[int, ...]) -> int:
    result = 1
    for one in sizes:
        result *= one
    return result
