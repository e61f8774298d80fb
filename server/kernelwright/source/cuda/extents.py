"""How many elements a kernel touches behind each pointer, as sums and products of the sizes that its launcher is given."""

import re
from collections.abc import Iterator, Mapping

from tree_sitter import Node

from kernelwright.source import polynomials
from kernelwright.source.cuda.accesses import accesses, flat_index
from kernelwright.source.cuda.definitions import File, Function, Launch
from kernelwright.source.cuda.expressions import Names, plain
from kernelwright.source.cuda.stretches import begins
from kernelwright.source.cuda.text import field, of_type
from kernelwright.source.polynomials import Polynomial

_LESS = {"<": 0, "<=": 1, ">=": 0}  # what is added to the limit; `i >= n` ends the thread, or leads elsewhere
_MORE = {">": 0, ">=": 1}
_CEILING = re.compile(r"\((.+)\+(\w+)-1\)/\2$|\((.+)\+(\d+)\)/(\d+)$")
_AXES = ("x", "y", "z")
_ONE = polynomials.number(1)
STRETCH = 16  # elements from one beginning to the next, on average, in the arrays that say where stretches begin
_DEEPEST = 12


def extents(
    file: File, kernel: Function, launch: Launch | None, held: Mapping[str, int], own: bool = False
) -> dict[str, list[Polynomial]]:
    """For each pointer parameter of the kernel how many elements its accesses need, as far as they can be followed.

    The names are parameters of the function that launches it, of the kernel where it is launched by its `own` line. `held`
    says what elements of an array are below, by the array's name, where they are indices into another one.
    """
    return _Extents(file, kernel, launch, held, own).found()


