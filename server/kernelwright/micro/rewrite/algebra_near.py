"""Says why a reduction of a linear map is not taken apart: what stands between the two, or who else needs the result."""

from kernelwright.micro.rewrite.algebra import View, line_of
from kernelwright.micro.rewrite.algebra_source import VIEWS
from kernelwright.values import Node, Refusal, TensorRef

_LINEAR_MAPS = ("linear", "matmul", "mm", "bmm")


def blocked_reduction(view: View, node: Node) -> Refusal | None:
    """A sum or mean some way after a linear map, with something in between that no rule moves it across."""
    if node.op not in ("sum", "mean") or not node.args or not isinstance(node.args[0], TensorRef):
        return None
    _, start = view.chain(node.args[0].id)
    blocking = view.producer(start)
    if blocking is None or not _leads_to_linear_map(view, blocking):
        return None
    users = view.users(start)
    if len(users) > 1 or start in view.graph.outputs:
        who = " and ".join(dict.fromkeys(f"`{u.op}`" for u in users)) if len(users) > 1 else "the caller"
        return Refusal(f"The result of `{blocking.op}` is used by {who}, so it must be computed.", line_of(blocking))
    while blocking.op in VIEWS and (made := _maker(view, blocking)) is not None:
        blocking = made
    if _is_linear_map(blocking):
        return Refusal(f"The {node.op} runs over dimensions that no rule moves to the operands.", line_of(node))
    return Refusal(
        f"`{blocking.op}` stands between the linear map and the {node.op}, and is not affine.", line_of(blocking)
    )


def _maker(view: View, node: Node) -> Node | None:
    return view.producer(node.args[0].id) if isinstance(node.args[0], TensorRef) else None


def _is_linear_map(node: Node) -> bool:
    return node.op in _LINEAR_MAPS or node.op.startswith("conv")


def _leads_to_linear_map(view: View, node: Node | None) -> bool:
    for _ in range(8):
        if node is None:
            return False
        if _is_linear_map(node):
            return True
        operands = [a.id for a in node.args if isinstance(a, TensorRef)]
        made = [p for p in (view.producer(v) for v in operands) if p is not None]
        node = made[0] if made else None
    return False
