"""Workload lines from what is known of a kernel's parameters: guesses, of which those count that a worker has seen run."""

import asyncio
import dataclasses
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from kernelwright import elsewhere
from kernelwright.languages import LanguageSupport
from kernelwright.models.account import Account
from kernelwright.prompting.tester import calls_in, workload_prompt
from kernelwright.proof.client import Workers
from kernelwright.proof.jobs import Compile, CompileResult, Subject, TriedLine, TriedLines, TryLines
from kernelwright.source.workload.lines import entry_of
from kernelwright.values import (
    NOTHING_SPENT,
    Case,
    Failure,
    FailureKind,
    Kernel,
    Language,
    NoReply,
    Refusal,
    Workload,
    WorkloadSource,
)

_ROUNDS = 2  # of guesses, the second where no GPU takes what ran of the first
_ENLARGING = 10.0  # seconds for looking for larger sizes
_COMPILING = 30.0  # seconds for what one line launches, with the imports of its file


@dataclass(frozen=True)
class Inferred:
    """`lines` ran, each with a comment sign; of `tried` ones others did not for these reasons, the commonest first.

    `unreached`: the kernels of the entry that none of the lines launched.
    """

    lines: tuple[str, ...]
    tried: int
    refused: tuple[str, ...]
    unreached: tuple[str, ...] = ()

    def sentence(self, entry: str) -> str:
        """What came of it, for a person."""
        if self.lines:
            some = "A workload line" if len(self.lines) == 1 else f"{len(self.lines)} workload lines"
            missed = f" None launched {' or '.join(self.unreached)}." if self.unreached else ""
            return f"{some} for {entry} ran.{missed}"
        why = f": {self.refused[0]}" if self.refused else ""
        return (
            f"None of {self.tried} workload lines for {entry} ran{why}. Write one by hand, or record one from a test."
        )


@dataclass(frozen=True)
class Asked:
    """The kernel whose lines are looked for."""

    path: str
    text: str
    kernel: Kernel
    support: LanguageSupport
    root: Path  # below which other files may launch the kernel
    beside: tuple[str, ...] = ()  # the texts of those that do, in CUDA C++, and of headers


async def infer(
    asked: Asked,
    workers: Workers,
    import_seconds: float,
    account: Account | None,
    report: Callable[[str], None],
    cancel: asyncio.Event | None,
) -> Inferred | Refusal | Failure:
    """Lines that ran: guesses from the text, and where none did, those that a language model proposes."""
    asked = await _with_others(asked)
    guesses = guessed(asked)
    calls = () if isinstance(guesses, Refusal) else guesses
    if asked.kernel.entry is None and asked.kernel.language is Language.TRITON:
        known = asked.path, asked.text, asked.kernel, asked.support, asked.root
        calls = (*await elsewhere.launches(*known, workers, import_seconds, report, cancel), *calls)
    answer: Inferred | Refusal | Failure
    if isinstance(guesses, Refusal) and not calls and not any(_own_launches(asked).values()):
        answer = guesses
    else:
        answer = await _tried(asked, calls, workers, import_seconds, report, cancel)
    if isinstance(answer, Inferred) and not answer.lines and isinstance(guesses, Refusal):
        answer = guesses
    if asked.kernel.language is Language.CUDA and asked.kernel.entry != asked.kernel.name:
        answer = await _with_own(asked, answer, workers, import_seconds, report, cancel)
    ran = isinstance(answer, Inferred) and bool(answer.lines)
    if ran or isinstance(answer, Failure) or account is None or not asked.support.tries_lines:
        return answer
    proposals = await proposed(asked, answer, account, report, cancel)
    if isinstance(proposals, Refusal):
        report(proposals.reason)
        return answer
    return await _tried(asked, proposals, workers, import_seconds, report, cancel, enlarging=0.0)


