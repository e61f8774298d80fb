"""What a schedule is chosen by: the form of a Nest, and its captured sizes."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from kernelwright.nest.form import Axis, Fold, Load, Nest, Walk
from kernelwright.nest.levels import Levels, levels
from kernelwright.nest.passes import passes
from kernelwright.nest.planes import outside, read_by_plane
from kernelwright.nest.roles import roles
from kernelwright.nest.rows import axes_of, elements, gives_place
from kernelwright.nest.stages import stages
from kernelwright.nest.turned import turned
from kernelwright.schedule.forms import Form
from kernelwright.schedule.operands import is_windowed


@dataclass(frozen=True)
class Sizes:
    """The captured sizes of a Nest.

    `rows`: lines that are contracted, folded or scanned; `length`: elements of each; `columns`: those of a product, or the
    lines of a scan that lie side by side in memory. `apart`: the elements of a line are no neighbours in memory. `nested`: rows
    are reduced, and what comes of them once more. `windows`: a result takes a window of elements; `plain`: one of each input.
    `again`: rows that read the same elements of the largest tensor. `applied`: what is folded is applied to the elements;
    `turned`: the elements of a row are no neighbours in the result. `joined`: what is folded can be joined from parts of a row.
    `windowed`: the product is a convolution of fp32 images that it does not read as they are. `plane`: results along the axes
    that windows walk along, 0 where nothing is read that hangs on the other axes alone.
    """

    form: Form
    rows: int
    length: int
    columns: int = 1
    apart: bool = False
    nested: bool = False
    windows: bool = False
    plain: bool = False
    again: int = 1
    applied: bool = False
    turned: bool = False
    joined: bool = False
    windowed: bool = False
    plane: int = 0

    @property
    def strip(self) -> bool:
        """Whether lines that lie side by side in memory are walked along together."""
        return self.apart and not self.nested

    @property
    def power(self) -> int:
        """The next power of two above the length."""
        return 1 << max(self.length - 1, 1).bit_length()


def sizes(nest: Nest) -> Sizes:
    """Those of a Nest that an emitter prints; of one with statistics, the sizes of these."""
    if nest.product:
        axes = roles(nest)
        rows, length, columns = (axis.extent.captured for axis in (axes.row, axes.inner, axes.column))
        return Sizes(Form.PRODUCT, rows, length, columns, windowed=is_windowed(nest))
    if nest.walk is not None:
        return _of_rows(nest, nest.walk)
    if nest.reduced:
        both = stages(nest)
        nest = both.statistics if both else nest
        found = levels(nest)
        rows, length = _numel(found.rows), _numel(found.columns)
        apart, again = not neighbours(nest, found), _numel(read_again(nest, found.rows))
        return Sizes(Form.REDUCTION, rows, length, apart=apart, nested=bool(found.inner), again=again)
    if nest.running:
        over = nest.running[0].over[0]
        at = next(number for number, axis in enumerate(nest.spatial) if axis.name == over)
        outer, length, inner = (_numel(nest.spatial[a:b]) for a, b in ((None, at), (at, at + 1), (at + 1, None)))
        return Sizes(Form.SCAN, outer, length, inner, apart=inner > 1)
    windows = any(axis.window for axis in nest.axes)
    if sides := turned(nest):
        rows, columns = _numel(sides.rows), _numel(sides.columns)
        return Sizes(Form.TILES, rows, columns, columns, windows=windows)
    plane = _numel(nest.spatial[outside(nest) :]) if read_by_plane(nest) else 0
    return Sizes(Form.BLOCKS, 1, nest.numel, windows=windows, plain=nest.pointwise, plane=plane)


def _of_rows(nest: Nest, walk: Walk) -> Sizes:
    outer, length, inner = (_numel(axes_of(nest, names)) for names in (walk.outer, walk.columns, walk.inner))
    groups = walk.groups.captured if walk.groups is not None else 1
    applied = nest.stored.name in elements(nest)
    return Sizes(
        Form.ROWS,
        outer * groups,
        length // groups,
        inner,
        apart=inner > 1,
        applied=applied,
        turned=inner == 1 and _lies_apart(nest, walk),
        joined=_is_joined(nest),
    )


def _is_joined(nest: Nest) -> bool:
    """Whether a row is passed over once, for more than a place."""
    found = passes(nest)
    folds = (fold.expr for one in found for fold in one.folds)
    return len(found) == 1 and not any(isinstance(fold, Fold) and gives_place(fold) for fold in folds)


def _lies_apart(nest: Nest, walk: Walk) -> bool:
    """Whether the rows of a channels-last tensor are the channels of each position."""
    return bool(nest.main.order) and len(walk.columns) == 1 and walk.outer != () and walk.groups is None


def neighbours(nest: Nest, found: Levels) -> bool:
    """Whether the largest tensor's elements that are folded together lie side by side in memory."""
    largest = _largest(nest)
    return largest is None or bool({axis.name for axis in found.columns} & set(largest.index[-1].names()))


def read_again(nest: Nest, axes: Sequence[Axis]) -> tuple[Axis, ...]:
    """Those of the axes along which the largest tensor's elements are the same."""
    largest = _largest(nest)
    own = next((let.axes for let in nest.lets if largest is not None and let.expr == largest), None)
    return tuple(axis for axis in axes if own is not None and axis.name not in own)


def _largest(nest: Nest) -> Load | None:
    """The first load of the tensor with the most elements."""
    loads = [let.expr for let in nest.lets if isinstance(let.expr, Load) and let.expr.index]
    elements = {tensor.name: math.prod(tensor.shape) for tensor in nest.tensors}
    return max(loads, key=lambda load: elements[load.tensor], default=None)


def _numel(axes: Iterable[Axis]) -> int:
    return math.prod(axis.extent.captured for axis in axes)
