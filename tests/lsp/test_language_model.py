"""The editor's own models over the protocol: asked, streamed, cancelled, and told of where there are none."""

import asyncio
import time
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest_asyncio
from lsprotocol import types as lsp
from pytest_lsp import client_capabilities

from coders.test_model import RIGHT, STRATEGY, TEXT
from kernelwright.lsp.language_model import CANCEL, CAPABILITY, COMPLETE, KEY, PART
from lsp.editor import Editor, start, start_with, stop
from models.openai_server import OpenAIServer, Says

SETTINGS = {"model": "editor:fake-model", "modelOrder": "before"}


class Models:
    """The models of an editor: `answers` in order, each the parts that are streamed; None: no end."""

    def __init__(self, editor: Editor) -> None:
        self.answers: list[list[str] | Exception | None] = []
        self.asked: list[Any] = []
        self.cancelled: list[str] = []

        @editor.client.feature(COMPLETE)
        async def _(params: Any) -> dict[str, str]:
            self.asked.append(params)
            answer = self.answers.pop(0)
            if isinstance(answer, Exception):
                raise answer
            while answer is None and params.id not in self.cancelled:
                editor.client.protocol.notify(PART, {"id": params.id, "text": "word "})
                await asyncio.sleep(0.05)
            for part in answer or ():
                editor.client.protocol.notify(PART, {"id": params.id, "text": part})
                await asyncio.sleep(0.05)
            return {"text": "".join(answer or ()), "model": "fake-model"}

        @editor.client.feature(CANCEL)
        def _(params: Any) -> None:
            self.cancelled.append(params.id)


@pytest_asyncio.fixture(scope="module")
async def models(tmp_path_factory) -> AsyncIterator[tuple[Editor, Models]]:
    capabilities = client_capabilities("visual_studio_code")
    capabilities.experimental = {CAPABILITY: True}
    editor = await start_with(tmp_path_factory.mktemp("models"), capabilities, **SETTINGS)
    yield editor, Models(editor)
    await stop(editor)


def opened(models: tuple[Editor, Models], name: str) -> tuple[Editor, Models, dict[str, str]]:
    editor, answering = models
    editor.move_to(editor.workspace / name)
    uri = editor.open("score.py", TEXT)
    return editor, answering, {"uri": uri, "kernel": "Score", "strategy": STRATEGY}


async def test_an_answer_of_the_editors_model_becomes_a_step(models: tuple[Editor, Models]) -> None:
    editor, answering, about = opened(models, "kept")
    answering.answers = [["Into the weights.\n", RIGHT[:40], RIGHT[40:]]]
    step = await editor.command("kernelwright.apply", about, token="work")
    assert step["outcome"] == "kept", step
    assert step["author"] == "editor:fake-model"
    assert step["usage"]["calls"] == 1
    assert step["usage"]["tokens_in"] > 500
    assert "(x @ weight + bias)[:, None]" in editor.texts[about["uri"]]
    (asked,) = answering.asked
    assert [message.role for message in asked.messages] == ["system", "user"]
    assert (asked.model, asked.maxTokens) == ("fake-model", 16384)
    assert any("has written" in str(value) for value in editor.progress())
    assert "Written by editor:fake-model. Took 1 answer" in await editor.hover(about["uri"], "Score")


async def test_a_cancel_reaches_the_editors_model_within_a_second(models: tuple[Editor, Models]) -> None:
    editor, answering, about = opened(models, "cancelled")
    before = len(answering.asked)
    answering.answers = [None]
    running = asyncio.ensure_future(editor.command("kernelwright.apply", about, token="cancel"))
    await editor.until(lambda: len(answering.asked) > before)
    editor.client.window_work_done_progress_cancel(lsp.WorkDoneProgressCancelParams("cancel"))
    began = time.monotonic()
    answer = await running
    assert time.monotonic() - began < 1.5
    assert answer["failure"]["kind"] == "cancelled" if "failure" in answer else answer["$"] == "Failure", answer
    await editor.until(lambda: answering.asked[-1].id in answering.cancelled, 2.0)
    assert editor.texts[about["uri"]] == TEXT
    assert await editor.command("kernelwright.history", {"uri": about["uri"], "quiet": True}) == []


async def test_an_error_of_the_editors_model_is_told_and_the_rule_takes_the_step(models: tuple[Editor, Models]) -> None:
    editor, answering, about = opened(models, "refused")
    answering.answers = [RuntimeError("You have no access to this model.")]
    step = await editor.command("kernelwright.apply", about, token="error")
    assert (step["outcome"], step["author"]) == ("kept", "deterministic")
    assert any("The editor's model did not answer" in str(value) for value in editor.progress())


async def test_the_key_that_the_editor_keeps_reaches_the_hosted_model_and_nothing_else(tmp_path: Path) -> None:
    with OpenAIServer([Says(RIGHT)]) as server:
        hosted = {"model": "litellm:openai/served-model", "modelBaseUrl": server.url, "modelOrder": "before"}
        editor = await start(tmp_path, **hosted)
        editor.client.protocol.notify(KEY, {"key": "sk-of-the-editor"})
        uri = editor.open("score.py", TEXT)
        about = {"uri": uri, "kernel": "Score", "strategy": STRATEGY}
        step = await editor.command("kernelwright.apply", about, token="key")
        shown = [*editor.messages(), *map(str, editor.progress()), *map(str, editor.client.log_messages), str(step)]
        await stop(editor)
    assert (step["author"], step["outcome"]) == ("openai/served-model", "kept")
    assert [one.key for one in server.asked] == ["sk-of-the-editor"]
    assert not any("sk-of-the-editor" in one for one in shown)
    assert not any(b"sk-of-the-editor" in one.read_bytes() for one in tmp_path.rglob("*") if one.is_file())


async def test_an_editor_without_models_says_so_where_one_is_needed(tmp_path: Path) -> None:
    editor = await start(tmp_path, **SETTINGS)
    uri = editor.open("score.py", TEXT)
    try:
        step = await editor.command("kernelwright.apply", {"uri": uri, "kernel": "Score", "strategy": STRATEGY})
        assert step["author"] == "deterministic"
    finally:
        await stop(editor)
