"""What is known of one torch operator: a row of the table."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from kernelwright.ops.costs import Flops


class Kind(StrEnum):
    ATTENTION = "attention"
    CONVOLUTION = "convolution"
    CREATION = "creation"
    GATHER = "gather"  # elements go to places that data or an order decide
    LAYOUT = "layout"  # views and copies
    LOSS = "loss"
    NORMALISATION = "normalisation"
    OTHER = "other"
    POINTWISE = "pointwise"
    POOLING = "pooling"
    PRODUCT = "product"
    RANDOM = "random"
    RECURRENT = "recurrent"
    REDUCTION = "reduction"
    SCAN = "scan"


class Over(StrEnum):
    """Which dims the folds of a meaning run over."""

    DIM = "dim"  # those of the option `dim`
    LAST = "last"  # those of `normalized_shape`
    POSITIONS = "positions"  # all after batch and channels
    GROUPS = "groups"  # groups of channels, with all positions
    ALL = "all"
    CLASSES = "classes"  # of a loss: those after the items, and with `total` all dims that this leaves
    FEATURES = "features"  # of a loss: the last dim, and with `total` all dims that this leaves


class Layout(StrEnum):
    """How a result lies in memory when its operand is channels-last."""

    KEPT = "kept"
    CONTIGUOUS = "contiguous"
    UNKNOWN = "unknown"


class Eager(StrEnum):
    """How eager mode's kernel goes through memory, where that is known to matter."""

    ONCE = "once"
    BLOCK_PER_ROW = "one block a row"
    ROW_THREE_TIMES = "one block a row, which reads a long one three times"
    MOMENTS_APART = "the moments in one pass, applied in another"
    DIVIDING = "a division for every element"
    INDEXED = "a 64-bit index beside every value"


@dataclass(frozen=True)
class Let:
    """`name = text`: one step of a meaning that folds rows. `text` is a meaning, or one fold of a meaning.

    The folds are those of `monoids.PARTS`.
    """

    name: str
    text: str


Steps = tuple[Let, ...]
Given = Mapping[str, Any]  # parameter -> literal value; ... for tensors, a str for numbers known at run time only
Meaning = str | Steps | Callable[[Given], str | Steps | None]


@dataclass(frozen=True, eq=False)
class Row:
    """One operator under the name that captured graphs use.

    `signature`: parameters in order with their defaults; `*` ends the operands, which a Node keeps in `args`: the rest go
    to `kwargs`. Empty, or `as_given`: a Node keeps the arguments as the call gave them.
    `meaning`: what one element of the result is, in terms of the parameters; Steps where rows are folded; None where there
    is no such form. A function decides from the literal options, and answers None for those without a form.
    """

    name: str
    kind: Kind
    signature: str = ""
    meaning: Meaning | None = None
    over: Over | None = None
    aliases: str = ""  # other names of the same operator in torch, separated by spaces
    module: str = ""  # the class in torch.nn that does this
    attributes: str = ""  # the numbers among the parameters that such a module keeps under the same names
    sign: str = ""  # Python's operator
    spelled: str = ""  # how code calls it, where `torch_name` does not tell
    as_given: bool = False
    view: bool = False  # the result is another look at the operand's memory
    reshapes: bool = False  # ... with the same elements in the same order
    passes_on: bool = False  # the result may be the operand itself
    draws: bool = False  # random numbers, unless it is told not to
    partial: bool = False  # only a part of the operand is read
    spread: bool = False  # the last parameter, a tuple, may be given as separate arguments
    per_channel: bool = False  # operands after the first have one number for each channel
    matrices: tuple[int, ...] = ()  # the positions of the two operands of a matrix product
    equation: bool = False  # its first argument names the indices of the operands and of the result
    spatial: int = 0  # dims that a convolution or pool slides over
    second: Steps = ()  # what its second result is, where it has two
    statistics: Meaning | None = (
        None  # with statistics of its own, over all dims but the channels, with `monoids.PARTS`
    )
    effects: tuple[tuple[str, str], ...] = ()  # operands that it overwrites then, each with the step that it writes
    fold: str = ""  # what a scan makes of the elements up to each, and a pool of those of each window
    of_one: bool = False  # of a single element it is that element
    limits: tuple[float, float] | None = None  # what all results lie between
    flops: int | Flops = 1  # for each element of the largest tensor, or a formula over shapes
    passes: int = 1  # how often eager mode moves what the estimate of bytes counts once
    launches: int = 1  # kernels that eager mode launches
    alone: bool = False  # worth a kernel of its own even where it fuses with nothing
    eager: Eager = Eager.ONCE
    layout: Layout = Layout.UNKNOWN
    result: str = ""  # what printed code calls the result
    word: str = ""  # in a sentence
    common: bool = False  # says little of what a kernel is for: left out of long names

    @property
    def multiplies(self) -> bool:
        """Whether it may be a matrix product, or a convolution, which is one of windows."""
        return bool(self.matrices) or self.equation or self.kind is Kind.CONVOLUTION


def rows(*given: Row) -> dict[str, Row]:
    """The rows by name."""
    return {row.name: row for row in given}
