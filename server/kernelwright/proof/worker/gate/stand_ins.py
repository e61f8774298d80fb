"""A finite number that stands for minus infinity, as -1e9 in a mask does, stops doing so beside numbers as large.

Scores of -1e15 lie below a mask of -1e9, and then what is masked is what counts. No text means that: one that masks with -inf
answers as the original does with its number further away.
"""

import ast
import math
from collections.abc import Callable

from kernelwright.proof.worker.answers.judge import Judged
from kernelwright.proof.worker.answers.oracle import Oracle
from kernelwright.proof.worker.bench import Bench, Targets
from kernelwright.proof.worker.failed import JobFailed
from kernelwright.proof.worker.gate.cases import Variation
from kernelwright.proof.worker.gate.nonfinite import infinities_apart
from kernelwright.proof.worker.gate.properties import INFINITE
from kernelwright.proof.worker.inputs import Inputs
from kernelwright.proof.worker.observe import Observation, observe
from kernelwright.proof.worker.reference.fp64 import in_fp64
from kernelwright.proof.worker.reference.pair import Mismatch, give_parameters, in_double, target_of
from kernelwright.proof.worker.reference.widened import widened
from kernelwright.proof.worker.subject import load_module, unload

_LEAST = 1e4  # the size from which a negative number may stand for -inf
_FURTHER = 1e30  # nothing that is planted comes to it


def further(text: str, number: float) -> str | None:
    """The text with -number for its large negative numbers; None where it has none. Raises SyntaxError."""
    tree = ast.parse(text)
    moving = _Moving(number)
    moving.visit(tree)
    return ast.unparse(ast.fix_missing_locations(tree)) if moving.found else None


def right_further_on(
    bench: Bench,
    variation: Variation,
    targets: Targets,
    inputs: Inputs,
    candidate: Observation,
    compare: Callable[[Oracle, Observation], Judged],
) -> bool:
    """Whether the candidate agrees with the original with -1e30 for its large negative numbers, beside infinities with -inf.

    `compare`: judges an observation beside an oracle.
    """
    number = math.inf if variation.data in INFINITE else _FURTHER
    try:
        text = further(bench.trial.baseline, number)
        if text is None:
            return False
        baseline = _observed(bench, targets, text, inputs, None, variation.seed)
        double = baseline and _observed(bench, targets, widened(text) or text, inputs, baseline, variation.seed)
    except (JobFailed, SyntaxError, RecursionError):
        return False
    if baseline is None or double is None:
        return False
    if variation.data in INFINITE:
        candidate, _ = infinities_apart(baseline, candidate)
    return compare(Oracle(double, baseline), candidate).finding is None


def _observed(
    bench: Bench, targets: Targets, text: str, inputs: Inputs, baseline: Observation | None, seed: int
) -> Observation | None:
    """One call of `text`, constructed as the original is; with `baseline` in fp64."""
    module = load_module(bench.trial.path, text, "further")
    try:
        first = bench.trial.limits.first_seed
        made = target_of(module, bench.trial.workload, targets.init, device=bench.device, seed=first)
        if isinstance(give_parameters(targets.baseline, made), Mismatch):
            return None
        if baseline is None:
            return observe(made, inputs, seed=seed)
        double = in_fp64(in_double(made), inputs, baseline, seed=seed, original=targets.baseline)
        return double if isinstance(double, Observation) else None
    except JobFailed:
        raise
    except Exception:  # noqa: BLE001  (user code with another number raises anything)
        return None
    finally:
        unload(module)


class _Moving(ast.NodeTransformer):
    """`found`: whether there was a number to move."""

    def __init__(self, number: float) -> None:
        self.found = False
        self._number = number

    def visit_UnaryOp(self, node: ast.UnaryOp) -> ast.AST:
        self.generic_visit(node)
        size = node.operand.value if isinstance(node.operand, ast.Constant) else None
        if isinstance(node.op, ast.USub) and isinstance(size, int | float) and _LEAST <= size < _FURTHER:
            node.operand = ast.Constant(self._number)
            self.found = True
        return node
