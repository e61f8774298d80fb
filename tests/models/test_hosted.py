"""Hosted models, asked through litellm over HTTP on loopback: what they answer, and each way in which they may not."""

import asyncio
import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path

import psutil
import pytest

from kernelwright.models import Bounds
from kernelwright.models.hosted import Hosted
from kernelwright.values import NoReply, Reply, Usage
from models.conversations import asks
from models.openai_server import Answer, Asked, Cuts, Fails, IsSilent, OpenAIServer, Says, Writes

KEY = "sk-a-key-that-nobody-may-see-0123456789"
MODEL = "openai/some-model"
SHORT = Bounds(tokens=1000, seconds=8.0)


class Scripted:
    """The server of this file, whose answers each test sets."""

    def __init__(self) -> None:
        self.answers: Callable[[Asked], Answer] = lambda _: Fails(400, "no answer is set")
        self.server = OpenAIServer(lambda asked: self.answers(asked))

    def will(self, *answers: Answer) -> None:
        rest = list(answers)
        self.server.asked.clear()
        self.answers = lambda _: rest.pop(0) if len(rest) > 1 else rest[0]


@pytest.fixture(scope="module")
def served() -> Iterator[Scripted]:
    scripted = Scripted()
    with scripted.server:
        yield scripted


@pytest.fixture(scope="module")
async def hosted(served: Scripted) -> AsyncIterator[Hosted]:
    """One for the whole file: litellm takes seconds to import."""
    provider = Hosted(MODEL, base_url=served.server.url, key=lambda: KEY, temperature=0.25)
    yield provider
    await provider.close()


async def ask(
    provider: Hosted, text: str = "Hello?", bounds: Bounds = SHORT, cancel: asyncio.Event | None = None
) -> Reply | NoReply:
    return await provider.complete(asks(text), bounds, [].append, cancel)


async def begun(served: Scripted) -> Asked:
    """The request that is being answered, once something of the answer was sent."""
    async with asyncio.timeout(5):
        while not served.server.asked or not served.server.asked[-1].written:
            await asyncio.sleep(0.01)
    return served.server.asked[-1]


def children() -> list[psutil.Process]:
    return [each for each in psutil.Process().children() if "litellm_process.py" in " ".join(each.cmdline())]


async def test_an_answer_with_its_usage(served: Scripted, hosted: Hosted) -> None:
    served.will(Says("Use one pass.", tokens=(120, 30)))
    reports: list[str] = []
    reply = await hosted.complete(asks("How?"), SHORT, reports.append, None)
    assert isinstance(reply, Reply), reply
    assert (reply.text, reply.model) == ("Use one pass.", "some-model")
    assert (reply.usage.calls, reply.usage.tokens_in, reply.usage.tokens_out, reply.usage.dollars) == (1, 120, 30, 0.0)
    assert 0 < reply.usage.seconds < 60
    assert reports[0] == "Asking openai/some-model"
    (asked,) = served.server.asked
    assert asked.texts == ["You write kernels.", "How?"]
    assert (asked.key, asked.body["temperature"], asked.body["stream"]) == (KEY, 0.25, True)
    assert SHORT.tokens in (asked.body.get("max_tokens"), asked.body.get("max_completion_tokens"))
    assert asked.body["model"] == "some-model"


async def test_any_text_arrives_as_it_is(served: Scripted, hosted: Hosted) -> None:
    text = 'a "quote",\n\ttabs, a \\ and 中文, 🚀, \u2028, {braces} — ' * 40
    served.will(Says(text, tokens=None))
    reply = await ask(hosted, text)
    assert isinstance(reply, Reply), reply
    assert reply.text == text
    assert served.server.asked[0].texts[1] == text
    assert reply.usage.tokens_in > 100 < reply.usage.tokens_out  # counted here, since the server does not


async def test_progress_is_told_a_few_times_a_second(served: Scripted, hosted: Hosted) -> None:
    served.will(Says("x" * 1500, thought="y" * 300, piece=20, pause=0.01))
    reports: list[str] = []
    started = time.monotonic()
    reply = await hosted.complete(asks("Think."), SHORT, reports.append, None)
    seconds = time.monotonic() - started
    assert isinstance(reply, Reply), reply
    assert reply.text == "x" * 1500
    told = reports[1:]
    assert 2 <= len(told) <= seconds / 0.25 + 1
    assert all(word.startswith("openai/some-model has ") and word.endswith(" characters") for word in told)


