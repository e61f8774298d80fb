"""The side of the roofline in words, from what is known of a kernel without running it."""

from kernelwright.macro.strategy import Observation


def sentence(observation: Observation) -> str:
    return ""


def short(observation: Observation, milliseconds: float | None) -> str:
    return ""
