"""Whether the Triton kernels of a text that the gate has passed without a GPU compile for one.

Triton's interpreter takes more than its compiler: products of any shape, loops that change the type of what they carry.
"""

import asyncio
import dataclasses

from kernelwright.languages import support_of
from kernelwright.observer import Observer, Report
from kernelwright.proof.jobs import Compile, CompileResult, Subject, Trial, TrialResult
from kernelwright.values import Check, Failure, FailureKind, Unchecked, Verdict, VerdictStatus

_NAME = "compiles"


def is_asked(observer: Observer, job: Trial) -> bool:
    """Whether the candidate is a text with Triton kernels that is judged without a GPU, and not its own baseline."""
    known, support = observer.known_device, support_of(job.language)
    without_gpu = known is not None and not known.is_gpu
    interpreted = support.id == "python" and support.is_interpreted_without_gpu(job.candidate)
    return without_gpu and interpreted and job.candidate != job.baseline


async def compiled(
    observer: Observer, job: Trial, result: TrialResult, report: Report, cancel: asyncio.Event | None
) -> TrialResult:
    """A passing result with this check: failed where the candidate does not compile and the baseline does."""
    report("Verifying: compiles for a GPU")
    capability = observer.compute_capability

    async def outcome(text: str) -> CompileResult | Failure:
        """As a Failure, too, where a kernel is too large for the GPU."""
        subject = Subject(job.path, text, job.workload, job.language)
        limit = observer.settings.verify_timeout
        answer = await observer.workers.run(Compile(subject, capability), timeout=limit, report=report, cancel=cancel)
        assert isinstance(answer, CompileResult | Failure)  # the contract of Compile
        unfit = isinstance(answer, CompileResult) and answer.unfit
        return Failure(FailureKind.COMPILE_FAILED, unfit) if unfit else answer

    answer, case = await outcome(job.candidate), job.workload.described
    if isinstance(answer, CompileResult):
        kernels = {one.kernel for one in answer.resources}
        detail = f"{', '.join(sorted(kernels))} for compute capability {capability / 10:.1f}"
        return _with(result, checks=(*result.verdict.checks, Check(_NAME, case, True, detail))) if kernels else result
    if answer.kind is not FailureKind.COMPILE_FAILED:
        return _with(result, unchecked=(*result.verdict.unchecked, Unchecked(_NAME, answer.message.rstrip("."))))
    baseline = await outcome(job.baseline)
    if isinstance(baseline, Failure) and baseline.kind is FailureKind.COMPILE_FAILED:
        told = f"compiles for no GPU, as the baseline: {answer.message.rstrip('.')}"
        return _with(result, caveats=(*result.verdict.caveats, told))
    failed = Check(_NAME, case, False, answer.message)
    return _with(
        result,
        status=VerdictStatus.FAILED,
        checks=(*result.verdict.checks, failed),
        reason=f"{_NAME} ({case}): {answer.message}",
        unchecked=(),
    )


def _with(result: TrialResult, **changes: object) -> TrialResult:
    verdict: Verdict = dataclasses.replace(result.verdict, **changes)  # type: ignore[arg-type]
    return dataclasses.replace(result, verdict=verdict)
