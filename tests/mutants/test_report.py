"""What an answer of the gate means for a mutant, and what a run says of all of them."""

from collections.abc import Callable

import pytest
from benchmarks.mutants.baselines import Baseline, baselines, cuda_baselines, mutants_of
from benchmarks.mutants.cuda.rules import RULES as CUDA_RULES
from benchmarks.mutants.explained import Changed, Kind, Rule, rule_for
from benchmarks.mutants.grading import Ending, Outcome, graded
from benchmarks.mutants.mutant import Mutant, difference
from benchmarks.mutants.probing import Difference, Probed
from benchmarks.mutants.report import cover, kills, running, survivor, table, tally
from benchmarks.mutants.rules import RULES
from benchmarks.mutants.store import Store

from kernelwright.proof.jobs import TrialResult
from kernelwright.values import Check, Failure, FailureKind, Verdict, VerdictStatus

MUTANT = Mutant("wrong-scale@2-abc", "wrong-scale", 1, "dropped: * 2", "a\nb\n")


def verdict(status: VerdictStatus, *checks: Check) -> TrialResult:
    return TrialResult(Verdict(status, "new", "old", checks, reason="why"))


GOOD, BAD = Check("dtype", "case", True, ""), Check("values", "case 2", False, "too far")


@pytest.mark.parametrize(
    ("answer", "ending", "by"),
    [
        (verdict(VerdictStatus.PASSED, GOOD), Ending.SURVIVED, ""),
        (verdict(VerdictStatus.FAILED, GOOD, BAD), Ending.KILLED, "values"),
        (verdict(VerdictStatus.FAILED), Ending.KILLED, "verdict"),
        (verdict(VerdictStatus.NOT_CHECKABLE, GOOD), Ending.KILLED, "not checkable"),
        (Failure(FailureKind.CRASHED, "gone"), Ending.KILLED, "crashed"),
        (Failure(FailureKind.TIMED_OUT, "slow"), Ending.KILLED, "timed-out"),
        (Failure(FailureKind.WORKLOAD_FAILED, "the baseline fails"), Ending.NOT_GRADED, "workload-failed"),
        (Failure(FailureKind.DEVICE_BUSY, "busy"), Ending.NOT_GRADED, "device-busy"),
    ],
)
def test_an_answer_is_read_as(answer: TrialResult | Failure, ending: Ending, by: str) -> None:
    outcome = graded("k", MUTANT, answer, 1.234)
    assert (outcome.ending, outcome.by, outcome.seconds) == (ending, by, 1.23)


def outcome(ending: Ending, by: str = "", mutant: str = MUTANT.id) -> Outcome:
    return Outcome("k", mutant, "wrong-scale", 1, "dropped: * 2", ending, by)


SAME = Probed("k", MUTANT.id, 50, ())
ROUNDED = Probed("k", MUTANT.id, 50, (Difference("normal: f(randn(3))", False, "relative 1e-7"),))
OTHER = Probed("k", MUTANT.id, 50, (Difference("ties: f(randn(3))", True, "relative 0.5"),))
ELSEWHERE = Probed("k", MUTANT.id, 50, (*OTHER.differences, Difference("zeros: f(randn(3))", True, "relative 1")))
BROKEN = Probed("k", MUTANT.id, 0, (), "no answer within 3 s")


def said(*kinds: Kind) -> tuple[Rule, ...]:
    """A rule that fits the mutant, behind one that does not."""
    other = Rule((Kind.MISSED,), "not this one", lambda changed: changed.operator != MUTANT.operator)
    fits = lambda changed: (changed.kernel, changed.before, changed.after) == ("k", ("c",), ("b",))
    return (other, Rule(kinds, "because", fits, lambda case: case.startswith("ties")))


