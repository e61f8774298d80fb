"""What a CUDA kernel must move and compute at least, as expressions over the sizes that its entry is given."""

from collections.abc import Iterator

from tree_sitter import Node

from kernelwright.source import polynomials
from kernelwright.source.cuda.accesses import accesses, flat_index
from kernelwright.source.cuda.definitions import File, Function
from kernelwright.source.cuda.expressions import BUILT_IN, Loop, Names
from kernelwright.source.cuda.text import field, of_type
from kernelwright.source.polynomials import Polynomial
from kernelwright.values import Estimate

_ARITHMETIC = frozenset("+-*/")
_UPDATES = frozenset(("+=", "-=", "*=", "/="))
_UP = ("<", "<=")
_FLOATS = ("float", "double", "half", "__half", "__nv_bfloat16", "float2", "float4")


def estimate(file: File, entry: Function) -> Estimate:
    """The work of one call of `entry`: each tensor read and written once, and the operations of its kernels where loops tell.

    Nothing is said of the bytes either where a loop hides how much is computed: they alone would be a bound too low.
    """
    launches = [one for one in file.launches if one.function is entry]
    kernels = [one for launch in launches if (one := file.kernel(launch.kernel)) is not None] or [entry]
    parameters = tuple(one.name for one in entry.parameters)
    if len(kernels) > 1 or (launches and len(launches) != 1):
        return Estimate(parameters=parameters)
    (kernel,) = kernels
    inner = {one.name: file.source.content(a) for one, a in zip(kernel.parameters, launches[0].arguments, strict=False)} if (
        launches
    ) else {name: name for name in parameters}  # fmt: skip
    moved = _moved(file, kernel, inner, frozenset(parameters))
    flops = _operations(file, kernel, inner, frozenset(parameters))
    if flops is None:
        return Estimate(parameters=parameters)
    tensors = [one.name for one in entry.parameters if one.is_pointer and one.base in _FLOATS]
    return Estimate(
        bytes=" + ".join(moved) or None, flops=flops, parameters=parameters, typed_by=tensors[0] if tensors else None
    )


def _moved(file: File, kernel: Function, inner: dict[str, str], known: frozenset[str]) -> list[str]:
    """The bytes of each tensor; twice for one that is read and written. Of one that is gathered from, nobody knows how many."""
    names = Names(file, kernel)
    kinds: dict[str, set[str]] = {}
    for access in accesses(names):
        index = flat_index(names, access)
        gathered = index is None or any("[" in name or "(" in name for name in index.names)
        kinds.setdefault(access.base, set()).add("gathered" if gathered else access.kind)
    found = []
    for one in kernel.parameters:
        name, seen = inner.get(one.name, ""), kinds.get(one.name, set())
        if one.is_pointer and name in known and seen and "gathered" not in seen:
            both = bool(seen & {"update", "atomic"}) or {"load", "store"} <= seen
            found.append(f"{'2*' if both else ''}{name}.itemsize*{name}.numel()")
    return found


def _operations(file: File, kernel: Function, inner: dict[str, str], known: frozenset[str]) -> str | None:
    """Floating-point operations of all threads, None where a loop or the number of threads cannot be told in sizes."""
    names = Names(file, kernel)
    threads = _threads(names)
    total = polynomials.number(0)
    for node, loops in _arithmetic(names):
        each = threads if len(loops) == _depth(names, node) else None
        for loop in loops:
            turns = _turns(names, loop)
            each = each * turns if each is not None and turns is not None else None
        if each is None:
            return None
        total = total + each
    written = [_term(term, number, inner) for term, number in total.terms]
    if any(one is None for one in written) or not total.names <= {name for name in inner if inner[name] in known}:
        return None
    return " + ".join(one for one in written if one is not None) or "0"


def _term(term: tuple[str, ...], number: int, inner: dict[str, str]) -> str | None:
    return "*".join([str(number), *(inner[name] for name in term)]) if all(name in inner for name in term) else None


