"""Merges the two reducing passes of a row softmax or a row variance into one online pass."""

from kernelwright.micro.rewrite.online_parts import Online
from kernelwright.micro.rewrite.online_softmax import online_softmax
from kernelwright.micro.rewrite.online_variance import online_variance
from kernelwright.micro.rewrite.triton_passes import (
    Run,
)
from kernelwright.micro.rewrite.triton_source import Fragment
from kernelwright.values import Refusal


def online(fragment: Fragment, run: Run) -> Online | Refusal:
    first, second = run.passes[0], run.passes[1]
    for one in (first, second):
        if one.stores:
            return Refusal(
                f"The loop on line {one.line + 1} writes to memory, so it cannot be merged.",
                line=one.stores[0].lineno - 1,
            )
        if len(one.updates) != 1:
            return Refusal(f"The loop on line {one.line + 1} does not gather exactly one value.", line=one.line)
    ops = first.updates[0].op, second.updates[0].op
    if ops == ("max", "add"):
        return online_softmax(fragment, run, first, second)
    if ops == ("add", "add"):
        return online_variance(fragment, run, first, second)
    return Refusal(
        f"The loops on lines {first.line + 1} and {second.line + 1} are neither maximum and sum nor mean and variance.",
        line=second.line,
    )
