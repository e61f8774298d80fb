"""The contract of a strategy: one kind of macro optimisation as a frozen value. Adding one is adding one file."""

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum

from kernelwright.values import Action, Device, Edits, Graph, Kernel, Language, Refusal, Step, Workload


class Family(StrEnum):
    TILING = "Tiling"
    FUSION = "Fusion"
    PIPELINING = "Pipelining"
    REORDERING = "Reordering"
    VECTORISE = "Vectorise"
    LAYOUT = "Layout"
    SHARED_MEMORY = "SharedMemory"
    REGISTERS = "Registers"
    TENSOR_CORE = "TensorCore"
    SPLIT_REDUCTION = "SplitReduction"
    LAUNCH = "Launch"
    ALGEBRA = "Algebra"
    LIBRARY = "Library"
    PRECISION = "Precision"


@dataclass(frozen=True)
class Observation:
    """All that a strategy or policy may look at. `graph` is None until the worker has captured it."""

    path: str
    text: str
    kernel: Kernel
    workload: Workload | None
    device: Device
    graph: Graph | None = None
    history: tuple[Step, ...] = ()


@dataclass(frozen=True)
class Example:
    """A worked example: two whole files that mean the same. A test runs the rewrite on `before` and expects `after`."""

    before: str
    after: str


@dataclass(frozen=True)
class Strategy:
    """A kind of macro optimisation.

    `applies` answers with the Actions that could be taken, best first, or with why there is none. `rewrite` carries one
    out: Edits against `observation.text`, as several variants where only a measurement can choose between them (best
    guess first), or a Refusal. Both are pure. `instruction` tells a language model what to do.
    """

    id: str  # "triton.online-reduction"
    title: str  # "Online reduction": completes "Optimize kernel: …"
    family: Family
    languages: frozenset[Language]
    why: str  # one sentence for the hover
    doc: str  # the docs page, Markdown
    instruction: str
    example: Example
    applies: Callable[[Observation], tuple[Action, ...] | Refusal]
    rewrite: Callable[[Observation, Action], tuple[Edits, ...] | Refusal] | None = None
    needs_graph: bool = False
    needs_gpu: bool = False  # worth nothing without a measurement on a GPU
    promises_kernel: bool = False  # what it makes is worth nothing where a library does the work instead of a kernel
    prepares: tuple[str, ...] = ()  # strategies that make this one pay: tried on top of it in the same race
