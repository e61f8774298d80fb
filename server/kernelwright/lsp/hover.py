"""`textDocument/hover`: the card of a kernel, or a word of a workload line."""

import re
from typing import TYPE_CHECKING

from lsprotocol import types as lsp

from kernelwright import roof, words
from kernelwright.lsp import workload_word
from kernelwright.lsp.session import Session
from kernelwright.lsp.snapshot import Snapshot
from kernelwright.lsp.undone import standing
from kernelwright.menu import Menu, title_of
from kernelwright.values import Kernel, Language, Outcome, Refusal, Workload

if TYPE_CHECKING:
    from kernelwright.macro.policy import Offer

_MOST_STRATEGIES = 3
_KINDS = {Language.TRITON: "Triton kernel", Language.TORCH: "PyTorch", Language.CUDA: "CUDA kernel"}


async def hover(session: Session, params: lsp.HoverParams) -> lsp.Hover | None:
    """Shown on the name of a kernel, on the lines of its definition's head, and on the words of a workload line."""
    snapshot = session.documents.get(params.text_document.uri)
    if snapshot is None:
        return None
    if (said := workload_word.hover(session, snapshot, params.position)) is not None:
        return said
    kernel = _hovered(snapshot, params.position)
    if kernel is None:
        return None
    menu = await session.menu(snapshot, kernel)
    if menu is None:
        return None
    card = "\n\n".join(part for part in _card(session, snapshot, kernel, menu) if part)
    if session.client.markdown:
        contents = lsp.MarkupContent(lsp.MarkupKind.Markdown, card)
    else:
        contents = lsp.MarkupContent(lsp.MarkupKind.PlainText, re.sub(r"\*\*|`", "", card))
    return lsp.Hover(contents, snapshot.name_range(kernel))


def _hovered(snapshot: Snapshot, position: lsp.Position) -> Kernel | None:
    """The kernel whose decorators, name line or launcher's first line is under the pointer."""
    kernel = snapshot.kernel_at(position.line)
    if kernel is None:
        return None
    head = range(kernel.start_line, kernel.name_line + 1)
    return kernel if position.line in head or position.line == kernel.entry_start_line else None


def _card(session: Session, snapshot: Snapshot, kernel: Kernel, menu: Menu | Refusal) -> tuple[str, ...]:
    kind = "PyTorch module" if kernel.is_module else _KINDS[kernel.language]
    head = f"**{kernel.name}**: {kind}, lines {kernel.start_line + 1} to {kernel.end_line}"
    if isinstance(menu, Refusal):
        return head, menu.reason
    whole, called = session.whole(snapshot, kernel)
    return (
        head,
        _workload(whole, called),
        _indices(session, snapshot, kernel),
        _baseline(session, whole, menu),
        roof.sentence(menu.observation, session.settings, session.measurement(snapshot, kernel)),
        _strategies(menu),
        _last(session, snapshot, kernel),
    )


def _workload(snapshot: Snapshot, kernel: Kernel) -> str:
    workload = snapshot.workload(kernel)
    if not isinstance(workload, Workload):
        return f"No workload: {workload.reason}"
    more = len(workload.cases) - 1
    others = f" and {more} more for correctness" if more > 0 else ""
    return f"Workload ({workload.source.value}): `{workload.described}`{others}"


def _indices(session: Session, snapshot: Snapshot, kernel: Kernel) -> str:
    """How far z3 has checked the indices of a CUDA kernel, while no line of it has changed."""
    if kernel.language is not Language.CUDA or not isinstance(snapshot.workload(kernel), Workload):
        return ""
    from kernelwright.examining import told_of

    examined = session.indices.get(snapshot.uri)
    return told_of(examined.checked(snapshot, kernel) if examined is not None else None)


def _baseline(session: Session, snapshot: Snapshot, menu: Menu) -> str:
    history = menu.observation.history
    steps = session.engine(snapshot.path).history(snapshot.path) if history else ()
    kept = [step for step in standing(steps, snapshot.hash) if step.kernel == menu.observation.kernel.name]
    if not kept:
        return "Baseline: the file as it is"
    count = "1 kept step" if len(kept) == 1 else f"{len(kept)} kept steps"
    return f"Baseline: the file before the first step; {count} since"


def _strategies(menu: Menu) -> str:
    lines = [_strategy(menu, offer) for offer in menu.ordered if offer.refusal is None or offer.refusal.pending]
    if not lines:
        reasons = [f"- {offer.strategy.title}: {offer.refusal.reason}" for offer in menu.ordered if offer.refusal]
        return "\n".join(["No strategy applies:", *reasons]) if reasons else ""
    waiting = any(offer.refusal is not None and offer.refusal.pending for offer in menu.offers)
    known = any(offer.refusal is None for offer in menu.offers)
    head = "Strategies, best first:" if known else "Strategies that may apply; the next step looks at the ops first:"
    stop = f"\n\n{menu.stop_reason}" if menu.best is None and not waiting else ""
    return "\n".join([head, *lines[:_MOST_STRATEGIES]]) + stop


def _strategy(menu: Menu, offer: "Offer") -> str:
    if offer.refusal is not None:
        return f"- **{offer.strategy.title}**: {offer.strategy.why}"
    return f"- **{offer.strategy.title}**: {menu.reason(offer.strategy.id) or offer.strategy.why}"


def _last(session: Session, snapshot: Snapshot, kernel: Kernel) -> str:
    known = session.result(snapshot, kernel)
    if known is None:
        return ""
    result, stale = known
    if stale:
        return "Last result: stale, the kernel was changed since"
    if result.verdict is not None and result.outcome is not Outcome.REJECTED:
        said = words.result(result.verdict, result.measurement, result.unmeasured)
        return f"Last result: {said}{f'. {result.written}' if result.written else ''}"
    if result.failure is not None:
        tried = f"{title_of(result.strategy)} was not kept. " if result.strategy else ""
        return f"Last result: {tried}{words.of_failure(result.failure)}"
    return f"Last result: {title_of(result.strategy)} was not kept. {result.unmeasured}"
