"""A Triton kernel as one looks at it before a rewrite of its own: its tree, its launch, and what both come to in numbers."""

import ast
import functools
import math
import operator
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from kernelwright.micro.rewrite.triton_launch import Site, launch_site
from kernelwright.micro.rewrite.triton_source import Fragment, integer, kernel_fragment, names_read
from kernelwright.source.bindings import Loop, bindings_of
from kernelwright.source.estimate import value_of
from kernelwright.source.trees import walk
from kernelwright.source.triton.reader import Reading
from kernelwright.source.workload.evaluate import WorkloadError, evaluate
from kernelwright.values import Estimate, Kernel, Refusal, Workload

_DEEPEST = 8  # names and operations that a number is followed through
_OPERATIONS: Mapping[type[ast.operator], Callable[[int, int], int | None]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.FloorDiv: lambda one, other: one // other if other else None,
}
_FUNCTIONS: Mapping[str, Callable[..., int | None]] = {
    "cdiv": lambda one, other=0: -(-one // other) if other else None,
    "next_power_of_2": lambda one, *_: 1 << max(one - 1, 0).bit_length(),
    "min": min,
    "max": max,
}


@dataclass(frozen=True)
class Set:
    """A name that the kernel sets, with the names and the functions of triton.language that its value is computed from."""

    name: str
    line: int  # from 1
    value: ast.expr
    reads: frozenset[str]
    calls: frozenset[str]


@dataclass(frozen=True, eq=False)
class Sight:
    """A kernel with its launch. Numbers are those of the workload's performance case, None where the text does not tell."""

    kernel: Kernel
    fragment: Fragment
    site: Site | Refusal
    given: Mapping[str, object]

    @property
    def reading(self) -> Reading:
        return self.fragment.reading

    @functools.cached_property
    def sets(self) -> tuple[Set, ...]:
        """What the kernel sets names to, in order of the text."""
        short = {call: name for name, call in self.reading.calls}
        return tuple(
            Set(
                one.name,
                one.value.lineno,
                one.value,
                names_read(one.value),
                frozenset(short[part] for part in walk(one.value) if part in short),
            )
            for one in bindings_of(self.fragment.function)
        )

    @functools.cached_property
    def values(self) -> Mapping[str, tuple[ast.expr, ...]]:
        """What each name that the kernel sets is set to."""
        found: dict[str, tuple[ast.expr, ...]] = {}
        for one in self.sets:
            found[one.name] = (*found.get(one.name, ()), one.value)
        return found

    @functools.cached_property
    def of_programs(self) -> frozenset[str]:
        """The names that differ from program to program."""
        return self._reached("program_id")

    @functools.cached_property
    def of_lanes(self) -> frozenset[str]:
        """The names that have an element for each lane."""
        return self._reached("arange", "load")

    def _reached(self, *sources: str) -> frozenset[str]:
        """The names that are computed from a call of one of `sources`, directly or through others."""
        found = {one.name for one in self.sets if one.calls & set(sources)}
        while more := {one.name for one in self.sets if one.name not in found and one.reads & found}:
            found |= more
        return frozenset(found)

    @functools.cached_property
    def nested_loops(self) -> tuple[Loop, ...]:
        """The loops that stand inside another one."""
        loops = self.reading.loops
        return tuple(one for one in loops if any(two is not one and is_in(two, one.node.lineno) for two in loops))

    def loads_in(self, loop: Loop) -> tuple[ast.Call, ...]:
        """The loads that stand in a loop, also in loops within it."""
        loads = (one.call for one in self.reading.accesses if one.kind == "load")
        return tuple(call for call in loads if is_in(loop, call.lineno))

    def calls_in(self, loop: Loop, name: str) -> bool:
        """Whether a function of triton.language is called in a loop, also in loops within it."""
        return any(short == name and is_in(loop, call.lineno) for short, call in self.reading.calls)

    def sets_in(self, loop: Loop) -> tuple[Set, ...]:
        """What a loop sets names to, also in loops within it."""
        return tuple(one for one in self.sets if is_in(loop, one.line))

    @functools.cached_property
    def programs(self) -> int | None:
        """How many programs the launch starts."""
        if isinstance(self.site, Refusal) or isinstance(self.site.grid, ast.FunctionDef):
            return None
        grid = self.site.grid.body if isinstance(self.site.grid, ast.Lambda) else self.site.grid
        sides = [self._launched(side) for side in (grid.elts if isinstance(grid, ast.Tuple | ast.List) else [grid])]
        known = [side for side in sides if side is not None]
        return math.prod(known) if len(known) == len(sides) else None

    def number(self, expression: ast.expr | None) -> int | None:
        """The value of an expression of the kernel: a literal, a parameter, or arithmetic on them."""
        return self._value(expression, in_kernel=True, depth=0)

    def option(self, name: str, otherwise: int) -> int | None:
        """The value of a launch option such as num_warps."""
        if isinstance(self.site, Refusal):
            return None
        given = next((keyword.value for keyword in self.site.call.keywords if keyword.arg == name), None)
        return otherwise if given is None else self._launched(given)

    def _launched(self, expression: ast.expr) -> int | None:
        return self._value(expression, in_kernel=False, depth=0)

    def _value(self, node: ast.expr | None, *, in_kernel: bool, depth: int) -> int | None:
        literal = integer(node)
        if node is None or literal is not None or depth > _DEEPEST:
            return literal
        below = functools.partial(self._value, in_kernel=in_kernel, depth=depth + 1)
        match node:
            case ast.Name(id=name):
                return self._of_name(name, in_kernel, depth + 1)
            case ast.Subscript(slice=ast.Constant(value=str() as name)):
                return self._of_name(name, True, depth + 1)
            case ast.BinOp(left=left, op=op, right=right) if type(op) in _OPERATIONS:
                first, second = below(left), below(right)
                return None if first is None or second is None else _OPERATIONS[type(op)](first, second)
            case ast.Call(func=ast.Attribute(attr=name) | ast.Name(id=name), args=args) if name in _FUNCTIONS and args:
                values = [value for value in map(below, args) if value is not None]
                return _FUNCTIONS[name](*values) if len(values) == len(args) else None
        return None if in_kernel else value_of(ast.unparse(node), self._estimate, self.given)

    def _of_name(self, name: str, in_kernel: bool, depth: int) -> int | None:
        if isinstance(self.site, Refusal):
            return None
        if in_kernel and name in self.site.bound:
            return self._value(self.site.bound[name], in_kernel=False, depth=depth)
        function = self.fragment.function if in_kernel else self.site.function
        bound = [one.value for one in bindings_of(function) if one.name == name]
        if not in_kernel and (known := value_of(name, self._estimate, self.given)) is not None:
            return known
        return self._value(bound[0], in_kernel=in_kernel, depth=depth) if len(bound) == 1 else None

    @property
    def _estimate(self) -> Estimate:
        return self.kernel.facts.estimate


def is_in(loop: Loop, line: int) -> bool:
    """Whether a line (from 1) is one of the body of a loop."""
    return loop.node.lineno < line <= (loop.node.end_lineno or loop.node.lineno)


def sight(text: str, kernel: Kernel, workload: Workload | None) -> Sight | Refusal:
    """The kernel as a rewrite looks at it; refused where its text does not parse."""
    fragment = kernel_fragment(text, kernel)
    if isinstance(fragment, Refusal):
        return fragment
    return Sight(kernel, fragment, launch_site(text, kernel), _given(kernel, workload))


def _given(kernel: Kernel, workload: Workload | None) -> dict[str, object]:
    """What the performance case passes to the launcher, by name."""
    if workload is None or not workload.cases or kernel.is_module:
        return {}
    try:
        call = evaluate(workload.cases[0].text)
    except WorkloadError:
        return {}
    return {**dict(zip(kernel.facts.estimate.parameters, call.args, strict=False)), **call.kwargs}
