"""Jobs from the editor, with the real engine and a real worker on the CPU."""

import asyncio
import contextlib
import re
import time
from pathlib import Path

import psutil
import pytest
from lsprotocol import types as lsp

from kernelwright.source.findings.spilling import CODE as SPILLS
from kernelwright.values import digest
from lsp.editor import PATIENCE, ROOT, Editor, start, stop
from lsp.examples import LINEAR_SUM, PLAIN, SLOW, SOFTMAX

INFORMATION, ERROR, WARNING = (
    lsp.DiagnosticSeverity.Information,
    lsp.DiagnosticSeverity.Error,
    lsp.DiagnosticSeverity.Warning,
)


def at_kernel(found: list[lsp.Diagnostic], severity: lsp.DiagnosticSeverity) -> list[str]:
    return [d.message for d in found if d.severity == severity]


async def verified(editor: Editor, uri: str, words: str = "Verified") -> str:
    found = await editor.diagnostics(
        uri, lambda shown: any(words in d.message for d in shown if d.severity == INFORMATION)
    )
    return next(d.message for d in found if words in d.message)


async def test_a_step_from_the_menu_to_the_evidence(editor: Editor) -> None:
    uri = editor.open("model.py", LINEAR_SUM)
    actions = await editor.actions(uri, "Model(", "refactor.rewrite")
    action = next(a for a in actions if "torch.reassociate" in str(a.kind))  # by its group while no op graph is known
    assert await editor.command(action.command.command, *action.command.arguments) is None
    message = await verified(editor, uri)
    assert editor.texts[uri] != LINEAR_SUM
    (applied,) = editor.applied
    assert "Sum the weights of a linear layer" in applied.label
    assert "faster than baseline" in message
    assert "95 % CI" in message
    assert " checks, " in message
    assert "as the baseline" in message or "bit-exact" in message
    progress = editor.progress()
    assert any(isinstance(p, lsp.WorkDoneProgressBegin) and p.cancellable for p in progress)
    assert any(isinstance(p, lsp.WorkDoneProgressEnd) and "kept" not in (p.message or "") for p in progress)
    assert "faster than baseline" in await editor.hover(uri, "Model(")
    assert "1 kept step" in await editor.hover(uri, "Model(")

    lens = (await editor.lenses(uri))[0].command.title if editor.client.capabilities.text_document.code_lens else "ms"
    assert "ms" in lens
    (kept,) = await editor.command("kernelwright.history", {"uri": uri, "texts": True})
    assert (kept["outcome"], kept["before"], kept["after"]) == ("kept", LINEAR_SUM, editor.texts[uri])
    assert kept["measured"]
    roof = kept["measurement"]["roof"]
    assert roof["flops"] > roof["bytes"] > 0
    assert (roof["bandwidth"], roof["peak_flops"]) == (0.0, 0.0), "the ceilings of a CPU are not known"

    editor.type(uri, "def forward(self, x):\n", "def forward(self, x):\n        x = x * 1.0\n")
    found = await editor.diagnostics(uri, lambda shown: any("Stale" in d.message for d in shown))
    assert not any("faster" in d.message for d in found)
    editor.type(uri, "        x = x * 1.0\n", "")
    await verified(editor, uri)

    await editor.command("kernelwright.revert", {"uri": uri})
    assert editor.texts[uri] == LINEAR_SUM
    await editor.diagnostics(uri, lambda shown: not shown)
    assert "Baseline: the file as it is" in await editor.hover(uri, "Model(")


async def test_a_step_is_one_versioned_annotated_edit(code: Editor) -> None:
    uri = code.open("model.py", LINEAR_SUM)
    await code.command("kernelwright.apply", {"uri": uri, "kernel": "Model", "strategy": "torch.reassociate"})
    (applied,) = code.applied
    (document,) = applied.edit.document_changes
    assert document.text_document.version == 1
    (annotation,) = applied.edit.change_annotations.values()
    assert "Sum the weights of a linear layer" in annotation.label
    assert all(edit.annotation_id in applied.edit.change_annotations for edit in document.edits)
    assert not annotation.needs_confirmation


