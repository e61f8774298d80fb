"""The sentences in which results are told, the same in the editor and on the command line.

A number is said only beside a passing verdict on the same text; everything else is said without one.
"""

from collections.abc import Sequence

from kernelwright.values import (
    DETERMINISTIC,
    Accuracy,
    Check,
    Device,
    Effort,
    Failure,
    FailureKind,
    KernelShare,
    Measurement,
    Origin,
    Outcome,
    ProfiledOn,
    ProfileResult,
    Step,
    Usage,
    Verdict,
    VerdictStatus,
)

_DTYPES = {"float64": "fp64", "float32": "fp32", "float16": "fp16", "bfloat16": "bf16"}

_REMEDIES = {
    FailureKind.NO_INTERPRETER: "Set kernelwright.interpreter to a Python that has torch.",
    FailureKind.MISSING_PACKAGE: "Install it there, or set kernelwright.interpreter to a Python that has it.",
    FailureKind.DEVICE_BUSY: "Try again when the other job has ended.",
    FailureKind.TIMED_OUT: "Does the code end? If so, make the workload smaller or raise kernelwright.verifyTimeout.",
    FailureKind.OUT_OF_MEMORY: "Make the workload smaller, or close what else runs on the device.",
}

_LEVELS = {
    Effort.QUICK: " at effort quick, the most telling cases only",
    Effort.STANDARD: "",
    Effort.PARANOID: " at effort paranoid",
}

_COUNTED = {
    ProfiledOn.GPU: ("launch", "launches"),
    ProfiledOn.CPU: ("operator call", "operator calls"),
    ProfiledOn.INTERPRETER: ("launch or operator call", "launches and operator calls"),
}


SAME_TEXT = "the baseline is this very text"


def launched_by(places: Sequence[tuple[str, str]]) -> str:
    """What launches a kernel in other files: functions, "" for none, with the names of their files."""
    (function, file), more = places[0], len(places) - 1
    return f"{function or 'code'} in {file}{f' and {more} more' if more else ''}"


def measured(verdict: Verdict | None, measurement: Measurement | None) -> bool:
    """Whether the number may be said: the verdict passed on the very text that was measured."""
    return (
        verdict is not None
        and measurement is not None
        and verdict.passed
        and verdict.text_hash == measurement.text_hash
        and verdict.baseline_hash == measurement.baseline_hash
        and verdict.effort is not Effort.QUICK
    )


def result(verdict: Verdict, measurement: Measurement | None = None, unmeasured: str = "") -> str:
    """One line for a verdict with its measurement; `unmeasured` says why there is none.

    "Verified: 2.31x faster than baseline (0.42 -> 0.18 ms, 95 % CI 2.28-2.34, NVIDIA H200, fp32, 12 checks, bit-exact);
    hand-written kernel share 3 %, rest library (aten::softmax); 2 of 2 kernels launched, all 31 lines ran"
    """
    said = [_result(verdict, measurement, unmeasured)]
    if verdict.passed:
        said.append(of_share(verdict.share) if verdict.share is not None else "")
        said.append(verdict.coverage.described if verdict.coverage is not None else "")
    return "; ".join(filter(None, said))


def _result(verdict: Verdict, measurement: Measurement | None, unmeasured: str) -> str:
    if not verdict.passed:
        return of_verdict(verdict)
    if measurement is not None and measured(verdict, measurement):
        facts = (
            f"{milliseconds(measurement.baseline.median_ms)} -> {milliseconds(measurement.candidate.median_ms)} ms",
            interval(measurement),
            measurement.device,
            dtype(measurement),
            _count(len(verdict.checks), "check"),
            _class(verdict),
            "on busy processors" if "busy" in measurement.conditions else "",
        )
        shown = f"{_verified(verdict)}: {compared(measurement)} ({', '.join(fact for fact in facts if fact)})"
        return f"{shown}; {verdict.how}" if verdict.how else shown
    reason = unmeasured if measurement is None else "the measurement is of another text"
    if verdict.effort is Effort.QUICK and not unmeasured:
        return f"{of_verdict(verdict)}; no speedup is shown at this level"
    reason = reason.removeprefix("Speed not measured").lstrip(":. ")
    return f"{of_verdict(verdict)}; speed not measured{': ' + _lower(reason) if reason else ''}"


def _class(verdict: Verdict) -> str:
    """The accuracy as one fact among others; "" where it is not known, or so low that _verified() says it first."""
    return "" if verdict.accuracy in (None, Accuracy.REDUCED) else str(verdict.accuracy)


def _verified(verdict: Verdict) -> str:
    """ "Verified", with the effort, the accuracy and the caveats that a reader must see first."""
    reduced = f" with {Accuracy.REDUCED}" if verdict.accuracy is Accuracy.REDUCED else ""
    return ", ".join((f"Verified{_LEVELS[verdict.effort]}{reduced}", *verdict.caveats))


