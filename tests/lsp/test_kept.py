"""The setting `recordedWorkloads` on `journal`: no document changes, and the line counts wherever one of the file would."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest_asyncio
from lsprotocol import types as lsp

from kernelwright.journal import open_journal
from lsp.editor import Editor
from lsp.examples import PLAIN
from lsp.test_cuda import LINE, NAIVE
from lsp.test_record import KERNEL, TEST
from lsp.test_tools import ask

WITHOUT = PLAIN.split("# workload")[0]
FORGET = "kernelwright.forgetLines"


@pytest_asyncio.fixture
async def keeping(code: Editor) -> AsyncIterator[Editor]:
    await code.configure(recordedWorkloads="journal")
    yield code
    await code.configure()


def lacking(shown: list[lsp.Diagnostic]) -> bool:
    return any(one.code == "no-workload" for one in shown)


async def quick_fixes(editor: Editor, uri: str, at: str) -> dict[str, Any]:
    return {
        one.title: one for one in await editor.actions(uri, at, "quickfix") if "that the journal keeps" in one.title
    }


async def test_a_recorded_line_counts_is_written_and_is_forgotten(keeping: Editor) -> None:
    (keeping.folder / "double.py").write_text(KERNEL)
    (keeping.folder / "test_double.py").write_text(TEST)
    uri = keeping.open("double.py", KERNEL)
    await keeping.diagnostics(uri, lacking)
    assert (await keeping.command(FORGET, {"uri": uri}))["reason"].startswith(
        "No workload line of double_kernel lies in"
    )
    (recorded,) = await keeping.command("kernelwright.record", {"uri": uri})
    assert "The journal keeps the workload lines of double." in keeping.messages()
    assert (keeping.texts[uri], keeping.applied) == (KERNEL, [])
    await keeping.diagnostics(uri, lambda shown: not lacking(shown))
    (lens,) = await keeping.lenses(uri)
    assert lens.command.title.startswith("Optimize kernel")
    assert f"Workload (lines in the journal): `{recorded['lines'][0]}` and 1 more" in await keeping.hover(
        uri, "double_kernel("
    )
    menu = await keeping.actions(uri, "double_kernel(", "refactor")
    assert any(one.disabled is None for one in menu), menu
    keeping.type(uri, "2 * tl.load", "3 * tl.load")
    assert "Workload (lines in the journal)" in await keeping.hover(uri, "double_kernel(")
    renamed = keeping.rename(uri, "triple.py")
    await keeping.until(lambda: not lacking(list(keeping.client.diagnostics.get(renamed, []))))
    assert "Workload (lines in the journal)" in await keeping.hover(renamed, "double_kernel(")
    into_file, forget = (await quick_fixes(keeping, renamed, "double_kernel(")).values()
    assert into_file.title == "Write the workload lines for double that the journal keeps into the file"
    before = keeping.texts[renamed]
    resolved = await keeping.client.code_action_resolve_async(into_file) if into_file.edit is None else into_file
    assert keeping.make(resolved.edit)
    written = "".join(f"# workload: {line}\n" for line in recorded["lines"])
    assert keeping.texts[renamed] == before.replace("def double(x)", f"{written}def double(x)")
    assert "Workload (workload lines)" in await keeping.hover(renamed, "double_kernel(")
    assert await quick_fixes(keeping, renamed, "double_kernel(") == {}
    keeping.type(renamed, written, "")
    assert forget.command.command == FORGET
    assert await keeping.command(FORGET, *forget.command.arguments) is None, "it is detached"
    await keeping.diagnostics(renamed, lacking)
    assert keeping.texts[renamed] == before


async def test_an_inferred_line_is_verified_and_told_in_the_conditions(keeping: Editor) -> None:
    uri = keeping.open("scaled.py", WITHOUT)
    answer = await keeping.command("kernelwright.infer", {"uri": uri, "kernel": "scaled"})
    assert answer["$"] == "Inferred", answer
    assert (keeping.texts[uri], keeping.applied) == (WITHOUT, [])
    await keeping.command("kernelwright.resetBaseline", {"uri": uri})
    result = await keeping.command("kernelwright.measure", {"uri": uri})
    assert result["verdict"]["status"] == "passed", result
    assert result["measurement"]["conditions"]["workload"].endswith("(lines in the journal)")


async def test_what_another_process_keeps_is_known_once_the_file_is_saved_or_opened(keeping: Editor) -> None:
    with open_journal(keeping.workspace) as journal:
        uri = keeping.open("scaled.py", WITHOUT)
        await keeping.diagnostics(uri, lacking)
        journal.keep_lines(keeping.folder / "scaled.py", (("scaled", ("scaled(randn(8))",)),))
    keeping.save(uri)
    await keeping.diagnostics(uri, lambda shown: not lacking(shown))
    keeping.close(uri)
    uri = keeping.open("scaled.py", WITHOUT)
    assert "Workload (lines in the journal): `scaled(randn(8))`" in await keeping.hover(uri, "scaled(")


async def test_indices_are_examined_for_lines_that_are_kept(keeping: Editor) -> None:
    line = LINE.removeprefix("// workload: ")
    uri = keeping.open(
        "matmul.cu", NAIVE.replace(LINE, "").replace("row * k + i", "row * k + i + col / 32"), "cuda-cpp"
    )
    await keeping.diagnostics(uri, lacking)
    with open_journal(keeping.workspace) as journal:
        journal.keep_lines(keeping.folder / "matmul.cu", (("matmul", (line,)),))
    keeping.save(uri)
    await keeping.diagnostics(uri, lambda shown: any(one.code == "cuda.out-of-bounds" for one in shown))
    assert await keeping.command(FORGET, {"uri": uri}) is True
    await keeping.diagnostics(uri, lambda shown: not any(one.code == "cuda.out-of-bounds" for one in shown))


async def test_tools_of_agents_keep_lines_there_too(keeping: Editor) -> None:
    file = keeping.folder / "scaled.py"
    file.write_text(WITHOUT)
    uri = keeping.open("scaled.py", WITHOUT)
    told = await ask(keeping, "infer_workloads", file="scaled.py", write=True)
    assert told["text"].endswith(f"The journal keeps the lines of {keeping.folder.name}/scaled.py.")
    assert file.read_text() == WITHOUT
    (row,) = (await ask(keeping, "list_kernels", file="scaled.py"))["data"]["kernels"]
    assert (row["workload"].endswith("(lines in the journal)"), row["missing"]) == (True, "")
    await asyncio.wait_for(keeping.diagnostics(uri, lambda shown: not lacking(shown)), 30)
    assert (await ask(keeping, "infer_workloads", file="scaled.py"))["data"]["entries"] == []