def _depth(names: Names, node: Node) -> int:
    """How many loops of any kind a node stands in."""
    found, parent = 0, node.parent
    while parent is not None and parent.id != names.function.body.id:
        found += parent.type in ("for_statement", "while_statement", "do_statement")
        parent = parent.parent
    return found


def _arithmetic(names: Names) -> Iterator[tuple[Node, tuple[Loop, ...]]]:
    """The operations on values, with the counted loops around them: those that make indices or count loops are left out."""
    content = names.file.source.content
    whole = {name for name, value in names.values.items() if _is_whole(names, value)}
    for node in of_type(names.function.body, "binary_expression", "assignment_expression"):
        operator = field(node, "operator")
        wanted = _UPDATES if node.type == "assignment_expression" else _ARITHMETIC
        if operator is not None and content(operator) in wanted and not _is_index(names, node, whole):
            yield node, names.loops_around(node)


def _is_index(names: Names, node: Node, whole: set[str]) -> bool:
    """Whether an operation is about places: in brackets, in the head of a loop, a condition, or of a whole number."""
    parent: Node | None = node
    while parent is not None and parent.id != names.function.body.id:
        outer = parent.parent
        if outer is not None and outer.type in ("subscript_argument_list", "condition_clause"):
            return True
        if outer is not None and outer.type == "for_statement" and parent.id != _id_of(field(outer, "body")):
            return True
        if parent.type == "init_declarator":
            name = field(parent, "declarator")
            return name is not None and (names.file.source.content(name) in whole or name.type == "pointer_declarator")
        parent = outer
    return False


def _id_of(node: Node | None) -> int | None:
    return node.id if node is not None else None


def _is_whole(names: Names, value: Node) -> bool:
    """Whether a local is an index: made of thread indices and whole numbers."""
    found = names.polynomial(value)
    return all(name.split(".")[0] in BUILT_IN or _is_integer(names, name) for name in found.names) and value.type != (
        "number_literal"
    )


def _is_integer(names: Names, name: str) -> bool:
    parameter = names.function.parameter(name)
    if parameter is not None:
        return not parameter.is_pointer and parameter.base not in _FLOATS
    return name in {loop.variable for loop in names.loops}


def _threads(names: Names) -> Polynomial | None:
    """How many threads do the work: the limits that conditions set to places made of thread indices, multiplied."""
    content, found = names.file.source.content, dict[str, Polynomial]()
    for node in of_type(names.function.body, "binary_expression"):
        left, right, operator = field(node, "left"), field(node, "right"), field(node, "operator")
        if left is None or right is None or operator is None or content(operator) not in ("<", ">="):
            continue
        place, limit = names.polynomial(left), names.polynomial(right)
        axes = {name.split(".")[1] for name in place.names if name.startswith(("threadIdx.", "blockIdx."))}
        if len(axes) == 1 and limit.names and not any(name.split(".")[0] in BUILT_IN for name in limit.names):
            found.setdefault(axes.pop(), limit)
    used = {axis for axis in "xyz" if f"Idx.{axis}" in content(names.function.body)}
    if not found or not used <= found.keys():
        return None
    product = polynomials.number(1)
    for axis in sorted(used):
        product = product * found[axis]
    return product


def _turns(names: Names, loop: Loop) -> Polynomial | None:
    """How often a loop turns that counts up by one from a number."""
    content = names.file.source.content
    right, operator = field(loop.condition, "right"), field(loop.condition, "operator")
    start, update = names.polynomial(loop.start), content(loop.update) if loop.update is not None else ""
    if right is None or operator is None or content(operator) not in _UP or start.number is None:
        return None
    counts = update.replace(" ", "") in (f"{loop.variable}++", f"++{loop.variable}")
    return names.polynomial(right) - start + polynomials.number(content(operator) == "<=") if counts else None