def no_baseline(kernel: str) -> str:
    """Why a kernel cannot be judged that was never changed or given a baseline, and what to do."""
    return (
        f"No baseline of {kernel} is known, so there is nothing to compare it with. Name one on the command line "
        "(--against FILE), keep a step, or reset the baseline in the editor and then edit the kernel."
    )


def compared(measurement: Measurement) -> str:
    """ "2.31x faster than baseline", "1.40x slower than baseline" or, when the interval holds 1, "as fast as baseline".

    So, too, where two digits show no difference, however certain it is.
    """
    factor = max(measurement.speedup, 1 / measurement.speedup)
    if measurement.speedup_low <= 1.0 <= measurement.speedup_high or f"{factor:.2f}" == "1.00":
        return f"as fast as baseline, {measurement.speedup:.2f}x"
    return f"{factor:.2f}x {'faster' if measurement.speedup > 1.0 else 'slower'} than baseline"


def interval(measurement: Measurement) -> str:
    """The 95 % interval of the ratio that `compared` says."""
    low, high = measurement.speedup_low, measurement.speedup_high
    if high < 1.0 and low > 0.0:
        low, high = 1 / high, 1 / low
    return f"95 % CI {low:.2f}-{high:.2f}"


def of_verdict(verdict: Verdict) -> str:
    """One line for a verdict alone: what passed, or the first check that did not."""
    where = f" {verdict.how}" if verdict.how else ""
    if verdict.passed:
        accuracy = f" ({_class(verdict)})" if _class(verdict) else ""
        return f"{_verified(verdict)}: passed {_count(len(verdict.checks), 'check')}{accuracy}{where}"
    if verdict.status is VerdictStatus.NOT_CHECKABLE:
        return f"Not checkable{where}: {_sentence(verdict.reason or 'the gate could not run')}"
    failed = verdict.failed_checks
    if not failed:
        return f"Not verified{where}: {_sentence(verdict.reason or 'the gate failed')}"
    more = f" ({len(failed)} of {len(verdict.checks)} checks failed)" if len(failed) > 1 else ""
    return f"{of_check(failed[0])}{more}"


def of_check(check: Check) -> str:
    """ "Check `values` failed on seed 3, scale 0.01: max |err| …" """
    case = f" on {check.case}" if check.case else ""
    detail = f": {check.detail}" if check.detail else ""
    return f"Check {check.name} {'passed' if check.passed else 'failed'}{case}{detail}"


def of_failure(failure: Failure) -> str:
    """The failure's own sentence, followed by what to change where the kind of failure says it."""
    remedy = _REMEDIES.get(failure.kind, "")
    said = remedy == "" or "kernelwright." in failure.message
    return _sentence(failure.message) if said else f"{_sentence(failure.message)} {remedy}"


def of_step(step: Step, title: str = "") -> str:
    """One line for a step: the strategy, what became of it and the evidence."""
    name = title or step.action.strategy
    chosen = f" ({step.edits.summary})" if step.edits is not None and step.edits.summary else ""
    if step.outcome is Outcome.REVERTED:
        return f"{name}{chosen}: reverted"
    if step.outcome is Outcome.KEPT and step.verdict is not None:
        said = f". {result(step.verdict, step.measurement, step.reason)}{_over_previous(step)}"
    elif step.failure is not None:
        said = f": not kept. {of_failure(step.failure)}"
    elif step.verdict is not None and not step.verdict.passed:
        said = f": not kept. {of_verdict(step.verdict)}"
    else:
        said = f": {step.outcome}. {_sentence(step.reason)}" if step.reason else f": {step.outcome}"
    line, written = f"{name}{chosen}{said}", _written(step)
    return f"{_sentence(line)} {written}" if written else line


def left_out(title: str, label: str, reason: str) -> str:
    """Why a step is not made again on another text."""
    return f"{title} ({label}) is left out: {_sentence(reason)}"


def written_by(step: Step) -> str:
    """Who wrote the edits where that was not Kernelwright itself, and what asking models took."""
    author = "" if step.author == DETERMINISTIC else f"Written by {step.author}."
    took = f"Took {of_usage(step.usage)}." if step.usage.calls else ""
    return f"{author} {took}".strip()


def _written(step: Step) -> str:
    """Who wrote the edits, and what was tried first."""
    tried = f"Tried before: {_sentence('; '.join(one.rstrip('.') for one in step.earlier))}" if step.earlier else ""
    return f"{written_by(step)} {tried}".strip()


def of_usage(usage: Usage) -> str:
    """What asking models took: "2 answers, 8,120 tokens, 0.04 US dollars, 12 s"."""
    dollars = f", {usage.dollars:.2g} US dollars" if usage.dollars else ""
    return f"{_count(usage.calls, 'answer')}, {usage.tokens:,} tokens{dollars}, {usage.seconds:.3g} s"


