"""The values of which a Nest is made."""

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace

from kernelwright.nest.index import Index
from kernelwright.ops.expression import Apply, Const, Var

FLOATS = ("float32", "float16", "bfloat16")


@dataclass(frozen=True)
class Extent:
    """A size: the captured one, and how the launcher writes it."""

    captured: int
    text: str


@dataclass(frozen=True)
class Axis:
    """What an index runs over: a dim of the result, or what is folded.

    `window`: a window in every lane; `inner`: a product's inner dim; `reduced`: dims of a tensor, by whole programs.
    `parts`: the axes that it runs through, the last one fastest, where code may ask for each of them.
    """

    name: str
    extent: Extent
    window: bool = False
    inner: bool = False
    reduced: bool = False
    size: Index | None = None  # the extent of a dim of the result, in the launcher's terms
    parts: tuple["Axis", ...] = ()


@dataclass(frozen=True)
class Tensor:
    """An input: the launcher's name for it, its Value in the graph, and its captured type.

    `order`: its dims in the order of memory, where that is not their own.
    """

    name: str
    value: int
    shape: tuple[int, ...]
    dtype: str
    order: tuple[int, ...] = ()

    @property
    def sizes(self) -> tuple[int, ...]:
        """The captured shape in the order of memory, by which a Load counts its ranges of dims."""
        return tuple(self.shape[d] for d in self.order) if self.order else self.shape


@dataclass(frozen=True)
class Load:
    """The element of `tensor` at `index`, one Index for each range `dims` of the tensor's dims, in the order of memory.

    Where a condition of `inside` does not hold nothing is read, and the element is of no account. Those of `checked` stop
    the program where they do not hold: indices out of range, for which torch raises.
    """

    tensor: str
    index: tuple[Index, ...]
    dims: tuple[tuple[int, int], ...]
    inside: tuple["Inside", ...] = ()
    checked: tuple["Checked", ...] = ()


@dataclass(frozen=True)
class Inside:
    """`least <= index < limit`; None where nothing bounds it on that side."""

    index: Index
    least: Index | None
    limit: Index | None


@dataclass(frozen=True)
class Checked:
    """What must hold of the whole number `name`, read from a tensor, unless it is `besides`."""

    name: str
    inside: Inside
    besides: Index | None = None


@dataclass(frozen=True)
class Fold:
    """What a monoid makes of `body` over the axes `over`; elements outside of `inside` count as its unit.

    `part`: which of the numbers that the monoid carries.
    `running`: every element gets what has been folded up to it, itself included, from the last one down where `reverse`.
    `groups`: the first of the axes counts in so many groups of neighbours, each folded apart; None for one.
    """

    monoid: str
    body: Var | Const | Index
    over: tuple[str, ...]
    inside: tuple[Inside, ...] = ()
    running: bool = False
    reverse: bool = False
    part: int = 0
    groups: Extent | None = None


@dataclass(frozen=True)
class Window:
    """The numbers of a convolution in one spatial dim; of a `transposed` one those of the convolution that it transposes."""

    stride: Index
    padding: Index
    dilation: Index
    transposed: bool


@dataclass(frozen=True)
class Contract:
    """A matrix product: the sum of `left` times `right`, both names, over the axes `over`.

    `rounded`: fp32 operands may be rounded, as eager mode itself may do, and cuDNN does by default.
    `windows`: of a convolution, one for each spatial dim; `left` is then its weight and `right` its image.
    """

    left: str
    right: str
    over: tuple[str, ...]
    rounded: bool = False
    windows: tuple[Window, ...] = ()


@dataclass(frozen=True)
class Divided:
    """The whole number `index // by`, or what that leaves over; `index` is not negative where it does."""

    index: Index
    by: Index
    rest: bool = False


@dataclass(frozen=True)
class Held:
    """Whether all conditions hold, as a boolean."""

    inside: tuple[Inside, ...]


Expr = Const | Var | Apply | Load | Fold | Contract | Divided | Held | Index
"""An Index stands for the number that it is."""


@dataclass(frozen=True)
class Element:
    """One element of a Value: a name or a number. `kind` is "float", "bool" or "int"."""

    expr: Var | Const
    kind: str = "float"


@dataclass(frozen=True)
class Let:
    """`name = expr`; `axes` are those on which it depends. `kind` is "float", "bool" or "int"."""

    name: str
    expr: Expr
    axes: frozenset[str]
    kind: str = "float"


@dataclass(frozen=True)
class Stored:
    """The result: the name that is stored, its captured dtype, and an Axis for each dim, before axes are merged.

    `places`: the index of each dim, where some are split into two axes; `inside`: which of these places there are.
    `order`: the dims in the order of memory, where that is not their own; the Nest's axes follow it.
    """

    name: str
    dtype: str
    dims: tuple[Axis, ...]
    casts: bool = False  # the source names the dtype itself
    places: tuple[Index, ...] = ()
    inside: tuple[Inside, ...] = ()
    order: tuple[int, ...] = ()


@dataclass(frozen=True)
class Walk:
    """How the elements of the main tensor lie in memory: rows of `columns`, which are folded, between `outer` and `inner`.

    All are names of axes, and `groups` as in Fold: then a row has the columns of one group.
    """

    outer: tuple[str, ...]
    columns: tuple[str, ...]
    inner: tuple[str, ...] = ()
    groups: Extent | None = None

    @property
    def order(self) -> tuple[str, ...]:
        """All axes in the order of memory."""
        return (*self.outer, *self.columns, *self.inner)


