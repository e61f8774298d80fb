"""What a Nest takes from the source besides the graph: how it spells inputs and numbers, and which names are reserved."""

from collections.abc import Mapping
from dataclasses import dataclass, field

RESERVED = frozenset(
    {"out", "mask", "inside", "row", "rows", "offsets", "columns", "position", "positions", "strips", "outer", "inner",
     "length", "n_rows", "n_columns", "part", "parts", "depth", "tile", "tiles", "column_tiles", "first", "height", "number",
     "left", "left_inner", "left_line", "left_parts", "left_high", "left_low", "left_rounded", "left_scale", "right",
     "right_inner", "right_line", "right_parts", "right_high", "right_low", "right_rounded", "right_scale", "padded", "large",
     "small", "zero", "block", "bits", "largest", "exponent", "high", "low", "inverse",
     *(f"{side}_{of}_stride" for side in ("left", "right") for of in ("batch", "line", "inner")),
     "n_elements", "plane", "start", "carry", "last", "grid", "room", "shape", "steps",
     "torch", "triton", "tl"}
)  # fmt: skip
"""Names that printed kernels and launchers use themselves."""


@dataclass(frozen=True)
class Given:
    """How the source spells what the region reads: its inputs, and the numbers that are no literals.

    `biases`: results of convolutions that are read without their biases, which the kernel adds. `layouts`: tensors may be
    channels-last, and whole numbers are read as fp32. `rows`: what is folded may be needed again, so that folds run along the
    axes of the result where these are the same elements.
    """

    names: Mapping[int, str] = field(default_factory=dict)
    numbers: Mapping[tuple[int, str], str] = field(default_factory=dict)
    biases: Mapping[int, int] = field(default_factory=dict)
    layouts: bool = False
    rows: bool = False
