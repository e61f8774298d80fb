"""What a candidate says in an exception, a name or a key acts in no channel: terminal, JSON, editor, journal, export."""

import json
import re
from dataclasses import asdict, replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cli.terminal import kernelwright
from journal.steps import step
from kernelwright.journal import open_journal
from kernelwright.proof.worker import frames
from kernelwright.values import Action, Failure, FailureKind, Region
from kernelwright.values.plain import plain
from lsp.editor import Editor, start, stop
from lsp.examples import LINEAR_SUM

HOSTILE = "\x1b[2J\x1b[H\x9b1mVerified: 9.00x faster\nVerified\r\x07\x00\u202eesrever\u200b\u2028\ufeff\x7f"
ACTS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ud800-\udfff]")

NAME = HOSTILE.replace("\0", "")  # a class may not have the character in its name
HEAD = "import os, torch\n\ndef f(x):\n"
BASELINE = f"{HEAD}    return {{'a': torch.relu(x)}}\n\n# workload: f(randn(8, 16))\n"
# Where the words come from, and the text of the candidate.
CANDIDATES = {
    "an exception": f"{HEAD}    torch.relu(x)\n    raise ValueError({HOSTILE!r})\n",
    "its name": f"{HEAD}    torch.relu(x)\n    raise type({NAME!r}, (Exception,), {{}})('no')\n",
    "on import": f"{HEAD}    return torch.relu(x)\n\nraise ValueError({HOSTILE!r})\n",
    "a key": f"{HEAD}    return {{{HOSTILE!r}: torch.relu(x)}}\n",
    "a type": f"{HEAD}    torch.relu(x)\n    return {{'a': type({NAME!r}, (), {{}})()}}\n",
    "what is missing": f"{HEAD}    return torch.relu(x)\n\nraise ModuleNotFoundError('m', name={HOSTILE!r})\n",
    "the log": f"{HEAD}    torch.relu(x)\n    print({HOSTILE!r}, flush=True)\n    os.abort()\n",
}


@pytest.mark.parametrize("candidate", CANDIDATES.values(), ids=list(CANDIDATES))
def test_the_terminal_and_json(tmp_path: Path, candidate: str) -> None:
    (tmp_path / "base.py").write_text(BASELINE)
    (tmp_path / "kernel.py").write_text(candidate + "\n# workload: f(randn(8, 16))\n")
    out = tmp_path / "out.json"
    ended = kernelwright("verify", tmp_path / "kernel.py", "--against", tmp_path / "base.py", "--json", out)
    expected = (3,) if "ModuleNotFoundError" in candidate else (1, 2)
    assert ended.exit_code in expected, ended.output
    for told in (ended.stdout, ended.stderr):
        assert not ACTS.search(told), ascii(told)
        assert not any(line.startswith("Verified") for line in told.splitlines()), told
    if out.exists():
        assert all(not ACTS.search(words) and "\n" not in words for words in strings(json.loads(out.read_text())))


@pytest.mark.parametrize("kind", ["an exception", "on import", "what is missing", "the log"])
async def test_the_editor_and_the_journal(tmp_path: Path, kind: str) -> None:
    editor: Editor = await start(tmp_path)
    try:
        uri = editor.open("kernel.py", CANDIDATES[kind] + "\n# workload: f(randn(8, 16))\n")
        answer = await editor.command("kernelwright.verify", {"uri": uri})
        told = [answer, await editor.hover(uri, "f(x)"), await editor.command("kernelwright.history", {"uri": uri})]
        told += [lens.command.title for lens in await editor.lenses(uri)]
        told += [diagnostic.message for diagnostic in await editor.diagnostics(uri)]
        told += [*editor.messages(), *map(str, editor.progress()), str(editor.asked)]
        for words in strings(told):
            assert not ACTS.search(words), ascii(words)
            assert not words.startswith("Verified"), words
    finally:
        await stop(editor)


