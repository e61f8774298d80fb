"""The quick fix that writes a workload line: lines are tried by a real worker, and only what ran is written."""

from lsprotocol import types as lsp

from lsp.editor import Editor
from lsp.examples import PLAIN

INFER = "kernelwright.infer"


async def test_the_quick_fix_writes_a_line_that_ran(editor: Editor) -> None:
    uri = editor.open("scaled.py", PLAIN.split("# workload")[0])
    found = await editor.diagnostics(uri, lambda shown: any(d.code == "no-workload" for d in shown))
    assert [editor.marked(uri, d) for d in found if d.code == "no-workload"] == ["scaled"]
    fixes = await editor.actions(uri, "scaled(", "quickfix")
    (fix,) = [action for action in fixes if "workload" in action.title]
    assert fix.title == "Write a workload line for scaled that runs"
    assert fix.edit is None
    command = fix.command if isinstance(fix, lsp.CodeAction) else fix
    assert command is not None
    assert command.command == INFER
    (argument,) = command.arguments or ()
    assert argument == {"uri": uri, "kernel": "scaled", "detached": True}
    answer = await editor.command(INFER, {"uri": uri, "kernel": "scaled"}, token="mine")
    assert answer["$"] == "Inferred", answer
    (line,) = answer["lines"]
    assert line.startswith("# workload: scaled(randn(")
    assert f"{line}\ndef scaled(" in editor.texts[uri]
    begin, *_, end = editor.progress()
    assert isinstance(begin, lsp.WorkDoneProgressBegin)
    assert begin.title == "Write a workload line for scaled"
    assert isinstance(end, lsp.WorkDoneProgressEnd)
    assert end.message == "A workload line for scaled ran."
    await editor.diagnostics(uri, lambda shown: not any(d.code == "no-workload" for d in shown))


async def test_a_kernel_that_no_guess_runs_says_why(code: Editor) -> None:
    text = "import torch\n\n\ndef halved(x):\n    x = torch.softmax(x / 2, -1)\n    raise ValueError('not today')\n"
    uri = code.open("halved.py", text)
    answer = await code.command(INFER, {"uri": uri, "kernel": "halved"})
    assert answer["$"] == "Refusal", answer
    assert answer["reason"].startswith("None of ")
    assert "ValueError: not today. Write one by hand, or record one from a test." in answer["reason"]
    assert code.messages() == [answer["reason"]]
    assert code.texts[uri] == text


async def test_beside_a_kernel_that_has_a_line(code: Editor) -> None:
    """A line that is there is another kernel's; one that is wrong is for a person to mend."""
    uri = code.open("scaled.py", f"{PLAIN}\n\ndef halved(x):\n    return torch.softmax(x / 2, -1)\n")
    fixes = await code.actions(uri, "halved(", "quickfix")
    assert [action.title for action in fixes] == ["Write a workload line for halved that runs"]
    wrong = code.open("wrong.py", PLAIN.replace("randn(", "normal("))
    assert await code.actions(wrong, "scaled(", "quickfix") == []