async def test_the_preview_asks_before_the_edit_is_made(code: Editor) -> None:
    uri = code.open("model.py", LINEAR_SUM)
    preview = (await code.actions(uri, "Model(", "refactor.rewrite"))[-1]
    assert preview.title == "Optimize kernel: next step (preview)"
    await code.command(preview.command.command, *preview.command.arguments, token="preview")
    (applied,) = code.applied
    assert [annotation.needs_confirmation for annotation in applied.edit.change_annotations.values()] == [True]


async def test_the_preview_of_what_cannot_be_measured_is_of_a_strategy(code: Editor) -> None:
    uri = code.open("softmax.py", SOFTMAX)
    preview = (await code.actions(uri, "softmax_kernel(", "refactor.rewrite"))[-1]
    assert preview.title.startswith("Optimize kernel: ")
    assert preview.title.endswith(" (preview)")
    (arguments,) = preview.command.arguments
    assert arguments["preview"]
    assert arguments["strategy"].startswith("triton.")


async def test_a_preview_cannot_be_taken_in_part(code: Editor) -> None:
    text = (ROOT / "examples" / "triton_softmax.py").read_text(encoding="utf-8")
    text = re.sub(r"(^# workload: .*\n)+", "# workload: softmax(randn(2, 40))\n", text, flags=re.MULTILINE)
    uri = code.open("softmax.py", text)
    about = {"uri": uri, "kernel": "softmax_kernel", "strategy": "triton.online-reduction"}
    answer = await code.command("kernelwright.apply", {**about, "preview": True})
    assert len(answer["edits"]["edits"]) > 1, "a step of one place shows nothing here"
    (applied,) = code.applied
    (document,) = applied.edit.document_changes
    assert len(document.edits) == 1
    assert digest(code.texts[uri]) == answer["after_hash"]


async def test_a_preview_that_is_dismissed_leaves_nothing_behind(code: Editor) -> None:
    uri = code.open("model.py", LINEAR_SUM)
    code.refuse_edits = True
    answer = await code.command("kernelwright.optimize", {"uri": uri, "preview": True})
    assert "nothing was changed" in answer["reason"]
    assert code.asked == []
    history = await code.command("kernelwright.history", {"uri": uri})
    assert [step["outcome"] for step in history] == ["reverted"]
    assert "Baseline: the file as it is" in await code.hover(uri, "Model(")


async def test_an_editor_that_refuses_a_revert_keeps_the_step(code: Editor) -> None:
    uri = code.open("model.py", LINEAR_SUM)
    await code.command("kernelwright.apply", {"uri": uri, "strategy": "torch.reassociate"})
    code.refuse_edits = True
    answer = await code.command("kernelwright.revert", {"uri": uri})
    assert "the editor said no" in answer["reason"]
    assert [step["outcome"] for step in await code.command("kernelwright.history", {"uri": uri})] == ["kept"]
    await verified(code, uri)


async def test_a_crlf_file_keeps_its_endings(code: Editor) -> None:
    uri = code.open("model.py", LINEAR_SUM.replace("\n", "\r\n"))
    step = await code.command("kernelwright.apply", {"uri": uri, "kernel": "Model", "strategy": "torch.reassociate"})
    assert step["outcome"] == "kept", step["reason"]
    assert code.texts[uri].count("\n") == code.texts[uri].count("\r\n")
    await verified(code, uri)


async def test_a_triton_kernel_is_verified_but_not_measured_without_a_gpu(code: Editor) -> None:
    uri = code.open("softmax.py", SOFTMAX)
    await code.command("kernelwright.resetBaseline", {"uri": uri})
    answer = await code.command("kernelwright.measure", {"uri": uri})
    assert answer["$"] == "TrialResult", answer
    assert answer["verdict"]["status"] == "passed", answer["verdict"]
    message = await verified(code, uri)
    assert "speed not measured" in message
    assert "faster" not in message


