"""The baseline's call in fp32 throughout: what TF32 adds to its errors is not in it."""

from collections.abc import Callable
from typing import Any

from kernelwright.proof.worker import flags
from kernelwright.proof.worker.inputs import Inputs
from kernelwright.proof.worker.observe import Observation, observe


def in_fp32(target: Callable[..., Any], inputs: Inputs, *, seed: int, calls: int = 1) -> Observation | None:
    """What `target` returns where products and convolutions do not round their operands; None where it raises.

    Of so many `calls` the last counts.
    """
    with flags.changed_to(flags.without_tf32):
        try:
            return observe(target, inputs, seed=seed, calls=calls)
        except Exception:  # noqa: BLE001  (it runs the user's own code)
            return None
