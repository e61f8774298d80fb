"""A CUDA kernel as strategies look at it: its syntax, its launches, and what both come to in the workload's numbers."""

import dataclasses
import functools
import operator
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from tree_sitter import Node

from kernelwright.micro.rewrite.cuda_patch import Patch
from kernelwright.source.cuda import File, Function, Launch, read
from kernelwright.source.cuda.accesses import Access, accesses
from kernelwright.source.cuda.definitions import read_apart
from kernelwright.source.cuda.expressions import Names
from kernelwright.source.cuda.extents import dimensions
from kernelwright.source.cuda.syntax import Fault, syntax_problem
from kernelwright.source.cuda.text import field, of_type, walk
from kernelwright.source.workload.evaluate import WorkloadError, evaluate
from kernelwright.values import Call, Device, Kernel, Refusal, TensorSpec, Workload

_COMPARED: Mapping[str, Callable[[int, int], bool]] = {
    "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge, "==": operator.eq, "!=": operator.ne,
}  # fmt: skip


@dataclass(frozen=True, eq=False)
class CudaSight:
    """A kernel with its launches. `given` are the arguments of the performance case by the parameter names of the `entry`.

    `is_entry`: the workload calls the kernel itself, so that no launch of the text is looked at by the gate; `line_block`: with
    how many threads in each dimension of a block. `assumes_line_block`: what is made of the kernel is for such blocks alone.
    """

    file: File
    kernel: Function
    launches: tuple[Launch, ...]
    given: Mapping[str, object]
    device: Device
    entry: str = ""
    is_entry: bool = False
    line_block: tuple[int, ...] = ()
    assumes_line_block: bool = False

    @property
    def source(self) -> str:
        return self.file.source.text

    def content(self, node: Node) -> str:
        return self.file.source.content(node)

    def rewritten(self, text: str) -> "CudaSight":
        """The same kernel in a text that it was rewritten in."""
        file = read_apart(text)
        kernel = file.kernel(self.kernel.name)
        assert kernel is not None
        return dataclasses.replace(self, file=file, kernel=kernel, launches=file.launches_of(kernel.name))

    def patch(self) -> Patch:
        return Patch(self.file.source)

    @functools.cached_property
    def names(self) -> Names:
        return Names(self.file, self.kernel)

    @functools.cached_property
    def accesses(self) -> tuple[Access, ...]:
        return accesses(self.names)

    @functools.cached_property
    def launch(self) -> Launch | Refusal:
        """The one launch that a change of the geometry goes with."""
        if self.is_entry or not self.launches:
            return Refusal("The kernel is launched by its workload line alone, which stays as it is.")
        if len(self.launches) > 1:
            return Refusal(
                f"The kernel is launched in {len(self.launches)} places, which would have to change together."
            )
        return self.launches[0]

    @functools.cached_property
    def apart(self) -> "tuple[CudaSight, ...]":
        """The kernel with each of its launches alone, for changes that leave all of them as they are."""
        if self.assumes_line_block:
            return (self,)
        return tuple(dataclasses.replace(self, launches=(one,)) for one in self.launches)

    @functools.cached_property
    def any_block(self) -> tuple[int, ...] | Refusal:
        """The threads of a block in each dimension, where all launches say the same."""
        if self.assumes_line_block:
            return self.line_block
        blocks = {one.block for one in self.apart}
        if self.is_entry or not blocks:
            return Refusal("The kernel is launched by its workload line alone.")
        block = next(iter(blocks))
        if len(blocks) > 1 or block is None:
            return Refusal("The blocks have no size that is a number in this file, the same in all launches.")
        return block

    @functools.cached_property
    def block(self) -> tuple[int, ...] | None:
        """The threads of a block in each dimension, where the launch says it in numbers and constants."""
        if self.assumes_line_block:
            return self.line_block
        if isinstance(self.launch, Refusal) or self.launch.block is None:
            return None
        sizes = [self.names_at_launch.number(one) for one in self.sizes(self.launch.block)]
        return tuple(size for size in sizes if size is not None) if None not in sizes else None

    def numbers_given(self, function: Function) -> dict[str, int]:
        """The parameters that only a function's launches hang on, as `block_size`, with their numbers in the performance case.

        A size that kernels are given, and what the body changes, is none of them.
        """
        if function.name != self.entry:
            return {}
        others = {*Names(self.file, function).assigned, *_passed_on(self.file, function)}
        return {
            key: value for key, value in self.given.items() if type(value) is int and value > 0 and key not in others
        }

    @functools.cached_property
    def names_at_launch(self) -> Names:
        """The names of the function that launches the kernel. Raises AssertionError where there is not one launch."""
        assert not isinstance(self.launch, Refusal)
        return Names(self.file, self.launch.function)

    def sizes(self, node: Node) -> tuple[Node, ...]:
        """The one to three expressions of a grid or block, through the name of a `dim3`."""
        return dimensions(self.file, self.launch, node) if not isinstance(self.launch, Refusal) else (node,)

    def argument(self, parameter: str) -> Node | None:
        """What the one launch passes for a parameter of the kernel."""
        if isinstance(self.launch, Refusal):
            return None
        places = [one.name for one in self.kernel.parameters]
        place = places.index(parameter) if parameter in places else len(places)
        return self.launch.arguments[place] if place < len(self.launch.arguments) else None

    def value(self, parameter: str) -> object:
        """What a parameter of the kernel is in the performance case: a number, a TensorSpec, or None where nobody knows."""
        if self.is_entry or not self.launches:
            return self.given.get(parameter)
        argument = self.argument(parameter)
        if argument is None:
            return None
        return self.given.get(self.content(argument), self.names_at_launch.number(argument))

    def number(self, node: Node) -> int | None:
        """What an expression of the kernel is in the performance case, where its parameters and constants tell."""
        found = self.names.polynomial(node)
        fixed = found.names - self.names.assigned.keys()
        values = {name: value for name in fixed if type(value := self.value(name)) is int}
        return found.at(values).number

    def is_reached(self, node: Node) -> bool:
        """Whether code may run in the performance case: not where a condition on sizes keeps it out."""
        while (outer := node.parent) is not None:
            condition = field(outer, "condition", "value") if outer.type == "if_statement" else None
            holds = self._holds(condition) if condition is not None else None
            if holds is not None and node == field(outer, "alternative" if holds else "consequence"):
                return False
            node = outer
        return True

    def _holds(self, condition: Node) -> bool | None:
        sign, sides = field(condition, "operator"), (field(condition, "left"), field(condition, "right"))
        compared = _COMPARED.get(self.content(sign)) if condition.type == "binary_expression" and sign else None
        left, right = (self.number(one) if one is not None else None for one in sides)
        return None if compared is None or left is None or right is None else compared(left, right)

    def tensor(self, parameter: str) -> TensorSpec | None:
        found = self.value(parameter)
        return found if isinstance(found, TensorSpec) else None


