"""Budgets hold before anything is sent, and what was spent is on disk."""

import asyncio
import dataclasses
import json
from pathlib import Path

import pytest

from kernelwright.journal import open_journal
from kernelwright.models.account import Account, tokens_left
from kernelwright.models.given import Given
from kernelwright.models.replay import Replay
from kernelwright.observer import silent
from kernelwright.settings import Settings
from kernelwright.values import NOTHING_SPENT, Message, NoReply, Refusal, Reply, Role, Usage

ASKED = (Message(Role.SYSTEM, "rules"), Message(Role.USER, "x" * 4000))  # about 1,000 tokens


@pytest.mark.parametrize(
    ("changes", "step", "day", "expected", "setting"),
    [
        ({}, NOTHING_SPENT, NOTHING_SPENT, 16_384, ""),
        ({"model_tokens_per_step": 5_000}, NOTHING_SPENT, NOTHING_SPENT, 3_999, ""),
        ({"model_tokens_per_step": 0}, Usage(tokens_in=10**9), NOTHING_SPENT, 16_384, ""),
        ({"model_tokens_per_step": 5_000}, Usage(0, 0, 3_000), NOTHING_SPENT, "3000 of 5000 tokens", "modelTokensPerStep"),
        ({"model_tokens_per_day": 10_000}, NOTHING_SPENT, Usage(0, 9_000), "9000 of 10000 tokens", "modelTokensPerDay"),
        ({"model_dollars_per_step": 0.5}, Usage(dollars=0.5), NOTHING_SPENT, "0.5 of 0.5 US dollars", "modelDollarsPerStep"),
        ({"model_dollars_per_day": 2.0}, NOTHING_SPENT, Usage(dollars=2.25), "2.25 of 2 US dollars", "modelDollarsPerDay"),
        ({"model_dollars_per_day": 0.0}, NOTHING_SPENT, Usage(dollars=2.25), 16_384, ""),
    ],
)  # fmt: skip
def test_budgets(changes: dict, step: Usage, day: Usage, expected: int | str, setting: str) -> None:
    left = tokens_left(Settings(**changes), step, day, ASKED)
    said = f"The budget is used up: {expected} (the setting {setting})."
    assert left.reason == said if isinstance(left, Refusal) else left == expected


def ask(account: Account, step: Usage = NOTHING_SPENT) -> Reply | NoReply:
    return asyncio.run(account.ask(ASKED, step, silent, None))


def test_what_was_spent_counts_for_the_day_and_outlives_the_process(tmp_path: Path) -> None:
    log = tmp_path / "log.jsonl"
    usage = {"$": "Usage", "calls": 1, "tokens_in": 1000, "tokens_out": 3000, "dollars": 0.25, "seconds": 2.0}
    log.write_text("".join(json.dumps({"reply": f"answer {i}", "usage": usage}) + "\n" for i in range(4)))
    settings = Settings(model_dollars_per_day=0.5)
    with open_journal(tmp_path) as journal:
        account = Account(Replay(log), settings, journal)
        assert [ask(account).text for _ in range(2)] == ["answer 0", "answer 1"]
    with open_journal(tmp_path) as journal:
        assert journal.spent_today() == Usage(2, 2000, 6000, 0.5, 4.0)
        assert journal.spent() == {"replay:log.jsonl": Usage(2, 2000, 6000, 0.5, 4.0)}
        refused = ask(Account(Replay(log), settings, journal))
        assert isinstance(refused, NoReply)
        assert "0.5 of 0.5 US dollars" in refused.reason
        assert journal.spent_today().calls == 2


def test_two_questions_at_once_cannot_go_beyond_the_budget_together(tmp_path: Path) -> None:
    log = tmp_path / "log.jsonl"
    log.write_text((json.dumps({"reply": "a", "usage": {"calls": 1, "dollars": 0.5}}) + "\n") * 2)
    with open_journal(tmp_path) as journal:
        account = Account(Replay(log), Settings(model_dollars_per_day=0.5), journal)

        async def both() -> list[Reply | NoReply]:
            return await asyncio.gather(*(account.ask(ASKED, NOTHING_SPENT, silent, None) for _ in range(2)))

        assert [type(one) for one in asyncio.run(both())] == [Reply, NoReply]


@dataclasses.dataclass(frozen=True)
class Abroad:
    """A provider elsewhere, which must not be asked."""

    name: str = "litellm:openai/some"
    stays_here: bool = False

    def unavailable(self) -> None:
        return None

    async def complete(self, *_: object) -> Reply:
        raise AssertionError("code was sent")


def test_code_stays_here_where_the_settings_say_so(tmp_path: Path) -> None:
    with open_journal(tmp_path) as journal:
        settings = Settings(model_stays_here=True)
        refused = ask(Account(Abroad(), settings, journal))
        assert isinstance(refused, NoReply)
        assert "litellm:openai/some is not on this machine" in refused.reason
        assert isinstance(ask(Account(Given("yes"), settings, journal)), Reply)


def test_a_log_is_replayed(tmp_path: Path) -> None:
    log = tmp_path / "log.jsonl"
    with open_journal(tmp_path) as journal:
        first = ask(Account(Given("yes"), Settings(model_log=str(log)), journal))
        again = ask(Account(Replay(log), Settings(), journal))
        other = asyncio.run(Replay(log).complete(ASKED[:1], None, silent, None))  # type: ignore[arg-type]
    assert isinstance(first, Reply)
    assert isinstance(again, Reply)
    assert (again.text, again.model) == (first.text, first.model) == ("yes", "given")
    assert isinstance(other, NoReply)
