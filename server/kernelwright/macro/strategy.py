"""The contract of a strategy: one kind of macro optimisation as a frozen value. Adding one is adding one file."""

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from typing import TYPE_CHECKING

from kernelwright.languages import LanguageSupport, Unit
from kernelwright.languages.python import SUPPORT as PYTHON
from kernelwright.macro.intent import Ask, Intent
from kernelwright.micro.rewrite.algebra import View
from kernelwright.micro.rewrite.candidates import observed
from kernelwright.micro.rewrite.triton_sight import Sight, sight
from kernelwright.place.source_map import SourceMap
from kernelwright.values import Action, Device, Graph, Kernel, Language, Refusal, Step, Workload

if TYPE_CHECKING:
    from kernelwright.micro.rewrite.cuda_sight import CudaSight


class Family(StrEnum):
    TILING = "Tiling"
    FUSION = "Fusion"
    PIPELINING = "Pipelining"
    REORDERING = "Reordering"
    VECTORISE = "Vectorise"
    LAYOUT = "Layout"
    SHARED_MEMORY = "SharedMemory"
    CACHE = "Cache"
    REGISTERS = "Registers"
    TENSOR_CORE = "TensorCore"
    SPLIT_REDUCTION = "SplitReduction"
    LAUNCH = "Launch"
    ALGEBRA = "Algebra"
    LIBRARY = "Library"
    PRECISION = "Precision"


@dataclass(frozen=True)
class Observation:
    """All that a strategy or policy may look at. `graph` is None until the worker has captured it.

    `support` reads the language of the document; `reduced`: whether the user accepts reduced accuracy.
    """

    path: str
    text: str
    kernel: Kernel
    workload: Workload | None
    device: Device
    graph: Graph | None = None
    history: tuple[Step, ...] = ()
    support: LanguageSupport = PYTHON
    reduced: bool = False

    @cached_property
    def unit(self) -> Unit:
        """What the kernel is compiled with."""
        return self.support.unit(self.text, self.kernel)

    @cached_property
    def source(self) -> SourceMap | Refusal:
        """The text beside its graph, located once for all strategies; a pending Refusal while there is no graph."""
        return observed(self.text, self.graph, self.kernel)

    @cached_property
    def view(self) -> View | None:
        """The graph as the rules of algebra look at it."""
        return None if self.graph is None else View(self.graph)

    @cached_property
    def sight(self) -> Sight | Refusal:
        """The Triton kernel as strategies for a language model look at it, read once for all of them."""
        return sight(self.text, self.kernel, self.workload)

    @cached_property
    def cuda(self) -> "CudaSight | Refusal":
        """The CUDA kernel as strategies look at it, read once for all of them."""
        from kernelwright.micro.rewrite.cuda_sight import cuda_sight

        return cuda_sight(self.unit.text, self.kernel, self.workload, self.device)


@dataclass(frozen=True)
class Example:
    """A worked example: two whole files that mean the same. A test carries out the best Action on `before`."""

    before: str
    after: str


@dataclass(frozen=True)
class Group:
    """Strategies of one kind, which can be asked for by one name and are told as one where none of them applies.

    Their ids begin with the group's: "torch.reassociate.reduce-features" is of "torch.reassociate".
    """

    id: str
    title: str
    why: str
    doc: str  # what holds for all of them, Markdown
    nothing: str  # why none applies, where nothing in the kernel looks like any of them


@dataclass(frozen=True)
class Absent(Refusal):
    """What the strategy is about is not there. With a `line` something there stands in its way."""


def ask(observation: Observation, action: Action) -> Intent:
    """The intent of a strategy that nobody can carry out mechanically."""
    return Ask()


@dataclass(frozen=True)
class Strategy:
    """A kind of macro optimisation.

    `find` answers with the Actions that could be taken, best first, or with why there is none. `intent` says what one
    of them wants done, for a coder to carry out, or why it cannot be. Both are pure. `instruction` tells a language model
    what to do.
    """

    id: str  # "triton.online-reduction"
    title: str  # "Online reduction": completes "Optimize kernel: …"
    family: Family
    languages: frozenset[Language]
    why: str  # one sentence for the hover
    doc: str  # the docs page, Markdown
    instruction: str
    example: Example
    find: Callable[[Observation], tuple[Action, ...] | Refusal]
    intent: Callable[[Observation, Action], Intent | Refusal] = ask
    needs_graph: bool = False
    needs_gpu: bool = False  # worth nothing without a measurement on a GPU
    promises_kernel: bool = False  # what it makes is worth nothing where a library does the work instead of a kernel
    slow_start: bool = False  # what it makes may take minutes before its first fast call
    rule_only: str = ""  # what it does that a model's answer may not, for rules alone: "it loads modules"
    prepares: tuple[str, ...] = ()  # strategies that make this one pay: tried on top of it in the same race
    group: Group | None = None