def _passed_on(file: File, function: Function) -> set[str]:
    """The names behind what a function passes to kernels, and to functions that it calls for what they do."""
    names, found = Names(file, function), set[str]()
    for statement in of_type(function.body, "expression_statement"):
        for one in walk(statement, lambda each: each.type != "kernel_call_syntax"):
            if one.type == "argument_list":
                found |= names.behind(one)
    return found


def cuda_sight(text: str, kernel: Kernel, workload: Workload | None, device: Device) -> CudaSight | Refusal:
    """The kernel with that name. A Refusal where the text around it does not parse."""
    file = read(text)
    function = file.kernel(kernel.name)
    if function is None:
        return Refusal(f"The kernel {kernel.name} cannot be read.", kernel.start_line)
    if function.outer.has_error:
        fault = syntax_problem(text) or Fault(kernel.start_line, "the grammar cannot read it")
        return Refusal(f"The kernel does not parse at line {fault.line + 1}: {fault.message}.", fault.line)
    is_entry = workload is not None and workload.entry == kernel.name
    call = _call(workload)
    given = _given(file, call) if call is not None else {}
    block = call.block or () if call is not None and is_entry else ()
    entry = call.entry if call is not None else ""
    return CudaSight(file, function, file.launches_of(kernel.name), given, device, entry, is_entry, block)


def _call(workload: Workload | None) -> Call | None:
    """The performance case; None where it cannot be evaluated."""
    try:
        return evaluate(workload.cases[0].text) if workload is not None and workload.cases else None
    except WorkloadError:
        return None


def _given(file: File, call: Call) -> dict[str, object]:
    entry = file.function(call.entry)
    names = [one.name for one in entry.parameters] if entry is not None else []
    return {**dict(zip(names, call.args, strict=False)), **call.kwargs}