async def test_two_at_once(served: Scripted, hosted: Hosted) -> None:
    served.server.asked.clear()
    served.answers = lambda asked: Says(f"to {asked.texts[1]}", piece=1, pause=0.15)
    started = time.monotonic()
    one, two = await asyncio.gather(ask(hosted, "one"), ask(hosted, "another"))
    assert (one.text, two.text) == ("to one", "to another")
    first, second = served.server.asked
    assert second.at - first.at < 0.9  # seconds, which the shorter answer takes at least
    assert time.monotonic() - started < 2.5
    assert len(children()) == 1


@pytest.mark.parametrize(
    ("first", "most_seconds"), [(Fails(429, retry_after=1), 3.0), (Fails(429), 2.0), (Fails(500), 2.0)], ids=str
)
async def test_success_at_the_second_try(served: Scripted, hosted: Hosted, first: Fails, most_seconds: float) -> None:
    served.will(first, Says("There."))
    reports: list[str] = []
    reply = await hosted.complete(asks("Hello?"), SHORT, reports.append, None)
    assert isinstance(reply, Reply), reply
    assert reply.text == "There."
    early, late = served.server.asked
    assert (first.retry_after or 0.5) <= late.at - early.at < most_seconds
    assert any("is asked again in" in report for report in reports)


@pytest.mark.parametrize(
    ("answer", "requests", "said"),
    [
        (Fails(429, "slow down"), 3, f"{MODEL} has reached its rate limit (slow down): try again later."),
        (
            Fails(429, "slow down", retry_after=60),  # longer than the answer may take
            1,
            f"{MODEL} has reached its rate limit (slow down): try again later.",
        ),
        (Fails(500, "oh"), 3, f"{MODEL} could not answer, with the status 500 (oh): try again later."),
        (
            Fails(404, "no such model", code="model_not_found"),
            1,
            f"{MODEL} is not known where it was asked for (no such model): check its name and the base URL.",
        ),
        (
            Fails(400, "This model's maximum context length is 8 tokens", code="context_length_exceeded"),
            1,
            f"The prompt is too long for {MODEL} (This model's maximum context length is 8 tokens): "
            "choose a model that takes more.",
        ),
        (Fails(400, "no \x1b[2J thanks"), 1, f"{MODEL} cannot be asked (no \\x1b[2J thanks)."),
        (
            Says("half of a", finish="length"),
            1,
            f"{MODEL} was not done after 1,000 tokens: raise the limit of an answer.",
        ),
        (Says("I won't", finish="content_filter"), 1, f"{MODEL} refused to answer."),
        (Says(" \n"), 1, f"{MODEL} answered with no text: try again, or choose another model."),
        (
            Cuts("The first half "),
            1,
            f"The connection to {MODEL} ended before its answer did (Connection error): try again.",
        ),
        (
            Cuts("The first half ", politely=True),
            1,
            f"The connection to {MODEL} ended before its answer did (Stream ended before a finish_reason was received): "
            "try again.",
        ),
        (
            Writes(pause=0.0, word="again "),
            1,
            f"{MODEL} was stopped since its answer did not come to an end: try again, or choose another model.",
        ),
        (
            Writes(pause=0.0),
            1,
            f"{MODEL} was stopped since its answer did not come to an end: try again, or choose another model.",
        ),
    ],
    ids=lambda value: repr(value) if isinstance(value, Says | Fails | Cuts | Writes) else "",
)
async def test_no_answer(served: Scripted, hosted: Hosted, answer: Answer, requests: int, said: str) -> None:
    served.will(answer)
    reply = await ask(hosted)
    assert isinstance(reply, NoReply), reply
    assert reply.reason == said
    assert len(served.server.asked) == requests
    assert (reply.usage.calls, reply.usage.tokens > 0) == (1, not isinstance(answer, Fails))


@pytest.mark.parametrize("answer", [IsSilent(), Writes(pause=0.05)], ids=str)
async def test_time_is_bounded(served: Scripted, hosted: Hosted, answer: Answer) -> None:
    served.will(answer)
    started = time.monotonic()
    reply = await ask(hosted, bounds=Bounds(seconds=1.0))
    assert isinstance(reply, NoReply), reply
    assert reply.reason.startswith(f"{MODEL} has not answered within 1 s: ")
    assert 1.0 <= time.monotonic() - started < 2.0
    assert served.server.asked[0].left.wait(1.0)
    assert reply.usage.tokens_in > 0


