"""A coder plays its edits through gate and journal, sees how earlier ones ended, and what none carries out is not ranked."""

import asyncio
import dataclasses
from pathlib import Path

import pytest

from kept import Lent
from kernelwright import words
from kernelwright.coders import Attempt, Report, Variant
from kernelwright.coders.deterministic import Deterministic
from kernelwright.engine import Engine, Request
from kernelwright.macro.strategies import registry
from kernelwright.macro.strategy import Observation, Strategy, ask
from kernelwright.micro.edits import difference
from kernelwright.settings import Settings
from kernelwright.steps import too_inaccurate
from kernelwright.values import (
    Accuracy,
    Action,
    Check,
    Outcome,
    Refusal,
    Region,
    Step,
    Usage,
    Verdict,
    VerdictStatus,
    apply,
)
from kernelwright.values.opts import Opt, Precision, Tile

ACTION = Action("torch.fuse-product", Region(0, 0, "linear"))

TEXT = """\
import torch
from torch import nn


class Score(nn.Module):
    def __init__(self, features: int, width: int):
        super().__init__()
        self.linear = nn.Linear(features, width)

    def forward(self, x):
        y = self.linear(x)
        return torch.sum(y, dim=1, keepdim=True)


# workload: Score(512, 640)(randn(384, 512))
"""
RETURN = "return torch.sum(y, dim=1, keepdim=True)"
WRONG = TEXT.replace(RETURN, "return torch.sum(y, dim=0, keepdim=True)[0, :384, None]")
BROKEN = TEXT.replace(RETURN, "return torch.sum(y, dim=1")
RIGHT = TEXT.replace("y = self.linear(x)", "weight, bias = self.linear.weight.sum(0), self.linear.bias.sum()").replace(
    RETURN, "return (x @ weight + bias)[:, None]"
)


class Recorded:
    """Plays back texts, one a round, and keeps what it was told of the rounds before."""

    name = "recorded"
    does = "playing back"
    races = True

    def __init__(self, *texts: str) -> None:
        self.texts = texts
        self.told: list[tuple[Attempt, ...]] = []

    def goes_on(self, attempts: tuple[Attempt, ...]) -> bool:
        return len(attempts) < 3 and (not attempts or attempts[-1].step.refused)

    def refuses(self, strategy: Strategy) -> Refusal | None:
        return None if self.texts else Refusal(f"{strategy.title} has no recording.")

    async def code(
        self,
        observation: Observation,
        action: Action,
        attempts: tuple[Attempt, ...],
        report: Report,
        cancel: asyncio.Event | None,
    ) -> tuple[Variant, ...]:
        self.told.append(attempts)
        round_ = len(attempts)
        if round_ >= len(self.texts):
            return ()
        text = self.texts[round_]
        edits = difference(observation.text, text, f"take {round_ + 1}")
        return (
            Variant(
                action,
                edits,
                text,
                self.name,
                usage=Usage(calls=1, tokens_in=90, tokens_out=10, dollars=0.25, seconds=2.0),
            ),
        )


def played(workspace: Path, *texts: str) -> tuple[Recorded, Step, tuple[Step, ...]]:
    """What a recording came to, and the journal afterwards."""
    coder, path = Recorded(*texts), str(workspace / "score.py")

    async def body() -> tuple[Step, tuple[Step, ...]]:
        engine = Engine(workspace, Settings(timing_budget=0.2), Lent(), coders=(coder,))
        try:
            step = await engine.optimize(Request(path, TEXT, "Score"))
            assert isinstance(step, Step), step
            return step, engine.history(path)
        finally:
            await engine.close()

    return coder, *asyncio.run(body())


def test_a_coder_sees_why_its_edit_was_refused_and_its_next_one_is_kept(tmp_path: Path) -> None:
    coder, step, journal = played(tmp_path, WRONG, BROKEN, RIGHT)
    assert step.outcome is Outcome.KEPT, step.reason
    assert step.edits is not None
    assert apply(step.edits, TEXT) == RIGHT
    assert (step.author, step.usage.dollars, step.usage.calls) == ("recorded", 0.75, 3)
    none, first, second = coder.told
    assert none == ()
    refused = first[0].step
    assert refused.verdict is not None
    assert [check.name for check in refused.verdict.failed_checks] == ["values"]
    assert second[1].step.failure is not None
    assert [one.split(": ")[0] for one in step.earlier] == ["take 1", "take 2"]
    assert journal == (step,), "one step, whatever it took"
    told = words.of_step(step)
    assert (
        "Written by recorded. Took 3 answers, 300 tokens, 0.75 US dollars, 6 s. Tried before: take 1: values (" in told
    )


