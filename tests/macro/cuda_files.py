"""CUDA files as strategies see them: the first kernel of a text, on a GPU of the tests' choosing."""

from kernelwright.coders.carrying_out import carried_out
from kernelwright.languages.cuda import SUPPORT
from kernelwright.macro.strategy import Observation, Strategy
from kernelwright.values import Device, Refusal, Workload, apply
from macro.triton_files import H200


def observe(text: str, device: Device = H200, kernel: str = "") -> Observation:
    """The kernel of that name, or the first one."""
    found = next(one for one in SUPPORT.kernels(text) if kernel in ("", one.name))
    workload = SUPPORT.workload(text, found.entry)
    given = workload if isinstance(workload, Workload) else None
    return Observation("kernel.cu", text, found, given, device, support=SUPPORT)


def rewritten(strategy: Strategy, text: str, device: Device = H200, kernel: str = "") -> tuple[str, ...]:
    """The text of every variant, best guess first."""
    observation = observe(text, device, kernel)
    actions = strategy.find(observation)
    assert not isinstance(actions, Refusal), actions.reason
    variants = carried_out(strategy, observation, actions[0])
    assert not isinstance(variants, Refusal), variants.reason
    return tuple(apply(variant, text) for variant in variants)


def refusal(strategy: Strategy, text: str, device: Device = H200, kernel: str = "") -> Refusal:
    answer = strategy.find(observe(text, device, kernel))
    assert isinstance(answer, Refusal), answer
    return answer
