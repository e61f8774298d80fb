"""Strategies of exact algebra on the captured op graph: each is one rule, which says what it makes of a node."""

import functools
from collections.abc import Callable

from kernelwright.macro.intent import Intent, Rewrite
from kernelwright.macro.strategy import Absent, Example, Family, Group, Observation, Strategy
from kernelwright.micro.rewrite.algebra import Match, View, put_in_place
from kernelwright.values import Action, Graph, Language, Node, Refusal, Region

Rule = Callable[[View, Node], Match | Refusal | None]
"""Looks at one node as the last of its pattern, and answers with a Refusal where it nearly fits."""

REASSOCIATE = Group(
    id="torch.reassociate",
    title="Reassociate",
    why="Exact algebra replaces a large product or a pass over memory by a smaller one.",
    doc="""\
Each rule replaces work by less work that gives the same result in exact arithmetic. Each action is one rule at one place.
Weights are read anew in every call, so training and loading a checkpoint keep working.

**What is exact.** Floating-point addition is not associative, so the last digits may change; the gate judges them
against a reference in fp64. For finite inputs whose intermediate results do not overflow the rules are exact in real
arithmetic. A rule that would turn a NaN into a number on such inputs is not applied: `relu`, `softmax`, `max` and other
functions that are not affine end a chain.

**Refused:** results that are used twice or returned, calls in loops, tensors changed in place, a chain with a function
that is not affine, weights larger than the outputs they would relieve.
""",
    nothing="No algebraic rule fits: no sum or mean of a linear map, no scale to fold, nothing done twice or in vain.",
)


def algebra(
    name: str,
    title: str,
    rule: Rule,
    *,
    about: str,
    why: str,
    doc: str,
    instruction: str,
    example: Example,
    near: Rule | None = None,
) -> Strategy:
    """The strategy of one rule.

    `about` completes "There is no … here". `near` says what stands in the way where the rule has nothing to say itself.
    """
    id = f"{REASSOCIATE.id}.{name}"
    return Strategy(
        id=id,
        title=title,
        family=Family.ALGEBRA,
        languages=frozenset({Language.TORCH}),
        why=why,
        doc=doc,
        instruction=instruction,
        example=example,
        find=functools.partial(_find, id, rule, near, about),
        intent=functools.partial(_intent, rule),
        needs_graph=True,
        group=REASSOCIATE,
    )


def _find(id: str, rule: Rule, near: Rule | None, about: str, observation: Observation) -> tuple[Action, ...] | Refusal:
    """An Action for each place that the rule fits."""
    view, source = observation.view, observation.source
    if view is None:
        return source if isinstance(source, Refusal) and not source.pending else _NOT_CAPTURED
    if isinstance(source, Refusal):
        return source
    actions: list[Action] = []
    refusals: list[Refusal] = []
    for found in _said(rule, view):
        edits = found if isinstance(found, Refusal) else put_in_place(source, found)
        if isinstance(edits, Refusal):
            refusals.append(edits)
        elif isinstance(found, Match):
            actions.append(_action(id, view.graph, found))
    if actions or refusals:
        return tuple(actions) or refusals[0]
    for found in _said(near, view) if near is not None else ():
        if isinstance(found, Refusal):
            return Absent(found.reason, found.line)
    return Absent(f"There is no {about} here.")


def _intent(rule: Rule, observation: Observation, action: Action) -> Intent | Refusal:
    if observation.view is None:
        return _NOT_CAPTURED
    for found in _said(rule, observation.view):
        if isinstance(found, Match) and found.output == action.params["value"]:
            return Rewrite(found)
    return Refusal("The rule no longer fits at that place.", action.region.start_line)


_NOT_CAPTURED = Refusal("The ops and shapes are not captured yet.", pending=True)


def _said(rule: Rule, view: View) -> list[Match | Refusal]:
    return [said for node in view.graph.nodes if (said := rule(view, node)) is not None]


def _action(id: str, graph: Graph, match: Match) -> Action:
    spans = [n.where for n in graph.nodes if n.id in match.nodes and n.where is not None]
    start, end = min(s.start_line for s in spans), max(s.end_line for s in spans) + 1
    params = {"value": match.output, "saved_flops": match.saved_flops, "saved_bytes": match.saved_bytes}
    return Action(id, Region(start, end, graph.text_hash, match.label), params)
