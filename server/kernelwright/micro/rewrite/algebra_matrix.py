"""Matrix products in a cheaper form: order of a chain, diagonal factors, scales on the smaller side, transposes undone."""

import math

from kernelwright.micro.rewrite.algebra import Match, View, line_of, written
from kernelwright.micro.rewrite.algebra_source import Code, Spelling, atom
from kernelwright.values import Argument, Node, Refusal, TensorRef

_PRODUCTS = ("matmul", "mm", "bmm", "mv")


def ordered_chain(view: View, node: Node) -> Match | None:
    """(A B) C = A (B C), in the order that multiplies less."""
    if node.op not in _PRODUCTS or node.inplace:
        return None
    best: Match | None = None
    for side in (0, 1):
        inner = view.private(node.tensor(side))
        if inner is None or inner.op not in _PRODUCTS:
            continue
        left, right = inner.tensor(), inner.tensor(1)
        other = node.tensor(1 - side)
        order = (left, right, other) if side == 0 else (other, left, right)
        shapes = [view.shape(v) for v in order]
        if any(len(s) != 2 for s in shapes[:2]) or len(shapes[2]) not in (1, 2):
            continue
        (m, k), (_, n), last = *shapes[:2], (shapes[2] + (1,))[1]
        first, second = 2 * m * k * n + 2 * m * n * last, 2 * k * n * last + 2 * m * k * last
        saved = first - second if side == 0 else second - first
        if saved > 0 and (best is None or saved > best.saved_flops):
            form = "{0} @ ({1} @ {2})" if side == 0 else "({0} @ {1}) @ {2}"
            best = _chain(view, node, inner, order, form, saved)
    return best


def _chain(view: View, node: Node, inner: Node, order: tuple[int, ...], form: str, saved: int) -> Match:
    def write(spelling: Spelling) -> Code:
        text = form.format(*(atom(spelling.once(v)) for v in order))
        return Code(text, ("# Multiplied in this order the product needs fewer operations.",))

    nodes = frozenset({inner.id, node.id})
    return Match(nodes, node.outputs[0], "the cheaper order of a matrix product", write, saved, 0)


def diagonal_factor(view: View, node: Node) -> Match | None:
    """diag(v) @ M = v[:, None] * M and M @ diag(v) = M * v: for finite M, exactly."""
    if node.op not in ("matmul", "mm") or node.inplace or any(len(view.shape(node.tensor(i))) != 2 for i in (0, 1)):
        return None
    for side in (0, 1):
        inner = view.private(node.tensor(side))
        if inner is None or inner.op not in ("diag", "diag_embed") or _offset(inner):
            continue
        vector, other = inner.tensor(), node.tensor(1 - side)
        if len(view.shape(vector)) != 1 or not view.same_dtype(vector, other):
            continue

        def write(spelling: Spelling, side: int = side, vector: int = vector, other: int = other) -> Code:
            v, matrix = spelling.value(vector), spelling.value(other)
            comment = "# A product with a diagonal matrix scales the rows or columns of the other one."
            return Code(f"{v}[:, None] * {matrix}" if side == 0 else f"{matrix} * {v}", (comment,))

        rows, columns = view.shape(node.outputs[0])
        inner_extent = view.shape(node.tensor())[1]
        return Match(
            frozenset({inner.id, node.id}),
            node.outputs[0],
            "a diagonal factor as a scale",
            write,
            2 * rows * columns * inner_extent - rows * columns,
            2 * view.bytes(inner.outputs[0]),
        )
    return None


def _offset(node: Node) -> bool:
    """Whether a diagonal beside the main one, or other dimensions, were asked for."""
    return any(a not in (None, 0) for a in node.args[1:]) or any(v not in (None, 0) for v in node.kwargs.values())


def scaled_operand(view: View, node: Node) -> Match | Refusal | None:
    """(A B) * s = (A * s) B: the scale goes to the smaller operand."""
    step = view.step(node)
    if step is None or not step.by_scalar or step.op not in ("mul", "div"):
        return None
    core = view.private(step.value)
    if core is None or core.op not in _PRODUCTS or core.inplace:
        return None
    if not view.floating(step.value):
        return Refusal("The product is of whole numbers, and a scaled operand would not be.", line_of(node))
    left, right = core.tensor(), core.tensor(1)
    smaller = 0 if view.bytes(left) <= view.bytes(right) else 1
    saved = 2 * view.bytes(step.value) - 2 * view.bytes((left, right)[smaller])
    if saved <= 0:
        return Refusal("The product is no larger than what it is made of; scaling those saves nothing.", line_of(node))

    def write(spelling: Spelling) -> Code:
        texts = [atom(spelling.once(left)), atom(spelling.once(right))]
        name = spelling.fresh("scaled")
        operand = written(step, spelling)
        line = f"{name} = {texts[smaller]} {'*' if step.op == 'mul' else '/'} {operand}"
        texts[smaller] = name
        comment = "# The scale is applied to an operand, which is smaller than the product."
        return Code(" @ ".join(texts), (comment, line))

    return Match(
        frozenset({core.id, node.id}),
        node.outputs[0],
        "the scale of a matrix product on its smaller operand",
        write,
        math.prod(view.shape(step.value)) - math.prod(view.shape((left, right)[smaller])),
        saved,
    )


def undone_transposes(view: View, node: Node) -> Match | None:
    """Transposes and permutations in a row that together leave every dimension where it was."""
    order = _permutation(view, node)
    if order is None:
        return None
    nodes, source = [node], node.tensor()
    while order != tuple(range(len(order))):
        inner = view.private(source)
        before = _permutation(view, inner) if inner is not None else None
        if inner is None or before is None:
            return None
        order = tuple(before[i] for i in order)
        nodes.append(inner)
        source = inner.tensor()
    if len(nodes) < 2 or view.aliased(node.outputs[0], source):
        return None
    return Match(
        frozenset(n.id for n in nodes),
        node.outputs[0],
        "transposes that undo each other",
        lambda spelling: Code(spelling.once(source)),
        0,
        0,
        True,
    )


def _permutation(view: View, node: Node) -> tuple[int, ...] | None:
    """Which dimension of its argument each dimension of a transposing call's result is."""
    if node.inplace or not node.args or not isinstance(node.args[0], TensorRef):
        return None
    rank = len(view.shape(node.args[0].id))
    order = list(range(rank))
    if node.op == "t" and rank == 2:
        return (1, 0)
    if node.op == "mT" and rank >= 2:
        order[-2:] = order[-1], order[-2]
        return tuple(order)
    if node.op == "transpose":
        first, second = (_dim(node.kwargs[name], rank) for name in ("dim0", "dim1"))
        order[first], order[second] = second, first
        return tuple(order)
    if node.op == "permute" and isinstance(node.kwargs["dims"], tuple) and len(node.kwargs["dims"]) == rank:
        return tuple(_dim(d, rank) for d in node.kwargs["dims"])
    return None


def _dim(given: Argument, rank: int) -> int:
    """A dimension counted from the first one."""
    assert isinstance(given, int)
    return given % rank
