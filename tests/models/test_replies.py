"""Those who answer without a model: a log, a folder, one text that is there."""

import asyncio
import json
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kernelwright.models import Bounds, Provider
from kernelwright.models.digest import digest
from kernelwright.models.directory import Directory
from kernelwright.models.given import Given
from kernelwright.models.replay import Replay, record
from kernelwright.values import Conversation, Message, NoReply, Reply, Role, Usage
from models.conversations import CONVERSATIONS, TEXTS, asks

SHORT = Bounds(seconds=3.0)


async def ask(
    provider: Provider, conversation: Conversation, bounds: Bounds = SHORT, cancel: asyncio.Event | None = None
) -> Reply | NoReply:
    return await provider.complete(conversation, bounds, [].append, cancel)


def test_a_digest_stays_the_same() -> None:
    assert digest(asks("How?")) == "f8351fba904d"
    assert digest((Message(Role.USER, "ab"),)) != digest((Message(Role.USER, "a"), Message(Role.USER, "b")))
    assert digest((Message(Role.USER, "ab"),)) != digest((Message(Role.ASSISTANT, "ab"),))


COUNTS = st.integers(0, 10**9)
AMOUNTS = st.floats(0, 1e6)
REPLIES = st.builds(Reply, TEXTS, TEXTS, st.builds(Usage, COUNTS, COUNTS, COUNTS, AMOUNTS, AMOUNTS))


@given(exchanges=st.lists(st.tuples(CONVERSATIONS, REPLIES), max_size=5))
async def test_a_log_answers_what_was_recorded(
    tmp_path_factory: pytest.TempPathFactory, exchanges: list[tuple[Conversation, Reply]]
) -> None:
    log = tmp_path_factory.mktemp("log") / "log.jsonl"
    log.touch()
    for conversation, reply in exchanges:
        record(log, conversation, reply)
    replay = Replay(log)
    assert replay.unavailable() is None
    assert [await ask(replay, conversation) for conversation, _ in exchanges] == [reply for _, reply in exchanges]
    for conversation, _ in exchanges:
        assert isinstance(await ask(replay, conversation), NoReply)


async def test_a_log_answers_in_another_order_too(tmp_path: Path) -> None:
    log = tmp_path / "log.jsonl"
    for text in ("first", "second"):
        record(log, asks(text), Reply(f"to {text}", "m"))
    record(log, asks("first"), Reply("to first again", "m"))
    replay = Replay(log)
    said = [(await ask(replay, asks(text))).text for text in ("second", "first", "first")]
    assert said == ["to second", "to first", "to first again"]
    reply = await ask(replay, asks("second"))
    assert reply == NoReply(f"{log} has no further reply to the conversation {digest(asks('second'))}: record one.")


async def test_a_log_that_names_no_conversations_answers_in_its_order(tmp_path: Path) -> None:
    log = tmp_path / "log.jsonl"
    log.write_text('{"reply": "one"}\n\n{"reply": "two", "model": "m", "usage": {"calls": 2, "tokens_in": 5}}\n')
    replay = Replay(log)
    assert await ask(replay, asks("a")) == Reply("one", "replay:log.jsonl", Usage(calls=1))
    assert await ask(replay, asks("b")) == Reply("two", "m", Usage(calls=2, tokens_in=5))
    assert await ask(replay, asks("c")) == NoReply(f"{log} has no further reply.")


@pytest.mark.parametrize(
    "line",
    [
        "no JSON",
        '"a text"',
        "[]",
        "{}",
        '{"reply": 3}',
        '{"reply": "r", "model": 3}',
        '{"reply": "r", "usage": {"calls": "x"}}',
        '{"reply": "r", "conversation": null}',
        "\udcff",
    ],
)
async def test_a_line_that_is_no_reply(tmp_path: Path, line: str) -> None:
    log = tmp_path / "log.jsonl"
    log.write_bytes(b'{"reply": "r"}\n' + line.encode("utf-8", "surrogateescape"))
    replay = Replay(log)
    refusal = replay.unavailable()
    assert refusal is not None
    assert refusal.reason == f'Line 2 of {log} is no JSON object with a "reply": correct it or remove it.'
    assert await ask(replay, asks("a")) == NoReply(refusal.reason)


def test_a_log_that_is_not_there(tmp_path: Path) -> None:
    refusal = Replay(tmp_path / "none.jsonl").unavailable()
    assert refusal is not None
    assert "cannot be read (No such file or directory)" in refusal.reason


