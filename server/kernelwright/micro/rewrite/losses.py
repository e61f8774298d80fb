"""Losses as lines of a Program: a pointwise distance of two tensors and its sum or mean."""

from kernelwright.micro.rewrite.program import ELEMENT, ROW
from kernelwright.micro.rewrite.scope import NotLowerable, Scope
from kernelwright.values import Node, TensorRef

LOSSES = frozenset({"mse_loss", "smooth_l1_loss", "huber_loss", "kl_div"})


def loss(low: Scope, node: Node, x: str, uses: list[str]) -> None:
    """A loss that is reduced to one number. Raises NotLowerable for one that is not."""
    target, reduction = node.args[1], node.kwargs.get("reduction")
    if not isinstance(target, TensorRef) or reduction not in ("mean", "sum", "batchmean"):
        raise NotLowerable(f"{node.op} with reduction={reduction!r} has no Triton form here.", node)
    shape = low.graph.value(node.args[0].id).type.shape  # type: ignore[union-attr]
    y = low.operand(target.id, ELEMENT, shape, node).text
    both = [*uses, y]
    if node.op == "kl_div":
        if node.kwargs.get("log_target"):
            loss = low.line("loss", f"tl.exp({y}) * ({y} - {x})", ELEMENT, both)
        else:
            # As torch.xlogy has it: where the target is 0 the logarithm does not count.
            entropy = low.line("entropy", f"tl.where({y} == 0.0, 0.0, {y} * tl.log({y}))", ELEMENT, [y])
            loss = low.line("loss", f"{entropy} - {y} * {x}", ELEMENT, [*both, entropy])
    else:
        difference = low.line("difference", f"{x} - {y}", ELEMENT, both)
        loss = low.line("loss", _loss_text(low, node, difference), ELEMENT, [difference])
    total = low.line("loss_sum", loss, ROW, [loss], reduce="sum")
    if reduction == "mean":
        total = low.line("mean_loss", f"{total} / length", ROW, [total])
    if reduction == "batchmean":
        total = low.line("mean_loss", f"{total} / {_batch(low, node, target.id)}", ROW, [total])
    low.finish(node, total, ROW)


def _batch(low: Scope, node: Node, target: int) -> str:
    """The size of the first dim as a number that the launcher is given."""
    text = "target" if low.texts is None else low.texts.get(target, "")
    if not text.isidentifier():
        raise NotLowerable(f"The batch size of {node.op} has no name in the source.", node)
    name = low.fresh("batch_size")
    low.scalars[name] = f"{text}.shape[0]"
    return name


def _loss_text(low: Scope, node: Node, difference: str) -> str:
    if node.op == "mse_loss":
        return f"{difference} * {difference}"
    name = "beta" if node.op == "smooth_l1_loss" else "delta"
    limit = low.number(node, name, node.kwargs[name])[0]  # type: ignore[arg-type]
    size = low.line("distance", f"tl.abs({difference})", ELEMENT, [difference])
    if node.op == "smooth_l1_loss":
        return f"tl.where({size} < {limit}, 0.5 * {size} * {size} / {limit}, {size} - 0.5 * {limit})"
    return f"tl.where({size} <= {limit}, 0.5 * {size} * {size}, {limit} * ({size} - 0.5 * {limit}))"