class _Extents:
    def __init__(self, file: File, kernel: Function, launch: Launch | None, held: Mapping[str, int], own: bool) -> None:
        self._file = file
        self._launch = launch
        self._held = held
        self._guards = dict(guards(Names(file, kernel)))
        self._names = Names(file, kernel, frozenset(self._guards))
        self._own = own
        self._passed = passed(file, kernel, launch) if launch is not None and own else {}
        self._outer = Names(file, launch.function, frozenset(self._passed)) if launch is not None else None
        self._kernel = kernel
        self._begins = begins(self._names)
        nodes = of_type(kernel.body, "binary_expression")
        self._quotients = {plain(self._content(one)): one for one in nodes if self._operator(one) in ("/", "%")}

    def found(self) -> dict[str, list[Polynomial]]:
        found: dict[str, list[Polynomial]] = {}
        for access in accesses(self._names):
            moves = access.base in self._names.assigned  # `x += n;`
            index = flat_index(self._names, access) if access.space == "global" and not moves else None
            most = self._most(index, 0) if index is not None else None
            outer = self._at_launch(most + _ONE) if most is not None else None
            if outer is not None and outer not in found.setdefault(access.base, []):
                found[access.base].append(outer)
        return found

    def _most(self, index: Polynomial, depth: int) -> Polynomial | None:
        """The largest value of an index over all threads and turns of loops."""
        whole = self._whole_grid(index)
        for name in sorted(whole.names):
            bound = self._bound(name, depth) if depth < _DEEPEST else None
            if bound is None:
                continue
            step = whole.coefficient(name)
            if step is None:
                return None
            falls = all(value < 0 for _, value in step.terms)
            most = whole.without(name) if falls else whole.without(name) + step * (bound - _ONE)
            return self._most(most, depth + 1)
        return whole

    def _whole_grid(self, index: Polynomial) -> Polynomial:
        """With `blockIdx.x * blockDim.x + threadIdx.x`, where nothing else bounds it, as the last element of the grid."""
        for axis in _AXES:
            block, thread, width = (f"{name}.{axis}" for name in ("blockIdx", "threadIdx", "blockDim"))
            step = index.coefficient(thread)
            covered = self._covered(axis)
            if step is None or covered is None or not step.terms:
                continue
            whole = step * (polynomials.name(block) * polynomials.name(width) + polynomials.name(thread))
            if not (index - whole).names & {block, thread}:
                index = index - whole + step * (covered - _ONE)
        return index

    def _covered(self, axis: str) -> Polynomial | None:
        """How many elements the grid was rounded up from: `n` of `(n + 255) / 256`, in the kernel's own parameters."""
        grid = self._part(self._launch.grid if self._launch is not None else None, axis)
        match = _CEILING.match(re.sub(r"\s+", "", self._content(grid))) if grid is not None else None
        if grid is None or match is None or self._outer is None:
            return None
        sums = (one for one in of_type(grid, "binary_expression") if self._content(one).count("+") == 1)
        inner = next(sums, None)
        left = field(inner, "left") if inner is not None else None
        return self._at(left) if left is not None else None

    def _bound_of_quotient(self, node: Node, depth: int) -> Polynomial | None:
        """What `i % n` or `i / n` stays below: n, and what i stays below without the factor n."""
        left, right = field(node, "left"), field(node, "right")
        if left is None or right is None:
            return None
        divisor = self._names.polynomial(right)
        if self._operator(node) == "%":
            return divisor
        most = self._most(self._names.polynomial(left), depth + 1)
        return (most + _ONE).divided(divisor) if most is not None else None

    def _bound(self, name: str, depth: int) -> Polynomial | None:
        """What a name stays below."""
        if name in self._guards:
            limit, add = self._guards[name]
            return self._names.polynomial(limit) + polynomials.number(add)
        array = name.split("[")[0]
        if "[" in name and array in self._begins:
            stretches = self._most(self._names.polynomial(self._begins[array]) + _ONE, depth + 1)
            return stretches * polynomials.number(STRETCH) + _ONE if stretches is not None else None
        if "[" in name and array in self._held:
            return polynomials.number(self._held[array])
        if name in self._quotients:
            return self._bound_of_quotient(self._quotients[name], depth)
        kind, _, axis = name.partition(".")
        if axis not in _AXES or self._launch is None or self._outer is None:
            return None
        part = self._part(self._launch.block if kind in ("threadIdx", "blockDim") else self._launch.grid, axis)
        if kind in ("threadIdx", "blockIdx"):
            return self._at(part) if part is not None else _ONE
        return self._at(part) + _ONE if part is not None else polynomials.number(2)

    def _at(self, node: Node) -> Polynomial:
        """A size of the launch, for a kernel with a line of its own in the kernel's parameters."""
        assert self._outer is not None
        found = self._outer.polynomial(node)
        if not self._own:
            return found
        foreign = {one: polynomials.name(f"?{one}") for one in found.names}
        return found.replaced({**foreign, **{one: polynomials.name(name) for one, name in self._passed.items()}})

    def _part(self, node: Node | None, axis: str) -> Node | None:
        """One of the sizes of a grid or block; None where it is left out."""
        if node is None or self._launch is None:
            return None
        sizes = dimensions(self._file, self._launch, node)
        place = _AXES.index(axis)
        return sizes[place] if place < len(sizes) else None

    def _at_launch(self, found: Polynomial) -> Polynomial | None:
        """In the launcher's names instead of the kernel's parameters; None where other names are left."""
        found = self._without_quotients(found)
        if self._launch is None or self._outer is None or self._own:
            known = {one.name for one in self._kernel.parameters}
            return found if found.names <= known else None
        given = dict(zip((one.name for one in self._kernel.parameters), self._launch.arguments, strict=False))
        known = {one.name for one in self._launch.function.parameters if one.base != "dim3"}
        for name in sorted(found.names):
            step = found.coefficient(name)
            if step is None:
                return None
            if name in given and self._content(given[name]) != name:
                found = found.without(name) + step * self._outer.polynomial(given[name])
        return found if found.names <= known else None

    def _without_quotients(self, found: Polynomial) -> Polynomial:
        """What it is at most with sizes in the place of halves and the like: `2 * (n / 2)` is no more than n."""
        for name in sorted(found.names & self._quotients.keys()):
            node, step = self._quotients[name], found.coefficient(name)
            left, right = field(node, "left"), field(node, "right")
            by = self._names.number(right)
            if left is None or step is None or not by or self._operator(node) != "/":
                continue
            rounded = Polynomial(tuple((term, -(-value // by)) for term, value in step.terms if value > 0))
            found = found.without(name) + rounded * self._names.polynomial(left)
        return found

    def _operator(self, node: Node) -> str:
        operator = field(node, "operator")
        return self._content(operator) if operator is not None else ""

    def _content(self, node: Node) -> str:
        return self._file.source.content(node)


def passed(file: File, kernel: Function, launch: Launch) -> dict[str, str]:
    """The kernel's parameters by the names that the launching function passes for them."""
    pairs = zip(kernel.parameters, launch.arguments, strict=False)
    named = ((file.source.content(node), one) for one, node in pairs if node.type == "identifier")
    return {name: one.name for name, one in named if not one.is_pointer}


def dimensions(file: File, launch: Launch, node: Node) -> tuple[Node, ...]:
    """The one to three expressions of a grid or block, through the name of a `dim3`.

    `dim3 block(TILE, TILE)` reads as the declaration of a function that takes two types.
    """
    content, inner = file.source.content, node
    for declared in of_type(launch.function.body, "init_declarator", "function_declarator"):
        name, value = field(declared, "declarator"), field(declared, "value") or field(declared, "parameters")
        if name is not None and value is not None and node.type == "identifier" and content(name) == content(node):
            inner = value
    if inner.type == "call_expression":
        callee, listed = field(inner, "function"), field(inner, "arguments")
        if callee is None or listed is None or content(callee) not in ("dim3", "uint3"):
            return (inner,)
        inner = listed
    if inner.type in ("argument_list", "initializer_list", "parameter_list"):
        return tuple(one for one in inner.named_children if one.type != "comment")
    return (inner,)


def guards(names: Names) -> Iterator[tuple[str, tuple[Node, int]]]:
    """Names that a condition holds below something: `i < n`, `n > i`, and `if (i >= n) return`."""
    content = names.file.source.content
    for node in of_type(names.function.body, "binary_expression"):
        left, right, operator = field(node, "left"), field(node, "right"), field(node, "operator")
        if left is None or right is None or operator is None:
            continue
        written = content(operator)
        if left.type == "identifier" and written in _LESS and right.type != "number_literal":
            yield content(left), (right, _LESS[written])
        elif right.type == "identifier" and written in _MORE and names.function.parameter(content(right)) is None:
            yield content(right), (left, _MORE[written])
    for name, start, end in _counted(names):
        yield name, (start, end)


def _counted(names: Names) -> Iterator[tuple[str, Node, int]]:
    """The variables of loops that count up to something."""
    content = names.file.source.content
    for loop in names.loops:
        left, right, operator = (field(loop.condition, part) for part in ("left", "right", "operator"))
        if left is None or right is None or operator is None or content(left) != loop.variable:
            continue
        if content(operator) in _LESS:
            yield loop.variable, right, _LESS[content(operator)]
