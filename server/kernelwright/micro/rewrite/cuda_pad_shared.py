"""Arrays in shared memory whose columns lie in one bank, with a column more."""

import math
from collections.abc import Iterator
from dataclasses import dataclass

from tree_sitter import Node

from kernelwright.micro.rewrite.cuda_code import named
from kernelwright.micro.rewrite.cuda_guarded import X, declared, type_of
from kernelwright.micro.rewrite.cuda_patch import Patch
from kernelwright.micro.rewrite.cuda_sight import CudaSight
from kernelwright.source.cuda.accesses import Access, flat_index
from kernelwright.source.cuda.text import field, of_type
from kernelwright.values import Refusal

_BANKS = 32
_STATIC_BYTES = 48 * 1024
_WORDS = {"float": 1, "int": 1, "unsigned": 1, "unsigned int": 1, "int32_t": 1, "uint32_t": 1, "double": 2}
_WORTH = 4  # threads that wait for one bank


@dataclass(frozen=True, eq=False)
class Padded:
    """An array that gets a column more: how many threads of a warp wait for one bank at worst, before and after."""

    name: str
    size: Node
    before: int
    after: int
    worst: Access


def padded(sight: CudaSight) -> tuple[Patch, tuple[Padded, ...]] | Refusal:
    """The kernel with a column more in each array that needs it."""
    if not sight.names.shared:
        return Refusal("The kernel has no array in shared memory.")
    found, why = [], None
    for name in sight.names.shared:
        one = _padded(sight, name)
        if isinstance(one, Padded):
            found.append(one)
        else:
            why = why or one
    if not found:
        return why or Refusal("No warp waits for one bank of shared memory, as far as can be read.")
    size = _bytes(sight, {one.name for one in found})
    if size is None or size > _STATIC_BYTES:
        return Refusal("A column more may not fit shared memory.", found[0].size.start_point.row)
    patch = sight.patch()
    for one in found:
        patch.after(one.size, " + 1")
    return patch, tuple(found)


def _padded(sight: CudaSight, name: str) -> Padded | Refusal | None:
    sizes, words = sight.names.shared[name], _WORDS.get(type_of(sight, name))
    numbers = [sight.file.number(size) for size in sizes]
    uses = [one for one in sight.accesses if one.base == name]
    if len(sizes) < 2 or words is None or None in numbers or not uses:
        return None
    width = numbers[-1]
    assert width is not None
    worst = max(uses, key=lambda one: _waiting(sight, one, words, 0))
    before, after = (max(_waiting(sight, one, words, more) for one in uses) for more in (0, 1))
    if before < _WORTH or after >= before:
        return None
    mentioned = list(named(sight.file.source, sight.kernel.body, frozenset({name})))
    partial = next((one for one in uses if len(one.indices) != len(sizes) or _is_addressed(one.node)), None)
    if partial is not None or len(mentioned) != len(uses) + 1:
        node = partial.node if partial is not None else mentioned[-1]
        return Refusal(f"`{name}` is reached by a pointer, which counts on its rows as they are.", node.start_point.row)
    size = next(_last_sizes(sight, name), None)
    return Padded(name, size, before, after, worst) if size is not None else None


def _waiting(sight: CudaSight, access: Access, words: int, more: int) -> int:
    """How many threads of a warp need one bank at once, in an array with so many columns more."""
    if len(access.indices) < 2:
        return 1
    index = flat_index(sight.names, access)
    row = sight.names.polynomial(access.indices[-2]).coefficient(X)
    step = index.coefficient(X) if index is not None else None
    if step is None or step.number is None or row is None or row.number is None or step.number == 0:
        return 1
    lanes = min(_BANKS, sight.block[0]) if sight.block is not None else _BANKS
    return min(lanes, math.gcd((step.number + more * row.number) * words, _BANKS))


def _is_addressed(node: Node) -> bool:
    parent = node.parent
    return parent is not None and parent.type == "pointer_expression"


def _last_sizes(sight: CudaSight, name: str) -> Iterator[Node]:
    """The size of the last dimension, where the array is declared."""
    for one in of_type(sight.kernel.body, "declaration"):
        for declarator in one.children_by_field_name("declarator") if name in declared(sight, one) else ():
            size, inner = field(declarator, "size"), field(declarator, "declarator")
            while inner is not None and inner.type == "array_declarator":
                inner = field(inner, "declarator")
            if size is not None and inner is not None and sight.content(inner) == name:
                yield size


def _bytes(sight: CudaSight, wider: set[str]) -> int | None:
    """The bytes of all arrays together, with the columns more; None where a size is not known."""
    total = 0
    for name, sizes in sight.names.shared.items():
        numbers = [sight.file.number(size) for size in sizes]
        known = [number for number in numbers if number is not None]
        if len(known) != len(numbers):
            return None
        total += 4 * _WORDS.get(type_of(sight, name), 4) * math.prod([*known[:-1], known[-1] + (name in wider)])
    return total
