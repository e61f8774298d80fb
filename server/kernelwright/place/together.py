"""Regions of one text whose calls are written by one set of edits, with the definitions that all of them call."""

from collections.abc import Sequence

from kernelwright.place.compose import composed
from kernelwright.place.expression import RegionPlan
from kernelwright.place.layout import insertion_edits
from kernelwright.values import Edits, TextEdit, digest

Written = tuple[RegionPlan, str]  # a region, and the call that takes its place


def with_calls(
    written: Sequence[Written], definitions: str = "", imports: tuple[str, ...] = (), summary: str = ""
) -> Edits:
    """The Edits that put each call in its region's place and `definitions` above the class or function of the first.

    Of several regions each two have to be `apart`.
    """
    first = min((plan for plan, _ in written), key=lambda plan: plan.start_line)
    source, opening = first.source, first.opening
    edits = [edit for plan, call in written for edit in plan.replaced(call)]
    edits += insertion_edits(source, first.function, definitions, imports)
    if opening is not None:
        length = len(source.text) - sum(len(e.new_text) - (e.end - e.start) for e in opening.edits)
        return Edits(opening.text_hash, composed(opening.edits, _in_order(edits), length), summary)
    return Edits(digest(source.text), _in_order(edits), summary)


def _in_order(edits: Sequence[TextEdit]) -> tuple[TextEdit, ...]:
    """The edits by place; those that several regions ask for, such as an assertion of the module's mode, once."""
    return tuple(sorted(dict.fromkeys(edits), key=lambda e: (e.start, e.end)))


def apart(one: RegionPlan, other: RegionPlan) -> bool:
    """Whether both regions can be replaced in the same text: neither names anything anew, nor touches what the other does."""
    if one.source.text != other.source.text or one.opening != other.opening:
        return False
    plans = (one, other)
    if any(plan.before_call or any(edit.new_text for edit in plan.edits) for plan in plans):
        return False
    mine, theirs = (plan.replaced("") for plan in plans)
    return not any(_overlap(a, b) for a in mine for b in theirs if a != b)


def _overlap(one: TextEdit, other: TextEdit) -> bool:
    if one.start == one.end or other.start == other.end:
        return one.start <= other.end and other.start <= one.end
    return one.start < other.end and other.start < one.end
