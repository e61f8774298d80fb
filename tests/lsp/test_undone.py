"""A step that the editor's undo took back: nothing speaks of it as if it were in the text."""

import re
from pathlib import Path

import pytest

from kernelwright.lsp.undone import standing, undone
from kernelwright.values import Action, Outcome, Region, Step
from lsp.editor import ROOT, Editor, start, stop

KEPT, REVERTED = Outcome.KEPT, Outcome.REVERTED


def step(name: str, before: str, after: str, outcome: Outcome = KEPT) -> Step:
    return Step(name, "kernel", Action("strategy", Region(0, 1, before)), None, before, after, outcome, "")


@pytest.mark.parametrize(
    ("steps", "text", "left"),
    [
        ([], "a", ""),
        ([step("1", "a", "b")], "b", "1"),
        ([step("1", "a", "b")], "a", ""),
        ([step("1", "a", "b")], "edited since", "1"),
        ([step("1", "a", "b"), step("2", "b", "c")], "c", "12"),
        ([step("1", "a", "b"), step("2", "b", "c")], "b", "1"),
        ([step("1", "a", "b"), step("2", "b", "c")], "a", ""),
        ([step("1", "a", "b"), step("2", "b, edited", "c")], "c", "12"),
        ([step("1", "a", "b"), step("2", "b, edited", "c")], "a", ""),
        ([step("1", "a", "b"), step("2", "a", "c")], "c", "2"),
        ([step("1", "a", "b"), step("2", "b", "c"), step("3", "b", "d")], "d", "13"),
        ([step("1", "a", "b", REVERTED), step("2", "a", "c", Outcome.REJECTED)], "a", ""),
    ],
)
def test_which_steps_a_text_has(steps: list[Step], text: str, left: str) -> None:
    assert "".join(step.id for step in standing(steps, text)) == left
    kept = "".join(step.id for step in steps if step.outcome is KEPT)
    assert "".join(step.id for step in undone(steps, text)) == "".join(name for name in kept if name not in left)


async def outcomes(editor: Editor, uri: str) -> list[str]:
    return [entry["outcome"] for entry in await editor.command("kernelwright.history", {"uri": uri, "quiet": True})]


async def test_undo_in_the_editor(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
    editor = await start(tmp_path)
    text = (ROOT / "examples" / "triton_softmax.py").read_text(encoding="utf-8")
    text = re.sub(r"(^# workload: .*\n)+", "# workload: softmax(randn(2, 40))\n", text, flags=re.MULTILINE)
    uri = editor.open("softmax.py", text)
    about = {"uri": uri, "kernel": "softmax_kernel"}
    reduce_online = {**about, "strategy": "triton.online-reduction"}

    await editor.command("kernelwright.apply", reduce_online)
    assert "1 kept step since" in await editor.hover(uri, "softmax_kernel(")
    after = editor.texts[uri]
    script = await editor.command("kernelwright.export", about)
    assert script.startswith('"""softmax_kernel: triton.online-reduction')
    editor.type(uri, after, text)
    assert "Baseline: the file as it is" in await editor.hover(uri, "softmax_kernel(")
    editor.type(uri, text, after)
    assert "1 kept step since" in await editor.hover(uri, "softmax_kernel(")

    editor.type(uri, after, text)
    await editor.command("kernelwright.apply", reduce_online)
    assert "1 kept step since" in await editor.hover(uri, "softmax_kernel(")
    assert await outcomes(editor, uri) == ["reverted", "kept"]

    editor.type(uri, after, text)
    answer = await editor.command("kernelwright.revert", about)
    assert answer["reason"].startswith("The editor's undo has taken this step back already")
    assert await outcomes(editor, uri) == ["reverted", "reverted"]
    answer = await editor.command("kernelwright.revert", about)
    assert answer["reason"] == "softmax_kernel has no kept step that could be taken back."
    answer = await editor.command("kernelwright.export", about)
    assert "no kept step of softmax.py" in answer["reason"]
    assert editor.texts[uri] == text
    await stop(editor)
