"""What faults are planted in: what each strategy for CUDA C++ makes of its example, which is the baseline.

Strategies come from the registry. FURTHER are files of `examples/cuda` in which a strategy finds what its own example lacks.
"""

from collections.abc import Iterator
from pathlib import Path

from kernelwright.coders.carrying_out import carried_out
from kernelwright.languages import support_of
from kernelwright.macro.strategies import for_language
from kernelwright.macro.strategy import Observation, Strategy, ask
from kernelwright.values import Device, Kernel, Language, Refusal, Workload, apply

EXAMPLES = Path(__file__).parents[3] / "examples" / "cuda"
FURTHER = (
    ("vectorise-access", "bias_gelu"),  # half2, and a row's length
    ("warp-reduce", "layer_norm"),  # two trees in dynamic shared memory
    ("shared-tile", "transpose"),
    ("grid-stride", "saxpy"),
)
_CUDA = support_of("cuda-cpp")
# Few multiprocessors, so that a loop over the grid turns more than once at the sizes of an emulator.
_DEVICE = Device("cuda", "a GPU", compute_capability=90, multiprocessors=1, bandwidth=4.2e12)


def subjects() -> Iterator[tuple[str, Path, str, Workload, str]]:
    """Name, path, text, workload and rewritten text of each."""
    strategies = {one.id.removeprefix("cuda."): one for one in for_language(Language.CUDA) if one.intent is not ask}
    for name, strategy in strategies.items():
        yield (name, Path(f"/nowhere/{name}.cu"), *_rewritten(strategy, strategy.example.before))
    for name, example in FURTHER:
        path = EXAMPLES / f"{example}.cu"
        yield (f"{name} of {example}", path, *_rewritten(strategies[name], path.read_text(encoding="utf-8")))


def _rewritten(strategy: Strategy, text: str) -> tuple[str, Workload, str]:
    """The text with its workload, and with the first kernel that the strategy rewrites in the variant that it thinks best."""
    for kernel in _CUDA.kernels(text):
        observation = _observed(text, kernel)
        actions = strategy.find(observation)
        if isinstance(actions, Refusal):
            continue
        edits = carried_out(strategy, observation, actions[0])
        assert not isinstance(edits, Refusal), edits.reason
        assert observation.workload is not None
        return text, observation.workload, apply(edits[0], text)
    raise ValueError(f"{strategy.id} rewrites no kernel of the text")


def _observed(text: str, kernel: Kernel) -> Observation:
    workload = _CUDA.workload(text, kernel.entry)
    given = workload if isinstance(workload, Workload) else None
    return Observation("kernel.cu", text, kernel, given, _DEVICE, support=_CUDA, reduced=True)
