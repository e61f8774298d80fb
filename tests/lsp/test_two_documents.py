"""A kernel in one document and its launch in another, in an editor: one edit changes both, and one undo takes it back."""

import asyncio
from pathlib import Path

import pytest
from pygls.uris import to_fs_path

from cli.test_two_files import KERNELS, LAYERS
from lsp.editor import Editor

LAUNCHER = LAYERS.replace(".inner.kernels", "kernels")
AUTOTUNE = "triton.autotune"


@pytest.fixture
def split(code: Editor) -> Editor:
    """Both files on the disk."""
    (code.folder / "kernels.py").write_text(KERNELS)
    (code.folder / "layers.py").write_text(LAUNCHER)
    return code


def both(editor: Editor) -> tuple[str, str]:
    return editor.texts[(editor.folder / "kernels.py").as_uri()], editor.texts[(editor.folder / "layers.py").as_uri()]


def undo(editor: Editor, *texts: str) -> None:
    """Put back the texts, as an editor's undo of one edit of both documents does."""
    for name, text in zip(("kernels.py", "layers.py"), texts, strict=True):
        uri = (editor.folder / name).as_uri()
        if editor.texts[uri] != text:
            editor.type(uri, editor.texts[uri], text)


async def test_one_edit_changes_both_documents(split: Editor) -> None:
    uri, layers = split.open("kernels.py", KERNELS), split.open("layers.py", LAUNCHER)
    about = {"uri": uri, "kernel": "copy_kernel"}
    (lens,) = await split.lenses(uri)
    assert lens.command is not None
    assert lens.command.title.startswith("Optimize kernel")
    assert lens.command.title.endswith(" · launched by copied in layers.py")
    assert "Workload (workload lines): `copied(randn(1000))`" in await split.hover(uri, "copy_kernel(")
    titles = [action.title for action in await split.actions(uri, "copy_kernel(") if action.disabled is None]
    assert "Optimize kernel: Autotune launch constants" in titles
    assert not any("workload line" in title for title in titles)

    step = await split.command("kernelwright.apply", {**about, "strategy": AUTOTUNE})
    assert step["outcome"] == "kept", step["reason"]
    (applied,) = split.applied
    assert [one.text_document.uri for one in applied.edit.document_changes or ()] == [uri, layers]
    kernels, launcher = after = both(split)
    assert "@triton.autotune(" in kernels
    assert "copy_kernel[grid](x, out, x.numel())" in launcher
    shown = await split.diagnostics(uri, lambda found: any(one.code == AUTOTUNE for one in found))
    assert not any(one.code in ("no-workload", "stale") for one in shown)
    assert "1 kept step since" in await split.hover(uri, "copy_kernel(")

    split.type(layers, "grid = lambda", "grid  = lambda")
    await split.diagnostics(uri, lambda found: any(one.code == "stale" for one in found))
    split.type(layers, "grid  = lambda", "grid = lambda")
    await split.diagnostics(uri, lambda found: any(one.code == AUTOTUNE for one in found))

    undo(split, KERNELS, LAUNCHER)
    assert "Baseline: the file as it is" in await split.hover(uri, "copy_kernel(")
    undo(split, *after)
    edits = await split.command("kernelwright.revert", about)
    assert edits["$"] == "Edits", edits
    assert both(split) == (KERNELS, LAUNCHER)
    assert len(split.applied) == 2
    (entry,) = await split.command("kernelwright.history", about)
    assert entry["outcome"] == "reverted"


async def test_refused_where_either_was_edited_meanwhile(split: Editor) -> None:
    line = "# workload: copied(randn(1000))\n"  # with others a step takes seconds, and shows progress
    several = LAUNCHER.replace(line, "".join(line.replace("1000", str(1000 + 257 * n)) for n in range(12)))
    (split.folder / "layers.py").write_text(several)
    uri, layers = split.open("kernels.py", KERNELS), split.open("layers.py", several)
    for edited, name in ((uri, "kernels.py"), (layers, "layers.py")):
        split.answers = [None]
        running = asyncio.create_task(split.command("kernelwright.apply", {"uri": uri, "strategy": AUTOTUNE}))
        await split.until(lambda: bool(split.progress()))
        split.type(edited, '"""\n', '"""\n# typed\n')
        answer = await running
        assert answer["$"] == "Failure"
        assert answer["message"] == f"{name} was edited meanwhile, so nothing was changed."
        split.client.progress_reports.clear()
    assert split.applied == []