@pytest.mark.parametrize(
    ("claimed", "probed", "kind"),
    [
        ((), SAME, Kind.MISSED),
        ((Kind.EQUIVALENT,), SAME, Kind.EQUIVALENT),
        ((Kind.EQUIVALENT,), ROUNDED, Kind.MISSED),
        ((Kind.EQUIVALENT,), BROKEN, Kind.MISSED),
        ((Kind.EQUIVALENT,), None, Kind.MISSED),
        ((Kind.EQUIVALENT, Kind.ROUNDING), ROUNDED, Kind.ROUNDING),
        ((Kind.EQUIVALENT, Kind.ROUNDING), SAME, Kind.EQUIVALENT),
        ((Kind.EQUIVALENT, Kind.ROUNDING), OTHER, Kind.MISSED),
        ((Kind.OUTSIDE,), OTHER, Kind.OUTSIDE),
        ((Kind.OUTSIDE,), ELSEWHERE, Kind.MISSED),
        ((Kind.MISSED,), SAME, Kind.MISSED),
    ],
)
def test_an_explanation_counts_only_where_the_probe_agrees(
    claimed: tuple[Kind, ...], probed: Probed | None, kind: Kind
) -> None:
    found = survivor(outcome(Ending.SURVIVED), "a\nc\n", MUTANT, probed, said(*claimed) if claimed else ())
    assert found.kind is kind
    assert (found.before, found.after) == (("c",), ("b",))
    assert found.why == ("because" if claimed else "Not explained.") or kind is Kind.MISSED
    assert ("because" in found.why) is bool(claimed)


@pytest.mark.parametrize(("found", "rules"), [(baselines, RULES), (cuda_baselines, CUDA_RULES)], ids=["Python", "CUDA"])
def test_every_rule_has_a_reason_and_fits_some_mutant_but_few(
    found: Callable[[], tuple[Baseline, ...]], rules: tuple[Rule, ...]
) -> None:
    fitted = [0] * len(rules)
    total = 0
    for baseline in found():
        for mutant in mutants_of(baseline, None, 0):
            _, before, after = difference(baseline.right, mutant.text)
            words = (baseline.name, mutant.operator, mutant.description, mutant.line)
            rule = rule_for(Changed(*words, tuple(before), tuple(after), baseline.right), rules)
            total += 1
            if rule is not None:
                fitted[rules.index(rule)] += 1
    assert all(fitted), [rule.why for rule, count in zip(rules, fitted, strict=True) if not count]
    assert all(len(rule.why.split()) > 5 and rule.kinds for rule in rules)
    assert sum(fitted) < total / 8, fitted


def test_what_is_equivalent_does_not_count_and_what_is_not_explained_does() -> None:
    killed = [outcome(Ending.KILLED, by, f"m{i}") for i, by in enumerate(("values", "values", "runs"))]
    passed, ungraded = outcome(Ending.SURVIVED), outcome(Ending.NOT_GRADED, "device-busy", "x")
    explained = survivor(passed, "a\nc\n", MUTANT, SAME, said(Kind.EQUIVALENT))
    unexplained = survivor(passed, "a\nc\n", MUTANT, SAME, ())
    assert tally([*killed, passed, ungraded], [explained]).share == 1.0
    assert tally([*killed, passed, ungraded], [unexplained]).share == 0.75
    assert tally([*killed, passed, ungraded], []).share == 0.75
    assert tally(running([*killed, passed]), [unexplained]).share == pytest.approx(2 / 3)
    assert kills([*killed, passed]) == {"values": 2, "runs": 1}
    printed = table([*killed, passed, ungraded], [unexplained])
    assert printed.splitlines()[-1].startswith("4 mutants, 3 killed, 1 missed: 75.00%")
    assert "not graded: k x: device-busy" in printed


def test_what_would_show_the_missed_ones_is_chosen_greedily() -> None:
    kinds = (("ties",), ("ties", "zeros"), ("zeros", "views"), ("views",), ())
    probes = [Probed("k", MUTANT.id, 9, tuple(Difference(f"{k}: f()", True, "") for k in some)) for some in kinds]
    found = [survivor(outcome(Ending.SURVIVED), "a\nc\n", MUTANT, probed, ()) for probed in probes]
    assert cover(found) == [("ties", 2, 2), ("views", 2, 2)]
    assert cover([]) == []


def test_a_store_gives_back_what_was_written_under_its_key(tmp_path) -> None:
    first, second = Store(tmp_path / "s.jsonl", "gate 1"), Store(tmp_path / "s.jsonl", "gate 2")
    assert first.read(Outcome) == []
    first.add(outcome(Ending.KILLED, "values"))
    first.add(OTHER)
    second.add(outcome(Ending.SURVIVED))
    with (tmp_path / "s.jsonl").open("a") as file:
        file.write('{"key": "gate 1", "val')  # the run was ended here
    assert first.read(Outcome) == [outcome(Ending.KILLED, "values")]
    assert first.read(Probed) == [OTHER]
    assert second.read(Outcome) == [outcome(Ending.SURVIVED)]
