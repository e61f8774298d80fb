"""A journal that cannot be written and a file that is not UTF-8: said in one sentence, and nothing lost."""

from pathlib import Path

import psutil

from kernelwright.journal import open_journal
from lsp.editor import Editor, start, stop
from lsp.examples import PLAIN


def about_the_journal(editor: Editor) -> list[str]:
    return [message for message in editor.messages() if "journal" in message]


async def test_a_workspace_that_cannot_be_written_is_told_of_once(tmp_path: Path) -> None:
    (tmp_path / ".kernelwright").write_text("not a folder")
    editor = await start(tmp_path)
    for name in ("one.py", "two.py"):
        uri = editor.open(name, PLAIN)
        assert await editor.command("kernelwright.resetBaseline", {"uri": uri}) is True
    (said,) = about_the_journal(editor)
    assert "kept in memory" in said
    await stop(editor)


async def test_a_disk_that_fills_up_is_told_of_once_and_nothing_is_lost(fresh: Editor) -> None:
    uri = fresh.open("scaled.py", PLAIN)
    assert await fresh.command("kernelwright.resetBaseline", {"uri": uri}) is True
    server = psutil.Process(fresh.client._server.pid)
    before = server.rlimit(psutil.RLIMIT_FSIZE)
    server.rlimit(psutil.RLIMIT_FSIZE, (0, before[1]))
    for _ in range(2):
        assert await fresh.command("kernelwright.resetBaseline", {"uri": uri}) is True
    server.rlimit(psutil.RLIMIT_FSIZE, before)
    fresh.type(uri, "2.0", "2.5")
    answer = await fresh.command("kernelwright.verify", {"uri": uri})
    assert answer["verdict"]["status"] == "failed", "the baseline in memory is the one that was set"
    await fresh.command("kernelwright.resetBaseline", {"uri": fresh.open("elsewhere.py", PLAIN)})
    full, again = about_the_journal(fresh)
    assert "cannot be written any more" in full
    assert "nothing was lost" in again
    with open_journal(fresh.workspace) as found:
        assert found.baseline("scaled.py", "scaled") == PLAIN


async def test_a_file_that_is_not_utf_8(code: Editor) -> None:
    uri = code.open("latin.py", "# caf\udce9\n" + PLAIN)
    await code.diagnostics(uri)
    sentence = "Line 1 is not valid UTF-8, so Python cannot load the file; save it as UTF-8."
    assert sentence in await code.hover(uri, "scaled(")
    for command in ("kernelwright.verify", "kernelwright.optimize", "kernelwright.resetBaseline"):
        assert (await code.command(command, {"uri": uri}))["reason"] == sentence
    code.type(uri, "\udce9", "é")
    await code.command("kernelwright.resetBaseline", {"uri": uri})
    answer = await code.command("kernelwright.verify", {"uri": uri})
    assert answer["verdict"]["status"] == "passed", answer
