"""`kernelwright.profile` from the editor, with the real engine and a real worker on the CPU."""

import asyncio
import time

from lsprotocol import types as lsp

from lsp.editor import PATIENCE, Editor
from lsp.examples import PLAIN, SLOW, SOFTMAX


async def test_a_profile_is_a_value_and_a_sentence(editor: Editor) -> None:
    uri = editor.open("scaled.py", PLAIN)
    answer = await editor.command("kernelwright.profile", {"uri": uri}, token="mine")
    assert answer["$"] == "ProfileResult", answer
    assert answer["measured_on"] == "cpu"
    assert {"aten::mul", "aten::clamp"} <= {kernel["name"] for kernel in answer["kernels"]}
    assert answer["sentence"].startswith("Hand-written kernel share 0 %, rest library (")
    assert editor.messages() == [f"scaled: {answer['sentence']}"]
    begin, *_, end = editor.progress()
    assert isinstance(begin, lsp.WorkDoneProgressBegin)
    assert (begin.title, begin.cancellable) == ("Profile scaled", True)
    assert isinstance(end, lsp.WorkDoneProgressEnd)
    assert end.message == answer["sentence"]
    assert not editor.client.diagnostics.get(uri), "a profile is no verdict"
    assert not editor.applied


async def test_a_triton_kernel_is_counted_without_a_gpu_and_quietly_when_asked(code: Editor) -> None:
    uri = code.open("softmax.py", SOFTMAX)
    answer = await code.command("kernelwright.profile", {"uri": uri, "kernel": "softmax_kernel", "quiet": True})
    (kernel,) = answer["kernels"]
    assert (kernel["name"], kernel["origin"], kernel["launches"]) == ("softmax_kernel", "hand-written", 1.0)
    assert kernel["time_us"] is None
    assert answer["hand_written_share"] is None
    assert "not measured: no GPU runs it" in answer["sentence"]
    assert code.messages() == []


async def test_cancel_in_mid_profile(code: Editor) -> None:
    uri = code.open("slow.py", SLOW)
    running = asyncio.create_task(code.command("kernelwright.profile", {"uri": uri}, token="mine"))
    await code.until((code.workspace / "started").exists)
    began = time.monotonic()
    code.client.window_work_done_progress_cancel(lsp.WorkDoneProgressCancelParams("mine"))
    answer = await asyncio.wait_for(running, PATIENCE)
    assert time.monotonic() - began < 3.0, "of the sixty seconds that the kernel takes"
    assert answer["kind"] == "cancelled"
    assert isinstance(code.progress()[-1], lsp.WorkDoneProgressEnd)
    other = code.open("scaled.py", PLAIN)
    answer = await code.command("kernelwright.profile", {"uri": other})
    assert answer["$"] == "ProfileResult", answer


async def test_what_cannot_be_profiled_says_why(code: Editor) -> None:
    uri = code.open("scaled.py", PLAIN.replace("min=0.0", "min='low'"))
    answer = await code.command("kernelwright.profile", {"uri": uri})
    assert (answer["$"], answer["kind"]) == ("Failure", "workload-failed")
    assert answer["message"].startswith("Calling scaled raised TypeError")
    assert answer["message"] in "\n".join(code.messages())
    answer = await code.command("kernelwright.profile", {"uri": "file:///nowhere.py"})
    assert answer["$"] == "Refusal"
    assert "open it first" in answer["reason"]
