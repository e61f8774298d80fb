"""A call with more than 2^31 elements in one tensor, where offsets of 32 bits wrap around."""

import contextlib

import torch

from kernelwright.proof.worker.answers.fan_in import reduction_length
from kernelwright.proof.worker.answers.judge import judge
from kernelwright.proof.worker.answers.oracle import Oracle
from kernelwright.proof.worker.bench import Bench, Report
from kernelwright.proof.worker.construct import targets_for
from kernelwright.proof.worker.failed import JobFailed
from kernelwright.proof.worker.free_memory import free_on
from kernelwright.proof.worker.gate.arguments import make_inputs
from kernelwright.proof.worker.gate.grounds import baseline_run
from kernelwright.proof.worker.gate.line_sizes import beyond_32_bits
from kernelwright.proof.worker.hosts.contender import Contender
from kernelwright.proof.worker.rejected import NO_MEMORY, NotAccepted, Rejected
from kernelwright.proof.worker.variation import Variation
from kernelwright.values import Check, FailureKind

_COPIES = 6  # of inputs and outputs that judge, host and the memory between them hold at once
_NONE = "no case above 2^31 elements"


def compare_large(bench: Bench, report: Report) -> None:
    """The workload's first line made that large, in a process of its own, without fp64. Raises Rejected, JobFailed.

    Where there is no such case, the verdict says so.
    """
    try:
        planned = _planned(bench)
        report(f"Verifying: {planned.described}")
        torch.cuda.empty_cache()
        with contextlib.closing(Contender(bench, bench.trial.candidate)) as contender:
            _compare(bench, contender, planned)
    except NotAccepted as why:
        bench.evidence.notes.append(f"{_NONE} ({str(why) or 'the baseline does not take it'})")
    except (torch.OutOfMemoryError, Rejected, JobFailed) as error:
        if not _ran_out(error):
            raise
        bench.evidence.notes.append(f"{_NONE} (memory ran out)")
    finally:
        torch.cuda.empty_cache()


def _ran_out(error: Exception) -> bool:
    """Whether this says that there was no memory left, here or in the candidate's process."""
    if isinstance(error, Rejected):
        return error.check.detail.startswith(NO_MEMORY)
    return not isinstance(error, JobFailed) or error.failure.kind is FailureKind.OUT_OF_MEMORY


def _planned(bench: Bench) -> Variation:
    """Raises NotAccepted where there is no such case, with the reason."""
    if bench.device != "cuda":
        raise NotAccepted("on a GPU only")
    if not bench.trial.workload.cases:
        raise NotAccepted("for workload lines only")
    found = beyond_32_bits(bench.trial.workload.cases[0].text)
    if found is None:
        raise NotAccepted("no size of the workload line makes one")
    text, call, size = found
    free = free_on("cuda")
    if _COPIES * size > free:
        raise NotAccepted(f"it may take {_COPIES * size >> 30} GiB, {free >> 30} GiB are free")
    return Variation(text, call, bench.trial.limits.first_seed + 5, derived=True)


def _compare(bench: Bench, contender: Contender, variation: Variation) -> None:
    targets = targets_for(bench, variation)
    inputs = make_inputs(bench, variation)
    baseline = baseline_run(bench, variation, targets.baseline, inputs)
    observed = contender.observe(targets, inputs, baseline, case=variation.described, seed=variation.seed)
    judged = judge(Oracle(None, baseline), observed, reduction_length(None, inputs, baseline.tensors()))
    if judged.finding is not None and not judged.reduced:
        raise Rejected(judged.finding.name, variation.described, judged.finding.detail)
    bench.evidence.checks.append(Check("values", variation.described, True, judged.detail))
