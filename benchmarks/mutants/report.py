"""Outcomes as one result and as a table: how many faults were caught, by which check, and what survived."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from benchmarks.mutants.explained import Changed, Kind, Rule, rule_for
from benchmarks.mutants.grading import Ending, Outcome
from benchmarks.mutants.mutant import Mutant, difference
from benchmarks.mutants.probing import Probed
from benchmarks.mutants.rules import RULES

_LOADING = "runs"  # the check that a text loads and does not raise: the least that a gate can do


@dataclass(frozen=True)
class Survivor:
    """A mutant that passed: what changed, what the probe saw, and what it is.

    `seen_by`: the kinds of calls on which it differs by more than rounding; `example` is the first such call.
    """

    kernel: str
    mutant: str
    description: str
    before: tuple[str, ...]
    after: tuple[str, ...]
    kind: Kind
    why: str
    probe: str
    seen_by: tuple[str, ...]
    example: str


@dataclass(frozen=True)
class Tally:
    """Of a group of mutants. `share` of those that are faults of what the verdict speaks of."""

    mutants: int
    killed: int
    equivalent: int
    rounding: int
    outside: int
    missed: int

    @property
    def share(self) -> float:
        faults = self.killed + self.missed
        return self.killed / faults if faults else 1.0


def survivor(
    outcome: Outcome,
    baseline: str,
    mutant: Mutant,
    probed: Probed | None,
    rules: Sequence[Rule] = RULES,
) -> Survivor:
    """A rule counts only where the probe does not contradict it."""
    _, before, after = difference(baseline, mutant.text)
    words = (outcome.kernel, outcome.operator, outcome.description, outcome.line, tuple(before), tuple(after), baseline)
    rule = rule_for(Changed(*words), rules)
    kind, why = (Kind.MISSED, "Not explained.") if rule is None else _by_rule(rule, probed)
    seen = probed.material if probed else ()
    seen_by = tuple(dict.fromkeys(found.case.partition(":")[0] for found in seen))
    example = f"{seen[0].case} ({seen[0].words})" if seen else ""
    changed = (outcome.kernel, outcome.mutant, outcome.description, tuple(before), tuple(after))
    return Survivor(*changed, kind, why, _probe_words(probed), seen_by, example)


def tally(outcomes: Sequence[Outcome], survivors: Sequence[Survivor]) -> Tally:
    kinds = {(found.kernel, found.mutant): found.kind for found in survivors}
    count = Counter(kinds.get((o.kernel, o.mutant)) for o in outcomes if o.ending is Ending.SURVIVED)
    killed = sum(o.ending is Ending.KILLED for o in outcomes)
    kept = sum(o.ending is not Ending.NOT_GRADED for o in outcomes)
    missed = count[Kind.MISSED] + count[None]
    return Tally(kept, killed, count[Kind.EQUIVALENT], count[Kind.ROUNDING], count[Kind.OUTSIDE], missed)


def tallies(outcomes: Sequence[Outcome], survivors: Sequence[Survivor], by: str) -> dict[str, Tally]:
    """A Tally for every value of one field of the outcomes."""
    names = sorted({getattr(outcome, by) for outcome in outcomes})
    return {name: tally([o for o in outcomes if getattr(o, by) == name], survivors) for name in names}


def kills(outcomes: Sequence[Outcome]) -> dict[str, int]:
    """How many were ended by each check or failure, most first."""
    return dict(Counter(o.by for o in outcomes if o.ending is Ending.KILLED).most_common())


def running(outcomes: Sequence[Outcome]) -> list[Outcome]:
    """Without those that did not even run: the harder part."""
    return [outcome for outcome in outcomes if outcome.by != _LOADING]


def cover(survivors: Sequence[Survivor]) -> list[tuple[str, int, int]]:
    """Kinds of calls that would show the missed ones: (kind, how many it shows, how many no kind before it shows)."""
    missed = [set(found.seen_by) for found in survivors if found.kind is Kind.MISSED]
    chosen: list[tuple[str, int, int]] = []
    left = [kinds for kinds in missed if kinds]
    while left:
        count = Counter(kind for kinds in left for kind in kinds)
        best = max(sorted(count), key=lambda kind: count[kind])
        chosen.append((best, sum(best in kinds for kinds in missed), count[best]))
        left = [kinds for kinds in left if best not in kinds]
    return chosen


def table(outcomes: Sequence[Outcome], survivors: Sequence[Survivor]) -> str:
    """By operator, by check, then the survivors and the shares."""
    head = f"{'operator':<20}{'mutants':>8}{'killed':>8}{'equiv.':>8}{'rounding':>9}{'outside':>8}{'missed':>8}{'share':>9}"
    lines = [head]
    lines += [_row(name, group) for name, group in tallies(outcomes, survivors, "operator").items()]
    lines += ["", f"{'kernel':<28}{head[20:]}"]
    lines += [_row(name, group, 28) for name, group in tallies(outcomes, survivors, "kernel").items()]
    lines += ["", "killed by"]
    lines += [f"  {name:<22}{count:>5}" for name, count in kills(outcomes).items()]
    for kind in Kind:
        lines += ["", kind.value] if any(found.kind is kind for found in survivors) else []
        lines += [text for found in survivors if found.kind is kind for text in _told(found)]
    lines += ["", f"{'what would show those missed':<30}{'shows':>7}{'of them new':>13}"]
    lines += [f"  {kind:<28}{shown:>7}{new:>13}" for kind, shown, new in cover(survivors)]
    ungraded = [outcome for outcome in outcomes if outcome.ending is Ending.NOT_GRADED]
    lines += [f"not graded: {o.kernel} {o.mutant}: {o.by}: {o.detail}" for o in ungraded]
    whole, hard = tally(outcomes, survivors), tally(running(outcomes), survivors)
    lines += [
        "",
        f"{whole.mutants} mutants, {whole.killed} killed, {whole.missed} missed: {whole.share:.2%} "
        f"({hard.share:.2%} of those that run at all). Left out: {whole.equivalent} equivalent, "
        f"{whole.rounding} within rounding, {whole.outside} outside of the verdict, {len(ungraded)} not graded.",
    ]
    return "\n".join(lines)


def _by_rule(rule: Rule, probed: Probed | None) -> tuple[Kind, str]:
    said = {kind: _contradiction(kind, rule, probed) for kind in rule.kinds}
    held = next((kind for kind, contradiction in said.items() if not contradiction), None)
    if held is not None:
        return held, rule.why
    return Kind.MISSED, f"{said[rule.kinds[-1]]} It was explained so: {rule.why}"


def _contradiction(kind: Kind, rule: Rule, probed: Probed | None) -> str:
    if kind is Kind.MISSED:
        return ""
    if probed is None or probed.failed:
        return "The probe has no answer."
    if kind is Kind.EQUIVALENT and probed.differences:
        return f"The probe differs on {probed.differences[0].case}."
    material = [d for d in probed.material if not (kind is Kind.OUTSIDE and rule.outside(d.case))]
    if material:
        return f"The probe differs by more than rounding on {material[0].case}."
    return ""


def _probe_words(probed: Probed | None) -> str:
    if probed is None:
        return "not probed"
    if probed.failed:
        return f"no answer: {probed.failed}"
    if probed.identical:
        return f"the same bits on {probed.calls} calls"
    return (
        f"differs on {len(probed.differences)} of {probed.calls} calls, on {len(probed.material)} by more than rounding"
    )


def _row(name: str, group: Tally, width: int = 20) -> str:
    counts = f"{group.mutants:>8}{group.killed:>8}{group.equivalent:>8}{group.rounding:>9}{group.outside:>8}{group.missed:>8}"
    return f"{name:<{width}}{counts}{group.share:>9.1%}"


def _told(found: Survivor) -> list[str]:
    seen = f" First seen on: {found.example}." if found.example else ""
    lines = [f"  {found.kernel} {found.mutant}: {found.description}"]
    lines += [f"    - {line.strip()}" for line in found.before if line not in found.after]
    lines += [f"    + {line.strip()}" for line in found.after if line not in found.before]
    return [*lines, f"    {found.why} Probe: {found.probe}.{seen}"]
