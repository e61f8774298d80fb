"""Which axes of a matrix product are batches, rows, columns and the inner one; refuses what is no product of matrices."""

from dataclasses import dataclass

from kernelwright.nest.form import Axis, Nest
from kernelwright.nest.refused import NotExpressible

LEAST = 16
"""The smallest extent for which a tile of a product is worth having."""

_HALF = LEAST // 2
"""The smallest one of a convolution, which has no other form: it fills half of a tile."""


@dataclass(frozen=True)
class Roles:
    """The axes of a product: of batches, of the left operand's rows, of the right one's columns, and the inner one."""

    batch: tuple[Axis, ...]
    row: Axis
    column: Axis
    inner: Axis


def roles(nest: Nest) -> Roles:
    """Which axis is which. Raises NotExpressible where the product does not have one of each."""
    product = nest.product
    assert product is not None
    lets = {let.name: let for let in nest.lets}
    left, right = lets[product.left].axes, lets[product.right].axes
    inner = next(axis for axis in nest.axes if axis.name in product.over)
    if len(nest.spatial) < 2:
        raise NotExpressible("The product has no rows and columns.")
    *batch, row, column = nest.spatial
    if row.name not in left - right or column.name not in right - left:
        raise NotExpressible("The result of the product is stored in another order than rows and columns.")
    if min(axis.extent.captured for axis in (row, column, inner)) < (_HALF if product.rounded else LEAST):
        raise NotExpressible("The product is too small, or too narrow, for tiles.")
    return Roles(tuple(batch), row, column, inner)
