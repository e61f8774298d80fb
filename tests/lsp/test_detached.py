"""Commands of menus and lenses: the editor has its answer at once, and the job goes on."""

import asyncio
from pathlib import Path

from lsprotocol import types as lsp
from pytest_lsp import client_capabilities

from lsp.editor import PATIENCE, Editor, start_with, stop
from lsp.examples import LINEAR_SUM, SLOW


async def test_menus_and_lenses_do_not_keep_the_editor_waiting(editor: Editor) -> None:
    uri = editor.open("model.py", LINEAR_SUM)
    commands = [action.command for action in await editor.actions(uri, "Model(", "refactor.rewrite") if action.command]
    commands += [lens.command for lens in await editor.lenses(uri)]
    assert len(commands) > 1
    assert all(command.arguments[0]["detached"] for command in commands)


async def test_a_detached_job_is_answered_before_it_ends_and_can_be_cancelled(code: Editor) -> None:
    uri = code.open("slow.py", SLOW)
    await code.command("kernelwright.resetBaseline", {"uri": uri})
    assert await code.command("kernelwright.verify", {"uri": uri, "detached": True}) is None
    await code.until(lambda: "Verifying" in str(code.progress()))
    (token,) = code.client.progress_reports
    code.client.window_work_done_progress_cancel(lsp.WorkDoneProgressCancelParams(token))
    await code.until(lambda: any(isinstance(report, lsp.WorkDoneProgressEnd) for report in code.progress()))


async def test_with_a_token_the_answer_comes_at_the_end(code: Editor) -> None:
    uri = code.open("slow.py", SLOW)
    await code.command("kernelwright.resetBaseline", {"uri": uri})
    about = {"uri": uri, "detached": True}
    running = asyncio.create_task(code.command("kernelwright.verify", about, token="mine"))
    await code.until(lambda: "Verifying" in str(code.progress()))
    assert not running.done()
    code.client.window_work_done_progress_cancel(lsp.WorkDoneProgressCancelParams("mine"))
    answer = await asyncio.wait_for(running, PATIENCE)
    assert answer["kind"] == "cancelled"


async def test_a_detached_refusal_is_said(code: Editor) -> None:
    assert await code.command("kernelwright.optimize", {"uri": "file:///nowhere.py", "detached": True}) is None
    await code.until(lambda: any("not open" in message for message in code.messages()))


async def test_an_editor_without_progress_is_told_that_a_job_runs(tmp_path: Path) -> None:
    capabilities = client_capabilities("emacs")
    capabilities.window.work_done_progress = None
    editor = await start_with(tmp_path, capabilities)
    uri = editor.open("slow.py", SLOW)
    await editor.command("kernelwright.resetBaseline", {"uri": uri})
    await editor.command("kernelwright.verify", {"uri": uri, "detached": True})
    await editor.until(lambda: any(message.startswith("Verify slow is running") for message in editor.messages()))
    await stop(editor)