async def test_what_no_longer_does_the_same_is_an_error_with_numbers(code: Editor) -> None:
    uri = code.open("scaled.py", PLAIN)
    assert await code.command("kernelwright.resetBaseline", {"uri": uri}) is True
    answer = await code.command("kernelwright.verify", {"uri": uri})
    assert answer["verdict"]["status"] == "passed", answer
    code.type(uri, "2.0", "2.5")
    found = await code.diagnostics(uri, lambda shown: at_kernel(shown, WARNING))
    assert "Stale" in at_kernel(found, WARNING)[0]
    await code.command("kernelwright.verify", {"uri": uri})
    found = await code.diagnostics(uri, lambda shown: at_kernel(shown, ERROR))
    assert all(code.marked(uri, d) == "scaled" for d in found)
    assert "no longer does what its baseline does" in at_kernel(found, ERROR)[0]
    code.type(uri, "2.5", "2.0")
    found = await code.diagnostics(uri, lambda shown: not at_kernel(shown, ERROR))
    assert any("Verified" in d.message for d in found), "an undo brings back what was known of the text"


async def test_an_edit_during_a_run_is_not_overwritten(code: Editor) -> None:
    uri = code.open("model.py", LINEAR_SUM)
    running = asyncio.create_task(
        code.command(
            "kernelwright.apply", {"uri": uri, "kernel": "Model", "strategy": "torch.reassociate"}, token="mine"
        )
    )
    await code.until(code.progress)
    code.type(uri, "import torch\n", "import torch\n\nMINE = 1\n")
    answer = await asyncio.wait_for(running, PATIENCE)
    assert answer["kind"] == "cancelled", "the person was asked, and is not told again"
    assert code.applied == []
    assert code.texts[uri] == LINEAR_SUM.replace("import torch\n", "import torch\n\nMINE = 1\n", 1)
    (asked,) = code.asked
    assert "edited meanwhile" in asked.message
    assert [action.title for action in asked.actions] == ["Run again"]


async def test_the_offered_run_is_made_on_the_new_text(code: Editor) -> None:
    uri = code.open("model.py", LINEAR_SUM)
    code.answers = ["Run again"]
    running = asyncio.create_task(
        code.command(
            "kernelwright.apply", {"uri": uri, "kernel": "Model", "strategy": "torch.reassociate"}, token="mine"
        )
    )
    await code.until(code.progress)
    code.type(uri, "import torch\n", "import torch\n\nMINE = 1\n")
    answer = await asyncio.wait_for(running, PATIENCE)
    assert answer["outcome"] == "kept", answer
    assert "MINE = 1" in code.texts[uri]
    kinds = [type(shown) for shown in code.progress()]
    assert kinds.count(lsp.WorkDoneProgressBegin) == kinds.count(lsp.WorkDoneProgressEnd) == 2, (
        "it can be cancelled too"
    )


async def test_an_editor_that_refuses_the_edit_is_told_of_nothing_applied(code: Editor) -> None:
    uri = code.open("model.py", LINEAR_SUM)
    code.refuse_edits = True
    await code.command("kernelwright.apply", {"uri": uri, "kernel": "Model", "strategy": "torch.reassociate"})
    assert code.texts[uri] == LINEAR_SUM
    assert "the editor said no" in code.asked[0].message
    assert not any("Verified" in d.message for d in code.client.diagnostics[uri])


@pytest.mark.parametrize("own_token", [True, False])
async def test_cancel_in_mid_verification(code: Editor, own_token: bool) -> None:
    uri = code.open("slow.py", SLOW)
    await code.command("kernelwright.resetBaseline", {"uri": uri})
    token = "mine" if own_token else None
    running = asyncio.create_task(code.command("kernelwright.verify", {"uri": uri}, token=token))
    await code.until(lambda: "Verifying" in str(code.progress()))
    await code.until((code.workspace / "started").exists)
    (used,) = code.client.progress_reports
    began = time.monotonic()
    code.client.window_work_done_progress_cancel(lsp.WorkDoneProgressCancelParams(used))
    answer = await asyncio.wait_for(running, PATIENCE)
    assert time.monotonic() - began < 3.0, "of the sixty seconds that the kernel takes"
    assert answer["kind"] == "cancelled"
    assert isinstance(code.progress()[-1], lsp.WorkDoneProgressEnd)
    assert not code.client.diagnostics.get(uri)