async def test_the_journal_and_what_reads_it(tmp_path: Path) -> None:
    """A step that is refused with hostile words: in the answer, the history of the editor and that of the command line."""
    raising = f"if 'kernelwright-host-' in os.environ['TMPDIR']: raise ValueError({HOSTILE!r})\n"
    text = LINEAR_SUM.replace("import torch\n", f"import os\nimport torch\n{raising}", 1)
    (tmp_path / "model.py").write_text(text)
    (tmp_path / ".kernelwright").mkdir()
    editor: Editor = await start(tmp_path)
    try:
        uri = editor.open("model.py", text)
        about = {"uri": uri, "kernel": "Model", "strategy": "torch.reassociate"}
        step = await editor.command("kernelwright.apply", about)
        history = await editor.command("kernelwright.history", {"uri": uri})
        assert step["outcome"] != "kept", step
        assert history
        diagnostics = [diagnostic.message for diagnostic in await editor.diagnostics(uri)]
        told = strings([step, history, editor.messages(), diagnostics])
    finally:
        await stop(editor)
    told += [kernelwright("history", tmp_path / "model.py").output]
    assert any("9.00x" in words for words in told)
    for words in told:
        assert not ACTS.search(words), ascii(words)
    assert not any(line.startswith("Verified") for line in told[-1].splitlines())


def test_the_name_of_a_file_does_not_act(tmp_path: Path) -> None:
    name = tmp_path / "no\x1b[2J\u202ekernel.py"
    name.write_text("x = 1\n")
    ended = kernelwright("verify", name)
    assert ended.exit_code == 2
    assert not ACTS.search(ended.output), ascii(ended.output)
    assert r"no\x1b[2J\u202ekernel.py" in ended.output.replace("\n", "")


@given(st.text())
def test_words_are_plain_and_stay_what_they_are(text: str) -> None:
    assert not ACTS.search(plain(text, lines=True))
    assert not ACTS.search(plain(text))
    assert "\n" not in plain(text)
    assert "\t" not in plain(text)
    assert plain(plain(text)) == plain(text)
    if text.isascii() and text.isprintable():
        assert plain(text) == text


def test_a_frame_of_a_worker_is_plain_but_for_the_lines_of_a_trace() -> None:
    failure = Failure(FailureKind.CRASHED, HOSTILE, f"first\n  second\t{HOSTILE}")
    reply = frames.unpack(frames.pack(frames.Reply(1, failure))[frames.HEADER.size :], untrusted=True)
    assert not ACTS.search(reply.answer.message + reply.answer.detail)
    assert "\n" not in reply.answer.message
    assert reply.answer.detail.startswith("first\n  second\t")
    stage = frames.unpack(frames.pack(frames.Stage(1, HOSTILE))[frames.HEADER.size :], untrusted=True)
    assert not ACTS.search(stage.words)
    assert "\n" not in stage.words


def test_a_journal_that_came_with_a_workspace_is_plain_but_for_the_code_of_its_edits(tmp_path: Path) -> None:
    code = "def f(x):\n\treturn '\x1b[2J'\n"
    hostile = replace(step(1, after=code), reason=HOSTILE, action=Action(HOSTILE, Region(0, 1, "", HOSTILE)))
    with open_journal(tmp_path) as journal:
        journal.add_step("kernel.py", hostile, "a", code)
    with open_journal(tmp_path) as journal:
        (found,) = journal.steps("kernel.py")
    assert found.edits == hostile.edits
    words = strings(asdict(replace(found, edits=None)))
    assert not any(ACTS.search(one) or "\n" in one for one in words), words


def strings(data: object) -> list[str]:
    """All strings in data, keys too."""
    if isinstance(data, str):
        return [data]
    if isinstance(data, dict):
        return [*map(str, data), *(s for value in data.values() for s in strings(value))]
    return [s for item in data for s in strings(item)] if isinstance(data, list | tuple) else []
