"""Calls on arguments that the baseline raises on: who made a mistake must not get an answer from the candidate instead."""

import ast
import re
import time
import traceback
from collections.abc import Callable
from typing import Any

import torch

from kernelwright.proof.worker.bench import Bench
from kernelwright.proof.worker.construct import targets_for
from kernelwright.proof.worker.failed import JobFailed, is_out_of_memory
from kernelwright.proof.worker.gate.arguments import make_inputs
from kernelwright.proof.worker.gate.grounds import baseline_run
from kernelwright.proof.worker.gate.other_numbers import raised_on_a_cpu
from kernelwright.proof.worker.gate.scalar_arguments import each_changed
from kernelwright.proof.worker.hosts.contender import Contender
from kernelwright.proof.worker.inputs import Inputs
from kernelwright.proof.worker.observe import Observation
from kernelwright.proof.worker.raised import describe
from kernelwright.proof.worker.rejected import Rejected
from kernelwright.proof.worker.subject import is_of
from kernelwright.proof.worker.targets import Targets
from kernelwright.proof.worker.texts import parsed
from kernelwright.proof.worker.variation import Variation

_LONGEST = 5.0  # seconds, after which no further call is made
_RAISED = re.compile(r"raises(?: at line \d+)?: (\w+)")

# What one argument of a type is changed to, None where it cannot be; the latter only where the baseline's text has guards.
_Row = tuple[type | tuple[type, ...], str, Callable[[Any], Any]]
_SHAPES: tuple[_Row, ...] = (
    (torch.Tensor, "a column less", lambda t: t[..., :-1] if t.dim() and t.shape[-1] > 1 else None),
    (torch.Tensor, "a row less", lambda t: t[:-1] if t.dim() > 1 and t.shape[0] > 1 else None),
    (torch.Tensor, "a dimension more", lambda t: t[None]),
    (torch.Tensor, "a dimension less", lambda t: t[0] if t.dim() and t.shape[0] else None),
    (torch.Tensor, "another dtype", lambda t: t.long() if t.is_floating_point() else t.float()),
    (torch.Tensor, "float64", lambda t: t.double() if t.is_floating_point() else None),
)
_VALUES: tuple[_Row, ...] = (
    (torch.Tensor, "negative values", lambda t: -t.abs() - 1 if t.dtype != torch.bool else None),
    (torch.Tensor, "large values", lambda t: t.abs() + 10_000 if t.dtype != torch.bool else None),
    (torch.Tensor, "NaN", lambda t: torch.full_like(t, torch.nan) if t.is_floating_point() else None),
    ((int, float), "a negative number", lambda n: -abs(n) - 1),
    ((int, float), "zero", lambda n: type(n)(0)),
    ((int, float), "a large number", lambda n: 16 * abs(n) + 1000),
    (str, "another word", lambda word: f"{word}_"),
)


def raises_alike(bench: Bench, contender: Contender, variation: Variation) -> None:
    """The baseline is called on a CPU: on a GPU an index out of range asserts, which ends the judge's own context.

    Raises Rejected where the candidate answers a call that a raise or assert of the baseline's text ends, and NotAccepted.
    What an operator raises on and a candidate answers is told: it may take more. So is another exception than the text's own.
    """
    targets, inputs = targets_for(bench, variation), make_inputs(bench, variation)
    like = baseline_run(bench, variation, targets.baseline, inputs)
    plain = raised_on_a_cpu(targets, inputs)  # as a kernel for a GPU does
    guards = _guards(bench) - {_line(bench, plain)}
    answered, others, until = list[str](), list[str](), time.monotonic() + _LONGEST
    for kind, words, changed in (*_SHAPES, *_VALUES) if guards else _SHAPES:
        for name, bad in each_changed(targets.baseline, inputs, kind, changed):
            error = raised_on_a_cpu(targets, bad) if time.monotonic() < until else None
            own = _line(bench, error) in guards
            asserts = bench.device == "cuda" and isinstance(error, IndexError)
            if error is None or not (own or (plain is None and (kind, words, changed) in _SHAPES and not asserts)):
                continue
            if is_out_of_memory(error) or type(error).__name__ in ("InterpreterFault", "KernelFault"):
                continue
            case, raised = f"{words} in `{name}`", _raised(bench, contender, variation, targets, bad, like)
            if own and not raised:
                detail = f"the baseline raises {describe(error)}, and the candidate does not"
                raise Rejected("interface", f"{variation.described}, {case}", detail)
            answered += [] if raised else [case]
            others += [f"{raised} for {case}"] if own and raised != type(error).__name__ else []
    if answered:
        more = f" and {len(answered) - 1} more" if len(answered) > 1 else ""
        bench.evidence.caveats.append(f"answers calls that the baseline raises on ({answered[0]}{more})")
    if answered and bench.device == "cuda":
        contender.start_again()  # a kernel may have written anywhere
    bench.evidence.caveats += [f"raises {others[0]}, which is not the baseline's exception"] if others else []
    bench.evidence.notes += ["calls on bad arguments left out for time"] if time.monotonic() >= until else []


def _raised(
    bench: Bench, contender: Contender, variation: Variation, targets: Targets, bad: Inputs, like: Observation
) -> str:
    """The type that the candidate raises; "" where it answers, its process ends, or it reads beyond a tensor."""
    try:
        contender.observe(targets, bad, like, case="bad arguments", seed=variation.seed)
    except JobFailed:
        contender.start_again()
    except Rejected as rejected:
        found = _RAISED.match(rejected.check.detail) if rejected.check.name == "runs" else None
        if bench.device != "cuda" or "CUDA" not in rejected.check.detail:
            return found[1] if found else ""
        contender.start_again()
    return ""


def _line(bench: Bench, error: Exception | None) -> int:
    """The line of the baseline's own text that raised it, 0 for another place."""
    frames = traceback.extract_tb(error.__traceback__) if error else []
    return (frames[-1].lineno or 0) if frames and is_of(bench.baseline, frames[-1].filename) else 0


def _guards(bench: Bench) -> set[int]:
    """The lines of the raise and assert statements in the baseline's text."""
    nodes = [node for node in ast.walk(parsed(bench.trial.baseline)) if isinstance(node, ast.Raise | ast.Assert)]
    return {line for node in nodes for line in range(node.lineno, (node.end_lineno or node.lineno) + 1)}