async def test_a_worker_that_is_killed_costs_one_failure_and_nothing_else(cold: Editor) -> None:
    uri = cold.open("slow.py", SLOW)
    await cold.command("kernelwright.resetBaseline", {"uri": uri})
    running = asyncio.create_task(cold.command("kernelwright.verify", {"uri": uri}))
    await cold.until((cold.workspace / "started").exists)
    server = psutil.Process(cold.client._server.pid)
    for worker in server.children(recursive=True):
        with contextlib.suppress(psutil.NoSuchProcess):  # one that ended with the one before it
            if "bootstrap.py" in " ".join(worker.cmdline()):
                worker.kill()
    answer = await asyncio.wait_for(running, PATIENCE)
    assert answer["$"] == "Failure", answer
    assert answer["kind"] == "crashed"
    found = await cold.diagnostics(uri, lambda shown: at_kernel(shown, ERROR))
    assert "could not be verified" in at_kernel(found, ERROR)[0]
    other = cold.open("scaled.py", PLAIN)
    await cold.command("kernelwright.resetBaseline", {"uri": other})
    answer = await cold.command("kernelwright.verify", {"uri": other})
    assert answer["verdict"]["status"] == "passed", answer


async def test_one_job_a_kernel(code: Editor) -> None:
    uri = code.open("slow.py", SLOW)
    await code.command("kernelwright.resetBaseline", {"uri": uri})
    running = asyncio.create_task(code.command("kernelwright.verify", {"uri": uri}, token="mine"))
    await code.until(code.progress)
    answer = await code.command("kernelwright.verify", {"uri": uri})
    assert "running already" in answer["reason"]
    code.client.window_work_done_progress_cancel(lsp.WorkDoneProgressCancelParams("mine"))
    await asyncio.wait_for(running, PATIENCE)


async def test_a_file_closed_during_a_run_is_left_alone(code: Editor) -> None:
    uri = code.open("model.py", LINEAR_SUM)
    running = asyncio.create_task(
        code.command(
            "kernelwright.apply", {"uri": uri, "kernel": "Model", "strategy": "torch.reassociate"}, token="mine"
        )
    )
    await code.until(code.progress)
    code.close(uri)
    answer = await asyncio.wait_for(running, PATIENCE)
    assert "closed, renamed or deleted meanwhile" in answer["reason"]
    assert code.asked == [], "there is nothing to run again"
    assert code.applied == []
    assert not code.client.diagnostics.get(uri)


async def test_a_file_renamed_during_a_run_is_left_alone(code: Editor) -> None:
    uri = code.open("model.py", LINEAR_SUM)
    about = {"uri": uri, "kernel": "Model", "strategy": "torch.reassociate"}
    running = asyncio.create_task(code.command("kernelwright.apply", about, token="mine"))
    await code.until(code.progress)
    moved = code.rename(uri, "moved.py")
    answer = await asyncio.wait_for(running, PATIENCE)
    assert "closed, renamed or deleted meanwhile" in answer["reason"]
    assert code.asked == [], "there is nothing to run again"
    assert code.applied == []
    again = await code.command("kernelwright.apply", {**about, "uri": moved})
    assert again["outcome"] == "kept"


async def test_a_file_deleted_during_a_run_is_left_alone(code: Editor) -> None:
    uri = code.open("model.py", LINEAR_SUM)
    about = {"uri": uri, "kernel": "Model", "strategy": "torch.reassociate"}
    running = asyncio.create_task(code.command("kernelwright.apply", about, token="mine"))
    await code.until(code.progress)
    code.client.workspace_did_delete_files(lsp.DeleteFilesParams([lsp.FileDelete(uri)]))
    answer = await asyncio.wait_for(running, PATIENCE)
    assert "closed, renamed or deleted meanwhile" in answer["reason"]
    assert code.asked == [], "there is nothing to run again"
    assert code.applied == []
    assert not code.client.diagnostics.get(uri)


