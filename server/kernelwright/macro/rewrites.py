"""Strategies that only a language model can carry out: each looks for its chance in a kernel, and briefs who rewrites it."""

import functools
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from kernelwright.macro.strategy import Example, Family, Group, Observation, Strategy
from kernelwright.micro.rewrite.triton_sight import Sight
from kernelwright.place.source_map import SourceMap, used_only_by
from kernelwright.values import Action, Device, Language, Node, Refusal, Region, digest

if TYPE_CHECKING:
    from kernelwright.micro.rewrite.cuda_sight import CudaSight

TRITON_REWRITE = Group(
    id="triton.rewrite",
    title="Rewrite the Triton kernel",
    why="Some optimisations need another kernel, not another line: a language model writes it, and the gate decides.",
    doc="""\
Each strategy looks for one kind of chance in the kernel's text, its launch and its workload, and briefs a language model on
how to take it. Without a model none of them is offered. What comes back is an edit like any other: it is verified
against the baseline, measured and kept or rejected.

The expected gains are guesses from the text, smaller than those of strategies that save a known number of bytes.
""",
    nothing="Nothing in this kernel, its launch and its workload calls for another structure.",
)

TORCH_REWRITE = Group(
    id="torch.rewrite",
    title="Rewrite the PyTorch code",
    why="Some optimisations need another algorithm or layout: a language model writes it, and the gate decides.",
    doc="""\
Each strategy looks for one kind of chance in the captured op graph or in the text, and briefs a language model on how to
take it. Without a model none of them is offered. What comes back is an edit like any other: it is verified against the
baseline, measured and kept or rejected.

The expected gains are guesses: a fraction of the time that the roofline gives the operations concerned.
""",
    nothing="Nothing in this code calls for another algorithm, layout or kernel than the other strategies make.",
)

CUDA_REWRITE = Group(
    id="cuda.rewrite",
    title="Rewrite the CUDA kernel",
    why="Some optimisations need another kernel, not another line: a language model writes it, and the gate decides.",
    doc="""\
Each strategy looks for one kind of chance in the kernel's text and its launch, and briefs a language model on how to take it.
Without a model none of them is offered. What comes back is an edit like any other: it is verified against the baseline,
measured and kept or rejected.

The expected gains are guesses from the text.
""",
    nothing="Nothing in this kernel and its launch calls for another structure.",
)

USUAL_MULTIPROCESSORS = 132  # where the device is not known


@dataclass(frozen=True)
class Chance:
    """Why a rewrite may pay: `what` it is about in a few words, the gain to expect as a fraction, and one sentence."""

    what: str
    gain: float
    reason: str


TritonLook = Callable[[Observation, Sight], Chance | Refusal]
CudaLook = Callable[[Observation, "CudaSight"], Chance | Refusal]
TorchLook = Callable[[Observation, SourceMap], Chance | Refusal]


def triton_rewrite(
    name: str,
    title: str,
    look: TritonLook,
    *,
    family: Family,
    why: str,
    doc: str,
    instruction: str,
    example: Example,
    needs_gpu: bool = True,
) -> Strategy:
    """Return the strategy "triton.rewrite.<name>" for the kernels in which `look` sees a chance."""
    id = f"{TRITON_REWRITE.id}.{name}"
    return Strategy(
        id=id,
        title=title,
        family=family,
        languages=frozenset({Language.TRITON}),
        why=why,
        doc=doc,
        instruction=instruction,
        example=example,
        find=functools.partial(_find_triton, id, look),
        needs_gpu=needs_gpu,
        promises_kernel=True,
        group=TRITON_REWRITE,
    )


def cuda_rewrite(
    name: str,
    title: str,
    look: CudaLook,
    *,
    family: Family,
    why: str,
    doc: str,
    instruction: str,
    example: Example,
) -> Strategy:
    """Return the strategy "cuda.rewrite.<name>" for the kernels in which `look` sees a chance."""
    id = f"{CUDA_REWRITE.id}.{name}"
    return Strategy(
        id=id,
        title=title,
        family=family,
        languages=frozenset({Language.CUDA}),
        why=why,
        doc=doc,
        instruction=instruction,
        example=example,
        find=functools.partial(_find_cuda, id, look),
        needs_gpu=True,
        promises_kernel=True,
        group=CUDA_REWRITE,
    )


def torch_rewrite(
    name: str,
    title: str,
    look: TorchLook,
    *,
    family: Family,
    why: str,
    doc: str,
    instruction: str,
    example: Example,
    makes_kernel: bool = False,
) -> Strategy:
    """Return the strategy "torch.rewrite.<name>"; `makes_kernel`: what it makes is a Triton kernel."""
    id = f"{TORCH_REWRITE.id}.{name}"
    return Strategy(
        id=id,
        title=title,
        family=family,
        languages=frozenset({Language.TORCH}),
        why=why,
        doc=doc,
        instruction=instruction,
        example=example,
        find=functools.partial(_find_torch, id, look),
        needs_graph=True,
        needs_gpu=makes_kernel,
        promises_kernel=makes_kernel,
        group=TORCH_REWRITE,
    )


def multiprocessors(device: Device) -> int:
    """How many multiprocessors there are to keep busy."""
    return device.multiprocessors or USUAL_MULTIPROCESSORS


def nodes_within(observation: Observation, source: SourceMap) -> tuple[Node, ...]:
    """The nodes of the graph that the kernel's lines make, or definitions that only the code there uses."""
    return _nodes_within(source, observation.kernel.start_line, observation.kernel.end_line)


@functools.lru_cache(maxsize=64)
def _nodes_within(source: SourceMap, start: int, end: int) -> tuple[Node, ...]:
    definitions = used_only_by(source, start)
    blocks = (range(start, end), *(range(d.lineno - 1, d.end_lineno or d.lineno) for d in definitions))
    return tuple(n for n in source.graph.nodes if n.where and any(n.where.start_line in block for block in blocks))


def backward_of(nodes: tuple[Node, ...]) -> Node | None:
    """The first node that runs a backward pass: `torch.autograd.grad` or `Tensor.backward`."""
    return next((node for node in nodes if node.op in ("grad", "backward")), None)


def _find_triton(id: str, look: TritonLook, observation: Observation) -> tuple[Action, ...] | Refusal:
    sight = observation.sight
    return sight if isinstance(sight, Refusal) else offered(id, observation, look(observation, sight))


def _find_cuda(id: str, look: CudaLook, observation: Observation) -> tuple[Action, ...] | Refusal:
    sight = observation.cuda
    return sight if isinstance(sight, Refusal) else offered(id, observation, look(observation, sight))


def _find_torch(id: str, look: TorchLook, observation: Observation) -> tuple[Action, ...] | Refusal:
    source = observation.source
    return source if isinstance(source, Refusal) else offered(id, observation, look(observation, source))


def offered(id: str, observation: Observation, found: Chance | Refusal) -> tuple[Action, ...] | Refusal:
    """One Action over the whole kernel: what has to change with it is for who rewrites it to see."""
    if isinstance(found, Refusal):
        return found
    region = Region(observation.kernel.start_line, observation.kernel.end_line, digest(observation.text), found.what)
    return (Action(id, region, {"expected_gain": found.gain, "reason": found.reason}),)
