"""The tools for an editor's own agent: one command, the same functions as in the server for agents, and the same gate."""

import asyncio
from pathlib import Path
from typing import Any

import corpus
import pytest
from benchmarks import server_start
from lsprotocol import types as lsp

from cheats.outcome import file_of
from kernelwright.languages.python import SUPPORT
from lsp.editor import PATIENCE, Editor
from lsp.examples import PLAIN, SLOW, SOFTMAX
from lsp.test_cancelling import AT_ONCE, Request

TOOL = "kernelwright.tool"
RECIPROCAL = SOFTMAX.replace("x / tl.sum(x, axis=0)", "x * (1.0 / tl.sum(x, axis=0))")


async def ask(editor: Editor, name: str, **arguments: object) -> dict[str, Any]:
    """The answer of a tool on files of the editor's folder."""
    if isinstance(file := arguments.get("file"), str):
        arguments["file"] = str(editor.folder / file)
    return await editor.command(TOOL, {"name": name, "arguments": arguments})


def write(editor: Editor, name: str, text: str) -> Path:
    path = editor.folder / name
    path.write_text(text, encoding="utf-8")
    return path


async def test_a_step_of_the_editors_agent_is_kept_and_shown(code: Editor) -> None:
    file = write(code, "softmax.py", SOFTMAX)
    uri = code.open("softmax.py", SOFTMAX)
    listed = await ask(code, "list_kernels", file="softmax.py")
    assert [row["name"] for row in listed["data"]["kernels"]] == ["softmax_kernel"]
    what = {"file": "softmax.py", "kernel": "softmax_kernel", "strategy": "triton.tune-launch"}
    kept = await ask(code, "keep_step", text=RECIPROCAL, **what)
    assert kept["text"].startswith("Kept, and written to ")
    assert kept["data"]["author"] == "agent:Editor of the tests"
    assert kept["data"]["verdict"]["passed"]
    assert kept["data"]["speedup"] is None  # GPU code, and no GPU here
    assert file.read_text() == RECIPROCAL
    code.type(uri, SOFTMAX, RECIPROCAL)  # as an editor reads a file again
    await code.diagnostics(uri, lambda shown: any("Verified: passed" in d.message for d in shown))
    assert code.applied == []
    history = await ask(code, "history", file="softmax.py")
    assert [step["id"] for step in history["data"]["steps"]] == [kept["data"]["step"]]
    await ask(code, "revert", file="softmax.py")
    assert file.read_text() == SOFTMAX


async def test_what_is_right_for_the_workload_alone_gets_no_number(code: Editor) -> None:
    case = corpus.case("exploits", "b03_layer_norm_of_normal_data")
    before, after = file_of(case, case.baseline), file_of(case, case.candidate)
    write(code, "exploit.py", before)
    kernel = SUPPORT.kernels(before)[0].name
    answer = await ask(code, "measure", file="exploit.py", kernel=kernel, text=after)
    assert not answer["data"]["verdict"]["passed"]
    assert (answer["data"]["speedup"], answer["data"]["unmeasured"]) == (None, "")
    assert "faster" not in answer["text"]


async def test_a_cancelled_request_ends_its_job(code: Editor) -> None:
    file = write(code, "slow.py", SLOW)
    given = {"file": str(file), "kernel": "slow", "text": SLOW.replace("* 2.0", "* (1.0 + 1.0)")}
    request = Request(code, TOOL, {"name": "measure", "arguments": given}, token="mine")
    await code.until((code.workspace / "started").exists)
    assert await request.cancelled() < AT_ONCE, "of the sixty seconds that the kernel takes"
    await code.until(lambda: isinstance(code.progress()[-1], lsp.WorkDoneProgressEnd), AT_ONCE)
    assert "Cancelled" in code.progress()[-1].message
    write(code, "plain.py", PLAIN)
    clamped = PLAIN.replace("y.clamp(min=0.0)", "torch.clamp(y, min=0.0)")
    verified = await asyncio.wait_for(ask(code, "verify", file="plain.py", kernel="scaled", text=clamped), PATIENCE)
    assert verified["data"]["verdict"]["passed"]


@pytest.mark.parametrize(
    ("asked", "sentence"),
    [
        ({}, "kernelwright.tool needs one argument"),
        ({"name": "magic"}, "with one of list_kernels, "),
        ({"name": "list_kernels"}, "The argument file of list_kernels is missing: A source file"),
        ({"name": "list_kernels", "arguments": []}, "The arguments of list_kernels should be an object"),
        ({"name": "list_kernels", "arguments": {"file": None}}, "file of list_kernels should be a text, not None."),
        (
            {"name": "verify", "arguments": {"file": "a.py", "kernel": "k", "effort": "quick"}},
            "verify has no argument 'effort'; it has file, kernel, text, blocks.",
        ),
        (
            {"name": "record_workloads", "arguments": {"command": ["python", 1]}},
            "command of record_workloads should be a list of texts",
        ),
        (
            {"name": "infer_workloads", "arguments": {"file": "a.py", "write": "yes"}},
            "write of infer_workloads should be true or false",
        ),
        ({"name": "record_workloads", "arguments": {"command": []}}, "Name a test or script of this workspace"),
        ({"name": "list_kernels", "arguments": {"file": "/etc/passwd"}}, "is outside of the workspace"),
        ({"name": "list_kernels", "arguments": {"file": "a\0b.py"}}, "is no path of a file."),
    ],
    ids=str,
)
async def test_what_is_asked_wrongly_is_told_in_a_sentence(code: Editor, asked: object, sentence: str) -> None:
    answer = await code.command(TOOL, asked)
    assert answer["$"] == "Refusal"
    assert sentence in answer["reason"]
    assert code.messages() == []


async def test_a_file_that_is_not_saved_is_left_to_its_person(code: Editor) -> None:
    file = write(code, "softmax.py", SOFTMAX)
    code.open("softmax.py", f"{SOFTMAX}\n# mine\n")
    answer = await ask(code, "infer_workloads", file="softmax.py", write=True)
    assert "softmax.py has changes in the editor that are not saved; save it" in answer["reason"]
    assert file.read_text() == SOFTMAX


def test_memory_holds_with_a_model_configured_and_tools_called(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PYTHONDONTWRITEBYTECODE", raising=False)  # what is compiled at the start takes memory
    server_start.start(server_start.CONFIGURED)
    assert server_start.start(server_start.CONFIGURED).mb_in_use < server_start.MOST_MB
