"""A Kernel and what can be said of it without running it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum


class Language(StrEnum):
    TRITON = "triton"
    TORCH = "torch"
    CUDA = "cuda"


@dataclass(frozen=True)
class Access:
    """One load or store. `mask` and `other` are source expressions, None when absent.

    `innermost_stride` is the stride, in elements, of the fastest varying index: 1 is contiguous, a name means a
    runtime stride, None is unknown.
    """

    kind: str  # "load" | "store" | "atomic"
    line: int
    pointer: str
    mask: str | None = None
    other: str | None = None
    innermost_stride: int | str | None = None
    in_loop: bool = False


@dataclass(frozen=True)
class Loop:
    line: int
    variable: str
    bounds: str  # the iterable as written: "range(0, N, BLOCK)"
    step: str | None = None


@dataclass(frozen=True)
class Reduction:
    line: int
    op: str  # "sum", "max", …
    axis: str | None = None
    in_loop: bool = False


@dataclass(frozen=True)
class Dot:
    line: int
    accumulator: str | None = None
    out_dtype: str | None = None


@dataclass(frozen=True)
class Launch:
    """One place that launches a Triton or CUDA kernel. Expressions are kept as written."""

    line: int
    function: str | None  # the enclosing function, None at module level
    grid: str
    args: tuple[str, ...] = ()
    kwargs: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Estimate:
    """Work as expressions over the launcher's sizes ("x.itemsize*(2*n_rows*n_cols)"), None when not derivable.

    `sizes` says what those names are in terms of the launcher's `parameters` ({"n_rows": "x.shape[0]"}), `typed_by` is
    the parameter whose dtype the arithmetic is done in.
    """

    bytes: str | None = None
    flops: str | None = None
    sizes: Mapping[str, str] = field(default_factory=dict)
    parameters: tuple[str, ...] = ()
    typed_by: str | None = None


@dataclass(frozen=True)
class Facts:
    accesses: tuple[Access, ...] = ()
    loops: tuple[Loop, ...] = ()
    reductions: tuple[Reduction, ...] = ()
    dots: tuple[Dot, ...] = ()
    dtypes: tuple[str, ...] = ()
    constexprs: tuple[str, ...] = ()
    parameters: tuple[str, ...] = ()
    autotune_configs: int = 0
    statements: int = 0
    operations: int = 0  # floating-point operations on each loaded element, counted from the source
    estimate: Estimate = Estimate()


@dataclass(frozen=True)
class Kernel:
    """One optimisable unit of a file.

    `start_line:end_line` (from 0, end-exclusive) covers the definition with its decorators; `name_line`/`name_column`
    point at the name. `entry` is the callable that a workload calls: the launching function of a Triton kernel (None if
    none launches it), the class or function itself for PyTorch.
    """

    language: Language
    name: str
    start_line: int
    end_line: int
    name_line: int
    name_column: int
    entry: str | None = None
    entry_start_line: int | None = None
    entry_end_line: int | None = None
    is_module: bool = False  # an nn.Module class
    launches: tuple[Launch, ...] = ()
    facts: Facts = Facts()