@pytest.mark.parametrize("means", ["the event", "the task"])
async def test_cancelling_ends_the_spending(served: Scripted, hosted: Hosted, means: str) -> None:
    served.will(Writes(pause=0.02))
    cancel = asyncio.Event()
    asking = asyncio.create_task(ask(hosted, cancel=cancel))
    asked = await begun(served)
    await asyncio.sleep(0.3)
    at = time.monotonic()
    if means == "the event":
        cancel.set()
        reply = await asking
        assert isinstance(reply, NoReply), reply
        assert reply.reason == "Cancelled."
        assert (reply.usage.calls, reply.usage.tokens_in > 0, reply.usage.tokens_out > 0) == (1, True, True)
    else:
        asking.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await asking
    assert time.monotonic() - at < 1.0
    assert await asyncio.to_thread(asked.left.wait, 1.0)
    assert asked.left_at - at < 1.0


async def test_a_wrong_key_is_told_without_the_key(served: Scripted, hosted: Hosted) -> None:
    served.will(Fails(401, "Incorrect API key provided: {key}"))
    reply = await ask(hosted)
    assert isinstance(reply, NoReply), reply
    assert reply.reason.startswith(f"{MODEL} wants a valid key: store one in the editor")
    assert len(served.server.asked) == 1
    served.will(Fails(400, "What is {key}?"))
    reply = await ask(hosted)
    assert reply == NoReply(f"{MODEL} cannot be asked (What is …?).", usage=reply.usage)


async def test_a_process_that_dies_answers_all_and_is_started_anew(served: Scripted, hosted: Hosted) -> None:
    served.will(Writes(pause=0.02))
    both = asyncio.gather(ask(hosted, "one"), ask(hosted, "two"), return_exceptions=True)
    await begun(served)
    (child,) = children()
    child.send_signal(signal.SIGKILL)
    for reply in await both:
        assert isinstance(reply, NoReply), reply
        assert reply.reason == f"The process that asked {MODEL} has ended: try again."
        assert reply.usage.calls == 1
    served.will(Says("Back."))
    reply = await ask(hosted)
    assert isinstance(reply, Reply), reply
    assert [each.pid for each in children()] != [child.pid]


async def test_a_process_that_does_not_obey_is_killed(served: Scripted, hosted: Hosted) -> None:
    served.will(Writes(pause=0.02))
    cancel = asyncio.Event()
    asking = asyncio.create_task(ask(hosted, cancel=cancel))
    asked = await begun(served)
    (child,) = children()
    child.suspend()
    at = time.monotonic()
    cancel.set()
    reply = await asking
    assert isinstance(reply, NoReply), reply
    assert time.monotonic() - at < 1.5
    assert await asyncio.to_thread(asked.left.wait, 1.0)


