"""Planes of results: along the last axes of a result windows walk, and what hangs on the others is the same for a plane."""

from kernelwright.nest.form import Axis, Load, Nest


def outside(nest: Nest) -> int:
    """How many of the first axes of the result no window walks along."""
    windows = _windows(nest)
    indices = [set(index.names()) for let in nest.lets if isinstance(let.expr, Load) for index in let.expr.index]
    walked = {name for names in indices if names & windows for name in names}
    return next((n for n, axis in enumerate(nest.spatial) if walked & _names(axis)), len(nest.spatial))


def read_by_plane(nest: Nest) -> bool:
    """Whether elements are read for each step of a window that are the same for all results of a plane."""
    windows, own = _windows(nest), {name for axis in nest.spatial[: outside(nest)] for name in _names(axis)}
    loads = (let for let in nest.lets if isinstance(let.expr, Load) and let.axes & windows)
    return bool(own) and any(let.axes <= own | windows for let in loads)


def _windows(nest: Nest) -> set[str]:
    return {axis.name for axis in nest.axes if axis.window}


def _names(axis: Axis) -> set[str]:
    return {axis.name, *(part.name for part in axis.parts)}