@pytest.mark.parametrize("gone", ["renamed", "deleted"])
async def test_a_document_that_outlives_its_file_is_left_alone(code: Editor, gone: str) -> None:
    uri = code.open("models/model.py", LINEAR_SUM)
    about = {"uri": uri, "kernel": "Model", "strategy": "torch.reassociate"}
    running = asyncio.create_task(code.command("kernelwright.apply", about, token="mine"))
    await code.until(code.progress)
    folder = (code.folder / "models").as_uri()
    if gone == "renamed":
        moved = lsp.FileRename(folder, (code.folder / "old").as_uri())
        code.client.workspace_did_rename_files(lsp.RenameFilesParams([moved]))
    else:
        code.client.workspace_did_delete_files(lsp.DeleteFilesParams([lsp.FileDelete(folder)]))
    answer = await asyncio.wait_for(running, PATIENCE)
    assert "closed, renamed or deleted meanwhile" in answer["reason"]
    assert code.applied == []


async def test_a_renamed_file_keeps_its_evidence_and_its_way_back(code: Editor) -> None:
    uri = code.open("model.py", LINEAR_SUM)
    await code.command("kernelwright.apply", {"uri": uri, "kernel": "Model", "strategy": "torch.reassociate"})
    moved = code.rename(uri, "moved.py")
    assert "faster than baseline" in await verified(code, moved)
    await code.command("kernelwright.revert", {"uri": moved, "kernel": "Model"})
    assert code.texts[moved] == LINEAR_SUM


async def test_settings_that_change_during_a_run_hold_from_the_next_one(fresh: Editor) -> None:
    uri = fresh.open("scaled.py", PLAIN)
    await fresh.command("kernelwright.resetBaseline", {"uri": uri})
    running = asyncio.create_task(fresh.command("kernelwright.verify", {"uri": uri}, token="mine"))
    await fresh.until(fresh.progress)
    fresh.client.set_configuration({"threads": 1, "interpreter": "/nowhere/python"}, section="kernelwright")
    fresh.client.workspace_did_change_configuration(lsp.DidChangeConfigurationParams(settings=None))
    answer = await asyncio.wait_for(running, PATIENCE)
    assert answer["verdict"]["status"] == "passed"
    assert (await fresh.command("kernelwright.verify", {"uri": uri})).get("kind") == "no-interpreter"


async def test_workers_go_on_under_settings_that_do_not_concern_them(cold: Editor) -> None:
    uri = cold.open("scaled.py", PLAIN)
    await cold.command("kernelwright.resetBaseline", {"uri": uri})
    await cold.command("kernelwright.verify", {"uri": uri})
    judges = judges_of(cold)
    await cold.configure(minGain=0.5)
    await cold.command("kernelwright.verify", {"uri": uri})
    assert judges_of(cold) == judges != set()


def judges_of(editor: Editor) -> set[int]:
    server = psutil.Process(editor.client._server.pid)
    return {child.pid for child in server.children() if "judge" in child.cmdline()}


async def test_an_interpreter_that_does_not_exist(tmp_path: Path) -> None:
    editor = await start(tmp_path, interpreter="/nowhere/python")
    uri = editor.open("scaled.py", PLAIN)
    await editor.command("kernelwright.resetBaseline", {"uri": uri})
    answer = await editor.command("kernelwright.verify", {"uri": uri})
    assert answer.get("kind") == "no-interpreter", answer
    assert any("/nowhere/python" in message for message in editor.messages())
    await stop(editor)


async def test_autopilot_takes_steps_until_nothing_helps(code: Editor) -> None:
    uri = code.open("model.py", LINEAR_SUM)
    steps = await code.command("kernelwright.autopilot", {"uri": uri})
    assert steps[0]["outcome"] == "kept", steps
    assert len(code.applied) == sum(step["outcome"] == "kept" for step in steps)
    assert any("steps kept" in message for message in code.messages())
    await verified(code, uri)


async def test_what_was_verified_is_shown_when_the_file_is_opened_again(tmp_path: Path) -> None:
    editor = await start(tmp_path)
    uri = editor.open("model.py", LINEAR_SUM)
    await editor.command("kernelwright.apply", {"uri": uri, "kernel": "Model", "strategy": "torch.reassociate"})
    text = editor.texts[uri]
    await stop(editor)
    editor = await start(tmp_path)
    uri = editor.open("model.py", text)
    assert "faster than baseline" in await verified(editor, uri)
    await stop(editor)


