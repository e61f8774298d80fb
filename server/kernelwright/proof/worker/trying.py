"""Tries workload lines: what each calls is called in a host, which a line that crashes or hangs costs, and no more."""

import contextlib
import os
import shutil
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import torch

from kernelwright.proof.jobs import TriedLine, TriedLines, TryLines
from kernelwright.proof.worker.bench import device_here, interpreting
from kernelwright.proof.worker.failed import JobFailed
from kernelwright.proof.worker.gate.cap import MOST_OF_A_LINE
from kernelwright.proof.worker.gate.cases import INTERPRETER_ELEMENTS
from kernelwright.proof.worker.gate.line_sizes import elements, shrunk, without_shifts
from kernelwright.proof.worker.hosts import messages
from kernelwright.proof.worker.hosts.remote import Host
from kernelwright.proof.worker.inputs import bytes_of_call, check_memory
from kernelwright.proof.worker.languages import language_of
from kernelwright.proof.worker.raised import scratch_folder
from kernelwright.proof.worker.rejected import Rejected
from kernelwright.proof.worker.subject import case_call
from kernelwright.source.workload.larger import at_full_size, grown, ways
from kernelwright.source.workload.lines import entry_of
from kernelwright.source.workload.signature import signature_of
from kernelwright.source.workload.suggest import calls_with_constructor, tensors_of, with_gradients
from kernelwright.values import Failure, FailureKind

_LOADING = 120.0  # seconds in which a text has to be imported
_FURTHER = 10  # lines that are tried for kernels which one that runs does not launch
_OTHER_SEED = 1  # which the gate asks for as well
_SLOW = 0.2  # seconds of the processor for one call; the gate makes some hundred
_TOO_SLOW = "one call of it takes {:.1f} s of the processor here"
_UNSTEADY = "called again with other memory, or tuned otherwise, it does not come to the same"
_GROWS = 0.75  # of what is written by a larger call, what it has to write
_SLOWER = 1.5  # than the line that ran, what a larger one may be: sizes are reduced for both
_ANOTHER = "lines that call {} launch more kernels, or come first"
_OVER = (FailureKind.TIMED_OUT, FailureKind.CRASHED)


def try_lines(job: TryLines, report: Callable[[str], None]) -> TriedLines:
    """Try the lines of a job in turn. Raises JobFailed where its text cannot be loaded."""
    with contextlib.closing(_Trier(job)) as trier:
        last: list[_Last] = []
        found = _tried(trier.constructed(job.lines), job.kernels, trier, report, last)
        own = {name: lines for name, lines in job.launches.items() if name not in _launched(found)}
        trier.left = job.launch_budget if own else 0.0
        for name, lines in own.items():
            found += _tried(lines, (name,), trier, report, last)
        for one in sorted(last, key=lambda one: (not one.repeats, one.seconds)):
            found.append(trier.enlarged(_last_choice(one, found, job.kernels)))
        return TriedLines(tuple(found))


@dataclass(frozen=True)
class _Last:
    """A line that is a last choice: it takes long, or does not come to the same when it is called again.

    With the latter nothing can be verified.
    """

    line: str
    launched: frozenset[str]
    written: tuple[str, ...]
    repeats: bool
    seconds: float

    @property
    def reason(self) -> str:
        return _TOO_SLOW.format(self.seconds) if self.repeats else _UNSTEADY


def _launched(found: Sequence[TriedLine]) -> set[str]:
    return {name for one in found for name in one.launched}


def _last_choice(last: _Last, found: Sequence[TriedLine], kernels: Sequence[str]) -> TriedLine:
    """The line, which counts for kernels that no other launches, and without `kernels` where no other runs.

    One that launches a kernel itself and does not repeat itself does not: all that it is for is to verify. Nor does one that
    calls another function than the lines that run: the workload of a kernel calls one.
    """
    own = case_call(last.line).grid is not None
    ran = [one.line for one in found if not one.reason]
    called = {entry_of(line) for line in ran if case_call(line).grid is None} or {entry_of(last.line)}
    new = last.launched & (set(kernels) - _launched(found))
    if not (last.repeats if own else entry_of(last.line) in called) or not (new or not (kernels or ran)):
        return TriedLine(last.line, last.reason)
    return TriedLine(last.line, "", tuple(sorted(new)), last.written)


