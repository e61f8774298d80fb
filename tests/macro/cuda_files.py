"""CUDA files as a strategy sees them."""

from kernelwright.coders.carrying_out import carried_out
from kernelwright.languages import support_of
from kernelwright.macro.strategy import Observation, Strategy
from kernelwright.values import Device, Refusal, Workload, apply

CUDA = support_of("cuda-cpp")
H200 = Device("cuda", "NVIDIA H200", compute_capability=90, multiprocessors=132, bandwidth=4.2e12)


def observe(text: str, kernel: str | None = None, *, device: Device = H200, reduced: bool = True) -> Observation:
    """A kernel of `text`, the first if it is not named."""
    found = next(one for one in CUDA.kernels(text) if kernel in (None, one.name))
    workload = CUDA.workload(text, found.entry)
    given = workload if isinstance(workload, Workload) else None
    return Observation("kernel.cu", text, found, given, device, support=CUDA, reduced=reduced)


def rewritten(strategy: Strategy, text: str, kernel: str | None = None, *, device: Device = H200) -> tuple[str, ...]:
    """The text of every variant, best guess first."""
    observation = observe(text, kernel, device=device)
    actions = strategy.find(observation)
    assert not isinstance(actions, Refusal), actions.reason
    edits = carried_out(strategy, observation, actions[0])
    assert not isinstance(edits, Refusal), edits.reason
    return tuple(apply(one, text) for one in edits)


def refusal(strategy: Strategy, text: str, kernel: str | None = None) -> str:
    found = strategy.find(observe(text, kernel))
    assert isinstance(found, Refusal), "the strategy applies"
    return found.reason
