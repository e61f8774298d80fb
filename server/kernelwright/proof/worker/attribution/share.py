"""Looks last in a trial at which kernels did the work, and whether a promise of a kernel was kept."""

from kernelwright.proof.worker.attribution.promise import broken_promise, share_of
from kernelwright.proof.worker.bench import Bench, Report
from kernelwright.proof.worker.clock.performance import performance_here
from kernelwright.proof.worker.construct import targets_for
from kernelwright.proof.worker.failed import JobFailed
from kernelwright.proof.worker.gate.arguments import make_inputs
from kernelwright.proof.worker.hosts.contender import Contender
from kernelwright.proof.worker.inputs import Inputs
from kernelwright.proof.worker.profiling.looking import look, prepared
from kernelwright.proof.worker.profiling.work import Work
from kernelwright.proof.worker.raised import describe
from kernelwright.proof.worker.rejected import NO_MEMORY, Rejected, Undecidable
from kernelwright.proof.worker.targets import Targets
from kernelwright.values import Check, KernelShare, ProfiledOn

CHECK = "library-call"
_NOT_CHECKED = "whether its kernel does the work is not checked"
_NOT_LAUNCHED = (
    "None of the text's kernels is launched without a GPU, on the sizes that are small enough there, so none was run: "
    "verify it on a GPU."
)


def examine(bench: Bench, contender: Contender, report: Report) -> None:
    """Look into one call of the candidate on the performance case; with a promise also into the baseline's.

    What was seen, or why nothing was, goes to the bench. Raises Rejected where the promise is broken, and Undecidable
    where the interpreter was given no kernel of a text that has one: it may be for a GPU, or for larger sizes only.
    """
    report("Looking at whose kernels do the work")
    trial, variation = bench.trial, performance_here(bench)
    targets, inputs = targets_for(bench, variation), make_inputs(bench, variation)
    try:
        after, outside = contender.look(targets, inputs, seed=variation.seed)
    except (Rejected, JobFailed) as error:
        why = f"the call {error}" if isinstance(error, Rejected) else str(error)
        if isinstance(error, Rejected) and trial.promises_kernel and not str(error).startswith(NO_MEMORY):
            detail = f"it promises a kernel, and a call whose kernels are counted {error}"
            raise Rejected(CHECK, variation.described, detail) from error
        on = ProfiledOn.GPU if bench.device == "cuda" else ProfiledOn.CPU
        bench.evidence.share = KernelShare(ProfiledOn.INTERPRETER if bench.interpreted else on, unknown=why)
        bench.evidence.notes += [f"{_NOT_CHECKED}: {why}"] if trial.promises_kernel else []
        return
    share = bench.evidence.share = share_of(after, outside)
    if not trial.promises_kernel:
        if bench.interpreted and bench.language.shows_kernels_to_interpret(trial.candidate) and not share.kernels:
            raise Undecidable(_NOT_LAUNCHED)
        return
    before = _baseline(bench, targets, inputs, variation.seed, by_operator=after.by_operator)
    if isinstance(before, str):
        bench.evidence.notes.append(f"{_NOT_CHECKED}: {before}")
        return
    broken = broken_promise(trial, before, after, outside)
    if broken is not None:
        raise Rejected(CHECK, variation.described, f"it promises a kernel, but {broken}")
    kept = f"launches {', '.join(share.kernels)}" if share.kernels else "runs C++ code, which cannot be seen here"
    bench.evidence.checks.append(Check(CHECK, variation.described, True, f"it promises a kernel and {kept}"))


def _baseline(bench: Bench, targets: Targets, inputs: Inputs, seed: int, *, by_operator: bool) -> Work | str:
    """The baseline's work, in the judge: it is nobody's candidate. Or why it cannot be looked at, in words."""
    own = bench.baseline, bench.trial.home, bench.trial.baseline
    try:
        call = prepared(targets.baseline, inputs, seed)
        how = {"device": bench.device, "interpreted": bench.interpreted, "by_operator": by_operator}
        return look(call, *own, bench.language, **how)
    except Exception as error:  # noqa: BLE001  (a profiled call may lack memory that a call alone has)
        return f"the baseline's call raises {describe(error)}"