async def test_a_stale_kernel_is_verified_again_on_save(code: Editor) -> None:
    await code.configure(verifyOn="save")
    uri = code.open("scaled.py", PLAIN)
    await code.command("kernelwright.resetBaseline", {"uri": uri})
    await code.command("kernelwright.verify", {"uri": uri})
    code.type(uri, "x * 2.0", "x + x")
    await code.diagnostics(uri, lambda shown: at_kernel(shown, WARNING))
    code.save(uri)
    await verified(code, uri)


async def test_a_stale_kernel_is_verified_again_after_a_pause(code: Editor) -> None:
    await code.configure(verifyOn="idle", idleSeconds=0.3)
    uri = code.open("scaled.py", PLAIN)
    await code.command("kernelwright.resetBaseline", {"uri": uri})
    await code.command("kernelwright.verify", {"uri": uri})
    code.type(uri, "x * 2.0", "x + x")
    await code.diagnostics(uri, lambda shown: at_kernel(shown, WARNING))
    await verified(code, uri)


async def test_a_background_check_makes_way(code: Editor) -> None:
    await code.configure(verifyOn="save")
    uri = code.open("slow.py", SLOW.replace("    time.sleep(60)\n", ""))
    await code.command("kernelwright.resetBaseline", {"uri": uri})
    await code.command("kernelwright.verify", {"uri": uri})
    (code.workspace / "started").unlink()
    code.type(uri, "touch()\n", "touch()\n    time.sleep(60)\n")
    await code.diagnostics(uri, lambda shown: at_kernel(shown, WARNING))
    code.save(uri)
    await code.until((code.workspace / "started").exists)
    code.type(uri, "    time.sleep(60)\n", "")
    answer = await asyncio.wait_for(code.command("kernelwright.verify", {"uri": uri}), PATIENCE)
    assert answer["verdict"]["status"] == "passed", answer


async def test_the_doctor(code: Editor) -> None:
    lines = await code.command("kernelwright.doctor")
    found = {line["name"]: line["found"] for line in lines}
    assert found["interpreter"]
    assert found["torch"]
    assert any("torch" in message for message in code.messages())


async def hints_of(editor: Editor, uri: str) -> list[lsp.InlayHint]:
    """Ask until there are some, as an editor does on each refresh."""
    where = lsp.Range(lsp.Position(0, 0), lsp.Position(40, 0))
    params = lsp.InlayHintParams(lsp.TextDocumentIdentifier(uri), where)
    async with asyncio.timeout(PATIENCE):
        while not (hints := await editor.client.text_document_inlay_hint_async(params)):
            await asyncio.sleep(0.05)
    return list(hints)


async def test_inlay_hints_when_asked_for(code: Editor) -> None:
    await code.configure(inlayHints=True)
    uri = code.open("softmax.py", SOFTMAX)
    hints = await hints_of(code, uri)
    assert "registers" in hints[0].label
    assert "occupancy" in hints[0].label


async def test_registers_that_spill_are_told_once_the_kernel_is_compiled(code: Editor) -> None:
    await code.configure(inlayHints=True)
    text = SOFTMAX.replace("randn(16, 100)", "randn(4, 8192)").replace("BLOCK=triton", "num_warps=1, BLOCK=triton")
    uri = code.open("softmax.py", text)
    assert not [d for d in await code.diagnostics(uri) if d.code == SPILLS]
    assert "spilled" in (await hints_of(code, uri))[0].label
    (finding,) = (
        d for d in await code.diagnostics(uri, lambda shown: any(d.code == SPILLS for d in shown)) if d.code == SPILLS
    )
    assert code.marked(uri, finding) == "softmax_kernel"
    assert finding.severity == WARNING
    assert re.search(r"spills [1-9]\d* bytes .* num_warps=1", finding.message)
    assert finding.code_description.href.endswith("docs/findings.md#tritonspills")

    code.type(uri, "num_warps=1", "num_warps=2")
    await code.diagnostics(uri, lambda shown: not any(d.code == SPILLS for d in shown))
