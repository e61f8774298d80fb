"""`textDocument/codeAction` and its resolve: the menu of strategies of the kernel at the cursor, and quick fixes.

A strategy's action carries a command, because a job wants progress and a cancel; resolving fills in an edit only for
quick fixes, which are cheap and need no verdict.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from lsprotocol import types as lsp

from kernelwright.lsp import launched, quick_fix
from kernelwright.lsp.applying import can_preview
from kernelwright.lsp.session import Session
from kernelwright.lsp.snapshot import Snapshot
from kernelwright.menu import Menu
from kernelwright.values import Accuracy, Kernel, Refusal

if TYPE_CHECKING:
    from kernelwright.macro.policy import Offer
    from kernelwright.macro.strategy import Observation

OPTIMIZE = "refactor.rewrite.optimizeKernel"
KINDS = (lsp.CodeActionKind.QuickFix, OPTIMIZE)


async def code_action(session: Session, params: lsp.CodeActionParams) -> list[lsp.CodeAction | lsp.Command]:
    snapshot = session.documents.get(params.text_document.uri)
    if snapshot is None:
        return []
    actions: list[lsp.CodeAction] = []
    if _asked(params, lsp.CodeActionKind.QuickFix):
        actions += quick_fix.quick_fixes(session, snapshot, params.range, params.context)
    kernel = snapshot.kernel_at(params.range.start.line)
    if kernel is not None and _asked(params, OPTIMIZE, narrower=True):
        menu = await session.menu(snapshot, kernel)
        entries = [] if menu is None else _menu(session, snapshot, kernel, menu)
        actions += [action for action in entries if _asked(params, str(action.kind))]
    line = params.range.start.line
    if _asked(params, OPTIMIZE, narrower=True) and launched.may_launch_others(snapshot, line):
        for one in launched.known_by_launcher(session, snapshot):
            if line in launched.launcher_lines(one):
                entries = await _at_launcher(session, snapshot, *one)
                actions += [action for action in entries if _asked(params, str(action.kind))]
    return _understood(session, actions)


def resolve(session: Session, action: lsp.CodeAction) -> lsp.CodeAction:
    return quick_fix.resolve(session, action)


async def _at_launcher(session: Session, snapshot: Snapshot, joined: Snapshot, kernel: Kernel) -> list[lsp.CodeAction]:
    """The menu of a kernel of another file, at what launches it in this one."""
    menu = await session.menu(joined, kernel)
    what = f"{kernel.name} of {Path(joined.path).name}"
    return [] if menu is None else _menu(session, snapshot, kernel, menu, what)


def _menu(
    session: Session, snapshot: Snapshot, kernel: Kernel, menu: Menu | Refusal, what: str = "kernel"
) -> list[lsp.CodeAction]:
    """The menu of a kernel, which is called `what` there."""
    if isinstance(menu, Refusal):
        return [_action(f"Optimize {what}: next step", OPTIMIZE, disabled=menu.reason)]
    about = {"uri": snapshot.uri, "kernel": kernel.name, "detached": True}
    missing = "" if menu.observation.workload is not None else _no_workload(menu.observation)
    best = menu.best.action.strategy if menu.best is not None else None
    waiting = any(offer.refusal is not None and offer.refusal.pending for offer in menu.offers)
    nothing = missing or ("" if best or waiting else menu.stop_reason or "No strategy applies to this kernel.")
    step = lsp.Command("Optimize kernel", "kernelwright.optimize", arguments=[about])
    accepted = f" ({Accuracy.REDUCED} accepted)" if session.settings.accept_reduced_accuracy else ""
    title = f"Optimize {what}: next step{accepted}"
    first = _action(title, OPTIMIZE, step, disabled=nothing, preferred=not nothing and not best)
    return [
        first,
        *(_strategy(offer, about, missing, best, what) for offer in menu.ordered),
        *(_preview(menu, about, nothing, what) if can_preview(session.client) and not missing else ()),
    ]


def _preview(menu: Menu, about: dict[str, object], nothing: str, what: str) -> Iterator[lsp.CodeAction]:
    """The next step, or the first strategy that applies where none is worth a step.

    An editor's preview has every box unchecked, so that it is a second way and not the usual one.
    """
    if not nothing:
        command = lsp.Command("Optimize kernel", "kernelwright.optimize", arguments=[{**about, "preview": True}])
        yield _action(f"Optimize {what}: next step (preview)", OPTIMIZE, command)
    elif first := next((offer.strategy for offer in menu.ordered if offer.refusal is None), None):
        arguments = {**about, "strategy": first.id, "preview": True}
        command = lsp.Command(first.title, "kernelwright.apply", arguments=[arguments])
        yield _action(f"Optimize {what}: {first.title} (preview)", OPTIMIZE, command)


def _strategy(offer: "Offer", about: dict[str, object], missing: str, best: str | None, what: str) -> lsp.CodeAction:
    strategy = offer.strategy
    refused = offer.refusal.reason if offer.refusal is not None and not offer.refusal.pending else ""
    command = lsp.Command(strategy.title, "kernelwright.apply", arguments=[{**about, "strategy": strategy.id}])
    return _action(
        f"Optimize {what}: {strategy.title}",
        f"{OPTIMIZE}.{strategy.id}",
        command,
        disabled=refused or missing,
        preferred=strategy.id == best and not missing,
    )


def _action(
    title: str, kind: str, command: lsp.Command | None = None, *, disabled: str = "", preferred: bool = False
) -> lsp.CodeAction:
    if disabled:
        return lsp.CodeAction(title, kind, disabled=lsp.CodeActionDisabled(disabled))
    return lsp.CodeAction(title, kind, is_preferred=preferred or None, command=command)


def _no_workload(observation: "Observation") -> str:
    workload = observation.support.workload(observation.text, observation.kernel.entry)
    return workload.reason if isinstance(workload, Refusal) else ""


def _asked(params: lsp.CodeActionParams, kind: str, *, narrower: bool = False) -> bool:
    """Whether the request is for this kind; with `narrower` also when it is for a kind below this one."""
    only = params.context.only
    if not only:
        return True
    wanted = [str(one.value if isinstance(one, lsp.CodeActionKind) else one) for one in only]
    kind = kind.value if isinstance(kind, lsp.CodeActionKind) else kind
    return any(
        one == "" or kind == one or kind.startswith(f"{one}.") or (narrower and one.startswith(f"{kind}."))
        for one in wanted
    )


def _understood(session: Session, actions: list[lsp.CodeAction]) -> list[lsp.CodeAction | lsp.Command]:
    """Leaves out what the client would misread: a disabled action without its reason would look like one to take."""
    if not session.client.can("text_document.code_action.code_action_literal_support"):
        return [action.command for action in actions if action.command is not None]
    if session.client.can("text_document.code_action.disabled_support"):
        return list(actions)
    return [action for action in actions if action.disabled is None]