def _tried(
    lines: Sequence[str],
    kernels: Sequence[str],
    trier: "_Trier",
    report: Callable[[str], None],
    last: list[_Last],
) -> list[TriedLine]:
    """Lines that run and launch none of the kernels that are missing do not count as running.

    Nor do those that call another function than the lines which launch the most kernels. Those that take long, or do not
    repeat themselves, are put aside as the `last` choices.
    """
    missing: dict[str, set[str]] = {}  # kernels, by the function that is called
    found, left, pending = list[TriedLine](), len(lines), list(dict.fromkeys(lines))
    ran, backward = False, True
    while pending and left and not (ran and (not kernels or not all(missing.values()))):
        line, left = pending.pop(0), left - 1
        report(f"Trying line {len(found) + 1} of {len(found) + 1 + min(left, len(pending))}")
        launched, lacking = trier.call(line), missing.setdefault(entry_of(line), set(kernels))
        if isinstance(launched, str):
            found.append(TriedLine(line, launched))
            if trier.timed_out:
                pending = _others_first(pending, line)
            continue
        new = lacking.intersection(launched.kernels)
        good = launched.repeats and launched.seconds < _SLOW
        if not good and (new or not kernels):
            last.append(_Last(line, frozenset(new), launched.lines, launched.repeats, launched.seconds))
            if launched.repeats:
                pending = _others_first(pending, line)
            continue
        if kernels and not new:
            found.append(TriedLine(line, f"it launches no {' or '.join(sorted(lacking))}"))
        else:
            found.append(trier.enlarged(TriedLine(line, "", tuple(sorted(new)), launched.lines)))
            lacking -= new
            if not ran:  # another way through the launcher hangs on numbers and flags rather than on tensors
                pending.sort(key=lambda other, made=tensors_of(line): tensors_of(other) != made)  # type: ignore[misc]
            left, ran = left if ran else min(left, _FURTHER), True
        if lacking and backward and (with_backward := with_gradients(line)) is not None:
            pending.insert(0, with_backward)
            left += 1
            backward = bool(new)
    called = (entry_of(one.line) for one in found if not one.reason)
    best = min(called, key=lambda name: len(missing[name]), default="")
    kept = lambda one: one.reason or entry_of(one.line) == best
    return [one if kept(one) else TriedLine(one.line, _ANOTHER.format(best)) for one in found]


def _others_first(pending: Sequence[str], slow: str) -> list[str]:
    """The lines with those behind that have the tensors of a slow one: how long a call takes hangs on its sizes."""
    made = tensors_of(slow)
    return sorted(pending, key=lambda line: tensors_of(line) == made)


