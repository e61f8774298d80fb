"""`kernelwright.replay` in an editor: a kept step comes back after its text has changed, and what does not fit is told."""

import re
from pathlib import Path

import pytest

from lsp.editor import ROOT, start, stop


async def test_a_kept_step_is_made_again_in_the_editor(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
    editor = await start(tmp_path)
    text = (ROOT / "examples" / "triton_softmax.py").read_text(encoding="utf-8")
    text = re.sub(r"(^# workload: .*\n)+", "# workload: softmax(randn(2, 40))\n", text, flags=re.MULTILINE)
    uri = editor.open("softmax.py", text)
    about = {"uri": uri, "kernel": "softmax_kernel"}

    answer = await editor.command("kernelwright.replay", about)
    assert answer == []
    await editor.command("kernelwright.apply", {**about, "strategy": "triton.online-reduction"})
    after = editor.texts[uri]
    assert after != text

    assert await editor.command("kernelwright.replay", about) == []
    assert editor.texts[uri] == after

    edited = f"# Edited since.\n{text}"
    editor.type(uri, after, edited)
    (step,) = await editor.command("kernelwright.replay", about)
    assert step["outcome"] == "kept"
    assert step["replays"]
    assert editor.texts[uri] == f"# Edited since.\n{after}"
    told = await editor.command("kernelwright.history", {"uri": uri, "quiet": True})
    assert [entry["outcome"] for entry in told] == ["kept", "kept"]
    await stop(editor)
