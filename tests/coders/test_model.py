"""The coder that asks a model: litellm in its process, a real server on loopback, the gate and the journal behind them."""

import asyncio
import time
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest
import pytest_asyncio

from kept import Lent
from kernelwright import words
from kernelwright.engine import Engine, Request
from kernelwright.journal import open_in_memory
from kernelwright.languages import support_of
from kernelwright.macro.strategies import registry
from kernelwright.macro.strategy import Strategy, ask
from kernelwright.models import Provider
from kernelwright.models.directory import Directory
from kernelwright.models.hosted import Hosted
from kernelwright.observer import Nothing, silent
from kernelwright.settings import Settings
from kernelwright.values import DETERMINISTIC, FailureKind, Language, Outcome, Refusal, Step, apply
from models.openai_server import Answer, Cuts, Fails, IsSilent, OpenAIServer, Says, Writes
from prompting.test_reply import block

STRATEGY = "torch.reassociate.reduce-features"
TEXT = """\
import torch
from torch import nn


def helper(x):
    return x


class Score(nn.Module):
    def __init__(self, features: int, width: int):
        super().__init__()
        self.linear = nn.Linear(features, width)

    def forward(self, x):
        y = self.linear(x)
        return torch.sum(y, dim=1, keepdim=True)


# workload: Score(512, 640)(randn(384, 512))
"""
BODY = "        y = self.linear(x)\n        return torch.sum(y, dim=1, keepdim=True)"
RIGHT = block(
    BODY,
    "        weight, bias = self.linear.weight.sum(0), self.linear.bias.sum()\n        return (x @ weight + bias)[:, None]",
)
WRONG = block(BODY, "        return torch.sum(self.linear(x), dim=0, keepdim=True)[0, :384, None]")
SPECIAL = block(
    BODY, BODY.replace("        y = ", "        if x.shape[0] == 384:\n            return x[:, :1] * 0\n        y = ")
)
BROKEN = block(BODY, "        return torch.sum(")
OUTSIDE = block("def helper(x):\n    return x", "def helper(x):\n    return x * 2")
IMPORTS = block(BODY, f"        import os\n{BODY}")
CUT = RIGHT.rpartition("\n")[0]
SLOWER = block(
    BODY, BODY.replace("        return", "        for _ in range(20):\n            y = y + 0.0\n        return")
)


@pytest.fixture(scope="module")
def workers() -> Lent:
    return Lent()


@pytest.fixture(scope="module")
def served() -> Iterator[OpenAIServer]:
    """The server of this file, which each test tells what it will answer."""
    with OpenAIServer([]) as server:
        yield server


@pytest_asyncio.fixture(scope="module")
async def provider(served: OpenAIServer) -> AsyncIterator[Hosted]:
    """One for the whole file: litellm takes seconds to import."""
    hosted = Hosted("openai/served-model", base_url=served.url, key=lambda: "a key")
    yield hosted
    await hosted.close()


def engine(workers: Lent, folder: Path, provider: Provider, **settings) -> Engine:
    chosen = Settings(timing_budget=0.2, **{"model_order": "before", "model_timeout": 20.0, **settings})
    return Engine(folder, chosen, workers=workers, journal=open_in_memory(folder), provider=provider)


async def step_of(made: Engine, cancel: asyncio.Event | None = None, report=silent, **asked) -> Step | Nothing:
    request = Request(str(made.journal.workspace / "score.py"), TEXT, "Score", **{"strategy": STRATEGY, **asked})
    return await made.optimize(request, report, cancel)


@pytest.mark.parametrize(
    ("before", "reasons"),
    [
        ([], []),
        (
            [OUTSIDE, IMPORTS, CUT, BROKEN, "It is fine as it is."],
            [
                "Line 5 (`def helper(x):`) is outside",
                "The module `os`",
                "was cut off",
                "does not parse",
                "has no block",
            ],
        ),
        ([WRONG, SPECIAL], ["values (", "values ("]),
        ([SLOWER], ["No gain"]),
    ],
    ids=["right", "no-edit", "wrong", "slower"],
)
async def test_an_answer_is_kept_at_once_or_after_evidence(
    workers: Lent,
    served: OpenAIServer,
    provider: Hosted,
    tmp_path: Path,
    before: list[str],
    reasons: list[str],
) -> None:
    answers = [Says(text, tokens=(100, 10)) for text in (*before, RIGHT)]
    served.will(answers)
    step = await step_of(engine(workers, tmp_path, provider, model_rounds=6))
    assert isinstance(step, Step), step
    assert step.outcome is Outcome.KEPT, step.reason
    assert step.edits is not None
    assert "(x @ weight + bias)[:, None]" in apply(step.edits, TEXT)
    rounds = len(answers)
    assert (step.author, step.usage.calls, step.usage.tokens) == ("openai/served-model", rounds, 110 * rounds)
    assert [len(one.texts) for one in served.asked] == [2 + 2 * i for i in range(rounds)]
    assert len(step.earlier) == len(before)
    for answer, reason, ended, asked in zip(before, reasons, step.earlier, served.asked[1:], strict=True):
        assert reason in ended
        assert asked.texts[-2].strip() == answer.strip(), "the model sees its own answer"
        assert reason.split(" (")[0] in asked.texts[-1], "and what came of it"
    assert f"Written by openai/served-model. Took {rounds} answer" in words.of_step(step)