async def test_a_reply_that_comes_into_the_folder(tmp_path: Path) -> None:
    provider = Directory(tmp_path / "new" / "mail")
    reports: list[str] = []
    asking = asyncio.create_task(provider.complete(asks("How?"), SHORT, reports.append, None))
    name = digest(asks("How?"))
    request = tmp_path / "new" / "mail" / f"request-{name}.md"
    async with asyncio.timeout(2):
        while not request.exists():
            await asyncio.sleep(0.01)
    lines = request.read_text(encoding="utf-8").splitlines()
    assert f"reply-{name}.md" in lines[0]
    assert lines[2:] == ["", "# system", "", "You write kernels.", "", "# user", "", "How?"]
    assert str(request) in reports[0]
    reply = request.with_name(f"reply-{name}.md")
    reply.write_bytes(b"")  # it is begun, and goes on in the middle of a letter
    await asyncio.sleep(0.3)
    reply.write_bytes("So: ä".encode()[:-1])
    await asyncio.sleep(0.05)
    reply.write_bytes("So: ä.\n".encode())
    answered = await asking
    assert isinstance(answered, Reply), answered
    assert (answered.text, answered.model, answered.usage.dollars) == ("So: ä.\n", "dir:mail", 0.0)
    assert (answered.usage.calls, answered.usage.tokens_in, answered.usage.tokens_out) == (1, 6, 2)
    assert sorted(path.name for path in request.parent.iterdir()) == [reply.name, request.name]


@given(conversation=CONVERSATIONS, text=st.text(st.characters(exclude_categories=["Cs"]), min_size=1))
async def test_a_reply_that_is_there_is_taken_at_once(
    tmp_path_factory: pytest.TempPathFactory, conversation: Conversation, text: str
) -> None:
    folder = tmp_path_factory.mktemp("mail")
    (folder / f"reply-{digest(conversation)}.md").write_bytes(text.encode())
    answered = await ask(Directory(folder), conversation, Bounds(seconds=0.0))
    assert isinstance(answered, Reply), answered
    assert answered.text == text.removeprefix("\ufeff")
    (folder / f"request-{digest(conversation)}.md").read_text(encoding="utf-8")


async def test_no_reply_in_time_and_a_cancel(tmp_path: Path) -> None:
    provider = Directory(tmp_path)
    late = await ask(provider, asks("How?"), Bounds(seconds=0.3))
    assert isinstance(late, NoReply)
    assert late.reason.endswith(".md was not written within 0.3 s: write it and try again.")
    cancel = asyncio.Event()
    asyncio.get_running_loop().call_later(0.1, cancel.set)
    started = time.monotonic()
    cancelled = await ask(provider, asks("How?"), cancel=cancel)
    assert (cancelled.reason, cancelled.usage.calls) == ("Cancelled.", 0)
    assert time.monotonic() - started < 1.0


async def test_folders_and_replies_of_no_use(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_text("")
    assert Directory(file).unavailable() is not None
    within = await ask(Directory(file / "below"), asks("How?"))
    assert within == NoReply(f"{file / 'below'} cannot be used (Not a directory): choose another folder.")
    reply = tmp_path / f"reply-{digest(asks('How?'))}.md"
    reply.write_bytes(b"\xff\xff")
    assert await ask(Directory(tmp_path), asks("How?")) == NoReply(f"{reply} is no UTF-8 text: save it as UTF-8.")
    with reply.open("wb") as large:
        large.truncate(5 << 20)
    assert await ask(Directory(tmp_path), asks("How?")) == NoReply(f"{reply} has more than 4 MiB: shorten it.")


async def test_one_text_once() -> None:
    provider = Given("Use one pass.", "an agent")
    assert provider.unavailable() is None
    assert provider.stays_here
    assert await ask(provider, asks("How?")) == Reply("Use one pass.", "an agent", Usage(1, 6, 4))
    assert await ask(provider, asks("How?")) == NoReply("There is no further reply.")


async def test_logs_keep_one_object_a_line(tmp_path: Path) -> None:
    log = tmp_path / "log.jsonl"
    record(log, asks("How?"), Reply("a\nb\u2028c", "m", Usage(1, 2, 3, 0.5, 1.5)))
    (line,) = log.read_text(encoding="ascii").splitlines()
    assert json.loads(line)["conversation"] == digest(asks("How?"))
    assert json.loads(line)["reply"] == "a\nb\u2028c"
