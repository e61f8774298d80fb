"""Looks last in a trial at which kernels did the work, and whether a promise of a kernel was kept."""

import torch

from kernelwright.proof.worker.attribution.looking import look
from kernelwright.proof.worker.attribution.promise import broken_promise, share_of
from kernelwright.proof.worker.attribution.work import Work
from kernelwright.proof.worker.bench import NO_MEMORY, Bench, Rejected, Report, Targets, Undecidable, targets_for
from kernelwright.proof.worker.failed import JobFailed
from kernelwright.proof.worker.gate.arguments import make_inputs
from kernelwright.proof.worker.gate.cases import INTERPRETER_ELEMENTS, plan
from kernelwright.proof.worker.hosts.contender import Contender
from kernelwright.proof.worker.inputs import Inputs, clone, seed_everything
from kernelwright.proof.worker.subject import describe
from kernelwright.values import Check, KernelShare, ProfiledOn

CHECK = "library-call"
_NOT_LAUNCHED = (
    "None of the text's Triton kernels is launched without a GPU, on the sizes that the interpreter is given, so none was run: "
    "verify it on a GPU."
)


def examine(bench: Bench, contender: Contender, report: Report) -> None:
    """Look into one call of the candidate on the performance case; with a promise also into the baseline's.

    What was seen, or why nothing was, goes to the bench. Raises Rejected where the promise is broken, and Undecidable
    where the interpreter was given no kernel of a text that has one: it may be for a GPU, or for larger sizes only.
    """
    report("Looking at whose kernels do the work")
    trial = bench.trial
    cap = INTERPRETER_ELEMENTS if bench.interpreted else None
    variation = plan(trial.workload, seeds=1, first_seed=trial.limits.first_seed, most_elements=cap)[0]
    targets, inputs = targets_for(bench, variation), make_inputs(bench, variation)
    try:
        after, outside = contender.look(targets, inputs, seed=variation.seed)
    except Rejected as rejected:
        if trial.promises_kernel and not rejected.check.detail.startswith(NO_MEMORY):
            detail = f"it promises a kernel, and a call whose kernels are counted {rejected.check.detail}"
            raise Rejected(Check(CHECK, variation.described, False, detail)) from rejected
        bench.share = _unknown(bench, f"the call {rejected.check.detail}")
        return
    except JobFailed as failed:
        bench.share = _unknown(bench, failed.failure.message)
        return
    share = bench.share = share_of(after, outside)
    if not trial.promises_kernel:
        if bench.interpreted and "@triton.jit" in trial.candidate and not share.kernels:
            raise Undecidable(_NOT_LAUNCHED)
        return
    before = _baseline(bench, targets, inputs, variation.seed)
    if isinstance(before, str):
        _not_checked(bench, before)
        return
    broken = broken_promise(trial, before, after, outside)
    if broken is not None:
        raise Rejected(Check(CHECK, variation.described, False, f"it promises a kernel, but {broken}"))
    kept = f"launches {', '.join(share.kernels)}" if share.kernels else "runs C++ code, which cannot be seen here"
    bench.checks.append(Check(CHECK, variation.described, True, f"it promises a kernel and {kept}"))


def _baseline(bench: Bench, targets: Targets, inputs: Inputs, seed: int) -> Work | str:
    """The baseline's work, in the judge: it is nobody's candidate. Or why it cannot be looked at, in words."""
    trial, interpreted = bench.trial, bench.interpreted
    try:
        given = Inputs(clone(inputs.args), clone(inputs.kwargs))
        seed_everything(seed)
        with torch.no_grad():
            call = lambda: targets.baseline(*given.args, **given.kwargs)
            return look(call, bench.baseline, trial.home, trial.baseline, device=bench.device, interpreted=interpreted)
    except Exception as error:  # noqa: BLE001  (a profiled call may lack memory that a call alone has)
        return f"the baseline's call raises {describe(error)}"


def _unknown(bench: Bench, why: str) -> KernelShare:
    if bench.trial.promises_kernel:
        _not_checked(bench, why)
    on = ProfiledOn.INTERPRETER if bench.interpreted else ProfiledOn.GPU if bench.device == "cuda" else ProfiledOn.CPU
    return KernelShare(on, unknown=why)


def _not_checked(bench: Bench, why: str) -> None:
    bench.notes.append(f"whether its kernel does the work is not checked: {why}")
