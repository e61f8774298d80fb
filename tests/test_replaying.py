"""Kept steps that are made again on another text, through real workers on the CPU."""

import asyncio
import dataclasses
from pathlib import Path

import pytest

from kept import Lent
from kernelwright import replaying
from kernelwright.engine import Engine, Request
from kernelwright.macro.policy import offered
from kernelwright.micro.edits import difference
from kernelwright.observer import Nothing
from kernelwright.settings import Settings
from kernelwright.values import Action, Edits, Outcome, Refusal, Region, Step, apply, digest
from kernelwright.values.opts import Block, Loop, Opt, Rows, Warps
from macro.torch_modules import module, observed

SCAN, LINE = "torch.fuse-scan", "y = torch.relu(x)\nreturn y.cumsum(1)"


def kept(strategy: str, label: str, *, opts: tuple[Opt, ...] = (), summary: str = "", author: str = "") -> Step:
    action = Action(strategy, Region(11, 12, "old", label))
    made = Step("old", "Model", action, Edits("old", (), summary, opts), "old", "new", Outcome.KEPT, "")
    return dataclasses.replace(made, author=author or made.author)


def test_a_step_finds_its_region_and_wants_what_was_chosen() -> None:
    observation = observed(module(LINE, inputs="torch.randn(40, 50)"))
    opts = (Loop(16), Warps(4))
    action = replaying.again(observation, kept(SCAN, "relu, cumsum", opts=opts, summary="BLOCK=16"))
    assert isinstance(action, Action)
    assert (action.region.label, action.region.start_line, action.opts, action.variant) == (
        "relu, cumsum",
        10,
        opts,
        "",
    )
    action = replaying.again(observation, kept(SCAN, "relu, cumsum", summary="BLOCK=16, num_warps=4"))
    assert isinstance(action, Action)
    assert (action.opts, action.variant) == ((), "BLOCK=16, num_warps=4")


def test_of_regions_that_are_alike_the_nearest_is_taken() -> None:
    twice = "y = torch.relu(x).cumsum(1)\ny = y @ self.weight\nreturn torch.relu(y).cumsum(0)"
    observation = observed(module(twice, "self.weight = nn.Parameter(torch.randn(16, 32))"))
    actions = offered(SCAN, observation)
    assert isinstance(actions, tuple)
    assert [action.region.label for action in actions] == ["relu, cumsum"] * 2
    for action in actions:
        step = kept(SCAN, "relu, cumsum")
        moved = dataclasses.replace(step.action.region, start_line=action.region.start_line)
        assert replaying.again(observation, dataclasses.replace(step, action=Action(SCAN, moved))) == action


def test_a_step_is_made_again_in_all_places_that_there_are_now() -> None:
    twice = "y = torch.relu(x).cumsum(1)\ny = y @ self.weight\nreturn torch.relu(y).cumsum(1)"
    observation = observed(module(twice, "self.weight = nn.Parameter(torch.randn(16, 32))"))
    for label in ("relu, cumsum", "relu, cumsum, in 3 places"):
        action = replaying.again(observation, kept(SCAN, label))
        assert isinstance(action, Action)
        assert action.region.label == "relu, cumsum, in 2 places"


@pytest.mark.parametrize(
    ("step", "reason"),
    [
        (kept(SCAN, "tanh, cumsum"), "It applies to relu, cumsum here, not to tanh, cumsum."),
        (kept("torch.fuse-pool", "max_pool2d"), "There is no pool with windows that overlap, are padded or dilated."),
        (kept("torch.no-more", "relu"), "There is no such strategy any more."),
    ],
)
def test_what_does_not_fit_says_why(step: Step, reason: str) -> None:
    answer = replaying.again(observed(module(LINE, inputs="torch.randn(40, 50)")), step)
    assert isinstance(answer, Refusal)
    assert answer.reason == reason


def replayed(workspace: Path, text: str, *steps: Step, before: str = "old") -> list[Step | Nothing]:
    """What becomes of `steps`, as if they had been kept on the file that had `before`, and now has `text`."""

    async def body() -> list[Step | Nothing]:
        engine = Engine(workspace, Settings(timing_budget=0.2), Lent())
        path = str(workspace / "model.py")
        for step in steps:
            engine.journal.add_step(path, step, before, "new")
        try:
            answers = [answer async for answer in engine.replay(Request(path, text, "Model"))]
            for answer in answers:
                assert not isinstance(answer, Step) or engine.history(path)[-1] == answer
            return answers
        finally:
            await engine.close()

    return asyncio.run(body())


def test_a_schedule_is_printed_again_and_judged_like_any_step(tmp_path: Path) -> None:
    text = module(LINE, inputs="torch.randn(40, 50)")
    opts = (Rows(4), Loop(16), Warps(4))
    (step,) = replayed(tmp_path, text, kept(SCAN, "relu, cumsum", opts=opts))
    assert isinstance(step, Step)
    assert step.outcome is Outcome.KEPT, step.reason
    assert step.verdict is not None
    assert step.verdict.passed
    assert step.replays == "old"
    assert step.edits is not None
    assert step.edits.opts == opts
    after = apply(step.edits, text)
    assert digest(after) == step.after_hash
    assert "ROWS=4" in after
    assert "BLOCK=16" in after


