"""Decides whether a step that promised a kernel brought one, or lets somebody else do the work. Pure; in the judge.

A library's work that the step did not promise to replace is nobody's fault: what counts is which work is gone, which has
been added, and what the hand-written kernels do.
"""

import functools
from collections.abc import Iterable

from kernelwright.proof.jobs import Trial
from kernelwright.proof.worker.hosts.outside import Outside
from kernelwright.proof.worker.languages import language_of
from kernelwright.proof.worker.profiling.work import Part, Work, amount, beyond, is_move
from kernelwright.proof.worker.texts import listed
from kernelwright.values import KernelShare, Origin, ProfiledOn

LEAST_PART = 0.005
"""Of the work that is gone; a kernel that does less stands beside the work and does not do it."""
MOST_ADDED = 1 / 3
"""Of the work that took the place of what is gone; more of it in a library is a call of the library."""

_listed = functools.partial(listed, most=3)


def broken_promise(trial: Trial, before: Work, after: Work, outside: Outside) -> str | None:
    """None, or in words who does the work that the candidate's kernel was to do.

    `before` is the baseline's work on the same call, `after` the candidate's.
    """
    own, library, language = after.hand_written, after.computing, language_of(trial.language)
    if outside.helpers:
        return f"another process works during the call ({_listed(outside.helpers)}), and nothing watches what it does"
    if outside.binaries:
        return f"it loads machine code that its text does not show ({_listed(outside.binaries)})"
    if language.compiles(trial.candidate) and not any(map(language.compiles, (trial.baseline, trial.previous))):
        return f"it hands the work to torch.compile{_beside(own)}"
    if any(part.origin is Origin.COMPILED for part in after.parts) and not before.of(Origin.COMPILED):
        return f"torch.compile's kernels do the work{_beside(own)}"
    if not own:
        return (
            None
            if _cannot_be_seen(after, outside)
            else _none_launched(language.kernels(trial.candidate), after, library)
        )
    return _not_the_work(trial, before, after)


def share_of(work: Work, outside: Outside) -> KernelShare:
    """What is said of a call beside the verdict."""
    whole = amount(work.parts)
    timed = work.timed and whole > 0 and not _cannot_be_seen(work, outside)
    others = [*work.computing, *(part for part in work.of(Origin.LIBRARY) if is_move(part.name))]
    elsewhere = [*(f"process {words}" for words in outside.helpers), *outside.binaries]
    return KernelShare(
        work.measured_on,
        amount(work.hand_written) / whole if timed else None,
        amount(work.of(Origin.COMPILED)) / whole if timed else None,
        tuple(part.name for part in work.hand_written),
        tuple(dict.fromkeys(part.name for part in others)),
        ", ".join(elsewhere),
        work.untimed
        or ("" if timed else "not measured: C++ code on a CPU" if outside.extension else "nothing took time"),
    )


def _not_the_work(trial: Trial, before: Work, after: Work) -> str | None:
    """Whether the hand-written kernels that were launched do what has gone from the baseline's work."""
    own, kernels = after.hand_written, language_of(trial.language).kernels
    gone = beyond(before, after)
    added = tuple(part for part in beyond(after, before) if not is_move(part.name))
    names = _listed(part.name for part in own)
    if added and not kernels(trial.candidate).items() - kernels(trial.previous).items():
        return f"it brings no new kernel, and calls {_operators(added)}, which the baseline does not"
    if amount(added) >= MOST_ADDED * (amount(added) + amount(own)) and amount(added):
        return f"beside its kernel {names} it calls {_operators(added)}, which the baseline does not: the library does the work"
    if before.hand_written:
        return None
    if not gone and before.of(Origin.LIBRARY, Origin.COMPILED):
        still = _operators(after.computing)
        return f"its kernel {names} replaces nothing: all of the baseline's calls are still there ({still})"
    if amount(own) < LEAST_PART * (amount(own) + amount(gone)):
        return f"its kernel {names} does next to nothing beside what is gone ({_operators(gone)})"
    return None


def _none_launched(kernels: Iterable[str], after: Work, library: tuple[Part, ...]) -> str:
    instead = (
        f"the library does the work ({_operators(library)})" if library else "nothing that can be seen does the work"
    )
    if after.raised:
        return f"{after.raised}, and what catches that lets {instead.replace(' does', ' do', 1)}"
    if defined := sorted(kernels):
        return f"its kernel {_listed(defined)} is never launched: {instead}"
    return f"it has no kernel: {instead}"


def _cannot_be_seen(work: Work, outside: Outside) -> bool:
    """C++ functions that torch compiled and loaded run unseen on a CPU."""
    return outside.extension and work.measured_on is not ProfiledOn.GPU


def _beside(own: tuple[Part, ...]) -> str:
    return (
        f" beside its own kernel {_listed(part.name for part in own)}" if own else ", and launches no kernel of its own"
    )


def _operators(parts: Iterable[Part]) -> str:
    return _listed(dict.fromkeys(part.name for part in parts)) or "copies"