def of_profile(profile: ProfileResult) -> str:
    """One line for a profile, with what its share is a share of.

    "Hand-written kernel share 97 %, rest library (3 launches, 0.42 ms of kernels in one warm call, NVIDIA H200)"
    """
    if not profile.kernels:
        return f"The call launches nothing on {profile.device}"
    if profile.time_us is None:
        part = part_of(profile, Origin.HAND_WRITTEN)
        return f"Hand-written kernels: {part} in one call; share of the time {profile.unmeasured} on {profile.device}"
    one, several = _COUNTED[profile.measured_on]
    counted = f"{profile.launches:g} {one if profile.launches == 1 else several}"
    facts = f"{counted}, {milliseconds(profile.time_us / 1000)} ms"
    if profile.measured_on is ProfiledOn.GPU:
        return f"{_shares(profile)} ({facts} of kernels in one warm call, {profile.device})"
    return (
        f"{_shares(profile)} ({facts} of CPU time in one warm call, {profile.device}; "
        "no GPU here, so no GPU kernel was measured)"
    )


def of_share(share: KernelShare, most: int = 2) -> str:
    """Whose kernels do the work, with at most `most` names of each kind; "" where nobody launches anything.

    "hand-written kernel share 3 %, rest library (aten::softmax)"; where no time was measured, what was launched.
    """
    others = f"library ({listed(share.others, most)})" if share.others else ""
    elsewhere = f", beside it {share.elsewhere}" if share.elsewhere else ""
    if share.hand_written is None:
        if not share.kernels and not share.others:
            return (
                f"hand-written kernel share not known: {share.unknown}{elsewhere}" if share.unknown else elsewhere[2:]
            )
        ran = [f"hand-written ({listed(share.kernels, most)})"] if share.kernels else []
        seen = " and ".join([*ran, *([others] if others else [])])
        return f"kernels: {seen}, share of the time {share.unknown}{elsewhere}"
    made = f", torch.compile's {percent(share.compiled)}" if share.compiled else ""
    rest = f", rest {others}" if others and share.hand_written + (share.compiled or 0.0) < 1.0 else ""
    where = " of CPU time" if share.measured_on is ProfiledOn.CPU else ""
    return f"hand-written kernel share {percent(share.hand_written)}{where}{made}{rest}{elsewhere}"


def listed(names: tuple[str, ...], most: int) -> str:
    """ "a, b and 3 more"."""
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more


def part_of(profile: ProfileResult, origin: Origin) -> str:
    """ "1 of 3 launches" on a GPU, "0 of 11 operator calls" on a CPU."""
    return f"{profile.launches_of(origin):g} of {profile.launches:g} {_COUNTED[profile.measured_on][1]}"


def percent(share: float) -> str:
    """ "97 %"; what is not all is not 100 %, and what is not nothing is not 0 %."""
    rounded = f"{share:.0%}"
    if rounded == "0%" and share > 0.0:
        return "<1 %"
    return ">99 %" if rounded == "100%" and share < 1.0 else rounded.replace("%", " %")


def _shares(profile: ProfileResult) -> str:
    written, compiled, library = (profile.share_of(origin) or 0.0 for origin in Origin)
    made = f", torch.compile's {percent(compiled)}" if compiled else ""
    return f"Hand-written kernel share {percent(written)}{made}{', rest library' if library else ''}"


def milliseconds(value: float) -> str:
    """A time in ms with three significant digits: "0.42", "12.3", "0.00871"."""
    if value >= 100:
        return f"{value:.0f}"
    return f"{value:#.3g}".rstrip("0").rstrip(".") if value < 1 else f"{value:.3g}"


def least_time(floor_ms: float, roof: Device, timed_on: str | None) -> str:
    """Say the least time on a device; nothing beside times of another one, with which it would be compared."""
    return f"at least {milliseconds(floor_ms)} ms" if timed_on in (None, roof.name) else ""


def dtype(measurement: Measurement) -> str:
    """ "fp32" for float32, and so on; empty when the conditions do not name it."""
    name = measurement.conditions.get("dtype", "")
    return ", ".join(_DTYPES.get(part.strip(), part.strip()) for part in name.split(",")) if name else ""


def _over_previous(step: Step) -> str:
    measurement = step.measurement
    if measurement is None or step.before_hash == measurement.baseline_hash or not measured(step.verdict, measurement):
        return ""
    return f"; {measurement.step_speedup:.2f}x over the version before"


def _count(number: int, what: str) -> str:
    return f"{number} {what}" if number == 1 else f"{number} {what}s"


def _sentence(words: str) -> str:
    words = words.strip()
    return words if words.endswith((".", "!", "?")) else f"{words}."


def _lower(words: str) -> str:
    """Joins a sentence after a colon, but leaves names such as GPU or CUDA alone."""
    words = words.strip().rstrip(".")
    first, _, rest = words.partition(" ")
    return words if first[1:].lower() != first[1:] else f"{first.lower()}{' ' + rest if rest else ''}"
