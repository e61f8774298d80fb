"""Jobs that end early: a request that is cancelled, and a text that is edited, while a job runs."""

import asyncio
import time

import pytest
from lsprotocol import types as lsp
from pygls.exceptions import JsonRpcException

from lsp.editor import PATIENCE, Editor
from lsp.examples import LINEAR_SUM, PLAIN, SLOW

AT_ONCE = 2.0  # seconds; it takes a few hundredths on a machine that has nothing else to do
APPLY = {"kernel": "Model", "strategy": "torch.reassociate"}


class Request:
    """A command as an editor sends it that may send `$/cancelRequest` for it."""

    def __init__(self, editor: Editor, command: str, about: dict[str, object], token: str | None = None) -> None:
        self._client = editor.client
        if token is not None:
            editor.client.progress_reports.setdefault(token, [])
        params = lsp.ExecuteCommandParams(command, [about], work_done_token=token)
        self.id = f"request {id(self)}"
        asking = self._client.protocol.send_request_async(lsp.WORKSPACE_EXECUTE_COMMAND, params, self.id)
        self.answer = asyncio.ensure_future(asking)

    async def cancelled(self) -> float:
        """Cancel it, and take its error. Returns the seconds that it took to be answered."""
        began = time.monotonic()
        self._client.cancel_request(lsp.CancelParams(self.id))
        with pytest.raises(JsonRpcException) as raised:
            await asyncio.wait_for(self.answer, PATIENCE)
        assert raised.value.code == lsp.LSPErrorCodes.RequestCancelled
        return time.monotonic() - began


async def is_idle(editor: Editor, uri: str) -> None:
    """The kernel takes another job, and nothing of the last one is left behind."""
    answer = await editor.command("kernelwright.history", {"uri": uri, "quiet": True})
    assert answer == []
    assert editor.applied == []
    assert not editor.client.diagnostics.get(uri)


@pytest.mark.parametrize("what", ["optimize", "apply", "autopilot", "verify", "measure", "profile"])
async def test_a_cancelled_request_ends_its_job(code: Editor, what: str) -> None:
    uri = code.open("slow.py", SLOW)
    await code.command("kernelwright.resetBaseline", {"uri": uri})
    about = {"uri": uri, **({"strategy": "torch.fuse-pointwise"} if what == "apply" else {})}
    request = Request(code, f"kernelwright.{what}", about, token="mine")
    await code.until((code.workspace / "started").exists)
    assert await request.cancelled() < AT_ONCE, "of the sixty seconds that the kernel takes"
    await code.until(lambda: isinstance(code.progress()[-1], lsp.WorkDoneProgressEnd), AT_ONCE)
    assert "Cancelled" in code.progress()[-1].message
    await is_idle(code, uri)
    code.type(uri, "    time.sleep(60)\n", "")
    await code.command("kernelwright.resetBaseline", {"uri": uri})
    answer = await asyncio.wait_for(code.command("kernelwright.verify", {"uri": uri}), PATIENCE)
    assert answer["verdict"]["status"] == "passed", "the job has freed the worker and the kernel"


@pytest.mark.parametrize("what", ["apply", "autopilot"])
async def test_a_step_that_is_cancelled_in_its_trial_is_never_applied(code: Editor, what: str) -> None:
    uri = code.open("model.py", LINEAR_SUM)
    request = Request(code, f"kernelwright.{what}", {"uri": uri, **APPLY}, token="mine")
    await code.until(lambda: "Verifying" in str(code.progress()))
    assert await request.cancelled() < AT_ONCE
    step = await asyncio.wait_for(code.command("kernelwright.apply", {"uri": uri, **APPLY}), PATIENCE)
    assert step["outcome"] == "kept", "jobs take turns: by now the first would have ended"
    assert len(code.applied) == 1
    assert [one["id"] for one in await code.command("kernelwright.history", {"uri": uri})] == [step["id"]]


async def test_a_cancel_while_the_editor_makes_the_edit_leaves_text_and_journal_alike(code: Editor) -> None:
    uri = code.open("model.py", LINEAR_SUM)
    code.answering.clear()
    request = Request(code, "kernelwright.apply", {"uri": uri, **APPLY})
    await code.until(lambda: code.applied)
    code.client.cancel_request(lsp.CancelParams(request.id))
    await code.command("kernelwright.history", {"uri": uri})  # the cancel has arrived
    code.answering.set()
    step = await asyncio.wait_for(request.answer, PATIENCE)
    assert step["outcome"] == "kept", "too late to be cancelled, and told so"
    assert code.texts[uri] != LINEAR_SUM
    assert [one["outcome"] for one in await code.command("kernelwright.history", {"uri": uri})] == ["kept"]