async def test_a_launcher_that_is_not_open_is_changed_too(split: Editor) -> None:
    uri = split.open("kernels.py", KERNELS)
    step = await split.command("kernelwright.apply", {"uri": uri, "strategy": AUTOTUNE})
    assert step["outcome"] == "kept", step["reason"]
    assert "copy_kernel[grid](x, out, x.numel())" in both(split)[1]


async def test_a_preview_asks_before_two_documents_are_changed(split: Editor) -> None:
    uri = split.open("kernels.py", KERNELS)
    split.open("layers.py", LAUNCHER)
    asked = {"uri": uri, "strategy": AUTOTUNE, "preview": True}
    split.answers = [None, "Apply"]
    answer = await split.command("kernelwright.apply", asked)
    assert answer["$"] == "Refusal"
    assert answer["reason"] == "The step was not applied, so nothing was changed."
    assert split.asked[0].message == "Kernelwright: Autotune launch constants changes kernels.py and layers.py."
    assert both(split) == (KERNELS, LAUNCHER)
    assert (await split.command("kernelwright.apply", asked))["outcome"] == "kept"
    assert "@triton.autotune(" in both(split)[0]


async def test_what_is_known_is_there_again_when_it_is_opened(split: Editor) -> None:
    uri = split.open("kernels.py", KERNELS)
    layers = split.open("layers.py", LAUNCHER)
    assert (await split.command("kernelwright.apply", {"uri": uri, "strategy": AUTOTUNE}))["outcome"] == "kept"
    kernels, launcher = both(split)
    for one, text in ((uri, kernels), (layers, launcher)):
        Path(to_fs_path(one) or "").write_text(text)
        split.close(one)
    split.client.diagnostics.clear()
    split.open("kernels.py", kernels)
    await split.diagnostics(uri, lambda found: any(one.code == AUTOTUNE for one in found))


async def test_several_launching_files_are_told(split: Editor) -> None:
    (split.folder / "more.py").write_text(LAUNCHER)
    uri = split.open("kernels.py", KERNELS)
    answer = await split.command("kernelwright.apply", {"uri": uri, "strategy": AUTOTUNE})
    assert answer["$"] == "Refusal"
    assert answer["reason"] == (
        "copy_kernel is launched from several files (layers.py, more.py); a step can change one of them only."
    )


async def test_from_the_launching_document(split: Editor) -> None:
    """The kernel's own document need not be open, and a step is the same."""
    layers = split.open("layers.py", LAUNCHER)
    found: list[str] = []
    while not found:  # it is looked for when it is first asked for
        commands = [lens.command for lens in await split.lenses(layers)]
        found = [one.title for one in commands if one is not None and "copy_kernel" in one.title]
    assert found == ["Optimize kernel copy_kernel of kernels.py"]
    titles = {one.title: one for one in await split.actions(layers, "def copied") if one.disabled is None}
    action = titles["Optimize copy_kernel of kernels.py: Autotune launch constants"]
    assert action.command is not None
    (about,) = action.command.arguments or ()
    assert about["uri"] == layers
    step = await split.command("kernelwright.apply", {**about, "detached": False})
    assert step["outcome"] == "kept", step["reason"]
    kernels, launcher = both(split)
    assert "@triton.autotune(" in kernels
    assert "copy_kernel[grid](x, out, x.numel())" in launcher


async def test_a_kernel_that_the_launching_document_does_not_launch(split: Editor) -> None:
    layers = split.open("layers.py", LAUNCHER)
    answer = await split.command("kernelwright.apply", {"uri": layers, "kernel": "other_kernel", "strategy": AUTOTUNE})
    assert answer["$"] == "Refusal"
    assert answer["reason"].startswith("This file has no kernel 'other_kernel'")


async def test_steps_are_made_again_in_both(split: Editor) -> None:
    uri, layers = split.open("kernels.py", KERNELS), split.open("layers.py", LAUNCHER)
    assert (await split.command("kernelwright.apply", {"uri": uri, "strategy": AUTOTUNE}))["outcome"] == "kept"
    after = both(split)
    undo(split, KERNELS, LAUNCHER.replace("256", "128"))
    (step,) = await split.command("kernelwright.replay", {"uri": layers, "kernel": "copy_kernel"})
    assert step["outcome"] == "kept", step["reason"]
    kernels, launcher = both(split)
    assert launcher == after[1]
    assert '{"BLOCK": 128}' in kernels
