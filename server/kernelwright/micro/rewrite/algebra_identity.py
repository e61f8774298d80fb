"""Operations that change nothing: reductions of a single element, factors of one, dropout that drops nothing."""

from kernelwright.micro.rewrite.algebra import Match, View, dims_of
from kernelwright.micro.rewrite.algebra_source import Code, Spelling, Unwritable, atom
from kernelwright.ops import Kind, row
from kernelwright.values import Node, TensorRef


def is_identity(view: View, node: Node) -> bool:
    """Whether a reduction runs over one element because an earlier one left only that: exact, NaN and Inf included."""
    if not row(node.op).of_one or not node.args or node.inplace or node.kwargs.get("dtype") is not None:
        return False
    source = node.tensor()
    dims = dims_of(node)
    if not dims or not view.floating(source) or any(view.shape(source)[d] != 1 for d in dims):
        return False
    if node.op in ("max", "min") and len(node.outputs) > 1 and view.used(node.outputs[1]):
        return False
    return all(_left_by_reduction(view, source, d) for d in dims)


def _left_by_reduction(view: View, id: int, dim: int) -> bool:
    """Whether the extent 1 of `dim` is the doing of the code, not of the sizes that happened to be called with."""
    node = view.producer(id)
    if node is None:
        return False
    dims = node.kwargs.get("dim")
    if row(node.op).kind is Kind.REDUCTION and node.kwargs.get("keepdim") and isinstance(dims, tuple):
        return dim in dims or _left_by_reduction(view, node.tensor(), dim)
    if node.op.startswith("adaptive_") and "pool" in node.op:
        return True
    if node.op == "linear" and dim == len(view.shape(id)) - 1:
        return True
    step = view.step(node)
    if step is not None:
        return _left_by_reduction(view, step.value, dim)
    if len(node.args) == 1 and isinstance(node.args[0], TensorRef) and view.shape(node.args[0].id) == view.shape(id):
        return _left_by_reduction(view, node.args[0].id, dim)
    return False


def single_element(view: View, node: Node) -> Match | None:
    """sum, mean, max, min and logsumexp over a dimension with one element are that element."""
    if not is_identity(view, node):
        return None
    source, output, nodes = node.tensor(), node.outputs[0], {node.id}
    dims = () if node.kwargs["keepdim"] else dims_of(node)
    while not dims and (user := view.only_user(output)) is not None and is_identity(view, user):
        nodes.add(user.id)
        output = user.outputs[0]
        dims = () if user.kwargs["keepdim"] else dims_of(user)

    def write(spelling: Spelling) -> Code:
        text = spelling.once(source)
        return Code(f"{atom(text)}.squeeze({dims if len(dims) > 1 else dims[0]})" if dims else text)

    label = f"{node.op} of a single element"
    return Match(frozenset(nodes), output, label, write, 0, 2 * view.bytes(source) * len(nodes), True)


def nothing_done(view: View, node: Node) -> Match | None:
    """x * 1, x / 1, x + 0, x - 0, --x, dropout with p=0, a cast to the own dtype, a second contiguous."""
    source = _unchanged(view, node)
    if source is None or node.inplace or view.aliased(node.outputs[0], source):
        return None

    def write(spelling: Spelling) -> Code:
        module = spelling.module(node)
        if node.op == "dropout" and not spelling.pinned(node, "p", 0 if module else 1):
            raise Unwritable("The dropout drops nothing on this workload, but its probability can be another one.")
        step = view.step(node)
        if step is not None and not spelling.fixed(node, "other" if step.position else "input", 0):
            raise Unwritable("The number does nothing on this workload, but it is a variable and can be another one.")
        return Code(spelling.once(source))

    return Match(
        frozenset({node.id}),
        node.outputs[0],
        f"{node.op} that changes nothing",
        write,
        0,
        0 if node.op in ("to", "contiguous", "view", "reshape") else 2 * view.bytes(source),
        True,
    )


def _unchanged(view: View, node: Node) -> int | None:
    if not node.args or not isinstance(node.args[0], TensorRef):
        return None
    source, output = node.args[0].id, node.outputs[0]
    before, after = view.graph.value(source).type, view.graph.value(output).type
    if before != after:
        return None
    step = view.step(node)
    if step is not None and isinstance(step.other, int | float):
        neutral = {"mul": 1, "div": 1, "sub": 0, "add": 0}.get(step.op)
        # x + 0 turns -0.0 into 0.0; x - 0 and x + -0.0 do not.
        exact = neutral is not None and step.other == neutral and step.op != "add"
        return step.value if exact else None
    if node.op == "dropout" and node.kwargs["p"] == 0:
        return source
    if node.op in ("to", "contiguous"):
        return source if view.producer(source) is not None else None
    return None