async def test_where_the_model_has_nothing_the_rule_takes_the_step(
    workers: Lent, served: OpenAIServer, provider: Hosted, tmp_path: Path
) -> None:
    served.will([Says("No.")] * 3)
    step = await step_of(engine(workers, tmp_path, provider))
    assert isinstance(step, Step)
    assert (step.outcome, step.author) == (Outcome.KEPT, DETERMINISTIC)
    assert len(served.asked) == 3


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (Fails(401, "wrong key {key}"), "key"),
        (Fails(400, "context too long", code="context_length_exceeded"), "long"),
        (Cuts("Here it comes: <<<<<<< SEA"), "ended before its answer did"),
        (IsSilent(), "within"),
        (Says(""), "no text"),
        (Fails(500), "500"),
    ],
    ids=["key", "too-long", "cut", "silent", "empty", "broken"],
)
async def test_why_there_is_no_answer_is_told(
    workers: Lent, served: OpenAIServer, provider: Hosted, tmp_path: Path, answer: Answer, said: str
) -> None:
    told: list[str] = []
    served.will(lambda asked: answer)
    made = engine(workers, tmp_path, provider, model_timeout=2.0)
    nothing = await step_of(made, report=told.append, coders=(made.coder(provider),))
    assert isinstance(nothing, Refusal), nothing
    assert said in nothing.reason
    assert nothing.reason in told
    assert not any("a key" in one for one in (nothing.reason, *told))
    assert made.history(str(tmp_path / "score.py")) == ()


async def test_both_results_stay_in_the_journal(
    workers: Lent, served: OpenAIServer, provider: Hosted, tmp_path: Path
) -> None:
    served.will([Says(RIGHT), Says("Nothing more."), Says("Nothing.")])
    made = engine(workers, tmp_path, provider, model_order="both")
    step = await step_of(made)
    history = made.history(str(tmp_path / "score.py"))
    assert isinstance(step, Step)
    assert {one.author for one in history} == {DETERMINISTIC, "openai/served-model"}
    kept, other = sorted(history, key=lambda one: one.outcome is not Outcome.KEPT)
    assert kept == step
    assert other.outcome is Outcome.REJECTED
    assert f"The step by {kept.author} is faster" in other.reason
    assert made.journal.text(other.after_hash) != made.journal.text(kept.after_hash) != TEXT


async def test_a_budget_ends_the_rounds(workers: Lent, served: OpenAIServer, provider: Hosted, tmp_path: Path) -> None:
    told: list[str] = []
    served.will(lambda asked: Says(WRONG, tokens=(9_000, 2_000)))
    made = engine(workers, tmp_path, provider, model_tokens_per_step=12_000)
    step = await step_of(made, report=told.append)
    spent = made.journal.spent_today()
    assert isinstance(step, Step)
    assert len(served.asked) == 1
    assert spent.tokens == 11_000
    assert any("The budget is used up: 11000 of 12000 tokens" in one for one in (*told, *step.earlier)), told


async def test_a_cancel_in_mid_stream_stops_the_spending_and_leaves_nothing(
    workers: Lent, served: OpenAIServer, provider: Hosted, tmp_path: Path
) -> None:
    served.will([Writes(pause=0.02)])
    made = engine(workers, tmp_path, provider)
    cancel = asyncio.Event()
    running = asyncio.create_task(step_of(made, cancel))
    while not (served.asked and served.asked[0].written > 3):
        await asyncio.sleep(0.05)
    cancel.set()
    began = time.monotonic()
    step = await running
    took = time.monotonic() - began
    assert await asyncio.to_thread(served.asked[0].left.wait, 2.0), "the connection is closed"
    assert took < 1.5
    assert isinstance(step, Step)
    assert step.failure is not None
    assert step.failure.kind is FailureKind.CANCELLED
    assert made.history(str(tmp_path / "score.py")) == ()
    assert made.journal.spent_today().tokens_out > 0


async def test_the_model_ranks_legal_actions_or_stops(
    workers: Lent, served: OpenAIServer, provider: Hosted, tmp_path: Path
) -> None:
    async def chosen(text: str) -> tuple[str, str]:
        served.will([Says(text)])
        made = engine(workers, tmp_path, provider, model_ranks=True)
        found = await made.prompt(Request(str(tmp_path / "score.py"), TEXT, "Score"))
        task = found.reason if isinstance(found, Refusal) else found[1].text.split("\n")[0]
        return task, served.asked[0].texts[1]

    usual, asked = await chosen("I would fuse everything.")
    titles = [line.split(". ", 1)[1] for line in asked.splitlines() if line.startswith(("1. ", "2. "))]
    assert len(titles) == 2
    assert titles[0].startswith(usual.removeprefix("# ").split(" (")[0])
    second, again = await chosen("The product is small.\nRANKING: 2, 1")
    assert again == asked
    assert titles[1].startswith(second.removeprefix("# ").split(" (")[0])
    assert (await chosen("RANKING: 99"))[0] == usual, "what is not on the list cannot be chosen"
    assert "The model's choice" in (await chosen("RANKING: 0"))[0]


def test_a_model_leaves_to_the_rule_what_an_answer_may_not_do(workers: Lent, tmp_path: Path) -> None:
    """The strategies whose own example would be refused unread, and no others, say so."""
    provider = Directory(tmp_path)
    coder = engine(workers, tmp_path, provider).coder(provider)
    refused = {one.id: found.reason for one in registry().values() if (found := coder.refuses(one)) is not None}
    assert set(refused) == {one.id for one in registry().values() if beyond_an_answer(one)}
    assert "is written by a rule, not by a language model: it uses modules" in refused["torch.compile-module"]
    assert not any(registry()[id].intent is ask for id in refused)


def beyond_an_answer(strategy: Strategy) -> bool:
    support = support_of("cuda-cpp" if Language.CUDA in strategy.languages else "python")
    before, after = strategy.example.before, strategy.example.after
    problems = [support.edit_problem(before, after, kernel) for kernel in support.kernels(before)]
    return bool(problems) and all(problems)