async def _with_others(asked: Asked) -> Asked:
    """What other files say of the launches of a kernel of CUDA C++."""
    if asked.support.id == "python" or not asked.support.tries_lines:
        return asked
    known = asked.root, asked.path, asked.text, asked.kernel.name, asked.support
    return dataclasses.replace(asked, beside=await asyncio.to_thread(elsewhere.beside, *known))


async def _with_own(
    asked: Asked,
    answer: Inferred | Refusal | Failure,
    workers: Workers,
    import_seconds: float,
    report: Callable[[str], None],
    cancel: asyncio.Event | None,
) -> Inferred | Refusal | Failure:
    """The answer, with launches of those kernels of CUDA C++ themselves that no line of the host function launched."""
    some = isinstance(answer, Inferred) and bool(answer.lines)
    before = answer if isinstance(answer, Inferred) and some else Inferred((), 0, ())
    found = dict[str, Inferred]()
    for kernel in _of_entry(asked):
        if some and kernel.name not in before.unreached:
            continue
        alone = await _with_others(dataclasses.replace(asked, kernel=dataclasses.replace(kernel, entry=kernel.name)))
        calls = guessed(alone)
        tried = (
            None if isinstance(calls, Refusal) else await _tried(alone, calls, workers, import_seconds, report, cancel)
        )
        found[kernel.name] = tried if isinstance(tried, Inferred) else Inferred((), 0, ())
    lines = tuple(line for one in found.values() for line in one.lines)
    if not lines:
        return answer
    refused = tuple(reason for one in (before, *found.values()) for reason in one.refused)
    missed = tuple(name for name, one in found.items() if not one.lines)
    return Inferred((*before.lines, *lines), before.tried + sum(one.tried for one in found.values()), refused, missed)


def guessed(asked: Asked) -> tuple[str, ...] | Refusal:
    """Calls that fit the parameters of what launches a kernel, best first; to be tried."""
    lines = asked.support.lines_from_signature(asked.text, asked.kernel, asked.beside)
    if isinstance(lines, Refusal):
        return lines
    if not asked.support.tries_lines:
        return Refusal("Workload lines of this language cannot be tried; write one by hand.")
    return _calls(asked, lines)


def _own_launches(asked: Asked) -> dict[str, tuple[str, ...]]:
    """For each Triton kernel of the entry, launches without what launches it in the file."""
    if asked.kernel.entry is None:
        return {}  # what `guessed` says
    found = {}
    for kernel in (one for one in _of_entry(asked) if one.language is Language.TRITON):
        lines = asked.support.lines_from_signature(asked.text, dataclasses.replace(kernel, entry=None))
        found[kernel.name] = () if isinstance(lines, Refusal) else _calls(asked, lines)
    return found


def _of_entry(asked: Asked) -> tuple[Kernel, ...]:
    """The kernels of Triton and CUDA that the entry launches."""
    entry = asked.kernel.entry
    if asked.kernel.language is Language.CUDA and entry == asked.kernel.name:
        return (asked.kernel,)
    same = asked.support.kernels(asked.text) if entry is not None else (asked.kernel,)
    return tuple(kernel for kernel in same if kernel.entry == entry and kernel.language is not Language.TORCH)


