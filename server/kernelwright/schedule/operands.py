"""Operands of a product that are read as they are, which some ways of making products need."""

from collections.abc import Mapping
from dataclasses import dataclass

from kernelwright.nest.form import Load, Nest, Tensor
from kernelwright.nest.roles import roles


@dataclass(frozen=True)
class Whole:
    """An operand that is a whole fp32 tensor: `dims` says along which of its dims each axis of the product runs."""

    tensor: Tensor
    dims: Mapping[str, int]


def whole_operand(nest: Nest, side: str) -> Whole | None:
    """The operand on one `side` ("left" | "right") of the product; None where it is computed, or not read as it is."""
    product, axes = nest.product, roles(nest)
    assert product is not None
    name, line = (product.left, axes.row) if side == "left" else (product.right, axes.column)
    load = next(let.expr for let in nest.lets if let.name == name)
    if not isinstance(load, Load) or load.inside or len(axes.batch) > 1:
        return None
    tensor = next(tensor for tensor in nest.tensors if tensor.name == load.tensor)
    dims: dict[str, int] = {}
    for index, (_, stop) in zip(load.index, load.dims, strict=True):
        if index.constant == 0:
            continue
        if index.name is None or index.name in dims:
            return None
        dims[index.name] = stop - 1
    known = {axis.name for axis in (*axes.batch, line, axes.inner)}
    if tensor.dtype != "float32" or not {line.name, axes.inner.name} <= dims.keys() <= known:
        return None
    return Whole(tensor, dims)


def are_whole(nest: Nest) -> bool:
    """Whether both operands are read as they are from fp32 tensors."""
    return all(whole_operand(nest, side) is not None for side in ("left", "right"))


def is_windowed(nest: Nest) -> bool:
    """Whether the product is a convolution of fp32 images whose windows its operands do not have as they are."""
    product = nest.product
    if product is None or not product.windows or are_whole(nest):
        return False
    loads = [let.expr for let in nest.lets if let.name in (product.left, product.right)]
    tensors = {tensor.name: tensor for tensor in nest.tensors}
    rank = len(product.windows) + 2
    image = next(let.expr for let in nest.lets if let.name == product.right)
    if len(loads) < 2 or not isinstance(image, Load) or len(image.index) != rank:
        return False
    read = [tensors[load.tensor] for load in loads if isinstance(load, Load)]
    return all(tensor.dtype == "float32" and len(tensor.shape) == rank for tensor in read)
