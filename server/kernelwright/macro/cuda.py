"""Strategies that rewrite a CUDA kernel: each is a function that looks at the kernel and writes the variants at once."""

import dataclasses
import functools
from collections.abc import Callable
from dataclasses import dataclass

from kernelwright.macro.intent import Intent, Text
from kernelwright.macro.strategy import Example, Family, Observation, Strategy
from kernelwright.micro.edits import difference
from kernelwright.micro.rewrite.cuda_forms import forms
from kernelwright.micro.rewrite.cuda_sight import CudaSight
from kernelwright.values import Action, Edits, Language, Refusal, Region, apply, digest


@dataclass(frozen=True)
class Rewritten:
    """What a strategy makes of a kernel: `what` it is about in a few words, and variants, best guess first.

    `gain`: what to expect of it as a fraction of the kernel's time, `reason` why, in one sentence.
    """

    what: str
    variants: tuple[Edits, ...]
    gain: float
    reason: str


Rewrite = Callable[[CudaSight], Rewritten | Refusal]


def cuda(
    name: str,
    title: str,
    rewrite: Rewrite,
    *,
    family: Family,
    why: str,
    doc: str,
    instruction: str,
    example: Example,
    reduced: bool = False,
    rule_only: str = "",
) -> Strategy:
    """Return the strategy "cuda.<name>"; `reduced`: only where the user accepts reduced accuracy."""
    id = f"cuda.{name}"
    return Strategy(
        id=id,
        title=title,
        family=family,
        languages=frozenset({Language.CUDA}),
        why=why,
        doc=doc,
        instruction=instruction,
        example=example,
        find=functools.partial(_find, id, rewrite, reduced),
        intent=functools.partial(_intent, rewrite),
        needs_gpu=True,
        promises_kernel=True,
        rule_only=rule_only,
    )


def _find(id: str, rewrite: Rewrite, reduced: bool, observation: Observation) -> tuple[Action, ...] | Refusal:
    if reduced and not observation.reduced:
        return Refusal(
            "It makes results less accurate, which has to be allowed first (the setting acceptReducedAccuracy)."
        )
    found = _rewritten(rewrite, observation)
    if isinstance(found, Refusal):
        return found
    kernel = observation.kernel
    region = Region(kernel.start_line, kernel.end_line, digest(observation.text), found.what)
    return (Action(id, region, {"expected_gain": found.gain, "reason": found.reason}),)


def _intent(rewrite: Rewrite, observation: Observation, action: Action) -> Intent | Refusal:
    found = _rewritten(rewrite, observation)
    return found if isinstance(found, Refusal) else Text(found.variants)


def _rewritten(rewrite: Rewrite, observation: Observation) -> Rewritten | Refusal:
    """What the strategy makes of the kernel, as edits of whole lines of the document."""
    sight = observation.cuda
    found = sight if isinstance(sight, Refusal) else rewrite(sight)
    if isinstance(found, Refusal) and not isinstance(sight, Refusal):
        found = _in_other_forms(rewrite, sight, found)
    if isinstance(found, Refusal) or observation.unit.text == observation.text:
        return found
    placed = [observation.support.in_document(observation.text, observation.kernel, one) for one in found.variants]
    variants = [one for one in placed if isinstance(one, Edits)]
    if not variants:
        return next(one for one in placed if isinstance(one, Refusal))
    whole = (difference(observation.text, apply(one, observation.text), one.summary) for one in variants)
    return dataclasses.replace(found, variants=tuple(whole))


def _in_other_forms(rewrite: Rewrite, sight: CudaSight, refused: Refusal) -> Rewritten | Refusal:
    """What the strategy makes of the kernel in another form, as edits of its text; what is `refused` of it where of none."""
    for form in forms(sight):
        found = rewrite(form)
        if isinstance(found, Rewritten):
            variants = (difference(sight.source, apply(one, form.source), one.summary) for one in found.variants)
            return dataclasses.replace(found, variants=tuple(variants))
        if form.source.count("\n") == sight.source.count("\n"):  # its lines are those of the text
            refused = found
    return refused