def test_what_is_left_out_is_told_and_the_others_go_on(tmp_path: Path) -> None:
    summed = "return torch.sum(self.linear(x), dim=1, keepdim=True)"
    text = module(summed, "self.linear = nn.Linear(512, 1024)", "torch.randn(64, 512)")
    steps = (
        dataclasses.replace(kept(SCAN, "relu, cumsum"), id="scan"),
        dataclasses.replace(
            kept("torch.reassociate.reduce-features", "linear, sum over its 64 features"), before_hash="other"
        ),
    )
    first, second = replayed(tmp_path, text, *steps)
    assert isinstance(first, Refusal)
    assert first.reason == "Fuse scan (relu, cumsum) is left out: There is no scan."
    assert isinstance(second, Step)
    assert second.outcome is Outcome.KEPT, second.reason
    assert second.replays == "old"


@pytest.mark.parametrize("summary", ["BLOCK=2048, num_warps=8", "BLOCK=77, num_warps=8"])
def test_a_strategy_without_schedules_writes_the_variant_of_the_same_summary(tmp_path: Path, summary: str) -> None:
    text = module("return torch.sigmoid(x) * x + 1.0", inputs="torch.randn(40, 50)")
    (action,) = offered("torch.fuse-pointwise", observed(text))
    (answer,) = replayed(tmp_path, text, kept("torch.fuse-pointwise", action.region.label, summary=summary))
    if isinstance(answer, Refusal):
        assert answer.reason.endswith("is left out: None of the variants here has BLOCK=77, num_warps=8.")
    else:
        assert isinstance(answer, Step)
        assert answer.edits is not None
        assert (answer.edits.summary, summary) == (summary, "BLOCK=2048, num_warps=8")
        assert answer.outcome is Outcome.KEPT, answer.reason


def test_schedules_that_do_not_fit_and_empty_recipes_are_refused_in_words(tmp_path: Path) -> None:
    text = module(LINE, inputs="torch.randn(40, 50)")
    (answer,) = replayed(tmp_path, text, kept(SCAN, "relu, cumsum", opts=(Block(512), Warps(4))))
    assert answer == Refusal("Fuse scan (relu, cumsum) is left out: A scan has no Block.", 10)
    (tmp_path / "new").mkdir()
    (answer,) = replayed(tmp_path / "new", text)
    assert answer == Refusal("The journal has no kept step of Model, so there is nothing to replay.")


SUMMED = "torch.sum(self.linear(x), dim=1, keepdim=True)"
FOLDED = "(x @ self.linear.weight.sum(0) + self.linear.bias.sum())[:, None]"
WRITTEN = module(f"return {SUMMED}", "self.linear = nn.Linear(512, 1024)", "torch.randn(64, 512)")


def written(new: str) -> Step:
    """A kept step in which a model wrote `new` in the place of SUMMED."""
    edits = difference(WRITTEN, WRITTEN.replace(SUMMED, new), "In other words")
    step = kept("torch.rewrite.algorithm", "linear, sum", author="litellm:some/model")
    return dataclasses.replace(step, edits=edits, before_hash=digest(WRITTEN))


def test_what_a_model_wrote_is_made_again_by_its_edits(tmp_path: Path) -> None:
    moved = f"# Mine.\n{WRITTEN}"
    (step,) = replayed(tmp_path, moved, written(FOLDED), before=WRITTEN)
    assert isinstance(step, Step)
    assert step.outcome is Outcome.KEPT, step.reason
    assert step.verdict is not None
    assert step.verdict.passed
    assert (step.author, step.replays, step.usage.calls) == ("litellm:some/model", "old", 0)
    assert step.edits is not None
    assert step.edits.summary == "In other words"
    assert apply(step.edits, moved) == moved.replace(SUMMED, FOLDED)


def test_what_a_model_wrote_meets_the_gate_again(tmp_path: Path) -> None:
    (step,) = replayed(tmp_path, f"# Mine.\n{WRITTEN}", written(f"{FOLDED} * 1.5"), before=WRITTEN)
    assert isinstance(step, Step)
    assert (step.outcome, step.measurement) == (Outcome.REJECTED, None)
    assert step.verdict is not None
    assert not step.verdict.passed


@pytest.mark.parametrize(
    ("before", "text", "reason"),
    [
        (
            WRITTEN,
            WRITTEN.replace("dim=1", "dim=-1"),
            f"litellm:some/model wrote it for a text with the line `{f'return {SUMMED}'[:60]}`, which has changed.",
        ),
        (None, WRITTEN, "The journal no longer holds the text that it was made on."),
    ],
)
def test_edits_that_do_not_fit_say_why(before: str | None, text: str, reason: str) -> None:
    assert replaying.moved(written(FOLDED), before, text) == Refusal(reason)
