"""Joins the axes of a product that code runs through as one, a tile at a time, and takes apart again where it must."""

from collections.abc import Sequence
from dataclasses import replace

from kernelwright.nest.form import Axis, Contract, Extent, Let, Load, Nest
from kernelwright.nest.index import variable
from kernelwright.nest.sizes import product_text


def grouped(nest: Nest) -> Nest:
    """The Nest of a product with one inner axis, and one for the dims of the result that only the right operand has."""
    product = nest.product
    if product is None:
        return nest
    lets = {let.name: let for let in nest.lets}
    only_right = lets[product.right].axes - lets[product.left].axes
    columns: list[Axis] = []
    for axis in reversed(nest.spatial):
        if axis.name not in only_right:
            break
        columns.insert(0, axis)
    inner = [axis for axis in nest.axes if axis.name in product.over]
    for name, axes in (("position", columns), ("inner", inner)):
        nest = _joined(nest, name, axes) if len(axes) > 1 else nest
    return nest


def _joined(nest: Nest, name: str, parts: Sequence[Axis]) -> Nest:
    captured = 1
    for part in parts:
        captured *= part.extent.captured
    extent = Extent(captured, product_text([part.extent.text for part in parts]))
    one = Axis(name, extent, inner=parts[0].inner, parts=tuple(parts))
    axes = tuple(one if axis == parts[0] else axis for axis in nest.axes if axis not in parts[1:])
    names = tuple(part.name for part in parts)
    return replace(nest, axes=axes, lets=tuple(_let(let, name, names) for let in nest.lets))


def _let(let: Let, name: str, parts: tuple[str, ...]) -> Let:
    if not let.axes & set(parts) and not isinstance(let.expr, Contract):
        return let
    axes = frozenset(name if axis in parts else axis for axis in let.axes)
    if isinstance(let.expr, Contract):
        over = tuple(dict.fromkeys(name if axis in parts else axis for axis in let.expr.over))
        return replace(let, axes=axes, expr=replace(let.expr, over=over))
    return replace(let, axes=axes, expr=_along(let.expr, name, parts) if isinstance(let.expr, Load) else let.expr)


def _along(load: Load, name: str, parts: tuple[str, ...]) -> Load:
    """The load with one index for all the dims that the parts index side by side, where it does not need them apart."""
    own = [index.name for index in load.index]
    at = own.index(parts[0]) if parts[0] in own else -1
    if at < 0 or tuple(own[at : at + len(parts)]) != parts or load.inside:
        return load
    end = at + len(parts)
    dims = (*load.dims[:at], (load.dims[at][0], load.dims[end - 1][1]), *load.dims[end:])
    return replace(load, index=(*load.index[:at], variable(name), *load.index[end:]), dims=dims)