class _Trier:
    """Calls lines in one process after the other, each of which has loaded the text."""

    def __init__(self, job: TryLines) -> None:
        self._job = job
        self._language = language_of(job.language)
        self._device = device_here()
        self._interpreted = interpreting() and self._language.is_interpreted_without_gpu(job.text)
        self._scratch = tempfile.mkdtemp(prefix="kernelwright-host-")
        self._host: Host | None = None
        self.left = job.budget  # seconds, for all calls that are still to be made
        self._for_larger = job.larger_budget  # likewise, for making lines larger
        self.timed_out = False  # the last call that was made
        self._ran: dict[str, tuple[str, messages.Launched]] = {}  # of each line that did, how it was called
        self._language.prepare(job.path, (job.text,))

    def close(self) -> None:
        self._end()
        shutil.rmtree(self._scratch, ignore_errors=True)

    def call(self, line: str) -> messages.Launched | str:
        """What it launches, or why it does not run, be it on other data."""
        try:
            texts = self._sizes(line)
        except JobFailed as failed:
            return failed.failure.message.rstrip(".")
        reason = ""
        for text in texts:
            launched = self._asked(messages.Try(text, self._job.written, self._job.kernels))
            if launched is None or isinstance(launched, str):
                reason = launched or reason
                continue
            again = self._asked(messages.Try(text, seed=_OTHER_SEED, repeated=False))
            if not isinstance(again, messages.Launched):
                reason = f"on other data, {again}"
                continue
            tuned = self._tuned_otherwise(text, launched.configurations)
            if not isinstance(tuned, str):
                launched = replace(launched, seconds=again.seconds, written=again.written)
                self._ran[line] = text, launched
                return launched
            reason = f"with another configuration, {tuned}"
        return reason or f"there was no time left for it in {self._job.most_seconds:g} s"

    def enlarged(self, tried: TriedLine) -> TriedLine:
        """The line at a size that keeps a GPU busy; as it is where it did not run, or no such size is found in time."""
        if tried.reason or tried.line not in self._ran:
            return tried
        kept, self.left = self.left, self._for_larger
        larger = self._larger(tried.line, *self._ran[tried.line])
        self._for_larger, self.left = self.left, kept
        return replace(tried, line=larger, smaller=tried.line) if larger else tried

    def _larger(self, line: str, ran: str, launched: messages.Launched) -> str | None:
        """A larger call has to write as much more. On the CPU one of twice the size that ran says so."""
        for way in ways(self._job.text, line) if launched.written else ():
            wholes = [*at_full_size(line, way)]
            text, factor = (ran, 2) if self._device == "cpu" else (line, wholes[0][1] if wholes else 1)
            if not wholes or (tried := grown(text, way, factor)) is None:
                continue
            seen = self._asked(messages.Try(tried, seed=_OTHER_SEED, repeated=False))
            if seen is None:
                break
            if isinstance(seen, str) or seen.written < _GROWS * factor * launched.written:
                continue
            for whole, _ in wholes:
                final = self.call(whole)
                as_before = not isinstance(final, str) and final.repeats and final.kernels == launched.kernels
                if as_before and final.seconds < max(_SLOW, _SLOWER * launched.seconds):
                    return whole
        return None

    def _tuned_otherwise(self, text: str, configurations: int) -> messages.Launched | str | None:
        """What a launch of a tuned kernel comes to in a process of its own: a decorator may keep what was chosen first."""
        if configurations < 2 or case_call(text).grid is None:
            return None
        self._end()
        return self._asked(messages.Try(text, repeated=False, configuration=configurations - 1))

    def _asked(self, request: messages.Try) -> messages.Launched | str | None:
        """What the call launches, or why it does not run; None where there is no time left for it."""
        if self.left <= 0:
            return None
        host = self._host or self._loaded()
        begun, self.timed_out = time.monotonic(), False
        host.limit = min(self._job.seconds, self.left)
        try:
            check_memory(bytes_of_call(case_call(request.line)), self._device)
            return host.ask(request, messages.Launched)
        except Rejected as rejected:
            return rejected.check.detail
        except JobFailed as failed:
            self.timed_out = failed.failure.kind is FailureKind.TIMED_OUT
            if failed.failure.kind in _OVER:
                self._end()
            return failed.failure.message.rstrip(".")
        finally:
            self.left -= time.monotonic() - begun

    def constructed(self, lines: Sequence[str]) -> list[str]:
        """The lines; for a class that inherits its constructor from elsewhere, behind the first one those that fit it."""
        found = list(dict.fromkeys(lines))
        for name in dict.fromkeys(map(entry_of, lines)):
            bare = next((line for line in found if line.startswith(f"{name}()(")), None)
            signature = None if bare is None else signature_of(self._job.text, name)
            if bare is not None and signature is not None and signature.inherits_constructor:
                place = found.index(bare) + 1
                found[place:place] = calls_with_constructor(self._job.text, name, self._constructor(name))
        return found

    def _constructor(self, name: str) -> str:
        host = self._host or self._loaded()
        try:
            return host.ask(messages.Constructor(name), messages.Done).words
        except Rejected:
            return ""

    def _sizes(self, line: str) -> list[str]:
        """The line as the gate calls it: with few elements in the interpreter, and as it is where that does not run."""
        if not self._interpreted:
            return [line]
        small = shrunk(without_shifts(line), INTERPRETER_ELEMENTS)
        whole = elements(case_call(line)) <= MOST_OF_A_LINE
        return list(dict.fromkeys((small, line) if whole else (small,)))

    def _loaded(self) -> Host:
        host = self._host = Host(self._job.path, self._device)
        host.start(triton=self._device == "cuda" and self._language.needs_triton(self._job.text))
        host.limit = _LOADING
        request = messages.Load(
            self._job.path,
            self._job.text,
            self._job.language,
            self._device,
            torch.get_num_threads(),
            {},
            self._scratch,
            self._interpreted,
            hidden=(str(scratch_folder()),),
            protected=(os.getpid(), os.getppid()),
        )
        try:
            host.ask(request, messages.Loaded)
        except Rejected as rejected:
            raise JobFailed(Failure(FailureKind.IMPORT_FAILED, rejected.check.detail)) from rejected
        return host

    def _end(self) -> None:
        if self._host is not None:
            self._host.close()
            self._host = None
