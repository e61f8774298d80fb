"""The policy of expected gain: deterministic, never repeats a failure on the same text, and knows when to stop."""

import dataclasses

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kernelwright.coders.carrying_out import needs_a_model
from kernelwright.macro.policy import Candidate, Offer, best, candidates, menu
from kernelwright.macro.policy.expected_gain import expected_gain
from kernelwright.macro.strategies import for_language, registry
from kernelwright.macro.strategies.triton_online_reduction import STRATEGY as ONLINE
from kernelwright.macro.strategies.triton_tune_launch import STRATEGY as TUNE
from kernelwright.macro.strategy import Observation, ask
from kernelwright.values import STOP, Action, Language, Measurement, Outcome, Region, Step, Timing, digest
from macro.triton_files import CPU, H200, observe

POLICY = expected_gain()
SOFTMAX = ONLINE.example.before
TEXT = digest(SOFTMAX)


def step(action: Action, outcome: Outcome, before: str = TEXT, after: str = "after", **more) -> Step:
    return Step("id", "softmax_kernel", action, None, before, after, outcome, "no gain", **more)


def offers_without_a_model(observation: Observation) -> tuple[Offer, ...]:
    return menu(observation, lambda one: needs_a_model(one) if one.intent is ask else None)


def ranked(observation: Observation):
    return POLICY(observation, candidates(offers_without_a_model(observation)))


def with_history(*steps: Step) -> Observation:
    return dataclasses.replace(observe(SOFTMAX, H200), history=steps)


def action_of(strategy: str) -> Action:
    return next(
        c.action for c in candidates(offers_without_a_model(observe(SOFTMAX, H200))) if c.action.strategy == strategy
    )


ACTIONS = st.sampled_from([c.action for c in candidates(offers_without_a_model(observe(SOFTMAX, H200)))])
STEPS = st.builds(
    step,
    ACTIONS,
    st.sampled_from(list(Outcome)),
    st.sampled_from([TEXT, "another text"]),
    st.sampled_from([TEXT, "another text"]),
)


def test_the_saved_pass_goes_first() -> None:
    first = ranked(observe(SOFTMAX, H200))[0]
    assert first.action.strategy == "triton.online-reduction"
    assert abs(first.expected_gain - 1 / 3) < 0.01
    assert "25 %" in first.reason


def test_what_cannot_be_measured_ranks_below_stop_but_can_be_asked_for() -> None:
    scored = ranked(observe(SOFTMAX, CPU))
    assert [one.action.strategy for one in scored][:3] == ["stop", "triton.online-reduction", "triton.autotune"]
    assert {one.action.strategy for one in scored[3:]} == {"triton.even-blocks"}
    assert "On a GPU triton.online-reduction or triton.autotune may" in scored[0].reason
    assert best(scored, "triton.autotune").action.strategy == "triton.autotune"


def test_a_rejected_action_is_not_repeated_on_the_same_text() -> None:
    scored = ranked(with_history(step(action_of("triton.online-reduction"), Outcome.REJECTED)))
    order = [one.action.strategy for one in scored]
    assert order.index("triton.online-reduction") > order.index("stop")
    assert "no gain" in best(scored, "triton.online-reduction").reason


def test_a_rejected_action_is_tried_again_on_another_text() -> None:
    rejected = step(action_of("triton.online-reduction"), Outcome.REJECTED, before="another text")
    assert ranked(with_history(rejected))[0].action.strategy == "triton.online-reduction"


def test_steps_without_gain_do_not_hold_up_what_is_untried() -> None:
    for before in (TEXT, "another text"):
        tune = step(action_of("triton.tune-launch"), Outcome.REJECTED, before=before)
        assert ranked(with_history(tune, tune, tune))[0].action.strategy == "triton.online-reduction"


def test_stop_says_what_was_tried_on_this_text() -> None:
    everything = [c.action for c in candidates(offers_without_a_model(observe(SOFTMAX, H200)))]
    timing = Timing(1.0, 1.0, 1.0, 1)
    slower = Measurement(TEXT, TEXT, "NVIDIA H200", timing, timing, timing, 1.0, 0.9, 1.1, 1.0, 0.9, 1.1)
    in_vain = [step(action, Outcome.REJECTED) for action in everything]
    here = ranked(with_history(dataclasses.replace(in_vain[0], measurement=slower), *in_vain[1:]))[0]
    assert here.is_stop
    assert here.reason == ("Nothing else is expected to gain 2 % or more; what was tried on this text brought less.")
    unmeasured = [dataclasses.replace(one, reason="Importing the file failed: no module.") for one in in_vain]
    assert ranked(with_history(*unmeasured))[0].reason == (
        "Nothing else is expected to gain 2 % or more; what was tried on this text came to no measurement. "
        "The last try: Importing the file failed: no module."
    )