async def test_the_key_is_nowhere_to_be_read_and_dollars_are_those_of_litellms_list(
    served: Scripted, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("KERNELWRIGHT_TEST_API_KEY", KEY)
    monkeypatch.setenv("OPENAI_API_KEY", KEY + "-of-openai")
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")  # what stays here does not go there
    monkeypatch.setenv("LITELLM_LOG", "DEBUG")
    served.will(Says("Yes.", tokens=(1_000_000, 100_000)))
    provider = Hosted("openai/gpt-4o", base_url=served.server.url, key_variable="KERNELWRIGHT_TEST_API_KEY")
    before = {each.pid for each in children()}
    reply = await ask(provider)
    assert isinstance(reply, Reply), reply
    assert reply.usage.dollars == pytest.approx(2.5 + 1.0)
    assert served.server.asked[0].key == KEY
    (child,) = [each for each in children() if each.pid not in before]
    assert KEY.encode() not in Path(f"/proc/{child.pid}/cmdline").read_bytes()
    with contextlib.suppress(PermissionError):  # better still
        assert KEY.encode() not in Path(f"/proc/{child.pid}/environ").read_bytes()
    log = bytes(provider._starting.result()._log)
    assert KEY.encode() not in log
    assert b"You write kernels." not in log
    assert KEY not in "".join(capfd.readouterr())
    await provider.close()
    assert not psutil.pid_exists(child.pid)


async def test_no_key_at_all(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in os.environ:
        if name.endswith("_API_KEY"):
            monkeypatch.delenv(name)
    provider = Hosted("openai/gpt-4o")
    reply = await ask(provider)
    await provider.close()
    assert reply.reason == (
        "openai/gpt-4o wants a valid key: set the environment variable OPENAI_API_KEY, or store a key in the editor."
    )


async def test_nobody_to_ask() -> None:
    both = [Hosted(model, base_url="http://127.0.0.1:9/v1") for model in (MODEL, "no-such-model")]
    nobody, unknown = await asyncio.gather(*(ask(each, bounds=Bounds(seconds=10.0)) for each in both))
    await asyncio.gather(*(each.close() for each in both))
    assert nobody.reason.startswith(f"{MODEL} cannot be reached (")
    assert unknown.reason.startswith("litellm knows no provider of no-such-model: ")


async def test_too_long_a_prompt_is_not_sent(hosted: Hosted) -> None:
    reply = await ask(hosted, "x" * (5 << 20))
    assert reply.reason == f"The prompt is too long for {MODEL}: choose a model that takes more."


async def test_cancelled_while_the_process_starts(served: Scripted) -> None:
    provider = Hosted(MODEL, base_url=served.server.url)
    cancel = asyncio.Event()
    asyncio.get_running_loop().call_later(0.1, cancel.set)
    started = time.monotonic()
    reply = await ask(provider, cancel=cancel)
    assert (reply.reason, reply.usage.calls) == ("Cancelled.", 0)
    assert time.monotonic() - started < 1.0
    again = asyncio.create_task(ask(provider))
    await asyncio.sleep(0.1)
    await provider.close()
    assert (await again).reason == "Cancelled."


@pytest.fixture(scope="session")
def bare(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A Python without litellm."""
    folder = tmp_path_factory.mktemp("bare")
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(folder)], check=True)
    return str(folder / "bin" / "python")


async def test_a_python_without_litellm(bare: str) -> None:
    reply = await ask(Hosted(MODEL, interpreter=bare))
    assert reply.reason.endswith(f"is not installed in {bare}: run `{bare} -m pip install 'kernelwright[llm]'`.")
    assert reply.usage.calls == 0


def test_the_servers_own_python_without_litellm(bare: str) -> None:
    program = "from kernelwright.models.hosted import Hosted; print(Hosted('openai/x').unavailable().reason)"
    server = Path(__file__).parents[2] / "server"
    said = subprocess.run(
        [bare, "-c", program], env={"PYTHONPATH": str(server)}, capture_output=True, text=True, check=True
    )
    assert (
        said.stdout.strip() == f"litellm is not installed in {bare}: run `{bare} -m pip install 'kernelwright[llm]'`."
    )


def test_the_server_does_not_import_litellm_and_leaves_nothing_behind() -> None:
    program = """
import asyncio, os, psutil, sys
from kernelwright.models import Bounds
from kernelwright.models.hosted import Hosted
from kernelwright.values import Message, Role

async def main():
    hosted = Hosted("openai/x", base_url="http://127.0.0.1:9/v1")
    await hosted.complete((Message(Role.USER, "Hi"),), Bounds(seconds=0.3), lambda _: None, None)
    print({"litellm", "openai", "httpx", "aiohttp", "pydantic"} & sys.modules.keys())
    print(*(child.pid for child in psutil.Process().children()), flush=True)
    os._exit(0)  # as a server that is killed

asyncio.run(main())
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    loaded, child = done.stdout.splitlines()
    assert (loaded, done.stderr) == ("set()", "")
    psutil.wait_procs([psutil.Process(int(child))] if psutil.pid_exists(int(child)) else [], timeout=5)
    assert not psutil.pid_exists(int(child)) or psutil.Process(int(child)).status() == psutil.STATUS_ZOMBIE


@pytest.mark.parametrize(
    ("hosted", "said"),
    [
        (Hosted(""), "No model is named"),
        (Hosted(MODEL, base_url="localhost:8000/v1"), "localhost:8000/v1 is not one: write http:// or https://"),
        (Hosted(MODEL, base_url="http://[::1/v1"), "is not one"),
        (Hosted(MODEL, interpreter="/no/such/python"), "/no/such/python does not exist"),
    ],
)
async def test_unavailable(hosted: Hosted, said: str) -> None:
    refusal = hosted.unavailable()
    assert refusal is not None
    assert said in refusal.reason
    assert await ask(hosted) == NoReply(refusal.reason, usage=Usage())


@pytest.mark.parametrize(
    ("base_url", "stays"),
    [
        ("http://localhost:8000/v1", True),
        ("http://127.0.0.1:8000", True),
        ("http://127.8.9.10/v1", True),
        ("http://[::1]:8000/v1", True),
        ("", False),
        ("https://api.example.com/v1", False),
        ("http://localhost.example.com/v1", False),
        ("http://127.0.0.1.example.com/v1", False),
        ("http://127.0.0.1@example.com/v1", False),
        ("http://10.0.0.1/v1", False),
        ("http://0.0.0.0/v1", False),
        ("http://[::1/v1", False),
    ],
)
def test_what_stays_on_this_machine(base_url: str, stays: bool) -> None:
    assert Hosted(MODEL, base_url=base_url).stays_here is stays