@pytest.mark.parametrize("texts", [(WRONG,), (WRONG, WRONG, WRONG, RIGHT)])
def test_a_step_ends_where_nothing_is_left_to_try_or_three_attempts_were_refused(
    tmp_path: Path, texts: tuple[str, ...]
) -> None:
    _, step, journal = played(tmp_path, *texts)
    assert step.outcome is Outcome.REJECTED
    assert len(step.earlier) == min(len(texts), 3) - 1
    assert journal == (step,)


class Stubborn(Recorded):
    """Writes the same text in every round, with products of one precision."""

    async def code(self, observation, action, attempts, report, cancel):  # type: ignore[no-untyped-def]
        self.told.append(attempts)
        (text,) = self.texts
        await asyncio.sleep(0)  # so that a loop without an end can be stopped
        edits = dataclasses.replace(difference(observation.text, text, "again"), opts=(Precision("tf32"),))
        return (Variant(action, edits, text, self.name),)


def test_a_step_ends_where_all_that_is_left_has_a_precision_that_was_refused(tmp_path: Path) -> None:
    coder = Stubborn(TEXT.replace(RETURN, "return torch.sum(y.bfloat16().float(), dim=1, keepdim=True)"))

    async def body() -> Step | object:
        engine = Engine(tmp_path, Settings(timing_budget=0.2), Lent(), coders=(coder,))
        try:
            return await asyncio.wait_for(engine.optimize(Request(str(tmp_path / "score.py"), TEXT, "Score")), 120)
        finally:
            await engine.close()

    step = asyncio.run(body())
    assert isinstance(step, Step), step
    assert step.verdict is not None
    assert [check.name for check in step.verdict.failed_checks] == ["accuracy"]
    assert len(coder.told) == 2
    assert step.earlier == ()


def test_after_one_that_was_too_inaccurate_none_of_the_same_precision_is_tried() -> None:
    def variant(*opts: Opt) -> Variant:
        return Variant(ACTION, dataclasses.replace(difference(TEXT, RIGHT, ""), opts=opts), RIGHT, "recorded")

    def attempt(check: str, *opts: Opt, accuracy: Accuracy | None = None) -> Attempt:
        verdict = Verdict(VerdictStatus.FAILED, "", "", (Check(check, "a case", False, ""),), accuracy=accuracy)
        step = Step("", "Score", ACTION, None, "", "", Outcome.REJECTED, "", verdict=verdict)
        return Attempt(variant(*opts), step)

    rounded, other = (Tile(64, 64), Precision("tf32")), (Tile(64, 64), Precision("tf32x3"))
    inaccurate = (attempt("accuracy", Tile(128, 128), Precision("tf32")),)
    assert too_inaccurate(variant(*rounded), inaccurate)
    assert not too_inaccurate(variant(*other), inaccurate)
    assert not too_inaccurate(variant(*rounded), (attempt("values", *rounded),))
    assert too_inaccurate(variant(*rounded), (attempt("values", *rounded, accuracy=Accuracy.REDUCED),))
    assert not too_inaccurate(variant(), (attempt("accuracy"),)), "nothing says that they compute alike"


def test_what_is_not_mechanical_needs_a_model(tmp_path: Path) -> None:
    asking = dataclasses.replace(registry()["triton.autotune"], intent=ask)
    engine = Engine(tmp_path)
    try:
        coder = Deterministic(engine.observer)
        assert coder.refuses(asking) == Refusal(
            "Autotune launch constants needs a language model, and none is configured."
        )
        assert coder.refuses(registry()["triton.autotune"]) is None
    finally:
        asyncio.run(engine.close())


def test_what_no_coder_carries_out_is_not_ranked(tmp_path: Path) -> None:
    async def body() -> None:
        engine = Engine(tmp_path, coders=(Recorded(),))
        try:
            answer = await engine.optimize(Request(str(tmp_path / "score.py"), TEXT, "Score"))
            observation = engine.observe(str(tmp_path / "score.py"), TEXT, "Score")
            assert isinstance(observation, Observation)
            reasons = {offer.refusal.reason for offer in engine.menu(observation) if offer.refusal}
        finally:
            await engine.close()
        assert isinstance(answer, Refusal), answer
        assert "Merge nested clamps has no recording." in reasons
        assert not any(offer.actions for offer in engine.menu(observation))

    asyncio.run(body())
