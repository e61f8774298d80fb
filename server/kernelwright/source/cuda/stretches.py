"""Arrays that say where stretches of others begin, each up to where the next one does, as the rows of a sparse matrix."""

from tree_sitter import Node

from kernelwright.source import polynomials
from kernelwright.source.cuda.accesses import Access, accesses
from kernelwright.source.cuda.expressions import Names
from kernelwright.source.cuda.text import field


def begins(names: Names) -> dict[str, Node]:
    """For each such array the number of a stretch: `i` of a loop from `p[i]`, or a thread behind it, to `p[i + 1]`."""
    read = {one.node: one for one in accesses(names) if one.kind == "load" and len(one.indices) == 1}
    found = {}
    for loop in names.loops:
        last = field(loop.condition, "right") if loop.condition is not None else None
        other = _read(names, read, last)
        for start in (loop.start, field(loop.start, "left"), field(loop.start, "right")):
            one = _read(names, read, start)
            if one is not None and other is not None and one.base == other.base:
                step = names.polynomial(other.indices[0]) - names.polynomial(one.indices[0])
                if step == polynomials.number(1):
                    found[one.base] = one.indices[0]
    return found


def _read(names: Names, read: dict[Node, Access], node: Node | None) -> Access | None:
    """The access whose value an expression is."""
    if node is not None and node.type == "identifier":
        node = names.values.get(names.file.source.content(node))
    return read.get(node) if node is not None else None
