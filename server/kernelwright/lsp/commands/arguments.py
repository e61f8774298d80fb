"""What a command is about: its one argument `{uri, kernel, strategy, step, line, …}`, or the uri alone."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

from lsprotocol.types import ExecuteCommandParams

from kernelwright.languages import absence
from kernelwright.lsp import launched
from kernelwright.lsp.results import code_of
from kernelwright.lsp.session import Session
from kernelwright.lsp.snapshot import Snapshot
from kernelwright.values import Kernel, Refusal, Workload


@dataclass(frozen=True)
class Arguments:
    """`kernel` may be left out where `line`, or there being one kernel that the workload calls, says which is meant."""

    uri: str
    kernel: str | None = None
    line: int | None = None
    strategy: str | None = None
    step: str | None = None
    quiet: bool = False  # answer only, no message window
    preview: bool = False  # the editor shows the edit before it makes it
    texts: bool = False  # steps come with the texts before and after them
    detached: bool = False  # the request is answered before the job has ended
    script: str | None = None  # the path of a test or script to run


@dataclass(frozen=True)
class Subject:
    """An open document and one of its kernels."""

    snapshot: Snapshot
    kernel: Kernel

    @property
    def key(self) -> tuple[str, str]:
        return self.snapshot.uri, self.kernel.name

    def outdated(self, now: Snapshot | None) -> str:
        """Why a job about this very code says nothing of the document as it is now; "" where it does.

        A closed document may be opened again unchanged.
        """
        if now is None or now.hash == self.snapshot.hash:
            return ""
        if self.snapshot.parts:
            now = self.snapshot.with_first(now)
        kernel = now.kernel(self.kernel.name)
        if kernel is not None and code_of(now.text, kernel, now.kernels) == self._code:
            return ""
        return f"{self.kernel.name} was edited meanwhile, so its job was ended."

    @cached_property
    def _code(self) -> str:
        return code_of(self.snapshot.text, self.kernel, self.snapshot.kernels)


_TYPES = {
    "uri": str,
    "kernel": str,
    "line": int,
    "strategy": str,
    "step": str,
    "quiet": bool,
    "preview": bool,
    "texts": bool,
    "detached": bool,
    "script": str,
}


def arguments(params: ExecuteCommandParams) -> Arguments | Refusal:
    given, kernel, *_ = *(params.arguments or ()), None, None
    if isinstance(given, str):
        return Arguments(given, kernel if isinstance(kernel, str) else None)
    if not isinstance(given, Mapping) or not isinstance(given.get("uri"), str):
        return Refusal(f'{params.command} needs one argument, {{"uri": …}}, with the file that it is about.')
    known = {key: value for key, value in given.items() if key in _TYPES and value is not None}
    for key, value in known.items():
        if not isinstance(value, _TYPES[key]):
            return Refusal(f"{params.command}: the argument {key!r} should be {_TYPES[key].__name__}, not {value!r}.")
    return Arguments(**known)


def is_detached(params: ExecuteCommandParams) -> bool:
    """Whether nobody waits for the answer: so it is with the commands of menus and lenses.

    Some editors do nothing else until they have the answer, and give up after seconds.
    """
    given = params.arguments[0] if params.arguments else None
    return isinstance(given, Mapping) and given.get("detached") is True


def subject(session: Session, asked: Arguments) -> Subject | Refusal:
    """The kernel that is meant, or why that cannot be said."""
    snapshot = session.documents.get(asked.uri)
    if snapshot is None:
        return Refusal(f"{asked.uri} is not open in the editor; open it first.")
    kernels = snapshot.kernels
    if not kernels:
        return Refusal(f"This file {absence(snapshot.support, snapshot.text, kernels)}")
    names = ", ".join(kernel.name for kernel in kernels)
    if asked.kernel is not None:
        kernel = snapshot.kernel(asked.kernel)
        return (
            Subject(snapshot, kernel)
            if kernel
            else Refusal(f"This file {absence(snapshot.support, snapshot.text, kernels, asked.kernel)}")
        )
    if asked.line is not None and (kernel := snapshot.kernel_at(asked.line)) is not None:
        return Subject(snapshot, kernel)
    called = [kernel for kernel in kernels if _is_called(snapshot, kernel)]
    for choice in (kernels, called):
        if len(choice) == 1:
            return Subject(snapshot, choice[0])
    return Refusal(f"This file has several kernels: say which of {names} is meant.")


async def whole(session: Session, asked: Arguments | Refusal) -> Subject | Refusal:
    """The kernel that is meant, with all that a step on it may change: joined with the document that launches it, where only
    that does. It can be named in either.
    """
    if isinstance(asked, Refusal):
        return asked
    found, snapshot = subject(session, asked), session.documents.get(asked.uri)
    if isinstance(found, Subject):
        made = await launched.joined(session, found.snapshot, found.kernel)
    elif snapshot is not None:
        made = await launched.by_launcher(session, snapshot, asked.kernel, asked.line)
    else:
        return found
    return made if isinstance(made, Refusal) else found if made is None else Subject(*made)


def meant(session: Session, params: ExecuteCommandParams) -> tuple[Arguments, Subject] | Refusal:
    """What a command was given, and the kernel that it means; or why that cannot be said."""
    asked = arguments(params)
    if isinstance(asked, Refusal):
        return asked
    found = subject(session, asked)
    return found if isinstance(found, Refusal) else (asked, found)


def _is_called(snapshot: Snapshot, kernel: Kernel) -> bool:
    """Whether the workload calls this very kernel, and not another one that uses it."""
    workload = snapshot.workload(kernel)
    return isinstance(workload, Workload) and workload.entry == kernel.entry
