"""A call with more than 2^31 elements in one tensor, where offsets of 32 bits wrap around."""

import torch

from kernelwright.proof.worker.answers.judge import judge
from kernelwright.proof.worker.answers.oracle import Oracle
from kernelwright.proof.worker.answers.tolerance import reduction_length
from kernelwright.proof.worker.bench import Bench, NotAccepted, Rejected, Report, targets_for
from kernelwright.proof.worker.failed import JobFailed
from kernelwright.proof.worker.gate.arguments import make_inputs
from kernelwright.proof.worker.gate.cases import Variation
from kernelwright.proof.worker.gate.grounds import baseline_run
from kernelwright.proof.worker.gate.line_sizes import beyond_32_bits
from kernelwright.proof.worker.hosts.contender import Contender
from kernelwright.values import Check, FailureKind

_COPIES = 6  # of inputs and outputs that judge, host and the memory between them hold at once
_NO_ROOM = "needs more memory than there is"  # so begins what is said of a candidate that finds none


def compare_large(bench: Bench, report: Report) -> None:
    """The workload's first line made that large, in a process of its own, without fp64. Raises Rejected, JobFailed.

    Where there is no such case, the verdict says so.
    """
    planned = _planned(bench)
    if isinstance(planned, str):
        bench.notes.append(f"no case above 2^31 elements ({planned})")
        return
    report(f"Verifying: {planned.described}")
    torch.cuda.empty_cache()
    try:
        _compare(bench, planned)
    except NotAccepted:
        bench.notes.append("no case above 2^31 elements (the baseline does not take it)")
    except torch.OutOfMemoryError:
        bench.notes.append("no case above 2^31 elements (memory ran out)")
    except Rejected as rejected:
        if not rejected.check.detail.startswith(_NO_ROOM):
            raise
        bench.notes.append("no case above 2^31 elements (memory ran out)")
    except JobFailed as failed:
        if failed.failure.kind is not FailureKind.OUT_OF_MEMORY:
            raise
        bench.notes.append("no case above 2^31 elements (memory ran out)")
    finally:
        torch.cuda.empty_cache()


def _planned(bench: Bench) -> Variation | str:
    if bench.device != "cuda":
        return "on a GPU only"
    if not bench.trial.workload.cases:
        return "for workload lines only"
    found = beyond_32_bits(bench.trial.workload.cases[0].text)
    if found is None:
        return "no size of the workload line makes one"
    text, call, size = found
    free = torch.cuda.mem_get_info()[0] + torch.cuda.memory_reserved() - torch.cuda.memory_allocated()
    if _COPIES * size > free:
        return f"it may take {_COPIES * size >> 30} GiB, {free >> 30} GiB are free"
    return Variation(text, call, bench.trial.limits.first_seed + 5, derived=True)


def _compare(bench: Bench, variation: Variation) -> None:
    contender = Contender(bench, bench.trial.candidate)
    try:
        targets = targets_for(bench, variation)
        inputs = make_inputs(bench, variation)
        baseline = baseline_run(bench, variation, targets.baseline, inputs)
        length = reduction_length(inputs.tensors(), [], baseline.tensors())
        observed = contender.observe(targets, inputs, baseline, case=variation.described, seed=variation.seed)
        judged = judge(Oracle(None, baseline), observed, length)
        if judged.finding is not None and judged.finding.name != "accuracy":
            raise Rejected(Check(judged.finding.name, variation.described, False, judged.finding.detail))
        bench.checks.append(Check("values", variation.described, True, judged.detail))
    finally:
        contender.close()