@dataclass(frozen=True)
class Effect:
    """The input `tensor` is overwritten by the Let `name`, which has an element for each of the tensor's."""

    tensor: str
    name: str


@dataclass(frozen=True)
class Nest:
    """A region: `axes` of the result in order, then those that are folded; `lets` in order; one result.

    `numbers`: parameters of the launcher besides tensors, with the expression that the call gives. `ops`: the operators,
    for names and docstrings. `any_dtype`: right for all floats that are computed in fp32, where all are of one dtype.
    `along`: where known, for each tensor but the main one the dims of the main tensor that its dims have the sizes of, None for
    a dim of size 1. `any_rank`: right for further, or fewer, leading dims of the main tensor.
    """

    axes: tuple[Axis, ...]
    tensors: tuple[Tensor, ...]
    lets: tuple[Let, ...]
    stored: Stored
    numbers: Mapping[str, str] = field(default_factory=dict)
    whole: frozenset[str] = frozenset()  # of the numbers those that sizes and indices depend on
    sizes: Mapping[str, str] = field(
        default_factory=dict
    )  # names in indices that are sizes, as the launcher writes them
    ops: tuple[str, ...] = ()
    any_dtype: bool = False
    more: tuple[Stored, ...] = ()  # a second result, of the same axes
    returns: str = ""  # what torch calls the two results together
    named: tuple[str, ...] = ()  # what launchers call the results, where they are no results of the region
    effects: tuple[Effect, ...] = ()
    counters: tuple[str, ...] = ()  # inputs, whole numbers, that grow by one
    least: int = 1  # elements that a reduction must have
    along: Mapping[str, tuple[int | None, ...]] | None = None
    any_rank: bool = False
    walk: Walk | None = None
    eager: tuple[str, ...] = ()  # lines of a launcher that answer by torch alone where a gradient is asked for
    needs: tuple[tuple[str, str], ...] = ()  # conditions under which a launcher refuses a call, and what it takes

    @property
    def stored_names(self) -> tuple[str, ...]:
        """The names that are stored, one for each result."""
        return tuple(one.name for one in (self.stored, *self.more))

    @property
    def outputs(self) -> tuple[str, ...]:
        """What kernels and launchers call the results."""
        return self.named or ("out", *("indices" for _ in self.more))

    @property
    def changed(self) -> tuple[str, ...]:
        """The inputs that are written to."""
        return (*(effect.tensor for effect in self.effects), *self.counters)

    @property
    def parts(self) -> tuple[Axis, ...]:
        """The axes that others run through."""
        return tuple(part for axis in self.axes for part in axis.parts)

    @property
    def spatial(self) -> tuple[Axis, ...]:
        return tuple(axis for axis in self.axes if not axis.window and not axis.inner and not axis.reduced)

    @property
    def reduced(self) -> tuple[Axis, ...]:
        """The axes of reductions."""
        return tuple(axis for axis in self.axes if axis.reduced)

    @property
    def gathers(self) -> bool:
        """Whether places in one tensor come from another."""
        return any(isinstance(let.expr, Load) and bool(let.expr.checked) for let in self.lets)

    @property
    def pointwise(self) -> bool:
        """Whether an element of the result needs one element of each input, whose place no other input tells."""
        return len(self.spatial) == len(self.axes) and not self.gathers and not self.product and not self.running

    @property
    def main(self) -> Tensor:
        """The tensor whose dtype, and shape if it can be, is the result's."""
        floats = [tensor for tensor in self.tensors if tensor.dtype in FLOATS] or list(self.tensors)
        return max(floats, key=lambda tensor: (math.prod(tensor.shape), -self.tensors.index(tensor)))

    @property
    def running(self) -> tuple[Fold, ...]:
        """The scans."""
        return tuple(let.expr for let in self.lets if isinstance(let.expr, Fold) and let.expr.running)

    @property
    def product(self) -> Contract | None:
        """The matrix product, where there is one."""
        return next((let.expr for let in self.lets if isinstance(let.expr, Contract)), None)

    def rounding(self) -> "Nest":
        """The same, with a product whose operands may be rounded."""
        products = (
            replace(let, expr=replace(let.expr, rounded=True)) for let in self.lets if isinstance(let.expr, Contract)
        )
        rounded = {let.name: let for let in products}
        return replace(self, lets=tuple(rounded.get(let.name, let) for let in self.lets))

    @property
    def numel(self) -> int:
        """How many elements the result had when it was captured."""
        number = 1
        for axis in self.spatial:
            number *= axis.extent.captured
        return number


def reads(expr: Expr) -> Iterator[str]:
    """The lets and numbers that an expression reads."""
    match expr:
        case Var(name):
            yield name
        case Apply(_, arguments):
            for argument in arguments:
                yield from reads(argument)
        case Fold(_, Var(name)):
            yield name
        case Contract(left, right):
            yield from (left, right)
        case Divided(index, by):
            yield from (*index.names(), *by.names())
        case Load(_, index, _, inside):
            yield from (name for one in index for name in one.names())
            for one in inside:
                yield from (name for bound in (one.index, one.least, one.limit) if bound for name in bound.names())