async def test_a_cancelled_question_may_still_be_answered(code: Editor) -> None:
    uri = code.open("slow.py", SLOW)
    code.answering.clear()
    code.answers = ["Run again"]
    request = Request(code, "kernelwright.optimize", {"uri": uri})
    await code.until((code.workspace / "started").exists)
    code.type(uri, "* 2.0", "* 3.0")
    await code.until(lambda: code.asked, AT_ONCE)
    assert await request.cancelled() < AT_ONCE
    code.answering.set()
    await is_idle(code, uri)
    assert not any("rror" in message for message in code.messages())


@pytest.mark.parametrize("what", ["optimize", "autopilot", "verify", "profile"])
async def test_an_edit_ends_a_job_whose_result_would_be_of_no_use(code: Editor, what: str) -> None:
    uri = code.open("slow.py", SLOW)
    await code.command("kernelwright.resetBaseline", {"uri": uri})
    running = asyncio.create_task(code.command(f"kernelwright.{what}", {"uri": uri}, token="mine"))
    await code.until((code.workspace / "started").exists)
    code.type(uri, "* 2.0", "* 3.0")
    began = time.monotonic()
    await asyncio.wait_for(running, PATIENCE)
    assert time.monotonic() - began < AT_ONCE, "of the sixty seconds that the kernel takes"
    said = [*(asked.message for asked in code.asked), *code.messages()]
    assert any("edited meanwhile" in message for message in said), said
    assert what == "autopilot" or [action.title for action in code.asked[0].actions] == ["Run again"]
    await is_idle(code, uri)


async def test_an_ended_verification_runs_again_on_the_text_as_it_is_now(code: Editor) -> None:
    uri = code.open("slow.py", SLOW.replace("    time.sleep(60)\n", ""))
    await code.command("kernelwright.resetBaseline", {"uri": uri})
    code.type(uri, "    return torch", "    time.sleep(60)\n    return torch")
    code.answers = ["Run again"]
    running = asyncio.create_task(code.command("kernelwright.verify", {"uri": uri}))
    await code.until((code.workspace / "started").exists)
    code.type(uri, "    time.sleep(60)\n", "")
    answer = await asyncio.wait_for(running, PATIENCE)
    assert answer["verdict"]["status"] == "passed", answer
    assert "slow was edited meanwhile" in code.asked[0].message


async def test_an_edit_that_a_verification_does_not_depend_on_lets_it_go_on(code: Editor) -> None:
    uri = code.open("scaled.py", PLAIN)
    await code.command("kernelwright.resetBaseline", {"uri": uri})
    running = asyncio.create_task(code.command("kernelwright.verify", {"uri": uri}, token="mine"))
    await code.until(code.progress)
    code.type(uri, "# workload", "# a comment\n# workload")
    answer = await asyncio.wait_for(running, PATIENCE)
    assert answer["verdict"]["status"] == "passed"
    assert code.asked == []


@pytest.mark.parametrize("what", ["verify", "measure"])
async def test_without_a_baseline_nothing_is_compared(code: Editor, what: str) -> None:
    uri = code.open("scaled.py", PLAIN)
    answer = await code.command(f"kernelwright.{what}", {"uri": uri})
    assert answer["reason"].startswith("No baseline of scaled is known")
    assert answer["reason"] in code.messages()
    assert not code.client.diagnostics.get(uri)


async def test_a_text_that_is_its_own_baseline_is_told_so(code: Editor) -> None:
    uri = code.open("scaled.py", PLAIN)
    await code.command("kernelwright.resetBaseline", {"uri": uri})
    answer = await code.command("kernelwright.verify", {"uri": uri})
    assert answer["verdict"]["caveats"] == ["the baseline is this very text"]
    code.type(uri, "x * 2.0", "x + x")
    answer = await code.command("kernelwright.verify", {"uri": uri})
    assert (answer["verdict"]["status"], answer["verdict"]["caveats"]) == ("passed", [])