def _calls(asked: Asked, lines: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(line.removeprefix(asked.support.workload_sign) for line in lines)


async def proposed(
    asked: Asked,
    before: Inferred | Refusal,
    account: Account,
    report: Callable[[str], None],
    cancel: asyncio.Event | None,
) -> tuple[str, ...] | Refusal:
    """Calls that a language model proposes; to be tried. `before`: what came of the guesses."""
    refused = (before.reason,) if isinstance(before, Refusal) else before.refused
    prompt = workload_prompt(asked.text, asked.kernel, asked.support, refused)
    answer = await account.ask(prompt, NOTHING_SPENT, report, cancel)
    return answer if isinstance(answer, NoReply) else calls_in(answer.text, asked.support.workload_sign)


async def _tried(
    asked: Asked,
    calls: tuple[str, ...],
    workers: Workers,
    import_seconds: float,
    report: Callable[[str], None],
    cancel: asyncio.Event | None,
    enlarging: float = _ENLARGING,
) -> Inferred | Failure:
    """Which of `calls` run; a launcher's with all kernels that it launches, a template's for one set of its arguments.

    `enlarging`: seconds for larger sizes; a language model has chosen its own.
    """
    kernels = tuple(dict.fromkeys(kernel.name for kernel in _of_entry(asked)))
    own, tried, launched = _own_launches(asked), list[TriedLine](), set[str]()
    failed: Failure | None = None
    for template, group in _by_template(calls).items():
        # What a template is called with is compiled with it, and read from workload lines.
        commented = f"\n{asked.support.workload_sign}{group[0]}" if template else ""
        unit = asked.support.unit(asked.text + commented, asked.kernel)
        job = TryLines(
            asked.path, unit.run, group, kernels, language=unit.language, launches=own, larger_budget=enlarging
        )
        for _ in range(_ROUNDS):
            report("Trying workload lines")
            answer = await workers.run(job, timeout=job.most_seconds + import_seconds, report=report, cancel=cancel)
            if isinstance(answer, Failure):
                failed = failed or answer
                break
            assert isinstance(answer, TriedLines)
            triton = asked.kernel.language is Language.TRITON
            found = [await _compiled(job, one, workers, report, cancel) if triton else one for one in answer.lines]
            tried += found
            if found == [*answer.lines]:
                break
            job = _rest(job, answer)
        launched = {name for one in tried if not one.reason for name in one.launched}
        if any(not one.reason for one in tried):
            break
    if failed is not None and not tried:
        return failed
    result = TriedLines(tuple(tried))
    lines = tuple(f"{asked.support.workload_sign}{line}" for line in result.ran)
    return Inferred(lines, len(tried), result.reasons, tuple(name for name in kernels if name not in launched))


async def _compiled(
    job: TryLines, tried: TriedLine, workers: Workers, report: Callable[[str], None], cancel: asyncio.Event | None
) -> TriedLine:
    """The line, refused where it ran in Triton's interpreter and its kernels do not compile for a GPU.

    The interpreter takes blocks of any size, products of any shape, and loops that change the type of what they carry.
    """
    device = await workers.device()
    if tried.reason or not tried.launched or isinstance(device, Failure) or device.is_gpu:
        return tried
    call = Workload(WorkloadSource.LINES, entry_of(tried.line), (Case(0, 0, tried.line),))
    report("Compiling what the line launches")
    subject = Subject(job.path, job.text, call, job.language)
    answer = await workers.run(Compile(subject), timeout=_COMPILING, report=report, cancel=cancel)
    if isinstance(answer, CompileResult):
        reason = answer.unfit.rstrip(".")
    elif isinstance(answer, Failure) and answer.kind is FailureKind.TIMED_OUT:
        reason = f"its kernels do not compile within {_COMPILING:g} s"
    elif isinstance(answer, Failure) and answer.kind is FailureKind.COMPILE_FAILED:
        reason = answer.message.rstrip(".")
    else:
        return tried  # whatever else it needs, it ran
    return dataclasses.replace(tried, reason=reason, launched=()) if reason else tried


def _rest(job: TryLines, answer: TriedLines) -> TryLines:
    """What was not tried yet."""
    done = {one.smaller or one.line for one in answer.lines}

    def left(lines: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(line for line in lines if line not in done)

    launches = {name: left(lines) for name, lines in job.launches.items()}
    return dataclasses.replace(job, lines=left(job.lines), launches=launches)


def _by_template(calls: tuple[str, ...]) -> dict[str, tuple[str, ...]]:
    """The calls by their template arguments, "" where they have none, in order; one group without a call where none is."""
    found: dict[str, tuple[str, ...]] = {}
    for call in calls:
        name = call.partition("<<<")[0]
        template = name if "<" in name else ""
        found[template] = (*found.get(template, ()), call)
    return found or {"": ()}