def test_stop_names_what_may_gain_on_a_gpu() -> None:
    one = Action("triton.autotune", Region(0, 1, TEXT))
    autotune = Candidate(registry()["triton.autotune"], one)
    online = Candidate(ONLINE, Action(ONLINE.id, Region(0, 1, TEXT), {"saved_share": 0.001}))
    here = observe(SOFTMAX, CPU)
    stop = POLICY(here, (autotune, online))[0]
    assert stop.is_stop
    assert stop.reason == (
        "Nothing that can be measured here is expected to gain 2 % or more. On a GPU triton.autotune may: choose it by "
        "name (in the editor's menu, or --strategy triton.autotune) to have it verified, without a time."
    )
    tried = dataclasses.replace(here, history=(step(one, Outcome.REJECTED),))
    assert "GPU" not in POLICY(tried, (autotune, online))[0].reason
    assert "GPU" not in POLICY(observe(SOFTMAX, H200), (online,))[0].reason


def test_tuning_does_not_follow_its_own_result() -> None:
    tuned = step(action_of("triton.tune-launch"), Outcome.KEPT, before="another text", after=TEXT)
    order = [one.action.strategy for one in ranked(with_history(tuned))]
    assert order.index("triton.tune-launch") > order.index("stop")


def test_at_the_roof_there_is_nothing_to_gain() -> None:
    timing = Timing(1.0, 1.0, 1.0, 10)
    measured = Measurement(TEXT, TEXT, "H200", timing, timing, timing, 1, 1, 1, 1, 1, 1, floor_ms=0.99)
    kept = step(STOP, Outcome.KEPT, before="another text", after=TEXT, measurement=measured)
    assert ranked(with_history(kept))[0].is_stop


@pytest.mark.parametrize("floor", [None, 0.0])
@pytest.mark.parametrize("outcome", [Outcome.KEPT, Outcome.REJECTED])
def test_without_a_floor_there_is_no_telling_how_much_room_is_left(outcome: Outcome, floor: float | None) -> None:
    timing = Timing(1.0, 1.0, 1.0, 10)
    measured = Measurement(TEXT, TEXT, "H200", timing, timing, timing, 1, 1, 1, 1, 1, 1, floor_ms=floor)
    before, after = ("another text", TEXT) if outcome is Outcome.KEPT else (TEXT, "another text")
    tried = step(action_of("triton.tune-launch"), outcome, before=before, after=after, measurement=measured)
    assert not ranked(with_history(tried))[0].is_stop


def test_saved_bytes_count_against_the_whole_graph() -> None:
    from kernelwright.values import Graph, Node

    nodes = tuple(Node(i, "add", (), estimated_bytes=10**9) for i in range(4))
    graph = Graph("f", TEXT, "cuda", False, (), nodes, ())
    observation = dataclasses.replace(observe(SOFTMAX, H200), graph=graph)
    one = Action("triton.online-reduction", Region(0, 1, TEXT), {"saved_bytes": 2 * 10**9})
    scored = best(POLICY(observation, (Candidate(ONLINE, one),)), ONLINE.id)
    assert abs(scored.expected_gain - 1.0) < 1e-9


@settings(max_examples=60, deadline=None)
@given(st.lists(STEPS, max_size=5))
def test_histories(history: list[Step]) -> None:
    observation = with_history(*history)
    offered = candidates(offers_without_a_model(observation))
    scored = POLICY(observation, offered)
    assert POLICY(observation, tuple(reversed(offered))) == scored
    assert sorted(s.action.strategy for s in scored) == sorted([*(c.action.strategy for c in offered), "stop"])
    assert [s.score for s in scored] == sorted((s.score for s in scored), reverse=True)
    first = scored[0]
    failed = [s.action for s in history if s.outcome is not Outcome.KEPT and s.before_hash == TEXT]
    assert first.is_stop or first.action not in failed
    assert first.is_stop or first.expected_gain >= 0.02
    hopeful = [s for s in scored if not s.is_stop and s.score >= 0.02]
    assert first.is_stop == (not hopeful)


def test_the_menu_has_every_strategy_of_the_language_with_actions_or_a_reason() -> None:
    offers = menu(observe(SOFTMAX, CPU))
    assert [offer.strategy for offer in offers] == list(for_language(Language.TRITON))
    assert all(bool(offer.actions) != (offer.refusal is not None) for offer in offers)
    tune = next(offer for offer in offers if offer.strategy is TUNE)
    assert tune.refusal is not None
    assert "GPU" in tune.refusal.reason


def test_the_registry_is_in_order_of_id() -> None:
    assert list(registry()) == sorted(registry())
